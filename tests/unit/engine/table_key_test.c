/* Keys of rows of global indexes: as nodes make them of items, as routers make them of attributes,
 * and read back. */
#include "tests/check.h"

#include "engine/catalog/table_key.h"
#include "engine/index/row.h"

#define TEXT(s)                                 \
    {                                           \
        ATTR_STRING,                            \
        {                                       \
            (const uint8_t *)(s), sizeof(s) - 1 \
        }                                       \
    }

static struct attr number_of(struct buffer *bytes, const char *text)
{
    struct number n;
    const size_t at = bytes->size;
    assert_int_equal(number_parse(slice_of(text), &n), STATUS_OK);
    uint8_t encoded[NUMBER_ENCODED_MAX];
    buffer_append(bytes, encoded, number_encode(&n, encoded));
    return (struct attr){ATTR_NUMBER, slice_make(bytes->data + at, bytes->size - at)};
}

static void add(struct item_writer *w, const struct key_attr *k, const struct attr *value)
{
    item_name(w, k->name);
    item_attr(w, value);
}

/* An index with this many attributes in its keys, of a table with or without a sort key. */
static void check_keys(uint32_t partition_count, uint32_t sort_count, bool sorted)
{
    static const char *const NAMES[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct arena arena = {0};
    struct buffer numbers = {0}, item = {0}, item_key = {0}, by_item = {0}, by_key = {0};
    struct table t = {.id = 5, .partition_key = {slice_of("p"), ATTR_STRING}};
    struct index x = {.table_id = 6,
                      .name = slice_of("by"),
                      .partition_count = partition_count,
                      .sort_count = sort_count,
                      .projection = PROJECT_ALL};
    struct key key = {.partition = TEXT("a\0b")}, back;
    struct item_writer w;
    buffer_reserve(&numbers, 1000);
    if (sorted) {
        t.sort_key = (struct key_attr){slice_of("s"), ATTR_NUMBER};
        key.sort = number_of(&numbers, "-7.5");
    }
    for (uint32_t i = 0; i < partition_count + sort_count; i++) {
        const bool number = i % 2 == 1;
        x.keys[i] = (struct key_attr){slice_of(NAMES[i]), number ? ATTR_NUMBER : ATTR_BINARY};
        key.index[i] = number ? number_of(&numbers, "12e3") : (struct attr)TEXT("\0\1\xff");
        key.index[i].type = x.keys[i].type;
    }
    item_begin(&w, &item);
    add(&w, &t.partition_key, &key.partition);
    if (sorted)
        add(&w, &t.sort_key, &key.sort);
    for (uint32_t i = 0; i < partition_count + sort_count; i++)
        add(&w, &x.keys[i], &key.index[i]);
    item_end(&w);
    key_append_storage(&item_key, &t, &key);
    assert_true(
        index_global_append_key(&by_item, &x, buffer_slice(&item_key), buffer_slice(&item)));
    key_append_row(&by_key, &t, &x, &key);
    assert_true(slice_equal(buffer_slice(&by_item), buffer_slice(&by_key)));
    assert_true(key_of_storage(&t, &x, buffer_slice(&by_key), &arena, &back));
    assert_true(slice_equal(back.partition.body, key.partition.body));
    assert_int_equal(back.sort.type, key.sort.type);
    assert_true(slice_equal(back.sort.body, key.sort.body));
    for (uint32_t i = 0; i < partition_count + sort_count; i++) {
        assert_int_equal(back.index[i].type, key.index[i].type);
        assert_true(slice_equal(back.index[i].body, key.index[i].body));
    }
    /* a key that is cut short, or goes on, is none */
    for (size_t size = 0; size < by_key.size; size++)
        assert_false(key_of_storage(&t, &x, slice_make(by_key.data, size), &arena, &back));
    buffer_append_slice(&by_key, slice_of("x"));
    assert_false(key_of_storage(&t, &x, buffer_slice(&by_key), &arena, &back));
    arena_deinit(&arena);
    buffer_deinit(&numbers);
    buffer_deinit(&item);
    buffer_deinit(&item_key);
    buffer_deinit(&by_item);
    buffer_deinit(&by_key);
}

TEST(routers_and_nodes_make_the_same_row_keys)
{
    for (uint32_t p = 1; p <= INDEX_KEYS_MAX; p++) {
        for (uint32_t s = 0; s <= INDEX_KEYS_MAX; s++) {
            check_keys(p, s, false);
            check_keys(p, s, true);
        }
    }
}
