/* raft_time.c - passes time in a raft world: by hand in small steps, or from event to event. */
#include "base/must.h"
#include "tests/support/raft_world.h"

void paper_wake(struct paper *w, uint32_t node)
{
    struct paper_node *n = &w->nodes[node];
    struct instant now = paper_local(w, n);
    bool all = !instant_before(now, n->live_at);
    if (all) {
        bool beat = liveness_tick(&n->liveness, now);
        n->live_at = liveness_deadline(&n->liveness, now);
        for (uint32_t to = 1; beat && to <= w->options.nodes; to++) {
            if (to != node)
                paper_post_beat(w, n, to, true);
        }
    }
    if (n->raft == NULL || (!all && instant_before(now, raft_deadline(n->raft))))
        return;
    raft_tick(n->raft, now);
    paper_turn(w, node);
}

/* ---- by hand ---- */

size_t paper_find(const struct paper *w, uint32_t from, uint32_t to, enum raft_message_kind kind)
{
    for (size_t i = 0; i < w->bag_count; i++) {
        const struct paper_message *m = &w->bag[i];
        if ((from == 0 || m->from == from) && (to == 0 || m->to == to) &&
            ((int)kind == 0 || (m->kind == PAPER_RAFT && m->shape.kind == kind)))
            return i;
    }
    return SIZE_MAX;
}

bool paper_deliver_first(struct paper *w, uint32_t from, uint32_t to, enum raft_message_kind kind)
{
    size_t at = paper_find(w, from, to, kind);
    if (at == SIZE_MAX)
        return false;
    paper_deliver(w, at);
    return true;
}

void paper_drop_all(struct paper *w, uint32_t from, uint32_t to)
{
    for (size_t i = w->bag_count; i > 0; i--) {
        const struct paper_message *m = &w->bag[i - 1];
        if ((from == 0 || m->from == from) && (to == 0 || m->to == to))
            paper_drop(w, i - 1);
    }
}

static bool sync_all(struct paper *w)
{
    bool any = false;
    for (uint32_t i = 1; i <= w->options.nodes; i++) {
        struct paper_node *n = &w->nodes[i];
        if (n->up && n->installing) {
            paper_install(w, i);
            any = true;
        }
        if (n->up && !n->stuck && n->raft != NULL && n->durable_lsn < n->next_lsn) {
            paper_sync(w, i);
            any = true;
        }
    }
    return any;
}

void paper_settle(struct paper *w)
{
    for (int i = 0; i < 100000; i++) {
        if (w->bag_count > 0) {
            if (w->cut[w->bag[0].from][w->bag[0].to])
                paper_drop(w, 0);
            else
                paper_deliver(w, 0);
        } else if (!sync_all(w)) {
            return;
        }
    }
    paper_fail(w, "the group never settles");
}

void paper_cut(struct paper *w, uint32_t a, uint32_t b, bool cut)
{
    w->cut[a][b] = w->cut[b][a] = cut;
}

void paper_isolate(struct paper *w, uint32_t node, bool cut)
{
    for (uint32_t i = 1; i <= w->options.nodes; i++)
        paper_cut(w, node, i, cut);
}

void paper_pass(struct paper *w, int64_t ms, bool settle)
{
    for (int64_t i = 0; i < ms; i++) {
        w->now += NS_PER_MS;
        for (uint32_t node = 1; node <= w->options.nodes; node++) {
            if (w->nodes[node].up && !w->nodes[node].paused)
                paper_wake(w, node);
            if (settle)
                paper_settle(w);
        }
    }
}

uint32_t paper_leader(const struct paper *w)
{
    uint32_t leader = 0;
    uint64_t term = 0;
    for (uint32_t i = 1; i <= w->options.nodes; i++) {
        const struct raft *r = w->nodes[i].raft;
        if (r != NULL && raft_leading(r) > term) {
            leader = i;
            term = raft_leading(r);
        }
    }
    return leader;
}

bool paper_elect(struct paper *w, uint32_t node)
{
    paper_campaign(w, node);
    for (int i = 0; i < 5000; i++) {
        paper_pass(w, 1, true);
        const struct raft *r = w->nodes[node].raft;
        if (r != NULL && raft_leading(r) != 0)
            return true;
    }
    return false;
}

/* ---- automatic ---- */

/* The real time at which the node's clock reads `local`, or a little later. */
static int64_t real_time(const struct paper *w, const struct paper_node *n, struct instant local)
{
    if (local.ns == INSTANT_NEVER.ns)
        return INT64_MAX;
    int64_t left = local.ns - paper_local(w, n).ns;
    if (left <= 0)
        return w->now;
    return w->now + left + left / 1000000 * (n->clock_ppm < 0 ? -n->clock_ppm : n->clock_ppm) +
           1000;
}

static int64_t node_next(const struct paper *w, const struct paper_node *n)
{
    int64_t next = real_time(w, n, n->live_at);
    if (n->raft != NULL) {
        int64_t raft = real_time(w, n, raft_deadline(n->raft));
        next = raft < next ? raft : next;
    }
    if (n->submitted_lsn != 0 && n->sync_at < next)
        next = n->sync_at;
    if (n->installing && n->install_at < next)
        next = n->install_at;
    return next > w->now ? next : w->now;
}

static void node_step(struct paper *w, struct paper_node *n)
{
    if (n->submitted_lsn != 0 && n->sync_at <= w->now)
        paper_sync_to(w, n->id, n->submitted_lsn);
    else if (n->installing && n->install_at <= w->now)
        paper_install(w, n->id);
    else
        paper_wake(w, n->id);
}

static size_t first_message(const struct paper *w)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < w->bag_count; i++) {
        const struct paper_message *m = &w->bag[i];
        if (w->nodes[m->to].paused)
            continue;
        if (first == SIZE_MAX || m->at < w->bag[first].at)
            first = i;
    }
    return first;
}

void paper_run(struct paper *w, int64_t ns)
{
    int64_t end = w->now + ns;
    while (w->violation[0] == '\0') {
        uint32_t node = 0;
        int64_t next = end;
        for (uint32_t i = 1; i <= w->options.nodes; i++) {
            const struct paper_node *n = &w->nodes[i];
            int64_t at = n->up && !n->paused ? node_next(w, n) : INT64_MAX;
            if (at < next) {
                next = at;
                node = i;
            }
        }
        size_t message = first_message(w);
        bool arrives = message != SIZE_MAX && w->bag[message].at < next;
        if (arrives)
            next = w->bag[message].at;
        if (next > w->now)
            w->now = next;
        if (arrives)
            paper_deliver(w, message);
        else if (node != 0)
            node_step(w, &w->nodes[node]);
        else
            return;
    }
}
