/* raft_election.c - elections: who may run, who gets a vote, and what a lease grant forbids.
 *
 *   follower --timeout--> pre-candidate --would be elected--> candidate --elected--> leader
 *   raft_election_tick    raft_pre_run                        raft_run               raft_lead
 *
 * A lease grant (made in raft_on_append) forbids to run and to vote while its epoch of support is
 * given to the leader's node. The grant does not end with the term: the leader may still rely on it
 * when this replica is in a later term. A grant ends when
 *   - the support lapses, or has another epoch;
 *   - its leader evidently leads no more in that term: it asks for a vote in a later term, it says
 *     so when asked, or a later leader was accepted;
 *   - a leader of that term or a later one transfers its leadership (it uses no lease any more);
 *   - its leader has been removed, in a change that is committed or that the leader sent itself
 *     (the leader uses no lease once the change is in its log).
 *
 * Requests from replicas that are not members here are judged like any other: they may be members
 * in a newer list. A removed replica cannot disturb the group. It lacks the entry that removed it,
 * so no majority grants its pre-vote. Without a majority it never raises the term.
 *
 * A leader's node may live while its replica leads no more and no member knows. So a replica that
 * must refuse a vote because of a grant asks the grant's leader, by another acknowledgement. If
 * that replica leads no more or is gone, it or its owner answers with a pre-vote marked `rejected`,
 * which is not a request.
 *
 * A group that is split off begins with this replica's grant in the parent (raft_start_child), if
 * the grant's leader is a voter of the new group. The inherited grant ends as above, or with the
 * parent's grant (raft_follow_parent). That leader's replica is created when its node applies the
 * split. Before that its node would answer for an absent replica while the parent's leader still
 * serves. So the leader of an inherited grant is not asked. */
#include "replication/raft_internal.h"

enum {
    FAILURES_MAX = 8 /* the most doublings of the wait */
};
static const int64_t BACKOFF_NS_MAX = 2 * NS_PER_S;   /* the wait is not doubled beyond */
static const int64_t BACKOFF_RESET_NS = 5 * NS_PER_S; /* a longer lead resets all waits */

/* ---- terms ---- */

static void reset_term(struct raft *r)
{
    r->verified = 0;
    r->echo_round = 0;
    r->acked = 0;
    r->acked_support = 0;
    r->ack_due = false;
    r->ack_rejected = false;
    r->grant_due = 0;
    r->leader = 0;
    r->leading = 0;
    r->votes_requested = false;
    r->by_transfer = false;
    r->transfer_to = 0;
    r->lease_off = false;
    r->resigning = false;
}

/* If votes take longer than the time between candidacies, the waits must spread and requests must
 * become fewer: the requests themselves delay the votes. */
static int64_t backoff_ns(const struct raft *r)
{
    return r->shared->election.ns << r->failures;
}

/* Whether a majority may have voted for this replica, or still can, as far as is known. */
static bool may_win(const struct raft *r, struct instant now)
{
    uint32_t votes = r->voter;
    for (uint32_t i = 0; i < r->peer_count; i++) {
        const struct raft_peer *p = &r->peers[i];
        uint32_t node = raft_member_node(p->id);
        votes += p->voter && !p->refused && liveness_given(r->shared->liveness, now, node) != 0;
    }
    return votes > raft_voters(r) / 2;
}

static void raft_election_fail(struct raft *r, struct instant now)
{
    bool ran = r->role == RAFT_CANDIDATE || (r->role == RAFT_PRE_CANDIDATE && may_win(r, now));
    if (ran && r->failures < FAILURES_MAX && backoff_ns(r) < BACKOFF_NS_MAX)
        r->failures++;
}

/* A leader was found; it may not last. */
void raft_relax_backoff(struct raft *r, struct instant now)
{
    if (r->failures > 0)
        r->failures--;
    r->backoff_reset_at = instant_add(now, (struct duration){BACKOFF_RESET_NS});
}

/* The leader is lost. */
void raft_lose_leader(struct raft *r, struct instant now)
{
    if (!instant_before(now, r->backoff_reset_at))
        r->failures = 0;
}

void raft_wait_for_leader(struct raft *r, struct instant now)
{
    int64_t election = r->shared->election.ns;
    r->election_at = instant_add(now, raft_random(r, election, election + backoff_ns(r)));
}

/* Becomes a follower in `term`, which is not before the present term. */
void raft_follow_term(struct raft *r, struct instant now, uint64_t term, uint64_t leader)
{
    must(term >= r->term);
    bool was_follower = r->role == RAFT_FOLLOWER;
    if (leader == 0)
        raft_election_fail(r, now);
    else if (leader != r->leader)
        raft_relax_backoff(r, now);
    if (term > r->term) {
        reset_term(r);
        raft_set_hard_state(r, term, 0);
    } else if (!was_follower) {
        reset_term(r);
    }
    r->role = RAFT_FOLLOWER;
    r->leader = leader;
    if (!was_follower)
        raft_wait_for_leader(r, now);
}

