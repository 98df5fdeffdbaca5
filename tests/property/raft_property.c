/* Groups of one to five voters under random schedules: lost, late, doubled and reordered messages,
 * cut links, crashes that lose what was not synced, pauses, clocks that drift, changes of members,
 * transfers, compaction and snapshots. Safety is checked after every event (raft_fixture_check.c);
 * once the faults stop, every group has to answer, then to become quiescent. */
#include "tests/check.h"
#include "tests/support/raft_fixture.h"

enum {
    STEPS = 220,
    ANSWER_MS = 8000, /* within this after the faults stop */
    QUIESCENCE_MS = 4000
};

static struct raft_fixture_options any_options(struct prng *p)
{
    uint32_t voters = (uint32_t)prng_between(p, 1, 5);
    struct raft_fixture_options o = raft_fixture_options_default(
        (uint32_t)prng_between(p, voters, RAFT_FIXTURE_NODES_MAX), voters);
    o.automatic = true;
    o.seed = prng_next(p);
    o.delay_ns_max = prng_between(p, 50, 8000) * NS_PER_US;
    o.sync_ns_max = prng_between(p, 10, 10000) * NS_PER_US;
    o.clock_ppm_max = prng_below(p, 2) ? prng_between(p, 0, 50000) : 0;
    o.inflight_max_bytes = (uint64_t)prng_between(p, 1, 4000);
    o.message_max_bytes = prng_below(p, 2) ? (uint64_t)prng_between(p, 1, 2000) : 1;
    o.uncommitted_max_bytes = (uint64_t)prng_between(p, 1, 30000);
    o.interval = duration_ms(prng_between(p, 5, 30));
    o.support = (struct duration){o.interval.ns * prng_between(p, 2, 5)};
    o.election = duration_ms(prng_between(p, 60, 200));
    o.retry = duration_ms(prng_between(p, 10, 60));
    return o;
}

static uint32_t any_node(struct raft_fixture *w)
{
    return (uint32_t)prng_between(&w->prng, 1, w->options.nodes);
}

static bool is_running(const struct raft_fixture *w, uint32_t node)
{
    const struct raft_fixture_node *n = &w->nodes[node];
    return n->up && !n->paused && n->raft != NULL;
}

/* Somebody who leads, or thinks so. 0: nobody. */
static uint32_t any_leader(struct raft_fixture *w)
{
    uint32_t start = any_node(w);
    for (uint32_t i = 0; i < w->options.nodes; i++) {
        uint32_t node = 1 + (start + i) % w->options.nodes;
        if (is_running(w, node) && raft_role(w->nodes[node].raft) == RAFT_LEADER)
            return node;
    }
    return 0;
}

/* Members as of the newest state anybody has: a change in it is committed. */
static const struct raft_members *committed_members(const struct raft_fixture *w)
{
    const struct raft *newest = NULL;
    for (uint32_t i = 1; i <= w->options.nodes; i++) {
        const struct raft *r = w->nodes[i].up ? w->nodes[i].raft : NULL;
        if (r != NULL && (newest == NULL || raft_applied(r) > raft_applied(newest)))
            newest = r;
    }
    if (newest == NULL || raft_applied(newest) < w->committed_count)
        return NULL; /* whoever has it is down */
    return raft_members_applied(newest);
}

/* Somebody may still get it committed that `member` is one. */
static bool is_on_its_way_in(const struct raft_fixture *w, const struct raft_members *m,
                             uint64_t member)
{
    for (uint32_t i = 1; i <= w->options.nodes; i++) {
        const struct raft_fixture_node *n = &w->nodes[i];
        if (!n->up || (n->raft != NULL && raft_members_find(m, raft_self(n->raft)) != NULL &&
                       raft_members_find(raft_members(n->raft), member) != NULL))
            return true;
    }
    return false;
}

/* Replicas of removed members go, as their nodes would see to. */
static void unhost_removed(struct raft_fixture *w)
{
    const struct raft_members *m = committed_members(w);
    for (uint32_t i = 1; m != NULL && i <= w->options.nodes; i++) {
        uint64_t member = raft_fixture_member(w, i);
        if (is_running(w, i) && raft_members_find(m, member) == NULL &&
            raft_members_applied(w->nodes[i].raft) != m && !is_on_its_way_in(w, m, member)) {
            raft_fixture_unhost(w, i);
            return; /* the list may have gone with it */
        }
    }
}

static void change_members(struct raft_fixture *w)
{
    uint32_t leader = any_leader(w), node = any_node(w);
    if (leader == 0)
        return;
    struct raft_fixture_node *n = &w->nodes[node];
    if (n->up && !n->paused && n->raft == NULL) {
        raft_fixture_host(w, node);
        if (raft_fixture_change(w, leader, RAFT_ADD_LEARNER, raft_fixture_member(w, node)) !=
            RAFT_OK)
            raft_fixture_unhost(w, node);
        return;
    }
    const struct raft_members *m = raft_members(w->nodes[leader].raft);
    uint64_t member = m->all[prng_below(&w->prng, m->count)].id;
    if (prng_below(&w->prng, 3) > 0)
        raft_fixture_change(w, leader, RAFT_PROMOTE, member);
    else
        raft_fixture_change(w, leader, RAFT_REMOVE, member);
}

