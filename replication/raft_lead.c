/* raft_lead.c - requests to a leader: entries, changes of members, transfer, reads, snapshots for
 * members that are behind. */
#include "replication/raft_internal.h"

enum raft_outcome raft_may_propose(const struct raft *r, uint64_t payload_bytes, bool mandatory)
{
    must(r->started);
    if (r->role != RAFT_LEADER)
        return RAFT_NOT_LEADER;
    if (r->transfer_to != 0)
        return RAFT_PENDING;
    uint64_t in_flight =
        raft_log_bytes_to(&r->log, raft_last(r)) - raft_log_bytes_to(&r->log, r->commit);
    uint64_t most = r->shared->uncommitted_max_bytes;
    uint64_t size = sizeof(struct raft_slot) + payload_bytes;
    bool full = most < size || in_flight > most - size;
    return !mandatory && in_flight > 0 && full ? RAFT_BUSY : RAFT_OK;
}

enum raft_outcome raft_propose(struct raft *r, UNUSED struct instant now, enum log_kind kind,
                               struct slice head, struct slice tail, bool mandatory,
                               uint64_t *index)
{
    must(kind != LOG_MEMBERS && kind != LOG_HARD_STATE);
    enum raft_outcome outcome = raft_may_propose(r, head.size + tail.size, mandatory);
    if (outcome != RAFT_OK)
        return outcome;
    raft_append_own(r, kind, head, tail);
    *index = raft_last(r);
    return RAFT_OK;
}

void raft_resign(struct raft *r, struct instant now)
{
    must(r->started);
    if (r->role != RAFT_LEADER)
        return;
    for (uint32_t i = 0; i < r->peer_count; i++)
        raft_lead_no_more(r, r->peers[i].id);
    raft_step_down(r, now);
    r->deadline = raft_election_deadline(r);
}

/* ---- members ---- */

static bool is_caught_up(const struct raft *r, struct instant now, const struct raft_peer *p)
{
    struct instant until;
    uint64_t got = liveness_got(r->shared->liveness, now, raft_member_node(p->id), &until);
    return p->flow != RAFT_SNAPSHOT && !p->no_state && p->answered && got != 0 && got == p->epoch &&
           p->match + RAFT_CATCH_UP_ENTRIES >= raft_last(r) && p->match + 1 >= raft_first(r);
}

static enum raft_outcome add_learner(struct raft_members *m, uint64_t id)
{
    if (id == 0 || raft_member_node(id) == 0 || raft_members_find(m, id) != NULL ||
        m->count == RAFT_MEMBERS_MAX)
        return RAFT_INVALID;
    m->all[m->count++] = (struct raft_member){id, false};
    return RAFT_OK;
}

static enum raft_outcome raft_lead_promote(const struct raft *r, struct instant now,
                                           struct raft_members *m, uint64_t id)
{
    const struct raft_member *found = raft_members_find(m, id);
    if (found == NULL || found->voter)
        return RAFT_INVALID;
    if (!is_caught_up(r, now, raft_peer_find(r, id)))
        return RAFT_BEHIND;
    m->all[found - m->all].voter = true;
    return RAFT_OK;
}

static enum raft_outcome remove_member(const struct raft *r, struct raft_members *m, uint64_t id)
{
    const struct raft_member *found = raft_members_find(m, id);
    if (found == NULL || (found->voter && raft_voters(r) == 1))
        return RAFT_INVALID;
    size_t at = (size_t)(found - m->all);
    m->count--;
    memmove(&m->all[at], &m->all[at + 1], (m->count - at) * sizeof m->all[0]);
    m->all[m->count] = (struct raft_member){0};
    return RAFT_OK;
}

