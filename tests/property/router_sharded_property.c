/* router_sharded_property.c - pages of a table whose keys get more and more shards, while its items
 * move and nodes answer in any order: a client that reads page by page sees each item once. */
#include "tests/check.h"

#include "base/settings/requests.h"
#include "engine/message/request_traits.h"
#include "tests/support/expect.h"
#include "tests/support/sharded_keys.h"

enum {
    KEYS = 5,
    ITEMS_MAX = 150,
    CONNECTION = 7
};

static const char CREATE[] =
    "{\"TableName\":\"tab\",\"BillingMode\":\"PAY_PER_REQUEST\","
    "\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":\"HASH\"},"
    "{\"AttributeName\":\"s\",\"KeyType\":\"RANGE\"}],\"AttributeDefinitions\":["
    "{\"AttributeName\":\"k\",\"AttributeType\":\"S\"},"
    "{\"AttributeName\":\"s\",\"AttributeType\":\"S\"},"
    "{\"AttributeName\":\"v\",\"AttributeType\":\"S\"}],"
    "\"LocalSecondaryIndexes\":[{\"IndexName\":\"by-v\",\"KeySchema\":["
    "{\"AttributeName\":\"k\",\"KeyType\":\"HASH\"},"
    "{\"AttributeName\":\"v\",\"KeyType\":\"RANGE\"}],"
    "\"Projection\":{\"ProjectionType\":\"KEYS_ONLY\"}}]}";

static struct fake_cluster f;
static struct table *table;
static struct prng *p;

/* What the client knows: items by partition key and sort key. */
static struct {
    uint32_t key;
    char sort[8];
    char other[8]; /* the sort key of the index */
    bool seen;
} items[ITEMS_MAX];
static uint32_t known;

static struct sharded_key keys[KEYS]; /* shards 0: not sharded */
static uint64_t version;

static const char *key_name(uint32_t key)
{
    static const char *const NAMES[KEYS] = {"a", "hot", "c", "d\\u0000x", "e"};
    return NAMES[key];
}

/* The same as a string of bytes: no zero byte stands in the middle of a C string. */
static struct slice storage_key(uint32_t key, const char *sort)
{
    static uint8_t bytes[256];
    struct buffer b = {0};
    const struct attr partition = {ATTR_STRING, key == 3 ? slice_make((const uint8_t *)"d\0x", 3)
                                                         : slice_of(key_name(key))};
    const struct attr second = {ATTR_STRING, slice_of(sort != NULL ? sort : "")};
    if (sort != NULL)
        storage_key_append(&b, table->id, &partition, &second);
    else
        storage_key_append_collection(&b, table->id, &partition);
    memcpy(bytes, b.data, b.size);
    const size_t size = b.size;
    buffer_deinit(&b);
    return slice_make(bytes, size);
}

/* ---- the registry ---- */