/* Two halves that do not hear each other. */
static void split_network(struct raft_fixture *w)
{
    uint64_t side = prng_next(&w->prng);
    for (uint32_t a = 1; a <= w->options.nodes; a++) {
        for (uint32_t b = 1; b < a; b++)
            raft_fixture_cut(w, a, b, ((side >> a ^ side >> b) & 1) != 0);
    }
}

/* Whoever leads reaches one follower only. */
static void narrow_network(struct raft_fixture *w)
{
    uint32_t leader = any_leader(w), other = any_node(w);
    if (leader == 0)
        return;
    raft_fixture_isolate(w, leader, true);
    raft_fixture_cut(w, leader, other, false);
}

static void change_network(struct raft_fixture *w)
{
    uint32_t a = any_node(w), b = any_node(w);
    switch (prng_below(&w->prng, 10)) {
    case 0:
        w->cut[a][b] = true; /* one way */
        break;
    case 1:
        raft_fixture_cut(w, a, b, true);
        break;
    case 2:
        raft_fixture_isolate(w, a, true);
        break;
    case 3:
        memset(w->cut, 0, sizeof w->cut);
        break;
    case 4:
        raft_fixture_isolate(w, a, false);
        break;
    case 7:
        split_network(w);
        break;
    case 8:
    case 9:
        narrow_network(w);
        break;
    case 5:
        w->drop_percent = (uint32_t)prng_below(&w->prng, 40);
        break;
    default:
        w->duplicate_percent = (uint32_t)prng_below(&w->prng, 40);
        break;
    }
}

static void change_node(struct raft_fixture *w)
{
    uint32_t node = any_node(w);
    struct raft_fixture_node *n = &w->nodes[node];
    switch (prng_below(&w->prng, 8)) {
    case 0:
        if (n->up)
            raft_fixture_crash(w, node, (uint32_t)prng_below(&w->prng, 4));
        break;
    case 2:
        if (any_leader(w) != 0)
            raft_fixture_crash(w, any_leader(w), 0);
        break;
    case 3:
        n->slow_disk = 1 + (int64_t)prng_below(&w->prng, 2) * 30;
        break;
    case 1:
        n->paused = n->up && !n->paused && prng_below(&w->prng, 2) == 0;
        break;
    default:
        if (!n->up)
            raft_fixture_start(w, node);
        break;
    }
}

static void use(struct raft_fixture *w)
{
    uint32_t leader = any_leader(w);
    if (leader == 0)
        return;
    if (prng_below(&w->prng, 3) == 0) {
        raft_fixture_request_read(w, leader);
        return;
    }
    int64_t count = prng_between(&w->prng, 1, 12);
    for (int64_t i = 0; i < count; i++)
        raft_fixture_propose(w, leader,
                             (uint32_t)prng_between(&w->prng, 8, RAFT_FIXTURE_PAYLOAD_MAX));
}

static void act(struct raft_fixture *w, uint64_t chaos)
{
    uint32_t node = any_node(w);
    uint64_t dice = prng_below(&w->prng, 100);
    if (dice < 55)
        use(w);
    else if (dice < 55 + chaos)
        change_network(w);
    else if (dice < 55 + 2 * chaos)
        change_node(w);
    else if (dice < 80)
        change_members(w);
    else if (dice < 84 && is_running(w, node) && any_leader(w) != 0)
        raft_fixture_transfer(w, any_leader(w), node);
    else if (dice < 92 && is_running(w, node))
        raft_fixture_checkpoint(w, node, prng_below(&w->prng, 3) > 0);
    else if (dice < 94 && is_running(w, node))
        raft_fixture_rewrite(w, node);
    else if (dice < 95 && is_running(w, node))
        raft_fixture_campaign(w, node);
    else if (dice < 97)
        unhost_removed(w);
}

/* ---- after the faults ---- */

static void heal(struct raft_fixture *w)
{
    memset(w->cut, 0, sizeof w->cut);
    w->drop_percent = w->duplicate_percent = 0;
    for (uint32_t i = 1; i <= w->options.nodes; i++) {
        w->nodes[i].paused = false;
        w->nodes[i].slow_disk = 1;
        if (!w->nodes[i].up)
            raft_fixture_start(w, i);
    }
}

static bool is_hosted(const struct raft_fixture *w, uint64_t member)
{
    uint32_t node = raft_member_node(member);
    return w->nodes[node].raft != NULL && raft_self(w->nodes[node].raft) == member;
}

/* Learners whose replicas are gone leave the list. */
static void remove_ghosts(struct raft_fixture *w)
{
    uint32_t leader = raft_fixture_leader(w);
    if (leader == 0)
        return;
    const struct raft_members *m = raft_members(w->nodes[leader].raft);
    for (uint32_t i = 0; i < m->count; i++) {
        if (!is_hosted(w, m->all[i].id)) {
            raft_fixture_change(w, leader, RAFT_REMOVE, m->all[i].id);
            return;
        }
    }
}

