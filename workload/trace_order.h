/* trace_order.h - puts requests of a trace into the order of their times, when they become known
 * in the order of their ends.
 *
 * A record waits until no request can be outstanding that began before it, or until too many
 * records wait. A request that becomes known later still gets the time of the line before it.
 * Promises:
 *   TRACE-ORDER-1  steps between lines are not negative.
 *   TRACE-ORDER-2  at most TRACE_ORDER_HELD_MAX records wait.
 * Not here: files. Lines are appended to a buffer. */
#pragma once

#include "workload/trace_record.h"

enum {
    TRACE_ORDER_HELD_MAX = 65536
};

struct trace_held;

struct trace_order {
    struct trace_held *heap; /* owns; the earliest record first */
    size_t count, capacity;
    uint64_t next_number;   /* records of the same time stay in their order */
    struct trace_salt salt; /* if `hashed` */
    bool hashed;
    int64_t last_us; /* of the last line */
    uint64_t lines;  /* requests that were written */
};

/* `salt` NULL: keys are written as they are. */
void trace_order_init(struct trace_order *o, const char *salt);
void trace_order_deinit(struct trace_order *o);

/* Takes a record; `r->key` is not looked at. If too many wait, appends the earliest record's
 * line. */
void trace_order_add(struct trace_order *o, const struct trace_record *r, struct slice key,
                     struct buffer *out);
/* Appends the lines of all records that began at `until_ns` or before. */
void trace_order_write(struct trace_order *o, int64_t until_ns, struct buffer *out);
