/* What a partition owns under several ranges of keys, read in order. */
#include "engine/node/core/owned_keys.h"
#include "sim/world/store_disk.h"
#include "tests/check.h"

static const struct key_ranges RANGES = {
    .count = 3,
    .at = {{{(const uint8_t *)"b", 1}, {(const uint8_t *)"d", 1}},
           {{(const uint8_t *)"g", 1}, {(const uint8_t *)"h", 1}},
           {{(const uint8_t *)"m", 1}, {NULL, 0}}},
};

struct letters {
    struct store_disk store_disk;
    struct store *store;
};

/* Every letter of the alphabet is a key. */
static void letters_init(struct letters *l)
{
    l->store_disk = (struct store_disk){.map_initial_bytes = 1 << 20, .map_max_bytes = 1 << 20};
    l->store = store_create(store_disk_open(&l->store_disk), UINT64_MAX, 1);
    for (uint8_t key = 'a'; key <= 'z'; key++)
        store_put(l->store, slice_make(&key, 1), slice_make(&key, 1));
}

static void letters_deinit(struct letters *l)
{
    store_destroy(l->store);
    store_disk_wipe(&l->store_disk);
}

static void expect_owned(struct letters *l, struct key_ranges ranges, const char *expected)
{
    char read[27] = "";
    struct owned_cursor c;
    struct slice key, value;
    enum status status;
    owned_seek(l->store, &ranges, &c);
    while ((status = owned_next(&c, &key, &value)) == STATUS_OK)
        strncat(read, (const char *)key.data, key.size);
    assert_int_equal(status, STATUS_NOT_FOUND);
    assert_string_equal(read, expected);
}

TEST(all_that_is_owned_is_read_range_by_range)
{
    struct letters l;
    (void)state;
    letters_init(&l);
    expect_owned(&l, RANGES, "bcgmnopqrstuvwxyz");
    expect_owned(&l, (struct key_ranges){0}, "");
    letters_deinit(&l);
}

TEST(what_lies_before_a_key_is_skipped)
{
    static const struct {
        const char *from;
        const char *left;
    } cases[] = {{"a", "bcgxyz"}, {"c", "cgxyz"}, {"d", "gxyz"}, {"gg", "xyz"}, {"y", "yz"}};
    struct letters l;
    (void)state;
    letters_init(&l);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct key_ranges ranges = RANGES;
        ranges.at[2].lo = slice_of("x");
        key_ranges_skip(&ranges, slice_of(cases[i].from));
        expect_owned(&l, ranges, cases[i].left);
    }
    letters_deinit(&l);
}

TEST(a_key_is_held_by_the_range_it_lies_in)
{
    for (char key = 'a'; key <= 'z'; key++) {
        bool held = strchr("bcgmnopqrstuvwxyz", key) != NULL;
        assert_int_equal(key_ranges_hold(&RANGES, slice_make(&key, 1)), held);
    }
}
