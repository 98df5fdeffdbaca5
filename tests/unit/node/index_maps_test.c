/* Maps of tables end when nobody asks for them. */
#include "tests/check.h"

#include "engine/node/node_internal.h"
#include "tests/support/lone_node.h"

enum {
    NOBODY = 900 /* numbers of tables that are not there */
};

TEST(unused_maps_are_evicted)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open(&w);
    struct index_maps *maps = &w.node->index_maps;
    for (uint32_t id = NOBODY; id < NOBODY + 100; id++)
        assert_null(index_maps_find(maps, id));
    assert_int_equal(maps->count, 100);
    lone_take_effects(&w);
    for (int s = 0; s < 70; s++) {
        lone_pass(&w, 1000);
        assert_true(index_maps_gone(maps, NOBODY) || s == 0);
        lone_take_effects(&w);
    }
    index_maps_refresh(maps, NOBODY + 200); /* a new one has the others looked at */
    assert_int_equal(maps->count, 2);
    assert_true(index_maps_gone(maps, NOBODY));
    lone_take_effects(&w);
    lone_deinit(&w);
}
