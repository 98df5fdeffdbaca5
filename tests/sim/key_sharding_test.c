/* Sharded keys on a simulated cluster: a key gets more shards, one step after the other, and fewer
 * again, while clients write and read it, and the catalog's leader, the leader of its first shard
 * and a router crash at each step. Every read is what a model allows, and at last all is what the
 * model says. */
#include "tests/check.h"

#include "engine/catalog/catalog.h"
#include "engine/catalog/decision.h"
#include "tests/support/lab.h"

enum {
    ROUTERS = 2,
    WORKERS = 6, /* the last ones read */
    READERS = 2,
    FIRST_CLIENT = 8, /* those before it make the table */
    ITEMS = 24,
    THINK_MS = 4,
    CALL_MS = 10000,
    MOVED_MS = 60000 /* until all items are in their owner shards */
};

enum work {
    WORK_WRITE,
    WORK_GET,
    WORK_QUERY
};

struct fixture;

struct worker {
    struct fixture *fixture;
    struct http_client *client;
    uint32_t number;
    enum work work;
    uint32_t item;    /* of the write or GET */
    int64_t value;    /* of the write */
    uint32_t attempt; /* of the write; 0: it is not begun yet */
    bool busy;
    int64_t min[ITEMS]; /* that a read may find */
};

/* Items are numbers that grow: by puts, or if the table counts, by additions of one. */
struct fixture {
    struct lab lab;
    struct worker workers[WORKERS];
    struct buffer key; /* what storage keys of shard 0 begin with */
    bool counts;
    uint32_t items;
    bool stop;
    int64_t begun[ITEMS];
    int64_t acknowledged[ITEMS];
    int64_t writes, reads, again;
};

static void worker_next(void *context, uint64_t argument);

/* ---- requests ---- */

static void worker_request(struct worker *w, char body[512])
{
    const struct fixture *s = w->fixture;
    char key[64];
    snprintf(key, sizeof key, "{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%02u\"}", w->item);
    if (w->work == WORK_QUERY)
        snprintf(
            body, 512,
            "{\"TableName\":\"hot\",\"ConsistentRead\":true,\"KeyConditionExpression\":\"k = :k\","
            "\"ExpressionAttributeValues\":{\":k\":{\"S\":\"hot\"}}}");
    else if (w->work == WORK_GET)
        snprintf(body, 512, "{\"TableName\":\"hot\",\"ConsistentRead\":true,\"Key\":%s}}", key);
    else if (s->counts)
        snprintf(body, 512,
                 "{\"TableName\":\"hot\",\"Key\":%s},\"UpdateExpression\":\"ADD v :one\","
                 "\"ExpressionAttributeValues\":{\":one\":{\"N\":\"1\"}}}",
                 key);
    else
        snprintf(
            body, 512,
            "{\"TableName\":\"hot\",\"Item\":%s,\"v\":{\"N\":\"%lld\"}},\"ConditionExpression\":"
            "\"attribute_not_exists(v) OR v < :v\",\"ExpressionAttributeValues\":{\":v\":{"
            "\"N\":\"%lld\"}}}",
            key, (long long)w->value, (long long)w->value);
}

/* A write that was not acknowledged is sent again. Items belong to one writer; counters to all. */
static void worker_choose(struct worker *w)
{
    struct fixture *s = w->fixture;
    if (w->attempt > 0)
        return;
    if (w->number >= WORKERS - READERS) {
        w->work = w->work == WORK_QUERY ? WORK_GET : WORK_QUERY;
        w->item = (w->item + 1) % s->items;
        memcpy(w->min, s->acknowledged, sizeof w->min);
        return;
    }
    w->item = s->counts ? (w->item + 1) % s->items : (w->item + WORKERS - READERS) % s->items;
    w->value = ++s->begun[w->item];
}

/* ---- answers ---- */

static void assert_value(const struct worker *w, uint32_t item, int64_t value)
{
    const struct fixture *s = w->fixture;
    if (value < w->min[item] || value > s->begun[item])
        fail_msg("%s finds %lld under item %u, and must find %lld to %lld",
                 w->work == WORK_QUERY ? "a Query" : "a GetItem", (long long)value, item,
                 (long long)w->min[item], (long long)s->begun[item]);
}

