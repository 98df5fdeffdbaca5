/* config_property.c - settings drawn at random: either they are refused by name, or a cluster
 * starts with them and answers. Settings that size an array or a map are kept small, and spans of
 * time short: there are three nodes in this process. */
#include "tests/check.h"

#include <string.h>

#include "base/settings.h"
#include "gac/client.h"
#include "gac/server.h"
#include "tests/support/frame_cluster.h"

enum {
    RUNS = 150,
    ARRAY_MAX = 2000,
    SPAN_MS_MAX = 5000
};
#define MAP_MAX (INT64_C(1) << 44) /* three nodes have 47 bits of addresses */

static const struct drawn {
    const char *name;
    size_t at;
    int64_t least, most;
} settings[] = {
#define X(name, initial, least, most, help) {#name, offsetof(struct settings, name), least, most},
    SETTINGS_LIST(X)
#undef X
};

static bool ends_in(const char *name, const char *end)
{
    size_t size = strlen(name), tail = strlen(end);
    return size >= tail && strcmp(name + size - tail, end) == 0;
}

static bool sizes_an_array(const char *name)
{
    return strcmp(name, "node_queue_max") == 0 || strcmp(name, "gac_ledgers_max") == 0 ||
           strcmp(name, "gac_routers_max") == 0;
}

/* As many from 10 to 100 as from 100 to 1000; each end now and then. */
static int64_t draw(struct prng *p, int64_t least, int64_t most)
{
    uint64_t how = prng_below(p, 10);
    if (how == 0 || least == most)
        return least;
    if (how == 1)
        return most;
    int64_t range = most - least, magnitude = 1;
    while (magnitude < range && prng_below(p, 12) != 0)
        magnitude *= 2;
    return least + (int64_t)prng_below(p, (uint64_t)(magnitude < range ? magnitude : range) + 1);
}

static uint64_t refused, started;

static void serve(const struct config *config)
{
    struct frame_cluster *w = frame_cluster_begin(config);
    int64_t timeout_ms = 60000 + 20 * (config_replication(config)->support_ms +
                                       config_replication(config)->election_ms);
    assert_true(frame_cluster_answers(w, timeout_ms));
    frame_cluster_restart(w);
    assert_true(frame_cluster_answers(w, timeout_ms));
    frame_cluster_destroy(w);
    struct gac_server *s = gac_server_create(&(struct gac_server_options){config, 1, 1, 7});
    struct gac_client *c = gac_client_create(&(struct gac_client_options){config, 1, 42});
    gac_client_tick(c, (struct instant){NS_PER_S});
    gac_client_destroy(c);
    gac_server_destroy(s);
}

static void settings_are_refused_or_serve(struct prng *p)
{
    struct config c;
    struct buffer error = {0};
    config_init(&c, (enum profile)prng_below(p, PROFILE_RESEARCH + 1));
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        const struct drawn *d = &settings[i];
        int64_t most = d->most;
        if (sizes_an_array(d->name) && most > ARRAY_MAX)
            most = ARRAY_MAX;
        if (ends_in(d->name, "_ms") && most > SPAN_MS_MAX && d->least < SPAN_MS_MAX)
            most = SPAN_MS_MAX;
        if (strncmp(d->name, "map_", 4) == 0 && most > MAP_MAX)
            most = MAP_MAX;
        if (prng_below(p, 10) > 0 || d->least > most)
            continue;
        int64_t value = draw(p, d->least, most);
        memcpy((char *)c.rooms + d->at, &value, sizeof value);
    }
    config_edit_replication(&c)->replicas = prng_between(p, 1, FRAME_CLUSTER_NODES);
    if (config_check(&c, &error) != STATUS_OK) {
        assert_true(error.size > 0);
        refused++;
    } else {
        serve(&c);
        started++;
    }
    buffer_deinit(&error);
}

TEST(test_settings_are_refused_or_serve)
{
    check_seeds(RUNS, settings_are_refused_or_serve);
    printf("    %llu refused, %llu started\n", (unsigned long long)refused,
           (unsigned long long)started);
    assert_true(started > 0);
}
