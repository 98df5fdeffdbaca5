/* raft_replicate.c - a leader and its peers: appends, and the effect of their answers.
 *
 *            answer: it matches               needs compacted entries
 *   PROBE ---------------------> PIPELINE    ------------------------> SNAPSHOT
 *     ^  <--------------------------+                                     |
 *     |   rejected, unanswered, gone                                      |
 *     +-------------------------------------------------------------------+
 *                 installed, or the member turns out to have the entries
 *
 * A peer is settled once it has all entries, knows the commit index and supports the leader. Only
 * an unsettled peer with a reachable node has a deadline. If the node is unreachable,
 * raft_support_changed wakes the leader (RAFT-6). */
#include "replication/raft_internal.h"

enum {
    UNREACHABLE_ELECTIONS = 3 /* election timeouts without an answer: a peer is unreachable */
};

static uint64_t support_of(const struct raft *r, struct instant now, const struct raft_peer *p)
{
    struct instant until;
    return liveness_got(r->shared->liveness, now, raft_member_node(p->id), &until);
}

static bool is_reachable(const struct raft *r, struct instant now, const struct raft_peer *p)
{
    struct instant until = p->received_at;
    for (int i = 0; i < UNREACHABLE_ELECTIONS; i++)
        until = instant_add(until, r->shared->election);
    return support_of(r, now, p) != 0 || instant_before(now, until);
}

static bool needs_round(const struct raft *r, const struct raft_peer *p)
{
    return p->voter && r->round_open > r->round_confirmed && p->round < r->round_open;
}

static bool raft_replicate_is_settled(const struct raft *r, struct instant now,
                                      const struct raft_peer *p)
{
    uint64_t support = support_of(r, now, p);
    if ((support != 0 && support != p->epoch) || needs_round(r, p))
        return false;
    if (p->flow == RAFT_SNAPSHOT)
        return true; /* the snapshot's end is an event of its own */
    return p->match >= raft_last(r) && p->commit >= r->commit;
}

/* ---- leading ---- */

void raft_lead(struct raft *r, struct instant now)
{
    must(r->role == RAFT_CANDIDATE);
    must(!raft_grants_lease(r));
    r->role = RAFT_LEADER;
    r->leader = r->self;
    raft_relax_backoff(r, now);
    r->quorum_at = instant_add(now, r->shared->election);
    for (uint32_t i = 0; i < r->peer_count; i++) {
        struct raft_peer *p = &r->peers[i];
        *p = (struct raft_peer){.id = p->id,
                                .voter = p->voter,
                                .next = raft_last(r) + 1,
                                .probe = raft_last(r) + 1,
                                .append_due = true,
                                .received_at = now,
                                .sent_at = now};
    }
    const struct slice nothing = {NULL, 0};
    r->term_start = raft_last(r) + 1;
    raft_append_own(r, LOG_NOOP, nothing, nothing);
}

void raft_step_down(struct raft *r, struct instant now)
{
    must(r->role == RAFT_LEADER);
    raft_lose_leader(r, now);
    raft_follow_term(r, now, r->term, 0);
}

uint64_t raft_replicate_match_of(const struct raft_peer *p)
{
    return p->match;
}

static uint64_t raft_replicate_round_of(const struct raft_peer *p)
{
    return p->round;
}

static void raft_confirm_rounds(struct raft *r)
{
    if (r->role != RAFT_LEADER || r->commit < r->term_start || r->round_confirmed == r->round_sent)
        return;
    uint64_t confirmed = raft_quorum(r, r->round_sent, raft_replicate_round_of);
    r->round_confirmed = MAX(r->round_confirmed, confirmed);
}

void raft_advance_commit(struct raft *r)
{
    if (r->role != RAFT_LEADER || r->commit == raft_last(r))
        return;
    uint64_t own = MUTATED(MUTATION_COUNT_UNPERSISTED) ? raft_last(r) : r->durable;
    uint64_t index = raft_quorum(r, own, raft_replicate_match_of);
    must(index <= raft_last(r));
    if (index <= r->commit)
        return;
    if (raft_log_term(&r->log, index) != r->term && !MUTATED(MUTATION_COUNT_OLD_TERMS))
        return; /* RAFT-2 */
    r->commit = index;
    raft_confirm_rounds(r);
    r->resigning = raft_members_find(raft_members_as_of(r, index), r->self) == NULL;
}

/* ---- sending ---- */

