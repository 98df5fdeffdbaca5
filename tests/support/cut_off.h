/* cut_off.h - a node of a simulated world without its ways to the other nodes. */
#pragma once

#include "sim/world/world.h"

/* Cuts all ways between this node and the other nodes, in both directions. */
static inline void world_cut_off(struct world *w, uint32_t node)
{
    for (uint32_t other = 1; other <= w->plan.nodes; other++) {
        network_cut(w->network, node, other);
        network_cut(w->network, other, node);
    }
}

/* Ends world_cut_off. */
static inline void world_heal(struct world *w, uint32_t node)
{
    for (uint32_t other = 1; other <= w->plan.nodes; other++) {
        network_heal(w->network, node, other);
        network_heal(w->network, other, node);
    }
}