/* Takes the next item off the answer. */
static bool next_item(struct slice *rest, uint32_t *item, int64_t *value)
{
    static const char sort[] = "\"s\":{\"S\":\"", number[] = "\"v\":{\"N\":\"";
    const char *at = memmem(rest->data, rest->size, sort, sizeof sort - 1);
    const char *end = (const char *)rest->data + rest->size;
    if (at == NULL)
        return false;
    *item = (uint32_t)strtoul(at + sizeof sort - 1, NULL, 10);
    at = memmem(at, (size_t)(end - at), number, sizeof number - 1);
    assert_non_null(at);
    at += sizeof number - 1;
    *value = strtoll(at, NULL, 10);
    *rest = slice_make(at, (size_t)(end - at));
    return true;
}

static void worker_take_read(struct worker *w, struct slice body)
{
    const struct fixture *s = w->fixture;
    int64_t found[ITEMS] = {0}, value;
    uint32_t item, last = 0, count = 0;
    while (next_item(&body, &item, &value)) {
        assert_true(item < s->items && (count++ == 0 || item > last)); /* in order, each once */
        found[item] = value;
        last = item;
    }
    for (uint32_t i = 0; i < s->items; i++) {
        if (w->work == WORK_QUERY || i == w->item)
            assert_value(w, i, found[i]);
    }
}

static void worker_done(void *context, int status, struct slice body)
{
    struct worker *w = context;
    struct fixture *s = w->fixture;
    const bool known =
        body.size > 0 && memmem(body.data, body.size, "ConditionalCheckFailed", 22) != NULL;
    w->busy = false;
    w->client->lines[0] = '\0';
    if (w->attempt == 0 && status == 200) {
        worker_take_read(w, body);
        s->reads++;
    } else if (w->attempt > 0 && (status == 200 || (w->attempt > 1 && known))) {
        s->acknowledged[w->item] += s->counts ? 1 : w->value - s->acknowledged[w->item];
        w->attempt = 0;
        s->writes++;
    } else {
        s->again++;
    }
    scheduler_in(&s->lab.world.scheduler, duration_ms(THINK_MS), worker_next, w, 0);
}

static void worker_next(void *context, uint64_t argument)
{
    struct worker *w = context;
    const struct fixture *s = w->fixture;
    const char *const operations[] = {s->counts ? "UpdateItem" : "PutItem", "GetItem", "Query"};
    char body[512];
    (void)argument;
    if (s->stop && w->attempt == 0)
        return;
    worker_choose(w);
    worker_request(w, body);
    w->busy = true;
    if (w->work == WORK_WRITE)
        w->attempt++;
    if (s->counts && w->work == WORK_WRITE)
        snprintf(w->client->lines, sizeof w->client->lines,
                 "amz-sdk-invocation-id: %u-%u-%lld\r\namz-sdk-request: attempt=%u; max=9\r\n",
                 w->number, w->item, (long long)w->value, w->attempt);
    http_client_call(w->client, operations[w->work], slice_of(body), duration_ms(CALL_MS),
                     worker_done, w);
}

/* ---- the key's shards ---- */

/* As the catalog's leader has it. Lends until time passes. */
static const struct table *fixture_table(struct fixture *s)
{
    while (lab_catalog_leader(&s->lab) == 0)
        lab_pass(&s->lab, 20 * NS_PER_MS);
    const struct table *t = catalog_find(lab_catalog(&s->lab), slice_of("hot"));
    assert_non_null(t);
    return t;
}

/* NULL: the key is not sharded. */
static const struct sharded_key *fixture_sharded_key(struct fixture *s)
{
    return key_sharding_find(fixture_table(s)->sharded_keys, buffer_slice(&s->key));
}

static uint32_t fixture_shards(struct fixture *s)
{
    const struct sharded_key *k = fixture_sharded_key(s);
    return k != NULL ? k->shards : 1;
}

static bool fixture_moves(struct fixture *s)
{
    const struct sharded_key *k = fixture_sharded_key(s);
    return k != NULL && (k->counter ? sharded_key_shrinks(k) : sharded_key_moves(k));
}