/* ---- lease grants ---- */

bool raft_grants_lease(const struct raft *r)
{
    return r->lease_grant.leader != 0;
}

void raft_check_lease_grant(struct raft *r, struct instant now)
{
    if (!raft_grants_lease(r))
        return;
    uint32_t node = raft_member_node(r->lease_grant.leader);
    uint64_t given = liveness_given(r->shared->liveness, now, node);
    uint64_t known = r->commit;
    if (r->term == r->lease_grant.term && r->verified > known)
        known = r->verified;
    if (given != r->lease_grant.epoch) {
        r->lease_grant = (struct raft_lease_grant){0};
        raft_lose_leader(r, now);
        r->election_at = instant_add(now, raft_random(r, 0, backoff_ns(r)));
    } else if (raft_members_find(raft_members_as_of(r, known), r->lease_grant.leader) == NULL) {
        r->lease_grant = (struct raft_lease_grant){0};
        raft_wait_for_leader(r, now);
    }
}

static void end_lease_grant(struct raft *r, struct instant now)
{
    if (!raft_grants_lease(r))
        return;
    r->lease_grant = (struct raft_lease_grant){0};
    raft_lose_leader(r, now);
    raft_wait_for_leader(r, now);
}

/* A (pre-)vote request for `m->term` shows that its sender does not lead the grant's term. */
static bool is_evidence(const struct raft *r, const struct raft_message *m)
{
    return m->from == r->lease_grant.leader && m->term > r->lease_grant.term &&
           !(r->lease_grant.inherited && m->rejected);
}

/* A leader that is no voter here became a voter in the parent after the split. So it had applied
 * the split before it served. It could not run here, so its grant would never end. */
void raft_inherit_lease_grant(struct raft *r, const struct raft *parent)
{
    const struct raft_members *members = &r->history[r->history_count - 1].members;
    const struct raft_member *leader = raft_members_find(members, parent->lease_grant.leader);
    if (!raft_grants_lease(parent) || leader == NULL || !leader->voter)
        return;
    r->lease_grant = parent->lease_grant;
    r->lease_grant.term = r->term;
    r->lease_grant.inherited = true;
}

void raft_follow_lease_grant(struct raft *r, struct instant now, const struct raft *parent)
{
    if (r->lease_grant.inherited &&
        (parent == NULL || parent->lease_grant.leader != r->lease_grant.leader ||
         parent->lease_grant.epoch != r->lease_grant.epoch))
        end_lease_grant(r, now);
}

bool raft_is_bound(const struct raft *r, struct instant now)
{
    if (MUTATED(MUTATION_IGNORE_LEASE_GRANT))
        return false;
    return raft_grants_lease(r) || (instant_before(now, r->quiet_until) && !raft_is_only_voter(r));
}

/* ---- running ---- */

/* A member whose removal is not known to be committed still runs, in the group without itself. It
 * may be the only member with entries that a majority needs. The earlier list was committed before
 * the last change was made, even if this replica does not know. */
bool raft_may_run(const struct raft *r)
{
    if (r->no_state && !MUTATED(MUTATION_RUN_WITHOUT_STATE))
        return false;
    if (r->voter)
        return true;
    const struct raft_members_at *last = &r->history[r->history_count - 1];
    if (r->history_count == 1 || last->index <= r->commit)
        return false;
    const struct raft_member *m = raft_members_find(&last[-1].members, r->self);
    return m != NULL && m->voter;
}

bool raft_is_only_voter(const struct raft *r)
{
    return r->voter && raft_voters(r) == 1;
}

static bool has_won(const struct raft *r)
{
    uint32_t granted = r->voter;
    for (uint32_t i = 0; i < r->peer_count; i++)
        granted += r->peers[i].voter && r->peers[i].granted;
    return granted > raft_voters(r) / 2;
}

static void repeat_later(struct raft *r, struct instant now)
{
    int64_t repeat = r->shared->election.ns / 4;
    repeat = MIN(repeat, r->shared->retry.ns);
    repeat = (repeat > 0 ? repeat : 1) << r->failures;
    r->repeat_at = instant_add(now, (struct duration){repeat});
}

static void begin_attempt(struct raft *r, struct instant now)
{
    for (uint32_t i = 0; i < r->peer_count; i++)
        r->peers[i].granted = r->peers[i].refused = false;
    raft_wait_for_leader(r, now);
    repeat_later(r, now);
}

