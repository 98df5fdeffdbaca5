/* trace_reader.h - the lines of a trace, weir's own or Twitter's (trace_record.h has the forms).
 *
 * Any bytes are taken or refused with an error that names the line. No I/O: trace_file.h reads
 * files. */
#pragma once

#include "base/buffer.h"
#include "workload/trace_record.h"

enum trace_format {
    TRACE_UNKNOWN, /* before the first line */
    TRACE_WEIR,
    TRACE_TWITTER
};

enum trace_line {
    TRACE_LINE_NOTHING, /* a head, a comment, an empty line */
    TRACE_LINE_RECORD,
    TRACE_LINE_TABLE,  /* `name`: record.table is its number */
    TRACE_LINE_TENANT, /* `name`: record.tenant is its number */
};

struct trace_reader {
    enum trace_format format;
    int64_t line;    /* number of the last line */
    int64_t last_us; /* WEIR: since the beginning; TWITTER: the last record's own second, in us */
    int64_t first_s; /* TWITTER: of the first record */
    bool begun;      /* there was a record */
    bool hashed;     /* WEIR: keys=hashed */
    bool has_salt;   /* WEIR: `salt` has the digits */
    bool has_clock;  /* WEIR: `clock_us` has the wall clock at the beginning */
    uint16_t salt;
    int64_t clock_us;
    struct slice name; /* lends until the next line */
};

/* Starts zeroed. `line` has no line end. STATUS_MALFORMED: `error` gets one line; the reader must
 * not be used again. A Twitter record has the beginning of its second as its time. */
enum status trace_reader_line(struct trace_reader *r, struct slice line, enum trace_line *what,
                              struct trace_record *out, struct buffer *error);
