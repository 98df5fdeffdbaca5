/* node_operation.h - a request inside the node. It is being run, or waits for a page, for a round
 * of heartbeats, or for the disks. */
#pragma once

#include "engine/message/message.h"

struct operation {
    uint64_t from;
    struct waiting waited; /* for the node's processor, before it was first run */
    struct request request;
    struct admit_verdict verdict;
    bool admitted;
    bool charged; /* admitted here, but not counted: it may turn out that it is not done */
    int64_t charged_mcu;
    unsigned touched;   /* set of enum touched (pending_requests.h) */
    uint32_t steps;     /* pages of a transaction's parts that have been touched, in their order */
    uint64_t confirmed; /* the term in which leadership was confirmed after the read came */
    uint64_t questions; /* about locked items that were asked after the read came: from this number
                           on; 0: it met no lock */
};