enum raft_outcome raft_change_members(struct raft *r, struct instant now, enum raft_change change,
                                      uint64_t id)
{
    must(r->started);
    if (r->role != RAFT_LEADER)
        return RAFT_NOT_LEADER;
    if (r->commit < r->term_start || r->transfer_to != 0 ||
        r->history[r->history_count - 1].index > r->commit)
        return RAFT_PENDING;
    struct raft_members m = *raft_members(r);
    enum raft_outcome outcome = RAFT_INVALID;
    if (change == RAFT_ADD_LEARNER)
        outcome = add_learner(&m, id);
    else if (change == RAFT_PROMOTE)
        outcome = raft_lead_promote(r, now, &m, id);
    else if (change == RAFT_REMOVE)
        outcome = remove_member(r, &m, id);
    if (outcome != RAFT_OK)
        return outcome;
    struct buffer payload = {0};
    raft_members_encode(&payload, &m);
    raft_append_own(r, LOG_MEMBERS, buffer_slice(&payload), slice_make(NULL, 0));
    buffer_deinit(&payload);
    raft_history_push(r, raft_last(r), &m);
    struct raft_peer *added = raft_peer_find(r, id);
    if (change == RAFT_ADD_LEARNER && added != NULL)
        added->received_at = now;
    return RAFT_OK;
}

enum raft_outcome raft_transfer(struct raft *r, struct instant now, uint64_t to)
{
    must(r->started);
    if (r->role != RAFT_LEADER)
        return RAFT_NOT_LEADER;
    const struct raft_peer *p = raft_peer_find(r, to);
    if (p == NULL || !p->voter)
        return RAFT_INVALID;
    if (r->commit < r->term_start)
        return RAFT_PENDING;
    if (!is_caught_up(r, now, p))
        return RAFT_BEHIND;
    r->lease_off = true;
    r->transfer_to = to;
    r->transfer_at = now;
    r->transfer_until = instant_add(now, r->shared->election);
    return RAFT_OK;
}

/* ---- reads ---- */

enum raft_outcome raft_read(struct raft *r, struct instant now, uint64_t *round)
{
    must(r->started);
    if (r->role != RAFT_LEADER)
        return RAFT_NOT_LEADER;
    if (r->leading == r->term && raft_has_lease(r, now))
        return RAFT_OK;
    if (r->round_open == r->round_sent)
        r->round_open++;
    *round = r->round_open;
    return RAFT_PENDING;
}

uint64_t raft_reads_confirmed(const struct raft *r)
{
    return r->round_confirmed;
}

/* ---- snapshots, at the leader ---- */

uint64_t raft_next_snapshot(const struct raft *r)
{
    if (r->role != RAFT_LEADER)
        return 0;
    for (uint32_t i = 0; i < r->peer_count; i++) {
        if (r->peers[i].snapshot_needed && !r->peers[i].snapshot_running)
            return r->peers[i].id;
    }
    return 0;
}

void raft_snapshot_started(struct raft *r, uint64_t to)
{
    struct raft_peer *p = raft_peer_find(r, to);
    if (r->role != RAFT_LEADER || p == NULL)
        return;
    p->snapshot_needed = false;
    p->snapshot_running = true;
}

void raft_snapshot_ended(struct raft *r, struct instant now, uint64_t to, uint64_t index)
{
    must(r->started);
    struct raft_peer *p = raft_peer_find(r, to);
    if (r->role != RAFT_LEADER || p == NULL || !p->snapshot_running)
        return;
    p->snapshot_running = false;
    if (index > 0)
        p->no_state = false;
    if (p->flow != RAFT_SNAPSHOT && !p->no_state)
        return;
    if (index == 0 || index > r->commit) {
        p->snapshot_at = instant_add(now, r->shared->retry);
        p->append_due = true; /* the member may have refused an outdated snapshot */
    } else {
        if (index > p->match) {
            p->match = index;
            p->bytes_to = raft_log_bytes_to(&r->log, index);
        }
        p->flow = RAFT_PROBE;
        p->received_at = now;
        raft_peer_resume(p);
    }
    r->deadline = raft_lead_deadline(r, now);
}
