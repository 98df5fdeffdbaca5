/* raft.c - a replica's life: creation, replay, start, events, effects. */
#include <stdlib.h>

#include "replication/raft_internal.h"

/* ---- creation ---- */

struct raft *raft_create(const struct raft_options *options, const struct raft_base *base)
{
    must(options->self != 0);
    must(options->shared->election.ns > 0);
    must(options->shared->retry.ns > 0);
    must(options->shared->liveness != NULL);
    must(options->shared->outbox != NULL);
    must(base->members.count > 0 && base->members.count <= RAFT_MEMBERS_MAX);
    struct raft *r = must_calloc(1, sizeof *r);
    r->shared = options->shared;
    r->self = options->self;
    r->group = options->group;
    r->prng = prng_seeded(options->seed);
    r->no_state = base->no_state;
    r->hard_durable = true;
    r->log.base_index = base->index;
    if (MUTATED(MUTATION_APPLY_AGAIN) && base->index > 0)
        r->log.base_index--;
    r->log.base_term = base->term;
    r->logged = r->durable = r->commit = r->applied = r->log.base_index;
    r->quorum_at = r->deadline = INSTANT_NEVER;
    raft_history_push(r, base->index, &base->members);
    return r;
}

void raft_destroy(struct raft *r)
{
    if (r == NULL)
        return;
    raft_log_deinit(&r->log);
    free(r->history);
    free(r->peers);
    free(r);
}

/* ---- replay ---- */

void raft_replay_hard_state(struct raft *r, uint64_t term, uint64_t vote)
{
    must(!r->started);
    if (term > r->term) {
        r->term = term;
        r->vote = vote;
    } else if (term == r->term && vote != 0) {
        r->vote = vote;
    }
}

/* The replay starts anywhere in the log. Entries up to the base show whether a tail behind the base
 * follows the base. After an index is written, all later indexes are written anew. So an entry
 * before the base makes the known tail invalid. The tail begins again at the base's own entry, or
 * at the mark that raft_install writes in its place. */
static void pass_over(struct raft *r, const struct raft_entry *e)
{
    r->replay_apart = e->index < r->log.base_index || e->term != r->log.base_term;
    if (r->log.count > 0)
        raft_truncate(r, r->log.base_index + 1);
}

enum status raft_replay_entry(struct raft *r, const struct raft_entry *e)
{
    must(!r->started);
    if (e->index <= r->log.base_index) {
        pass_over(r, e);
        return STATUS_OK;
    }
    if (r->replay_apart && !MUTATED(MUTATION_KEEP_TAIL))
        return STATUS_OK;
    if (e->index > raft_last(r) + 1)
        return STATUS_OK; /* the log has it again later, with all entries before it */
    struct raft_members members;
    struct reader payload = {e->payload, false};
    if (e->kind == LOG_MEMBERS && raft_members_decode(&payload, &members) != STATUS_OK)
        return STATUS_CORRUPT;
    if (e->index <= raft_last(r)) {
        if (raft_log_term(&r->log, e->index) == e->term)
            return STATUS_OK; /* the same entry, written anew; later entries stay */
        raft_truncate(r, e->index);
    }
    if (e->term < r->log.base_term && r->log.count == 0 && !MUTATED(MUTATION_KEEP_TAIL)) {
        /* A tail of another history; the beginning of that history is gone from the log. */
        r->replay_apart = true;
        return STATUS_OK;
    }
    if (e->term < raft_log_term(&r->log, raft_last(r)))
        return STATUS_CORRUPT;
    raft_log_append(&r->log, e->term, e->kind, e->payload, slice_make(NULL, 0));
    raft_log_at(&r->log, e->index)->lsn = e->lsn;
    if (e->kind == LOG_MEMBERS)
        raft_history_push(r, e->index, &members);
    return STATUS_OK;
}

enum status raft_replay_commit(struct raft *r, uint64_t index)
{
    must(!r->started);
    if (index > raft_last(r) || r->replay_apart || r->no_state)
        return STATUS_CORRUPT;
    r->commit = MAX(r->commit, index);
    r->durable = r->logged = raft_last(r);
    return STATUS_OK;
}

static void raft_leave(struct raft *r, struct instant now)
{
    r->deadline = r->role == RAFT_LEADER ? raft_lead_deadline(r, now) : raft_election_deadline(r);
}

