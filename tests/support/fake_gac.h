/* fake_gac.h - GAC servers for routers in fake clusters. The servers are real (gac/server.h); they
 * answer in memory and at once. Several clusters may share them. */
#pragma once

#include "gac/server.h"

enum {
    FAKE_GAC_MAX = 4
};

struct fake_gac {
    const struct config *config; /* borrows */
    uint32_t count;
    struct gac_server *servers[FAKE_GAC_MAX + 1]; /* from 1; NULL: dead */
    struct instant now;                           /* the latest time of any cluster */
    uint64_t lives;
};

void fake_gac_init(struct fake_gac *g, const struct config *config, uint32_t count);
void fake_gac_deinit(struct fake_gac *g);

/* A server that is killed loses all that it knew. The clusters tell the routers of both. */
void fake_gac_kill(struct fake_gac *g, uint32_t server);
void fake_gac_start(struct fake_gac *g, uint32_t server);

/* False: the server is dead. */
bool fake_gac_request(struct fake_gac *g, struct instant now, uint32_t server, uint64_t link,
                      struct slice frame, struct buffer *answer);
