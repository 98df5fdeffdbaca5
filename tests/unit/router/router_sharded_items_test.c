/* router_sharded_items_test.c - single items of sharded keys: where their requests go, and that
 * they leave previous owners first. */
#include "base/settings/requests.h"
#include "engine/catalog/catalog.h"
#include "engine/message/move_messages.h"
#include "tests/check.h"
#include "tests/support/expect.h"
#include "tests/support/sharded_keys.h"

static struct fake_cluster f;
static struct table *table;

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    table = fake_table(&f, "tab", "k", ATTR_STRING, "s", ATTR_STRING, 4);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

/* ---- requests, and what is sent ---- */

static char text[400];

static const char *with_key(const char *format, const char *sort)
{
    snprintf(text, sizeof text, format, sort);
    return text;
}

static void put(const char *sort)
{
    expect_call(
        &f, "PutItem",
        with_key("{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%s\"}}}",
                 sort),
        200, "{}");
}

static void expect_found(const char *sort)
{
    char answer[200];
    snprintf(answer, sizeof answer, "{\"Item\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%s\"}}}",
             sort);
    expect_call(
        &f, "GetItem",
        with_key("{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%s\"}}}",
                 sort),
        200, answer);
}

/* The number of the item's copies; `*shard` is that of the last. */
static uint32_t copies(const char *sort, uint64_t *shard)
{
    struct slice bare = sharded_key_bare(table, "hot", sort);
    uint32_t count = 0;
    for (size_t i = 0; i < f.item_count; i++) {
        struct slice key = buffer_slice(&f.items[i].key);
        if (key.size == bare.size &&
            memcmp(key.data + STORAGE_KEY_BOUND_SIZE, bare.data + STORAGE_KEY_BOUND_SIZE,
                   bare.size - STORAGE_KEY_BOUND_SIZE) == 0) {
            count++;
            *shard = key_shard_of(key);
        }
    }
    return count;
}

static uint32_t owner_by(const char *sort, uint32_t shards)
{
    const struct sharded_key k = sharded_key_named(table, "hot", 1, shards, 0, NULL);
    return sharded_key_owner(&k, sharded_key_bare(table, "hot", sort));
}

static void grow(uint64_t version, uint32_t shards, uint32_t count, const uint32_t *before)
{
    const struct sharded_key k = sharded_key_named(table, "hot", version, shards, count, before);
    fake_shard_keys(&f, table, &(struct key_sharding){version, 1, &k});
}

static void expect_move(uint32_t from, uint32_t shards)
{
    assert_int_equal(f.held_count, 1);
    const struct request q = fake_held(&f, 0);
    assert_int_equal(q.op, REQUEST_KEY_SHARD_MOVE);
    assert_int_equal(request_move(&q)->hi.size, 0);
    assert_int_equal(request_move(&q)->shards, shards);
    assert_int_equal(key_shard_of(request_move(&q)->key), from);
}

/* A sort key whose owner shards by three numbers are three. */
static const char *wanderer(void)
{
    static char sort[16];
    for (int i = 0; i < 100000; i++) {
        snprintf(sort, sizeof sort, "w%d", i);
        if (owner_by(sort, 2) == 1 && owner_by(sort, 4) > 1 && owner_by(sort, 16) > 3)
            return sort;
    }
    fail();
    return NULL;
}

static const uint32_t FORMER[] = {1, 2, 4};

/* ---- tests ---- */

TEST(an_item_of_a_sharded_key_is_in_its_owner_shard)
{
    char sort[16];
    uint32_t seen[5] = {0};
    grow(3, 5, 0, NULL);
    for (int i = 0; i < 40; i++) {
        uint64_t shard = 0;
        snprintf(sort, sizeof sort, "%d", i);
        put(sort);
        assert_int_equal(copies(sort, &shard), 1);
        assert_int_equal(shard, owner_by(sort, 5));
        seen[shard]++;
        expect_found(sort);
    }
    for (uint32_t i = 0; i < 5; i++)
        assert_true(seen[i] > 0);
    assert_int_equal(f.requests[REQUEST_KEY_SHARD_MOVE], 0);
}

