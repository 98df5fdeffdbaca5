/* Ten cases, each of which broke a real library, and for each a mutation on purpose that breaks it
 * here: a case that cannot fail proves nothing. A case returns what was violated, "" if nothing. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mutation.h"
#include "tests/check.h"
#include "tests/support/raft_fixture.h"

static char verdict[256];

static const char *finish(struct raft_fixture *w)
{
    raft_fixture_check_logs(w);
    memcpy(verdict, w->violation, sizeof verdict);
    raft_fixture_destroy(w);
    return verdict;
}

static struct raft_fixture *make(uint32_t nodes, uint32_t voters)
{
    struct raft_fixture_options options = raft_fixture_options_default(nodes, voters);
    options.message_max_bytes = 1; /* an entry a message */
    return raft_fixture_create(&options);
}

static bool is_leader(const struct raft_fixture *w, uint32_t node)
{
    return raft_role(w->nodes[node].raft) == RAFT_LEADER;
}

static void sync_running(struct raft_fixture *w)
{
    for (uint32_t i = 1; i <= w->options.nodes; i++) {
        struct raft_fixture_node *n = &w->nodes[i];
        if (n->up && !n->stuck && n->durable_lsn < n->next_lsn)
            raft_fixture_sync(w, i);
    }
}

/* `node` becomes leader, nobody else stirs, and nothing it sends as leader has been delivered. */
static void win(struct raft_fixture *w, uint32_t node)
{
    for (uint32_t i = 1; i <= w->options.nodes; i++)
        w->nodes[i].paused = i != node;
    raft_fixture_drop_all(w, 0, 0);
    w->now += 400 * NS_PER_MS; /* old lease grants lapse */
    for (int round = 0; round < 50 && !is_leader(w, node); round++) {
        if (raft_role(w->nodes[node].raft) == RAFT_FOLLOWER)
            raft_fixture_campaign(w, node);
        for (size_t at = 0; at < w->bag_count && !is_leader(w, node);) {
            const struct raft_fixture_message *m = &w->bag[at];
            if (w->cut[m->from][m->to] || m->shape.kind == RAFT_APPEND)
                at++;
            else
                raft_fixture_deliver(w, at);
        }
        if (!is_leader(w, node))
            sync_running(w);
        w->now += 10 * NS_PER_MS;
        if (!is_leader(w, node))
            raft_fixture_wake(w, node);
    }
    if (!is_leader(w, node))
        raft_fixture_fail(w, "node %u was not elected", node);
    for (uint32_t i = 1; i <= w->options.nodes; i++)
        w->nodes[i].paused = false;
}

/* Everybody who is up elects, answers, agrees. */
static void conclude(struct raft_fixture *w)
{
    memset(w->cut, 0, sizeof w->cut);
    for (uint32_t i = 1; i <= w->options.nodes; i++)
        w->nodes[i].stuck = false;
    uint64_t acknowledged = w->acknowledged_count;
    for (int i = 0; i < 50 && w->acknowledged_count == acknowledged; i++) {
        if (w->violation[0] != '\0')
            return;
        raft_fixture_pass(w, 100, true);
        if (raft_fixture_leader(w) != 0 && raft_fixture_propose(w, raft_fixture_leader(w), 20) != 0)
            raft_fixture_settle(w);
    }
    if (w->acknowledged_count == acknowledged)
        raft_fixture_fail(w, "nobody answers");
    raft_fixture_pass(w, 300, true);
}

/* ---- 1 ---- */

