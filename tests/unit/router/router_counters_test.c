/* router_counters_test.c - counters at the router: which cell an addition goes to, which cells are
 * asked for its token before, and which are read. What is answered:
 * tests/cases/router/sharded-keys.case. */
#include "base/settings/requests.h"
#include "router/core/counters.h"
#include "tests/check.h"
#include "tests/support/expect.h"
#include "tests/support/sharded_keys.h"

enum {
    CONNECTION = 2,
    CELLS = 10
};

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

/* The key "hot" is a counter with so many cells. */
static struct sharded_key grow(uint64_t version, uint32_t cells, uint32_t count,
                               const uint32_t *before)
{
    struct sharded_key k = sharded_key_named(table, "hot", version, cells, count, before);
    k.counter = true;
    fake_shard_keys(&f, table, &(struct key_sharding){version, 1, &k});
    return k;
}

/* ---- requests, and what is sent ---- */

#define KEY     "\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"x\"}}"
#define ONE     "\"ExpressionAttributeValues\":{\":n\":{\"N\":\"1\"}}"
#define ADD     KEY ",\"UpdateExpression\":\"ADD n :n\"," ONE
#define GET     "{" KEY ",\"ConsistentRead\":true}"
#define IS(sum) "{\"Item\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"x\"},\"n\":{\"N\":\"" sum "\"}}}"

/* As an SDK sends it. `invocation` NULL: the request has no name. */
static void send_named(uint64_t connection, const char *operation, const char *body,
                       const char *invocation)
{
    char head[300];
    if (!f.clients[connection].open)
        fake_open(&f, connection);
    int size = snprintf(head, sizeof head,
                        "POST / HTTP/1.1\r\nHost: localhost:8000\r\n"
                        "Content-Type: application/x-amz-json-1.0\r\n"
                        "X-Amz-Target: DynamoDB_20120810.%s\r\nContent-Length: %zu\r\n",
                        operation, strlen(body));
    if (invocation != NULL)
        size += snprintf(head + size, sizeof head - (size_t)size, "amz-sdk-invocation-id: %s\r\n",
                         invocation);
    assert_true((size_t)size + 2 < sizeof head);
    fake_send_text(&f, connection, head);
    fake_send_text(&f, connection, "\r\n");
    fake_send_text(&f, connection, body);
}

static void add(const char *invocation)
{
    send_named(CONNECTION, "UpdateItem", "{" ADD "}", invocation);
}

static void expect_done(void)
{
    expect_answer(fake_take_answer(&f, CONNECTION), 200, "{}");
}

/* The token of the only held request, which must be an update of that cell. */
static struct slice expect_update(uint32_t cell, bool token_only)
{
    static uint8_t token[TRANSACTION_TOKEN_SIZE];
    assert_int_equal(f.held_count, 1);
    const struct request q = fake_held(&f, 0);
    assert_int_equal(q.op, REQUEST_UPDATE);
    assert_int_equal(key_shard_of(q.write.key), cell);
    assert_int_equal(q.write.token.only, token_only);
    assert_int_equal(q.write.token.id.size, sizeof token);
    memcpy(token, q.write.token.id.data, sizeof token);
    return slice_make(token, sizeof token);
}

/* The token of the client's request with this name, which is not done. */
static struct slice token_of(const char *invocation)
{
    static uint8_t token[TRANSACTION_TOKEN_SIZE];
    const bool hold = f.hold;
    f.hold = true;
    add(invocation);
    if (f.held_count == 1 && fake_held(&f, 0).op == REQUEST_TABLE_GET)
        fake_answer(&f, 0);
    const struct request q = fake_held(&f, 0);
    assert_int_equal(q.op, REQUEST_UPDATE);
    assert_int_equal(q.write.token.id.size, sizeof token);
    memcpy(token, q.write.token.id.data, sizeof token);
    fake_answer_code(&f, 0, REPLY_CORRUPT);
    assert_int_equal(fake_take_answer(&f, CONNECTION).status, 500);
    f.hold = hold;
    return slice_make(token, sizeof token);
}