TEST(other_keys_stay_where_they_were)
{
    grow(3, 5, 0, NULL);
    expect_call(&f, "PutItem",
                "{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"cold\"},\"s\":{\"S\":\"a\"}}}",
                200, "{}");
    assert_int_equal(f.item_count, 1);
    assert_int_equal(key_shard_of(buffer_slice(&f.items[0].key)), 0);
}

TEST(an_item_leaves_its_previous_owners_oldest_first)
{
    const char *sort = wanderer();
    grow(9, 16, 3, FORMER);
    f.hold = true;
    fake_send_call(
        &f, 1, "GetItem",
        with_key("{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%s\"}}}",
                 sort));
    fake_answer(&f, 0);
    expect_move(0, 16);
    assert_int_equal(fake_held(&f, 0).key_sharding_version, 9);
    assert_int_equal(fake_held(&f, 0).sharded_key_version, 9);
    fake_answer(&f, 0);
    expect_move(1, 16);
    fake_answer(&f, 0);
    expect_move(owner_by(sort, 4), 16);
    fake_answer(&f, 0);
    const struct request q = fake_held(&f, 0);
    assert_int_equal(q.op, REQUEST_GET);
    assert_int_equal(key_shard_of(q.get.key), owner_by(sort, 16));
    assert_true(q.get.consistent);
    assert_int_equal(q.sharded_key_version, 9);
    fake_answer(&f, 0);
    expect_answer(fake_take_answer(&f, 1), 200, "{}");
}

TEST(every_operation_on_an_item_meets_it_at_its_new_owner)
{
    static const struct {
        const char *name, *body;
    } OPERATIONS[] = {
        {"GetItem", "{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%s\"}}}"},
        {"PutItem", "{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%s\"}},"
                    "\"ConditionExpression\":\"attribute_exists(k)\"}"},
        {"UpdateItem",
         "{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%s\"}},"
         "\"ConditionExpression\":\"attribute_exists(k)\"}"},
        {"BatchGetItem",
         "{\"RequestItems\":{\"tab\":{\"Keys\":[{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":"
         "\"%s\"}}]}}}"},
        {"BatchWriteItem", "{\"RequestItems\":{\"tab\":[{\"PutRequest\":{\"Item\":{\"k\":{\"S\":"
                           "\"hot\"},\"s\":{\"S\":\"%s\"}}}}]}}"},
        {"ExecuteStatement", "{\"Statement\":\"SELECT * FROM tab WHERE k='hot' AND s='%s'\"}"},
        {"ExecuteStatement", "{\"Statement\":\"UPDATE tab SET a=1 WHERE k='hot' AND s='%s'\"}"},
        {"DeleteItem",
         "{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%s\"}},"
         "\"ConditionExpression\":\"attribute_exists(k)\"}"},
    };
    const char *sort = wanderer();
    for (size_t i = 0; i < COUNT_OF(OPERATIONS); i++) {
        uint64_t shard = 0;
        stop(NULL);
        start(NULL);
        grow(1, 4, 0, NULL);
        put(sort);
        grow(9, 16, 3, FORMER);
        const struct fake_answer a =
            fake_call(&f, OPERATIONS[i].name, with_key(OPERATIONS[i].body, sort));
        assert_int_equal(a.status, 200);
        assert_int_equal(f.requests[REQUEST_KEY_SHARD_MOVE], 3);
        const bool deleted = strcmp(OPERATIONS[i].name, "DeleteItem") == 0;
        assert_int_equal(copies(sort, &shard), deleted ? 0 : 1);
        if (!deleted)
            assert_int_equal(shard, owner_by(sort, 16));
    }
}

TEST(a_registry_that_grows_meanwhile_gives_another_owner) /* SHARDS-1 */
{
    const char *sort = wanderer();
    uint64_t shard = 0;
    put(sort);
    grow(1, 2, 1, (const uint32_t[]){1});
    put(sort); /* the node refuses the older map */
    assert_int_equal(copies(sort, &shard), 1);
    assert_int_equal(shard, 1);
    grow(2, 16, 2, (const uint32_t[]){1, 2});
    f.hold = true;
    fake_send_call(
        &f, 2, "PutItem",
        with_key("{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%s\"}}}",
                 sort));
    assert_int_equal(fake_held(&f, 0).key_sharding_version, 1);
    fake_answer(&f, 0); /* STALE_MAP */
    fake_answer(&f, 0); /* the table */
    expect_move(0, 16);
    f.hold = false;
    fake_answer_all(&f);
    expect_answer(fake_take_answer(&f, 2), 200, "{}");
    assert_int_equal(copies(sort, &shard), 1);
    assert_int_equal(shard, owner_by(sort, 16));
}

