/* limiter_page.c - see limiter_page.h. */
#include "sim/check/limiter_page.h"

#include <stdlib.h>

/* The value of an attribute such as {"N":"12"}. */
static struct json_value attribute_of(const struct json_value *map, const char *name,
                                      const char *type)
{
    const struct json_value attribute = json_find(map, name);
    return json_find(&attribute, type);
}

/* 0: there is none. */
static int64_t number_of(const struct json_value *map, const char *name)
{
    const struct json_value text = attribute_of(map, name, "N");
    char digits[32] = {0};
    if (text.type != JSON_STRING || json_string(&text).size >= sizeof digits)
        return 0;
    memcpy(digits, json_string(&text).data, json_string(&text).size);
    return strtoll(digits, NULL, 10);
}

static bool flag_of(const struct json_value *map, const char *name)
{
    const struct json_value flag = attribute_of(map, name, "BOOL");
    return flag.type == JSON_BOOL && json_bool(&flag);
}

struct limiter_item_level limiter_item_level(const struct limiter_item *item, const char *limit)
{
    const struct json_value level = attribute_of(&item->levels, limit, "M");
    return (struct limiter_item_level){.capacity = number_of(&level, "cp"),
                                       .tokens = number_of(&level, "tk"),
                                       .taken = number_of(&level, "tc"),
                                       .refilled_ms = number_of(&level, "rf")};
}

/* False: the item is none of a bucket. */
static bool item_read(const struct json_value *map, struct limiter_item *out)
{
    const struct json_value key = attribute_of(map, "PK", "S");
    if (!bucket_name_of_key(json_text(&key), &out->name))
        return false;
    out->shard = (uint32_t)number_of(map, "sh");
    out->shards = (uint32_t)number_of(map, "sc");
    out->open = !flag_of(map, "cl");
    out->count = (uint32_t)number_of(map, "ct");
    out->merging = flag_of(map, "mg");
    out->epoch = number_of(map, "ep");
    out->refused = number_of(map, "rd");
    out->levels = attribute_of(map, "lm", "M");
    return true;
}

static void scan_append(struct buffer *out, const struct json_value *from)
{
    buffer_append_text(out, "{\"TableName\":\"" LIMITER_TABLE "\",\"ConsistentRead\":true");
    if (from != NULL) {
        const struct json_value pk = attribute_of(from, "PK", "S");
        const struct json_value sk = attribute_of(from, "SK", "S");
        const struct slice p = json_text(&pk), s = json_text(&sk);
        buffer_append_format(
            out, ",\"ExclusiveStartKey\":{\"PK\":{\"S\":\"%.*s\"},\"SK\":{\"S\":\"%.*s\"}}",
            TEXT_OF(p), TEXT_OF(s));
    }
    buffer_append_text(out, "}");
}

void limiter_page_first(struct buffer *out)
{
    scan_append(out, NULL);
}

bool limiter_page_read(struct slice body, limiter_page_take take, void *context,
                       struct buffer *next)
{
    struct json_parser *json = json_parser_create();
    struct buffer text = {0};
    struct json_value root = {0}, map;
    struct limiter_item item;
    buffer_clear(next);
    buffer_append_slice(&text, body);
    buffer_reserve(&text, JSON_PADDING);
    const bool parsed = json_parse(json, buffer_slice(&text), &root) == STATUS_OK;
    const struct json_value items = parsed ? json_find(&root, "Items") : root;
    const bool good = parsed && items.type == JSON_LIST;
    struct json_cursor at = {0};
    if (good)
        at = json_elements(&items);
    while (good && json_next_element(&at, &map)) {
        if (item_read(&map, &item))
            take(context, &item);
    }
    const struct json_value last = good ? json_find(&root, "LastEvaluatedKey") : root;
    if (good && last.type == JSON_OBJECT)
        scan_append(next, &last);
    buffer_deinit(&text);
    json_parser_destroy(json);
    return good;
}
