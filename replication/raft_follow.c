/* raft_follow.c - a follower: entries from its leader, and acknowledgements to it.
 *
 * `verified` is the last index of this term up to which the log is known to equal the leader's; An
 * acknowledgement carries min(verified, durable), and is sent only once the term is durable
 * (RAFT-1, RAFT-3). */
#include "replication/raft_internal.h"

/* ---- answers ---- */

static uint64_t support_for_leader(const struct raft *r)
{
    return r->lease_grant.leader == r->leader ? r->lease_grant.epoch : 0;
}

static uint64_t acknowledged_index(const struct raft *r)
{
    if (MUTATED(MUTATION_ACK_OWN_SUFFIX))
        return r->durable;
    return MIN(r->verified, r->durable);
}

static void raft_follow_answer(struct raft *r)
{
    struct raft_message *m = raft_push(r, RAFT_APPEND_REPLY, r->leader);
    m->term = r->term;
    m->commit = r->commit;
    m->round = r->echo_round;
    m->support = support_for_leader(r);
    m->rejected = r->ack_rejected;
    m->no_state = r->no_state && !MUTATED(MUTATION_RUN_WITHOUT_STATE);
    m->index = r->ack_rejected ? r->hint_index : acknowledged_index(r);
    m->log_term = r->ack_rejected ? r->hint_term : 0;
    r->acked = r->ack_rejected ? r->acked : m->index;
    r->acked_support = m->support;
    r->ack_due = !r->ack_rejected && r->verified > r->durable;
    r->ack_rejected = false;
}

void raft_query_leader(struct raft *r)
{
    must(r->started);
    if (!raft_grants_lease(r) || r->durable_term != r->term)
        return;
    struct raft_message *m = raft_push(r, RAFT_APPEND_REPLY, r->lease_grant.leader);
    m->term = r->term;
    m->commit = r->commit;
    m->no_state = r->no_state;
}

/* Answers at once, or when the term is durable. `news`: the answer has more news than the index. */
static void answer_when_durable(struct raft *r, bool news)
{
    r->ack_due = true;
    if (r->durable_term != r->term)
        return;
    if (r->ack_rejected || news || r->verified <= r->durable)
        raft_follow_answer(r);
}

void raft_follow_persisted(struct raft *r)
{
    if (!r->ack_due || r->role != RAFT_FOLLOWER || r->leader == 0 || r->durable_term != r->term)
        return;
    if (r->ack_rejected || acknowledged_index(r) > r->acked || r->verified <= r->durable)
        raft_follow_answer(r);
}

/* ---- the log ---- */

/* Rejects with a hint: the last entry here whose term does not exceed the leader's entry. */
static void raft_follow_reject(struct raft *r, const struct raft_message *m)
{
    uint64_t at = MAX(m->index, r->log.base_index);
    if (at > raft_last(r)) {
        at = raft_last(r);
    } else {
        while (at > r->log.base_index && raft_log_term(&r->log, at) > m->log_term)
            at--;
    }
    r->ack_rejected = true;
    r->hint_index = at;
    r->hint_term = raft_log_term(&r->log, at);
}

static bool raft_follow_matches(const struct raft *r, const struct raft_message *m)
{
    if (m->index <= r->log.base_index)
        return true; /* applied entries are in every later leader's log */
    return m->index <= raft_last(r) && raft_log_term(&r->log, m->index) == m->log_term;
}

/* False: a LOG_MEMBERS entry does not decode. */
static bool take_entries(struct raft *r, const struct raft_message *m)
{
    for (uint32_t i = 0; i < m->entry_count; i++) {
        const struct raft_entry *e = m->entries[i];
        if (e->index <= r->log.base_index)
            continue;
        if (e->index <= raft_last(r)) {
            if (raft_log_term(&r->log, e->index) == e->term)
                continue;
            raft_truncate(r, e->index);
        }
        must(e->index == raft_last(r) + 1);
        struct raft_members members;
        struct reader payload = {e->payload, false};
        if (e->kind == LOG_MEMBERS && raft_members_decode(&payload, &members) != STATUS_OK)
            return false;
        raft_log_append(&r->log, e->term, e->kind, e->payload, slice_make(NULL, 0));
        if (e->kind == LOG_MEMBERS)
            raft_history_push(r, e->index, &members);
    }
    return true;
}

static void take_append(struct raft *r, const struct raft_message *m)
{
    if (!take_entries(r, m))
        return;
    uint64_t verified = m->index + m->entry_count;
    verified = MAX(verified, r->log.base_index);
    r->verified = MAX(r->verified, verified);
    uint64_t commit = MIN(m->commit, verified);
    r->commit = MAX(r->commit, commit);
}

/* ---- the leader's message ---- */

static void raft_follow_give(struct raft *r, struct instant now)
{
    uint64_t epoch = liveness_given(r->shared->liveness, now, raft_member_node(r->leader));
    if (epoch == 0)
        r->lease_grant = (struct raft_lease_grant){0};
    else
        r->lease_grant =
            (struct raft_lease_grant){.leader = r->leader, .epoch = epoch, .term = r->term};
    raft_wait_for_leader(r, now);
    raft_check_lease_grant(r, now);
}

static void refuse_old_leader(struct raft *r, const struct raft_message *m)
{
    if (r->durable_term != r->term)
        return;
    struct raft_message *reply = raft_push(r, RAFT_APPEND_REPLY, m->from);
    reply->term = r->term;
    reply->rejected = true;
    reply->commit = r->commit;
}

void raft_on_append(struct raft *r, struct instant now, const struct raft_message *m)
{
    if (m->term < r->term) {
        refuse_old_leader(r, m);
        return;
    }
    if (m->term == r->term && (r->role == RAFT_LEADER || (r->leader != 0 && r->leader != m->from)))
        return; /* two leaders of one term: the sender breaks the rules */
    if (m->term > r->term || r->role != RAFT_FOLLOWER || r->leader == 0)
        raft_follow_term(r, now, m->term, m->from);
    bool news = m->round > r->echo_round;
    if (news)
        r->echo_round = m->round;
    r->ack_rejected = false;
    /* Without state, the replica still takes entries from the log's beginning: a majority may need
     * them. Until a majority has them nothing can be committed, and no snapshot made. */
    if (r->no_state && raft_last(r) == 0 && m->index > 0 && !MUTATED(MUTATION_RUN_WITHOUT_STATE)) {
        r->ack_rejected = true;
        r->hint_index = r->log.base_index;
        r->hint_term = r->log.base_term;
    } else if (raft_follow_matches(r, m)) {
        take_append(r, m);
    } else {
        raft_follow_reject(r, m);
    }
    raft_follow_give(r, now);
    answer_when_durable(r, news || support_for_leader(r) != r->acked_support);
}