static const char *stale_suffix(void)
{
    struct raft_fixture *w = make(3, 3);
    raft_fixture_elect(w, 1);
    raft_fixture_isolate(w, 1, true);
    raft_fixture_propose(w, 1, 20);
    raft_fixture_propose(w, 1, 20);
    raft_fixture_sync(w, 1);
    raft_fixture_crash(w, 1, 0); /* its log ends with two entries nobody else has */
    raft_fixture_pass(w, 800, true);
    uint32_t leader = raft_fixture_leader(w), other = 5 - leader;
    raft_fixture_isolate(w, other, true);
    raft_fixture_cut(w, 1, leader, false);
    raft_fixture_start(w, 1);
    raft_fixture_propose(w, leader, 20);
    for (int i = 0; i < 200 && w->acknowledged_count == 0; i++) {
        raft_fixture_pass(w, 1, false);
        raft_fixture_request_read(w, leader);
        while (w->bag_count > 0) { /* entries are late; reads come with appends without any */
            if (w->bag[0].shape.entry_count > 0 || w->cut[w->bag[0].from][w->bag[0].to])
                raft_fixture_drop(w, 0);
            else
                raft_fixture_deliver(w, 0);
        }
        sync_running(w);
    }
    for (int i = 0; i < 50 && w->acknowledged_count == 0; i++)
        raft_fixture_pass(w, 1, true);
    if (w->acknowledged_count == 0)
        raft_fixture_fail(w, "two of three do not answer");
    raft_fixture_crash(w, leader, 0);
    conclude(w);
    return finish(w);
}

/* ---- 2 ---- */

static const char *figure_8(void)
{
    struct raft_fixture *w = make(5, 5);
    raft_fixture_elect(w, 1);
    raft_fixture_pass(w, 100, true);
    raft_fixture_propose(w, 1, 20);
    raft_fixture_sync(w, 1);
    raft_fixture_deliver_first(w, 1, 2, RAFT_APPEND);
    raft_fixture_sync(w, 2);
    raft_fixture_crash(w, 1, 0);
    raft_fixture_cut(w, 5, 2, true);
    win(w, 5);
    raft_fixture_sync(w, 5); /* an entry of its own, at the same index */
    raft_fixture_crash(w, 5, 0);
    raft_fixture_drop_all(w, 0, 0);
    raft_fixture_start(w, 1);
    win(w, 1);
    raft_fixture_cut(w, 1, 4, true);
    /* The old entry reaches a majority, the new one does not. */
    for (int i = 0; i < 8 && raft_last(w->nodes[3].raft) < 2; i++) {
        raft_fixture_deliver_first(w, 1, 2, RAFT_APPEND);
        raft_fixture_deliver_first(w, 1, 3, RAFT_APPEND);
        sync_running(w);
        raft_fixture_deliver_first(w, 2, 1, RAFT_APPEND_REPLY);
        raft_fixture_deliver_first(w, 3, 1, RAFT_APPEND_REPLY);
    }
    if (raft_last(w->nodes[3].raft) != 2)
        raft_fixture_fail(w, "the schedule is not that of the figure");
    raft_fixture_crash(w, 1, 0);
    raft_fixture_start(w, 5);
    raft_fixture_cut(w, 5, 2, false);
    win(w, 5);
    conclude(w);
    return finish(w);
}

/* ---- 3 ---- */

static const char *faster_than_the_round_trip(void)
{
    struct raft_fixture_options options = raft_fixture_options_default(3, 3);
    options.automatic = true;
    options.delay_ns_max = 400 * NS_PER_US;
    options.sync_ns_max = 200 * NS_PER_US;
    options.uncommitted_max_bytes = 1 << 20;
    struct raft_fixture *w = raft_fixture_create(&options);
    w->calm = true;
    raft_fixture_campaign(w, 1);
    raft_fixture_run(w, 100 * NS_PER_MS);
    const uint64_t count = 2000;
    for (uint64_t i = 0; i < count && is_leader(w, 1); i++) {
        raft_fixture_propose(w, 1, 20);
        raft_fixture_run(w, 200 * NS_PER_US);
    }
    if (w->acknowledged_count < count - 30)
        raft_fixture_fail(w, "%llu of %llu acknowledged under load",
                          (unsigned long long)w->acknowledged_count, (unsigned long long)count);
    return finish(w);
}

/* ---- 4 ---- */

static const char *failed_leader_write(void)
{
    struct raft_fixture *w = make(3, 3);
    raft_fixture_elect(w, 1);
    raft_fixture_pass(w, 100, true);
    raft_fixture_propose(w, 1, 20);
    raft_fixture_deliver_first(w, 1, 2, RAFT_APPEND);
    raft_fixture_sync(w, 2);
    raft_fixture_crash(w, 1, 0); /* its write failed: the node stops, and never had the entry */
    raft_fixture_drop_all(w, 0, 0);
    raft_fixture_isolate(w, 2, true);
    raft_fixture_start(w, 1);
    raft_fixture_pass(w, 1000, true);
    if (raft_fixture_leader(w) == 0)
        raft_fixture_fail(w, "two of three elect nobody");
    conclude(w);
    return finish(w);
}

