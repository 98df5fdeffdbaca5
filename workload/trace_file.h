/* trace_file.h - a trace in a file, as a source of traffic (traffic.h).
 *
 * The path weir:NAME is a trace that comes with weir (trace_shipped.h). */
#pragma once

#include "workload/input_file.h"
#include "workload/trace_reader.h"
#include "workload/traffic.h"

struct trace_file {
    struct input_lines lines; /* owns */
    const char *path;         /* borrows */
    struct trace_reader reader;
    char table[TRACE_NAME_SIZE_MAX + 1]; /* only requests of this table; empty: all */
    bool named, found;                   /* the trace names tables; it names this one */
    uint32_t number;                     /* of this table */
    /* TWITTER: the requests of one second, which are spread over it once all are known. */
    struct trace_record *second; /* owns */
    size_t second_count, second_capacity, second_next;
    struct trace_record ahead; /* the first one of the next second */
    bool has_ahead;
    struct trace_record peeked; /* by trace_file_check */
    bool has_peeked;
    int64_t records; /* that were given out */
    bool over;
    struct buffer error; /* empty: none */
};

/* `table`: only requests of that table, if the trace names tables; NULL: all requests. STATUS_IO,
 * STATUS_MALFORMED: `error` gets one line. */
enum status trace_file_open(struct trace_file *t, const char *path, const char *table,
                            struct buffer *error);
void trace_file_close(struct trace_file *t);

/* STATUS_OK if the trace has a request, which trace_file_next returns afterwards; otherwise `error`
 * gets one line. Call it before the first trace_file_next. */
enum status trace_file_check(struct trace_file *t, struct buffer *error);

/* Opens the file, checks it and closes it. STATUS_OK also for a pipe: its bytes can be read only
 * once. */
enum status trace_file_try(const char *path, const char *table, struct buffer *error);

/* False: over, or trace_file_error tells why not. A last line that was cut off ends a trace of
 *        weir. */
bool trace_file_next(struct trace_file *t, struct trace_record *out);
/* STATUS_OK, or STATUS_MALFORMED or STATUS_IO with one line in `error`: also if the trace has other
 * tables, but not this one. Ask at the end. */
enum status trace_file_error(const struct trace_file *t, struct buffer *error);

/* What the record asks for. */
struct traffic_request trace_request(const struct trace_record *r);
struct traffic_source trace_file_source(struct trace_file *t, double speed);
