/* router_sharded_transactions_test.c - transactions on items of sharded keys, step by step. */
#include "base/settings/requests.h"
#include "engine/item/item.h"
#include "engine/message/move_messages.h"
#include "engine/message/transaction_messages.h"
#include "engine/transaction/transaction.h"
#include "tests/check.h"
#include "tests/support/expect.h"
#include "tests/support/sharded_keys.h"

enum {
    CONNECTION = 2
};

/* The first request that the nodes hold. Lends until the next call. */
static const struct request *held_first(const struct fake_cluster *f)
{
    static struct request q;
    q = fake_held(f, 0);
    return &q;
}

static struct fake_cluster f;
static struct table *table;
static const char *hot; /* a sort key whose item had three owner shards */

static const char WRITE[] =
    "{\"TransactItems\":[{\"Put\":{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"hot\"},\"s\":{"
    "\"S\":\"%s\"}}}},{\"Put\":{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"%s\"},\"s\":{\"S\":"
    "\"b\"}}}}]}";
static const char READ[] =
    "{\"TransactItems\":[{\"Get\":{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"hot\"},\"s\":{"
    "\"S\":\"%s\"}}}},{\"Get\":{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"%s\"},\"s\":{\"S\":"
    "\"b\"}}}}]}";

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

static int start(void **state)
{
    static char sort[16];
    (void)state;
    fake_init(&f);
    fake_start(&f);
    table = fake_table(&f, "tab", "k", ATTR_STRING, "s", ATTR_STRING, 8);
    for (int i = 0; hot == NULL; i++) {
        snprintf(sort, sizeof sort, "w%d", i);
        if (owner_by(sort, 2) == 1 && owner_by(sort, 4) > 1 && owner_by(sort, 16) > 3)
            hot = sort;
    }
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

static const struct partition_info *partition_of(struct slice key)
{
    return table_partition_of(table, key);
}

/* A partition key whose item with the sort key "b" is in another partition than the hot one. */
static const char *other_key(uint32_t shards)
{
    static char name[16];
    uint8_t bytes[256];
    const struct slice bare = sharded_key_bare(table, "hot", hot);
    memcpy(bytes, bare.data, bare.size);
    key_shard_put(bytes, key_shard_bare_hash(bare), owner_by(hot, shards));
    const uint32_t at = partition_of(slice_make(bytes, bare.size))->id;
    for (int i = 0;; i++) {
        snprintf(name, sizeof name, "c%d", i);
        if (partition_of(sharded_key_bare(table, name, "b"))->id != at)
            return name;
    }
}

static void send(const char *operation, const char *format, const char *other)
{
    char text[500];
    struct buffer b = {0};
    snprintf(text, sizeof text, format, hot, other);
    if (!f.clients[CONNECTION].open)
        fake_open(&f, CONNECTION);
    f.hold = true;
    fake_request_text(&b, operation, slice_of(text));
    fake_send(&f, CONNECTION, buffer_slice(&b));
    buffer_deinit(&b);
}

/* Answers all that is held, which must be `count` requests of that kind, with the code. */
static void answer(uint32_t count, enum request_op op, enum reply_code code)
{
    assert_int_equal(f.held_count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(fake_held(&f, 0).op, op);
        fake_answer_code(&f, 0, code);
    }
}

static void leave_previous_owners(uint32_t shards, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(f.held_count, 1);
        assert_int_equal(fake_held(&f, 0).op, REQUEST_KEY_SHARD_MOVE);
        assert_int_equal(request_move(held_first(&f))->shards, shards);
        fake_answer(&f, 0);
    }
}

static const uint32_t FORMER[] = {1, 2, 4};