static void request_vote(struct raft *r, const struct raft_peer *p)
{
    bool pre = r->role == RAFT_PRE_CANDIDATE;
    struct raft_message *m = raft_push(r, pre ? RAFT_PRE_VOTE : RAFT_VOTE, p->id);
    m->term = r->term + pre;
    m->index = r->durable;
    m->log_term = raft_log_term(&r->log, r->durable);
    m->transfer = !pre && r->by_transfer;
}

/* Asks the voters that have not granted their vote. */
void raft_request_votes(struct raft *r)
{
    for (uint32_t i = 0; i < r->peer_count; i++) {
        if (r->peers[i].voter && !r->peers[i].granted)
            request_vote(r, &r->peers[i]);
    }
}

void raft_pre_run(struct raft *r, struct instant now)
{
    must(r->role != RAFT_LEADER);
    must(raft_may_run(r));
    if (raft_is_only_voter(r)) {
        raft_run(r, now, false);
        return;
    }
    reset_term(r);
    r->role = RAFT_PRE_CANDIDATE;
    begin_attempt(r, now);
    raft_request_votes(r);
}

void raft_run(struct raft *r, struct instant now, bool transfer)
{
    must(r->role != RAFT_LEADER);
    must(raft_may_run(r));
    reset_term(r);
    r->role = RAFT_CANDIDATE;
    r->by_transfer = transfer;
    r->lease_grant = (struct raft_lease_grant){0};
    raft_set_hard_state(r, r->term + 1, r->self);
    begin_attempt(r, now);
    if (MUTATED(MUTATION_VOTE_AT_ONCE)) {
        r->hard_durable = true;
        raft_election_persisted(r, now);
    }
}

/* ---- who leads no more ---- */

static void request_at_leader(struct raft *r)
{
    if (!raft_grants_lease(r) || r->lease_grant.inherited || r->durable_term != r->term)
        return;
    struct raft_message *m = raft_push(r, RAFT_APPEND_REPLY, r->lease_grant.leader);
    m->term = r->term;
    m->rejected = true;
    m->index = r->durable;
    m->log_term = raft_log_term(&r->log, r->durable);
    m->no_state = r->no_state;
    m->commit = r->commit;
    m->round = r->leader == r->lease_grant.leader ? r->echo_round : 0;
    m->support = r->leader == r->lease_grant.leader ? r->lease_grant.epoch : 0;
}

void raft_lead_no_more(struct raft *r, uint64_t to)
{
    struct raft_message *m = raft_push(r, RAFT_PRE_VOTE, to);
    m->term = r->term + 1;
    m->rejected = true;
}

bool raft_answer_for_absent(const struct raft_message *m, struct raft_message *out)
{
    if (m->kind != RAFT_APPEND_REPLY)
        return false;
    *out = (struct raft_message){.kind = RAFT_PRE_VOTE,
                                 .group = m->group,
                                 .from = m->to,
                                 .to = m->from,
                                 .term = m->term + 1,
                                 .rejected = true};
    return true;
}

/* ---- voting ---- */

static void raft_election_reply(struct raft *r, enum raft_message_kind kind, uint64_t to,
                                uint64_t term, bool rejected)
{
    struct raft_message *m = raft_push(r, kind, to);
    m->term = term;
    m->rejected = rejected;
}

/* Compares with the durable log: entries not on disk were never acknowledged. */
static bool is_up_to_date(const struct raft *r, const struct raft_message *m)
{
    uint64_t term = raft_log_term(&r->log, r->durable);
    return m->log_term > term || (m->log_term == term && m->index >= r->durable);
}

static void send_grant(struct raft *r)
{
    if (r->grant_due == 0 || !r->hard_durable)
        return;
    raft_election_reply(r, RAFT_VOTE_REPLY, r->grant_due, r->term, false);
    r->grant_due = 0;
}

void raft_on_vote(struct raft *r, struct instant now, const struct raft_message *m)
{
    if (m->term < r->term) {
        if (r->durable_term == r->term)
            raft_election_reply(r, RAFT_VOTE_REPLY, m->from, r->term, true);
        return;
    }
    if (is_evidence(r, m) || (m->transfer && m->term > r->term))
        end_lease_grant(r, now);
    if (raft_is_bound(r, now) || (r->role == RAFT_LEADER && !m->transfer)) {
        request_at_leader(r);
        return;
    }
    if (m->term > r->term)
        raft_follow_term(r, now, m->term, 0);
    bool open = (r->role == RAFT_FOLLOWER || r->role == RAFT_PRE_CANDIDATE) &&
                (r->vote == 0 || r->vote == m->from) && (r->leader == 0 || r->leader == m->from);
    if (!open || !is_up_to_date(r, m)) {
        if (r->durable_term == r->term)
            raft_election_reply(r, RAFT_VOTE_REPLY, m->from, r->term, true);
        return;
    }
    raft_follow_term(r, now, r->term, r->leader);
    if (r->vote == 0)
        raft_set_hard_state(r, r->term, m->from);
    if (MUTATED(MUTATION_VOTE_AT_ONCE))
        r->hard_durable = true;
    r->grant_due = m->from;
    raft_wait_for_leader(r, now);
    send_grant(r);
}