void raft_start(struct raft *r, struct instant now, struct instant quiet_until, bool may_write)
{
    must(!r->started);
    r->started = true;
    r->logged = r->durable = raft_last(r);
    r->durable_term = r->term;
    if (r->replay_apart) /* the base was installed, but its mark did not reach the log */
        r->mark = (struct raft_entry){
            .index = r->log.base_index, .term = r->log.base_term, .kind = LOG_NOOP};
    uint64_t term = raft_log_term(&r->log, r->durable);
    if (term > r->term) /* the vote in that term is unknown: no other member gets it */
        raft_set_hard_state(r, term, r->self);
    r->quiet_until = quiet_until;
    raft_wait_for_leader(r, now);
    if (MUTATED(MUTATION_RESUME_TERM) && r->vote == r->self && r->term > 0) {
        r->role = RAFT_CANDIDATE;
        r->quiet_until = now;
        raft_lead(r, now);
    } else if (may_write && raft_is_only_voter(r) && raft_may_run(r)) {
        raft_run(r, now, false);
    }
    if (!may_write && raft_is_only_voter(r))
        r->election_at = now;
    raft_leave(r, now);
}

void raft_start_child(struct raft *r, struct instant now, const struct raft *parent)
{
    must(parent->started);
    raft_start(r, now, parent->quiet_until, true);
    raft_inherit_lease_grant(r, parent);
    raft_check_lease_grant(r, now);
    raft_leave(r, now);
}

void raft_follow_parent(struct raft *r, struct instant now, const struct raft *parent)
{
    must(r->started);
    raft_follow_lease_grant(r, now, parent);
    raft_leave(r, now);
}

/* ---- shared by the other files ---- */

struct duration raft_random(struct raft *r, int64_t from_ns, int64_t to_ns)
{
    return (struct duration){from_ns +
                             (int64_t)prng_below(&r->prng, (uint64_t)(to_ns - from_ns) + 1)};
}

void raft_set_hard_state(struct raft *r, uint64_t term, uint64_t vote)
{
    must(term >= r->term);
    must(term > r->term || r->vote == 0); /* RAFT-4 */
    r->term = term;
    r->vote = vote;
    r->hard_dirty = true;
    r->hard_durable = false;
    r->hard_lsn = 0;
}

void raft_append_own(struct raft *r, enum log_kind kind, struct slice head, struct slice tail)
{
    must(r->role == RAFT_LEADER);
    raft_log_append(&r->log, r->term, kind, head, tail);
}

void raft_truncate(struct raft *r, uint64_t index)
{
    must(r->role != RAFT_LEADER); /* RAFT-4 */
    must(index > r->commit);
    raft_log_truncate(&r->log, index);
    raft_history_truncate(r, index);
    if (r->logged >= index)
        r->logged = index - 1;
    if (r->durable >= index)
        r->durable = index - 1;
    if (r->verified >= index)
        r->verified = index - 1;
}

/* ---- events ---- */

void raft_receive(struct raft *r, struct instant now, const struct raft_message *m)
{
    must(r->started);
    if (m->group != r->group || m->to != r->self || m->from == r->self || m->from == 0)
        return;
    raft_check_lease_grant(r, now);
    switch (m->kind) {
    case RAFT_APPEND:
        raft_on_append(r, now, m);
        break;
    case RAFT_APPEND_REPLY:
        raft_on_append_reply(r, now, m);
        break;
    case RAFT_PRE_VOTE:
        raft_on_pre_vote(r, now, m);
        break;
    case RAFT_PRE_VOTE_REPLY:
        raft_on_pre_vote_reply(r, now, m);
        break;
    case RAFT_VOTE:
        raft_on_vote(r, now, m);
        break;
    case RAFT_VOTE_REPLY:
        raft_on_vote_reply(r, now, m);
        break;
    case RAFT_CAMPAIGN_NOW:
        raft_on_campaign_now(r, now, m);
        break;
    case RAFT_MESSAGE_KINDS:
        break;
    }
    raft_leave(r, now);
}

static bool is_durable(const struct raft *r, const struct raft_entry *e, uint64_t lsn)
{
    if (MUTATED(MUTATION_ANY_COMPLETION) && e->index <= r->logged)
        return true;
    return e->lsn != 0 && e->lsn <= lsn;
}

