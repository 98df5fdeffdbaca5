/* throughput.h - the node's buckets, its consumption, and the headroom of the other nodes. */
#pragma once

#include "engine/admission/admission.h"
#include "engine/admission/member.h"
#include "engine/admission/overload.h"
#include "engine/node/core/served_totals.h"

struct throughput {
    struct node_admission admission;   /* the node's buckets */
    struct members members;            /* the other nodes' headroom */
    struct overload overload;          /* requests that waited too long for the processor */
    struct admit_group group;          /* of the request that is being run */
    int64_t consumed_mcu[ADMIT_KINDS]; /* total, as leader and as follower */
    struct served_totals served;
};
