/* Ten cases, each of which broke a real library, and for each a mistake on purpose that breaks it
 * here: a case that cannot fail proves nothing. A case returns what was violated, "" if nothing. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replication/raft_mutation.h"
#include "tests/check.h"
#include "tests/support/raft_world.h"

static char verdict[256];

static const char *finish(struct world *w)
{
    world_check_logs(w);
    memcpy(verdict, w->violation, sizeof verdict);
    world_destroy(w);
    return verdict;
}

static struct world *make(uint32_t nodes, uint32_t voters)
{
    struct world_options options = world_options_default(nodes, voters);
    options.message_max_bytes = 1; /* an entry a message */
    return world_create(&options);
}

static bool is_leader(const struct world *w, uint32_t node)
{
    return raft_role(w->nodes[node].raft) == RAFT_LEADER;
}

static void sync_running(struct world *w)
{
    for (uint32_t i = 1; i <= w->options.nodes; i++) {
        struct world_node *n = &w->nodes[i];
        if (n->up && !n->stuck && n->durable_lsn < n->next_lsn)
            world_sync(w, i);
    }
}

/* `node` becomes leader, nobody else stirs, and nothing it sends as leader has been delivered. */
static void win(struct world *w, uint32_t node)
{
    for (uint32_t i = 1; i <= w->options.nodes; i++)
        w->nodes[i].paused = i != node;
    world_drop_all(w, 0, 0);
    w->now += 400 * NS_PER_MS; /* old promises lapse */
    for (int round = 0; round < 50 && !is_leader(w, node); round++) {
        if (raft_role(w->nodes[node].raft) == RAFT_FOLLOWER)
            world_campaign(w, node);
        for (size_t at = 0; at < w->bag_count && !is_leader(w, node);) {
            const struct world_message *m = &w->bag[at];
            if (w->cut[m->from][m->to] || m->shape.kind == RAFT_APPEND)
                at++;
            else
                world_deliver(w, at);
        }
        if (!is_leader(w, node))
            sync_running(w);
        w->now += 10 * NS_PER_MS;
        if (!is_leader(w, node))
            world_wake(w, node);
    }
    if (!is_leader(w, node))
        world_fail(w, "node %u was not elected", node);
    for (uint32_t i = 1; i <= w->options.nodes; i++)
        w->nodes[i].paused = false;
}

/* Everybody who is up elects, answers, agrees. */
static void conclude(struct world *w)
{
    memset(w->cut, 0, sizeof w->cut);
    for (uint32_t i = 1; i <= w->options.nodes; i++)
        w->nodes[i].stuck = false;
    uint64_t acknowledged = w->acknowledged_count;
    for (int i = 0; i < 50 && w->acknowledged_count == acknowledged; i++) {
        if (w->violation[0] != '\0')
            return;
        world_pass(w, 100, true);
        if (world_leader(w) != 0 && world_propose(w, world_leader(w), 20) != 0)
            world_settle(w);
    }
    if (w->acknowledged_count == acknowledged)
        world_fail(w, "nobody answers");
    world_pass(w, 300, true);
}

/* ---- 1 ---- */

static const char *stale_suffix(void)
{
    struct world *w = make(3, 3);
    world_elect(w, 1);
    world_isolate(w, 1, true);
    world_propose(w, 1, 20);
    world_propose(w, 1, 20);
    world_sync(w, 1);
    world_crash(w, 1, 0); /* its log ends with two entries nobody else has */
    world_pass(w, 800, true);
    uint32_t leader = world_leader(w), other = 5 - leader;
    world_isolate(w, other, true);
    world_cut(w, 1, leader, false);
    world_start(w, 1);
    world_propose(w, leader, 20);
    for (int i = 0; i < 200 && w->acknowledged_count == 0; i++) {
        world_pass(w, 1, false);
        world_ask(w, leader);
        while (w->bag_count > 0) { /* entries are late; reads come with appends without any */
            if (w->bag[0].shape.entry_count > 0 || w->cut[w->bag[0].from][w->bag[0].to])
                world_drop(w, 0);
            else
                world_deliver(w, 0);
        }
        sync_running(w);
    }
    for (int i = 0; i < 50 && w->acknowledged_count == 0; i++)
        world_pass(w, 1, true);
    if (w->acknowledged_count == 0)
        world_fail(w, "two of three do not answer");
    world_crash(w, leader, 0);
    conclude(w);
    return finish(w);
}