TEST(parts_are_prepared_at_owners_after_previous_owners_are_left)
{
    grow(9, 16, 3, FORMER);
    send("TransactWriteItems", WRITE, other_key(16));
    fake_answer(&f, 0); /* the table */
    leave_previous_owners(16, 3);
    assert_int_equal(f.held_count, 2);
    assert_int_equal(fake_held(&f, 0).sharded_key_version, 9);
    assert_int_equal(key_shard_of(request_admit(held_first(&f))->key), owner_by(hot, 16));
    assert_int_equal(fake_held(&f, 1).sharded_key_version, 0);
    answer(2, REQUEST_TRANSACT_ADMIT, REPLY_OK);
    assert_int_equal(fake_held(&f, 0).sharded_key_version, 9);
    assert_int_equal(key_shard_of(fake_held(&f, 0).write.key), owner_by(hot, 16));
    answer(2, REQUEST_PUT, REPLY_OK);
    assert_int_equal(key_shard_of(request_transaction(held_first(&f))->key), owner_by(hot, 16));
    answer(1, REQUEST_TRANSACT_DECIDE, REPLY_OK);
    expect_answer(fake_take_answer(&f, CONNECTION), 200, "{}");
}

TEST(a_partition_that_owns_all_items_does_them_at_once)
{
    fake_repartition(&f, table, 1);
    grow(9, 16, 3, FORMER);
    send("TransactWriteItems", WRITE, "cold");
    fake_answer(&f, 0);
    leave_previous_owners(16, 3);
    assert_int_equal(key_shard_of(request_transact(held_first(&f))->key), owner_by(hot, 16));
    assert_int_equal(fake_held(&f, 0).sharded_key_version, 9);
    answer(1, REQUEST_TRANSACT, REPLY_OK);
    expect_answer(fake_take_answer(&f, CONNECTION), 200, "{}");
}

TEST(an_item_that_another_transaction_has_cancels)
{
    grow(9, 16, 3, FORMER);
    send("TransactWriteItems", WRITE, other_key(16));
    fake_answer(&f, 0);
    for (int i = 0; i < 1000; i++) {
        if (f.held_count == 0)
            fake_advance_ms(&f, 100);
        else if (fake_held(&f, 0).op == REQUEST_KEY_SHARD_MOVE)
            fake_answer_code(&f, 0, REPLY_LOCKED);
        else
            fake_answer(&f, 0); /* the table */
    }
    const struct fake_answer a = fake_take_answer(&f, CONNECTION);
    assert_int_equal(a.status, 400);
    assert_non_null(memmem(a.body.data, a.body.size, "[TransactionConflict, None]", 27));
    assert_int_equal(f.requests[REQUEST_TRANSACT_ADMIT], 0);
}

/* Before anything is prepared. */
TEST(a_key_that_grows_meanwhile_makes_it_begin_again)
{
    grow(1, 2, 0, NULL);
    send("TransactWriteItems", WRITE, other_key(2));
    fake_answer(&f, 0);
    assert_int_equal(f.held_count, 2);
    assert_int_equal(key_shard_of(request_admit(held_first(&f))->key), 1);
    grow(2, 16, 1, (const uint32_t[]){2});
    fake_answer_code(&f, 1, REPLY_OK);
    fake_answer_code(&f, 0, REPLY_STALE_MAP);
    assert_int_equal(fake_held(&f, 0).op, REQUEST_TABLE_GET);
    fake_answer(&f, 0);
    assert_int_equal(request_admit(held_first(&f))->back, WRITE_ADMITTED);
    answer(1, REQUEST_TRANSACT_ADMIT, REPLY_OK);
    leave_previous_owners(16, 1);
    assert_int_equal(key_shard_of(request_admit(held_first(&f))->key), owner_by(hot, 16));
    assert_int_equal(fake_held(&f, 0).key_sharding_version, 2);
    while (f.held_count > 0)
        fake_answer_code(&f, 0, REPLY_OK);
    expect_answer(fake_take_answer(&f, CONNECTION), 200, "{}");
}

