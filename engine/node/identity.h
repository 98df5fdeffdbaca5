/* identity.h - which life of the node this is, and what its lives have promised.
 *
 * A node that starts on an empty directory draws a generation. How long it gives support, and up to
 * which word of the catalog it has closed replicas, must survive restarts: own records in the log
 * (LOG_NODE, LOG_PARTITION_CLOSE), and rows in the store (rows.h). */
#ifndef WEIR_ENGINE_NODE_IDENTITY_H
#define WEIR_ENGINE_NODE_IDENTITY_H

#include "base/instant.h"

#include <stdbool.h>
#include <stdint.h>

struct identity {
    uint32_t generation; /* 0: not durable yet */
    struct duration
        support_kept;           /* the node's own durable record: it gives support for this long */
    struct instant quiet_until; /* what an earlier life may have promised holds until then */
    bool support_changing;      /* another record is on its way */
    bool founded;               /* group 0 is about to be opened here */
    bool left_catalog;          /* a replica of it was here, and was moved away */
    /* Replicas were closed because of what the catalog's log says up to here: what it said before
     * opens none any more. A request may be on its way for long, and a leader of the catalog that
     * was deposed goes on asking. */
    uint64_t closed_as_of;
};

#endif