/* ---- 2 ---- */

static const char *figure_8(void)
{
    struct world *w = make(5, 5);
    world_elect(w, 1);
    world_pass(w, 100, true);
    world_propose(w, 1, 20);
    world_sync(w, 1);
    world_deliver_first(w, 1, 2, RAFT_APPEND);
    world_sync(w, 2);
    world_crash(w, 1, 0);
    world_cut(w, 5, 2, true);
    win(w, 5);
    world_sync(w, 5); /* an entry of its own, at the same index */
    world_crash(w, 5, 0);
    world_drop_all(w, 0, 0);
    world_start(w, 1);
    win(w, 1);
    world_cut(w, 1, 4, true);
    /* The old entry reaches a majority, the new one does not. */
    for (int i = 0; i < 8 && raft_last(w->nodes[3].raft) < 2; i++) {
        world_deliver_first(w, 1, 2, RAFT_APPEND);
        world_deliver_first(w, 1, 3, RAFT_APPEND);
        sync_running(w);
        world_deliver_first(w, 2, 1, RAFT_APPEND_REPLY);
        world_deliver_first(w, 3, 1, RAFT_APPEND_REPLY);
    }
    if (raft_last(w->nodes[3].raft) != 2)
        world_fail(w, "the schedule is not that of the figure");
    world_crash(w, 1, 0);
    world_start(w, 5);
    world_cut(w, 5, 2, false);
    win(w, 5);
    conclude(w);
    return finish(w);
}

/* ---- 3 ---- */

static const char *faster_than_the_round_trip(void)
{
    struct world_options options = world_options_default(3, 3);
    options.automatic = true;
    options.delay_ns_max = 400 * NS_PER_US;
    options.sync_ns_max = 200 * NS_PER_US;
    options.uncommitted_max_bytes = 1 << 20;
    struct world *w = world_create(&options);
    w->calm = true;
    world_campaign(w, 1);
    world_run(w, 100 * NS_PER_MS);
    const uint64_t count = 2000;
    for (uint64_t i = 0; i < count && is_leader(w, 1); i++) {
        world_propose(w, 1, 20);
        world_run(w, 200 * NS_PER_US);
    }
    if (w->acknowledged_count < count - 30)
        world_fail(w, "%llu of %llu acknowledged under load",
                   (unsigned long long)w->acknowledged_count, (unsigned long long)count);
    return finish(w);
}

/* ---- 4 ---- */

static const char *failed_leader_write(void)
{
    struct world *w = make(3, 3);
    world_elect(w, 1);
    world_pass(w, 100, true);
    world_propose(w, 1, 20);
    world_deliver_first(w, 1, 2, RAFT_APPEND);
    world_sync(w, 2);
    world_crash(w, 1, 0); /* its write failed: the node stops, and never had the entry */
    world_drop_all(w, 0, 0);
    world_isolate(w, 2, true);
    world_start(w, 1);
    world_pass(w, 1000, true);
    if (world_leader(w) == 0)
        world_fail(w, "two of three elect nobody");
    conclude(w);
    return finish(w);
}

/* ---- 5 ---- */

static const char *mixed_terms(void)
{
    struct world *w = make(3, 3);
    world_elect(w, 1);
    world_pass(w, 100, true);
    world_transfer(w, 1, 3);
    world_deliver_first(w, 1, 3, RAFT_CAMPAIGN_NOW);
    world_sync(w, 3); /* a term ahead now; nobody hears of it */
    world_drop_all(w, 3, 0);
    world_isolate(w, 3, true);
    w->nodes[3].paused = true;
    world_pass(w, 200, true);
    world_propose(w, 1, 20);
    world_settle(w);
    if (w->acknowledged_count != 1)
        world_fail(w, "the schedule is not what it should be");
    world_crash(w, 1, 0);
    w->nodes[3].paused = false;
    world_pass(w, 500, true); /* it asks for votes no more, but for pre-votes */
    conclude(w);              /* the longer log, in the lower term, has to win */
    return finish(w);
}

/* ---- 6 ---- */