void raft_peer_resume(struct raft_peer *p)
{
    if (p->flow == RAFT_PIPELINE)
        p->probe = p->match + 1;
    if (p->flow != RAFT_SNAPSHOT) {
        p->flow = RAFT_PROBE;
        p->next = p->probe > p->match ? p->probe : p->match + 1;
    }
    p->awaiting = false;
    p->waiting = false;
    p->append_due = true;
    p->commit_sent = p->commit;
    p->notify_at = (struct instant){0};
    p->round_sent = p->round;
}

/* The retry time counts from the oldest unanswered message. */
static void wait_for_answer(struct raft_peer *p, struct instant now)
{
    if (p->waiting)
        return;
    p->waiting = true;
    p->sent_at = now;
}

static void raft_replicate_send(struct raft *r, struct instant now, struct raft_peer *p,
                                uint64_t previous, uint32_t count)
{
    uint64_t end = previous + count;
    struct raft_message *m = raft_push(r, RAFT_APPEND, p->id);
    m->term = r->term;
    m->index = previous;
    m->log_term = raft_log_term(&r->log, previous);
    m->commit = r->commit;
    m->round = r->round_open;
    m->entry_count = count;
    if (count > 0)
        m->entries = (const struct raft_entry *const *)&r->log
                         .slots[r->log.head + previous - r->log.base_index];
    p->append_due = false;
    wait_for_answer(p, now);
    p->round_sent = r->round_open;
    p->commit_sent = MIN(r->commit, end);
    p->notify_at = (struct instant){0};
}

/* The count of entries from p->next on that may go now in one message. */
static uint32_t entries_that_fit(const struct raft *r, const struct raft_peer *p)
{
    uint64_t sent = raft_log_bytes_to(&r->log, p->next - 1);
    uint64_t in_flight = p->flow == RAFT_PIPELINE && sent > p->bytes_to ? sent - p->bytes_to : 0;
    uint64_t room =
        in_flight < r->shared->inflight_max_bytes ? r->shared->inflight_max_bytes - in_flight : 0;
    room = MIN(room, r->shared->message_max_bytes);
    uint64_t first = p->next, end = p->next;
    while (end <= raft_last(r) && raft_log_bytes_to(&r->log, end) - sent <= room)
        end++;
    if (end == first && first <= raft_last(r) && in_flight == 0)
        end++;
    return (uint32_t)(end - first);
}

/* The peer gets no entries. Its messages always match: they carry the leader, the round, and
 * nothing else. */
static void flush_without_entries(struct raft *r, struct instant now, struct raft_peer *p)
{
    bool round = needs_round(r, p) && p->round_sent < r->round_open;
    if (p->append_due || round)
        raft_replicate_send(r, now, p, r->log.base_index, 0);
}

static void need_snapshot(struct raft_peer *p)
{
    p->flow = RAFT_SNAPSHOT;
    p->snapshot_needed = true;
    p->awaiting = false;
}

/* While more entries are in flight, a commit index travels with later entries or after a delay. The
 * commit of the last entry is sent at once: a reader at the peer may wait for it. */
static bool may_notify(const struct raft *r, struct instant now, struct raft_peer *p,
                       uint64_t commit)
{
    if (p->commit_sent >= commit)
        return false;
    if (commit == raft_last(r))
        return true;
    if (p->notify_at.ns == 0)
        p->notify_at = instant_add(now, r->shared->notify);
    return !instant_before(now, p->notify_at);
}

static void flush_peer(struct raft *r, struct instant now, struct raft_peer *p)
{
    bool reachable = is_reachable(r, now, p);
    bool round = needs_round(r, p) && p->round_sent < r->round_open && reachable;
    if (p->flow == RAFT_PIPELINE && !reachable && p->match < raft_last(r)) {
        p->flow = RAFT_PROBE;
        p->next = p->probe = p->match + 1;
        p->awaiting = false;
    }
    if (p->flow != RAFT_SNAPSHOT && p->next < raft_first(r)) {
        if (!p->answered) {
            p->next = p->probe = raft_first(r); /* the peer's log is unknown yet */
        } else if (!reachable) {
            return; /* the snapshot waits for its node */
        } else {
            need_snapshot(p);
            p->append_due = true;
        }
    }
    if (p->flow == RAFT_SNAPSHOT) {
        flush_without_entries(r, now, p);
        return;
    }
    if (p->flow == RAFT_PROBE && p->awaiting) {
        if (round)
            raft_replicate_send(r, now, p,
                                p->probe < raft_first(r) ? r->log.base_index : p->probe - 1, 0);
        return;
    }
    uint32_t count;
    bool sent = false;
    while (!p->awaiting && (count = entries_that_fit(r, p)) > 0) {
        p->probe = p->next;
        raft_replicate_send(r, now, p, p->next - 1, count);
        p->next += count;
        p->awaiting = p->flow == RAFT_PROBE;
        sent = true;
    }
    uint64_t known = r->commit < p->next - 1 ? r->commit : p->next - 1;
    if (!sent && (p->append_due || round || may_notify(r, now, p, known))) {
        raft_replicate_send(r, now, p, p->next - 1, 0);
        p->awaiting = p->flow == RAFT_PROBE;
    }
}

