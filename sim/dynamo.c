/* dynamo.c - what simulated clients say in DynamoDB's words, and what they make of the answers. */
#include "sim/dynamo.h"

#include "base/limits.h"
#include "base/prng.h"

#define APPEND(b, text) buffer_append(b, text, sizeof text - 1)

/* ---- keys ---- */

/* Bytes that fill a key up. A byte of zero is two in a storage key, and six in JSON. */
struct fill {
    uint32_t size;
    bool zeros;
};

/* A third just above or below what LMDB takes for a key, a third as long as may be. */
static struct fill fill_of(const struct dynamo_keys *k, uint64_t what, uint32_t most)
{
    if (k->long_percent == 0)
        return (struct fill){0};
    struct prng p = prng_seeded(k->seed ^ what * UINT64_C(0x9E3779B97F4A7C15));
    if (prng_below(&p, 100) >= k->long_percent)
        return (struct fill){0};
    uint32_t kind = (uint32_t)prng_below(&p, 3);
    uint32_t size = (uint32_t)(kind == 0   ? prng_between(&p, 470, 510)
                               : kind == 1 ? most
                                           : prng_between(&p, 1, most));
    return (struct fill){size < most ? size : most, prng_below(&p, 4) == 0};
}

/* Keys of one collection share all of it. */
static struct fill partition_fill(const struct dynamo_keys *k, uint32_t key)
{
    return fill_of(k, 2 * dynamo_collection(k, key) + 1, PARTITION_KEY_SIZE_MAX - DECIMAL_SIZE_MAX);
}

/* Before the number: the sort keys of a collection share all but that. */
static struct fill sort_fill(const struct dynamo_keys *k, uint32_t key)
{
    struct fill f = fill_of(k, 2 * (uint64_t)dynamo_collection(k, key) + 2,
                            SORT_KEY_SIZE_MAX - DECIMAL_SIZE_MAX - 4);
    return (struct fill){f.size, false};
}

static size_t put_fill(char *out, struct fill f, char with)
{
    memset(out, f.zeros ? '\0' : with, f.size);
    return f.size;
}

size_t dynamo_partition_text(const struct dynamo_keys *k, uint32_t key,
                             char out[DYNAMO_KEY_TEXT_MAX])
{
    uint8_t *end = put_decimal((uint8_t *)out, dynamo_collection(k, key));
    size_t size = (size_t)(end - (uint8_t *)out);
    return size + put_fill(out + size, partition_fill(k, key), 'x');
}

size_t dynamo_sort_text(const struct dynamo_keys *k, uint32_t key, char out[DYNAMO_KEY_TEXT_MAX])
{
    size_t size = (size_t)(put_text((uint8_t *)out, "key-") - (uint8_t *)out);
    size += put_fill(out + size, sort_fill(k, key), '.');
    return (size_t)(put_decimal((uint8_t *)out + size, key) - (uint8_t *)out);
}

/* ---- requests ---- */

void dynamo_create_table(struct buffer *out, const char *name, const struct dynamo_spec *spec)
{
    buffer_append_format(
        out,
        "{\"TableName\":\"%s\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":\"HASH\"},"
        "{\"AttributeName\":\"s\",\"KeyType\":\"RANGE\"}],"
        "\"AttributeDefinitions\":[{\"AttributeName\":\"k\",\"AttributeType\":\"S\"},"
        "{\"AttributeName\":\"s\",\"AttributeType\":\"S\"}],%s",
        name,
        spec->whole_collections
            ? "\"Tags\":[{\"Key\":\"weir:item-collections\",\"Value\":\"whole\"}],"
            : "");
    if (spec->units == 0)
        APPEND(out, "\"BillingMode\":\"PAY_PER_REQUEST\"}");
    else
        buffer_append_format(
            out, "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":%u,\"WriteCapacityUnits\":%u}}",
            spec->units, spec->units);
}

void dynamo_update_table(struct buffer *out, const char *name, uint32_t units)
{
    if (units == 0)
        buffer_append_format(out, "{\"TableName\":\"%s\",\"BillingMode\":\"PAY_PER_REQUEST\"}",
                             name);
    else
        buffer_append_format(
            out,
            "{\"TableName\":\"%s\",\"BillingMode\":\"PROVISIONED\","
            "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":%u,\"WriteCapacityUnits\":%u}}",
            name, units, units);
}

void dynamo_tag_table(struct buffer *out, const char *name, uint32_t value)
{
    buffer_append_format(out,
                         "{\"ResourceArn\":\"arn:aws:dynamodb:local:000000000000:table/%s\","
                         "\"Tags\":[{\"Key\":\"team\",\"Value\":\"%u\"}]}",
                         name, value);
}

void dynamo_table(struct buffer *out, const char *name)
{
    buffer_append_format(out, "{\"TableName\":\"%s\"}", name);
}

