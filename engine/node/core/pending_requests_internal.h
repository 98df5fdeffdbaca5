/* pending_requests_internal.h - an operation or scan that waits (pending_requests.h). */
#pragma once

#include <sys/queue.h>

#include "engine/node/core/node_operation.h"
#include "engine/node/core/pending_requests.h"

struct parked_request {
    struct operation operation;
    enum resume resume;
    uint64_t subject;    /* of a scan */
    struct buffer bytes; /* the operation's slices borrow them */
    struct buffer key;   /* that is touched: read by another thread, while events go by */
    bool used;
    STAILQ_ENTRY(parked_request) place; /* among the reads of its partition that wait */
    uint64_t round;                     /* of heartbeats that it waits for */
    uint64_t index;                     /* of the entry that must be applied first */
    uint64_t term;                      /* in which it waits */
};