static void request_campaign(struct raft *r, struct instant now)
{
    const struct raft_peer *p = raft_peer_find(r, r->transfer_to);
    if (p == NULL || p->match < raft_last(r) || instant_before(now, r->transfer_at))
        return;
    raft_push(r, RAFT_CAMPAIGN_NOW, p->id)->term = r->term;
    r->transfer_at = instant_add(now, r->shared->retry);
}

void raft_flush(struct raft *r, struct instant now)
{
    must(r->started);
    if (r->role != RAFT_LEADER)
        return;
    r->round_sent = r->round_open;
    for (uint32_t i = 0; i < r->peer_count; i++)
        flush_peer(r, now, &r->peers[i]);
    raft_confirm_rounds(r);
    if (r->transfer_to != 0)
        request_campaign(r, now);
    if (r->resigning)
        raft_step_down(r, now);
    r->deadline = r->role == RAFT_LEADER ? raft_lead_deadline(r, now) : raft_election_deadline(r);
}

/* ---- answers ---- */

static void on_match(struct raft *r, struct instant now, struct raft_peer *p, uint64_t index)
{
    if (index > raft_last(r))
        return; /* an index beyond this log */
    if (MUTATED(MUTATION_ACK_ONLY_WHOLE) && index != raft_last(r))
        return;
    if (index > p->match) {
        p->match = index;
        p->bytes_to = raft_log_bytes_to(&r->log, index);
        p->sent_at = now; /* the peer makes progress: no reason to repeat */
    }
    if (p->next <= p->match)
        p->next = p->match + 1;
    if (p->flow == RAFT_SNAPSHOT && p->match + 1 < raft_first(r))
        return;
    p->flow = RAFT_PIPELINE;
    p->awaiting = false;
}

static void on_mismatch(struct raft *r, struct raft_peer *p, const struct raft_message *m)
{
    if (m->no_state && m->index == 0 && raft_first(r) > 1 && p->flow != RAFT_SNAPSHOT)
        need_snapshot(p);
    if (p->flow == RAFT_SNAPSHOT)
        return;
    uint64_t at = MIN(m->index, raft_last(r));
    while (at > r->log.base_index && raft_log_term(&r->log, at) > m->log_term)
        at--;
    if (at == r->log.base_index && r->log.base_term > m->log_term && at > 0)
        at--;
    if (at < p->match)
        return; /* late; if it were true, an immediate retry would not help */
    p->flow = RAFT_PROBE;
    p->awaiting = false;
    p->append_due = true;
    p->next = p->probe = at + 1;
}

void raft_on_append_reply(struct raft *r, struct instant now, const struct raft_message *m)
{
    struct raft_peer *p = raft_peer_find(r, m->from);
    if (r->role != RAFT_LEADER) {
        raft_lead_no_more(r, m->from);
        return;
    }
    if (p == NULL)
        return;
    if (m->term > r->term) {
        raft_follow_term(r, now, m->term, 0);
        return;
    }
    if (m->term < r->term && !MUTATED(MUTATION_OLD_TERM_REPLIES))
        return;
    p->answered = true;
    p->received_at = now;
    p->epoch = m->support;
    p->no_state = m->no_state;
    if (m->round > p->round && m->round <= r->round_sent)
        p->round = m->round;
    p->commit = MAX(p->commit, m->commit);
    if (m->rejected)
        on_mismatch(r, p, m);
    else
        on_match(r, now, p, m->index);
    if (p->no_state && !p->snapshot_running && !instant_before(now, p->snapshot_at))
        p->snapshot_needed = true;
    raft_confirm_rounds(r);
    raft_advance_commit(r);
    if (raft_replicate_is_settled(r, now, p))
        p->waiting = p->awaiting = false; /* a deadline is behind every answer that is awaited */
    else
        wait_for_answer(p, now);
}