void raft_persisted(struct raft *r, struct instant now, uint64_t lsn)
{
    must(r->started);
    raft_check_lease_grant(r, now);
    const struct raft_entry *e;
    while ((e = raft_log_at(&r->log, r->durable + 1)) != NULL && is_durable(r, e, lsn))
        r->durable++;
    if (!r->hard_durable && !r->hard_dirty && r->hard_lsn != 0 && r->hard_lsn <= lsn) {
        r->hard_durable = true;
        r->durable_term = r->term;
    }
    if (r->anew)
        r->anew = !raft_log_rely_on_anew(&r->log, r->applied + 1, lsn);
    raft_election_persisted(r, now);
    raft_follow_persisted(r);
    raft_advance_commit(r);
    raft_leave(r, now);
}

void raft_tick(struct raft *r, struct instant now)
{
    must(r->started);
    raft_check_lease_grant(r, now);
    if (r->role == RAFT_LEADER)
        raft_lead_tick(r, now);
    else
        raft_election_tick(r, now);
    raft_leave(r, now);
}

void raft_check_lapse(struct raft *r, struct instant now)
{
    must(r->started);
    raft_check_lease_grant(r, now);
    raft_leave(r, now);
}

void raft_campaign(struct raft *r, struct instant now)
{
    must(r->started);
    raft_check_lease_grant(r, now);
    if (r->role == RAFT_FOLLOWER && raft_may_run(r) && !raft_is_bound(r, now))
        raft_pre_run(r, now);
    else if (r->role == RAFT_PRE_CANDIDATE || (r->role == RAFT_CANDIDATE && r->votes_requested))
        raft_request_votes(r);
    raft_leave(r, now);
}

/* ---- effects ---- */

bool raft_take_writes(struct raft *r, struct raft_writes *out)
{
    *out = (struct raft_writes){.hard_state = r->hard_dirty,
                                .term = r->term,
                                .vote = r->vote,
                                .first = r->mark.index != 0 ? r->mark.index : r->logged + 1,
                                .last = raft_last(r)};
    r->hard_dirty = false;
    r->logged = out->last;
    return out->hard_state || out->first <= out->last;
}

void raft_hard_state_logged(struct raft *r, uint64_t lsn)
{
    must(lsn > 0);
    if (!r->hard_durable && !r->hard_dirty)
        r->hard_lsn = lsn;
}

void raft_entry_logged(struct raft *r, uint64_t index, uint64_t lsn)
{
    must(lsn > 0);
    must(index <= r->logged);
    if (index == r->mark.index)
        r->mark = (struct raft_entry){0};
    const struct raft_entry *e = raft_log_at(&r->log, index);
    r->anew = r->anew || (e != NULL && e->lsn != 0);
    raft_log_logged(&r->log, index, lsn);
}

const struct raft_entry *raft_next_committed(struct raft *r)
{
    uint64_t limit = MIN(r->commit, r->durable);
    if (r->applied >= limit || (r->no_state && !MUTATED(MUTATION_RUN_WITHOUT_STATE)))
        return NULL;
    const struct raft_entry *e = raft_log_at(&r->log, r->applied + 1);
    must(e != NULL);
    r->applied++;
    if (r->role == RAFT_LEADER && e->index == r->term_start)
        r->leading = r->term;
    return e;
}

bool raft_learn_commit(struct raft *r, uint64_t index, uint64_t term)
{
    const struct raft_entry *e = raft_log_at(&r->log, index);
    if (e == NULL || e->term != term || index > r->durable)
        return false;
    r->commit = MAX(r->commit, index);
    return true;
}

struct instant raft_deadline(const struct raft *r)
{
    return r->deadline;
}

/* ---- compaction and snapshots, at the receiver ---- */

void raft_compact(struct raft *r, uint64_t index)
{
    must(index <= r->applied);
    if (r->role == RAFT_LEADER) {
        uint64_t held = raft_quorum(r, r->durable, raft_replicate_match_of);
        index = MIN(index, held); /* RAFT-8 */
    }
    if (index <= r->log.base_index)
        return;
    raft_log_compact(&r->log, index);
    raft_history_compact(r, index);
}

void raft_install_begin(struct raft *r)
{
    must(r->started);
    must(r->role != RAFT_LEADER);
    r->no_state = true;
    r->role = RAFT_FOLLOWER;
}