/* The name of a request whose token chooses three cells by 1, 4 and CELLS. */
static const char *wanderer(struct slice *token)
{
    static char name[16];
    grow(1, CELLS, 0, NULL);
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "i%d", i);
        *token = token_of(name);
        if (counter_cell(*token, 4) > 0 && counter_cell(*token, CELLS) > 3)
            return name;
    }
    fail();
    return NULL;
}

/* ---- additions ---- */

TEST(additions_are_spread_over_all_cells)
{
    uint32_t seen[CELLS] = {0};
    char name[16];
    grow(3, CELLS, 0, NULL);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "%d", i);
        add(i % 2 == 0 ? name : NULL);
        expect_done();
    }
    assert_int_equal(f.item_count, CELLS);
    for (size_t i = 0; i < f.item_count; i++)
        seen[key_shard_of(buffer_slice(&f.items[i].key))]++;
    for (uint32_t i = 0; i < CELLS; i++)
        assert_int_equal(seen[i], 1);
    expect_call(&f, "GetItem", GET, 200, IS("200"));
}

TEST(a_request_that_is_sent_again_has_the_same_token)
{
    uint8_t first[TRANSACTION_TOKEN_SIZE];
    grow(3, CELLS, 0, NULL);
    memcpy(first, token_of("a").data, sizeof first);
    assert_memory_equal(token_of("a").data, first, sizeof first);
    assert_memory_not_equal(token_of("b").data, first, sizeof first);
    memcpy(first, token_of(NULL).data, sizeof first);
    assert_memory_not_equal(token_of(NULL).data, first, sizeof first);

    add("a");
    expect_done();
    add("a");
    expect_done();
    expect_call(&f, "GetItem", GET, 200, IS("1"));
    f.hold = true; /* the same name, but another item */
    send_named(CONNECTION, "UpdateItem",
               "{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"y\"}},"
               "\"UpdateExpression\":\"ADD n :n\"," ONE "}",
               "a");
    const struct request q = fake_held(&f, 0);
    f.hold = false;
    uint8_t other[TRANSACTION_TOKEN_SIZE];
    memcpy(other, q.write.token.id.data, sizeof other);
    fake_answer(&f, 0);
    expect_done();
    assert_memory_not_equal(token_of("a").data, other, sizeof other);
}

/* The request may be sent again once the key is one. */
TEST(what_may_become_a_counter_has_a_token_already)
{
    struct buffer tags = {0};
    f.hold = true;
    add("a");
    fake_answer(&f, 0); /* the table */
    assert_int_equal(fake_held(&f, 0).write.token.id.size, 0);
    fake_answer(&f, 0);
    expect_done();
    f.hold = false;

    tag_append(&tags, &(struct tag){slice_of("weir:key-sharding"), slice_of("counter"), true});
    struct table *other = fake_table(&f, "tagged", "k", ATTR_STRING, "s", ATTR_STRING, 1);
    other->tags = slice_make(tags.data, tags.size); /* the double frees it */
    f.hold = true;
    static const char *const UPDATES[] = {"ADD n :n", "ADD m :n, n :n", "SET n = :n"};
    for (size_t i = 0; i < COUNT_OF(UPDATES); i++) {
        char body[300];
        snprintf(body, sizeof body,
                 "{\"TableName\":\"tagged\",\"Key\":{\"k\":{\"S\":\"a\"},\"s\":{\"S\":\"b\"}},"
                 "\"UpdateExpression\":\"%s\"," ONE "}",
                 UPDATES[i]);
        send_named(CONNECTION, "UpdateItem", body, "a");
        if (fake_held(&f, 0).op == REQUEST_TABLE_GET)
            fake_answer(&f, 0);
        assert_int_equal(fake_held(&f, 0).write.token.id.size, i < 2 ? TRANSACTION_TOKEN_SIZE : 0);
        assert_int_equal(key_shard_of(fake_held(&f, 0).write.key), 0);
        fake_answer(&f, 0);
        expect_done();
    }
}