void raft_support_changed(struct raft *r, struct instant now, uint32_t node)
{
    must(r->started);
    raft_check_lease_grant(r, now);
    for (uint32_t i = 0; i < r->peer_count; i++) {
        struct raft_peer *p = &r->peers[i];
        if (raft_member_node(p->id) != node)
            continue;
        if (r->role == RAFT_LEADER && p->flow == RAFT_SNAPSHOT && !p->snapshot_running)
            p->snapshot_needed = true;
        if (r->role == RAFT_LEADER && !raft_replicate_is_settled(r, now, p))
            raft_peer_resume(p);
        else if (r->role == RAFT_PRE_CANDIDATE || (r->role == RAFT_CANDIDATE && r->votes_requested))
            raft_request_votes(r);
    }
    r->deadline = r->role == RAFT_LEADER ? raft_lead_deadline(r, now) : raft_election_deadline(r);
}

/* ---- time ---- */

/* The count of voters that support this leader. `with_recent`: voters that answered lately count
 * too. */
static uint32_t raft_replicate_supporters(const struct raft *r, struct instant now,
                                          bool with_recent)
{
    uint32_t count = r->voter;
    for (uint32_t i = 0; i < r->peer_count; i++) {
        const struct raft_peer *p = &r->peers[i];
        uint64_t support = support_of(r, now, p);
        bool recent = with_recent && p->answered &&
                      instant_before(now, instant_add(p->received_at, r->shared->election));
        count += p->voter && ((support != 0 && support == p->epoch) || recent);
    }
    return count;
}

static bool has_majority(const struct raft *r, uint32_t count)
{
    return count > raft_voters(r) / 2;
}

bool raft_has_lease(const struct raft *r, struct instant now)
{
    return r->role == RAFT_LEADER && r->voter && !r->lease_off && r->commit >= r->term_start &&
           has_majority(r, raft_replicate_supporters(r, now, false));
}

static bool waits_for_snapshot(const struct raft_peer *p)
{
    return (p->flow == RAFT_SNAPSHOT || p->no_state) && !p->snapshot_needed && !p->snapshot_running;
}

void raft_lead_tick(struct raft *r, struct instant now)
{
    if (has_majority(r, raft_replicate_supporters(r, now, false))) {
        r->quorum_at = INSTANT_NEVER;
    } else if (!instant_before(now, r->quorum_at)) {
        if (!has_majority(r, raft_replicate_supporters(r, now, true))) {
            raft_step_down(r, now);
            return;
        }
        r->quorum_at = instant_add(now, r->shared->election);
    }
    if (r->transfer_to != 0 && !instant_before(now, r->transfer_until))
        r->transfer_to = 0;
    for (uint32_t i = 0; i < r->peer_count; i++) {
        struct raft_peer *p = &r->peers[i];
        if (!is_reachable(r, now, p))
            continue;
        if (waits_for_snapshot(p) && !instant_before(now, p->snapshot_at))
            p->snapshot_needed = true;
        if (p->waiting && !raft_replicate_is_settled(r, now, p) &&
            !instant_before(now, instant_add(p->sent_at, r->shared->retry)))
            raft_peer_resume(p);
    }
}

struct instant raft_lead_deadline(struct raft *r, struct instant now)
{
    if (has_majority(r, raft_replicate_supporters(r, now, false)))
        r->quorum_at = INSTANT_NEVER;
    else if (r->quorum_at.ns == INSTANT_NEVER.ns)
        r->quorum_at = instant_add(now, r->shared->election);
    struct instant next = r->quorum_at;
    if (r->transfer_to != 0)
        next = instant_earlier(next, r->transfer_until);
    for (uint32_t i = 0; i < r->peer_count; i++) {
        const struct raft_peer *p = &r->peers[i];
        if (!is_reachable(r, now, p))
            continue;
        if (waits_for_snapshot(p))
            next = instant_earlier(next, p->snapshot_at);
        if (p->waiting && !raft_replicate_is_settled(r, now, p))
            next = instant_earlier(next, instant_add(p->sent_at, r->shared->retry));
        if (p->notify_at.ns != 0 && p->flow == RAFT_PIPELINE)
            next = instant_earlier(next, p->notify_at);
        if (p->id == r->transfer_to && p->match >= raft_last(r))
            next = instant_earlier(next, r->transfer_at);
    }
    return next;
}
