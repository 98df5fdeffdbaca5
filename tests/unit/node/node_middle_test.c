/* The leader finds the middle of a partition's bytes, in its own time. */
#include "tests/check.h"

#include "base/config.h"
#include "engine/heat/split_point.h"
#include "engine/node/core/collection.h"
#include "tests/support/lone_node.h"

static struct split_advice request_middle(struct lone_node *w, uint32_t partition)
{
    struct split_advice a;
    struct request r = {.op = REQUEST_PARTITION_MIDDLE,
                        .partition = w->table.partitions[partition].id,
                        .epoch = w->table.partitions[partition].epoch};
    lone_send(w, &r);
    lone_assert_answer(w, REPLY_OK);
    assert_int_equal(split_advice_decode(buffer_slice(&lone_answer(w)->body), &a), STATUS_OK);
    return a;
}

/* Asks until it is known: not at once. */
static struct split_advice middle_of(struct lone_node *w)
{
    struct split_advice a = request_middle(w, 0);
    assert_int_equal(a.verdict, SPLIT_REFUSED_FEW_SAMPLES);
    for (int tries = 1; a.verdict == SPLIT_REFUSED_FEW_SAMPLES; tries++) {
        assert_true(tries < 100);
        lone_pass(w, 10);
        a = request_middle(w, 0);
    }
    return a;
}

static void fill(struct lone_node *w, uint32_t names, size_t size)
{
    for (uint32_t name = 0; name < names; name++) {
        lone_put_sized(w, name, 1, size * (1 + name % 7));
        lone_write_all(w);
    }
}

/* Bytes of items before and behind the split. */
static void weigh(struct lone_node *w, uint32_t names, size_t size, struct slice point,
                  int64_t sides[2])
{
    sides[0] = sides[1] = 0;
    for (uint32_t name = 0; name < names; name++) {
        lone_key(w, name);
        sides[slice_compare(buffer_slice(&w->key), point) >= 0] += (int64_t)(size * (1 + name % 7));
    }
}

TEST(a_split_halves_the_bytes_not_the_keys)
{
    enum {
        NAMES = 1000,
        SIZE = 100
    };
    for (uint32_t collections = 0; collections <= NAMES; collections += NAMES / 2) {
        struct lone_node w;
        int64_t sides[2];
        lone_init(&w, PROFILE_OFF);
        w.collections = collections;
        lone_open_table(&w, 100, 100);
        fill(&w, NAMES, SIZE);
        struct split_advice a = middle_of(&w);
        assert_int_equal(a.verdict, SPLIT_ADVISED);
        assert_int_equal(a.point_count, 1);
        weigh(&w, NAMES, SIZE, a.points[0], sides);
        assert_in_range(sides[0] * 100 / (sides[0] + sides[1]), 49, 51);
        if (collections > 0)
            assert_true(collection_is_row(a.points[0]));
        middle_of(&w); /* it is looked for anew */
        lone_deinit(&w);
    }
}

/* Where data is not resident no slice is read before a reader thread has had its pages. */
TEST(cold_bytes_are_touched_before_they_are_read)
{
    enum {
        NAMES = 300,
        SIZE = 1000,
        LEAST = 2 /* touches: what is read until half of it lies behind, in slices */
    };
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    fill(&w, NAMES, SIZE);
    lone_checkpoint_all(&w);
    w.resident_max = 0;
    lone_crash(&w);
    struct split_advice a = request_middle(&w, 0);
    w.touch_count = 0;
    for (int i = 0; i < 20; i++) {
        lone_pass(&w, 50);
        assert_int_equal(w.touch_count, 1); /* nothing goes on meanwhile */
    }
    int touched = 0;
    for (; a.verdict == SPLIT_REFUSED_FEW_SAMPLES; a = request_middle(&w, 0)) {
        assert_true(touched < 100);
        if (w.touch_count > 0) {
            lone_touch_end(&w, w.touch_count - 1);
            touched++;
        }
        lone_pass(&w, 10);
    }
    assert_int_equal(a.verdict, SPLIT_ADVISED);
    assert_true(touched >= LEAST);
    lone_deinit(&w);
}

/* Asked for in turn, each time when the other one's has just been found. */
TEST(of_two_partitions_each_keeps_what_was_found)
{
    struct lone_node w;
    lone_init(&w, PROFILE_AWS);
    lone_open_table(&w, 100, 2000);
    assert_int_equal(w.table.partition_count, 2);
    fill(&w, 100, 10);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(request_middle(&w, i).verdict, SPLIT_REFUSED_FEW_SAMPLES);
        lone_pass(&w, 1000);
    }
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(request_middle(&w, i).verdict, SPLIT_ADVISED);
    lone_deinit(&w);
}

TEST(what_is_one_collection_or_one_item_is_not_split)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    w.collections = 1;
    lone_open_table(&w, 100, 100);
    fill(&w, 600, 10);
    struct split_advice a = middle_of(&w);
    assert_int_equal(a.verdict, SPLIT_REFUSED_COLLECTION);
    lone_key(&w, 0);
    assert_true(slice_equal(a.key, collection_key(buffer_slice(&w.key))));
    lone_deinit(&w);
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    fill(&w, 1, 10);
    assert_int_equal(middle_of(&w).verdict, SPLIT_REFUSED_NO_BENEFIT);
    lone_deinit(&w);
}
