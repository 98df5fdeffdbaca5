/* Local indexes: their bytes, and the rows that follow from items. */
#include "engine/index/row.h"
#include "engine/item/storage_key.h"
#include "engine/node/core/owned_keys.h"
#include "tests/check.h"

static struct slice text(const char *s)
{
    return slice_of(s);
}

/* by-n of all, by-t of keys, by-x of keys and y. */
static struct index indexes[3];
static struct index_set set;

static int set_up(void **state)
{
    static const char y[] = "\1\0\0\0y";
    (void)state;
    indexes[0] = (struct index){.number = 1,
                                .name = text("by-n"),
                                .partition_count = 1,
                                .sort_count = 1,
                                .keys = {{text("p"), ATTR_STRING}, {text("n"), ATTR_NUMBER}},
                                .projection = PROJECT_ALL};
    indexes[1] = indexes[0];
    indexes[1].number = 2;
    indexes[1].name = text("by-t");
    indexes[1].keys[1] = (struct key_attr){text("t"), ATTR_STRING};
    indexes[1].projection = PROJECT_KEYS;
    indexes[2] = indexes[1];
    indexes[2].number = 3;
    indexes[2].name = text("by-x");
    indexes[2].keys[1] = (struct key_attr){text("x"), ATTR_BINARY};
    indexes[2].projection = PROJECT_INCLUDE;
    indexes[2].names = slice_make(y, 5);
    set = (struct index_set){{text("p"), ATTR_STRING}, {text("s"), ATTR_STRING}, 3, 3, indexes};
    return 0;
}

FIXTURE(set_up, NULL)

static struct slice item_of(struct buffer *out, const char *t, const char *x, const char *y)
{
    struct item_writer w;
    buffer_clear(out);
    item_begin(&w, out);
    item_name(&w, text("y"));
    item_string(&w, text(y));
    item_name(&w, text("p"));
    item_string(&w, text("a"));
    if (t != NULL) {
        item_name(&w, text("t"));
        item_string(&w, text(t));
    }
    item_name(&w, text("s"));
    item_string(&w, text("b"));
    if (x != NULL) {
        item_name(&w, text("x"));
        item_binary(&w, text(x));
    }
    item_end(&w);
    return buffer_slice(out);
}

TEST(sets_survive_their_bytes_and_damaged_ones_are_refused)
{
    struct buffer bytes = {0}, again = {0};
    struct arena arena = {0};
    const struct index_set *back;
    (void)state;
    index_set_encode(&bytes, &set);
    assert_int_equal(index_set_decode(buffer_slice(&bytes), &arena, &back), STATUS_OK);
    assert_int_equal(back->count, 3);
    assert_true(index_set_find(back, text("by-t")) == &back->at[1]);
    assert_null(index_set_find(back, text("by")));
    index_set_encode(&again, back);
    assert_true(slice_equal(buffer_slice(&bytes), buffer_slice(&again)));
    for (size_t size = 1; size < bytes.size; size++)
        assert_int_equal(index_set_decode(slice_make(bytes.data, size), &arena, &back),
                         STATUS_MALFORMED);
    assert_int_equal(index_set_decode(slice_make(NULL, 0), &arena, &back), STATUS_OK);
    assert_null(back);
    indexes[1].number = 3; /* as the next one */
    buffer_clear(&bytes);
    index_set_encode(&bytes, &set);
    assert_int_equal(index_set_decode(buffer_slice(&bytes), &arena, &back), STATUS_MALFORMED);
    buffer_deinit(&bytes);
    buffer_deinit(&again);
    arena_deinit(&arena);
}

TEST(a_row_has_the_key_of_its_item)
{
    struct buffer key = {0}, row = {0}, item = {0};
    struct attr sort;
    (void)state;
    const struct attr p = {ATTR_STRING, text("a")}, s = {ATTR_STRING, text("b")};
    storage_key_append(&key, 7, &p, &s);
    item_of(&item, "z", NULL, "y");
    assert_true(index_sort_of(&indexes[1], buffer_slice(&item), &sort));
    index_row_append_key(&row, &indexes[1], buffer_slice(&key), &sort);
    assert_int_equal(row.data[0], 2);
    assert_int_equal(storage_key_collection_size(buffer_slice(&row)),
                     storage_key_collection_size(buffer_slice(&key)));
    assert_false(index_sort_of(&indexes[0], buffer_slice(&item), &sort)); /* has no n */
    assert_false(index_sort_of(&indexes[1], slice_make(NULL, 0), &sort));
    buffer_deinit(&key);
    buffer_deinit(&row);
    buffer_deinit(&item);
}

TEST(a_row_shows_the_attributes_of_its_projection)
{
    static const uint32_t SHOWN[] = {5, 3, 4};
    struct buffer item = {0}, row = {0};
    (void)state;
    item_of(&item, "z", "x", "yyy");
    for (int i = 0; i < 3; i++) {
        buffer_clear(&row);
        const uint32_t size = index_row_append(&row, &set, &indexes[i], buffer_slice(&item));
        assert_int_equal(item_check(buffer_slice(&row)), STATUS_OK);
        assert_int_equal(item_count(buffer_slice(&row)), SHOWN[i]);
        assert_int_equal(size, item_size(buffer_slice(&row)));
        assert_int_equal(size, index_row_size(&set, &indexes[i], buffer_slice(&item)));
    }
    buffer_deinit(&item);
    buffer_deinit(&row);
}

TEST(rows_are_the_same_if_what_they_show_is)
{
    struct buffer a = {0}, b = {0};
    struct steps steps = {0};
    (void)state;
    item_of(&a, "z", "x", "1");
    item_of(&b, "z", "x", "2");
    assert_false(index_row_is_same(&set, &indexes[0], buffer_slice(&a), buffer_slice(&b), &steps));
    assert_true(index_row_is_same(&set, &indexes[1], buffer_slice(&a), buffer_slice(&b), &steps));
    assert_false(index_row_is_same(&set, &indexes[2], buffer_slice(&a), buffer_slice(&b), &steps));
    item_of(&b, "z", NULL, "1"); /* without x */
    assert_false(index_row_is_same(&set, &indexes[0], buffer_slice(&a), buffer_slice(&b), &steps));
    assert_false(index_row_is_same(&set, &indexes[0], buffer_slice(&b), buffer_slice(&a), &steps));
    assert_true(index_row_is_same(&set, &indexes[1], buffer_slice(&a), buffer_slice(&b), &steps));
    buffer_deinit(&a);
    buffer_deinit(&b);
}

TEST(a_partition_owns_a_range_of_each_index)
{
    struct buffer bytes = {0};
    struct arena arena = {0};
    (void)state;
    index_set_encode(&bytes, &set);
    const struct key_ranges ranges = key_ranges_of(
        slice_make("\0\0\0\7a", 5), slice_make("\0\0\0\7c", 5), buffer_slice(&bytes), &arena);
    assert_int_equal(ranges.count, 7); /* and those of locks, tokens and streams */
    for (uint8_t space = 0; space < 6; space++) {
        const uint8_t key[] = {space, 0, 0, 7, 'b'}, before[] = {space, 0, 0, 7, 'A'};
        assert_int_equal(key_ranges_hold(&ranges, slice_make(key, 5)), space < 4);
        assert_false(key_ranges_hold(&ranges, slice_make(before, 5)));
    }
    buffer_deinit(&bytes);
    arena_deinit(&arena);
}
