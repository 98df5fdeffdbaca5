/* operation.h - a request inside the node. It is being run, or waits for a page, for a round of
 * heartbeats, or for the disks. */
#pragma once

#include "engine/message/request_traits.h"
#include "engine/node/env.h"

struct operation {
    uint64_t from;
    struct waiting waited; /* for the node's processor, before it was first run */
    struct request request;
    struct admit_verdict verdict;
    bool admitted;
    unsigned touched;   /* set of enum touched (waiters.h) */
    uint32_t steps;     /* pages of a transaction's parts that have been touched, in their order */
    uint64_t confirmed; /* the term in which leadership was confirmed after the read came */
    uint64_t questions; /* about locked items that were asked after the read came: from this number
                           on; 0: it met no lock */
};

/* Whether what the operation writes is owed: it ends what was begun, or does what was decided. The node's
 * own entries are: they forget what is done. */
static inline bool operation_is_owed(const struct operation *o)
{
    return o->from == FROM_SELF || traits_of(&o->request)->owed;
}
