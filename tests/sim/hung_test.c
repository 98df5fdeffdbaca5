/* A leader whose machine stands still costs no more than one that has died: bounds in virtual time.
 */
#include "tests/check.h"

#include "tests/support/lab.h"

enum {
    TABLE = 1,
    PER_S = 100, /* of each flow */
    STEP_NS = NS_PER_S / PER_S,
    WRITES_AGAIN_MS = 1000,
    ANSWERED_MS = 1000, /* every request, at most */
    LOST_MS = 500,      /* so long after the stop a write may still be sent to the stopped leader */
    FLOWS = 3
};

struct fixture {
    struct lab lab;
    struct flow flows[FLOWS]; /* writes, strong reads, eventual reads */
};

static void start(struct fixture *s, uint64_t seed)
{
    static const char key[] = "\"Key\":{\"k\":{\"S\":\"w0000000001\"}}";
    static const char strong_key[] =
        "\"Key\":{\"k\":{\"S\":\"w0000000001\"}},\"ConsistentRead\":true";
    lab_init(&s->lab);
    s->lab.world.plan.seed = seed;
    lab_set(&s->lab, "gac", "off");
    lab_start(&s->lab);
    lab_pass(&s->lab, 2 * NS_PER_S);
    lab_create_table(&s->lab, "tab", 1000, 1000);
    lab_pass(&s->lab, 10 * NS_PER_S);
    s->flows[0] = (struct flow){.table = "tab",
                                .operation = "PutItem",
                                .more = "\"Item\":{\"k\":{\"S\":\"w",
                                .rest = "\"}}",
                                .per_second = PER_S};
    s->flows[1] = (struct flow){
        .table = "tab", .operation = "GetItem", .more = strong_key, .per_second = PER_S};
    s->flows[2] =
        (struct flow){.table = "tab", .operation = "GetItem", .more = key, .per_second = PER_S};
    lab_run_flows(&s->lab, s->flows, FLOWS, 2 * NS_PER_S);
    for (int i = 0; i < FLOWS; i++)
        assert_int_equal(s->flows[i].counts.failed, 0);
}

static void suspend(struct fixture *s, uint32_t node, int64_t ns)
{
    struct instant until = instant_add(s->lab.world.scheduler.now, (struct duration){ns});
    node_process_suspend(s->lab.world.nodes[node], until, false);
}

/* Until a write is answered that was sent after the call, in ms. */
static int64_t time_to_write(struct fixture *s)
{
    int64_t begun_ns = s->lab.world.scheduler.now.ns;
    struct flow only = s->flows[0];
    only.counts = (struct counts){0};
    while (only.counts.ok == 0) {
        lab_run_flows(&s->lab, &only, 1, STEP_NS);
        assert_true(s->lab.world.scheduler.now.ns - begun_ns < 20 * NS_PER_S);
    }
    int64_t ms = (s->lab.world.scheduler.now.ns - begun_ns) / NS_PER_MS;
    lab_pass(&s->lab, 11 * NS_PER_S); /* `only` is told of all of its requests */
    s->flows[0].number = only.number;
    s->flows[0].counts.ok += only.counts.ok;
    s->flows[0].counts.failed += only.counts.failed;
    return ms;
}

/* Every acknowledged write is there; one that failed may be, once. */
static void check_items(struct fixture *s)
{
    struct counts read = {0};
    const struct counts *w = &s->flows[0].counts;
    lab_pass(&s->lab, 20 * NS_PER_S);
    uint32_t leader = lab_leader_of(&s->lab, TABLE);
    assert_int_not_equal(leader, 0);
    struct node_verification found;
    assert_int_equal(node_verify(node_process_node(s->lab.world.nodes[leader]), &found), STATUS_OK);
    assert_in_range(found.items, w->ok, w->ok + w->failed);
    for (int64_t i = 0; i < s->flows[0].number; i += 37) {
        char body[128];
        snprintf(body, sizeof body,
                 "{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"w%010lld\"}},"
                 "\"ConsistentRead\":true}",
                 (long long)i);
        lab_call(&s->lab, &read, "GetItem", body);
        lab_pass(&s->lab, 10 * NS_PER_MS);
    }
    assert_int_equal(read.failed, 0);
    lab_deinit(&s->lab);
}

TEST(writes_go_on_soon_after_a_leaders_machine_stands_still)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct fixture s;
        start(&s, seed);
        uint32_t first = lab_leader_of(&s.lab, TABLE);
        suspend(&s, first, 30 * NS_PER_S);
        int64_t stopped_ms = time_to_write(&s);
        lab_pass(&s.lab, 60 * NS_PER_S);
        uint32_t second = lab_leader_of(&s.lab, TABLE);
        struct buffer error = {0};
        node_process_crash(s.lab.world.nodes[second], false);
        int64_t killed_ms = time_to_write(&s);
        assert_int_equal(node_process_start(s.lab.world.nodes[second], &error), STATUS_OK);
        printf("    seed %llu: written again %lld ms after a stop, %lld ms after a kill\n",
               (unsigned long long)seed, (long long)stopped_ms, (long long)killed_ms);
        assert_true(stopped_ms <= WRITES_AGAIN_MS);
        assert_true(killed_ms <= WRITES_AGAIN_MS);
        check_items(&s);
    }
}

TEST(no_request_waits_for_a_leader_that_stands_still)
{
    struct fixture s;
    start(&s, 7);
    suspend(&s, lab_leader_of(&s.lab, TABLE), 4 * NS_PER_S);
    struct counts before[FLOWS];
    for (int i = 0; i < FLOWS; i++)
        before[i] = s.flows[i].counts;
    lab_run_flows(&s.lab, s.flows, FLOWS, 2 * NS_PER_S);
    lab_pass(&s.lab, ANSWERED_MS * NS_PER_MS);
    for (int i = 0; i < FLOWS; i++) {
        int64_t ok = s.flows[i].counts.ok - before[i].ok;
        int64_t failed = s.flows[i].counts.failed - before[i].failed;
        printf("    %s: %lld answered, %lld failed\n", s.flows[i].operation, (long long)ok,
               (long long)failed);
        assert_int_equal(ok + failed, 2 * PER_S);
        assert_in_range(failed, 0, i == 0 ? LOST_MS * PER_S / 1000 : 0);
    }
    lab_run_flows(&s.lab, s.flows, FLOWS, 10 * NS_PER_S); /* it comes back, with old requests */
    check_items(&s);
}

/* Shorter than a lease: routers take the leader for unresponsive, and nothing fails for it. */
TEST(a_short_stop_fails_no_request)
{
    struct fixture s;
    start(&s, 9);
    for (int i = 0; i < 20; i++) {
        suspend(&s, lab_leader_of(&s.lab, TABLE), 450 * NS_PER_MS);
        lab_run_flows(&s.lab, s.flows, FLOWS, 3 * NS_PER_S);
    }
    lab_pass(&s.lab, ANSWERED_MS * NS_PER_MS);
    for (int i = 0; i < FLOWS; i++) {
        assert_int_equal(s.flows[i].counts.failed, 0);
        assert_int_equal(s.flows[i].counts.ok, (2 + 20 * 3) * PER_S);
    }
    check_items(&s);
}