/* Entries after the base stay if the log contains the base: they may have been acknowledged. */
static void raft_rebase(struct raft *r, const struct raft_base *base)
{
    bool follows = base->index <= raft_last(r) && raft_log_term(&r->log, base->index) == base->term;
    if (follows) {
        raft_log_compact(&r->log, base->index);
        raft_history_compact(r, base->index);
        must(r->history[0].index <= base->index);
        r->history[0].members = base->members;
    } else {
        must(r->commit <= base->index);
        raft_log_reset(&r->log, base->index, base->term);
        r->history_count = 0;
        r->logged = r->durable = base->index;
        r->verified = 0;
        /* In the log, the mark separates the tail that follows the base from an older tail. */
        r->mark = (struct raft_entry){.index = base->index, .term = base->term, .kind = LOG_NOOP};
        raft_history_push(r, base->index, &base->members);
    }
}

bool raft_install(struct raft *r, struct instant now, const struct raft_base *base)
{
    must(r->started);
    must(base->members.count > 0 && base->members.count <= RAFT_MEMBERS_MAX);
    if (r->role == RAFT_LEADER || base->index < r->log.base_index ||
        (!r->no_state && base->index <= r->commit))
        return false;
    if (r->role != RAFT_FOLLOWER || base->term > r->term)
        raft_follow_term(r, now, MAX(base->term, r->term), 0);
    raft_rebase(r, base);
    r->no_state = false;
    r->applied = base->index;
    r->commit = MAX(r->commit, base->index);
    r->durable = MAX(r->durable, base->index);
    r->logged = MAX(r->logged, base->index);
    raft_peers_sync(r);
    raft_check_lease_grant(r, now);
    raft_leave(r, now);
    return true;
}

/* ---- looking ---- */

enum raft_role raft_role(const struct raft *r)
{
    return r->role;
}

uint64_t raft_term(const struct raft *r)
{
    return r->term;
}

uint64_t raft_vote(const struct raft *r)
{
    return r->vote;
}

uint64_t raft_self(const struct raft *r)
{
    return r->self;
}

uint64_t raft_leader(const struct raft *r)
{
    return r->leader;
}

uint64_t raft_leading(const struct raft *r)
{
    return r->role == RAFT_LEADER ? r->leading : 0;
}

uint64_t raft_first(const struct raft *r)
{
    return r->log.base_index + 1;
}

uint64_t raft_last(const struct raft *r)
{
    return raft_log_last(&r->log);
}

uint64_t raft_commit(const struct raft *r)
{
    return r->commit;
}

uint64_t raft_applied(const struct raft *r)
{
    return r->applied;
}

const struct raft_entry *raft_entry_at(const struct raft *r, uint64_t index)
{
    return index == r->mark.index && index != 0 ? &r->mark : raft_log_at(&r->log, index);
}

uint64_t raft_term_at(const struct raft *r, uint64_t index)
{
    return raft_log_term(&r->log, index);
}

const struct raft_members *raft_members(const struct raft *r)
{
    return &r->history[r->history_count - 1].members;
}

const struct raft_members *raft_members_applied(const struct raft *r)
{
    return raft_members_as_of(r, r->applied);
}

uint64_t raft_match(const struct raft *r, uint64_t id)
{
    if (r->role != RAFT_LEADER)
        return 0;
    if (id == r->self)
        return raft_members_find(raft_members(r), id) == NULL ? 0 : r->durable;
    const struct raft_peer *p = raft_peer_find(r, id);
    return p == NULL ? 0 : p->match;
}

bool raft_is_whole(const struct raft *r, uint64_t id)
{
    const struct raft_peer *p = raft_peer_find(r, id);
    bool needs_state = p != NULL && (p->no_state || p->flow == RAFT_SNAPSHOT);
    return r->role == RAFT_LEADER && !needs_state &&
           (id == r->self || raft_match(r, id) >= r->commit);
}

uint64_t raft_memory_bytes(const struct raft *r)
{
    return raft_log_bytes_to(&r->log, raft_last(r)) - r->log.base_bytes_to;
}

uint64_t raft_pinned_lsn(const struct raft *r)
{
    uint64_t lowest = UINT64_MAX;
    for (uint64_t i = r->applied + 1; i <= raft_last(r); i++) {
        const struct raft_entry *e = raft_log_at(&r->log, i);
        if (e->lsn != 0 && e->lsn < lowest)
            lowest = e->lsn;
    }
    return lowest;
}
