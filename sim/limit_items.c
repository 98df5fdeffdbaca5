/* limit_items.c - see limit_items.h and engine/limiter/bucket_item.c, which says what an item has. */
#include "sim/limit_items.h"

#include <stdlib.h>

#include "base/must.h"
#include "router/json/json.h"

static const char *const limit_names[BOOKS_LIMITS] = {"fast", "slow"};

/* The number of an attribute {"N":"12"}; `otherwise`: there is none. */
static int64_t number_of(const struct json_value *map, const char *name, int64_t otherwise)
{
    const struct json_value attribute = json_find(map, name);
    const struct json_value text = json_find(&attribute, "N");
    char digits[32] = {0};
    if (text.type != JSON_STRING || json_string(&text).size >= sizeof digits)
        return otherwise;
    memcpy(digits, json_string(&text).data, json_string(&text).size);
    return strtoll(digits, NULL, 10);
}

static bool flag_of(const struct json_value *map, const char *name)
{
    const struct json_value attribute = json_find(map, name);
    const struct json_value flag = json_find(&attribute, "BOOL");
    return flag.type == JSON_BOOL && json_bool(&flag);
}

static struct slice text_of(const struct json_value *map, const char *name)
{
    const struct json_value attribute = json_find(map, name);
    const struct json_value text = json_find(&attribute, "S");
    return json_text(&text);
}

/* PK is {namespace}/BUCKET#{entity}#{resource}#{shard}. `count`: of no bucket that is looked for. */
static uint32_t bucket_of(struct slice key, const char *const *entities, uint32_t count)
{
    static const char begin[] = "/BUCKET#";
    const uint8_t *at = memmem(key.data, key.size, begin, sizeof begin - 1);
    if (at == NULL)
        return count;
    at += sizeof begin - 1;
    const uint8_t *end = memchr(at, '#', (size_t)(key.data + key.size - at));
    uint32_t i = 0;
    while (end != NULL && i < count && !slice_is(slice_make(at, (size_t)(end - at)), entities[i]))
        i++;
    return end == NULL ? count : i;
}

static void item_add(const struct json_value *item, struct limit_items *out)
{
    const struct json_value limits = json_find(item, "lm");
    const struct json_value map = json_find(&limits, "M");
    const bool open = !flag_of(item, "cl");
    const int64_t shard = number_of(item, "sh", -1);
    out->items++;
    out->open += open;
    out->refused += number_of(item, "rd", 0);
    if (shard == 0) {
        out->epoch = number_of(item, "ep", 0);
        out->count = (uint32_t)number_of(item, "ct", 0);
        out->merging = flag_of(item, "mg");
    }
    for (uint32_t i = 0; i < BOOKS_LIMITS; i++) {
        const struct json_value limit = json_find(&map, limit_names[i]);
        const struct json_value level = json_find(&limit, "M");
        out->taken[i] += number_of(&level, "tc", 0);
        out->where[i] += number_of(&level, "tc", 0) * shard;
        out->tokens[i] += open ? number_of(&level, "tk", 0) : 0;
        const int64_t capacity = number_of(&level, "cp", 0);
        if (open && (out->open == 1 || capacity < out->capacity[0][i]))
            out->capacity[0][i] = capacity;
        if (open && capacity > out->capacity[1][i])
            out->capacity[1][i] = capacity;
    }
}

static bool page_read(const struct json_value *root, const char *const *entities, uint32_t count,
                      struct limit_items *out, struct buffer *next)
{
    const struct json_value items = json_find(root, "Items");
    const struct json_value last = json_find(root, "LastEvaluatedKey");
    struct json_value item;
    if (items.type != JSON_LIST)
        return false;
    struct json_cursor at = json_elements(&items);
    while (json_next_element(&at, &item)) {
        const uint32_t i = bucket_of(text_of(&item, "PK"), entities, count);
        if (i < count)
            item_add(&item, &out[i]);
    }
    if (last.type == JSON_OBJECT) {
        const struct slice pk = text_of(&last, "PK"), sk = text_of(&last, "SK");
        buffer_append_format(next, "{\"PK\":{\"S\":\"%.*s\"},\"SK\":{\"S\":\"%.*s\"}}", TEXT_OF(pk),
                             TEXT_OF(sk));
    }
    return true;
}

bool limit_items_read(struct slice body, const char *const *entities, uint32_t count,
                      struct limit_items *out, struct buffer *next, struct buffer *why)
{
    struct json_parser *json = json_parser_create();
    struct buffer text = {0};
    struct json_value root;
    buffer_clear(next);
    buffer_append_slice(&text, body);
    buffer_reserve(&text, JSON_PADDING);
    const bool good = json_parse(json, buffer_slice(&text), &root) == STATUS_OK &&
                      page_read(&root, entities, count, out, next);
    if (!good)
        buffer_append_format(why, "the answer to a Scan cannot be read: %.*s\n", TEXT_OF(text));
    buffer_deinit(&text);
    json_parser_destroy(json);
    return good;
}
