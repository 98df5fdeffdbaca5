/* What a router has acknowledged, its later eventual reads show (read_your_writes). */
#include "tests/check.h"

#include "base/settings/requests.h"
#include "engine/message/index_messages.h"
#include "router/core/router_internal.h"
#include "tests/support/router_indexes.h"

static struct fake_cluster f;

static const char GET[] = "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}";
static const char PUT[] = "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"}}}";
static const char FOUND[] = "{\"Item\":{\"id\":{\"S\":\"a\"}}}";

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    config_edit_requests(&f.config)->read_your_writes = 1;
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 1);
    struct partition_info *p = &f.tables[0].partitions[0];
    p->member_count = FAKE_NODES;
    for (uint32_t node = 1; node <= FAKE_NODES; node++)
        p->members[node - 1] = raft_member_id(node, 1, 0);
    f.leader = 2;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

/* The only request on its way, which a read has sent. */
static struct request sent(void)
{
    assert_int_equal(f.held_count, 1);
    return fake_held(&f, 0);
}

static void hold_get(void)
{
    f.hold = true;
    fake_send_call(&f, 1, "GetItem", GET);
}

TEST(a_read_names_the_entry_that_was_acknowledged)
{
    expect_call(&f, "GetItem", GET, 200, "{}");
    hold_get();
    assert_int_equal(sent().get.after, 0); /* nothing was written */
    fake_answer(&f, 0);
    expect_answer(fake_take_answer(&f, 1), 200, "{}");
    f.hold = false;
    expect_call(&f, "PutItem", PUT, 200, "{}");
    expect_call(&f, "PutItem", PUT, 200, "{}");
    hold_get();
    assert_int_equal(sent().get.after, 2);
    fake_answer(&f, 0);
    fake_answer_all(&f);
    expect_answer(fake_take_answer(&f, 1), 200, FOUND);
}

TEST(a_write_that_was_not_done_is_not_waited_for)
{
    f.fail_count = 1;
    f.fail_code = REPLY_FULL;
    assert_int_equal(fake_call(&f, "PutItem", PUT).status, 503);
    hold_get();
    assert_int_equal(sent().get.after, 0);
    fake_answer_all(&f);
}

TEST(a_replica_that_lacks_the_entry_sends_the_read_to_the_leader)
{
    expect_call(&f, "PutItem", PUT, 200, "{}");
    for (int i = 0; i < 8; i++)
        expect_call(&f, "GetItem", GET, 200, FOUND); /* the double refuses at followers */
    assert_true(f.requests[REQUEST_GET] > 8);
    const int64_t before = f.requests[REQUEST_GET];
    f.follower_applied = f.applied;
    for (int i = 0; i < 8; i++)
        expect_call(&f, "GetItem", GET, 200, FOUND);
    assert_int_equal(f.requests[REQUEST_GET], before + 8);
}

/* OWN-1 */
TEST(a_read_that_has_waited_long_enough_is_answered_as_it_is)
{
    expect_call(&f, "PutItem", PUT, 200, "{}");
    f.no_leader = true;
    fake_send_call(&f, 1, "GetItem", GET);
    fake_advance_ms(&f, 49);
    assert_int_equal(f.router->counters.own_writes_late, 0);
    fake_advance_ms(&f, 2);
    expect_answer(fake_take_answer(&f, 1), 200, FOUND);
    assert_int_equal(f.router->counters.own_writes_late, 1);
}

TEST(a_node_that_does_not_answer_costs_a_read_no_more_than_the_wait)
{
    expect_call(&f, "PutItem", PUT, 200, "{}");
    hold_get();
    fake_advance_ms(&f, 51);
    assert_int_equal(f.held_count, 2);
    const struct request second = fake_held(&f, 1);
    assert_int_equal(second.get.after, 0);
    fake_answer(&f, 1);
    expect_answer(fake_take_answer(&f, 1), 200, FOUND);
    f.held_count = 1;
    fake_answer_all(&f);
}

/* A reply without an entry: the write is done, or will be, and nobody knows where. */
TEST(a_write_at_an_unknown_entry_is_read_from_the_leader_for_a_while)
{
    expect_call(&f, "GetItem", GET, 200, "{}");
    f.hold = true;
    fake_send_call(&f, 1, "PutItem", PUT);
    const struct reply done = {.code = REPLY_OK, .kind = ANSWER_ITEM};
    fake_answer_with(&f, 0, &done);
    expect_answer(fake_take_answer(&f, 1), 200, "{}");
    hold_get();
    assert_true(sent().get.after == AFTER_ALL);
    fake_answer_all(&f);
    f.hold = false;
    fake_take_answer(&f, 1);
    fake_advance_ms(&f, 10001);
    hold_get();
    assert_int_equal(sent().get.after, 0);
    fake_answer_all(&f);
}

