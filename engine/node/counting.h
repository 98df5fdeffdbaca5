/* counting.h - what partitions hold is counted anew after a cut, a merge or a snapshot, a slice at a
 * time: each replica counts the keys it holds from the first one on, and meanwhile writes count only
 * before the place it has reached. So the count is exact in the end, the same on every replica, and
 * no turn waits for a big partition. */
#ifndef WEIR_ENGINE_NODE_COUNTING_H
#define WEIR_ENGINE_NODE_COUNTING_H

#include "engine/node/partitions.h"
#include "engine/node/waiters.h"

struct counting {
    struct node_env *env;
    struct partitions *partitions;
    struct waiters *waiters;
    uint32_t last; /* the partition counted last */
    struct scan scan;
    struct instant at; /* when to count more; INSTANT_NEVER: all is counted */
};

void counting_tick(struct counting *counting);

#endif
