/* groups.c - drives the replicas' raft: records to the log, messages to the peers, deadlines. */
#include "engine/node/groups.h"

#include <stdio.h>

#include "base/settings/replication.h"
#include "engine/node/operation.h"

enum {
    COMPACT_STEP_BYTES = 256 * 1024,
    HAND_BACK_MAX = 16,
    HAND_BACK_MS = 2000,
};

void groups_init(struct groups *groups)
{
    const struct config *c = groups->env->config;
    groups->shared = (struct raft_shared){
        .election = duration_ms(config_replication(c)->election_ms),
        .tell = duration_ms(config_replication(c)->commit_tell_ms),
        .retry = duration_ms(config_replication(c)->append_retry_ms),
        .inflight_max_bytes = (uint64_t)config_replication(c)->follower_max_bytes,
        .uncommitted_max_bytes = (uint64_t)config_replication(c)->group_max_bytes,
        .message_max_bytes = 1024 * 1024,
        .liveness = &groups->peers->liveness,
        .outbox = &groups->outbox,
    };
}

void groups_create_raft(struct groups *groups, struct partition *p, const struct raft_base *base)
{
    must(p->raft == NULL);
    uint64_t self = partition_member_on(&p->info, groups->env->id);
    must(self != 0);
    struct raft_options options = {
        .group = p->info.id,
        .self = self,
        .seed = prng_next(&groups->env->prng),
        .shared = &groups->shared,
    };
    p->raft = raft_create(&options, base);
    p->no_state = base->no_state;
}

void groups_deinit(struct groups *groups)
{
    raft_timers_deinit(&groups->timers);
    raft_outbox_deinit(&groups->outbox);
}

/* ---- what raft wants written and sent ---- */

static void groups_logged(struct groups *groups, struct partition *p)
{
    p->logged_lsn = groups->log->writer.next_lsn;
    if (p->writing)
        return;
    p->writing = true;
    LIST_INSERT_HEAD(&groups->writing, p, writing_place);
}

static void groups_log_writes(struct groups *groups, struct partition *p)
{
    struct raft_writes w;
    if (!raft_take_writes(p->raft, &w))
        return;
    const struct slice nothing = {NULL, 0};
    p->stored = false;
    if (w.hard_state) {
        raft_hard_state_logged(p->raft, log_writer_append(&groups->log->writer, LOG_HARD_STATE,
                                                          p->info.id, w.term, w.vote, nothing));
    }
    for (uint64_t i = w.first; i <= w.last; i++) {
        const struct raft_entry *e = raft_entry_at(p->raft, i);
        raft_entry_logged(
            p->raft, i,
            log_writer_append(&groups->log->writer, e->kind, p->info.id, e->term, i, e->payload));
        if (e->kind == LOG_WRITE && e->term != p->led)
            buckets_follow(groups->buckets, p, e);
    }
    groups_logged(groups, p);
}

static void groups_send_messages(struct groups *groups)
{
    for (size_t i = 0; i < groups->outbox.count; i++) {
        const struct raft_message *m = &groups->outbox.messages[i];
        uint32_t node = raft_member_node(m->to);
        if (node == groups->env->id || node > groups->env->node_count)
            continue; /* an earlier generation of this node, or an unknown node */
        raft_message_encode(peers_message(groups->peers, node, PEER_RAFT), m);
    }
    groups->outbox.count = 0;
}

/* At once, not at the turn's end: proposals borrow entries that a follower's log may cut off. */
static void groups_see_lead_lost(struct groups *groups, struct partition *p)
{
    if (p->led == 0 || raft_leading(p->raft) == p->led)
        return;
    env_note(groups->env, NODE_TRACE_FOLLOWS, p->info.id, (int64_t)p->led);
    proposals_drop(groups->proposals, p, "the partition's leader has changed");
    index_sessions_close(&p->sessions);
    p->led = 0;
    p->hold = 0;
    p->reported = 0;
    groups->catalog_lost |= p->info.id == CATALOG_GROUP;
}

void groups_stepped(struct groups *groups, struct partition *p)
{
    groups_see_lead_lost(groups, p);
    groups_log_writes(groups, p);
    groups_send_messages(groups);
    if (p->dirty)
        return;
    p->dirty = true;
    LIST_INSERT_HEAD(&groups->dirty, p, dirty_place);
}

