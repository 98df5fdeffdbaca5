/* The time by which data is deleted is what the clocks of most nodes have reached (CLOCKS-1 of
 * peers.h). */
#include "tests/check.h"

#include "base/config.h"
#include "engine/node/node_internal.h"
#include "tests/support/frame_cluster.h"

enum {
    DAY_MS = 24 * 3600 * 1000,
    PASS_MS = 2000
};

static int64_t agreed_ms(struct frame_cluster *w, uint32_t node)
{
    return env_agreed_ms(&frame_cluster_node(w, node)->env);
}

static int64_t own_ms(struct frame_cluster *w, uint32_t node)
{
    return env_wall_ms(&frame_cluster_node(w, node)->env);
}

static struct frame_cluster *begin(int64_t before[FRAME_CLUSTER_NODES + 1])
{
    struct config config;
    config_init(&config, PROFILE_OFF);
    struct frame_cluster *w = frame_cluster_begin(&config);
    frame_cluster_pass(w, PASS_MS);
    for (uint32_t node = 1; node <= FRAME_CLUSTER_NODES; node++) {
        before[node] = agreed_ms(w, node);
        assert_true(before[node] > 0 && before[node] <= own_ms(w, node));
    }
    return w;
}

TEST(one_clock_that_is_ahead_is_not_believed_by_any_node)
{
    int64_t before[FRAME_CLUSTER_NODES + 1];
    struct frame_cluster *w = begin(before);
    frame_cluster_step_wall(w, 1, 2 * DAY_MS);
    frame_cluster_pass(w, PASS_MS);
    assert_true(own_ms(w, 1) > before[1] + DAY_MS);
    for (uint32_t node = 1; node <= FRAME_CLUSTER_NODES; node++)
        assert_in_range(agreed_ms(w, node) - before[node], 1, 3 * PASS_MS);
    frame_cluster_destroy(w);
}

TEST(one_clock_that_is_behind_holds_back_only_its_own_node)
{
    int64_t before[FRAME_CLUSTER_NODES + 1];
    struct frame_cluster *w = begin(before);
    frame_cluster_step_wall(w, 1, -DAY_MS);
    frame_cluster_pass(w, PASS_MS);
    assert_true(agreed_ms(w, 1) < before[1]);
    assert_true(env_stamp_ms(&frame_cluster_node(w, 1)->env) > before[1]); /* deleted in time */
    for (uint32_t node = 2; node <= FRAME_CLUSTER_NODES; node++)
        assert_in_range(agreed_ms(w, node) - before[node], 1, 3 * PASS_MS);
    frame_cluster_destroy(w);
}

TEST(the_clocks_of_most_nodes_are_believed_but_not_against_a_nodes_own)
{
    int64_t before[FRAME_CLUSTER_NODES + 1];
    struct frame_cluster *w = begin(before);
    frame_cluster_step_wall(w, 1, DAY_MS);
    frame_cluster_step_wall(w, 2, DAY_MS);
    frame_cluster_pass(w, PASS_MS);
    assert_true(agreed_ms(w, 1) > before[1] + DAY_MS / 2);
    assert_true(agreed_ms(w, 3) <= own_ms(w, 3));
    frame_cluster_destroy(w);
}
