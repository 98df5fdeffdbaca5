/* Bytes as frames of global admission control, to a server and to a client: neither crashes, and
 * what they accept they go on from. */
#include "base/config.h"
#include "base/must.h"
#include "base/settings/gac.h"
#include "gac/client.h"
#include "gac/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void request_anyway(struct gac_client *c, struct instant now)
{
    struct gac_limit limit = {
        .key = {7, 0, GAC_WRITE}, .policy = GAC_LEASE, .rate = 1000000, .version = 1};
    struct duration wait;
    uint32_t server;
    struct slice frame;
    if (gac_client_take(c, now, &limit, 1000, &wait) == GAC_TAKEN)
        gac_client_settle(c, limit.key, 1000, 500);
    gac_client_tick(c, now);
    while (gac_client_next_frame(c, now, &server, &frame))
        ;
}

/* Input: frames, each after a u8 (who gets it, how much later) and a u16 with its size. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config config;
    config_init(&config, PROFILE_AWS);
    struct instant now = {NS_PER_S};
    struct reader all = {slice_make(data, size), false};
    config_edit_gac(&config)->gac_ledgers_max = 4;
    config_edit_gac(&config)->gac_routers_max = 4;
    struct gac_server *s = gac_server_create(&(struct gac_server_options){&config, 1, 2, 99});
    struct gac_client *c = gac_client_create(&(struct gac_client_options){&config, 2, 42});
    gac_client_up(c, now, 1);
    while (all.left.size > 0 && !all.failed) {
        uint8_t how = reader_u8(&all);
        size_t frame = reader_u8(&all) | (size_t)reader_u8(&all) << 8;
        struct slice bytes = reader_take(&all, frame < all.left.size ? frame : all.left.size);
        struct buffer answer = {0}, error = {0};
        now.ns += (how >> 2) * 10 * NS_PER_MS;
        if (how & 1)
            gac_client_receive(c, now, 1, bytes);
        else
            gac_server_receive(s, now,
                               (struct gac_origin){.link = how >> 1 & 1, .number = how >> 2 & 1},
                               bytes, &answer, &error);
        request_anyway(c, now);
        buffer_deinit(&answer);
        buffer_deinit(&error);
    }
    gac_server_destroy(s);
    gac_client_destroy(c);
    return 0;
}
