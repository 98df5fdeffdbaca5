/* Nodes that do not answer: what a router asks of whom meanwhile, and what it tells clients. Nodes
 * 1 to 3 have a replica of every partition. */
#include "engine/message/frames.h"
#include "tests/check.h"

#include "base/settings/requests.h"
#include "tests/support/expect.h"

static struct fake_cluster f;

static const char GET[] = "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}";
static const char STRONG_GET[] =
    "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}},\"ConsistentRead\":true}";
static const char PUT[] = "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"}}}";
static const char ITEM[] = "{\"Item\":{\"id\":{\"S\":\"a\"}}}";

enum {
    HUNG_1 = 1U << 1,
    POLL_MS = 100,                 /* heartbeat_ms */
    UNRESPONSIVE_MS = 3 * POLL_MS, /* from a request, where nothing was received before */
    GIVEN_UP_MS = 600 + POLL_MS,   /* support_ms after the first ping */
    ELECTED_MS = GIVEN_UP_MS + 50  /* some time after it */
};

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    struct table *t = fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 1);
    struct partition_info *p = &t->partitions[0];
    p->member_count = 3;
    for (uint32_t node = 1; node <= 3; node++)
        p->members[node - 1] = raft_member_id(node, 1, 0);
    f.leader = 1;
    expect_call(&f, "PutItem", PUT, 200, "{}"); /* the router knows the table and its leader */
    fake_advance_ms(&f, 10 * POLL_MS);
    memset(f.requests, 0, sizeof f.requests);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

static bool is_answered(uint64_t connection)
{
    return f.clients[connection].received.size > 0;
}

static bool body_contains(struct fake_answer a, const char *text)
{
    return memmem(a.body.data, a.body.size, text, strlen(text)) != NULL;
}

/* A write to node 1, which has stopped: so long ago that the router knows. */
static void make_unresponsive(void)
{
    f.hung = HUNG_1;
    fake_send_call(&f, 1, "PutItem", PUT);
    fake_advance_ms(&f, UNRESPONSIVE_MS);
    assert_false(is_answered(1));
}

TEST(a_router_that_gets_answers_sends_no_ping)
{
    for (int i = 0; i < 50; i++) {
        expect_call(&f, "PutItem", PUT, 200, "{}");
        fake_advance_ms(&f, 30);
    }
    fake_advance_ms(&f, 60000);
    assert_int_equal(f.requests[REQUEST_PING], 0);
}

TEST(a_node_that_works_on_a_request_is_not_unresponsive)
{
    f.hold = true;
    fake_send_call(&f, 1, "PutItem", PUT);
    fake_send_call(&f, 2, "GetItem", STRONG_GET);
    fake_advance_ms(&f, 900); /* less than the router's patience with a single read */
    assert_in_range(f.requests[REQUEST_PING], 2, 9);
    assert_int_equal(f.held_count, 2);
    fake_answer_all(&f);
    expect_answer(fake_take_answer(&f, 1), 200, "{}");
    expect_answer(fake_take_answer(&f, 2), 200, ITEM);
    assert_int_equal(f.requests[REQUEST_GET], 1);
}

TEST(a_strong_read_at_a_stopped_leader_goes_to_the_next)
{
    f.hung = HUNG_1;
    fake_send_call(&f, 1, "GetItem", STRONG_GET);
    fake_advance_ms(&f, UNRESPONSIVE_MS - 1);
    assert_int_equal(f.requests[REQUEST_GET], 1);
    f.leader = 2;
    fake_advance_ms(&f, 50);
    expect_answer(fake_take_answer(&f, 1), 200, ITEM);
    f.hung = 0;
    fake_answer_all(&f); /* the first one's answer is nobody's now */
    assert_false(is_answered(1));
}

/* A node that names another's request in its answer is not believed. */
TEST(only_the_node_that_got_the_request_can_answer)
{
    f.hold = true;
    fake_send_call(&f, 1, "PutItem", PUT);
    assert_int_equal(f.held_count, 1);
    const struct reply reply = {.id = fake_held(&f, 0).id, .code = REPLY_OK};
    assert_int_equal(f.held[0].node, 1);
    router_reply(f.router, f.now, 2, &reply);
    fake_pump(&f);
    assert_false(is_answered(1));
    fake_answer_all(&f);
    expect_answer(fake_take_answer(&f, 1), 200, "{}");
}

TEST(a_strong_read_waits_for_a_new_leader)
{
    f.hung = HUNG_1;
    f.no_leader = true;
    fake_send_call(&f, 1, "GetItem", STRONG_GET);
    fake_advance_ms(&f, ELECTED_MS);
    assert_false(is_answered(1));
    f.no_leader = false;
    f.leader = 3;
    fake_advance_ms(&f, 100);
    expect_answer(fake_take_answer(&f, 1), 200, ITEM);
}

