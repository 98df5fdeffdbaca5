/* verbose.h - `--verbose`: prints a node's work besides requests on standard error. */
#pragma once

#include "engine/node/node.h"

/* The part of a node's trace that has been printed. All zero at the start. */
struct verbose {
    uint64_t events;
    struct instant summed_at;
    int64_t throttled;
    int64_t refused;
    int64_t log_writes;
};

/* Prints new events. At most TRACE_EVENTS events are kept between two calls; the count of lost
 * events is printed. */
void verbose_print(struct verbose *v, const struct node *n, uint32_t id, struct instant now);
