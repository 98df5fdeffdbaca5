/* raft_driver.c - drives the replicas' raft: records to the log, messages to the peers,
 * deadlines. */
#include "engine/node/replica/raft_driver.h"

#include <stdio.h>

#include "base/settings/replication.h"

enum {
    COMPACT_STEP_BYTES = 256 * 1024,
    HAND_BACK_MAX = 16,
    HAND_BACK_MS = 2000,
};

void raft_driver_init(struct raft_driver *driver)
{
    const struct config *c = driver->env->config;
    driver->shared = (struct raft_shared){
        .election = duration_ms(config_replication(c)->election_ms),
        .notify = duration_ms(config_replication(c)->commit_notify_ms),
        .retry = duration_ms(config_replication(c)->append_retry_ms),
        .inflight_max_bytes = (uint64_t)config_replication(c)->follower_max_bytes,
        .uncommitted_max_bytes = (uint64_t)config_replication(c)->group_max_bytes,
        .message_max_bytes = 1024 * 1024,
        .liveness = &driver->peers->liveness,
        .outbox = &driver->outbox,
    };
}

void raft_driver_create_raft(struct raft_driver *driver, struct partition *p,
                             const struct raft_base *base)
{
    must(p->raft == NULL);
    uint64_t self = partition_member_on(&p->info, driver->env->id);
    must(self != 0);
    struct raft_options options = {
        .group = p->info.id,
        .self = self,
        .seed = prng_next(&driver->env->prng),
        .shared = &driver->shared,
    };
    p->raft = raft_create(&options, base);
    p->no_state = base->no_state;
}

void raft_driver_deinit(struct raft_driver *driver)
{
    raft_timers_deinit(&driver->timers);
    raft_outbox_deinit(&driver->outbox);
}

/* ---- what raft wants written and sent ---- */

static void raft_driver_logged(struct raft_driver *driver, struct partition *p)
{
    p->logged_lsn = driver->log->writer.next_lsn;
    if (p->writing)
        return;
    p->writing = true;
    LIST_INSERT_HEAD(&driver->writing, p, writing_place);
}

static void raft_driver_log_writes(struct raft_driver *driver, struct partition *p)
{
    struct raft_writes w;
    if (!raft_take_writes(p->raft, &w))
        return;
    const struct slice nothing = {NULL, 0};
    p->stored = false;
    if (w.hard_state) {
        raft_hard_state_logged(p->raft, log_writer_append(&driver->log->writer, LOG_HARD_STATE,
                                                          p->info.id, w.term, w.vote, nothing));
    }
    for (uint64_t i = w.first; i <= w.last; i++) {
        const struct raft_entry *e = raft_entry_at(p->raft, i);
        raft_entry_logged(
            p->raft, i,
            log_writer_append(&driver->log->writer, e->kind, p->info.id, e->term, i, e->payload));
        if (e->kind == LOG_WRITE && e->term != p->led)
            bucket_mirrors_follow(driver->buckets, p, e);
    }
    raft_driver_logged(driver, p);
}

static void raft_driver_send_messages(struct raft_driver *driver)
{
    for (size_t i = 0; i < driver->outbox.count; i++) {
        const struct raft_message *m = &driver->outbox.messages[i];
        uint32_t node = raft_member_node(m->to);
        if (node == driver->env->id || node > driver->env->node_count)
            continue; /* an earlier generation of this node, or an unknown node */
        raft_message_encode(peers_message(driver->peers, node, PEER_RAFT), m);
    }
    driver->outbox.count = 0;
}

/* At once, not at the turn's end: proposals borrow entries that a follower's log may cut off. */
static void raft_driver_check_lead_lost(struct raft_driver *driver, struct partition *p)
{
    if (p->led == 0 || raft_leading(p->raft) == p->led)
        return;
    env_note(driver->env, NODE_TRACE_FOLLOWS, p->info.id, (int64_t)p->led);
    proposals_drop(driver->proposals, p, "the partition's leader has changed");
    index_sessions_close(&p->sessions);
    p->led = 0;
    p->hold = 0;
    p->reported = 0;
    driver->catalog_lost |= p->info.id == CATALOG_GROUP;
}

void raft_driver_stepped(struct raft_driver *driver, struct partition *p)
{
    raft_driver_check_lead_lost(driver, p);
    raft_driver_log_writes(driver, p);
    raft_driver_send_messages(driver);
    if (p->dirty)
        return;
    p->dirty = true;
    LIST_INSERT_HEAD(&driver->dirty, p, dirty_place);
}