static const char *members_after_compaction(void)
{
    struct world *w = make(4, 3);
    world_elect(w, 1);
    for (int i = 0; i < 5; i++)
        world_propose(w, 1, 20);
    world_pass(w, 100, true);
    for (uint32_t i = 1; i <= 3; i++)
        world_checkpoint(w, i, true);
    world_isolate(w, 1, true);
    if (world_change(w, 1, RAFT_REMOVE, world_member(w, 3)) != RAFT_OK)
        world_fail(w, "no change was made");
    world_sync(w, 1);
    world_pass(w, 1000, true);
    world_isolate(w, 1, false);
    conclude(w);
    for (uint32_t i = 1; i <= 3 && w->violation[0] == '\0'; i++) {
        if (raft_members(w->nodes[i].raft)->count != 3)
            world_fail(w, "node %u does not know the members any more", i);
    }
    return finish(w);
}

/* ---- 7 ---- */

static const char *append_anew_in_flight(void)
{
    struct world *w = make(5, 5);
    world_elect(w, 1);
    world_pass(w, 100, true);
    world_propose(w, 1, 20);
    world_sync(w, 1);
    w->nodes[2].stuck = true;
    world_deliver_first(w, 1, 2, RAFT_APPEND); /* on its way to the disk of 2 */
    world_isolate(w, 1, true);
    win(w, 3); /* 2 votes too: that record is behind the entry */
    world_sync(w, 3);
    uint64_t before = w->nodes[2].next_lsn;
    world_deliver_first(w, 3, 2, RAFT_APPEND); /* cuts the entry off, another in its place */
    if (raft_term_at(w->nodes[2].raft, 2) != raft_term(w->nodes[3].raft))
        world_fail(w, "the schedule is not what it should be");
    world_sync_to(w, 2, before); /* the old bytes complete */
    while (world_deliver_first(w, 2, 3, RAFT_APPEND_REPLY)) {
    }
    world_deliver_first(w, 3, 4, RAFT_APPEND);
    world_sync(w, 4);
    while (world_deliver_first(w, 4, 3, RAFT_APPEND_REPLY)) {
    }
    world_crash(w, 2, 0);
    world_crash(w, 3, 0);
    world_crash(w, 4, 0);
    world_drop_all(w, 0, 0);
    world_start(w, 2);
    w->nodes[2].stuck = false;
    memset(w->cut, 0, sizeof w->cut);
    world_pass(w, 2000, true);
    world_start(w, 3);
    world_start(w, 4);
    conclude(w);
    return finish(w);
}

/* ---- 8 ---- */

static const char *unpersisted_tail(void)
{
    struct world *w = make(3, 3);
    world_elect(w, 1);
    world_pass(w, 100, true);
    world_propose(w, 1, 20);
    w->nodes[2].stuck = true;
    world_deliver_first(w, 1, 2, RAFT_APPEND); /* 2 has it, but not on disk */
    world_crash(w, 1, 0);
    world_drop_all(w, 0, 0);
    w->now += 400 * NS_PER_MS;
    world_campaign(w, 2);
    size_t at = world_find(w, 2, 3, RAFT_PRE_VOTE);
    if (at == SIZE_MAX || w->bag[at].shape.index != 1)
        world_fail(w, "a candidate claims what it has not on disk");
    w->nodes[2].stuck = false;
    win(w, 2);
    w->nodes[2].stuck = true; /* what it adds as leader does not reach its disk */
    world_propose(w, 2, 20);
    world_settle(w);
    world_crash(w, 2, 0);
    world_isolate(w, 3, true);
    world_start(w, 1);
    world_start(w, 2);
    world_pass(w, 2000, true);
    conclude(w);
    return finish(w);
}

/* ---- 9 ---- */