/* Until the catalog has decided. */
static void fixture_set_shards(struct fixture *s, uint32_t shards)
{
    struct buffer bytes = {0};
    for (int tries = 0; fixture_shards(s) != shards; tries++) {
        const struct sharded_key *k = fixture_sharded_key(s);
        const struct decision d = {.table_id = fixture_table(s)->id,
                                   .key_shards = {.change = k == NULL || k->shards < shards
                                                                ? KEY_SHARDS_GROW
                                                                : KEY_SHARDS_SHRINK,
                                                  .key = buffer_slice(&s->key),
                                                  .version = k != NULL ? k->version : 0,
                                                  .shards = shards,
                                                  .counter = s->counts}};
        assert_true(tries < 100);
        buffer_clear(&bytes);
        decision_encode(&bytes, &d);
        const struct request r = {
            .id = 1, .op = REQUEST_DECIDE, .decide = {buffer_slice(&bytes), CATALOG_KEY_SHARDS}};
        buffer_clear(&s->lab.body);
        world_request(&s->lab.world, &r, &s->lab.body);
        lab_pass(&s->lab, 20 * NS_PER_MS);
    }
    buffer_deinit(&bytes);
}

/* The node that leads the partition of the key's first shard. */
static uint32_t fixture_leader(struct fixture *s)
{
    const struct request r = {.id = 1, .op = REQUEST_STATS};
    const uint32_t partition = table_partition_of(fixture_table(s), buffer_slice(&s->key))->id;
    for (uint32_t node = 1; node <= s->lab.world.plan.nodes; node++) {
        struct partition_stats found;
        buffer_clear(&s->lab.body);
        node_process_request(s->lab.world.nodes[node], &r, &s->lab.body);
        struct reader records = {buffer_slice(&s->lab.body), false};
        while (records.left.size > 0 && partition_stats_decode(&records, &found) == STATUS_OK) {
            if (found.partition == partition && found.leads)
                return node;
        }
    }
    return 1; /* none leads it just now */
}

/* ---- crashes ---- */

static void crash_node(struct fixture *s, uint32_t node)
{
    struct buffer error = {0};
    node_process_crash(s->lab.world.nodes[node], node % 2 == 0);
    lab_pass(&s->lab, 150 * NS_PER_MS);
    assert_int_equal(node_process_start(s->lab.world.nodes[node], &error), STATUS_OK);
}

/* Each in the middle of what the one before has left behind. */
static void crash_all(struct fixture *s, uint32_t step)
{
    const uint32_t router = world_router(&s->lab.world, step % ROUTERS);
    lab_pass(&s->lab, (int64_t)(step * 7 % 40) * NS_PER_MS);
    crash_node(s, lab_catalog_leader(&s->lab));
    lab_pass(&s->lab, 100 * NS_PER_MS);
    crash_node(s, fixture_leader(s));
    lab_pass(&s->lab, 30 * NS_PER_MS);
    world_crash_process(&s->lab.world, router);
    lab_pass(&s->lab, 50 * NS_PER_MS);
    world_start_process(&s->lab.world, router);
    lab_pass(&s->lab, 400 * NS_PER_MS);
}

/* ---- fixtures ---- */

static void fixture_create_table(struct fixture *s)
{
    char body[640];
    struct counts c = {0};
    snprintf(
        body, sizeof body,
        "{\"TableName\":\"hot\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":\"HASH\"},"
        "{\"AttributeName\":\"s\",\"KeyType\":\"RANGE\"}],\"AttributeDefinitions\":["
        "{\"AttributeName\":\"k\",\"AttributeType\":\"S\"},{\"AttributeName\":\"s\","
        "\"AttributeType\":\"S\"}],\"ProvisionedThroughput\":{\"ReadCapacityUnits\":9000,"
        "\"WriteCapacityUnits\":3000},\"Tags\":[{\"Key\":\"weir:key-sharding\",\"Value\":\"%s\"}]}",
        s->counts ? "counter" : "auto");
    lab_call(&s->lab, &c, "CreateTable", body);
    lab_pass(&s->lab, 2 * NS_PER_S);
    assert_int_equal(c.ok, 1);
}