/* ---- 5 ---- */

static const char *mixed_terms(void)
{
    struct raft_fixture *w = make(3, 3);
    raft_fixture_elect(w, 1);
    raft_fixture_pass(w, 100, true);
    raft_fixture_transfer(w, 1, 3);
    raft_fixture_deliver_first(w, 1, 3, RAFT_CAMPAIGN_NOW);
    raft_fixture_sync(w, 3); /* a term ahead now; nobody hears of it */
    raft_fixture_drop_all(w, 3, 0);
    raft_fixture_isolate(w, 3, true);
    w->nodes[3].paused = true;
    raft_fixture_pass(w, 200, true);
    raft_fixture_propose(w, 1, 20);
    raft_fixture_settle(w);
    if (w->acknowledged_count != 1)
        raft_fixture_fail(w, "the schedule is not what it should be");
    raft_fixture_crash(w, 1, 0);
    w->nodes[3].paused = false;
    raft_fixture_pass(w, 500, true); /* it asks for votes no more, but for pre-votes */
    conclude(w);                     /* the longer log, in the lower term, has to win */
    return finish(w);
}

/* ---- 6 ---- */

static const char *members_after_compaction(void)
{
    struct raft_fixture *w = make(4, 3);
    raft_fixture_elect(w, 1);
    for (int i = 0; i < 5; i++)
        raft_fixture_propose(w, 1, 20);
    raft_fixture_pass(w, 100, true);
    for (uint32_t i = 1; i <= 3; i++)
        raft_fixture_checkpoint(w, i, true);
    raft_fixture_isolate(w, 1, true);
    if (raft_fixture_change(w, 1, RAFT_REMOVE, raft_fixture_member(w, 3)) != RAFT_OK)
        raft_fixture_fail(w, "no change was made");
    raft_fixture_sync(w, 1);
    raft_fixture_pass(w, 1000, true);
    raft_fixture_isolate(w, 1, false);
    conclude(w);
    for (uint32_t i = 1; i <= 3 && w->violation[0] == '\0'; i++) {
        if (raft_members(w->nodes[i].raft)->count != 3)
            raft_fixture_fail(w, "node %u does not know the members any more", i);
    }
    return finish(w);
}

/* ---- 7 ---- */

static const char *append_anew_in_flight(void)
{
    struct raft_fixture *w = make(5, 5);
    raft_fixture_elect(w, 1);
    raft_fixture_pass(w, 100, true);
    raft_fixture_propose(w, 1, 20);
    raft_fixture_sync(w, 1);
    w->nodes[2].stuck = true;
    raft_fixture_deliver_first(w, 1, 2, RAFT_APPEND); /* on its way to the disk of 2 */
    raft_fixture_isolate(w, 1, true);
    win(w, 3); /* 2 votes too: that record is behind the entry */
    raft_fixture_sync(w, 3);
    uint64_t before = w->nodes[2].next_lsn;
    raft_fixture_deliver_first(w, 3, 2, RAFT_APPEND); /* cuts the entry off, another in its place */
    if (raft_term_at(w->nodes[2].raft, 2) != raft_term(w->nodes[3].raft))
        raft_fixture_fail(w, "the schedule is not what it should be");
    raft_fixture_sync_to(w, 2, before); /* the old bytes complete */
    while (raft_fixture_deliver_first(w, 2, 3, RAFT_APPEND_REPLY)) {
    }
    raft_fixture_deliver_first(w, 3, 4, RAFT_APPEND);
    raft_fixture_sync(w, 4);
    while (raft_fixture_deliver_first(w, 4, 3, RAFT_APPEND_REPLY)) {
    }
    raft_fixture_crash(w, 2, 0);
    raft_fixture_crash(w, 3, 0);
    raft_fixture_crash(w, 4, 0);
    raft_fixture_drop_all(w, 0, 0);
    raft_fixture_start(w, 2);
    w->nodes[2].stuck = false;
    memset(w->cut, 0, sizeof w->cut);
    raft_fixture_pass(w, 2000, true);
    raft_fixture_start(w, 3);
    raft_fixture_start(w, 4);
    conclude(w);
    return finish(w);
}