TEST(a_registry_that_the_catalog_does_not_have_yet_is_fetched_with_pauses)
{
    f.fail_code = REPLY_STALE_MAP;
    f.fail_count = 100000;
    fake_send_call(&f, 2, "GetItem",
                   "{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"a\"}}}");
    fake_advance_ms(&f, config_requests(&f.config)->request_deadline_ms - 1);
    assert_true(f.requests[REQUEST_GET] < 200);
    fake_advance_ms(&f, 1);
    assert_int_equal(fake_take_answer(&f, 2).status, 503);
}

TEST(an_item_that_a_transaction_has_is_waited_for)
{
    const char *sort = wanderer();
    grow(2, 2, 1, (const uint32_t[]){1});
    f.fail_code = REPLY_LOCKED;
    f.fail_count = 3;
    fake_send_call(
        &f, 2, "PutItem",
        with_key("{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%s\"}}}",
                 sort));
    assert_int_equal(fake_take_answer(&f, 2).status, 0);
    fake_advance_ms(&f, 300);
    expect_answer(fake_take_answer(&f, 2), 200, "{}");
    assert_int_equal(f.requests[REQUEST_KEY_SHARD_MOVE], 4);
    assert_int_equal(f.requests[REQUEST_PUT], 1);
    f.fail_count = 100000;
    fake_send_call(&f, 3, "PutItem", text);
    fake_advance_ms(&f, config_requests(&f.config)->request_deadline_ms);
    const struct fake_answer a = fake_take_answer(&f, 3);
    assert_int_equal(a.status, 400);
    assert_non_null(memmem(a.body.data, a.body.size, "TransactionConflictException", 28));
    assert_int_equal(f.requests[REQUEST_PUT], 1);
}

TEST(a_move_without_an_answer_is_repeated_and_writes_nothing)
{
    const char *sort = wanderer();
    grow(2, 2, 1, (const uint32_t[]){1});
    f.fail_code = REPLY_UNKNOWN;
    f.fail_count = 2;
    fake_send_call(
        &f, 2, "PutItem",
        with_key("{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%s\"}}}",
                 sort));
    fake_advance_ms(&f, 100);
    expect_answer(fake_take_answer(&f, 2), 200, "{}");
    f.hold = true;
    fake_send_call(&f, 3, "PutItem", text);
    fake_advance_ms(&f, config_requests(&f.config)->request_deadline_ms);
    assert_int_equal(fake_take_answer(&f, 3).status, 503); /* and not 500: nothing was written */
}

TEST(a_request_to_a_partition_that_does_not_know_the_key_is_retried)
{
    const char *sort = wanderer();
    grow(2, 2, 0, NULL);
    f.seen = 1;
    fake_send_call(
        &f, 2, "PutItem",
        with_key("{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%s\"}}}",
                 sort));
    assert_int_equal(fake_take_answer(&f, 2).status, 0);
    f.seen = 2;
    fake_advance_ms(&f, 100);
    expect_answer(fake_take_answer(&f, 2), 200, "{}");
}

TEST(an_older_registry_is_not_taken) /* SHARDS-2 */
{
    const char *sort = wanderer();
    uint64_t shard = 0;
    grow(5, 16, 0, NULL);
    put(sort);
    grow(4, 2, 0, NULL); /* what an old leader of the catalog says */
    f.fail_code = REPLY_STALE_MAP;
    f.fail_count = 1;
    f.seen = 5;
    fake_send_call(
        &f, 2, "GetItem",
        with_key("{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%s\"}}}",
                 sort));
    assert_int_equal(f.requests[REQUEST_GET], 1);
    grow(5, 16, 0, NULL);
    fake_advance_ms(&f, 200);
    assert_int_equal(fake_take_answer(&f, 2).status, 200);
    assert_int_equal(copies(sort, &shard), 1);
}

