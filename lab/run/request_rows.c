/* request_rows.c - see request_rows.h. */
#include "lab/run/request_rows.h"

#include "lab/run/csv.h"
#include "lab/scenario/demand.h"
#include "router/http/gzip.h"
#include "router/json/json_writer.h"

enum {
    PACKED_TOGETHER = 1 << 20 /* bytes of text in a member of the gzip file */
};

static void rows_pack(struct request_rows *r)
{
    buffer_clear(&r->packed);
    coding_pack(&r->packed, CODING_GZIP, buffer_slice(&r->text));
    r->job->rows(r->job->rows_context, buffer_slice(&r->packed));
    buffer_clear(&r->text);
}

/* The measures begin with a whole window. */
static int64_t counted_from_ns(const struct scenario *s)
{
    return (s->warm_ns + s->window_ns - 1) / s->window_ns * s->window_ns;
}

static void append_head(struct request_rows *r)
{
    struct buffer head = {0};
    json_write_open(&head, '{');
    json_member_text(&head, "scenario", r->scenario->name);
    json_member_text(&head, "policy", r->scenario->policies[r->job->policy].name);
    json_member_text(&head, "point", r->job->point);
    json_member_integer(&head, "seed", (int64_t)r->job->seed);
    json_member_integer(&head, "duration_ns", r->scenario->duration_ns);
    json_member_integer(&head, "counted_from_ns", counted_from_ns(r->scenario));
    json_member_integer(&head, "objective_ns", r->scenario->objective_ns);
    json_write_close(&head, '}');
    buffer_append_format(&r->text, "# weir-requests-1 %.*s\n", TEXT_OF(head));
    buffer_append_text(&r->text, "event,at_ns,tenant,table,kind,outcome,index,mcu,latency_ns,"
                                 "awaited,hedge\n");
    buffer_deinit(&head);
}

void request_rows_begin(struct request_rows *r, const struct lab_job *job, const struct scenario *s)
{
    *r = (struct request_rows){.scenario = s, .job = job};
    append_head(r);
}

void request_rows_end(struct request_rows *r)
{
    rows_pack(r);
    buffer_deinit(&r->text);
    buffer_deinit(&r->packed);
}

/* ---- rows ---- */

/* The measures number tables with their copies, in the order of the scenario. */
static void append_table(struct request_rows *r, uint32_t number)
{
    char name[SCENARIO_NAME_SIZE_MAX + 16];
    uint32_t place = 0;
    while (number >= r->scenario->tables[place].copies)
        number -= (uint32_t)r->scenario->tables[place++].copies;
    must(place < r->scenario->table_count);
    demand_table_name(&r->scenario->tables[place], number, name, sizeof name);
    csv_append_text(&r->text, slice_of(name));
}

/* TABLE/INDEX of the index that a refusal names, counted from 1; nothing for 0. */
static void append_index(struct request_rows *r, uint32_t index)
{
    const struct scenario *s = r->scenario;
    for (uint32_t place = 0; index > 0 && place < s->table_count; place++) {
        const struct indexes_options *o = &s->tables[place].indexes;
        if (index <= o->count) {
            buffer_append_format(&r->text, "\"%s/%s\"", s->tables[place].name,
                                 o->at[index - 1].name);
            return;
        }
        index -= o->count;
    }
}

void request_rows_add(void *context, const struct measure_event *row)
{
    static const char *const kinds[MEASURE_KINDS] = {"read", "write"};
    struct request_rows *r = context;
    const struct measure_request *q = row->request;
    buffer_append_format(&r->text, "%s,%lld,", q == NULL ? "end" : "request",
                         (long long)row->at_ns);
    csv_append_text(&r->text, slice_of(r->scenario->tenants[row->tenant].name));
    buffer_append_u8(&r->text, ',');
    append_table(r, row->table);
    buffer_append_format(&r->text, ",%s,%s,", kinds[row->kind],
                         q == NULL || q->reason == 0 ? "admitted" : lab_reasons[q->reason]);
    append_index(r, q == NULL ? 0 : q->index);
    buffer_append_format(&r->text, ",%lld,", (long long)row->cost_mcu);
    if (row->latency_ns >= 0)
        buffer_append_format(&r->text, "%lld", (long long)row->latency_ns);
    buffer_append_format(&r->text, ",%d,%d\n", q == NULL || !q->unawaited, q != NULL && q->hedge);
    if (r->text.size >= PACKED_TOGETHER)
        rows_pack(r);
}