TEST(an_eventual_read_at_a_stopped_node_goes_to_another)
{
    f.hung = HUNG_1;
    for (uint64_t i = 1; i <= 20; i++)
        fake_send_call(&f, i, "GetItem", GET);
    assert_true(f.held_count > 0); /* some were asked of node 1 */
    fake_advance_ms(&f, UNRESPONSIVE_MS);
    for (uint64_t i = 1; i <= 20; i++)
        expect_answer(fake_take_answer(&f, i), 200, ITEM);
    int64_t before = f.requests[REQUEST_GET];
    for (uint64_t i = 1; i <= 20; i++)
        expect_call(&f, "GetItem", GET, 200, ITEM);
    assert_int_equal(f.requests[REQUEST_GET], before + 20);
}

/* Where every answer takes longer than the timeout, a read that moved on each time would never end.
 * What moves it on later is the router's patience with a single read. */
TEST(a_read_moves_on_after_a_timeout_once)
{
    f.hung = 1U << 1 | 1U << 2;
    f.leader = 3;
    fake_send_call(&f, 1, "GetItem", STRONG_GET);
    fake_advance_ms(&f, 900);
    assert_int_equal(f.requests[REQUEST_GET], 2);
    assert_false(is_answered(1));
    fake_advance_ms(&f, 600);
    assert_int_equal(f.requests[REQUEST_GET], 3);
    expect_answer(fake_take_answer(&f, 1), 200, ITEM);
}

TEST(a_write_takes_a_late_answer_while_others_may_not_lead)
{
    make_unresponsive();
    fake_advance_ms(&f, GIVEN_UP_MS - UNRESPONSIVE_MS - 1);
    assert_false(is_answered(1));
    fake_answer(&f, 0);
    expect_answer(fake_take_answer(&f, 1), 200, "{}");
    assert_int_equal(f.requests[REQUEST_PUT], 1);
}

TEST(a_write_at_an_unresponsive_node_is_unknown_and_never_repeated)
{
    make_unresponsive();
    fake_advance_ms(&f, GIVEN_UP_MS - UNRESPONSIVE_MS);
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 500);
    assert_true(body_contains(a, "It is not known whether the write was done"));
    assert_true(body_contains(a, "sent to node 1"));
    assert_true(body_contains(a, "does not answer"));
    f.leader = 2;
    f.hung = 0;
    fake_advance_ms(&f, 1000);
    fake_answer_all(&f); /* it comes back, with the write in its socket */
    assert_false(is_answered(1));
    assert_int_equal(f.requests[REQUEST_PUT], 1);
}

TEST(new_writes_wait_for_a_new_leader_and_do_not_fail)
{
    f.no_leader = true;
    make_unresponsive();
    size_t held = f.held_count;
    fake_send_call(&f, 2, "PutItem", PUT);
    fake_advance_ms(&f, ELECTED_MS - UNRESPONSIVE_MS);
    assert_false(is_answered(2));
    f.no_leader = false;
    f.leader = 2;
    fake_advance_ms(&f, 100);
    expect_answer(fake_take_answer(&f, 2), 200, "{}");
    for (size_t i = held; i < f.held_count; i++) { /* node 1 got pings alone */
        struct request q;
        struct slice frame = buffer_slice(&f.held[i].frame);
        assert_int_equal(request_decode(slice_make(frame.data + 4, frame.size - 4), &q), STATUS_OK);
        assert_int_equal(q.op, REQUEST_PING);
    }
}

TEST(a_false_alarm_costs_a_pause_and_no_error)
{
    make_unresponsive();
    fake_send_call(&f, 2, "PutItem", PUT); /* node 2 says that node 1 leads */
    fake_advance_ms(&f, 10);
    assert_false(is_answered(2));
    f.hung = 0;
    fake_answer_all(&f);
    expect_answer(fake_take_answer(&f, 1), 200, "{}");
    fake_advance_ms(&f, 100);
    expect_answer(fake_take_answer(&f, 2), 200, "{}");
    expect_call(&f, "PutItem", PUT, 200, "{}"); /* at once */
}

/* It may believe for a moment that it leads still: a write there would have an unknown outcome. */
TEST(a_node_that_comes_back_gets_no_requests_for_leaders)
{
    f.leader = 2;
    make_unresponsive();
    fake_send_call(&f, 2, "PutItem", PUT);
    expect_answer(fake_take_answer(&f, 2), 200, "{}");
    f.hung = 0;
    fake_answer_all(&f);
    fake_advance_ms(&f, 1000);
    int64_t before = f.requests[REQUEST_PUT];
    fake_send_call(&f, 2, "PutItem", PUT);
    expect_answer(fake_take_answer(&f, 2), 200, "{}");
    assert_int_equal(f.requests[REQUEST_PUT], before + 1);
}

