/* The core, step by step, on a world by hand. */
#include "tests/check.h"
#include "tests/support/raft_world.h"

static struct world *make(uint32_t nodes, uint32_t voters)
{
    struct world_options options = world_options_default(nodes, voters);
    return world_create(&options);
}

static void done(struct world *w)
{
    assert_string_equal(w->violation, "");
    world_destroy(w);
}

static void a_single_voter_leads_at_once(void **state)
{
    (void)state;
    struct world *w = make(1, 1);
    world_sync(w, 1);
    world_sync(w, 1);
    assert_int_equal(raft_leading(w->nodes[1].raft), 1);
    uint64_t id = world_propose(w, 1, 20);
    assert_int_not_equal(id, 0);
    world_sync(w, 1);
    assert_int_equal(w->acknowledged_count, 1);
    assert_int_equal(world_ask(w, 1), RAFT_OK);
    done(w);
}

static void three_voters_elect_replicate_and_commit(void **state)
{
    (void)state;
    struct world *w = make(3, 3);
    assert_true(world_elect(w, 2));
    for (int i = 0; i < 10; i++) {
        assert_int_not_equal(world_propose(w, 2, 20), 0);
        world_settle(w);
    }
    assert_int_equal(w->acknowledged_count, 10);
    world_pass(w, 200, true);
    for (uint32_t i = 1; i <= 3; i++)
        assert_int_equal(raft_applied(w->nodes[i].raft), 11);
    assert_int_equal(world_ask(w, 2), RAFT_OK);
    done(w);
}

static void a_settled_group_is_silent(void **state)
{
    (void)state;
    struct world *w = make(3, 3);
    assert_true(world_elect(w, 1));
    world_propose(w, 1, 20);
    world_pass(w, 300, true);
    uint64_t sent = w->raft_messages;
    world_pass(w, 1000, true);
    assert_int_equal(w->raft_messages, sent); /* R6 */
    for (uint32_t i = 1; i <= 3; i++)
        assert_true(raft_deadline(w->nodes[i].raft).ns == INSTANT_NEVER.ns);
    done(w);
}

static void a_lost_leader_is_replaced(void **state)
{
    (void)state;
    struct world *w = make(3, 3);
    assert_true(world_elect(w, 1));
    world_propose(w, 1, 20);
    world_settle(w);
    world_crash(w, 1, 0);
    world_pass(w, 1000, true);
    uint32_t leader = world_leader(w);
    assert_true(leader == 2 || leader == 3);
    assert_int_not_equal(world_propose(w, leader, 20), 0);
    world_settle(w);
    assert_int_equal(w->acknowledged_count, 2);
    world_start(w, 1);
    world_pass(w, 500, true);
    assert_int_equal(raft_applied(w->nodes[1].raft), raft_applied(w->nodes[leader].raft));
    done(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_voter_leads_at_once),
        cmocka_unit_test(three_voters_elect_replicate_and_commit),
        cmocka_unit_test(a_settled_group_is_silent),
        cmocka_unit_test(a_lost_leader_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
