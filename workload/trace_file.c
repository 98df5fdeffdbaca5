/* trace_file.c - see trace_file.h. */
#include "workload/trace_file.h"

#include <errno.h>
#include <stdlib.h>

#include "base/instant.h"

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
    t->file = fopen(path, "re");
    if (t->file == NULL)
        return buffer_explain(error, STATUS_IO, "%s: %s", path, strerror(errno));
    return STATUS_OK;
}

void trace_file_close(struct trace_file *t)
{
    if (t->file != NULL)
        fclose(t->file);
    free(t->line);
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
        ssize_t size = getline(&t->line, &t->line_capacity, t->file);
        if (size < 0 && ferror(t->file))
            buffer_append_format(&t->error, "%s: %s", t->path, strerror(errno));
        bool ended = size > 0 && t->line[size - 1] == '\n';
        if (size < 0 || (!ended && t->reader.format == TRACE_WEIR)) {
            t->over = true;
            break;
        }
        struct slice line = slice_make(t->line, (size_t)size - ended);
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

bool trace_file_next(struct trace_file *t, struct trace_record *out)
{
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
