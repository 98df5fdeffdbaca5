/* identity.h - the node's generation, and the support of its earlier lives.
 *
 * A node that starts on an empty directory draws a generation. The generation, support_kept and
 * closed_as_of survive restarts: own records in the log (LOG_NODE, LOG_PARTITION_CLOSE), and rows
 * in the store (local_state.h). */
#pragma once

#include "base/instant.h"

#include <stdbool.h>
#include <stdint.h>

struct identity {
    uint32_t generation;          /* 0: not durable yet */
    struct duration support_kept; /* how long the node gives support, by its durable record */
    struct instant quiet_until;   /* support by an earlier life may hold until then */
    bool support_changing;        /* a new record is being written */
    bool bootstrapped;            /* group 0 is about to be opened here */
    bool left_catalog;            /* a replica of the catalog was here and was moved away */
    /* Replicas were closed by order of the catalog's log up to this index. Older orders open no
     * replica: a request may arrive late, and a deposed leader of the catalog goes on asking. */
    uint64_t closed_as_of;
};
