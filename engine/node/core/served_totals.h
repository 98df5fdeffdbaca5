/* served_totals.h - what a node has done since its start: requests and their units.
 *
 * For whoever computes the processor time of a node (sim/world/processor.h): the node itself has
 * none. */
#pragma once

#include <stdint.h>

enum served_kind {
    SERVED_READ,   /* as leader or as follower */
    SERVED_WRITE,  /* as leader */
    SERVED_FOLLOW, /* a write that the leader on another node admitted */
    SERVED_REFUSE, /* a request that admission or overload refused; costs no units */
    SERVED_KINDS
};

struct served_totals {
    struct {
        int64_t requests;
        int64_t mcu; /* what they cost in all */
    } kinds[SERVED_KINDS];
};