void groups_start(struct groups *groups, struct partition *p, struct instant quiet_until)
{
    raft_start(p->raft, groups->env->now, quiet_until, node_log_has_space(groups->log, 0));
    groups_stepped(groups, p);
}

void groups_forget(struct groups *groups, struct partition *p)
{
    raft_timers_set(&groups->timers, p, INSTANT_NEVER);
    if (p->dirty)
        LIST_REMOVE(p, dirty_place);
    if (p->writing)
        LIST_REMOVE(p, writing_place);
}

/* ---- events ---- */

void groups_persisted(struct groups *groups)
{
    for (struct partition *p = LIST_FIRST(&groups->writing), *next; p != NULL; p = next) {
        next = LIST_NEXT(p, writing_place);
        raft_persisted(p->raft, groups->env->now, groups->log->writer.written_lsn);
        groups_stepped(groups, p);
        if (p->logged_lsn <= groups->log->writer.written_lsn) {
            LIST_REMOVE(p, writing_place);
            p->writing = false;
        }
    }
}

static void groups_tick_group(struct groups *groups, struct partition *p)
{
    struct node_env *env = groups->env;
    if (!node_log_has_space(groups->log, 0)) { /* a tick may write a term and a vote */
        struct instant again =
            instant_add_ms(env->now, config_replication(env->config)->append_retry_ms);
        raft_timers_set(&groups->timers, p, again);
        return;
    }
    must(groups->outbox.count == 0); /* GROUPS-1 */
    raft_tick(p->raft, env->now);
    groups_stepped(groups, p); /* the deadline is set at the end of the turn */
}

void groups_tick(struct groups *groups, bool all)
{
    struct partition *p;
    if (groups->env->stop_error != 0)
        return;
    for (uint32_t i = 0; all && i < groups->partitions->count; i++)
        groups_tick_group(groups, groups->partitions->all[i]);
    while ((p = raft_timers_take_due(&groups->timers, groups->env->now)) != NULL)
        groups_tick_group(groups, p);
}

void groups_heard(struct groups *groups, uint32_t node)
{
    for (uint32_t i = 0; i < groups->partitions->count; i++) {
        struct partition *p = groups->partitions->all[i];
        raft_node_heard(p->raft, groups->env->now, node);
        groups_stepped(groups, p);
    }
}

/* Hands groups back to the members that should lead them, at most HAND_BACK_MAX at a time. So
 * leaders stay spread after a node has come back. A member gets its group once it has caught up. */
void groups_hand_back(struct groups *groups)
{
    uint32_t left = HAND_BACK_MAX;
    if (instant_before(groups->env->now, groups->hand_back_at))
        return;
    groups->hand_back_at = instant_add_ms(groups->env->now, HAND_BACK_MS);
    for (uint32_t i = 0; i < groups->partitions->count && left > 0; i++) {
        struct partition *p = groups->partitions->all[i];
        /* SETTLE-1: the word that a group owes nothing binds this leader alone. */
        if (p->led == 0 || p->ended || groups->env->stop_error != 0)
            continue;
        uint64_t to = p->info.members[0];
        const struct raft_member *member = raft_members_find(raft_members(p->raft), to);
        if (to == raft_self(p->raft) || member == NULL || !member->voter ||
            !peers_reach(groups->peers, raft_member_node(to)) ||
            instant_before(groups->env->now,
                           groups->peers->nodes[raft_member_node(to)].settled_at) ||
            raft_match(p->raft, to) < raft_last(p->raft))
            continue;
        if (raft_transfer(p->raft, groups->env->now, to) == RAFT_OK)
            left--;
        groups_stepped(groups, p);
    }
}

/* ---- the end of a turn ---- */

bool groups_see_leader(struct groups *groups, struct partition *p)
{
    uint64_t leading = raft_leading(p->raft);
    if (leading == p->led)
        return false;
    p->led = leading;
    p->reported = 0;
    env_note(groups->env, NODE_TRACE_LEADS, p->info.id, (int64_t)leading);
    if (leading != 0) {
        /* Earlier leaders' entries may rest on older indexes, or on fewer sharded keys. */
        p->indexed_from = p->key_sharding_from = raft_last(p->raft);
        buckets_led(groups->buckets, p);
    }
    return true;
}

/* Drops applied entries. A leader keeps the entries that a member lacks, unless the group's entries
 * take more than entries_max_bytes. Entries after p->hold stay. Without `all`, only a group with
 * enough bytes is compacted, and a follower only above entries_max_bytes. */