static const char *acknowledgements_to_an_older_leader(void)
{
    struct world *w = make(5, 5);
    world_elect(w, 1);
    world_pass(w, 100, true);
    world_propose(w, 1, 20);
    world_deliver_first(w, 1, 2, RAFT_APPEND);
    world_sync(w, 2);
    size_t at = world_find(w, 2, 1, RAFT_APPEND_REPLY);
    struct raft_message late = w->bag[at].shape; /* 2 has the entry: that will be heard late */
    world_drop_all(w, 0, 0);
    world_crash(w, 1, 0); /* it never had it on disk */
    world_cut(w, 2, 3, true);
    win(w, 3);
    world_sync(w, 3);
    world_cut(w, 2, 3, false);
    world_pass(w, 1, false);
    raft_node_heard(w->nodes[3].raft, world_local(w, &w->nodes[3]), 2);
    world_turn(w, 3);
    world_drop_all(w, 3, 4);
    world_drop_all(w, 3, 5);
    for (int i = 0; i < 10; i++) {
        while (world_deliver_first(w, 3, 2, RAFT_APPEND)) {
        }
        world_sync(w, 2);
        while (world_deliver_first(w, 2, 3, RAFT_APPEND_REPLY)) {
        }
        world_drop_all(w, 3, 4);
        world_drop_all(w, 3, 5);
    }
    world_crash(w, 3, 0);
    world_cut(w, 1, 2, true);
    world_start(w, 1);
    win(w, 1);
    world_sync(w, 1);
    for (int i = 0; i < 10; i++) {
        while (world_deliver_first(w, 1, 4, RAFT_APPEND)) {
        }
        world_sync(w, 4);
        while (world_deliver_first(w, 4, 1, RAFT_APPEND_REPLY)) {
        }
        raft_receive(w->nodes[1].raft, world_local(w, &w->nodes[1]), &late); /* and again */
        world_turn(w, 1);
        world_sync(w, 1);
    }
    world_crash(w, 1, 0);
    world_crash(w, 4, 0);
    world_start(w, 3);
    world_drop_all(w, 0, 0);
    world_pass(w, 2000, true);
    world_start(w, 1);
    world_start(w, 4);
    conclude(w);
    return finish(w);
}

/* ---- 10 ---- */

/* Node 3 misses entries; only node 1 has compacted them. */
static struct world *behind(void)
{
    struct world *w = make(3, 3);
    world_elect(w, 1);
    world_propose(w, 1, 20);
    world_pass(w, 100, true);
    world_checkpoint(w, 3, false);
    world_isolate(w, 3, true);
    for (int i = 0; i < 5; i++)
        world_propose(w, 1, 20);
    world_pass(w, 100, true);
    world_checkpoint(w, 1, true);
    world_isolate(w, 3, false);
    for (int i = 0; i < 1000 && !w->nodes[3].installing; i++) {
        world_pass(w, 1, false);
        while (!w->nodes[3].installing && w->bag_count > 0)
            world_deliver(w, 0);
        if (!w->nodes[3].installing)
            sync_running(w);
    }
    if (!w->nodes[3].installing)
        world_fail(w, "no snapshot came");
    return w;
}

static const char *crash_while_a_snapshot_is_installed(void)
{
    struct world *w = behind();
    world_crash(w, 3, 0); /* its state is now a mixture */
    world_drop_all(w, 0, 0);
    world_crash(w, 1, 0);
    world_start(w, 3);
    world_pass(w, 2000, true);
    if (world_leader(w) == 3)
        world_fail(w, "a replica without state leads");
    world_start(w, 1);
    conclude(w);
    if (w->violation[0] == '\0' && w->nodes[3].applied != w->nodes[1].applied)
        world_fail(w, "the replica never got its state back");
    return finish(w);
}

static const char *crash_between_install_and_log_reset(void)
{
    struct world *w = behind();
    w->nodes[3].row.base = w->nodes[3].incoming.base; /* durable, with the state */
    w->nodes[3].row.hash = w->nodes[3].incoming.hash;
    world_crash(w, 3, 0); /* but the log still is what it was before */
    world_start(w, 3);
    world_checkpoint(w, 2, false); /* an owner's mark, and a log that begins before it */
    world_crash(w, 2, 0);
    world_start(w, 2);
    conclude(w);
    return finish(w);
}

/* Its log holds a tail that was never committed, and whose place the snapshot takes. */
static const char *tail_of_another_history(void)
{
    struct world *w = make(3, 3);
    world_elect(w, 3);
    world_pass(w, 100, true);
    world_isolate(w, 3, true);
    for (int i = 0; i < 6; i++)
        world_propose(w, 3, 20);
    world_sync(w, 3);
    world_pass(w, 1000, true);
    uint32_t leader = world_leader(w);
    for (int i = 0; i < 2; i++)
        world_propose(w, leader, 20);
    world_settle(w);
    struct world_node *n = &w->nodes[3], *from = &w->nodes[leader];
    world_crash(w, 3, 0);
    n->row.base = (struct raft_base){from->applied, raft_term_at(from->raft, from->applied),
                                     *raft_members_applied(from->raft), false};
    n->row.hash = from->hash;
    world_start(w, 3);
    if (raft_last(n->raft) != raft_first(n->raft) - 1)
        world_fail(w, "a tail of another history was kept");
    conclude(w);
    return finish(w);
}

/* ---- beyond the ten ---- */

