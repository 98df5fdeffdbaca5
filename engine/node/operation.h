/* operation.h - a request on its way through the node: in hand, or waiting for a page, for a round
 * of heartbeats, or for the disks. */
#ifndef WEIR_ENGINE_NODE_OPERATION_H
#define WEIR_ENGINE_NODE_OPERATION_H

#include "engine/message/message.h"

/* What a page was read for already. */
enum touched {
    TOUCHED_ITEMS = 1,
    TOUCHED_COLLECTION = 2 /* the row of the item's collection */
};

struct operation {
    uint64_t from;
    struct request request;
    struct admit_verdict verdict;
    bool admitted;
    unsigned touched;   /* enum touched, of them */
    uint64_t confirmed; /* the term in which this node was found to lead after the read came */
};

#endif
