/* dynamo.c - simulated clients' requests in DynamoDB's JSON, and how they read the answers. */
#include "sim/world/dynamo.h"

#include "base/big_endian.h"
#include "base/prng.h"
#include "engine/item/storage_key.h"
#include "router/json/base64.h"

#define APPEND(b, text) buffer_append(b, text, sizeof text - 1)

enum {
    NUMBER_OFFSET = 12, /* for number sort keys: some are negative */
    BIG_MIN = 100000,
    BIG_MAX = ITEM_SIZE_MAX - PARTITION_KEY_SIZE_MAX - SORT_KEY_SIZE_MAX - 512
};

/* ---- keys ---- */

/* Bytes that fill up a key. A zero byte takes two bytes in a storage key, and six in JSON. */
struct fill {
    uint32_t size;
    bool zeros;
};

/* The bytes of a key attribute. A number has its digits here. */
struct key_text {
    size_t size;
    uint8_t bytes[PARTITION_KEY_SIZE_MAX];
};

/* A third of the fills is just above or below LMDB's limit for keys. A third is as long as
 * allowed. */
static struct fill fill_of(const struct dynamo_keys *k, uint64_t what, uint32_t max)
{
    if (k->long_percent == 0)
        return (struct fill){0};
    struct prng p = prng_seeded(k->seed ^ what * UINT64_C(0x9E3779B97F4A7C15));
    if (prng_below(&p, 100) >= k->long_percent)
        return (struct fill){0};
    uint32_t kind = (uint32_t)prng_below(&p, 3);
    uint32_t size = (uint32_t)(kind == 0   ? prng_between(&p, 470, 510)
                               : kind == 1 ? max
                                           : prng_between(&p, 1, max));
    return (struct fill){MIN(size, max), prng_below(&p, 4) == 0};
}

static void key_text_fill(struct key_text *t, struct fill f, uint8_t with)
{
    memset(t->bytes + t->size, f.zeros ? 0 : with, f.size);
    t->size += f.size;
}

/* All keys of a collection have the same partition key. */
static void make_partition(const struct dynamo_keys *k, uint32_t key, struct key_text *out)
{
    const uint32_t collection = dynamo_collection(k, key);
    uint8_t *end = k->partition == ATTR_BINARY ? be32_put(out->bytes, collection)
                                               : put_decimal(out->bytes, collection);
    out->size = (size_t)(end - out->bytes);
    if (k->partition != ATTR_NUMBER)
        key_text_fill(
            out, fill_of(k, 2 * collection + 1, PARTITION_KEY_SIZE_MAX - (uint32_t)out->size), 'x');
}

/* The sort keys of a collection share their fill. In a string the number comes after the fill. */
static void make_sort(const struct dynamo_keys *k, uint32_t key, struct key_text *out)
{
    uint8_t digits[DECIMAL_SIZE_MAX];
    const size_t size = (size_t)(put_decimal(digits, key) - digits);
    struct fill f = fill_of(k, 2 * (uint64_t)dynamo_collection(k, key) + 2,
                            SORT_KEY_SIZE_MAX - DECIMAL_SIZE_MAX - 4);
    f.zeros = false;
    out->size = 0;
    if (k->sort == ATTR_NUMBER) {
        const bool negative = key < NUMBER_OFFSET;
        out->bytes[0] = '-';
        uint8_t *end = put_decimal(out->bytes + negative,
                                   negative ? NUMBER_OFFSET - key : key - NUMBER_OFFSET);
        out->size = (size_t)(end - out->bytes);
    } else if (k->sort == ATTR_BINARY) {
        out->size = (size_t)(be32_put(out->bytes, key) - out->bytes);
        key_text_fill(out, f, '.');
    } else {
        out->size = (size_t)(put_text(out->bytes, "key-") - out->bytes);
        key_text_fill(out, f, '.');
        memcpy(out->bytes + out->size, digits, size);
        out->size += size;
    }
}

/* The attribute as the table stores it: a number's digits become its encoding. */
static struct attr attr_stored(enum attr_type type, struct key_text *t)
{
    struct number n;
    if (type == ATTR_NUMBER) {
        must(number_parse(slice_make(t->bytes, t->size), &n) == NUMBER_OK);
        t->size = number_encode(&n, t->bytes);
    }
    return (struct attr){type, slice_make(t->bytes, t->size)};
}

