/* heat.h - what partitions led here are asked for. */
#ifndef WEIR_ENGINE_NODE_HEAT_H
#define WEIR_ENGINE_NODE_HEAT_H

#include "engine/node/reports.h"

struct node_heat {
    struct node_env *env;
    struct partitions *partitions;
    struct reports *reports;
    struct instant at; /* partitions without heat give its memory back; INSTANT_NEVER: none has */
};

void node_heat_add(struct node_heat *heat, struct partition *p, enum admit_kind kind,
                   struct slice key, int64_t cost_mcu);
void node_heat_tick(struct node_heat *heat);

#endif
