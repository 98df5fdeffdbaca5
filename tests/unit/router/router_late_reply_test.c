/* router_late_reply_test.c - a request whose client has gone is in flight until its node replies
 * (LATE-1), and the node's hint counts although nobody waits for the reply. */
#include "tests/check.h"

#include "base/policies.h"
#include "base/settings/requests.h"
#include "include/weir/policy.h"
#include "router/core/router_internal.h"
#include "tests/support/expect.h"

static struct fake_cluster f;
static struct policies policies;

static const char GET[] = "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}";

/* ---- a policy that counts ---- */

static struct {
    int sent, answered;
    uint32_t hint; /* the last one */
} counts;

static bool count_arrive(UNUSED struct weir_arrival *a)
{
    return true;
}

static bool count_send(UNUSED struct weir_arrival *a)
{
    counts.sent++;
    return true;
}

static void count_answered(UNUSED struct weir_arrival *a, uint32_t hint)
{
    counts.answered++;
    counts.hint = hint;
}

static int start(UNUSED void **state)
{
    static const struct weir_overload_policy counter = {.size = sizeof counter,
                                                        .state_bytes = 8,
                                                        .peer_bytes = 8,
                                                        .name = "counter",
                                                        .arrive = count_arrive,
                                                        .send = count_send,
                                                        .answered = count_answered};
    static const struct weir_overload_policy *const all[] = {&counter};
    const struct weir_policy_plugin plugin = {
        .abi = WEIR_POLICY_ABI, .size = sizeof plugin, .overload_count = 1, .overload = all};
    struct buffer error = {0};
    policies = (struct policies){0};
    assert_int_equal(policies_add(&policies, &plugin, "FILE.so", NULL, &error), STATUS_OK);
    fake_init(&f);
    f.config.policies = &policies;
    snprintf(f.config.overload_policy, sizeof f.config.overload_policy, "counter");
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 1);
    fake_start(&f);
    assert_int_equal(fake_call(&f, "GetItem", GET).status, 200);
    memset(&counts, 0, sizeof counts);
    f.hold = true;
    return 0;
}

static int stop(UNUSED void **state)
{
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

/* A client sends a request and goes. */
static void give_up(void)
{
    fake_send_call(&f, 2, "GetItem", GET);
    assert_int_equal(counts.sent, 1);
    router_close(f.router, f.now, 2);
    fake_pump(&f);
}

TEST(a_request_whose_client_has_gone_ends_with_its_nodes_reply)
{
    const struct reply reply = {.code = REPLY_OK, .kind = ANSWER_ITEM, .overload_hint = 77};
    give_up();
    assert_int_equal(counts.answered, 0);
    fake_answer_with(&f, 0, &reply);
    assert_int_equal(counts.answered, 1);
    assert_int_equal(counts.hint, 77);
}

TEST(a_late_reply_counts_once)
{
    const struct reply reply = {.code = REPLY_OK, .kind = ANSWER_ITEM, .overload_hint = 77};
    give_up();
    struct request held = fake_held(&f, 0);
    struct reply again = reply;
    again.id = held.id;
    fake_answer_with(&f, 0, &reply);
    router_reply(f.router, f.now, 1, &again);
    router_reply(f.router, f.now, 2, &again);
    router_reply(f.router, f.now, 3, &again);
    fake_pump(&f);
    assert_int_equal(counts.answered, 1);
}

TEST(a_request_whose_client_has_gone_ends_with_its_node)
{
    give_up();
    const uint32_t node = f.held[0].node;
    router_node_lost(f.router, f.now, node % FAKE_NODES + 1);
    assert_int_equal(counts.answered, 0);
    router_node_lost(f.router, f.now, node);
    fake_pump(&f);
    assert_int_equal(counts.answered, 1);
    assert_int_equal(counts.hint, 0);
}

TEST(a_request_whose_reply_never_comes_ends_after_the_deadline)
{
    give_up();
    fake_advance_ms(&f, config_requests(&f.config)->request_deadline_ms - 1);
    assert_int_equal(counts.answered, 0);
    fake_advance_ms(&f, 1);
    assert_int_equal(counts.answered, 1);
}

TEST(a_request_that_was_answered_in_time_ends_once)
{
    const struct reply reply = {.code = REPLY_OK, .kind = ANSWER_ITEM, .overload_hint = 77};
    fake_send_call(&f, 2, "GetItem", GET);
    fake_answer_with(&f, 0, &reply);
    fake_pump(&f);
    assert_int_equal(counts.answered, 1);
    assert_int_equal(counts.hint, 77);
}