void dynamo_storage_key(struct buffer *out, uint32_t table_id, const struct dynamo_keys *k,
                        uint32_t key)
{
    struct key_text partition, sort;
    make_partition(k, key, &partition);
    const struct attr first = attr_stored(k->partition, &partition);
    if (k->sort == 0) {
        storage_key_append(out, table_id, &first, NULL);
        return;
    }
    make_sort(k, key, &sort);
    const struct attr second = attr_stored(k->sort, &sort);
    storage_key_append(out, table_id, &first, &second);
}

int dynamo_order(const struct dynamo_keys *k, uint32_t a, uint32_t b)
{
    uint8_t texts[2][DECIMAL_SIZE_MAX];
    if (k->sort != ATTR_STRING)
        return (a > b) - (a < b);
    const size_t first = (size_t)(put_decimal(texts[0], a) - texts[0]);
    const size_t second = (size_t)(put_decimal(texts[1], b) - texts[1]);
    return slice_compare(slice_make(texts[0], first), slice_make(texts[1], second));
}

bool dynamo_query_covers(const struct dynamo_query *q, const struct dynamo_keys *k, uint32_t key)
{
    const bool low = q->range == DYNAMO_BETWEEN || q->range == DYNAMO_AT_MIN;
    const int behind = q->goes_on ? dynamo_order(k, key, q->after) : 0;
    return dynamo_collection(k, key) == q->collection &&
           (!low || dynamo_order(k, key, q->low) >= 0) &&
           (q->range != DYNAMO_BETWEEN || dynamo_order(k, key, q->high) <= 0) &&
           (q->range != DYNAMO_BELOW || dynamo_order(k, key, q->high) < 0) &&
           (!q->goes_on || (q->backward ? behind < 0 : behind > 0));
}

/* ---- requests ---- */

const char *const dynamo_globals[DYNAMO_GLOBALS] = {"g-v", "g-k-v"};

static void append_global(struct buffer *out, int i, uint32_t units)
{
    buffer_append_format(out,
                         "{\"IndexName\":\"%s\",\"Projection\":{\"ProjectionType\":\"%s\"},"
                         "\"KeySchema\":[{\"AttributeName\":\"%s\",\"KeyType\":\"HASH\"}%s]",
                         dynamo_globals[i], i == 0 ? "ALL" : "KEYS_ONLY", i == 0 ? "v" : "k",
                         i == 0 ? "" : ",{\"AttributeName\":\"v\",\"KeyType\":\"RANGE\"}");
    if (units > 0)
        buffer_append_format(out,
                             ",\"ProvisionedThroughput\":{\"ReadCapacityUnits\":%u,"
                             "\"WriteCapacityUnits\":%u}",
                             units, units);
    APPEND(out, "}");
}

static void append_globals(struct buffer *out, uint32_t units)
{
    APPEND(out, "\"GlobalSecondaryIndexes\":[");
    for (int i = 0; i < DYNAMO_GLOBALS; i++) {
        buffer_append_text(out, i > 0 ? "," : "");
        append_global(out, i, units);
    }
    APPEND(out, "],");
}

void dynamo_add_index(struct buffer *out, const char *table, int index, uint32_t units)
{
    buffer_append_format(out,
                         "{\"TableName\":\"%s\",\"AttributeDefinitions\":[{\"AttributeName\":"
                         "\"v\",\"AttributeType\":\"N\"}],\"GlobalSecondaryIndexUpdates\":"
                         "[{\"Create\":",
                         table);
    append_global(out, index, units);
    APPEND(out, "}]}");
}

void dynamo_drop_index(struct buffer *out, const char *table, int index)
{
    buffer_append_format(out,
                         "{\"TableName\":\"%s\",\"GlobalSecondaryIndexUpdates\":[{\"Delete\":"
                         "{\"IndexName\":\"%s\"}}]}",
                         table, dynamo_globals[index]);
}

static void append_index(struct buffer *out, const char *name, const char *projection)
{
    buffer_append_format(out,
                         "{\"IndexName\":\"%s\",\"Projection\":{\"ProjectionType\":\"%s\"},"
                         "\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":\"HASH\"},"
                         "{\"AttributeName\":\"v\",\"KeyType\":\"RANGE\"}]}",
                         name, projection);
}