TEST(previous_cells_are_queried_for_the_token_first)
{
    struct slice token;
    const char *name = wanderer(&token);
    const uint32_t cell = counter_cell(token, CELLS), former = counter_cell(token, 4);
    grow(2, CELLS, 2, (const uint32_t[]){1, 4});
    add("first"); /* the router hears of it */
    expect_done();
    f.hold = true;
    add(name);
    token = expect_update(0, true);
    assert_int_equal(counter_cell(token, CELLS), cell);
    assert_int_equal(fake_held(&f, 0).sharded_key_version, 2);
    fake_answer(&f, 0);
    expect_update(former, true);
    fake_answer(&f, 0);
    expect_update(cell, false);
    fake_answer(&f, 0);
    expect_done();
}

TEST(what_a_previous_cell_knows_is_not_done_again)
{
    struct slice token;
    const char *name = wanderer(&token);
    for (uint32_t grown = 0; grown < 2; grown++) {
        stop(NULL);
        start(NULL);
        struct buffer tags = {0};
        if (grown > 0)
            grow(1, 4, 1, (const uint32_t[]){1});
        tag_append(&tags, &(struct tag){slice_of("weir:key-sharding"), slice_of("counter"), true});
        table->tags = slice_make(tags.data, tags.size);
        add(name);
        expect_done();
        grow(2, CELLS, 2, (const uint32_t[]){1, 4});
        const int64_t before = f.requests[REQUEST_UPDATE];
        add(name);
        expect_done();
        /* One is refused because the map is old; then those cells are asked that the token chose.
         * */
        assert_int_equal(f.requests[REQUEST_UPDATE] - before, 2 + grown);
        assert_int_equal(f.item_count, 1);
        expect_call(&f, "GetItem", GET, 200, IS("1"));
    }
}

TEST(a_request_to_a_previous_cell_is_retried_without_an_answer)
{
    static const enum reply_code CODES[] = {REPLY_UNKNOWN, REPLY_OVERLOADED, REPLY_NOT_LEADER};
    (void)state;
    struct slice token;
    const char *name = wanderer(&token);
    grow(2, CELLS, 1, (const uint32_t[]){1});
    add("first");
    expect_done();
    for (size_t i = 0; i < COUNT_OF(CODES); i++) {
        char other[20];
        snprintf(other, sizeof other, "%s", name);
        f.hold = true;
        add(other);
        expect_update(0, true);
        fake_answer_code(&f, 0, CODES[i]);
        fake_advance_ms(&f, 200);
        expect_update(0, true);
        fake_advance_ms(&f, config_requests(&f.config)->request_deadline_ms);
        const struct fake_answer a = fake_take_answer(&f, CONNECTION);
        assert_int_equal(a.status, 503); /* and not 500: nothing was done */
        while (f.held_count > 0)
            fake_answer_code(&f, 0, REPLY_ABORTED);
        f.hold = false;
    }
    expect_call(&f, "GetItem", GET, 200, IS("1"));
}

TEST(a_key_that_grows_meanwhile_gives_another_cell)
{
    struct slice token;
    const char *name = wanderer(&token);
    const uint32_t cell = counter_cell(token, CELLS), former = counter_cell(token, 4);
    stop(NULL);
    start(NULL);
    grow(1, 4, 0, NULL);
    add("first");
    expect_done();
    f.hold = true;
    add(name);
    expect_update(former, false);
    grow(2, CELLS, 1, (const uint32_t[]){4});
    fake_answer(&f, 0); /* STALE_MAP */
    fake_answer(&f, 0); /* the table */
    expect_update(former, true);
    assert_int_equal(fake_held(&f, 0).sharded_key_version, 2);
    fake_answer(&f, 0);
    expect_update(cell, false);
    fake_answer(&f, 0);
    expect_done();
}

/* ---- reads ---- */

