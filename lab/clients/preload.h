/* preload.h - the `bytes` that a scenario's tables hold at the start: items that are put through
 * the API before the run.
 *
 * A put is due when the table's write capacity has room for it, so that hardly one is refused. Keys
 * are random, so the items lie evenly over the hashes. Each copy of a table gets its `bytes`.
 * Not here: sending (lab/fidelity/full/admin.c, lab/fidelity/real/real.c). */
#pragma once

#include "lab/scenario/demand.h"
#include "lab/scenario/reading.h"

/* The items of one table. */
struct preload {
    int64_t items; /* 0: none */
    int64_t item_bytes;
    int64_t pause_ns; /* from one put to the next */
};

struct preload preload_of(const struct scenario_table *t);

/* False: the tables hold too much for that; the error names table, value and limit. `fidelity`: the
 * name of the fidelity that checks. */
bool preload_check(struct reading *r, const struct scenario *s, const char *fidelity);

/* The body of a PutItem. `number` counts from 0. */
void preload_write_put(struct buffer *out, const struct scenario *s, uint32_t place, uint32_t copy,
                       int64_t number);

/* Whether the answer refuses the put for now: throttled, or no leader. */
bool preload_may_try_again(int status, struct slice answer);
