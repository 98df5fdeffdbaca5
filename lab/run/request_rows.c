/* request_rows.c - see request_rows.h. */
#include "lab/run/request_rows.h"

#include "lab/run/csv.h"

void request_rows_begin(struct request_rows *r, const struct lab_job *job, const struct scenario *s)
{
    r->scenario = s;
    row_text_begin(&r->rows, LAB_ROWS_REQUESTS, job, s);
    buffer_append_text(&r->rows.text, "event,at_ns,tenant,table,kind,outcome,index,mcu,latency_ns,"
                                      "awaited,hedge\n");
}

void request_rows_end(struct request_rows *r)
{
    row_text_end(&r->rows);
}

/* ---- rows ---- */

/* TABLE/INDEX of the index that a refusal names, counted from 1; nothing for 0. */
static void append_index(struct request_rows *r, uint32_t index)
{
    const struct scenario *s = r->scenario;
    for (uint32_t place = 0; index > 0 && place < s->table_count; place++) {
        const struct indexes_options *o = &s->tables[place].indexes;
        if (index <= o->count) {
            buffer_append_format(&r->rows.text, "\"%s/%s\"", s->tables[place].name,
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
    buffer_append_format(&r->rows.text, "%s,%lld,", q == NULL ? "end" : "request",
                         (long long)row->at_ns);
    csv_append_text(&r->rows.text, slice_of(r->scenario->tenants[row->tenant].name));
    buffer_append_u8(&r->rows.text, ',');
    row_text_table(&r->rows, row->table);
    buffer_append_format(&r->rows.text, ",%s,%s,", kinds[row->kind],
                         q == NULL || q->reason == 0 ? "admitted" : lab_reasons[q->reason]);
    append_index(r, q == NULL ? 0 : q->index);
    buffer_append_format(&r->rows.text, ",%lld,", (long long)row->cost_mcu);
    if (row->latency_ns >= 0)
        buffer_append_format(&r->rows.text, "%lld", (long long)row->latency_ns);
    buffer_append_format(&r->rows.text, ",%d,%d\n", q == NULL || !q->unawaited,
                         q != NULL && q->hedge);
    row_text_pack(&r->rows);
}