TEST(what_no_other_node_can_serve_waits)
{
    static const char ALONE[] = "{\"TableName\":\"alone\",\"Item\":{\"id\":{\"S\":\"a\"}}}";
    fake_table(&f, "alone", "id", ATTR_STRING, NULL, 0, 1);
    f.leader = 0;
    expect_call(&f, "PutItem", ALONE, 200, "{}");
    f.hung = UINT32_MAX;
    fake_send_call(&f, 1, "PutItem", ALONE);
    fake_advance_ms(&f, 4000);
    assert_false(is_answered(1));
    fake_answer_all(&f);
    expect_answer(fake_take_answer(&f, 1), 200, "{}");
}

TEST(requests_to_the_catalog_go_to_another_node)
{
    f.hung = HUNG_1;
    f.leader = 2;
    fake_send_call(&f, 1, "ListTables", "{}");
    fake_advance_ms(&f, UNRESPONSIVE_MS - 1);
    assert_false(is_answered(1));
    fake_advance_ms(&f, 50);
    expect_answer(fake_take_answer(&f, 1), 200, "{\"TableNames\":[\"users\"]}");
    fake_send_call(&f, 2, "ListTables", "{}");
    expect_answer(fake_take_answer(&f, 2), 200, "{\"TableNames\":[\"users\"]}");
}

TEST(a_page_of_all_nodes_names_the_unresponsive_one)
{
    f.hung = 1U << 2;
    fake_open(&f, 2);
    fake_send_text(&f, 2, "GET /weir/partitions HTTP/1.1\r\nHost: h\r\n\r\n");
    fake_advance_ms(&f, GIVEN_UP_MS);
    struct fake_answer a = fake_take_answer(&f, 2);
    assert_int_equal(a.status, 200);
    assert_true(body_contains(a, "\"unresponsive_nodes\":[2]"));
    assert_true(body_contains(a, "\"heartbeat_timeouts\":0")); /* as of the question */
}

TEST(unresponsive_nodes_are_named_where_no_node_could_serve)
{
    f.no_leader = true;
    make_unresponsive();
    fake_send_call(&f, 2, "PutItem", PUT);
    fake_advance_ms(&f, config_requests(&f.config)->request_deadline_ms);
    struct fake_answer a = fake_take_answer(&f, 2);
    assert_int_equal(a.status, 503);
    assert_true(
        body_contains(a, "(nodes 1, 2, 3) could serve the request: node 1 does not answer"));
}

TEST(a_node_that_is_unresponsive_for_long_is_pinged_rarely_and_found_again)
{
    f.leader = 2;
    make_unresponsive();
    fake_advance_ms(&f, 80000);
    assert_in_range(f.requests[REQUEST_PING], 90, 110); /* one in 0.8 s */
    f.leader = 1;
    f.hung = 0;
    fake_advance_ms(&f, 800); /* what it was sent before may be lost */
    f.requests[REQUEST_PING] = 0;
    fake_send_call(&f, 2, "PutItem", PUT);
    expect_answer(fake_take_answer(&f, 2), 200, "{}");
    fake_advance_ms(&f, 10000);
    assert_int_equal(f.requests[REQUEST_PING], 0);
}

TEST(a_node_whose_link_is_lost_is_not_unresponsive)
{
    make_unresponsive();
    router_node_lost(f.router, f.now, 1);
    fake_pump(&f);
    assert_int_equal(fake_take_answer(&f, 1).status, 500);
    f.hung = 0;
    f.requests[REQUEST_PING] = 0;
    fake_send_call(&f, 2, "PutItem", PUT); /* by the new link, at once */
    expect_answer(fake_take_answer(&f, 2), 200, "{}");
    fake_advance_ms(&f, 10000);
    assert_int_equal(f.requests[REQUEST_PING], 0);
}

/* The answers that came meanwhile are in its sockets. */
TEST(a_router_that_stood_still_takes_no_node_for_unresponsive)
{
    f.hold = true;
    fake_send_call(&f, 1, "GetItem", STRONG_GET);
    f.now = instant_add(f.now, duration_ms(900));
    router_tick(f.router, f.now);
    fake_answer_all(&f);
    expect_answer(fake_take_answer(&f, 1), 200, ITEM);
    assert_int_equal(f.requests[REQUEST_GET], 1);
}
