/* start_key.c - keys that come from outside: ExclusiveStartKey as JSON, and storage keys that a
 * node sends. A key that is taken becomes a storage key that is whole, and comes back out of it.
 * Words: start_key.dict. */
#include "base/must.h"
#include "router/core/key.h"
#include "router/json/shape.h"
#include "router/json/shapes.h"
#include "router/json/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void key_check_attr(const struct attr *a, const struct attr *b)
{
    must(a->type == b->type);
    must(a->type == 0 || slice_equal(a->body, b->body));
}

static void key_check_same(const struct table *t, const struct index *x, const struct key *key,
                           struct arena *arena)
{
    struct buffer bytes = {0};
    struct key back;
    key_append_row(&bytes, t, x, key);
    must(storage_key_is_complete(buffer_slice(&bytes)));
    must(key_of_storage(t, x, buffer_slice(&bytes), arena, &back));
    key_check_attr(&back.partition, &key->partition);
    key_check_attr(&back.sort, &key->sort);
    for (size_t i = 0; i < COUNT_OF(key->index); i++)
        key_check_attr(&back.index[i], &key->index[i]);
    buffer_deinit(&bytes);
}

static void key_check_json(const struct table *t, const struct index *x, struct slice text,
                           struct arena *arena)
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
        key_of_row_key(t, x, span_in(&bytes, item), &key, &fault))
        key_check_same(t, x, &key, arena);
    fault_deinit(&fault);
    buffer_deinit(&bytes);
    buffer_deinit(&padded);
    json_parser_destroy(parser);
}

/* The n-th kind of index. NULL: none. */
static const struct index *key_index(const struct table *t, int n, struct index *out)
{
    static const struct key_attr KEYS[] = {{{(const uint8_t *)"a", 1}, ATTR_STRING},
                                           {{(const uint8_t *)"b", 1}, ATTR_NUMBER},
                                           {{(const uint8_t *)"p", 1}, ATTR_BINARY},
                                           {{(const uint8_t *)"c", 1}, ATTR_BINARY}};
    if (n == 0 || (n == 1 && !table_has_sort_key(t)))
        return NULL;
    *out = (struct index){.table_id = 7, .partition_count = 1, .projection = PROJECT_ALL};
    memcpy(out->keys, KEYS, sizeof KEYS);
    if (n == 1) {
        *out = (struct index){.number = 1, .partition_count = 1, .sort_count = 1};
        out->keys[0] = t->partition_key;
        out->keys[1] = KEYS[0];
    } else if (n == 3) {
        out->partition_count = 3;
        out->sort_count = 1;
        out->keys[2].type = t->partition_key.type;
    }
    return out;
}

/* u8 types of the table's keys, and the kind of index; then JSON or a storage key. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum attr_type TYPES[] = {ATTR_STRING, ATTR_NUMBER, ATTR_BINARY, 0};
    if (size < 1)
        return 0;
    struct table t = {.partition_key = {slice_of("p"), TYPES[data[0] / 4 % 3]}};
    struct arena arena = {0};
    struct index index;
    struct key key;
    if (TYPES[data[0] % 4] != 0)
        t.sort_key = (struct key_attr){slice_of("s"), TYPES[data[0] % 4]};
    const struct index *x = key_index(&t, data[0] / 12 % 4, &index);
    const struct slice input = slice_make(data + 1, size - 1);
    key_check_json(&t, x, input, &arena);
    if (storage_key_is_complete(input) && key_of_storage(&t, x, input, &arena, &key))
        key_check_same(&t, x, &key, &arena);
    arena_deinit(&arena);
    return 0;
}
