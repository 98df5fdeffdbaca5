/* peer.h - the kinds of processes in a cluster, and the process at the other end of a link. */
#pragma once

#include "base/slice.h"

/* On the wire: never renumber. */
enum peer_kind {
    PEER_NODE = 1,
    PEER_ROUTER = 2,
    PEER_GAC = 3,
    PEER_TOOL = 4,
};

/* "node", "router", "gac", "tool", and back. False: no such kind. */
const char *peer_kind_name(enum peer_kind kind);
bool peer_kind_parse(struct slice name, enum peer_kind *out);

/* The other end of a link, as its greeting has proved. */
struct link_peer {
    uint64_t link; /* not 0; never used twice */
    enum peer_kind kind;
    uint32_t id; /* unique among processes of its kind */
};
