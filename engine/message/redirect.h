/* redirect.h - following a refusal to the leader: one rule for routers and for nodes. */
#ifndef WEIR_ENGINE_MESSAGE_REDIRECT_H
#define WEIR_ENGINE_MESSAGE_REDIRECT_H

#include <stdint.h>

enum {
    REDIRECTS_MAX = 4 /* before a pause: two nodes may name each other */
};

/* The leader that a refusal by the node `asked` names, 0 if the refusal names nobody to ask next. */
static inline uint32_t redirect_to(uint32_t leader, uint32_t asked, uint32_t node_count)
{
    return leader <= node_count && leader != asked ? leader : 0;
}

#endif
