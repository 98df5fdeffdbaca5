/* raft_fixture_time.c - passes time in a raft fixture: by hand in small steps, or from event to
 * event. */
#include "base/must.h"
#include "tests/support/raft_fixture.h"

void raft_fixture_wake(struct raft_fixture *w, uint32_t node)
{
    struct raft_fixture_node *n = &w->nodes[node];
    struct instant now = raft_fixture_local(w, n);
    struct liveness_due due = {0};
    if (!instant_before(now, n->live_at)) {
        due = liveness_tick(&n->liveness, now);
        n->live_at = liveness_deadline(&n->liveness, now);
        for (uint32_t to = 1; due.beat && to <= w->options.nodes; to++) {
            if (to != node)
                raft_fixture_post_beat(w, n, to, true);
        }
    }
    if (n->raft == NULL || (!due.lapsed && instant_before(now, raft_deadline(n->raft))))
        return;
    raft_tick(n->raft, now);
    raft_fixture_turn(w, node);
}

/* ---- by hand ---- */

size_t raft_fixture_find(const struct raft_fixture *w, uint32_t from, uint32_t to,
                         enum raft_message_kind kind)
{
    for (size_t i = 0; i < w->bag_count; i++) {
        const struct raft_fixture_message *m = &w->bag[i];
        if ((from == 0 || m->from == from) && (to == 0 || m->to == to) &&
            ((int)kind == 0 || (m->kind == RAFT_FIXTURE_RAFT && m->shape.kind == kind)))
            return i;
    }
    return SIZE_MAX;
}

bool raft_fixture_deliver_first(struct raft_fixture *w, uint32_t from, uint32_t to,
                                enum raft_message_kind kind)
{
    size_t at = raft_fixture_find(w, from, to, kind);
    if (at == SIZE_MAX)
        return false;
    raft_fixture_deliver(w, at);
    return true;
}

void raft_fixture_drop_all(struct raft_fixture *w, uint32_t from, uint32_t to)
{
    for (size_t i = w->bag_count; i > 0; i--) {
        const struct raft_fixture_message *m = &w->bag[i - 1];
        if ((from == 0 || m->from == from) && (to == 0 || m->to == to))
            raft_fixture_drop(w, i - 1);
    }
}

static bool sync_all(struct raft_fixture *w)
{
    bool any = false;
    for (uint32_t i = 1; i <= w->options.nodes; i++) {
        struct raft_fixture_node *n = &w->nodes[i];
        if (n->up && n->installing) {
            raft_fixture_install(w, i);
            any = true;
        }
        if (n->up && !n->stuck && n->raft != NULL && n->durable_lsn < n->next_lsn) {
            raft_fixture_sync(w, i);
            any = true;
        }
    }
    return any;
}

void raft_fixture_settle(struct raft_fixture *w)
{
    for (int i = 0; i < 100000; i++) {
        if (w->bag_count > 0) {
            if (w->cut[w->bag[0].from][w->bag[0].to])
                raft_fixture_drop(w, 0);
            else
                raft_fixture_deliver(w, 0);
        } else if (!sync_all(w)) {
            return;
        }
    }
    raft_fixture_fail(w, "the group never settles");
}

void raft_fixture_cut(struct raft_fixture *w, uint32_t a, uint32_t b, bool cut)
{
    w->cut[a][b] = w->cut[b][a] = cut;
}

void raft_fixture_isolate(struct raft_fixture *w, uint32_t node, bool cut)
{
    for (uint32_t i = 1; i <= w->options.nodes; i++)
        raft_fixture_cut(w, node, i, cut);
}

void raft_fixture_pass(struct raft_fixture *w, int64_t ms, bool settle)
{
    for (int64_t i = 0; i < ms; i++) {
        w->now += NS_PER_MS;
        for (uint32_t node = 1; node <= w->options.nodes; node++) {
            if (w->nodes[node].up && !w->nodes[node].paused)
                raft_fixture_wake(w, node);
            if (settle)
                raft_fixture_settle(w);
        }
    }
}

uint32_t raft_fixture_leader(const struct raft_fixture *w)
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

bool raft_fixture_elect(struct raft_fixture *w, uint32_t node)
{
    raft_fixture_campaign(w, node);
    for (int i = 0; i < 5000; i++) {
        raft_fixture_pass(w, 1, true);
        const struct raft *r = w->nodes[node].raft;
        if (r != NULL && raft_leading(r) != 0)
            return true;
    }
    return false;
}

/* ---- automatic ---- */

/* The real time at which the node's clock reads `local`, or a little later. */
static int64_t real_time(const struct raft_fixture *w, const struct raft_fixture_node *n,
                         struct instant local)
{
    if (local.ns == INSTANT_NEVER.ns)
        return INT64_MAX;
    int64_t left = local.ns - raft_fixture_local(w, n).ns;
    if (left <= 0)
        return w->now;
    return w->now + left + left / 1000000 * (n->clock_ppm < 0 ? -n->clock_ppm : n->clock_ppm) +
           1000;
}

static int64_t node_next(const struct raft_fixture *w, const struct raft_fixture_node *n)
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

static void node_step(struct raft_fixture *w, struct raft_fixture_node *n)
{
    if (n->submitted_lsn != 0 && n->sync_at <= w->now)
        raft_fixture_sync_to(w, n->id, n->submitted_lsn);
    else if (n->installing && n->install_at <= w->now)
        raft_fixture_install(w, n->id);
    else
        raft_fixture_wake(w, n->id);
}

static size_t first_message(const struct raft_fixture *w)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < w->bag_count; i++) {
        const struct raft_fixture_message *m = &w->bag[i];
        if (w->nodes[m->to].paused)
            continue;
        if (first == SIZE_MAX || m->at < w->bag[first].at)
            first = i;
    }
    return first;
}

void raft_fixture_run(struct raft_fixture *w, int64_t ns)
{
    int64_t end = w->now + ns;
    while (w->violation[0] == '\0') {
        uint32_t node = 0;
        int64_t next = end;
        for (uint32_t i = 1; i <= w->options.nodes; i++) {
            const struct raft_fixture_node *n = &w->nodes[i];
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
            raft_fixture_deliver(w, message);
        else if (node != 0)
            node_step(w, &w->nodes[node]);
        else
            return;
    }
}
