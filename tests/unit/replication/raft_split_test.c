/* A group that comes out of another one: its lease grant, and what a replay knows. */
#include "tests/check.h"

#include "replication/raft.h"

enum {
    PARENT = 4,
    CHILD = 9,
    TERM = 3,
};

/* This replica is on node 1; node 2 led the parent, node 3 would like to lead the child. */
struct fixture {
    struct liveness liveness;
    struct raft_outbox outbox;
    struct raft_shared shared;
    struct raft *parent;
    struct raft *child;
    struct instant now;
    uint64_t lsn;
    uint32_t learner;
};

static uint64_t member(uint32_t node)
{
    return raft_member_id(node, 70 + node, 0);
}

static struct raft *replica(struct fixture *w, uint32_t group, uint64_t base)
{
    struct raft_options options = {
        .group = group,
        .self = member(1),
        .seed = group,
        .shared = &w->shared,
    };
    w->shared = (struct raft_shared){
        .election = duration_ms(300),
        .notify = duration_ms(5),
        .retry = duration_ms(100),
        .inflight_max_bytes = 1 << 20,
        .uncommitted_max_bytes = 1 << 20,
        .message_max_bytes = 1 << 20,
        .liveness = &w->liveness,
        .outbox = &w->outbox,
    };
    struct raft_base at = {.index = base, .term = base, .members.count = 3};
    for (uint32_t i = 0; i < 3; i++)
        at.members.all[i] = (struct raft_member){member(i + 1), true};
    if (group == CHILD && w->learner != 0)
        at.members.all[w->learner - 1].voter = false;
    return raft_create(&options, &at);
}

/* All it wants written is, at once. */
static void persist(struct fixture *w, struct raft *r)
{
    struct raft_writes writes;
    while (raft_take_writes(r, &writes)) {
        if (writes.hard_state)
            raft_hard_state_logged(r, w->lsn += 64);
        for (uint64_t i = writes.first; i <= writes.last; i++)
            raft_entry_logged(r, i, w->lsn += 64);
        raft_persisted(r, w->now, w->lsn);
    }
}

static void received_from(struct fixture *w, uint32_t node, uint64_t round)
{
    struct liveness_beat beat = {.incarnation = 50 + node, .round = round};
    liveness_received(&w->liveness, w->now, node, &beat);
}

/* An append of the parent's leader: what follows from it is a lease grant. */
static void led_by(struct fixture *w, uint32_t node, uint64_t term)
{
    const struct raft_message m = {
        .kind = RAFT_APPEND, .group = PARENT, .from = member(node), .to = member(1), .term = term};
    raft_receive(w->parent, w->now, &m);
    persist(w, w->parent);
}

/* `learner`: node of the child's member that is no voter there; 0: all are. */
static void fixture_init_with(struct fixture *w, uint32_t learner)
{
    const struct liveness_options options = {.node = 1,
                                             .node_count = 3,
                                             .incarnation = 5,
                                             .interval = duration_ms(100),
                                             .support = duration_ms(600),
                                             .drift_ppm = 1000};
    *w = (struct fixture){.now = {NS_PER_S}, .learner = learner};
    liveness_init(&w->liveness, &options, w->now);
    received_from(w, 2, 1);
    received_from(w, 3, 1);
    w->parent = replica(w, PARENT, 0);
    raft_start(w->parent, w->now, w->now, true);
    led_by(w, 2, TERM);
    w->child = replica(w, CHILD, 1);
    raft_start_child(w->child, w->now, w->parent);
    persist(w, w->child);
    w->outbox.count = 0;
}

static void fixture_init(struct fixture *w)
{
    fixture_init_with(w, 0);
}

static void fixture_deinit(struct fixture *w)
{
    raft_destroy(w->parent);
    raft_destroy(w->child);
    raft_outbox_deinit(&w->outbox);
    liveness_deinit(&w->liveness);
}

/* Whether the child grants a pre-vote to that node's replica. */
static bool grants(struct fixture *w, uint32_t node, bool none)
{
    const struct raft_message m = {.kind = RAFT_PRE_VOTE,
                                   .group = CHILD,
                                   .from = member(node),
                                   .to = member(1),
                                   .term = raft_term(w->child) + 1,
                                   .index = 1,
                                   .log_term = 1,
                                   .rejected = none};
    bool granted = false;
    w->outbox.count = 0;
    raft_receive(w->child, w->now, &m);
    persist(w, w->child);
    for (size_t i = 0; i < w->outbox.count; i++) {
        const struct raft_message *reply = &w->outbox.messages[i];
        assert_int_not_equal(reply->kind, RAFT_APPEND_REPLY); /* an absent replica is not asked */
        granted |= reply->kind == RAFT_PRE_VOTE_REPLY && !reply->rejected;
    }
    return granted;
}