void raft_driver_start(struct raft_driver *driver, struct partition *p, struct instant quiet_until)
{
    raft_start(p->raft, driver->env->now, quiet_until, node_log_has_space(driver->log, 0));
    raft_driver_stepped(driver, p);
}

void raft_driver_remove(struct raft_driver *driver, struct partition *p)
{
    raft_timers_set(&driver->timers, p, INSTANT_NEVER);
    if (p->dirty)
        LIST_REMOVE(p, dirty_place);
    if (p->writing)
        LIST_REMOVE(p, writing_place);
}

/* ---- events ---- */

void raft_driver_persisted(struct raft_driver *driver)
{
    for (struct partition *p = LIST_FIRST(&driver->writing), *next; p != NULL; p = next) {
        next = LIST_NEXT(p, writing_place);
        raft_persisted(p->raft, driver->env->now, driver->log->writer.written_lsn);
        raft_driver_stepped(driver, p);
        if (p->logged_lsn <= driver->log->writer.written_lsn) {
            LIST_REMOVE(p, writing_place);
            p->writing = false;
        }
    }
}

static void raft_driver_tick_group(struct raft_driver *driver, struct partition *p)
{
    struct node_env *env = driver->env;
    if (!node_log_has_space(driver->log, 0)) { /* a tick may write a term and a vote */
        struct instant again =
            instant_add_ms(env->now, config_replication(env->config)->append_retry_ms);
        raft_check_lapse(p->raft, env->now); /* the end of a turn may set the timer anew */
        raft_timers_set(&driver->timers, p, again);
        return;
    }
    must(driver->outbox.count == 0); /* DRIVER-1 */
    raft_tick(p->raft, env->now);
    raft_driver_stepped(driver, p); /* the deadline is set at the end of the turn */
}

void raft_driver_tick(struct raft_driver *driver, bool all)
{
    struct partition *p;
    if (driver->env->stop_error != 0)
        return;
    for (uint32_t i = 0; all && i < driver->partitions->count; i++)
        raft_driver_tick_group(driver, driver->partitions->all[i]);
    while ((p = raft_timers_take_due(&driver->timers, driver->env->now)) != NULL)
        raft_driver_tick_group(driver, p);
}

void raft_driver_support_changed(struct raft_driver *driver, uint32_t node)
{
    for (uint32_t i = 0; i < driver->partitions->count; i++) {
        struct partition *p = driver->partitions->all[i];
        raft_support_changed(p->raft, driver->env->now, node);
        raft_driver_stepped(driver, p);
    }
}

/* Hands groups back to the members that should lead them, at most HAND_BACK_MAX at a time. So
 * leaders stay spread after a node has come back. A member gets its group once it has caught up. */
void raft_driver_hand_back(struct raft_driver *driver)
{
    uint32_t left = HAND_BACK_MAX;
    if (instant_before(driver->env->now, driver->hand_back_at))
        return;
    driver->hand_back_at = instant_add_ms(driver->env->now, HAND_BACK_MS);
    for (uint32_t i = 0; i < driver->partitions->count && left > 0; i++) {
        struct partition *p = driver->partitions->all[i];
        /* RECONCILE-1: the report of no pending parts binds this leader alone. */
        if (p->led == 0 || p->ended || driver->env->stop_error != 0)
            continue;
        uint64_t to = p->info.members[0];
        const struct raft_member *member = raft_members_find(raft_members(p->raft), to);
        if (to == raft_self(p->raft) || member == NULL || !member->voter ||
            !peers_reach(driver->peers, raft_member_node(to)) ||
            instant_before(driver->env->now,
                           driver->peers->nodes[raft_member_node(to)].settled_at) ||
            raft_match(p->raft, to) < raft_last(p->raft))
            continue;
        if (raft_transfer(p->raft, driver->env->now, to) == RAFT_OK)
            left--;
        raft_driver_stepped(driver, p);
    }
}

/* ---- the end of a turn ---- */

bool raft_driver_check_leader(struct raft_driver *driver, struct partition *p)
{
    uint64_t leading = raft_leading(p->raft);
    if (leading == p->led)
        return false;
    p->led = leading;
    p->reported = 0;
    env_note(driver->env, NODE_TRACE_LEADS, p->info.id, (int64_t)leading);
    if (leading != 0) {
        /* Earlier leaders' entries may rest on older indexes, or on fewer sharded keys. */
        p->index_versions.from = p->index_versions.key_sharding_from = raft_last(p->raft);
        bucket_mirrors_led(driver->buckets, p);
    }
    return true;
}

