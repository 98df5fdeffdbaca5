/* frames_property.c - frames that somebody has tampered with, to nodes with replicas.
 *
 * FRAMES=n how many a seed (2,000); SEED, SEEDS as everywhere. */
#include "tests/check.h"

#include <stdlib.h>

#include "tests/support/frame_cluster.h"

enum {
    FRAMES = 2000,
    FRAMES_OF_A_WORLD = 500
};

static int64_t frames_of_a_seed(void)
{
    const char *text = getenv("FRAMES");
    return text != NULL ? strtoll(text, NULL, 10) : FRAMES;
}

static uint64_t inject_some(struct frame_cluster *w, struct prng *p, enum peer_kind kind, int count)
{
    uint64_t taken = 0;
    struct buffer frame = {0};
    for (int i = 0; i < count; i++) {
        uint32_t node = 1 + (uint32_t)prng_below(p, FRAME_CLUSTER_NODES);
        uint32_t id = kind == PEER_NODE ? 1 + (uint32_t)prng_below(p, FRAME_CLUSTER_NODES) : 1;
        buffer_clear(&frame);
        buffer_append_slice(&frame,
                            frame_cluster_frame(w, prng_below(p, frame_cluster_recorded(w))));
        frame_cluster_mutate(w, p, &frame);
        taken += frame_cluster_inject(w, kind, id, node, buffer_slice(&frame));
        if (prng_below(p, 4) == 0)
            frame_cluster_pass(w, (int64_t)prng_below(p, 3) * 10);
    }
    buffer_deinit(&frame);
    return taken;
}

/* What a router or a tool sends, whatever it is, leaves a cluster that serves, at once and after
 * all nodes were started anew. */
static void tampered_frames_of_clients_leave_a_cluster_that_serves(struct prng *p)
{
    int64_t left = frames_of_a_seed();
    uint64_t taken = 0;
    while (left > 0) {
        struct frame_cluster *w = frame_cluster_create();
        for (int i = 0; i < 2; i++) {
            enum peer_kind kind = prng_below(p, 4) == 0 ? PEER_TOOL : PEER_ROUTER;
            taken += inject_some(w, p, kind, FRAMES_OF_A_WORLD / 2);
            assert_true(frame_cluster_is_available(w));
            frame_cluster_restart(w);
        }
        assert_true(frame_cluster_is_available(w));
        frame_cluster_destroy(w);
        left -= FRAMES_OF_A_WORLD;
    }
    assert_true(taken > 0);
}

/* What a node sends may stop a group: nobody can lead against a node that lies. It ends no process,
 * now or after all of them were started anew. */
static void tampered_frames_of_nodes_end_no_node(struct prng *p)
{
    int64_t left = frames_of_a_seed();
    uint64_t taken = 0;
    while (left > 0) {
        struct frame_cluster *w = frame_cluster_create();
        for (int i = 0; i < 5; i++) {
            taken += inject_some(w, p, PEER_NODE, FRAMES_OF_A_WORLD / 5);
            frame_cluster_pass(w, 500);
        }
        frame_cluster_restart(w);
        frame_cluster_pass(w, 2000);
        frame_cluster_destroy(w);
        left -= FRAMES_OF_A_WORLD;
    }
    assert_true(taken > 0);
}

#define PROPERTY(name, runs)     \
    TEST(test_##name)            \
    {                            \
        check_seeds(runs, name); \
    }

PROPERTY(tampered_frames_of_clients_leave_a_cluster_that_serves, 2)
PROPERTY(tampered_frames_of_nodes_end_no_node, 2)