static void append_table(struct buffer *out, const struct dynamo_table *t)
{
    APPEND(out, "{\"TableName\":\"");
    buffer_append_text(out, t->name);
}

static void append_fill(struct buffer *out, struct fill f, char with)
{
    if (!f.zeros) {
        memset(buffer_reserve(out, f.size), with, f.size);
        out->size += f.size;
        return;
    }
    for (uint32_t i = 0; i < f.size; i++)
        APPEND(out, "\\u0000");
}

/* `{"k":{"S":"2"` */
static void append_collection(struct buffer *out, const struct dynamo_table *t, uint32_t key)
{
    uint8_t *at = buffer_reserve(out, 32 + DECIMAL_SIZE_MAX);
    buffer_end(out, put_decimal(put_text(at, "{\"k\":{\"S\":\""), dynamo_collection(t->keys, key)));
    if (t->keys->long_percent > 0)
        append_fill(out, partition_fill(t->keys, key), 'x');
    APPEND(out, "\"}");
}

/* `{"k":{"S":"2"},"s":{"S":"key-7"}`, still open */
static void append_key(struct buffer *out, const struct dynamo_table *t, uint32_t key)
{
    append_collection(out, t, key);
    APPEND(out, ",\"s\":{\"S\":\"key-");
    if (t->keys->long_percent > 0)
        append_fill(out, sort_fill(t->keys, key), '.');
    uint8_t *at = buffer_reserve(out, 8 + DECIMAL_SIZE_MAX);
    buffer_end(out, put_text(put_decimal(at, key), "\"}"));
}

static void append_item(struct buffer *out, const struct dynamo_table *t,
                        const struct dynamo_write *w)
{
    append_key(out, t, w->key);
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

void dynamo_get(struct buffer *out, const struct dynamo_table *t, uint32_t key, bool consistent)
{
    append_table(out, t);
    APPEND(out, "\",\"Key\":");
    append_key(out, t, key);
    APPEND(out, "}");
    if (consistent)
        APPEND(out, ",\"ConsistentRead\":true");
    APPEND(out, "}");
}

void dynamo_write(struct buffer *out, const struct dynamo_table *t, const struct dynamo_write *w,
                  bool wants_old)
{
    append_table(out, t);
    if (w->value != 0) {
        APPEND(out, "\",\"Item\":");
        append_item(out, t, w);
    } else {
        APPEND(out, "\",\"Key\":");
        append_key(out, t, w->key);
        APPEND(out, "}");
    }
    if (wants_old)
        APPEND(out, ",\"ReturnValues\":\"ALL_OLD\"");
    APPEND(out, "}");
}

void dynamo_batch_get(struct buffer *out, const struct dynamo_table *t, const uint32_t *keys,
                      uint32_t count, bool consistent)
{
    buffer_append_format(out, "{\"RequestItems\":{\"%s\":{\"Keys\":[", t->name);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            APPEND(out, ",");
        append_key(out, t, keys[i]);
        APPEND(out, "}");
    }
    APPEND(out, "]");
    if (consistent)
        APPEND(out, ",\"ConsistentRead\":true");
    APPEND(out, "}}}");
}

void dynamo_batch_write(struct buffer *out, const struct dynamo_table *t,
                        const struct dynamo_write *all, uint32_t count)
{
    buffer_append_format(out, "{\"RequestItems\":{\"%s\":[", t->name);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            APPEND(out, ",");
        if (all[i].value != 0) {
            APPEND(out, "{\"PutRequest\":{\"Item\":");
            append_item(out, t, &all[i]);
            APPEND(out, "}}");
        } else {
            APPEND(out, "{\"DeleteRequest\":{\"Key\":");
            append_key(out, t, all[i].key);
            APPEND(out, "}}}");
        }
    }
    APPEND(out, "]}}");
}

void dynamo_scan(struct buffer *out, const struct dynamo_table *t, bool consistent)
{
    append_table(out, t);
    APPEND(out, "\"");
    if (consistent)
        APPEND(out, ",\"ConsistentRead\":true");
    APPEND(out, "}");
}

void dynamo_query(struct buffer *out, const struct dynamo_table *t, const struct dynamo_query *q)
{
    append_table(out, t);
    APPEND(out, "\",\"KeyConditionExpression\":\"k = :k\",\"ExpressionAttributeValues\":{\":k\":{"
                "\"S\":\"");
    uint8_t *at = buffer_reserve(out, DECIMAL_SIZE_MAX);
    buffer_end(out, put_decimal(at, q->collection));
    append_fill(out, partition_fill(t->keys, q->collection * t->keys->collection), 'x');
    APPEND(out, "\"}}");
    if (q->limit > 0)
        buffer_append_format(out, ",\"Limit\":%u", q->limit);
    if (q->backward)
        APPEND(out, ",\"ScanIndexForward\":false");
    if (q->consistent)
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
    while (name.size > 0 && name.data[0] == '.')
        name = slice_make(name.data + 1, name.size - 1);
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