/* ---- 8 ---- */

static const char *unpersisted_tail(void)
{
    struct raft_fixture *w = make(3, 3);
    raft_fixture_elect(w, 1);
    raft_fixture_pass(w, 100, true);
    raft_fixture_propose(w, 1, 20);
    w->nodes[2].stuck = true;
    raft_fixture_deliver_first(w, 1, 2, RAFT_APPEND); /* 2 has it, but not on disk */
    raft_fixture_crash(w, 1, 0);
    raft_fixture_drop_all(w, 0, 0);
    w->now += 400 * NS_PER_MS;
    raft_fixture_campaign(w, 2);
    size_t at = raft_fixture_find(w, 2, 3, RAFT_PRE_VOTE);
    if (at == SIZE_MAX || w->bag[at].shape.index != 1)
        raft_fixture_fail(w, "a candidate claims what it has not on disk");
    w->nodes[2].stuck = false;
    win(w, 2);
    w->nodes[2].stuck = true; /* what it adds as leader does not reach its disk */
    raft_fixture_propose(w, 2, 20);
    raft_fixture_settle(w);
    raft_fixture_crash(w, 2, 0);
    raft_fixture_isolate(w, 3, true);
    raft_fixture_start(w, 1);
    raft_fixture_start(w, 2);
    raft_fixture_pass(w, 2000, true);
    conclude(w);
    return finish(w);
}

/* ---- 9 ---- */

static const char *acknowledgements_to_an_older_leader(void)
{
    struct raft_fixture *w = make(5, 5);
    raft_fixture_elect(w, 1);
    raft_fixture_pass(w, 100, true);
    raft_fixture_propose(w, 1, 20);
    raft_fixture_deliver_first(w, 1, 2, RAFT_APPEND);
    raft_fixture_sync(w, 2);
    size_t at = raft_fixture_find(w, 2, 1, RAFT_APPEND_REPLY);
    struct raft_message late = w->bag[at].shape; /* 2 has the entry: that will be heard late */
    raft_fixture_drop_all(w, 0, 0);
    raft_fixture_crash(w, 1, 0); /* it never had it on disk */
    raft_fixture_cut(w, 2, 3, true);
    win(w, 3);
    raft_fixture_sync(w, 3);
    raft_fixture_cut(w, 2, 3, false);
    raft_fixture_pass(w, 1, false);
    raft_support_changed(w->nodes[3].raft, raft_fixture_local(w, &w->nodes[3]), 2);
    raft_fixture_turn(w, 3);
    raft_fixture_drop_all(w, 3, 4);
    raft_fixture_drop_all(w, 3, 5);
    for (int i = 0; i < 10; i++) {
        while (raft_fixture_deliver_first(w, 3, 2, RAFT_APPEND)) {
        }
        raft_fixture_sync(w, 2);
        while (raft_fixture_deliver_first(w, 2, 3, RAFT_APPEND_REPLY)) {
        }
        raft_fixture_drop_all(w, 3, 4);
        raft_fixture_drop_all(w, 3, 5);
    }
    raft_fixture_crash(w, 3, 0);
    raft_fixture_cut(w, 1, 2, true);
    raft_fixture_start(w, 1);
    win(w, 1);
    raft_fixture_sync(w, 1);
    for (int i = 0; i < 10; i++) {
        while (raft_fixture_deliver_first(w, 1, 4, RAFT_APPEND)) {
        }
        raft_fixture_sync(w, 4);
        while (raft_fixture_deliver_first(w, 4, 1, RAFT_APPEND_REPLY)) {
        }
        raft_receive(w->nodes[1].raft, raft_fixture_local(w, &w->nodes[1]), &late); /* and again */
        raft_fixture_turn(w, 1);
        raft_fixture_sync(w, 1);
    }
    raft_fixture_crash(w, 1, 0);
    raft_fixture_crash(w, 4, 0);
    raft_fixture_start(w, 3);
    raft_fixture_drop_all(w, 0, 0);
    raft_fixture_pass(w, 2000, true);
    raft_fixture_start(w, 1);
    raft_fixture_start(w, 4);
    conclude(w);
    return finish(w);
}

