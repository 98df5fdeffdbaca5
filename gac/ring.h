/* ring.h - the owner of each ledger: a consistent hash ring.
 *
 * Each server has many points on a circle of 64-bit hashes. A key belongs to the first point at or
 * behind its own hash whose server is alive. So if a server fails, only its own keys move, and they
 * spread over all other servers. All processes that know the same number of servers have the same
 * ring. Source: Karger et al., "Consistent Hashing and Random Trees", STOC 1997. */
#pragma once

#include "gac/gac_message.h"

enum {
    RING_POINTS = 64 /* of a server */
};

struct ring_point {
    uint64_t hash;
    uint32_t server;
};

struct ring {
    uint32_t servers;
    struct ring_point points[GAC_SERVERS_MAX * RING_POINTS]; /* ascending */
};

/* Servers are numbered 1 .. `servers` <= GAC_SERVERS_MAX. */
void ring_init(struct ring *r, uint32_t servers);

/* 0: no server is alive. `alive`: bit number - 1. */
uint32_t ring_owner(const struct ring *r, struct gac_key key, uint64_t alive);
