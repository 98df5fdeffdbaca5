/* middles.h - the search for the middle of a partition's bytes, where it is cut when it is too big. */
#ifndef WEIR_ENGINE_NODE_MIDDLES_H
#define WEIR_ENGINE_NODE_MIDDLES_H

#include "engine/heat/split_point.h"
#include "engine/node/partitions.h"
#include "engine/node/waiters.h"

struct middles {
    struct node_env *env;
    struct partitions *partitions;
    struct waiters *waiters;
    uint32_t last; /* the partition searched last */
    struct scan scan;
    struct instant at; /* when to look on; INSTANT_NEVER: nothing is sought */
};

/* SPLIT_REFUSED_FEW_SAMPLES: it is not found yet, ask again. */
void middles_advise(struct middles *middles, struct partition *p, struct split_advice *out);
void middles_tick(struct middles *middles);

#endif