void raft_on_vote_reply(struct raft *r, struct instant now, const struct raft_message *m)
{
    struct raft_peer *p = raft_peer_find(r, m->from);
    if (p == NULL || r->role != RAFT_CANDIDATE)
        return;
    if (m->term > r->term) {
        raft_follow_term(r, now, m->term, 0);
        return;
    }
    if (m->term < r->term || !r->votes_requested)
        return;
    p->granted = !m->rejected;
    p->refused = m->rejected;
    if (has_won(r)) {
        raft_lead(r, now);
    } else if (m->rejected &&
               !may_win(r, now)) { /* for example, another member ran at the same time */
        struct instant soon = instant_add(now, raft_random(r, 0, backoff_ns(r)));
        r->election_at = instant_earlier(r->election_at, soon);
    }
}

void raft_on_pre_vote(struct raft *r, struct instant now, const struct raft_message *m)
{
    if (m->term <= r->term && MUTATED(MUTATION_PRE_VOTE_HIDES_TERM))
        return;
    if (m->term > r->term && is_evidence(r, m))
        end_lease_grant(r, now);
    if (m->rejected)
        return; /* not a request: the sender leads no more */
    if (m->term > r->term && m->from != r->lease_grant.leader)
        request_at_leader(r);
    if (r->role == RAFT_LEADER) { /* the sender has lost contact */
        struct raft_peer *p = raft_peer_find(r, m->from);
        if (p != NULL)
            raft_peer_resume(p);
    }
    bool granted = m->term > r->term && r->role != RAFT_LEADER && !raft_is_bound(r, now) &&
                   is_up_to_date(r, m);
    if (granted)
        raft_election_reply(r, RAFT_PRE_VOTE_REPLY, m->from, m->term, false);
    else if (r->durable_term == r->term)
        raft_election_reply(r, RAFT_PRE_VOTE_REPLY, m->from, r->term, true);
}

void raft_on_pre_vote_reply(struct raft *r, struct instant now, const struct raft_message *m)
{
    struct raft_peer *p = raft_peer_find(r, m->from);
    if (p == NULL || r->role != RAFT_PRE_CANDIDATE)
        return;
    if (m->rejected) {
        if (m->term <= r->term)
            return;
        raft_follow_term(r, now, m->term, 0);
        r->election_at = instant_add(now, raft_random(r, 0, backoff_ns(r)));
        return;
    }
    if (m->term != r->term + 1)
        return;
    p->granted = true;
    if (has_won(r))
        raft_run(r, now, false);
}

void raft_on_campaign_now(struct raft *r, struct instant now, const struct raft_message *m)
{
    if (m->term != r->term || r->role != RAFT_FOLLOWER || r->leader != m->from ||
        !raft_may_run(r) || instant_before(now, r->quiet_until))
        return;
    raft_run(r, now, true);
}

/* ---- time and disk ---- */

void raft_election_persisted(struct raft *r, struct instant now)
{
    if (!r->hard_durable)
        return;
    send_grant(r);
    if (r->role != RAFT_CANDIDATE || r->votes_requested)
        return;
    r->votes_requested = true;
    if (has_won(r))
        raft_lead(r, now);
    else
        raft_request_votes(r);
}

void raft_election_tick(struct raft *r, struct instant now)
{
    if (!raft_may_run(r)) {
        if (r->role != RAFT_FOLLOWER) /* this replica was removed while it ran */
            raft_follow_term(r, now, r->term, 0);
        return;
    }
    if (raft_is_bound(r, now))
        return;
    bool waits_for_disk = r->role == RAFT_CANDIDATE && !r->votes_requested;
    if (!instant_before(now, r->election_at)) {
        raft_election_fail(r, now);
        if (waits_for_disk)
            raft_wait_for_leader(r, now);
        else
            raft_pre_run(r, now);
        return;
    }
    if (r->role == RAFT_FOLLOWER || instant_before(now, r->repeat_at))
        return;
    repeat_later(r, now);
    if (!waits_for_disk)
        raft_request_votes(r);
}

struct instant raft_election_deadline(const struct raft *r)
{
    if (!raft_may_run(r) || raft_grants_lease(r))
        return INSTANT_NEVER;
    if (r->role == RAFT_FOLLOWER) {
        bool quiet = instant_before(r->election_at, r->quiet_until) && !raft_is_only_voter(r);
        return quiet ? r->quiet_until : r->election_at;
    }
    return instant_earlier(r->election_at, r->repeat_at);
}