static void groups_compact_group(struct groups *groups, struct partition *p, bool all)
{
    uint64_t bytes = raft_memory_bytes(p->raft);
    uint64_t applied = raft_applied(p->raft);
    if (applied < raft_first(p->raft) || (!all && bytes < COMPACT_STEP_BYTES))
        return;
    uint64_t keep = applied;
    const struct raft_members *m = raft_members(p->raft);
    for (uint32_t i = 0; partition_led_term(p) != 0 && i < m->count; i++) {
        uint64_t match = raft_match(p->raft, m->all[i].id);
        if (m->all[i].id != raft_self(p->raft) && match < keep)
            keep = match;
    }
    bool much = bytes > (uint64_t)config_replication(groups->env->config)->entries_max_bytes;
    if (partition_led_term(p) == 0 && !all && !much)
        return;
    if (much)
        keep = applied;
    if (p->hold != 0 && p->hold < keep)
        keep = p->hold;
    if (keep >= raft_first(p->raft))
        raft_compact(p->raft, keep);
}

void groups_compact(struct groups *groups)
{
    for (uint32_t i = 0; i < groups->partitions->count; i++) {
        if (!groups->partitions->all[i]->no_state)
            groups_compact_group(groups, groups->partitions->all[i], true);
    }
}

struct partition *groups_next_dirty(struct groups *groups)
{
    struct partition *p = LIST_FIRST(&groups->dirty);
    if (p == NULL)
        return NULL;
    LIST_REMOVE(p, dirty_place);
    p->dirty = false;
    return p;
}

void groups_flush(struct groups *groups, struct partition *p)
{
    raft_flush(p->raft, groups->env->now);
    groups_see_lead_lost(groups, p);
    groups_log_writes(groups, p);
    groups_send_messages(groups);
}

void groups_rest(struct groups *groups, struct partition *p)
{
    groups_compact_group(groups, p, false);
    raft_timers_set(&groups->timers, p, raft_deadline(p->raft));
}

/* ---- the log ---- */

/* Start of the record of the first entry that is not applied; UINT64_MAX: no such entry. Records
 * are in the log in the order of their entries' indexes, so this record is the first one needed. */
static uint64_t groups_pinned_by(const struct partition *p)
{
    const struct raft_entry *e = raft_entry_at(p->raft, raft_applied(p->raft) + 1);
    must(e == NULL || raft_pinned_lsn(p->raft) == e->lsn); /* GROUPS-3 */
    return e == NULL ? UINT64_MAX : raft_pinned_lsn(p->raft) - log_record_size(e->payload.size);
}

uint64_t groups_pinned_lsn(const struct groups *groups)
{
    uint64_t pinned = UINT64_MAX;
    for (uint32_t i = 0; i < groups->partitions->count; i++) {
        uint64_t lsn = groups_pinned_by(groups->partitions->all[i]);
        pinned = lsn < pinned ? lsn : pinned;
    }
    return pinned;
}

/* Logs all entries that are not applied, in order; none of them if the log lacks space. */
static void groups_relog_group(struct groups *groups, struct partition *p)
{
    size_t bytes = 0;
    const struct raft_entry *e;
    const uint64_t first = raft_applied(p->raft) + 1;
    for (uint64_t at = first; (e = raft_entry_at(p->raft, at)) != NULL; at++)
        bytes += log_record_size(e->payload.size) + LOG_HEADER_SIZE;
    if (!node_log_has_space(groups->log, bytes))
        return;
    for (uint64_t at = first; (e = raft_entry_at(p->raft, at)) != NULL; at++) {
        raft_entry_logged(
            p->raft, at,
            log_writer_append(&groups->log->writer, e->kind, p->info.id, e->term, at, e->payload));
    }
    groups_logged(groups, p);
    groups->log->relogged_lsn = groups->log->writer.next_lsn;
}

void groups_relog(struct groups *groups, uint64_t lsn)
{
    for (uint32_t i = 0; i < groups->partitions->count; i++) {
        if (groups_pinned_by(groups->partitions->all[i]) < lsn)
            groups_relog_group(groups, groups->partitions->all[i]);
    }
}

/* ---- refusals ---- */

