/* throughput.h - what the node as a whole can serve, has served, and knows of its neighbours' rest. */
#ifndef WEIR_ENGINE_NODE_THROUGHPUT_H
#define WEIR_ENGINE_NODE_THROUGHPUT_H

#include "engine/admission/admission.h"

struct throughput {
    struct node_admission admission;   /* the node's buckets */
    struct members members;            /* the other nodes' headroom */
    struct admit_group group;          /* of the request in hand */
    int64_t consumed_mcu[ADMIT_KINDS]; /* total, of what is led here and what is followed */
};

#endif
