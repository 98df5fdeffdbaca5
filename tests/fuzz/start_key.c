/* start_key.c - keys that come from outside: ExclusiveStartKey as JSON, and storage keys that a node
 * sends. A key that is taken becomes a storage key that is whole, and comes back out of it. Words:
 * start_key.dict. */
#include "base/must.h"
#include "router/json/shape.h"
#include "router/json/value.h"
#include "router/operations/key.h"
#include "router/operations/shapes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void key_check_same(const struct table *t, const struct key *key, struct arena *arena)
{
    struct buffer bytes = {0};
    struct key back;
    key_append_storage(&bytes, t, key);
    must(storage_key_is_whole(buffer_slice(&bytes)));
    must(key_of_storage(t, NULL, buffer_slice(&bytes), arena, &back));
    must(back.partition.type == key->partition.type && back.sort.type == key->sort.type);
    must(slice_equal(back.partition.body, key->partition.body));
    must(key->sort.type == 0 || slice_equal(back.sort.body, key->sort.body));
    buffer_deinit(&bytes);
}

static void key_check_json(const struct table *t, struct slice text, struct arena *arena)
{
    struct json_parser *parser = json_parser_create();
    struct json_value root, m[SHAPE_MEMBERS_MAX];
    struct buffer padded = {0}, bytes = {0};
    struct fault fault = {0};
    struct span item;
    struct key key;
    buffer_append_text(&padded, "{\"TableName\":\"users\",\"ExclusiveStartKey\":");
    buffer_append_slice(&padded, text);
    buffer_append_u8(&padded, '}');
    memset(buffer_reserve(&padded, JSON_PADDING), 0, JSON_PADDING);
    if (json_parse(parser, buffer_slice(&padded), &root) == STATUS_OK && root.type == JSON_OBJECT &&
        shape_check(&shape_scan, &root, false, m, &fault) &&
        m[SCAN_EXCLUSIVE_START_KEY].type == JSON_OBJECT &&
        value_read_item(&bytes, arena, &m[SCAN_EXCLUSIVE_START_KEY], &item, &fault) &&
        key_of_key(t, span_in(&bytes, item), &key, &fault))
        key_check_same(t, &key, arena);
    fault_deinit(&fault);
    buffer_deinit(&bytes);
    buffer_deinit(&padded);
    json_parser_destroy(parser);
}

/* u8 type of the sort key, then JSON or a storage key. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum attr_type TYPES[] = {ATTR_STRING, ATTR_NUMBER, ATTR_BINARY, 0};
    if (size < 1)
        return 0;
    struct table t = {.partition_key = {slice_of("p"), TYPES[data[0] / 4 % 3]}};
    struct arena arena = {0};
    struct key key;
    if (TYPES[data[0] % 4] != 0)
        t.sort_key = (struct key_attr){slice_of("s"), TYPES[data[0] % 4]};
    const struct slice input = slice_make(data + 1, size - 1);
    key_check_json(&t, input, &arena);
    if (storage_key_is_whole(input) && key_of_storage(&t, NULL, input, &arena, &key))
        key_check_same(&t, &key, &arena);
    arena_deinit(&arena);
    return 0;
}