static int compare_keys(const void *x, const void *y)
{
    const struct sharded_key *a = x, *b = y;
    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

static void publish(void)
{
    struct sharded_key sorted[KEYS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        if (keys[i].shards > 0)
            sorted[count++] = keys[i];
    }
    qsort(sorted, count, sizeof *sorted, compare_keys);
    fake_shard_keys(&f, table, &(struct key_sharding){version, count, sorted});
}

static void grow(uint32_t key)
{
    static uint8_t kept[KEYS][64];
    struct sharded_key *k = &keys[key];
    const uint32_t was = k->shards;
    const uint32_t to = was + 1 + (uint32_t)prng_below(p, 4);
    if (k->before_count == KEY_SHARDS_BEFORE_MAX || (k->before_count > 0 && k->before[0] > was))
        return;
    if (was == 0) {
        const struct slice prefix = storage_key(key, NULL);
        k->hash = key_shard_bare_hash(prefix);
        memcpy(kept[key], prefix.data + STORAGE_KEY_BOUND_SIZE,
               prefix.size - STORAGE_KEY_BOUND_SIZE);
        k->key = slice_make(kept[key], prefix.size - STORAGE_KEY_BOUND_SIZE);
    }
    k->before[k->before_count++] = was == 0 ? 1 : was;
    k->shards = was == 0 ? to + 1 : to;
    k->version = ++version;
    publish();
}

static void shrink(uint32_t key)
{
    struct sharded_key *k = &keys[key];
    if (k->shards < 2 || k->before_count > 0)
        return;
    k->before[k->before_count++] = k->shards;
    k->shards = 1 + (uint32_t)prng_below(p, k->shards - 1);
    k->version = ++version;
    publish();
}

/* ---- items ---- */

static struct sharded_key *key_of_stored(struct slice key)
{
    const struct sharded_key *k = key_sharding_find(table->sharded_keys, key);
    for (uint32_t i = 0; k != NULL && i < KEYS; i++) {
        if (keys[i].shards > 0 && keys[i].hash == k->hash)
            return &keys[i];
    }
    return NULL;
}

static void go_to_owner(struct slice key, const struct sharded_key *k)
{
    uint8_t bytes[256];
    must(key.size <= sizeof bytes);
    memcpy(bytes, key.data, key.size);
    fake_move_item(&f, slice_make(bytes, key.size), k->hash, sharded_key_owner(k, key));
}

/* Some stored item of a sharded key goes to its owner shard. */
static void move_one(void)
{
    const struct slice key = buffer_slice(&f.items[prng_below(p, f.item_count)].key);
    const struct sharded_key *k = key.data[0] == 0 ? key_of_stored(key) : NULL;
    if (k != NULL && key_shard_of(key) != sharded_key_owner(k, key))
        go_to_owner(key, k);
}

/* All items of a key go to their owner shards, and its former numbers are forgotten. */
static void settle(uint32_t key)
{
    if (keys[key].before_count == 0)
        return;
    for (size_t i = 0; i < f.item_count;) {
        const struct slice at = buffer_slice(&f.items[i].key);
        const struct sharded_key *k = at.data[0] == 0 ? key_of_stored(at) : NULL;
        if (k == &keys[key] && key_shard_of(at) != sharded_key_owner(k, at)) {
            go_to_owner(at, k);
            i = 0; /* the others have other places now */
        } else {
            i++;
        }
    }
    keys[key].before_count = 0;
    keys[key].version = ++version;
    if (keys[key].shards == 1)
        keys[key].shards = 0;
    publish();
}

static void something_changes(void)
{
    const uint32_t key = (uint32_t)prng_below(p, KEYS);
    switch (prng_below(p, 8)) {
    case 0:
        grow(key);
        break;
    case 1:
        settle(key);
        break;
    case 2:
        shrink(key);
        break;
    default:
        move_one();
    }
}

static void fill(void)
{
    char request[200];
    known = 1 + (uint32_t)prng_below(p, ITEMS_MAX);
    for (uint32_t i = 0; i < known; i++) {
        items[i].key = prng_below(p, 2) == 0 ? 1 : (uint32_t)prng_below(p, KEYS);
        snprintf(items[i].sort, sizeof items[i].sort, "s%03u", i);
        snprintf(items[i].other, sizeof items[i].other, "v%u", (unsigned)prng_below(p, 30));
        snprintf(request, sizeof request,
                 "{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"%s\"},\"s\":{\"S\":\"%s\"},"
                 "\"v\":{\"S\":\"%s\"},\"w\":{\"S\":\"w\"}}}",
                 key_name(items[i].key), items[i].sort, items[i].other);
        assert_int_equal(fake_call(&f, "PutItem", request).status, 200);
        if (prng_below(p, 20) == 0)
            something_changes();
    }
    assert_int_equal(f.item_count, 2 * known); /* each has a row */
}

/* ---- pages ---- */

static void send_page(const char *operation, struct buffer *request)
{
    struct buffer b = {0};
    if (!f.clients[CONNECTION].open)
        fake_open(&f, CONNECTION);
    fake_request_text(&b, operation, buffer_slice(request));
    fake_send(&f, CONNECTION, buffer_slice(&b));
    buffer_deinit(&b);
}

/* Answers come in any order, and things change between them. */
static struct fake_answer page(const char *operation, struct buffer *request, bool changes)
{
    f.hold = true;
    send_page(operation, request);
    for (uint32_t steps = 0;; steps++) {
        assert_true(steps < 20000);
        const struct fake_answer a = fake_take_answer(&f, CONNECTION);
        if (a.status != 0)
            return a;
        if (changes && prng_below(p, 4) == 0 && steps < 400)
            something_changes();
        if (f.held_count > 0)
            fake_answer(&f, prng_below(p, f.held_count));
        else
            fake_advance_ms(&f, 10);
    }
}

static const char *find(struct slice in, const char *what)
{
    return memmem(in.data, in.size, what, strlen(what));
}

/* The order of two items by their sort keys, or by those of the index. */
static int compare(uint32_t a, uint32_t b, bool by_index)
{
    const int order = by_index ? strcmp(items[a].other, items[b].other) : 0;
    return order != 0 ? order : strcmp(items[a].sort, items[b].sort);
}

/* What a client reads. */
struct reading {
    const char *operation;
    char head[400];
    uint32_t key; /* of a Query */
    bool scan;
    bool reverse;
    bool by_index;
    bool whole; /* items are fetched for the index's rows */
    bool changes;
    uint32_t last; /* item, and 1; 0: none yet */
};

/* Marks the items of the page, which come in order. Returns how many. */
static uint32_t take(struct reading *r, struct slice body)
{
    uint32_t count = 0, whole = 0;
    const char *at = (const char *)body.data, *end = at + body.size;
    const char *stop = find(body, "],\"Count\"");
    assert_non_null(stop);
    for (const char *w = at; (w = memmem(w, (size_t)(stop - w), "\"w\":", 4)) != NULL; w++)
        whole++;
    while ((at = memmem(at, (size_t)(end - at), "\"s\":{\"S\":\"", 10)) != NULL && at < stop) {
        at += 10;
        char sort[8];
        snprintf(sort, sizeof sort, "%.4s", at);
        const uint32_t i = (uint32_t)atoi(sort + 1);
        assert_true(i < known);
        if (!r->scan) {
            assert_int_equal(items[i].key, r->key);
            if (r->last != 0) { /* RANGES-2 */
                const int order = compare(i, r->last - 1, r->by_index);
                assert_true(r->reverse ? order < 0 : order > 0);
            }
            r->last = i + 1;
        }
        assert_false(items[i].seen); /* RANGES-3 */
        items[i].seen = true;
        count++;
    }
    assert_int_equal(whole, !r->by_index || r->whole ? count : 0);
    return count;
}

static void append_start_key(struct buffer *request, struct slice body)
{
    const char *last = find(body, "\"LastEvaluatedKey\":");
    if (last == NULL)
        return;
    last += strlen("\"LastEvaluatedKey\":");
    const size_t left = (size_t)((const char *)body.data + body.size - last);
    const char *end = (const char *)memmem(last, left, "}}", 2) + 2;
    buffer_append_format(request, ",\"ExclusiveStartKey\":%.*s", (int)(end - last), last);
}

static void read_pages(struct reading *r)
{
    const uint32_t limit = prng_below(p, 4) == 0 ? 0 : 1 + (uint32_t)prng_below(p, 60);
    struct buffer request = {0}, next = {0};
    bool more = true;
    while (more) {
        buffer_clear(&request);
        buffer_append_text(&request, r->head);
        if (r->by_index)
            buffer_append_text(&request, ",\"IndexName\":\"by-v\"");
        if (r->whole)
            buffer_append_text(&request, ",\"Select\":\"ALL_ATTRIBUTES\"");
        if (limit > 0)
            buffer_append_format(&request, ",\"Limit\":%u", limit);
        buffer_append_slice(&request, buffer_slice(&next));
        buffer_append_text(&request, "}");
        const struct fake_answer a = page(r->operation, &request, r->changes);
        if (a.status != 200)
            print_error("%.*s\n", TEXT_OF(a.body));
        assert_int_equal(a.status, 200);
        const uint32_t taken = take(r, a.body);
        buffer_clear(&next);
        append_start_key(&next, a.body);
        more = next.size > 0;
        assert_true(limit == 0 || taken <= limit);
        assert_true(limit == 0 || !more || taken == limit);
        something_changes();
    }
    buffer_deinit(&request);
    buffer_deinit(&next);
}

static void expect_all_seen(uint32_t key, bool all)
{
    for (uint32_t i = 0; i < known; i++)
        assert_int_equal(items[i].seen, all || items[i].key == key);
}

static void begin(struct prng *prng)
{
    p = prng;
    memset(items, 0, sizeof items);
    memset(keys, 0, sizeof keys);
    version = 0;
    fake_init(&f);
    config_edit_requests(&f.config)->request_deadline_ms = 60000;
    fake_start(&f);
    assert_int_equal(fake_call(&f, "CreateTable", CREATE).status, 200);
    table = &f.tables[0];
    fake_repartition(&f, table, 1 + (uint32_t)prng_below(p, 8));
    if (prng_below(p, 2) == 0)
        f.range_items_max = 1 + (uint32_t)prng_below(p, 20);
    fill();
}

static void read_index(struct reading *r)
{
    r->changes = prng_below(p, 4) > 0;
    r->by_index = prng_below(p, 2);
    r->whole = r->by_index && prng_below(p, 2);
}

static void query(struct prng *prng)
{
    begin(prng);
    struct reading r = {.operation = "Query",
                        .key = 1 + (uint32_t)prng_below(p, KEYS - 1),
                        .reverse = prng_below(p, 2)};
    read_index(&r);
    snprintf(r.head, sizeof r.head,
             "{\"TableName\":\"tab\",\"ConsistentRead\":true,\"ScanIndexForward\":%s,"
             "\"KeyConditionExpression\":\"k=:k\",\"ExpressionAttributeValues\":{\":k\":{\"S\":"
             "\"%s\"}}",
             r.reverse ? "false" : "true", key_name(r.key));
    read_pages(&r);
    expect_all_seen(r.key, false);
    f.hold = false;
    fake_deinit(&f);
}

static void scan(struct prng *prng)
{
    begin(prng);
    const uint32_t segments = 1 + (uint32_t)prng_below(p, 5);
    struct reading r = {.operation = "Scan", .scan = true};
    read_index(&r);
    for (uint32_t i = 0; i < segments; i++) {
        snprintf(r.head, sizeof r.head,
                 "{\"TableName\":\"tab\",\"TotalSegments\":%u,\"Segment\":%u", segments, i);
        read_pages(&r);
    }
    expect_all_seen(0, true);
    f.hold = false;
    fake_deinit(&f);
}

TEST(a_query_sees_each_item_once_while_shards_grow_and_items_move)
{
    check_seeds(200, query);
}

TEST(a_scan_sees_each_item_once_while_shards_grow_and_items_move)
{
    check_seeds(200, scan);
}