TEST(a_part_that_meets_a_newer_registry_drops_what_was_prepared)
{
    grow(1, 2, 0, NULL);
    send("TransactWriteItems", WRITE, other_key(2));
    fake_answer(&f, 0);
    answer(2, REQUEST_TRANSACT_ADMIT, REPLY_OK);
    assert_int_equal(f.held_count, 2);
    grow(2, 16, 1, (const uint32_t[]){2});
    fake_answer_code(&f, 1, REPLY_OK);
    fake_answer_code(&f, 0, REPLY_STALE_MAP);
    fake_answer(&f, 0); /* the table */
    answer(1, REQUEST_TRANSACT_RESOLVE, REPLY_OK);
    const struct fake_answer a = fake_take_answer(&f, CONNECTION);
    assert_int_equal(a.status, 503);
    assert_int_equal(f.held_count, 0);
}

TEST(reads_are_checked_where_the_items_are)
{
    grow(1, 2, 0, NULL);
    send("TransactGetItems", READ, other_key(2));
    fake_answer(&f, 0);
    answer(2, REQUEST_GET, REPLY_OK);
    assert_int_equal(f.held_count, 2);
    assert_int_equal(key_shard_of(fake_held(&f, 0).unchanged.key), 1);
    grow(2, 16, 1, (const uint32_t[]){2});
    fake_answer_code(&f, 1, REPLY_OK);
    fake_answer_code(&f, 0, REPLY_STALE_MAP);
    fake_answer(&f, 0);                /* the table */
    assert_int_equal(f.held_count, 2); /* all is read again */
    assert_int_equal(fake_held(&f, 0).op, REQUEST_KEY_SHARD_MOVE);
    assert_int_equal(fake_held(&f, 1).op, REQUEST_GET);
    fake_answer(&f, 0);
    assert_int_equal(key_shard_of(fake_held(&f, 1).get.key), owner_by(hot, 16));
    answer(2, REQUEST_GET, REPLY_OK);
    answer(2, REQUEST_UNCHANGED, REPLY_OK);
    expect_answer(fake_take_answer(&f, CONNECTION), 200, "{\"Responses\":[{},{}]}");
}

/* ---- tokens ---- */

static const char NAMED[] =
    "{\"ClientRequestToken\":\"t\",\"TransactItems\":[{\"Put\":{\"TableName\":\"tab\",\"Item\":{"
    "\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%s\"}}}},{\"Put\":{\"TableName\":\"tab\",\"Item\":{"
    "\"k\":{\"S\":\"%s\"},\"s\":{\"S\":\"b\"}}}}]}";

/* All items are in their owner shards, but the key had other numbers of shards of late. */
static uint32_t remember(uint32_t shards, uint32_t widest, uint32_t owners[KEY_SHARDS_MAX])
{
    struct sharded_key k = sharded_key_named(table, "hot", 9, shards, 0, NULL);
    k.widest = widest;
    fake_shard_keys(&f, table, &(struct key_sharding){9, 1, &k});
    return sharded_key_recent_owners(&k, sharded_key_bare(table, "hot", hot), owners);
}

/* Sends the transaction up to the questions about its token, which are held. */
static uint32_t count_token_queries(uint32_t shards, uint32_t widest)
{
    uint32_t owners[KEY_SHARDS_MAX];
    const uint32_t count = remember(shards, widest, owners);
    assert_true(count > 1);
    send("TransactWriteItems", NAMED, other_key(shards));
    if (fake_held(&f, 0).op == REQUEST_TABLE_GET)
        fake_answer(&f, 0);
    assert_int_equal(f.held_count, count);
    for (uint32_t i = 0; i < count; i++) {
        struct transaction_part part = {0};
        const struct request q = fake_held(&f, i);
        assert_int_equal(q.op, REQUEST_CHECK);
        assert_int_equal(key_shard_of(q.write.key), owners[i]);
        assert_int_equal(q.sharded_key_version, 9);
        assert_true(q.write.token.only);
        struct reader r = {q.write.transaction, false};
        transaction_part_walk(&(struct codec){.in = &r}, &part);
        assert_false(r.failed);
        assert_int_equal(part.token.size, TRANSACTION_TOKEN_SIZE);
        assert_true(slice_equal(part.anchor, q.write.key));
    }
    return count;
}