TEST(nobody_but_the_parents_leader_is_elected_while_that_may_hold_a_lease)
{
    struct fixture w;
    fixture_init(&w);
    assert_false(grants(&w, 3, false));
    assert_int_equal(raft_deadline(w.child).ns, INSTANT_NEVER.ns); /* nor does it run itself */
    assert_false(grants(&w, 2, true)); /* its node says so for want of the replica */
    assert_false(grants(&w, 3, false));
    assert_true(grants(&w, 2, false)); /* it has applied the split: it leads no more of it */
    assert_true(grants(&w, 3, false));
    fixture_deinit(&w);
}

/* Found by seed 16012533: the child waited for a learner to run for as long as that led the parent.
 */
TEST(a_leader_that_became_a_voter_after_the_split_has_no_lease_grant_in_the_child)
{
    struct fixture w;
    fixture_init_with(&w, 2);
    assert_int_not_equal(raft_deadline(w.child).ns, INSTANT_NEVER.ns);
    assert_true(grants(&w, 3, false));
    fixture_deinit(&w);
}

TEST(the_lease_grant_ends_with_the_support)
{
    struct fixture w;
    fixture_init(&w);
    assert_false(grants(&w, 3, false));
    w.now = instant_add(w.now, duration_ms(700));
    assert_true(grants(&w, 3, false));
    fixture_deinit(&w);
}

TEST(the_lease_grant_ends_with_the_parents)
{
    struct fixture w;
    fixture_init(&w);
    raft_follow_parent(w.child, w.now, w.parent);
    assert_false(grants(&w, 3, false));
    led_by(&w, 3, TERM + 1);
    /* That the parent's leader has changed is enough: the old one's lease needs this replica. */
    raft_follow_parent(w.child, w.now, w.parent);
    assert_true(grants(&w, 3, false));
    fixture_deinit(&w);
}

TEST(the_lease_grant_ends_with_the_parents_replica)
{
    struct fixture w;
    fixture_init(&w);
    assert_true(raft_grants_lease(w.child));
    raft_follow_parent(w.child, w.now, NULL);
    assert_false(raft_grants_lease(w.child));
    assert_true(grants(&w, 3, false));
    fixture_deinit(&w);
}

TEST(a_replica_that_keeps_quiet_after_a_restart_does_so_in_the_child_too)
{
    struct fixture w;
    fixture_init(&w);
    raft_destroy(w.parent);
    raft_destroy(w.child);
    w.parent = replica(&w, PARENT, 0);
    raft_start(w.parent, w.now, instant_add(w.now, duration_ms(500)), true);
    w.child = replica(&w, CHILD, 1);
    raft_start_child(w.child, w.now, w.parent);
    persist(&w, w.child);
    assert_false(grants(&w, 3, false));
    w.now = instant_add(w.now, duration_ms(501));
    assert_true(grants(&w, 3, false));
    fixture_deinit(&w);
}

TEST(a_replay_applies_entries_up_to_the_given_commit)
{
    struct fixture w;
    fixture_init(&w);
    struct raft *r = replica(&w, PARENT + 1, 0);
    for (uint64_t i = 1; i <= 5; i++) {
        const struct raft_entry e = {
            .index = i, .term = 2, .kind = LOG_WRITE, .lsn = 100 * i, .payload = slice_of("x")};
        assert_int_equal(raft_replay_entry(r, &e), STATUS_OK);
    }
    assert_null(raft_next_committed(r));
    assert_int_equal(raft_replay_commit(r, 6), STATUS_CORRUPT); /* it cannot have been */
    assert_int_equal(raft_replay_commit(r, 3), STATUS_OK);
    for (uint64_t i = 1; i <= 3; i++)
        assert_int_equal(raft_next_committed(r)->index, i);
    assert_null(raft_next_committed(r));
    raft_compact(r, 3);
    const struct raft_entry e = {
        .index = 5, .term = 3, .kind = LOG_WRITE, .lsn = 600, .payload = slice_of("y")};
    assert_int_equal(raft_replay_entry(r, &e), STATUS_OK); /* what follows may still be cut off */
    raft_start(r, w.now, w.now, true);
    assert_int_equal(raft_last(r), 5);
    assert_int_equal(raft_term_at(r, 5), 3);
    raft_destroy(r);
    fixture_deinit(&w);
}

TEST(a_commit_known_from_elsewhere_counts_if_the_entry_is_the_same)
{
    struct fixture w;
    fixture_init(&w);
    struct raft *r = replica(&w, PARENT + 1, 0);
    for (uint64_t i = 1; i <= 4; i++) {
        const struct raft_entry e = {
            .index = i, .term = 2, .kind = LOG_WRITE, .lsn = 100 * i, .payload = slice_of("x")};
        assert_int_equal(raft_replay_entry(r, &e), STATUS_OK);
    }
    raft_start(r, w.now, w.now, true);
    assert_false(raft_learn_commit(r, 3, 1)); /* another one */
    assert_false(raft_learn_commit(r, 5, 2)); /* not here */
    assert_null(raft_next_committed(r));
    assert_true(raft_learn_commit(r, 3, 2));
    assert_int_equal(raft_commit(r), 3);
    assert_non_null(raft_next_committed(r));
    raft_destroy(r);
    fixture_deinit(&w);
}