/* ---- 10 ---- */

/* Node 3 misses entries; only node 1 has compacted them. */
static struct raft_fixture *behind(void)
{
    struct raft_fixture *w = make(3, 3);
    raft_fixture_elect(w, 1);
    raft_fixture_propose(w, 1, 20);
    raft_fixture_pass(w, 100, true);
    raft_fixture_checkpoint(w, 3, false);
    raft_fixture_isolate(w, 3, true);
    for (int i = 0; i < 5; i++)
        raft_fixture_propose(w, 1, 20);
    raft_fixture_pass(w, 100, true);
    raft_fixture_checkpoint(w, 1, true);
    raft_fixture_isolate(w, 3, false);
    for (int i = 0; i < 1000 && !w->nodes[3].installing; i++) {
        raft_fixture_pass(w, 1, false);
        while (!w->nodes[3].installing && w->bag_count > 0)
            raft_fixture_deliver(w, 0);
        if (!w->nodes[3].installing)
            sync_running(w);
    }
    if (!w->nodes[3].installing)
        raft_fixture_fail(w, "no snapshot came");
    return w;
}

static const char *crash_while_a_snapshot_is_installed(void)
{
    struct raft_fixture *w = behind();
    raft_fixture_crash(w, 3, 0); /* its state is now a mixture */
    raft_fixture_drop_all(w, 0, 0);
    raft_fixture_crash(w, 1, 0);
    raft_fixture_start(w, 3);
    raft_fixture_pass(w, 2000, true);
    if (raft_fixture_leader(w) == 3)
        raft_fixture_fail(w, "a replica without state leads");
    raft_fixture_start(w, 1);
    conclude(w);
    if (w->violation[0] == '\0' && w->nodes[3].applied != w->nodes[1].applied)
        raft_fixture_fail(w, "the replica never got its state back");
    return finish(w);
}

static const char *crash_between_install_and_log_reset(void)
{
    struct raft_fixture *w = behind();
    w->nodes[3].row.base = w->nodes[3].incoming.base; /* durable, with the state */
    w->nodes[3].row.hash = w->nodes[3].incoming.hash;
    raft_fixture_crash(w, 3, 0); /* but the log still is what it was before */
    raft_fixture_start(w, 3);
    raft_fixture_checkpoint(w, 2, false); /* an owner's mark, and a log that begins before it */
    raft_fixture_crash(w, 2, 0);
    raft_fixture_start(w, 2);
    conclude(w);
    return finish(w);
}

/* Its log holds a tail that was never committed, and whose place the snapshot takes. */
static const char *tail_of_another_history(void)
{
    struct raft_fixture *w = make(3, 3);
    raft_fixture_elect(w, 3);
    raft_fixture_pass(w, 100, true);
    raft_fixture_isolate(w, 3, true);
    for (int i = 0; i < 6; i++)
        raft_fixture_propose(w, 3, 20);
    raft_fixture_sync(w, 3);
    raft_fixture_pass(w, 1000, true);
    uint32_t leader = raft_fixture_leader(w);
    for (int i = 0; i < 2; i++)
        raft_fixture_propose(w, leader, 20);
    raft_fixture_settle(w);
    struct raft_fixture_node *n = &w->nodes[3], *from = &w->nodes[leader];
    raft_fixture_crash(w, 3, 0);
    n->row.base = (struct raft_base){from->applied, raft_term_at(from->raft, from->applied),
                                     *raft_members_applied(from->raft), false};
    n->row.hash = from->hash;
    raft_fixture_start(w, 3);
    if (raft_last(n->raft) != raft_first(n->raft) - 1)
        raft_fixture_fail(w, "a tail of another history was kept");
    conclude(w);
    return finish(w);
}

/* ---- beyond the ten ---- */