TEST(a_token_is_queried_where_the_first_item_was)
{
    const uint32_t count = count_token_queries(16, 16);
    answer(count, REQUEST_CHECK, REPLY_ABORTED);
    answer(2, REQUEST_TRANSACT_ADMIT, REPLY_OK);
    answer(2, REQUEST_PUT, REPLY_OK);
    answer(1, REQUEST_TRANSACT_DECIDE, REPLY_OK);
    expect_answer(fake_take_answer(&f, CONNECTION), 200, "{}");
    assert_int_equal(f.requests[REQUEST_KEY_SHARD_MOVE], 0);
}

/* After it shrank: at owner shards that it does not have any more. */
TEST(a_token_is_queried_in_shards_that_were_given_up)
{
    const uint32_t count = count_token_queries(2, 16);
    bool given_up = false;
    for (uint32_t i = 0; i < count; i++)
        given_up |= key_shard_of(fake_held(&f, i).write.key) >= 2;
    assert_true(given_up);
    answer(count, REQUEST_CHECK, REPLY_ABORTED);
    assert_int_equal(fake_held(&f, 0).op, REQUEST_TRANSACT_ADMIT);
}

TEST(what_another_owner_knows_of_the_token_is_the_answer)
{
    static const struct {
        enum reply_code code;
        int status;
        const char *type;
    } CASES[] = {{REPLY_TOKEN_DONE, 200, "{}"},
                 {REPLY_TOKEN_RUNS, 400, "TransactionInProgressException"},
                 {REPLY_TOKEN_MISMATCH, 400, "IdempotentParameterMismatchException"},
                 {REPLY_CORRUPT, 500, "InternalServerError"}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        const uint32_t count = count_token_queries(16, 16);
        fake_answer_code(&f, count - 1, CASES[i].code);
        answer(count - 1, REQUEST_CHECK, REPLY_ABORTED);
        const struct fake_answer a = fake_take_answer(&f, CONNECTION);
        assert_int_equal(a.status, CASES[i].status);
        assert_non_null(memmem(a.body.data, a.body.size, CASES[i].type, strlen(CASES[i].type)));
        assert_int_equal(f.held_count, 0);
    }
    assert_int_equal(f.requests[REQUEST_TRANSACT_ADMIT], 0);
    assert_int_equal(f.requests[REQUEST_PUT], 0);
}

TEST(a_home_that_does_not_answer_keeps_the_transaction_from_being_done)
{
    const uint32_t count = count_token_queries(16, 16);
    for (uint32_t i = 1; i < count; i++)
        fake_answer_code(&f, 1, REPLY_ABORTED);
    fake_advance_ms(&f, config_requests(&f.config)->request_deadline_ms);
    assert_true(fake_take_answer(&f, CONNECTION).status >= 500);
    assert_int_equal(f.requests[REQUEST_TRANSACT_ADMIT], 0);
}

TEST(a_key_that_grows_while_the_token_is_queried_makes_it_begin_again)
{
    const uint32_t count = count_token_queries(8, 8);
    grow(10, 16, 1, (const uint32_t[]){8});
    for (uint32_t i = 1; i < count; i++)
        fake_answer_code(&f, 1, REPLY_ABORTED);
    fake_answer_code(&f, 0, REPLY_STALE_MAP);
    fake_answer(&f, 0); /* the table */
    assert_true(f.held_count > 0);
    bool queries = false;
    for (size_t i = 0; i < f.held_count; i++)
        queries |=
            fake_held(&f, i).op == REQUEST_CHECK && fake_held(&f, i).sharded_key_version == 10;
    assert_true(queries);
    assert_int_equal(f.requests[REQUEST_TRANSACT_ADMIT], 0);
}

TEST(a_transaction_without_a_token_queries_none)
{
    uint32_t owners[KEY_SHARDS_MAX];
    remember(16, 16, owners);
    send("TransactWriteItems", WRITE, other_key(16));
    fake_answer(&f, 0); /* the table */
    answer(2, REQUEST_TRANSACT_ADMIT, REPLY_OK);
}
