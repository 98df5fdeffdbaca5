/* Groups of one to five voters under random schedules: lost, late, doubled and reordered messages,
 * cut links, crashes that lose what was not synced, pauses, clocks that drift, changes of members,
 * transfers, compaction and snapshots. Safety is checked after every event (raft_check.c); once the
 * faults stop, every group has to answer, then to fall silent. */
#include "tests/check.h"
#include "tests/support/raft_world.h"

enum {
    STEPS = 220,
    ANSWER_MS = 8000, /* within this after the faults stop */
    SILENCE_MS = 4000
};

static struct world_options any_options(struct prng *p)
{
    uint32_t voters = (uint32_t)prng_between(p, 1, 5);
    struct world_options o =
        world_options_default((uint32_t)prng_between(p, voters, WORLD_NODES_MAX), voters);
    o.automatic = true;
    o.seed = prng_next(p);
    o.delay_ns_max = prng_between(p, 50, 8000) * NS_PER_US;
    o.sync_ns_max = prng_between(p, 10, 10000) * NS_PER_US;
    o.clock_ppm_max = prng_below(p, 2) ? prng_between(p, 0, 50000) : 0;
    o.inflight_max_bytes = (uint64_t)prng_between(p, 1, 4000);
    o.message_max_bytes = (uint64_t)prng_between(p, 1, 2000);
    o.uncommitted_max_bytes = (uint64_t)prng_between(p, 1, 30000);
    o.interval = duration_ms(prng_between(p, 5, 30));
    o.support = (struct duration){o.interval.ns * prng_between(p, 2, 5)};
    o.election = duration_ms(prng_between(p, 60, 200));
    o.retry = duration_ms(prng_between(p, 10, 60));
    return o;
}

static uint32_t any_node(struct world *w)
{
    return (uint32_t)prng_between(&w->prng, 1, w->options.nodes);
}

static bool is_running(const struct world *w, uint32_t node)
{
    const struct world_node *n = &w->nodes[node];
    return n->up && !n->paused && n->raft != NULL;
}

/* Somebody who leads, or thinks so. 0: nobody. */
static uint32_t any_leader(struct world *w)
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
static const struct raft_members *committed_members(const struct world *w)
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
static bool is_on_its_way_in(const struct world *w, const struct raft_members *m, uint64_t member)
{
    for (uint32_t i = 1; i <= w->options.nodes; i++) {
        const struct world_node *n = &w->nodes[i];
        if (!n->up || (n->raft != NULL && raft_members_find(m, raft_self(n->raft)) != NULL &&
                       raft_members_find(raft_members(n->raft), member) != NULL))
            return true;
    }
    return false;
}

/* Replicas of removed members go, as their nodes would see to. */
static void unhost_removed(struct world *w)
{
    const struct raft_members *m = committed_members(w);
    for (uint32_t i = 1; m != NULL && i <= w->options.nodes; i++) {
        uint64_t member = world_member(w, i);
        if (is_running(w, i) && raft_members_find(m, member) == NULL &&
            raft_members_applied(w->nodes[i].raft) != m && !is_on_its_way_in(w, m, member)) {
            world_unhost(w, i);
            return; /* the list may have gone with it */
        }
    }
}

static void change_members(struct world *w)
{
    uint32_t leader = any_leader(w), node = any_node(w);
    if (leader == 0)
        return;
    struct world_node *n = &w->nodes[node];
    if (n->up && !n->paused && n->raft == NULL) {
        world_host(w, node);
        if (world_change(w, leader, RAFT_ADD_LEARNER, world_member(w, node)) != RAFT_OK)
            world_unhost(w, node);
        return;
    }
    const struct raft_members *m = raft_members(w->nodes[leader].raft);
    uint64_t member = m->all[prng_below(&w->prng, m->count)].id;
    if (prng_below(&w->prng, 3) > 0)
        world_change(w, leader, RAFT_PROMOTE, member);
    else
        world_change(w, leader, RAFT_REMOVE, member);
}

static void change_network(struct world *w)
{
    uint32_t a = any_node(w), b = any_node(w);
    switch (prng_below(&w->prng, 7)) {
    case 0:
        w->cut[a][b] = true; /* one way */
        break;
    case 1:
        world_cut(w, a, b, true);
        break;
    case 2:
        world_isolate(w, a, true);
        break;
    case 3:
        memset(w->cut, 0, sizeof w->cut);
        break;
    case 4:
        world_isolate(w, a, false);
        break;
    case 5:
        w->drop_percent = (uint32_t)prng_below(&w->prng, 40);
        break;
    default:
        w->duplicate_percent = (uint32_t)prng_below(&w->prng, 40);
        break;
    }
}

static void change_node(struct world *w)
{
    uint32_t node = any_node(w);
    struct world_node *n = &w->nodes[node];
    switch (prng_below(&w->prng, 4)) {
    case 0:
        if (n->up)
            world_crash(w, node, (uint32_t)prng_below(&w->prng, 4));
        break;
    case 1:
        n->paused = n->up && !n->paused && prng_below(&w->prng, 2) == 0;
        break;
    default:
        if (!n->up)
            world_start(w, node);
        break;
    }
}