static const char *a_vote_is_kept_through_a_crash(void)
{
    struct raft_fixture *w = make(3, 3);
    w->nodes[3].stuck = true;
    raft_fixture_campaign(w, 1);
    for (int i = 0; i < 4; i++) {
        raft_fixture_deliver_first(w, 1, 3, RAFT_PRE_VOTE);
        raft_fixture_deliver_first(w, 3, 1, RAFT_PRE_VOTE_REPLY);
        raft_fixture_sync(w, 1);
        raft_fixture_deliver_first(w, 1, 3, RAFT_VOTE);
        raft_fixture_deliver_first(w, 3, 1, RAFT_VOTE_REPLY);
    }
    raft_fixture_crash(w, 3, 0);
    raft_fixture_drop_all(w, 0, 0);
    raft_fixture_isolate(w, 1, true);
    raft_fixture_start(w, 3);
    w->nodes[3].stuck = false;
    win(w, 2);
    conclude(w);
    return finish(w);
}

static const char *no_second_leader_while_a_lease_holds(void)
{
    struct raft_fixture *w = make(3, 3);
    raft_fixture_elect(w, 1);
    raft_fixture_pass(w, 200, true);
    raft_fixture_isolate(w, 1, true);
    raft_fixture_campaign(w, 2);
    raft_fixture_settle(w);
    raft_fixture_pass(w, 30, true);
    raft_fixture_isolate(w, 1, false);
    conclude(w);
    return finish(w);
}

/* ---- running them ---- */

static void assert_holds(const char *(*run)(void))
{
    mutation_active = MUTATION_NONE;
    assert_string_equal(run(), "");
}

/* In a process of its own: a mutation may also end in must(). */
static void assert_mutation_is_found(const char *(*run)(void), enum mutation mutation)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(0);
        signal(SIGABRT, SIG_DFL);
        mutation_active = mutation;
        const char *violation = run();
        printf("             %s\n", violation);
        fflush(stdout);
        _exit(violation[0] == '\0' ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    bool seen = (WIFEXITED(status) && WEXITSTATUS(status) == 1) ||
                (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    if (!seen)
        fail_msg("with mutation %d the case still holds (status %d)", (int)mutation, status);
}

/* The function that runs the case, what the case shows, and the mutation that the case must see. */
#define CASE(run, sentence, mutation)            \
    TEST(sentence)                               \
    {                                            \
        assert_holds(run);                       \
    }                                            \
    TEST(sentence##__the_mutation_is_found)      \
    {                                            \
        assert_mutation_is_found(run, mutation); \
    }

CASE(stale_suffix, a_follower_never_acknowledges_its_own_stale_suffix, MUTATION_ACK_OWN_SUFFIX)
CASE(figure_8, entries_of_earlier_terms_are_not_committed_by_counting, MUTATION_COUNT_OLD_TERMS)
CASE(faster_than_the_round_trip, proposals_faster_than_the_round_trip_all_commit,
     MUTATION_ACK_ONLY_WHOLE)
CASE(failed_leader_write, after_a_failed_write_no_index_is_used_again_in_its_term,
     MUTATION_RESUME_TERM)
CASE(mixed_terms, mixed_terms_after_a_partition_do_not_deadlock_pre_votes,
     MUTATION_PRE_VOTE_HIDES_TERM)
CASE(members_after_compaction, members_roll_back_to_those_of_the_base, MUTATION_KEEP_MEMBERS)
CASE(append_anew_in_flight, the_completion_of_old_bytes_does_not_count_for_new_ones,
     MUTATION_ANY_COMPLETION)
CASE(unpersisted_tail, only_what_is_persisted_is_claimed_and_counted, MUTATION_COUNT_UNPERSISTED)
CASE(acknowledgements_to_an_older_leader, acknowledgements_to_an_older_leader_do_not_count,
     MUTATION_OLD_TERM_REPLIES)
CASE(crash_while_a_snapshot_is_installed, a_half_installed_snapshot_is_no_state,
     MUTATION_RUN_WITHOUT_STATE)
CASE(crash_between_install_and_log_reset, a_replay_applies_nothing_twice, MUTATION_APPLY_AGAIN)
CASE(tail_of_another_history, a_tail_of_another_history_does_not_follow_a_snapshot,
     MUTATION_KEEP_TAIL)
CASE(a_vote_is_kept_through_a_crash, a_vote_leaves_only_once_it_is_durable, MUTATION_VOTE_AT_ONCE)
CASE(no_second_leader_while_a_lease_holds, nobody_is_elected_while_a_lease_holds,
     MUTATION_IGNORE_LEASE_GRANT)
