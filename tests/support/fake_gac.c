/* fake_gac.c - GAC servers that a test starts and kills. */
#include "tests/support/fake_gac.h"

#include "base/must.h"

void fake_gac_init(struct fake_gac *g, const struct config *config, uint32_t count)
{
    must(count <= FAKE_GAC_MAX);
    *g = (struct fake_gac){.config = config, .count = count};
    for (uint32_t s = 1; s <= count; s++)
        fake_gac_start(g, s);
}

void fake_gac_deinit(struct fake_gac *g)
{
    for (uint32_t s = 1; s <= g->count; s++)
        fake_gac_kill(g, s);
}

void fake_gac_kill(struct fake_gac *g, uint32_t server)
{
    if (g->servers[server] != NULL)
        gac_server_destroy(g->servers[server]);
    g->servers[server] = NULL;
}

void fake_gac_start(struct fake_gac *g, uint32_t server)
{
    must(g->servers[server] == NULL);
    g->servers[server] = gac_server_create(&(struct gac_server_options){
        .config = g->config, .number = server, .servers = g->count, .incarnation = ++g->lives});
}

bool fake_gac_request(struct fake_gac *g, struct instant now, uint32_t server, uint64_t link,
                      struct slice frame, struct buffer *answer)
{
    struct buffer error = {0};
    if (g->servers[server] == NULL)
        return false;
    if (instant_before(g->now, now))
        g->now = now;
    must(gac_server_receive(g->servers[server], g->now, (struct gac_origin){.link = link}, frame,
                            answer, &error) == STATUS_OK);
    buffer_deinit(&error);
    return true;
}