/* Whether the member's node can be reached, and still has the same generation. */
static bool groups_is_there(const struct groups *groups, uint64_t member)
{
    uint32_t node = raft_member_node(member);
    if (node > groups->env->node_count)
        return false; /* the process was started with fewer nodes than the data knows */
    uint32_t generation = node == groups->env->id ? groups->identity->generation
                                                  : groups->peers->nodes[node].generation;
    return raft_member_generation(member) == generation && peers_reach(groups->peers, node);
}

void groups_refuse(struct groups *groups, const struct operation *o, const struct partition *p)
{
    uint32_t leader = raft_member_node(raft_leader(p->raft));
    const struct raft_members *m = raft_members(p->raft);
    char what[32] = "the catalog";
    if (p->info.id != CATALOG_GROUP)
        snprintf(what, sizeof what, "partition %u", p->info.id);
    if (leader != 0 && leader != groups->env->id) {
        env_refuse(groups->env, o, REPLY_NOT_LEADER, "node %u does not lead %s, node %u does",
                   groups->env->id, what, leader)
            ->leader = leader;
        return;
    }
    uint32_t voters = 0, reachable = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        voters += m->all[i].voter;
        reachable += m->all[i].voter && groups_is_there(groups, m->all[i].id);
    }
    env_refuse(groups->env, o, REPLY_NOT_LEADER,
               "%s has no leader now: node %u reaches %u of its %u replicas, and it takes %u "
               "to elect one",
               what, groups->env->id, reachable, voters, voters / 2 + 1);
}

static void groups_refuse_proposal(struct groups *groups, const struct partition *p,
                                   const struct operation *o, enum raft_outcome outcome)
{
    if (outcome == RAFT_BUSY)
        env_refuse(groups->env, o, REPLY_OVERLOADED,
                   "partition %u has more writes on their way to its replicas than "
                   "group_max_bytes = %lld allows",
                   p->info.id, (long long)config_replication(groups->env->config)->group_max_bytes);
    else
        groups_refuse(groups, o, p);
}

bool groups_may_propose(struct groups *groups, const struct partition *p, const struct operation *o,
                        size_t payload)
{
    enum raft_outcome outcome = raft_may_propose(p->raft, payload, operation_is_owed(o));
    if (outcome != RAFT_OK)
        groups_refuse_proposal(groups, p, o, outcome);
    return outcome == RAFT_OK;
}

struct inflight *groups_propose(struct groups *groups, struct partition *p,
                                const struct operation *o, enum log_kind kind, struct slice head,
                                struct slice tail)
{
    uint64_t index;
    enum raft_outcome outcome =
        raft_propose(p->raft, groups->env->now, kind, head, tail, operation_is_owed(o), &index);
    if (outcome != RAFT_OK) {
        groups_refuse_proposal(groups, p, o, outcome);
        return NULL;
    }
    struct inflight *e =
        proposals_add(groups->proposals, p, o, kind, index, raft_entry_at(p->raft, index)->payload);
    groups_stepped(groups, p);
    return e;
}

/* After the message was received: notes which of its entries the group had already committed
 * without this replica, because the replica was away or is behind. */
static void groups_note_late(struct partition *p, const struct raft_message *m)
{
    uint64_t late = m->index + m->entry_count;
    if (m->commit < late)
        late = m->commit;
    if (raft_last(p->raft) < late)
        late = raft_last(p->raft);
    if (m->kind == RAFT_APPEND && m->entry_count > 0 && late > p->late_until)
        p->late_until = late;
}

void groups_receive(struct groups *groups, uint32_t from, const struct raft_message *m)
{
    struct partition *p = partitions_find(groups->partitions, m->group);
    struct raft_message answer;
    if (p == NULL && raft_member_node(m->from) == from && raft_answer_for_absent(m, &answer))
        raft_message_encode(peers_message(groups->peers, from, PEER_RAFT), &answer);
    size_t bytes = 0;
    for (uint32_t i = 0; i < m->entry_count; i++)
        bytes += log_record_size(m->entries[i]->payload.size);
    bool takes = p != NULL && !p->closing && raft_member_node(m->from) == from &&
                 (bytes == 0 ? node_log_has_space(groups->log, 0)
                             : proposals_may_follow(groups->proposals, bytes));
    if (!takes)
        return;                      /* the sender sends the message again */
    must(groups->outbox.count == 0); /* GROUPS-1 */
    raft_receive(p->raft, groups->env->now, m);
    groups_note_late(p, m);
    groups_stepped(groups, p);
}
