/* The replicas of a node by id, and their deadlines, against plain arrays. */
#include "base/must.h"
#include "base/prng.h"
#include "engine/node/core/partitions.h"
#include "engine/node/core/raft_timers.h"
#include "tests/check.h"

enum {
    IDS = 200,
    STEPS = 20000
};

static struct partition *make(uint32_t id)
{
    static const uint8_t lo[4] = {0, 0, 0, 1};
    const struct partition_info info = {.id = id,
                                        .lo = slice_make(lo, sizeof lo),
                                        .member_count = 1,
                                        .members = {raft_member_id(1, 1, 0)}};
    return partition_create(&info);
}

static uint32_t id_of(uint32_t i)
{
    return i * 7919; /* far apart, as after many splits */
}

static void check_all(const struct partitions *partitions, struct partition *const model[IDS])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < IDS; i++) {
        assert_ptr_equal(partitions_find(partitions, id_of(i)), model[i]);
        if (model[i] != NULL)
            assert_ptr_equal(partitions->all[count++], model[i]);
    }
    assert_int_equal(partitions->count, count);
    assert_null(partitions_find(partitions, 1));
}

static void check_after(const struct partitions *partitions, struct partition *const model[IDS],
                        uint32_t from)
{
    struct partition *expected = NULL;
    for (uint32_t step = 1; step <= IDS && expected == NULL; step++)
        expected = model[(from + step) % IDS];
    assert_ptr_equal(partitions_after(partitions, id_of(from)), expected);
}

TEST(partitions_are_found_by_id_in_order_and_in_a_circle)
{
    struct partitions partitions = {0};
    struct partition *model[IDS] = {NULL};
    struct prng prng = prng_seeded(1);
    (void)state;
    assert_null(partitions_find(&partitions, 0));
    assert_null(partitions_after(&partitions, 0));
    for (int step = 0; step < STEPS; step++) {
        uint32_t i = (uint32_t)prng_below(&prng, IDS);
        if (model[i] == NULL) {
            model[i] = make(id_of(i));
            partitions_add(&partitions, model[i]);
        } else {
            partitions_remove(&partitions, model[i]);
            partition_destroy(model[i]);
            model[i] = NULL;
        }
        check_after(&partitions, model, (uint32_t)prng_below(&prng, IDS));
        if (step % 100 == 0)
            check_all(&partitions, model);
    }
    check_all(&partitions, model);
    partitions_deinit(&partitions);
}

/* The one of the model that comes first; IDS: there is none. */
static uint32_t first_of(const struct instant model[IDS])
{
    uint32_t first = IDS;
    for (uint32_t i = 0; i < IDS; i++) {
        if (model[i].ns != INSTANT_NEVER.ns && (first == IDS || model[i].ns < model[first].ns))
            first = i;
    }
    return first;
}

TEST(the_earliest_deadline_comes_first_and_equal_ones_by_id)
{
    struct raft_timers deadlines = {0};
    struct partition *parts[IDS];
    struct instant model[IDS];
    struct prng prng = prng_seeded(2);
    (void)state;
    for (uint32_t i = 0; i < IDS; i++) {
        parts[i] = make(id_of(i));
        model[i] = INSTANT_NEVER;
    }
    for (int step = 0; step < STEPS; step++) {
        uint32_t i = (uint32_t)prng_below(&prng, IDS);
        model[i] = prng_below(&prng, 4) == 0 ? INSTANT_NEVER
                                             : (struct instant){(int64_t)prng_below(&prng, 1000)};
        raft_timers_set(&deadlines, parts[i], model[i]);
        uint32_t first = first_of(model);
        struct instant at = first == IDS ? INSTANT_NEVER : model[first];
        assert_int_equal(raft_timers_first_at(&deadlines).ns, at.ns);
        struct instant now = {(int64_t)prng_below(&prng, 1000)};
        struct partition *due = raft_timers_take_due(&deadlines, now);
        assert_ptr_equal(due, first < IDS && model[first].ns <= now.ns ? parts[first] : NULL);
        if (due != NULL)
            model[first] = INSTANT_NEVER;
    }
    for (uint32_t i = 0; i < IDS; i++)
        partition_destroy(parts[i]);
    raft_timers_deinit(&deadlines);
}
