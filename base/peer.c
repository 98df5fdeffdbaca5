/* peer.c - the names of the kinds of processes. */
#include "base/peer.h"

const char *peer_kind_name(enum peer_kind kind)
{
    static const char *const names[] = {"node", "router", "gac", "tool"};
    return kind >= PEER_NODE && kind <= PEER_TOOL ? names[kind - PEER_NODE]
                                                  : "process of an unknown kind";
}

bool peer_kind_parse(struct slice name, enum peer_kind *out)
{
    for (int kind = PEER_NODE; kind <= PEER_TOOL; kind++) {
        if (!slice_is(name, peer_kind_name((enum peer_kind)kind)))
            continue;
        *out = (enum peer_kind)kind;
        return true;
    }
    return false;
}
