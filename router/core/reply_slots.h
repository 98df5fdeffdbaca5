/* reply_slots.h - the ids of requests to nodes: a slot, and how often it was used.
 *
 * Promise: a late reply matches no subrequest. */
#pragma once

#include "router/core/router_internal.h"

struct reply_slot {
    struct subrequest *subrequest; /* borrows; NULL: free */
    uint32_t generation;
    uint32_t next_free;
};

/* Sets s->slot and the request's id. */
void reply_slot_take(struct router *r, struct subrequest *s);
void reply_slot_give(struct router *r, struct subrequest *s);
/* The subrequest whose request has this id now. NULL: none. */
struct subrequest *reply_slot_find(const struct router *r, uint64_t id);