static bool is_whole(const struct raft_fixture *w)
{
    uint32_t leader = raft_fixture_leader(w);
    if (leader == 0)
        return false;
    const struct raft *r = w->nodes[leader].raft;
    const struct raft_members *m = raft_members(r);
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t node = raft_member_node(m->all[i].id);
        if (!is_hosted(w, m->all[i].id) || raft_applied(w->nodes[node].raft) != w->committed_count)
            return false;
    }
    return raft_last(r) == w->committed_count && w->nodes[leader].read_count == 0;
}

static void expect_answers(struct raft_fixture *w)
{
    uint64_t acknowledged = w->acknowledged_count, reads = w->reads_done;
    for (int ms = 0; ms < ANSWER_MS && w->violation[0] == '\0'; ms += 50) {
        raft_fixture_run(w, 50 * NS_PER_MS);
        if (w->violation[0] != '\0')
            return;
        remove_ghosts(w);
        unhost_removed(w);
        uint32_t leader = raft_fixture_leader(w);
        if (leader != 0 && w->acknowledged_count == acknowledged)
            raft_fixture_propose(w, leader, 30);
        if (leader != 0 && w->reads_done == reads)
            raft_fixture_request_read(w, leader);
        if (w->acknowledged_count > acknowledged && w->reads_done > reads && is_whole(w))
            return;
    }
    raft_fixture_fail(w, "no answer within %d ms after the faults stopped", ANSWER_MS);
}

static void expect_quiescence(struct raft_fixture *w) /* RAFT-6 */
{
    w->calm = true;
    w->options.delay_ns_max = NS_PER_MS;
    for (uint32_t i = 0; i < w->options.nodes; i++)
        unhost_removed(w);
    raft_fixture_run(w, 2000 * NS_PER_MS);
    uint64_t sent = w->raft_messages;
    raft_fixture_run(w, QUIESCENCE_MS / 4 * NS_PER_MS);
    if (w->raft_messages != sent)
        raft_fixture_fail(w, "a settled group sent %llu messages",
                          (unsigned long long)(w->raft_messages - sent));
    const struct raft_members *m = committed_members(w);
    for (uint32_t i = 0; m != NULL && i < m->count && w->violation[0] == '\0'; i++) {
        uint32_t node = raft_member_node(m->all[i].id);
        if (raft_deadline(w->nodes[node].raft).ns != INSTANT_NEVER.ns)
            raft_fixture_fail(w, "node %u of a settled group has a deadline", node);
    }
}

/* Over all seeds: a schedule that never does something proves nothing about it. */
static struct raft_fixture_counts total;

static void count(const struct raft_fixture_counts *c)
{
    total.leaders += c->leaders;
    total.acknowledged += c->acknowledged;
    total.lease_reads += c->lease_reads;
    total.round_reads += c->round_reads;
    total.crashes += c->crashes;
    total.snapshots += c->snapshots;
    total.changes += c->changes;
    total.transfers += c->transfers;
    total.compactions += c->compactions;
}

static uint64_t run(const struct raft_fixture_options *o, char *violation)
{
    struct raft_fixture *w = raft_fixture_create(o);
    uint64_t chaos = prng_below(&w->prng, 8);
    if (prng_below(&w->prng, 2) == 0)
        raft_fixture_campaign(w, 1);
    for (int i = 0; i < STEPS && w->violation[0] == '\0'; i++) {
        raft_fixture_run(w, prng_between(&w->prng, 0, 40) * prng_between(&w->prng, 0, 1000) * 1000);
        if (w->violation[0] == '\0')
            act(w, chaos);
        if (i % 20 == 0)
            raft_fixture_check_logs(w);
    }
    heal(w);
    expect_answers(w);
    raft_fixture_check_logs(w);
    if (w->violation[0] == '\0')
        expect_quiescence(w);
    memcpy(violation, w->violation, sizeof w->violation);
    if (violation[0] != '\0')
        raft_fixture_dump(w);
    count(&w->counts);
    uint64_t hash = w->trace.hash;
    raft_fixture_destroy(w);
    return hash;
}

static void schedule(struct prng *p)
{
    struct raft_fixture_options o = any_options(p);
    char violation[256];
    uint64_t hash = run(&o, violation);
    assert_string_equal(violation, "");
    assert_true(run(&o, violation) == hash);
}

TEST(whatever_happens_nothing_acknowledged_is_lost)
{
    check_seeds(200, schedule);
    const struct {
        const char *what;
        uint64_t count;
    } counts[] = {
        {"leaders", total.leaders},         {"acknowledged", total.acknowledged},
        {"lease reads", total.lease_reads}, {"round reads", total.round_reads},
        {"crashes", total.crashes},         {"snapshots", total.snapshots},
        {"changes", total.changes},         {"transfers", total.transfers},
        {"compactions", total.compactions},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        printf("%s %llu\n", counts[i].what, (unsigned long long)counts[i].count);
    for (size_t i = 0; getenv("SEED") == NULL && i < sizeof counts / sizeof counts[0]; i++)
        assert_true(counts[i].count > 0);
}