static const char *a_vote_is_kept_through_a_crash(void)
{
    struct world *w = make(3, 3);
    w->nodes[3].stuck = true;
    world_campaign(w, 1);
    for (int i = 0; i < 4; i++) {
        world_deliver_first(w, 1, 3, RAFT_PRE_VOTE);
        world_deliver_first(w, 3, 1, RAFT_PRE_VOTE_REPLY);
        world_sync(w, 1);
        world_deliver_first(w, 1, 3, RAFT_VOTE);
        world_deliver_first(w, 3, 1, RAFT_VOTE_REPLY);
    }
    world_crash(w, 3, 0);
    world_drop_all(w, 0, 0);
    world_isolate(w, 1, true);
    world_start(w, 3);
    w->nodes[3].stuck = false;
    win(w, 2);
    conclude(w);
    return finish(w);
}

static const char *no_second_leader_while_a_lease_holds(void)
{
    struct world *w = make(3, 3);
    world_elect(w, 1);
    world_pass(w, 200, true);
    world_isolate(w, 1, true);
    world_campaign(w, 2);
    world_settle(w);
    world_pass(w, 30, true);
    world_isolate(w, 1, false);
    conclude(w);
    return finish(w);
}

/* ---- running them ---- */

struct trial {
    const char *(*run)(void);
    enum raft_mutation mutation;
};

static void holds(void **state)
{
    const struct trial *t = *state;
    raft_mutation = RAFT_MUTATION_NONE;
    assert_string_equal(t->run(), "");
}

/* In a process of its own: a mistake may also end in must(). */
static void is_seen(void **state)
{
    const struct trial *t = *state;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(0);
        signal(SIGABRT, SIG_DFL);
        raft_mutation = t->mutation;
        const char *violation = t->run();
        printf("             %s\n", violation);
        fflush(stdout);
        _exit(violation[0] == '\0' ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    bool seen = (WIFEXITED(status) && WEXITSTATUS(status) == 1) ||
                (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    if (!seen)
        fail_msg("with mutation %d the case still holds (status %d)", (int)t->mutation, status);
}

#define CASE(name, text, mutation)                                         \
    {text, holds, NULL, NULL, &(struct trial){name, RAFT_MUTATION_NONE}},  \
    {                                                                      \
        text ": the mistake is seen", is_seen, NULL, NULL, &(struct trial) \
        {                                                                  \
            name, mutation                                                 \
        }                                                                  \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(stale_suffix, "1 a follower never acknowledges its own stale suffix",
             RAFT_MUTATION_ACK_OWN_SUFFIX),
        CASE(figure_8, "2 entries of earlier terms are not committed by counting",
             RAFT_MUTATION_COUNT_OLD_TERMS),
        CASE(faster_than_the_round_trip, "3 proposals faster than the round trip all commit",
             RAFT_MUTATION_ACK_ONLY_WHOLE),
        CASE(failed_leader_write, "4 after a failed write no index is used again in its term",
             RAFT_MUTATION_RESUME_TERM),
        CASE(mixed_terms, "5 mixed terms after a partition do not deadlock pre-votes",
             RAFT_MUTATION_SILENT_PRE_VOTE),
        CASE(members_after_compaction, "6 members roll back to those of the base",
             RAFT_MUTATION_KEEP_MEMBERS),
        CASE(append_anew_in_flight, "7 the completion of old bytes does not count for new ones",
             RAFT_MUTATION_ANY_COMPLETION),
        CASE(unpersisted_tail, "8 only what is persisted is claimed and counted",
             RAFT_MUTATION_COUNT_UNPERSISTED),
        CASE(acknowledgements_to_an_older_leader,
             "9 acknowledgements to an older leader do not count", RAFT_MUTATION_OLD_TERM_REPLIES),
        CASE(crash_while_a_snapshot_is_installed, "10 a half installed snapshot is no state",
             RAFT_MUTATION_RUN_WITHOUT_STATE),
        CASE(crash_between_install_and_log_reset, "10 a replay applies nothing twice",
             RAFT_MUTATION_APPLY_AGAIN),
        CASE(tail_of_another_history, "10 a tail of another history does not follow a snapshot",
             RAFT_MUTATION_KEEP_TAIL),
        CASE(a_vote_is_kept_through_a_crash, "a vote leaves only once it is durable",
             RAFT_MUTATION_VOTE_AT_ONCE),
        CASE(no_second_leader_while_a_lease_holds, "nobody is elected while a lease holds",
             RAFT_MUTATION_FORGET_PROMISE),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