/* Drops applied entries. A leader keeps the entries that a member lacks, unless the group's entries
 * take more than entries_max_bytes. Entries after p->hold stay. Without `all`, only a group with
 * enough bytes is compacted, and a follower only above entries_max_bytes. */
static void raft_driver_compact_group(struct raft_driver *driver, struct partition *p, bool all)
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
    bool much = bytes > (uint64_t)config_replication(driver->env->config)->entries_max_bytes;
    if (partition_led_term(p) == 0 && !all && !much)
        return;
    if (much)
        keep = applied;
    if (p->hold != 0 && p->hold < keep)
        keep = p->hold;
    if (keep >= raft_first(p->raft))
        raft_compact(p->raft, keep);
}

void raft_driver_compact(struct raft_driver *driver)
{
    for (uint32_t i = 0; i < driver->partitions->count; i++) {
        if (!driver->partitions->all[i]->no_state)
            raft_driver_compact_group(driver, driver->partitions->all[i], true);
    }
}

struct partition *raft_driver_next_dirty(struct raft_driver *driver)
{
    struct partition *p = LIST_FIRST(&driver->dirty);
    if (p == NULL)
        return NULL;
    LIST_REMOVE(p, dirty_place);
    p->dirty = false;
    return p;
}

void raft_driver_flush(struct raft_driver *driver, struct partition *p)
{
    raft_flush(p->raft, driver->env->now);
    raft_driver_check_lead_lost(driver, p);
    raft_driver_log_writes(driver, p);
    raft_driver_send_messages(driver);
}

void raft_driver_rest(struct raft_driver *driver, struct partition *p)
{
    raft_driver_compact_group(driver, p, false);
    raft_timers_set(&driver->timers, p, raft_deadline(p->raft));
}

/* ---- the log ---- */

/* Start of the record of the first entry that is not applied; UINT64_MAX: no such entry. Records
 * are in the log in the order of their entries' indexes, so this record is the first one needed. */
static uint64_t raft_driver_pinned_by(const struct partition *p)
{
    const struct raft_entry *e = raft_entry_at(p->raft, raft_applied(p->raft) + 1);
    must(e == NULL || raft_pinned_lsn(p->raft) == e->lsn); /* DRIVER-3 */
    return e == NULL ? UINT64_MAX : raft_pinned_lsn(p->raft) - log_record_size(e->payload.size);
}

uint64_t raft_driver_pinned_lsn(const struct raft_driver *driver)
{
    uint64_t pinned = UINT64_MAX;
    for (uint32_t i = 0; i < driver->partitions->count; i++) {
        uint64_t lsn = raft_driver_pinned_by(driver->partitions->all[i]);
        pinned = MIN(lsn, pinned);
    }
    return pinned;
}

/* Logs all entries that are not applied, in order; none of them if the log lacks space. */
static void raft_driver_relog_group(struct raft_driver *driver, struct partition *p)
{
    size_t bytes = 0;
    const struct raft_entry *e;
    const uint64_t first = raft_applied(p->raft) + 1;
    for (uint64_t at = first; (e = raft_entry_at(p->raft, at)) != NULL; at++)
        bytes += log_record_size(e->payload.size) + LOG_HEADER_SIZE;
    if (!node_log_has_space(driver->log, bytes))
        return;
    for (uint64_t at = first; (e = raft_entry_at(p->raft, at)) != NULL; at++) {
        raft_entry_logged(
            p->raft, at,
            log_writer_append(&driver->log->writer, e->kind, p->info.id, e->term, at, e->payload));
    }
    raft_driver_logged(driver, p);
    driver->log->relogged_lsn = driver->log->writer.next_lsn;
}

void raft_driver_relog(struct raft_driver *driver, uint64_t lsn)
{
    for (uint32_t i = 0; i < driver->partitions->count; i++) {
        if (raft_driver_pinned_by(driver->partitions->all[i]) < lsn)
            raft_driver_relog_group(driver, driver->partitions->all[i]);
    }
}

/* ---- refusals ---- */

