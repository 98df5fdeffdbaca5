/* redirect.h - which node to ask after a refusal: one rule for routers and for nodes. */
#pragma once

#include <stdint.h>

enum {
    REDIRECTS_MAX = 4 /* then comes a pause, because two nodes may name each other */
};

/* The leader that a refusal by node `refusing` names. 0: the refusal names no other node. */
static inline uint32_t redirect_to(uint32_t leader, uint32_t refusing, uint32_t node_count)
{
    return leader <= node_count && leader != refusing ? leader : 0;
}
