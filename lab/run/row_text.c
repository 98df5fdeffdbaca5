/* row_text.c - see row_text.h. */
#include "lab/run/row_text.h"

#include "lab/run/csv.h"
#include "lab/scenario/demand.h"
#include "router/http/gzip.h"
#include "router/json/json_writer.h"

enum {
    PACKED_TOGETHER = 1 << 20 /* bytes of text in a member of the gzip file */
};

static const char *const row_formats[] = {
    [LAB_ROWS_REQUESTS] = "weir-requests-1", [LAB_ROWS_WINDOWS] = "weir-windows-1"};

static void text_flush(struct row_text *r)
{
    buffer_clear(&r->packed);
    coding_pack(&r->packed, CODING_GZIP, buffer_slice(&r->text));
    r->job->rows(r->job->rows_context, r->file, buffer_slice(&r->packed));
    buffer_clear(&r->text);
}

/* The measures begin with a whole window. */
static int64_t counted_from_ns(const struct scenario *s)
{
    return (s->warm_ns + s->window_ns - 1) / s->window_ns * s->window_ns;
}

void row_text_begin(struct row_text *r, enum lab_row_file file, const struct lab_job *job,
                    const struct scenario *s)
{
    struct buffer head = {0};
    *r = (struct row_text){.file = file, .scenario = s, .job = job};
    json_write_open(&head, '{');
    json_member_text(&head, "scenario", s->name);
    json_member_text(&head, "policy", s->policies[job->policy].name);
    json_member_text(&head, "point", job->point);
    json_member_integer(&head, "seed", (int64_t)job->seed);
    json_member_integer(&head, "duration_ns", s->duration_ns);
    json_member_integer(&head, "counted_from_ns", counted_from_ns(s));
    json_member_integer(&head, "objective_ns", s->objective_ns);
    json_member_integer(&head, "window_ns", s->window_ns);
    json_write_close(&head, '}');
    buffer_append_format(&r->text, "# %s %.*s\n", row_formats[file], TEXT_OF(head));
    buffer_deinit(&head);
}

void row_text_end(struct row_text *r)
{
    text_flush(r);
    buffer_deinit(&r->text);
    buffer_deinit(&r->packed);
}

void row_text_pack(struct row_text *r)
{
    if (r->text.size >= PACKED_TOGETHER)
        text_flush(r);
}

/* Tables are numbered with their copies, in the order of the scenario. */
void row_text_table(struct row_text *r, uint32_t number)
{
    char name[SCENARIO_NAME_SIZE_MAX + 16];
    uint32_t place = 0;
    while (number >= r->scenario->tables[place].copies)
        number -= (uint32_t)r->scenario->tables[place++].copies;
    must(place < r->scenario->table_count);
    demand_table_name(&r->scenario->tables[place], number, name, sizeof name);
    csv_append_text(&r->text, slice_of(name));
}