/* ---- pages ---- */

static struct fake_answer request_admin(uint64_t connection, const char *head, const char *body)
{
    char whole[600];
    snprintf(whole, sizeof whole,
             "%s HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             head, strlen(body), body);
    if (!f.clients[connection].open)
        fake_open_admin(&f, connection);
    fake_send_text(&f, connection, whole);
    return fake_take_answer(&f, connection);
}

#define HOT                                                                                        \
    "\"key\":\"k=\\\"hot\\\"\",\"hash\":\"%016llx\",\"shards\":16,\"former\":[1,2,4],\"version\":" \
    "9,"                                                                                           \
    "\"counter\":false,\"moving\":true"

TEST(the_page_of_partitions_shows_sharded_keys)
{
    char expected[400];
    grow(9, 16, 3, FORMER);
    const struct fake_answer a = request_admin(2, "GET /weir/partitions", "");
    snprintf(expected, sizeof expected, "\"key_sharding\":{\"version\":9,\"keys\":[{" HOT "}]}",
             (unsigned long long)table->sharded_keys->keys[0].hash);
    assert_int_equal(a.status, 200);
    assert_non_null(memmem(a.body.data, a.body.size, expected, strlen(expected)));
}

static void expect_fewer_shards(const char *method_and_path)
{
    char expected[400];
    struct decision d;
    grow(9, 16, 3, FORMER);
    f.hold = true;
    request_admin(2, method_and_path,
                  "{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"hot\"}},\"Shards\":2}");
    fake_answer(&f, 0);
    const struct request q = fake_held(&f, 0);
    assert_int_equal(q.op, REQUEST_DECIDE);
    assert_int_equal(q.decide.op, CATALOG_KEY_SHARDS);
    assert_int_equal(decision_decode(q.decide.decision, &d), STATUS_OK);
    assert_int_equal(d.table_id, table->id);
    assert_int_equal(d.key_shards.change, KEY_SHARDS_SHRINK);
    assert_int_equal(d.key_shards.shards, 2);
    assert_int_equal(d.key_shards.version, 9);
    assert_ptr_equal(key_sharding_find(table->sharded_keys, d.key_shards.key),
                     &table->sharded_keys->keys[0]);
    fake_answer_code(&f, 0, REPLY_OK);
    fake_answer(&f, 0); /* the table */
    snprintf(expected, sizeof expected, "{" HOT "}",
             (unsigned long long)table->sharded_keys->keys[0].hash);
    expect_answer(fake_take_answer(&f, 2), 200, expected);
}

TEST(a_key_is_given_fewer_shards_by_a_decision_of_the_catalog)
{
    expect_fewer_shards("POST /weir/unshard");
}

TEST(a_key_is_given_fewer_shards_under_the_old_path)
{
    expect_fewer_shards("POST /weir/unsalt");
}

TEST(shards_of_a_key_that_has_none_are_not_given_up)
{
    static const char *const BODIES[][2] = {
        {"{\"k\":{\"S\":\"cold\"}}", "The key is not sharded"},
        {"{\"k\":{\"N\":\"1\"}}", "Key: the partition key of the table alone is expected"},
        {"{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"a\"}}",
         "Key: the partition key of the table alone is expected"},
        {"{}", "Key: the partition key of the table alone is expected"},
        {"{\"k\":{\"S\":\"\"}}", ""},
        {"{\"k\":{\"S\":\"hot\"}},\"Shards\":129", ""},
        {"{\"k\":{\"S\":\"hot\"}},\"Shards\":0", ""},
    };
    grow(9, 16, 3, FORMER);
    for (size_t i = 0; i < COUNT_OF(BODIES); i++) {
        char body[200];
        snprintf(body, sizeof body, "{\"TableName\":\"tab\",\"Key\":%s}", BODIES[i][0]);
        const struct fake_answer a = request_admin(2, "POST /weir/unshard", body);
        assert_int_equal(a.status, 400);
        assert_non_null(memmem(a.body.data, a.body.size, BODIES[i][1], strlen(BODIES[i][1])));
    }
    assert_int_equal(f.requests[REQUEST_DECIDE], 0);
}
