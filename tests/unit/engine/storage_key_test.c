#include "engine/item/storage_key.h"
#include "tests/check.h"

static struct attr text_key(const char *text)
{
    return (struct attr){ATTR_STRING, slice_of(text)};
}

static struct slice key_of(struct buffer *out, uint32_t table, const struct attr *partition,
                           const struct attr *sort)
{
    buffer_clear(out);
    storage_key_append(out, table, partition, sort);
    return buffer_slice(out);
}

TEST(a_key_is_table_hash_partition_key_sort_key)
{
    struct buffer out = {0};
    struct attr partition = {ATTR_BINARY, slice_make("a\0b", 3)}, sort = text_key("s");
    struct slice key = key_of(&out, 0x01020304, &partition, &sort);
    assert_int_equal(key.size, 4 + 8 + (4 + 2) + (1 + 2));
    assert_memory_equal(key.data, "\1\2\3\4", 4);
    uint64_t hash;
    memcpy(&hash, key.data + 4, sizeof hash);
    assert_true(__builtin_bswap64(hash) == storage_key_hash(&partition));
    assert_memory_equal(key.data + 12,
                        "a\x00\xff"
                        "b\x00\x01s\x00\x01",
                        9);
    buffer_deinit(&out);
}

TEST(a_sort_key_that_is_anothers_prefix_comes_first)
{
    struct buffer a = {0}, b = {0};
    struct attr partition = text_key("p");
    static const struct {
        const char *bytes;
        size_t size;
    } ascending[] = {{"", 0},   {"\0", 1}, {"\0\0", 2}, {"\0\1", 2},    {"\0\xff", 2},
                     {"\1", 1}, {"a", 1},  {"a\0", 2},  {"a\0b", 3},    {"a\1", 2},
                     {"aa", 2}, {"b", 1},  {"\xff", 1}, {"\xff\xff", 2}};
    for (size_t i = 1; i < sizeof ascending / sizeof ascending[0]; i++) {
        struct attr low = {ATTR_BINARY, slice_make(ascending[i - 1].bytes, ascending[i - 1].size)};
        struct attr high = {ATTR_BINARY, slice_make(ascending[i].bytes, ascending[i].size)};
        assert_true(
            slice_compare(key_of(&a, 7, &partition, &low), key_of(&b, 7, &partition, &high)) < 0);
    }
    buffer_deinit(&a);
    buffer_deinit(&b);
}

TEST(a_collection_prefix_covers_its_items_and_no_others)
{
    struct buffer lo = {0}, hi = {0}, key = {0};
    struct attr partition = text_key("p"), longer = text_key("pp"), sort = text_key("\xff");
    storage_key_append_collection(&lo, 7, &partition);
    storage_key_append_collection(&hi, 7, &partition);
    storage_key_successor(&hi);
    struct slice inside = key_of(&key, 7, &partition, &sort);
    assert_true(slice_compare(buffer_slice(&lo), inside) <= 0);
    assert_true(slice_compare(inside, buffer_slice(&hi)) < 0);
    struct slice outside = key_of(&key, 7, &longer, &sort);
    assert_false(slice_starts_with(outside, buffer_slice(&lo)));
    buffer_deinit(&lo);
    buffer_deinit(&hi);
    buffer_deinit(&key);
}

TEST(an_unterminated_sort_key_is_the_prefix_of_what_begins_with_it)
{
    struct buffer prefix = {0}, key = {0};
    struct attr partition = text_key("p"), begin = text_key("ab"), sort = text_key("abc");
    storage_key_append_collection(&prefix, 7, &partition);
    storage_key_append_sort(&prefix, &begin, false);
    assert_true(slice_starts_with(key_of(&key, 7, &partition, &sort), buffer_slice(&prefix)));
    storage_key_append_sort(&prefix, &(struct attr){ATTR_STRING, {NULL, 0}}, true);
    assert_false(slice_starts_with(key_of(&key, 7, &partition, &sort), buffer_slice(&prefix)));
    assert_true(slice_equal(key_of(&key, 7, &partition, &begin), buffer_slice(&prefix)));
    buffer_deinit(&prefix);
    buffer_deinit(&key);
}

/* Zero bytes in the key are escaped, those of table and hash are not. */
TEST(a_collection_ends_where_its_partition_key_does)
{
    struct buffer key = {0}, prefix = {0};
    struct attr partition = {ATTR_BINARY, slice_make("a\0\1b", 4)}, sort = text_key("s");
    storage_key_append_collection(&prefix, 1, &partition);
    for (int i = 0; i < 2; i++) {
        struct slice whole = key_of(&key, 1, &partition, i == 0 ? NULL : &sort);
        assert_int_equal(storage_key_collection_size(whole), prefix.size);
        memcpy(key.data + 4, "\0\1\0\1\0\1\0\1", 8);
        assert_int_equal(storage_key_collection_size(whole), prefix.size);
        for (size_t size = 0; size < prefix.size; size++)
            assert_int_equal(storage_key_collection_size(slice_make(key.data, size)), size);
    }
    buffer_deinit(&key);
    buffer_deinit(&prefix);
}

TEST(a_bound_has_no_items_key_as_its_beginning)
{
    struct buffer key = {0};
    const struct attr id = {ATTR_STRING, slice_of("a")}, at = {ATTR_STRING, slice_of("b")};
    storage_key_append(&key, 5, &id, &at);
    const struct slice whole = buffer_slice(&key);
    for (size_t size = 0; size <= whole.size; size++)
        assert_true(storage_key_is_bound(slice_make(whole.data, size), 2));
    assert_false(storage_key_is_bound(whole, 1)); /* of a table without a sort key */
    assert_true(slice_equal(storage_key_begun_behind(whole), whole));
    buffer_append_u8(&key, 0);
    assert_false(storage_key_is_bound(buffer_slice(&key), 2));
    assert_int_equal(storage_key_begun_behind(buffer_slice(&key)).size, key.size - 1);
    key.size -= 2;
    assert_int_equal(storage_key_begun_behind(buffer_slice(&key)).size, key.size);
    buffer_deinit(&key);
}

TEST(the_successor_of_all_ff_is_empty)
{
    struct buffer key = {0};
    buffer_append(&key, "\xff\xff", 2);
    storage_key_successor(&key);
    assert_int_equal(key.size, 0);
    buffer_append(&key, "a\xff\xff", 3);
    storage_key_successor(&key);
    assert_slice_is(buffer_slice(&key), "b");
    buffer_deinit(&key);
}

TEST(the_longest_keys_fit_the_limit)
{
    static const uint8_t zeros[PARTITION_KEY_SIZE_MAX];
    struct buffer key = {0};
    struct attr partition = {ATTR_BINARY, slice_make(zeros, PARTITION_KEY_SIZE_MAX)};
    struct attr sort = {ATTR_BINARY, slice_make(zeros, SORT_KEY_SIZE_MAX)};
    assert_int_equal(key_of(&key, 1, &partition, &sort).size, ITEM_KEY_SIZE_MAX);
    buffer_deinit(&key);
}