/* Whether the member's node can be reached, and still has the same generation. */
static bool raft_driver_is_there(const struct raft_driver *driver, uint64_t member)
{
    uint32_t node = raft_member_node(member);
    if (node > driver->env->node_count)
        return false; /* the process was started with fewer nodes than the data knows */
    uint32_t generation = node == driver->env->id ? driver->identity->generation
                                                  : driver->peers->nodes[node].generation;
    return raft_member_generation(member) == generation && peers_reach(driver->peers, node);
}

void raft_driver_refuse(struct raft_driver *driver, const struct operation *o,
                        const struct partition *p)
{
    uint32_t leader = raft_member_node(raft_leader(p->raft));
    const struct raft_members *m = raft_members(p->raft);
    char what[32] = "the catalog";
    if (p->info.id != CATALOG_GROUP)
        snprintf(what, sizeof what, "partition %u", p->info.id);
    if (leader != 0 && leader != driver->env->id) {
        env_refuse(driver->env, o, REPLY_NOT_LEADER, "node %u does not lead %s, node %u does",
                   driver->env->id, what, leader)
            ->leader = leader;
        return;
    }
    uint32_t voters = 0, reachable = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        voters += m->all[i].voter;
        reachable += m->all[i].voter && raft_driver_is_there(driver, m->all[i].id);
    }
    env_refuse(driver->env, o, REPLY_NOT_LEADER,
               "%s has no leader now: node %u reaches %u of its %u replicas, and it takes %u "
               "to elect one",
               what, driver->env->id, reachable, voters, voters / 2 + 1);
}

static void raft_driver_refuse_proposal(struct raft_driver *driver, const struct partition *p,
                                        const struct operation *o, enum raft_outcome outcome)
{
    if (outcome == RAFT_BUSY)
        env_refuse(driver->env, o, REPLY_OVERLOADED,
                   "partition %u has more uncommitted writes than group_max_bytes = %lld",
                   p->info.id, (long long)config_replication(driver->env->config)->group_max_bytes);
    else
        raft_driver_refuse(driver, o, p);
}

bool raft_driver_may_propose(struct raft_driver *driver, const struct partition *p,
                             const struct operation *o, size_t payload)
{
    enum raft_outcome outcome = raft_may_propose(p->raft, payload, operation_is_mandatory(o));
    if (outcome != RAFT_OK)
        raft_driver_refuse_proposal(driver, p, o, outcome);
    return outcome == RAFT_OK;
}

struct inflight *raft_driver_propose(struct raft_driver *driver, struct partition *p,
                                     const struct operation *o, enum log_kind kind,
                                     struct slice head, struct slice tail)
{
    uint64_t index;
    enum raft_outcome outcome = raft_propose(p->raft, driver->env->now, kind, head, tail,
                                             operation_is_mandatory(o), &index);
    if (outcome != RAFT_OK) {
        raft_driver_refuse_proposal(driver, p, o, outcome);
        return NULL;
    }
    struct inflight *e =
        proposals_add(driver->proposals, p, o, kind, index, raft_entry_at(p->raft, index)->payload);
    raft_driver_stepped(driver, p);
    return e;
}

/* After the message was received: notes which of its entries the group had already committed
 * without this replica, because the replica was away or is behind. */
static void raft_driver_note_late(struct partition *p, const struct raft_message *m)
{
    uint64_t late = m->index + m->entry_count;
    late = MIN(late, m->commit);
    late = MIN(late, raft_last(p->raft));
    if (m->kind == RAFT_APPEND && m->entry_count > 0 && late > p->late_until)
        p->late_until = late;
}

void raft_driver_receive(struct raft_driver *driver, uint32_t from, const struct raft_message *m)
{
    struct partition *p = partitions_find(driver->partitions, m->group);
    struct raft_message answer;
    if (p == NULL && raft_member_node(m->from) == from && raft_answer_for_absent(m, &answer))
        raft_message_encode(peers_message(driver->peers, from, PEER_RAFT), &answer);
    size_t bytes = 0;
    for (uint32_t i = 0; i < m->entry_count; i++)
        bytes += log_record_size(m->entries[i]->payload.size);
    bool takes = p != NULL && !p->closing && raft_member_node(m->from) == from &&
                 (bytes == 0 ? node_log_has_space(driver->log, 0)
                             : proposals_may_follow(driver->proposals, bytes));
    if (!takes)
        return;                      /* the sender sends the message again */
    must(driver->outbox.count == 0); /* DRIVER-1 */
    raft_receive(p->raft, driver->env->now, m);
    raft_driver_note_late(p, m);
    raft_driver_stepped(driver, p);
}
