/* counting.h - what partitions hold is counted anew after a cut, a merge or a snapshot, a slice at a
 * time: each replica counts the keys it holds from the first one on, and meanwhile writes count only
 * before the place it has reached. So the count is exact in the end, the same on every replica, and
 * no turn waits for a big partition. */
#ifndef WEIR_ENGINE_NODE_COUNTING_H
#define WEIR_ENGINE_NODE_COUNTING_H

#include "engine/node/env.h"
#include "engine/node/partition.h"

/* A job of background.h. */
bool counting_wants(const struct partition *p);
struct slice counting_from(const struct partition *p);
void counting_slice(struct node_env *env, struct partition *p);

#endif
