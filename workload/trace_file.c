/* trace_file.c - see trace_file.h. */
#include "workload/trace_file.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/instant.h"
#include "workload/trace_shipped.h"

enum {
    SECOND_RECORDS_MAX = 16 * 1024 * 1024 /* of a trace in whole seconds */
};

enum status trace_file_open(struct trace_file *t, const char *path, const char *table,
                            struct buffer *error)
{
    *t = (struct trace_file){.path = path};
    if (table != NULL) {
        if (strlen(table) > TRACE_NAME_SIZE_MAX)
            return buffer_explain(error, STATUS_MALFORMED,
                                  "%s: the name of the table has %zu bytes, at most %d are allowed",
                                  path, strlen(table), TRACE_NAME_SIZE_MAX);
        memcpy(t->table, table, strlen(table) + 1);
    }
    if (!trace_is_shipped(path))
        return input_lines_open(&t->lines, path, false, TRACE_LINE_SIZE_MAX, error);
    const struct trace_shipped *shipped = trace_shipped_find(path, error);
    if (shipped == NULL)
        return STATUS_IO;
    input_lines_open_text(&t->lines, path, shipped->text, TRACE_LINE_SIZE_MAX);
    return STATUS_OK;
}

void trace_file_close(struct trace_file *t)
{
    input_lines_close(&t->lines);
    free(t->second);
    buffer_deinit(&t->error);
    *t = (struct trace_file){0};
}

static bool is_selected(struct trace_file *t, enum trace_line what, const struct trace_record *r)
{
    if (what == TRACE_LINE_TABLE && t->table[0] != 0) {
        bool same = slice_is(t->reader.name, t->table);
        if (same)
            t->number = r->table;
        t->named = true;
        t->found |= same;
    }
    return what == TRACE_LINE_RECORD && (!t->named || (t->found && r->table == t->number));
}

/* The next record as it is in the file. */
static bool read_record(struct trace_file *t, struct trace_record *out)
{
    enum trace_line what;
    struct buffer why = {0};
    while (!t->over) {
        struct slice line;
        const enum input_line found = input_lines_next(&t->lines, &line, &t->error);
        if (found == INPUT_OVER || found == INPUT_FAILED ||
            (found == INPUT_LINE_LAST && t->reader.format == TRACE_WEIR)) {
            t->over = true;
            break;
        }
        if (trace_reader_line(&t->reader, line, &what, out, &why) != STATUS_OK) {
            buffer_append_format(&t->error, "%s: %.*s", t->path, TEXT_OF(why));
            t->over = true;
        } else if (is_selected(t, what, out)) {
            break;
        }
    }
    buffer_deinit(&why);
    return !t->over;
}

/* Collects a second, and spreads it. */
static void read_second(struct trace_file *t)
{
    struct trace_record r;
    t->second_count = t->second_next = 0;
    for (;;) {
        if (t->has_ahead)
            r = t->ahead;
        else if (!read_record(t, &r))
            break;
        t->has_ahead = false;
        if (t->second_count > 0 &&
            (r.at_ns != t->second[0].at_ns || t->second_count == SECOND_RECORDS_MAX)) {
            t->ahead = r;
            t->has_ahead = true;
            break;
        }
        t->second = must_grow(t->second, t->second_count, &t->second_capacity, sizeof t->second[0]);
        t->second[t->second_count++] = r;
    }
    for (size_t i = 1; i < t->second_count; i++)
        t->second[i].at_ns += (int64_t)((double)i / (double)t->second_count * 1e9);
}

enum status trace_file_check(struct trace_file *t, struct buffer *error)
{
    t->has_peeked = trace_file_next(t, &t->peeked);
    t->records -= t->has_peeked;
    const enum status status = t->has_peeked ? STATUS_OK : trace_file_error(t, error);
    if (t->has_peeked || status != STATUS_OK)
        return status;
    return buffer_explain(error, STATUS_MALFORMED, "%s has no requests", t->path);
}

enum status trace_file_try(const char *path, const char *table, struct buffer *error)
{
    struct trace_file t;
    enum status status = trace_file_open(&t, path, table, error);
    if (status == STATUS_OK && (t.lines.fd < 0 || lseek(t.lines.fd, 0, SEEK_CUR) >= 0))
        status = trace_file_check(&t, error);
    trace_file_close(&t);
    return status;
}

bool trace_file_next(struct trace_file *t, struct trace_record *out)
{
    if (t->has_peeked) {
        *out = t->peeked;
        t->has_peeked = false;
        t->records++;
        return true;
    }
    if (t->second_next == t->second_count) {
        if (t->reader.format == TRACE_WEIR || t->reader.format == TRACE_UNKNOWN) {
            bool ok = !t->has_ahead && read_record(t, out);
            if (t->reader.format == TRACE_WEIR || !ok) {
                t->records += ok;
                return ok;
            }
            t->ahead = *out;
            t->has_ahead = true;
        }
        read_second(t);
    }
    if (t->second_next == t->second_count)
        return false;
    *out = t->second[t->second_next++];
    t->records++;
    return true;
}

enum status trace_file_error(const struct trace_file *t, struct buffer *error)
{
    if (t->error.size > 0)
        return buffer_explain(error, STATUS_MALFORMED, "%.*s", TEXT_OF(t->error));
    if (t->named && !t->found)
        return buffer_explain(error, STATUS_MALFORMED, "%s: no request is for table %s", t->path,
                              t->table);
    return STATUS_OK;
}

struct traffic_request trace_request(const struct trace_record *r)
{
    return (struct traffic_request){.at_ns = r->at_ns,
                                    .key = r->key,
                                    .size_bytes = r->size_bytes,
                                    .scan_length = r->scan_length,
                                    .kind = r->kind,
                                    .consistent = r->consistent,
                                    .table = r->table,
                                    .tenant = r->tenant};
}

static bool source_next(void *context, struct traffic_request *out)
{
    struct trace_record r;
    if (!trace_file_next(context, &r))
        return false;
    *out = trace_request(&r);
    return true;
}

struct traffic_source trace_file_source(struct trace_file *t, double speed)
{
    return (struct traffic_source){.next = source_next, .context = t, .speed = speed};
}