static void begin_read(uint32_t cells)
{
    f.hold = true;
    send_named(CONNECTION, "GetItem", GET, NULL);
    if (f.held_count == 1 && fake_held(&f, 0).op == REQUEST_TABLE_GET)
        fake_answer(&f, 0);
    assert_int_equal(f.held_count, cells);
    for (uint32_t i = 0; i < cells; i++) {
        assert_int_equal(fake_held(&f, i).op, REQUEST_GET);
        assert_int_equal(key_shard_of(fake_held(&f, i).get.key), i);
        assert_true(fake_held(&f, i).get.consistent);
    }
}

static void fill(uint32_t additions)
{
    for (uint32_t i = 0; i < additions; i++)
        expect_call(&f, "UpdateItem", "{" ADD "}", 200, "{}");
}

TEST(all_cells_are_read_and_added_up)
{
    grow(3, CELLS, 0, NULL);
    expect_call(&f, "GetItem", GET, 200, "{}");
    fill(50);
    begin_read(CELLS);
    assert_int_equal(fake_held(&f, 0).sharded_key_version, 3);
    while (f.held_count > 1)
        fake_answer(&f, f.held_count / 2); /* in any order */
    assert_int_equal(fake_take_answer(&f, CONNECTION).status, 0);
    fake_answer(&f, 0);
    expect_answer(fake_take_answer(&f, CONNECTION), 200, IS("50"));
}

TEST(a_key_that_grows_meanwhile_is_read_anew)
{
    grow(1, 4, 0, NULL);
    fill(40);
    begin_read(4);
    fake_answer(&f, 0);
    fake_answer(&f, 0);
    grow(2, CELLS, 1, (const uint32_t[]){4});
    f.hold = false;
    fill(60); /* in new cells, too */
    f.hold = true;
    const int64_t before = f.requests[REQUEST_GET];
    fake_answer(&f, 0); /* STALE_MAP */
    while (f.held_count > 0)
        fake_answer(&f, 0);
    expect_answer(fake_take_answer(&f, CONNECTION), 200, IS("100"));
    assert_true(f.requests[REQUEST_GET] - before >= CELLS);
    assert_true(f.item_count > 4);
}

TEST(a_cell_that_cannot_be_read_fails_the_read)
{
    static const struct {
        enum reply_code code;
        int status;
    } CASES[] = {{REPLY_CORRUPT, 500}, {REPLY_THROTTLED, 400}, {REPLY_FULL, 503}};
    (void)state;
    grow(3, CELLS, 0, NULL);
    fill(50);
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        for (uint32_t cell = 0; cell < CELLS; cell += CELLS - 1) {
            begin_read(CELLS);
            fake_answer_code(&f, cell, CASES[i].code);
            while (f.held_count > 0)
                fake_answer(&f, 0);
            const struct fake_answer a = fake_take_answer(&f, CONNECTION);
            assert_int_equal(a.status, CASES[i].status);
        }
    }
    begin_read(CELLS); /* one without any answer */
    for (uint32_t i = 1; i < CELLS; i++)
        fake_answer(&f, 1);
    fake_advance_ms(&f, config_requests(&f.config)->request_deadline_ms);
    assert_true(fake_take_answer(&f, CONNECTION).status >= 500);
}

/* ---- cells that are given up ---- */

/* The key has fewer cells. While it shrinks, `before` is how many it had. */
static struct sharded_key shrink(uint64_t version, uint32_t cells, uint32_t before, uint32_t widest)
{
    struct sharded_key k = sharded_key_named(table, "hot", version, cells, before > 0, &before);
    k.counter = k.shrank = true;
    k.widest = widest;
    fake_shard_keys(&f, table, &(struct key_sharding){version, 1, &k});
    return k;
}