static struct fixture *fixture_open(bool counts, uint32_t items)
{
    const struct attr hot = {.type = ATTR_STRING, .body = slice_of("hot")};
    struct fixture *s = must_calloc(1, sizeof *s);
    s->counts = counts;
    s->items = items;
    lab_init(&s->lab);
    s->lab.world.plan.routers = ROUTERS;
    lab_set(&s->lab, "control_key_sharding", "0");
    lab_set(&s->lab, "key_sharding_moves_s", "30");
    lab_start(&s->lab);
    lab_pass(&s->lab, 2 * NS_PER_S);
    fixture_create_table(s);
    assert_true(fixture_table(s)->partition_count >= 3);
    storage_key_append_collection(&s->key, fixture_table(s)->id, &hot);
    for (uint32_t i = 0; i < WORKERS; i++) {
        struct worker *w = &s->workers[i];
        *w = (struct worker){.fixture = s,
                             .client = &s->lab.clients[i % ROUTERS][FIRST_CLIENT + i],
                             .number = i,
                             .item = i % items};
        worker_next(w, 0);
    }
    lab_pass(&s->lab, 500 * NS_PER_MS);
    return s;
}

/* Until every write is acknowledged. */
static void fixture_stop(struct fixture *s)
{
    s->stop = true;
    for (uint32_t i = 0; i < WORKERS; i++) {
        while (s->workers[i].busy || s->workers[i].attempt > 0)
            lab_pass(&s->lab, 10 * NS_PER_MS);
    }
    lab_pass(&s->lab, 2 * THINK_MS * NS_PER_MS); /* then none will begin anything */
}

static void fixture_await_moves(struct fixture *s)
{
    for (int ms = 0; fixture_moves(s); ms += 100) {
        assert_true(ms < MOVED_MS);
        lab_pass(&s->lab, 100 * NS_PER_MS);
    }
}

/* At last all items are what the model says. */
static void fixture_close(struct fixture *s)
{
    fixture_stop(s);
    fixture_await_moves(s);
    assert_memory_equal(s->begun, s->acknowledged, sizeof s->begun);
    const int64_t enough = s->reads + 2 * s->items;
    s->stop = false;
    worker_next(&s->workers[WORKERS - 1], 0);
    while (s->reads < enough)
        lab_pass(&s->lab, THINK_MS * NS_PER_MS);
    fixture_stop(s);
    printf("    %lld writes, %lld reads, %lld asked again\n", (long long)s->writes,
           (long long)s->reads, (long long)s->again);
    lab_deinit(&s->lab);
    buffer_deinit(&s->key);
    free(s);
}

TEST(a_key_grows_from_one_shard_to_five_under_load_and_crashes)
{
    struct fixture *s = fixture_open(false, ITEMS);
    for (uint32_t shards = 2; shards <= 5; shards++) {
        fixture_set_shards(s, shards);
        crash_all(s, shards);
    }
    assert_true(s->writes > 500 && s->reads > 100);
    fixture_close(s);
}

TEST(a_key_gives_its_shards_up_under_load_and_crashes)
{
    struct fixture *s = fixture_open(false, ITEMS);
    fixture_set_shards(s, 5);
    fixture_await_moves(s);
    fixture_set_shards(s, 1);
    assert_true(fixture_moves(s));
    crash_all(s, 1);
    fixture_close(s);
}

TEST(counters_get_ten_and_twenty_cells_under_load_and_crashes)
{
    struct fixture *s = fixture_open(true, 2);
    fixture_set_shards(s, 10);
    crash_all(s, 3);
    fixture_set_shards(s, 20);
    crash_all(s, 4);
    assert_int_equal(fixture_shards(s), 20);
    fixture_close(s);
}

/* Twice, with a growth between: tokens are where more cells were. */
TEST(counters_give_their_cells_up_under_load_and_crashes)
{
    static const uint32_t SHARDS[] = {10, 3, 6, 1};
    (void)state;
    struct fixture *s = fixture_open(true, 2);
    for (uint32_t i = 0; i < sizeof SHARDS / sizeof SHARDS[0]; i++) {
        fixture_set_shards(s, SHARDS[i]);
        assert_int_equal(fixture_moves(s), i % 2);
        crash_all(s, i);
        fixture_await_moves(s);
    }
    assert_true(s->writes > 200);
    fixture_close(s);
}
