/* records_test.c - the ring of decision records: what stays, what goes, and in which order. */
#include "router/records/records.h"

#include "tests/check.h"

enum {
    SMALL = 64 * 1024
};

static struct records *r;

static int set_up(UNUSED void **state)
{
    r = records_create(SMALL);
    return 0;
}

static int tear_down(UNUSED void **state)
{
    records_check(r);
    records_destroy(r);
    return 0;
}

FIXTURE(set_up, tear_down)

/* A refusal of the partition's allocation. */
static struct decision_record refusal(uint64_t number, uint32_t partition, int64_t wall_ms)
{
    struct decision_record d = {.number = number,
                                .wall_ms = wall_ms,
                                .outcome = RECORD_REFUSED,
                                .causes = RECORD_OF_OUTCOME,
                                .operation = "PutItem",
                                .partition = partition,
                                .node = 1,
                                .table_id = 7,
                                .status = 400,
                                .kind = ADMIT_WRITE,
                                .cost_mcu = 2000,
                                .item_bytes = 1500,
                                .verdict = {.reason = ADMIT_REFUSED_ALLOCATION,
                                            .wait.ns = 3 * NS_PER_MS,
                                            .balances.allocation_mcu = -600,
                                            .balances.cap_mcu = 5000}};
    memset(d.id, 'A', sizeof d.id);
    record_add_text(&d, RECORD_TABLE, slice_of("orders"), 64);
    record_add_text(&d, RECORD_KEY, slice_of("id=\"a\""), 64);
    return d;
}

static void add(uint64_t number, uint32_t partition, int64_t wall_ms)
{
    const struct decision_record d = refusal(number, partition, wall_ms);
    records_add(r, &d);
}

TEST(a_record_is_found_by_its_number_as_it_was)
{
    struct decision_record d = refusal(5, 9, 1000), found;
    records_add(r, &d);
    assert_true(records_find(r, 5, &found));
    assert_memory_equal(&found, &d, sizeof d);
    assert_false(records_find(r, 6, &found));
}

TEST(of_a_pair_at_most_64_records_a_second_are_full_and_short_ones_keep_what_refused)
{
    struct decision_record d;
    for (uint64_t i = 1; i <= 70; i++)
        add(i, 9, 1000);
    add(71, 10, 1000); /* another partition */
    add(72, 9, 2000);  /* another second */
    assert_true(records_find(r, 64, &d));
    assert_false(d.short_form);
    assert_true(records_find(r, 65, &d));
    assert_true(d.short_form);
    assert_int_equal(d.verdict.reason, ADMIT_REFUSED_ALLOCATION);
    assert_int_equal(d.verdict.balances.allocation_mcu, -600);
    assert_int_equal(d.verdict.wait.ns, 3 * NS_PER_MS);
    assert_int_equal(d.cost_mcu, 2000);
    assert_int_equal(d.partition, 9);
    assert_true(slice_is(record_text(&d, RECORD_TABLE), "orders"));
    assert_true(records_find(r, 71, &d) && !d.short_form);
    assert_true(records_find(r, 72, &d) && !d.short_form);
    assert_int_equal(records_count(r).full, 66);
    assert_int_equal(records_count(r).brief, 6);
}

TEST(many_refusals_of_one_partition_do_not_remove_the_one_of_another)
{
    struct decision_record d;
    add(1, 10, 1000);
    for (uint64_t i = 2; i < 20000; i++)
        add(i, 9, 1000 + (int64_t)i * 10);
    assert_true(records_find(r, 1, &d));
    assert_true(records_find(r, 19999, &d));
    assert_false(records_find(r, 2, &d));
    assert_int_equal(records_count(r).oldest_ms, 1000);
}

TEST(records_come_from_the_newest_to_the_oldest_whatever_their_form)
{
    struct records_cursor at = {0};
    struct decision_record d;
    for (uint64_t i = 1; i <= 100; i++)
        add(i, 9, 1000 + (int64_t)i);
    for (uint64_t i = 100; i >= 1; i--) {
        assert_true(records_next(r, &at, &d));
        assert_int_equal(d.number, i);
    }
    assert_false(records_next(r, &at, &d));
}

/* A ring without records to compare with: what was added, in order. */
TEST(whatever_is_added_the_newest_of_each_place_is_held)
{
    struct prng prng = prng_seeded(11);
    uint64_t last[40] = {0};
    for (uint64_t i = 1; i <= 30000; i++) {
        const uint32_t place = (uint32_t)prng_below(&prng, prng_below(&prng, 40) + 1);
        add(i, place + 1, 1000 + (int64_t)i / 8);
        last[place] = i;
        if (i % 1000 == 0)
            records_check(r);
    }
    for (uint32_t place = 0; place < 40; place++) {
        struct decision_record d;
        assert_true(records_find(r, last[place], &d));
        assert_int_equal(d.partition, place + 1);
    }
}

TEST(more_pairs_than_there_is_room_for_share_one)
{
    struct decision_record d;
    for (uint32_t i = 1; i <= 5000; i++)
        add(i, i, 1000);
    assert_true(records_find(r, 5000, &d));
    assert_int_equal(d.partition, 5000);
}

TEST(a_record_is_of_its_table_also_if_the_name_is_cut)
{
    char name[200];
    struct decision_record d = {0};
    memset(name, 'n', sizeof name);
    record_add_text(&d, RECORD_TABLE, slice_make(name, sizeof name), RECORD_TABLE_MAX);
    assert_true(record_is_of_table(&d, slice_make(name, sizeof name)));
    assert_false(record_is_of_table(&d, slice_make(name, RECORD_TABLE_MAX - 1)));
    d = refusal(1, 1, 1);
    assert_true(record_is_of_table(&d, slice_of("orders")));
    assert_false(record_is_of_table(&d, slice_of("order")));
    assert_false(record_is_of_table(&d, slice_of("orders2")));
}

TEST(a_text_that_is_too_long_is_cut_between_two_characters)
{
    struct decision_record d = {0};
    record_add_text(&d, RECORD_TABLE, slice_of("ab\xC3\xA4"), 3);
    record_add_text(&d, RECORD_KEY, slice_of("key"), 64);
    record_add_text(&d, RECORD_ERROR, slice_of("error"), 64);
    assert_true(slice_is(record_text(&d, RECORD_TABLE), "ab"));
    record_hide_key(&d);
    assert_int_equal(record_text(&d, RECORD_KEY).size, 0);
    assert_true(slice_is(record_text(&d, RECORD_ERROR), "error"));
}
