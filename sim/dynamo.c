#include "sim/dynamo.h"

#define APPEND(b, text) buffer_append(b, text, sizeof text - 1)

/* ---- requests ---- */

void dynamo_create_table(struct buffer *out, const char *name, uint32_t units,
                         bool whole_collections)
{
    buffer_append_format(
        out,
        "{\"TableName\":\"%s\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":\"HASH\"},"
        "{\"AttributeName\":\"s\",\"KeyType\":\"RANGE\"}],"
        "\"AttributeDefinitions\":[{\"AttributeName\":\"k\",\"AttributeType\":\"S\"},"
        "{\"AttributeName\":\"s\",\"AttributeType\":\"S\"}],%s"
        "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":%u,\"WriteCapacityUnits\":%u}}",
        name,
        whole_collections ? "\"Tags\":[{\"Key\":\"weir:item-collections\",\"Value\":\"whole\"}],"
                          : "",
        units, units);
}

void dynamo_table(struct buffer *out, const char *name)
{
    buffer_append_format(out, "{\"TableName\":\"%s\"}", name);
}

/* `{"k":{"S":"2"},"s":{"S":"key-7"}`, still open */
static void append_key(struct buffer *out, uint32_t key)
{
    uint8_t *at = buffer_reserve(out, 64 + 2 * DECIMAL_SIZE_MAX);
    at = put_decimal(put_text(at, "{\"k\":{\"S\":\""), dynamo_collection(key));
    at = put_decimal(put_text(at, "\"},\"s\":{\"S\":\"key-"), key);
    buffer_end(out, put_text(at, "\"}"));
}

static void append_item(struct buffer *out, const struct dynamo_write *w)
{
    append_key(out, w->key);
    uint8_t *at = buffer_reserve(out, 32 + DECIMAL_SIZE_MAX);
    at = put_decimal(put_text(at, ",\"v\":{\"N\":\""), w->value);
    buffer_end(out, put_text(at, "\"}"));
    if (w->pad > 0) {
        APPEND(out, ",\"p\":{\"S\":\"");
        memset(buffer_reserve(out, w->pad), 'p', w->pad);
        out->size += w->pad;
        APPEND(out, "\"}");
    }
    APPEND(out, "}");
}

void dynamo_get(struct buffer *out, uint32_t key, bool consistent)
{
    APPEND(out, "{\"TableName\":\"sim\",\"Key\":");
    append_key(out, key);
    APPEND(out, "}");
    if (consistent)
        APPEND(out, ",\"ConsistentRead\":true");
    APPEND(out, "}");
}

void dynamo_write(struct buffer *out, const struct dynamo_write *w, bool wants_old)
{
    if (w->value != 0) {
        APPEND(out, "{\"TableName\":\"sim\",\"Item\":");
        append_item(out, w);
    } else {
        APPEND(out, "{\"TableName\":\"sim\",\"Key\":");
        append_key(out, w->key);
        APPEND(out, "}");
    }
    if (wants_old)
        APPEND(out, ",\"ReturnValues\":\"ALL_OLD\"");
    APPEND(out, "}");
}

void dynamo_batch_get(struct buffer *out, const uint32_t *keys, uint32_t count, bool consistent)
{
    APPEND(out, "{\"RequestItems\":{\"sim\":{\"Keys\":[");
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            APPEND(out, ",");
        append_key(out, keys[i]);
        APPEND(out, "}");
    }
    APPEND(out, "]");
    if (consistent)
        APPEND(out, ",\"ConsistentRead\":true");
    APPEND(out, "}}}");
}

void dynamo_batch_write(struct buffer *out, const struct dynamo_write *all, uint32_t count)
{
    APPEND(out, "{\"RequestItems\":{\"sim\":[");
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            APPEND(out, ",");
        if (all[i].value != 0) {
            APPEND(out, "{\"PutRequest\":{\"Item\":");
            append_item(out, &all[i]);
            APPEND(out, "}}");
        } else {
            APPEND(out, "{\"DeleteRequest\":{\"Key\":");
            append_key(out, all[i].key);
            APPEND(out, "}}}");
        }
    }
    APPEND(out, "]}}");
}

void dynamo_scan(struct buffer *out, bool consistent)
{
    APPEND(out, "{\"TableName\":\"sim\"");
    if (consistent)
        APPEND(out, ",\"ConsistentRead\":true");
    APPEND(out, "}");
}

/* ---- answers ---- */

/* What follows the text; NULL data: it is not there. A text's second character is rare: the first
 * one is mostly a quote. */
static struct slice behind(struct slice in, const char *text, size_t size)
{
    const uint8_t *at = in.data, *end = in.data + in.size;
    while (at < end && (at = memchr(at + 1, text[1], (size_t)(end - at - 1))) != NULL) {
        const uint8_t *after = at - 1 + size;
        if (after <= end && memcmp(at - 1, text, size) == 0)
            return slice_make(after, (size_t)(end - after));
    }
    return slice_make(NULL, 0);
}

#define BEHIND(in, text) behind(in, text, sizeof text - 1)

static uint64_t number_at(struct slice s)
{
    uint64_t value = 0;
    for (size_t i = 0; i < s.size && s.data[i] >= '0' && s.data[i] <= '9'; i++)
        value = value * 10 + (uint64_t)(s.data[i] - '0');
    return value;
}

uint64_t dynamo_value(struct slice body)
{
    return number_at(BEHIND(body, "\"v\":{\"N\":\""));
}

bool dynamo_next(struct slice *rest, uint32_t *key, uint64_t *value)
{
    static const char between[] = "},{"; /* items: inside of one there is always a name */
    if (rest->size == 0)
        return false;
    const uint8_t *end = memmem(rest->data, rest->size, between, sizeof between - 1);
    struct slice item = *rest;
    if (end != NULL)
        item.size = (size_t)(end - rest->data);
    rest->data += item.size;
    rest->size -= item.size;
    if (end != NULL) {
        rest->data += sizeof between - 1;
        rest->size -= sizeof between - 1;
    }
    struct slice name = BEHIND(item, "\"s\":{\"S\":\"key-");
    if (name.data == NULL)
        return dynamo_next(rest, key, value);
    *key = (uint32_t)number_at(name);
    *value = dynamo_value(item);
    return true;
}

void dynamo_split(struct slice body, struct slice *done, struct slice *left)
{
    static const char name[] = "\"Unprocessed";
    const uint8_t *at = memmem(body.data, body.size, name, sizeof name - 1);
    *done = body;
    *left = slice_make(NULL, 0);
    if (at == NULL)
        return;
    done->size = (size_t)(at - body.data);
    *left = slice_make(at, body.size - done->size);
}

bool dynamo_says(struct slice body, const char *text)
{
    return behind(body, text, strlen(text)).data != NULL;
}