static void use(struct world *w)
{
    uint32_t leader = any_leader(w);
    if (leader == 0)
        return;
    if (prng_below(&w->prng, 3) == 0) {
        world_ask(w, leader);
        return;
    }
    int64_t count = prng_between(&w->prng, 1, 12);
    for (int64_t i = 0; i < count; i++)
        world_propose(w, leader, (uint32_t)prng_between(&w->prng, 8, WORLD_PAYLOAD_MAX));
}

static void act(struct world *w, uint64_t chaos)
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
        world_transfer(w, any_leader(w), node);
    else if (dice < 92 && is_running(w, node))
        world_checkpoint(w, node, prng_below(&w->prng, 3) > 0);
    else if (dice < 94 && is_running(w, node))
        world_rewrite(w, node);
    else if (dice < 95 && is_running(w, node))
        world_campaign(w, node);
    else if (dice < 97)
        unhost_removed(w);
}

/* ---- after the faults ---- */

static void heal(struct world *w)
{
    memset(w->cut, 0, sizeof w->cut);
    w->drop_percent = w->duplicate_percent = 0;
    for (uint32_t i = 1; i <= w->options.nodes; i++) {
        w->nodes[i].paused = false;
        if (!w->nodes[i].up)
            world_start(w, i);
    }
}

static bool is_hosted(const struct world *w, uint64_t member)
{
    uint32_t node = raft_member_node(member);
    return w->nodes[node].raft != NULL && raft_self(w->nodes[node].raft) == member;
}

/* Learners whose replicas are gone leave the list. */
static void remove_ghosts(struct world *w)
{
    uint32_t leader = world_leader(w);
    if (leader == 0)
        return;
    const struct raft_members *m = raft_members(w->nodes[leader].raft);
    for (uint32_t i = 0; i < m->count; i++) {
        if (!is_hosted(w, m->all[i].id)) {
            world_change(w, leader, RAFT_REMOVE, m->all[i].id);
            return;
        }
    }
}

static bool is_whole(const struct world *w)
{
    uint32_t leader = world_leader(w);
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

static void expect_answers(struct world *w)
{
    uint64_t acknowledged = w->acknowledged_count, reads = w->reads_done;
    for (int ms = 0; ms < ANSWER_MS && w->violation[0] == '\0'; ms += 50) {
        world_run(w, 50 * NS_PER_MS);
        if (w->violation[0] != '\0')
            return;
        remove_ghosts(w);
        unhost_removed(w);
        uint32_t leader = world_leader(w);
        if (leader != 0 && w->acknowledged_count == acknowledged)
            world_propose(w, leader, 30);
        if (leader != 0 && w->reads_done == reads)
            world_ask(w, leader);
        if (w->acknowledged_count > acknowledged && w->reads_done > reads && is_whole(w))
            return;
    }
    world_fail(w, "no answer within %d ms after the faults stopped", ANSWER_MS);
}

static void expect_silence(struct world *w) /* R6 */
{
    w->calm = true;
    w->options.delay_ns_max = NS_PER_MS;
    for (uint32_t i = 0; i < w->options.nodes; i++)
        unhost_removed(w);
    world_run(w, 2000 * NS_PER_MS);
    uint64_t sent = w->raft_messages;
    world_run(w, SILENCE_MS / 4 * NS_PER_MS);
    if (w->raft_messages != sent)
        world_fail(w, "a settled group sent %llu messages",
                   (unsigned long long)(w->raft_messages - sent));
    const struct raft_members *m = committed_members(w);
    for (uint32_t i = 0; m != NULL && i < m->count && w->violation[0] == '\0'; i++) {
        uint32_t node = raft_member_node(m->all[i].id);
        if (raft_deadline(w->nodes[node].raft).ns != INSTANT_NEVER.ns)
            world_fail(w, "node %u of a settled group has a deadline", node);
    }
}

static uint64_t run(const struct world_options *o, uint64_t *acknowledged, char *violation)
{
    struct world *w = world_create(o);
    uint64_t chaos = prng_below(&w->prng, 8);
    if (prng_below(&w->prng, 2) == 0)
        world_campaign(w, 1);
    for (int i = 0; i < STEPS && w->violation[0] == '\0'; i++) {
        world_run(w, prng_between(&w->prng, 0, 40) * prng_between(&w->prng, 0, 1000) * 1000);
        if (w->violation[0] == '\0')
            act(w, chaos);
        if (i % 20 == 0)
            world_check_logs(w);
    }
    heal(w);
    expect_answers(w);
    world_check_logs(w);
    if (w->violation[0] == '\0')
        expect_silence(w);
    memcpy(violation, w->violation, sizeof w->violation);
    if (violation[0] != '\0')
        world_dump(w);
    *acknowledged += w->acknowledged_count;
    uint64_t hash = w->trace.hash;
    world_destroy(w);
    return hash;
}

static uint64_t acknowledged_in_all;

static void schedule(struct prng *p)
{
    struct world_options o = any_options(p);
    char violation[256];
    uint64_t hash = run(&o, &acknowledged_in_all, violation);
    assert_string_equal(violation, "");
    if (prng_below(p, 8) == 0)
        assert_true(run(&o, &acknowledged_in_all, violation) == hash);
}

static void whatever_happens_nothing_acknowledged_is_lost(void **state)
{
    (void)state;
    check_seeds(300, schedule);
    printf("%llu proposals acknowledged\n", (unsigned long long)acknowledged_in_all);
    assert_true(acknowledged_in_all > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_happens_nothing_acknowledged_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