/* OWN-2 */
TEST(the_partition_that_was_written_longest_ago_is_evicted_first)
{
    struct route route = {.uses = 1};
    struct subrequest s = {.request = {.op = REQUEST_PUT}, .route = &route};
    const struct reply done = {.code = REPLY_OK, .applied = 5};
    for (uint32_t i = 1; i <= 4097; i++) {
        s.request.partition = i;
        own_writes_note(f.router, &s, &done);
    }
    assert_int_equal(own_writes_after(f.router, 1), 0);
    assert_int_equal(own_writes_after(f.router, 2), 5);
    assert_int_equal(own_writes_after(f.router, 4097), 5);
}

static const char QUERY[] = "{\"TableName\":\"games\",\"IndexName\":\"by-city\","
                            "\"KeyConditionExpression\":\"city=:c\","
                            "\"ExpressionAttributeValues\":{\":c\":{\"S\":\"rome\"}}}";

static void games(void)
{
    f.leader = 0;
    create_table(
        &f, "games", "," DEFINE("city", "S"),
        INDEX("by-city", KEY("city", "HASH"), ",\"Projection\":{\"ProjectionType\":\"ALL\"}"),
        ON_DEMAND);
}

static void put_game(void)
{
    expect_call(&f, "PutItem",
                "{\"TableName\":\"games\",\"Item\":{\"p\":{\"S\":\"g\"},"
                "\"city\":{\"S\":\"rome\"}}}",
                200, "{}");
}

TEST(a_read_of_an_index_first_queries_whether_it_has_the_writes)
{
    games();
    assert_int_equal(fake_call(&f, "Query", QUERY).status, 200);
    assert_int_equal(f.requests[REQUEST_INDEX_SHOWS], 0);
    put_game();
    f.hold = true;
    fake_send_call(&f, 1, "Query", QUERY);
    assert_int_equal(sent().op, REQUEST_INDEX_SHOWS);
    fake_answer(&f, 0);
    assert_int_equal(sent().op, REQUEST_RANGE);
    assert_true(sent().range.after == AFTER_ALL);
    fake_answer_all(&f);
    assert_int_equal(fake_take_answer(&f, 1).status, 200);
    f.hold = false;
    assert_int_equal(fake_call(&f, "Query", QUERY).status, 200); /* the answer is remembered */
    assert_int_equal(f.requests[REQUEST_INDEX_SHOWS], 1);
}

TEST(a_query_of_a_lagging_index_is_retried_until_the_wait_is_over)
{
    games();
    put_game();
    f.index_behind = true;
    fake_send_call(&f, 1, "Query", QUERY);
    fake_advance_ms(&f, 20);
    assert_true(f.requests[REQUEST_INDEX_SHOWS] > 5);
    assert_int_equal(f.requests[REQUEST_RANGE], 0);
    fake_advance_ms(&f, 31);
    assert_int_equal(fake_take_answer(&f, 1).status, 200);
    assert_int_equal(f.router->counters.own_writes_late, 1);
    fake_send_call(&f, 1, "Query", QUERY);
    f.index_behind = false;
    fake_advance_ms(&f, 3);
    assert_int_equal(fake_take_answer(&f, 1).status, 200);
    assert_int_equal(f.router->counters.own_writes_late, 1);
}

/* Answers what is held, but `kept` requests before it, until a client has its answer. */
static void answer_client(uint64_t client, size_t kept)
{
    while (f.held_count > kept)
        fake_answer(&f, kept);
    assert_int_equal(fake_take_answer(&f, client).status, 200);
}

/* A reader may ask between prepare and decision: then the index has no changes yet. */
TEST(an_index_is_queried_again_once_a_transaction_is_decided)
{
    games();
    for (uint32_t i = 0; i < f.table_count; i++) {
        if (slice_is(f.tables[i].name, "games"))
            fake_repartition(&f, &f.tables[i], 8);
    }
    f.hold = true;
    fake_send_call(&f, 2, "TransactWriteItems",
                   "{\"TransactItems\":["
                   "{\"Put\":{\"TableName\":\"games\",\"Item\":{\"p\":{\"S\":\"a\"}}}},"
                   "{\"Put\":{\"TableName\":\"games\",\"Item\":{\"p\":{\"S\":\"c\"}}}}]}");
    while (fake_held(&f, 0).op != REQUEST_TRANSACT_DECIDE) {
        const bool table = fake_held(&f, 0).op == REQUEST_TABLE_GET;
        if (table)
            fake_answer(&f, 0);
        else
            fake_answer_code(&f, 0, REPLY_OK);
    }
    fake_send_call(&f, 1, "Query", QUERY);
    answer_client(1, 1);
    assert_int_equal(f.requests[REQUEST_INDEX_SHOWS], 2);
    fake_answer_code(&f, 0, REPLY_OK);
    assert_int_equal(fake_take_answer(&f, 2).status, 200);
    fake_send_call(&f, 1, "Query", QUERY);
    answer_client(1, 0);
    assert_int_equal(f.requests[REQUEST_INDEX_SHOWS], 4);
}

TEST(without_the_setting_reads_name_nothing)
{
    config_edit_requests(&f.config)->read_your_writes = 0;
    expect_call(&f, "PutItem", PUT, 200, "{}");
    hold_get();
    assert_int_equal(sent().get.after, 0);
    fake_answer_all(&f);
}
