/* verbose.h - `--verbose`: what a node does besides serving requests, on standard error. */
#ifndef WEIR_SERVER_HOST_VERBOSE_H
#define WEIR_SERVER_HOST_VERBOSE_H

#include "engine/node/node.h"

/* How far a node's trace has been told. All zero at the start. */
struct verbose {
    uint64_t events;
    struct instant summed_at;
    int64_t throttled;
    int64_t refused;
    int64_t log_writes;
};

/* Tells what is new. At most TRACE_EVENTS events are kept between two calls; how many were lost is
 * told. */
void verbose_tell(struct verbose *v, const struct node *n, uint32_t id, struct instant now);

#endif
