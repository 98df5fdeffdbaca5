/* heat.h - counts the heat of the partitions that this node leads. */
#pragma once

#include "engine/node/replica/load_reports.h"

struct node_heat {
    struct node_env *env;
    struct partitions *partitions;
    struct load_reports *reports;
    struct instant
        at; /* when the memory of cold heat is freed next; INSTANT_NEVER: no partition has heat */
};

void node_heat_add(struct node_heat *heat, struct partition *p, enum admit_kind kind,
                   struct slice key, int64_t cost_mcu);
void node_heat_tick(struct node_heat *heat);
