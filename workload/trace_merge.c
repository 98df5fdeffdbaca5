/* trace_merge.c - see trace_merge.h. */
#include "workload/trace_merge.h"

#include <stdlib.h>

#include "base/instant.h"

/* Between requests of two recordings. */
#define TRACE_MERGE_STEP_MAX_NS (24 * 3600 * NS_PER_S)

static void part_advance(struct trace_merge_part *p)
{
    p->has_next = trace_file_next(&p->file, &p->next);
    if (p->has_next)
        p->next.at_ns += p->shift_ns;
}

/* Whether the recording can be merged with the first one. Its first record has been read, if it
 * has any. */
static enum status check_part(const struct trace_merge *m, uint32_t i, struct buffer *error)
{
    const struct trace_file *first = &m->parts[0].file, *f = &m->parts[i].file;
    const struct trace_reader *a = &first->reader, *b = &f->reader;
    if (f->error.size > 0) /* told by trace_merge_error */
        return STATUS_OK;
    bool idle = !b->begun && b->format == TRACE_WEIR; /* such a recording has no times */
    if (b->format != TRACE_WEIR || (!b->has_clock && !idle))
        return buffer_explain(
            error, STATUS_MALFORMED,
            "%s has no line `clock`, so its times cannot be compared with those of "
            "other recordings: replay it alone",
            f->path);
    if (first->error.size > 0 || i == 0)
        return STATUS_OK;
    if (a->hashed != b->hashed)
        return buffer_explain(error, STATUS_MALFORMED,
                              "keys are hashed in %s, and not in %s: equal keys would differ",
                              a->hashed ? first->path : f->path, a->hashed ? f->path : first->path);
    if (b->hashed && (!a->has_salt || !b->has_salt || a->salt != b->salt))
        return buffer_explain(error, STATUS_MALFORMED,
                              "%s and %s were not recorded with the same salt: equal keys would "
                              "differ",
                              first->path, f->path);
    return STATUS_OK;
}

static void align_parts(struct trace_merge *m)
{
    int64_t begin_us = INT64_MAX;
    for (uint32_t i = 0; i < m->count; i++) {
        const struct trace_reader *r = &m->parts[i].file.reader;
        if (r->has_clock && r->clock_us < begin_us)
            begin_us = r->clock_us;
    }
    for (uint32_t i = 0; i < m->count; i++) {
        struct trace_merge_part *p = &m->parts[i];
        if (!p->file.reader.has_clock)
            continue;
        p->shift_ns = (p->file.reader.clock_us - begin_us) * NS_PER_US;
        p->next.at_ns += p->shift_ns;
    }
}

enum status trace_merge_open(struct trace_merge *m, const char *const *paths, uint32_t count,
                             const char *table, struct buffer *error)
{
    enum status status = STATUS_OK;
    must(count >= 1);
    must(count <= TRACE_MERGE_MAX);
    *m = (struct trace_merge){.parts = must_calloc(count, sizeof m->parts[0])};
    while (m->count < count && status == STATUS_OK) {
        struct trace_merge_part *p = &m->parts[m->count];
        status = trace_file_open(&p->file, paths[m->count], table, error);
        if (status != STATUS_OK)
            break;
        m->count++;
        part_advance(p);
    }
    if (count == 1 || status != STATUS_OK)
        return status;
    for (uint32_t i = 0; i < count && status == STATUS_OK; i++)
        status = check_part(m, i, error);
    align_parts(m);
    return status;
}

void trace_merge_close(struct trace_merge *m)
{
    for (uint32_t i = 0; i < m->count; i++)
        trace_file_close(&m->parts[i].file);
    free(m->parts);
    buffer_deinit(&m->error);
    *m = (struct trace_merge){0};
}

/* NULL: all are over. Of equal times the part that was named first. */
static struct trace_merge_part *part_earliest(struct trace_merge *m)
{
    struct trace_merge_part *found = NULL;
    for (uint32_t i = 0; i < m->count; i++) {
        struct trace_merge_part *p = &m->parts[i];
        if (p->file.error.size > 0) /* the merged trace would lack the rest of this part */
            return NULL;
        if (p->has_next && (found == NULL || p->next.at_ns < found->next.at_ns))
            found = p;
    }
    return found;
}

bool trace_merge_next(struct trace_merge *m, struct trace_record *out)
{
    struct trace_merge_part *p = m->error.size > 0 ? NULL : part_earliest(m);
    if (p == NULL)
        return false;
    uint32_t part = (uint32_t)(p - m->parts);
    int64_t step_ns = p->next.at_ns - m->last_ns;
    if (part != m->last && step_ns > TRACE_MERGE_STEP_MAX_NS) {
        buffer_append_format(&m->error,
                             "%s: a request comes %.1f days after all those of the other "
                             "recordings, at most a day is allowed: was a clock wrong when a "
                             "recording began (lines `clock`)?",
                             p->file.path, (double)step_ns / (double)TRACE_MERGE_STEP_MAX_NS);
        return false;
    }
    *out = p->next;
    m->last = part;
    m->last_ns = out->at_ns;
    part_advance(p);
    return true;
}

enum status trace_merge_error(const struct trace_merge *m, struct buffer *error)
{
    enum status status = STATUS_OK;
    const struct trace_file *named = NULL; /* it names tables, but not this one */
    bool found = false;
    if (m->error.size > 0)
        return buffer_explain(error, STATUS_MALFORMED, "%.*s", TEXT_OF(m->error));
    for (uint32_t i = 0; i < m->count && status == STATUS_OK; i++) {
        const struct trace_file *f = &m->parts[i].file;
        if (f->error.size > 0)
            status = trace_file_error(f, error);
        found |= f->found || (!f->named && f->reader.begun);
        named = f->named && !f->found ? f : named;
    }
    return status != STATUS_OK || found || named == NULL ? status : trace_file_error(named, error);
}

static bool merge_source_next(void *context, struct traffic_request *out)
{
    struct trace_record r;
    if (!trace_merge_next(context, &r))
        return false;
    *out = trace_request(&r);
    return true;
}

struct traffic_source trace_merge_source(struct trace_merge *m, double speed)
{
    return (struct traffic_source){.next = merge_source_next, .context = m, .speed = speed};
}