/* Whatever numbers of cells it had. */
TEST(after_a_key_shrank_all_cells_that_a_token_chose_are_queried)
{
    struct slice token;
    const char *name = wanderer(&token);
    uint8_t kept[TRANSACTION_TOKEN_SIZE];
    memcpy(kept, token.data, sizeof kept);
    for (uint32_t before = 0; before <= CELLS; before += CELLS) {
        struct sharded_key k = shrink(2 + before, 2, before, CELLS);
        uint32_t cells[KEY_SHARDS_MAX];
        token = slice_make(kept, sizeof kept);
        const uint32_t count = counter_previous_cells(&k, token, cells),
                       cell = counter_cell(token, 2);
        bool has_last = false;
        for (uint32_t i = 0; i < count; i++) {
            assert_int_not_equal(cells[i], cell);
            assert_true(i == 0 || cells[i] > cells[i - 1]);
            has_last |= cells[i] == counter_cell(token, CELLS);
        }
        assert_true(has_last);
        f.hold = false;
        add("first"); /* the router hears of it */
        expect_done();
        f.hold = true;
        add(name);
        for (uint32_t i = 0; i < count; i++) {
            expect_update(cells[i], true);
            fake_answer_code(&f, 0, REPLY_ABORTED);
        }
        expect_update(cell, false);
        fake_answer_code(&f, 0, REPLY_OK);
        expect_done();
    }
}

TEST(what_a_cell_knows_that_was_given_up_is_not_done_again)
{
    struct slice token;
    const char *name = wanderer(&token);
    add(name);
    expect_done();
    const uint32_t cell = counter_cell(token, CELLS);
    shrink(2, 1, CELLS, CELLS);
    struct buffer from = {0};
    buffer_append_slice(&from, buffer_slice(&f.items[0].key));
    assert_int_equal(key_shard_of(buffer_slice(&from)), cell);
    fake_move_item(&f, buffer_slice(&from), key_shard_bare_hash(buffer_slice(&from)), 0);
    buffer_deinit(&from);
    for (uint32_t before = CELLS;; before = 0) {
        shrink(3 - before / CELLS, 1, before, CELLS);
        add(name);
        expect_done();
        assert_int_equal(f.item_count, 1);
        if (before == 0)
            break;
    }
    expect_call(&f, "GetItem", GET, 200, IS("1"));
}

#define SHRINKS                                                                              \
    "{\"__type\":\"com.amazon.coral.service#ServiceUnavailable\",\"message\":\"Nothing was " \
    "read: the item's partition key is a sharded counter whose cells are being merged, "     \
    "which takes seconds: try again\"}"

TEST(a_key_that_shrinks_while_it_is_read_is_not_added_up)
{
    grow(1, 4, 0, NULL);
    fill(40);
    begin_read(4);
    fake_answer(&f, 0);
    fake_answer(&f, 0);
    shrink(2, 1, 4, 4);
    fake_answer(&f, 0); /* STALE_MAP */
    while (f.held_count > 0)
        fake_answer(&f, 0);
    expect_answer(fake_take_answer(&f, CONNECTION), 503, SHRINKS);
}

TEST(an_addition_waits_for_a_cell_that_another_is_added_to)
{
    grow(1, CELLS, 0, NULL);
    f.hold = true;
    add("a");
    fake_answer(&f, 0); /* the table */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fake_held(&f, 0).op, REQUEST_UPDATE);
        fake_answer_code(&f, 0, REPLY_LOCKED);
        fake_advance_ms(&f, 100);
    }
    fake_answer(&f, 0);
    expect_done();
    add("b");
    for (int i = 0; i < 1000 && f.clients[CONNECTION].received.size == 0; i++) {
        if (f.held_count > 0 && fake_held(&f, 0).op == REQUEST_UPDATE)
            fake_answer_code(&f, 0, REPLY_LOCKED);
        else if (f.held_count > 0)
            fake_answer(&f, 0);
        else
            fake_advance_ms(&f, 50);
    }
    const struct fake_answer a = fake_take_answer(&f, CONNECTION);
    assert_int_equal(a.status, 400); /* nothing was done */
    assert_non_null(memmem(a.body.data, a.body.size, "TransactionConflictException", 28));
}