/* A table without a sort key may have counters only. */
static void append_tags(struct buffer *out, const struct dynamo_spec *spec)
{
    const bool sharded = spec->key_sharding == DYNAMO_COUNTERS ||
                         (spec->key_sharding == DYNAMO_SHARDED && spec->keys->sort != 0);
    if (spec->weight == 0 && !sharded)
        return;
    APPEND(out, "\"Tags\":[");
    if (spec->weight > 0)
        buffer_append_format(out, "{\"Key\":\"weir:weight\",\"Value\":\"%u\"}%s", spec->weight,
                             sharded ? "," : "");
    if (sharded)
        buffer_append_format(out, "{\"Key\":\"weir:salting\",\"Value\":\"%s\"}",
                             spec->key_sharding == DYNAMO_COUNTERS ? "counter" : "auto");
    APPEND(out, "],");
}

void dynamo_create_table(struct buffer *out, const char *name, const struct dynamo_spec *spec)
{
    const enum attr_type sort = spec->keys->sort;
    buffer_append_format(
        out,
        "{\"TableName\":\"%s\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":\"HASH\"}%s],"
        "\"AttributeDefinitions\":[{\"AttributeName\":\"k\",\"AttributeType\":\"%s\"}",
        name, sort == 0 ? "" : ",{\"AttributeName\":\"s\",\"KeyType\":\"RANGE\"}",
        attr_type_name(spec->keys->partition));
    if (sort != 0)
        buffer_append_format(out, ",{\"AttributeName\":\"s\",\"AttributeType\":\"%s\"}",
                             attr_type_name(sort));
    if ((spec->indexed && sort != 0) || spec->global_indexes)
        APPEND(out, ",{\"AttributeName\":\"v\",\"AttributeType\":\"N\"}");
    APPEND(out, "],");
    if (spec->global_indexes)
        append_globals(out, spec->index_units > 0 ? spec->index_units : spec->units);
    if (spec->indexed && sort != 0) {
        APPEND(out, "\"LocalSecondaryIndexes\":[");
        append_index(out, "by-v", "ALL");
        APPEND(out, ",");
        append_index(out, "keys-by-v", "KEYS_ONLY");
        APPEND(out, "],");
    }
    append_tags(out, spec);
    if (spec->streams)
        APPEND(out, "\"StreamSpecification\":{\"StreamEnabled\":true,"
                    "\"StreamViewType\":\"NEW_AND_OLD_IMAGES\"},");
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

static void append_run(struct buffer *out, uint8_t c, size_t size)
{
    if (size > 0)
        memset(buffer_reserve(out, size), c, size);
    out->size += size;
}

/* Appends text of a JSON string. Zero bytes are escaped. */
static void dynamo_append_string(struct buffer *out, struct slice text)
{
    const uint8_t *zero = memchr(text.data, 0, text.size);
    const size_t plain = zero == NULL ? text.size : (size_t)(zero - text.data);
    buffer_append(out, text.data, plain);
    for (size_t i = plain; i < text.size; i++) {
        must(text.data[i] == 0);
        APPEND(out, "\\u0000");
    }
}

/* `{"S":"2"}` */
static void append_value(struct buffer *out, enum attr_type type, const struct key_text *t)
{
    const struct slice bytes = slice_make(t->bytes, t->size);
    uint8_t *at = buffer_reserve(out, 8);
    buffer_end(out, put_text(put_text(put_text(at, "{\""), attr_type_name(type)), "\":\""));
    if (type == ATTR_BINARY)
        base64_append(out, bytes);
    else
        dynamo_append_string(out, bytes);
    APPEND(out, "\"}");
}

static void append_partition_value(struct buffer *out, const struct dynamo_keys *k, uint32_t key)
{
    struct key_text text;
    make_partition(k, key, &text);
    append_value(out, k->partition, &text);
}

static void append_sort_value(struct buffer *out, const struct dynamo_keys *k, uint32_t key)
{
    struct key_text text;
    make_sort(k, key, &text);
    append_value(out, k->sort, &text);
}

/* `{"k":{"S":"2"},"s":{"S":"key-7"}`, without the closing brace. */
static void append_key(struct buffer *out, const struct dynamo_table *t, uint32_t key)
{
    APPEND(out, "{\"k\":");
    append_partition_value(out, t->keys, key);
    if (t->keys->sort == 0)
        return;
    APPEND(out, ",\"s\":");
    append_sort_value(out, t->keys, key);
}

/* Maps and lists around a value. `},{` separates items, so it must not occur in here. */
static void append_nested(struct buffer *out, uint32_t depth, struct prng *p, uint8_t c,
                          size_t size)
{
    static const char *const scalars[] = {"{\"BOOL\":true}", "{\"NULL\":true}", "{\"N\":\"-1.5\"}",
                                          "{\"M\":{}}", "{\"L\":[]}"};
    const uint64_t lists = prng_next(p);
    for (uint32_t i = 0; i < depth; i++)
        buffer_append_text(out, lists >> i & 1 ? "{\"L\":[" : "{\"M\":{\"a\":");
    if (size == 0) {
        buffer_append_text(out, scalars[prng_below(p, sizeof scalars / sizeof scalars[0])]);
    } else {
        APPEND(out, "{\"SS\":[\"");
        append_run(out, c, size);
        APPEND(out, "\"]}");
    }
    for (uint32_t i = depth; i > 0; i--)
        buffer_append_text(out, lists >> (i - 1) & 1 ? "]}" : "}}");
}

/* Appends the attribute "p", or nothing. */
static void append_filler(struct buffer *out, const struct dynamo_filler *f, uint64_t value)
{
    enum {
        KINDS = 4,
        SMALL = 64,
        DEPTH_MAX = NESTING_MAX - 1
    };
    struct prng p = prng_seeded(f->seed ^ value * UINT64_C(0x9E3779B97F4A7C15));
    const bool big = prng_below(&p, 100) < f->big_percent;
    const uint64_t max = prng_below(&p, 2) == 0 && f->max > SMALL ? SMALL : f->max;
    const size_t size =
        (size_t)(big ? prng_between(&p, BIG_MIN, BIG_MAX) : (int64_t)prng_below(&p, max + 1));
    const uint8_t c = (uint8_t)('A' + value % 26);
    struct buffer bytes = {0};
    switch (prng_below(&p, KINDS) + big) {
    case 0:
        return;
    case 1:
        APPEND(out, ",\"p\":{\"S\":\"");
        append_run(out, c, size);
        APPEND(out, "\"}");
        return;
    case 2:
        append_run(&bytes, c, size);
        APPEND(out, ",\"p\":{\"B\":\"");
        base64_append(out, buffer_slice(&bytes));
        APPEND(out, "\"}");
        buffer_deinit(&bytes);
        return;
    default:
        APPEND(out, ",\"p\":");
        append_nested(out, (uint32_t)prng_below(&p, DEPTH_MAX + 1), &p, c, size);
    }
}

static void dynamo_append_item(struct buffer *out, const struct dynamo_table *t,
                               const struct dynamo_write *w)
{
    append_key(out, t, w->key);
    uint8_t *at = buffer_reserve(out, 32 + DECIMAL_SIZE_MAX);
    at = put_decimal(put_text(at, ",\"v\":{\"N\":\""), w->value);
    buffer_end(out, put_text(at, "\"}"));
    if (t->filler->max > 0) {
        append_filler(out, t->filler, w->value);
    } else if (w->pad > 0) {
        APPEND(out, ",\"p\":{\"S\":\"");
        append_run(out, 'p', w->pad);
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

bool dynamo_meets(const struct dynamo_write *w, uint64_t value)
{
    switch (w->condition) {
    case DYNAMO_IF_ABSENT:
        return value == 0;
    case DYNAMO_IF_PRESENT:
        return value != 0;
    case DYNAMO_IF_VALUE:
        return value == w->expected && value != 0;
    case DYNAMO_IF_OTHER:
        return value != w->expected;
    default:
        return true;
    }
}

static void append_number(struct buffer *out, const char *name, uint64_t value)
{
    buffer_append_format(out, "\"%s\":{\"N\":\"%llu\"}", name, (unsigned long long)value);
}

/* UpdateExpression, and the first of its values: the item becomes what a put would make of it. */
static void append_update(struct buffer *out, const struct dynamo_table *t,
                          const struct dynamo_write *w)
{
    struct buffer filler = {0};
    if (t->filler->max > 0 && !w->misfit)
        append_filler(&filler, t->filler, w->value);
    buffer_append_format(out, ",\"UpdateExpression\":\"SET v = :v%s\"",
                         w->misfit         ? ", x = absent"
                         : filler.size > 0 ? ", p = :p"
                                           : " REMOVE p");
    APPEND(out, ",\"ExpressionAttributeValues\":{");
    append_number(out, ":v", w->value);
    if (filler.size > 0) {
        const size_t name = sizeof ",\"p\":" - 1;
        APPEND(out, ",\":p\":");
        buffer_append(out, filler.data + name, filler.size - name);
    }
    buffer_deinit(&filler);
}

/* The condition and the values of condition and update. */
static void append_condition(struct buffer *out, const struct dynamo_table *t,
                             const struct dynamo_write *w)
{
    static const char *const texts[DYNAMO_CONDITIONS] = {
        [DYNAMO_IF_ABSENT] = "attribute_not_exists(k)",
        [DYNAMO_IF_PRESENT] = "attribute_exists(k)",
        [DYNAMO_IF_VALUE] = "v = :e",
        [DYNAMO_IF_OTHER] = "v <> :e"};
    const bool compares = w->condition == DYNAMO_IF_VALUE || w->condition == DYNAMO_IF_OTHER;
    if (w->condition != DYNAMO_ALWAYS)
        buffer_append_format(out, ",\"ConditionExpression\":\"%s\"", texts[w->condition]);
    if (w->condition != DYNAMO_ALWAYS && w->returns_failed)
        APPEND(out, ",\"ReturnValuesOnConditionCheckFailure\":\"ALL_OLD\"");
    if (w->updates)
        append_update(out, t, w);
    else if (compares)
        APPEND(out, ",\"ExpressionAttributeValues\":{");
    if (w->updates && compares)
        APPEND(out, ",");
    if (compares)
        append_number(out, ":e", w->expected);
    if (w->updates || compares)
        APPEND(out, "}");
}

void dynamo_write(struct buffer *out, const struct dynamo_table *t, const struct dynamo_write *w)
{
    append_table(out, t);
    if (w->value != 0 && !w->updates) {
        APPEND(out, "\",\"Item\":");
        dynamo_append_item(out, t, w);
    } else {
        APPEND(out, "\",\"Key\":");
        append_key(out, t, w->key);
        APPEND(out, "}");
    }
    append_condition(out, t, w);
    if (w->returns_old)
        APPEND(out, ",\"ReturnValues\":\"ALL_OLD\"");
    APPEND(out, "}");
}

void dynamo_increment(struct buffer *out, const struct dynamo_table *t, uint32_t key)
{
    append_table(out, t);
    APPEND(out, "\",\"Key\":");
    append_key(out, t, key);
    APPEND(out, "},\"UpdateExpression\":\"ADD v :one\",\"ExpressionAttributeValues\":{");
    append_number(out, ":one", 1);
    APPEND(out, "},\"ReturnValues\":\"UPDATED_NEW\"}");
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
            dynamo_append_item(out, t, &all[i]);
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

void dynamo_scan_index(struct buffer *out, const struct dynamo_table *t, int index)
{
    append_table(out, t);
    buffer_append_format(out, "\",\"IndexName\":\"%s\"}", dynamo_globals[index]);
}

void dynamo_query(struct buffer *out, const struct dynamo_table *t, const struct dynamo_query *q)
{
    static const char *const ranges[] = {"", " AND s BETWEEN :l AND :h", " AND s >= :l",
                                         " AND s < :h"};
    append_table(out, t);
    buffer_append_format(out,
                         "\",\"KeyConditionExpression\":\"k = :k%s\","
                         "\"ExpressionAttributeValues\":{\":k\":",
                         ranges[q->range]);
    append_partition_value(out, t->keys, q->collection * t->keys->collection);
    if (q->range == DYNAMO_BETWEEN || q->range == DYNAMO_AT_MIN) {
        APPEND(out, ",\":l\":");
        append_sort_value(out, t->keys, q->low);
    }
    if (q->range == DYNAMO_BETWEEN || q->range == DYNAMO_BELOW) {
        APPEND(out, ",\":h\":");
        append_sort_value(out, t->keys, q->high);
    }
    if (q->filter > 0) {
        APPEND(out, ",");
        append_number(out, ":f", q->filter);
    }
    APPEND(out, "}");
    if (q->filter > 0)
        APPEND(out, ",\"FilterExpression\":\"v >= :f\"");
    if (q->index == DYNAMO_BY_VALUE)
        APPEND(out, ",\"IndexName\":\"by-v\"");
    else if (q->index == DYNAMO_BY_VALUE_FETCHED)
        APPEND(out, ",\"IndexName\":\"keys-by-v\",\"Select\":\"ALL_ATTRIBUTES\"");
    if (q->goes_on) {
        APPEND(out, ",\"ExclusiveStartKey\":");
        append_key(out, t, q->after);
        APPEND(out, "}");
    }
    if (q->limit > 0)
        buffer_append_format(out, ",\"Limit\":%u", q->limit);
    if (q->backward)
        APPEND(out, ",\"ScanIndexForward\":false");
    if (q->consistent)
        APPEND(out, ",\"ConsistentRead\":true");
    APPEND(out, "}");
}

/* ---- answers ---- */

/* The bytes after the text. NULL data: the text does not occur. The search goes by the text's
 * second character: the first is mostly a quote, which is frequent. */
static struct slice dynamo_search(struct slice in, const char *text, size_t size)
{
    const uint8_t *at = in.data, *end = in.data + in.size;
    while (at < end && (at = memchr(at + 1, text[1], (size_t)(end - at - 1))) != NULL) {
        const uint8_t *after = at - 1 + size;
        if (after <= end && memcmp(at - 1, text, size) == 0)
            return slice_make(after, (size_t)(end - after));
    }
    return slice_make(NULL, 0);
}

#define BEHIND(in, text) dynamo_search(in, text, sizeof text - 1)

uint64_t dynamo_number_at(struct slice s)
{
    uint64_t value = 0;
    for (size_t i = 0; i < s.size && s.data[i] >= '0' && s.data[i] <= '9'; i++)
        value = value * 10 + (uint64_t)(s.data[i] - '0');
    return value;
}

uint64_t dynamo_value(struct slice body)
{
    return dynamo_number_at(BEHIND(body, "\"v\":{\"N\":\""));
}

bool dynamo_is_complete(const struct dynamo_table *t, struct slice item, uint64_t value)
{
    struct buffer filler = {0};
    if (t->filler->max == 0 || value == 0)
        return true;
    append_filler(&filler, t->filler, value);
    const bool none = filler.size == 0;
    const bool whole = none
                           ? BEHIND(item, "\"p\":").data == NULL
                           : memmem(item.data, item.size, filler.data + 1, filler.size - 1) != NULL;
    buffer_deinit(&filler);
    return whole;
}

/* Reads the number of a key from the text of its attribute. */
static uint32_t key_number(const struct dynamo_keys *k, struct slice text)
{
    enum {
        BASE64_SIZE = 8 /* they hold the four bytes of the number */
    };
    uint8_t bytes[BASE64_SIZE];
    const enum attr_type type = k->sort != 0 ? k->sort : k->partition;
    if (type == ATTR_BINARY) {
        must(text.size >= BASE64_SIZE);
        base64_decode(slice_make(text.data, BASE64_SIZE), bytes);
        return be32_get(bytes);
    }
    if (type == ATTR_NUMBER && k->sort != 0)
        return text.data[0] == '-'
                   ? NUMBER_OFFSET -
                         (uint32_t)dynamo_number_at(slice_make(text.data + 1, text.size - 1))
                   : NUMBER_OFFSET + (uint32_t)dynamo_number_at(text);
    const char *skip = k->sort != 0 ? "key-." : "";
    while (text.size > 0 && *skip != '\0' && strchr(skip, text.data[0]) != NULL)
        text = slice_make(text.data + 1, text.size - 1);
    return (uint32_t)dynamo_number_at(text);
}

bool dynamo_next(const struct dynamo_table *t, struct slice *rest, struct dynamo_found *out)
{
    static const char between[] = "},{"; /* between items; inside an item a name follows `,` */
    const struct dynamo_keys *k = t->keys;
    char name[] = "\"k\":{\"S\":\"";
    name[1] = k->sort != 0 ? 's' : 'k';
    name[6] = attr_type_name(k->sort != 0 ? k->sort : k->partition)[0];
    while (rest->size > 0) {
        const uint8_t *end = memmem(rest->data, rest->size, between, sizeof between - 1);
        const size_t size = end == NULL ? rest->size : (size_t)(end - rest->data);
        const size_t used = size + (end == NULL ? 0 : sizeof between - 1);
        out->item = slice_make(rest->data, size);
        *rest = slice_make(rest->data + used, rest->size - used);
        const struct slice key = BEHIND(out->item, name);
        if (key.data == NULL)
            continue;
        out->key = key_number(k, key);
        out->value = dynamo_value(out->item);
        return true;
    }
    return false;
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

struct slice dynamo_behind(struct slice body, const char *text)
{
    return dynamo_search(body, text, strlen(text));
}

bool dynamo_contains(struct slice body, const char *text)
{
    return dynamo_behind(body, text).data != NULL;
}

struct slice dynamo_text(struct slice body, const char *text)
{
    const struct slice rest = dynamo_behind(body, text);
    const uint8_t *end = rest.size == 0 ? NULL : memchr(rest.data, '"', rest.size);
    return end == NULL ? slice_make(NULL, 0) : slice_make(rest.data, (size_t)(end - rest.data));
}

uint64_t dynamo_number(struct slice body, const char *text)
{
    return dynamo_number_at(dynamo_behind(body, text));
}
