/* node/groups.c - driving the replicas' raft: records to the log, messages to the peers, committed
 * entries to the store.
 *
 * After every call of raft its records are appended to the log and its messages to the envelopes;
 * a replica that was called is listed as dirty, and the end of the turn flushes its appends,
 * applies what is committed and sees who leads.
 *
 * Invariants
 *   G1  Outside a call of raft the outbox is empty, and nothing raft wants written is unlogged.
 *   G2  p->led is the term in which this node may propose; proposals in p->first .. p->last are all
 *       of that term and in the order of their indexes.
 *   G3  The log before node_groups_pinned_lsn holds nothing that is not in the store. */
#include <stdio.h>

#include "base/must.h"
#include "engine/node/node_internal.h"

enum {
    COMPACT_STEP_BYTES = 256 * 1024,
    HAND_BACK_MAX = 16,
};

void node_groups_init(struct node *n)
{
    const struct config *c = n->config;
    n->raft_shared = (struct raft_shared){
        .election = duration_ms(c->election_ms),
        .tell = duration_ms(c->commit_tell_ms),
        .retry = duration_ms(c->append_retry_ms),
        .inflight_max_bytes = (uint64_t)c->follower_max_bytes,
        .uncommitted_max_bytes = (uint64_t)c->group_max_bytes,
        .message_max_bytes = 1024 * 1024,
        .liveness = &n->liveness,
        .outbox = &n->outbox,
    };
}

void node_group_create(struct node *n, struct partition *p, const struct raft_base *base)
{
    must(p->raft == NULL);
    uint64_t self = partition_member_on(&p->info, n->options.id);
    must(self != 0);
    struct raft_options options = {
        .group = p->info.id,
        .self = self,
        .seed = prng_next(&n->prng),
        .shared = &n->raft_shared,
    };
    p->raft = raft_create(&options, base);
    p->no_state = base->no_state;
}

/* ---- what raft wants written and sent ---- */

static void logged(struct node *n, struct partition *p)
{
    p->logged_lsn = n->log.next_lsn;
    if (p->writing)
        return;
    p->writing = true;
    p->next_writing = n->writing;
    n->writing = p;
}

static void log_writes(struct node *n, struct partition *p)
{
    struct raft_writes w;
    if (!raft_take_writes(p->raft, &w))
        return;
    const struct slice nothing = {NULL, 0};
    p->stored = false;
    if (w.hard_state) {
        raft_hard_state_logged(p->raft, log_writer_append(&n->log, LOG_HARD_STATE, p->info.id,
                                                          w.term, w.vote, nothing));
    }
    for (uint64_t i = w.first; i <= w.last; i++) {
        const struct raft_entry *e = raft_entry_at(p->raft, i);
        raft_entry_logged(p->raft, i,
                          log_writer_append(&n->log, e->kind, p->info.id, e->term, i, e->payload));
        if (e->kind == LOG_WRITE && e->term != p->led)
            node_buckets_follow(n, p, e);
    }
    logged(n, p);
}

static void send_messages(struct node *n)
{
    for (size_t i = 0; i < n->outbox.count; i++) {
        const struct raft_message *m = &n->outbox.messages[i];
        uint32_t node = raft_member_node(m->to);
        if (node == n->options.id || node > n->options.node_count)
            continue; /* a generation of this node that is gone */
        raft_message_encode(node_peer_message(n, node, PEER_RAFT), m);
    }
    n->outbox.count = 0;
}

/* At once, not at the turn's end: proposals lend what a follower's log may cut off. */
static void see_lead_lost(struct node *n, struct partition *p)
{
    if (p->led == 0 || raft_leading(p->raft) == p->led)
        return;
    node_note(n, NODE_TRACE_FOLLOWS, p->info.id, (int64_t)p->led);
    node_drop_proposals(n, p, "the partition's leader has changed");
    p->led = 0;
    p->hold = 0;
    p->reported = 0;
    if (p->info.id == CATALOG_GROUP)
        node_settling_end(n);
}

void node_group_stepped(struct node *n, struct partition *p)
{
    see_lead_lost(n, p);
    log_writes(n, p);
    send_messages(n);
    if (p->dirty)
        return;
    p->dirty = true;
    p->next_dirty = n->dirty;
    n->dirty = p;
}

void node_group_start(struct node *n, struct partition *p, struct instant quiet_until)
{
    raft_start(p->raft, n->now, quiet_until, node_has_log_space(n, 0));
    node_group_stepped(n, p);
}

/* ---- events ---- */

void node_groups_persisted(struct node *n)
{
    struct partition *p = n->writing;
    n->writing = NULL;
    for (struct partition *next; p != NULL; p = next) {
        next = p->next_writing;
        p->writing = false;
        raft_persisted(p->raft, n->now, n->log.written_lsn);
        node_group_stepped(n, p);
        if (p->logged_lsn > n->log.written_lsn && !p->writing) {
            p->writing = true;
            p->next_writing = n->writing;
            n->writing = p;
        }
    }
}

void node_groups_tick(struct node *n, bool all)
{
    if (n->stop_error != 0 || (!all && instant_before(n->now, n->raft_at)))
        return;
    n->raft_at = INSTANT_NEVER;
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        struct partition *p = n->partitions[i];
        if (p == NULL)
            continue;
        bool due = !instant_before(n->now, raft_deadline(p->raft));
        if ((all || due) && node_has_log_space(n, 0)) { /* each may write a term and a vote */
            raft_tick(p->raft, n->now);
            node_group_stepped(n, p);
        } else if (due) {
            n->raft_at = instant_add(n->now, duration_ms(n->config->append_retry_ms));
        } else {
            n->raft_at = instant_earlier(n->raft_at, raft_deadline(p->raft));
        }
    }
}

void node_groups_heard(struct node *n, uint32_t node)
{
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        struct partition *p = n->partitions[i];
        if (p == NULL)
            continue;
        raft_node_heard(p->raft, n->now, node);
        node_group_stepped(n, p);
    }
}

/* Hands a group back to the member that should lead it, once that one has caught up: so leaders
 * stay spread after a node has come back. A few at a time. */
void node_groups_hand_back(struct node *n)
{
    uint32_t left = HAND_BACK_MAX;
    for (uint32_t i = 0; i < n->partitions_size && left > 0; i++) {
        struct partition *p = n->partitions[i];
        if (p == NULL || p->led == 0 || n->stop_error != 0)
            continue;
        uint64_t to = p->info.members[0];
        const struct raft_member *member = raft_members_find(raft_members(p->raft), to);
        if (to == raft_self(p->raft) || member == NULL || !member->voter ||
            !node_is_reachable(n, raft_member_node(to)) ||
            instant_before(n->now, n->peers[raft_member_node(to)].settled_at) ||
            raft_match(p->raft, to) < raft_last(p->raft))
            continue;
        if (raft_transfer(p->raft, n->now, to) == RAFT_OK)
            left--;
        node_group_stepped(n, p);
    }
}

/* ---- the end of a turn ---- */

static void answer(struct node *n, const struct inflight *e, const struct applied *applied)
{
    if (!e->answer)
        return;
    struct reply *r = node_push_reply(n, e->from, e->request_id, applied->code);
    r->verdict = e->verdict;
    r->consumed_mcu = e->consumed_mcu;
    r->collection_bytes = e->collection_bytes;
    r->found = applied->found;
    r->body = applied->body;
    r->text = applied->text;
}

void node_group_apply(struct node *n, struct partition *p)
{
    const struct raft_entry *entry;
    if (p->no_state)
        return;
    while ((entry = raft_next_committed(p->raft)) != NULL) {
        struct inflight *e = node_take_proposal(n, p, entry);
        struct applied applied;
        p->stored = false;
        node_apply(n, p, entry, e != NULL && e->want_old, &applied);
        if (n->stop_error != 0) {
            if (e != NULL)
                node_free_inflight(n, e);
            return;
        }
        if (e == NULL)
            continue;
        answer(n, e, &applied);
        node_free_inflight(n, e);
    }
}

static void see_who_leads(struct node *n, struct partition *p)
{
    uint64_t leading = raft_leading(p->raft);
    if (leading == p->led)
        return;
    p->led = leading;
    p->reported = 0;
    node_note(n, NODE_TRACE_LEADS, p->info.id, (int64_t)leading);
    if (leading != 0)
        node_buckets_led(n, p);
    if (p->info.id == CATALOG_GROUP)
        node_settling_start(n);
}

/* What followers may still need stays, while it is little; of a settled group nothing stays. */
static void compact(struct node *n, struct partition *p, bool all)
{
    uint64_t bytes = raft_memory_bytes(p->raft);
    uint64_t applied = raft_applied(p->raft);
    if (applied < raft_first(p->raft) || (!all && bytes < COMPACT_STEP_BYTES))
        return;
    uint64_t keep = applied;
    const struct raft_members *m = raft_members(p->raft);
    for (uint32_t i = 0; node_led_term(p) != 0 && i < m->count; i++) {
        uint64_t match = raft_match(p->raft, m->all[i].id);
        if (m->all[i].id != raft_self(p->raft) && match < keep)
            keep = match;
    }
    bool much = bytes > (uint64_t)n->config->entries_max_bytes;
    if (node_led_term(p) == 0 && !all && !much)
        return;
    if (much)
        keep = applied;
    if (p->hold != 0 && p->hold < keep)
        keep = p->hold;
    if (keep >= raft_first(p->raft))
        raft_compact(p->raft, keep);
}

void node_groups_compact(struct node *n)
{
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        if (n->partitions[i] != NULL && !n->partitions[i]->no_state)
            compact(n, n->partitions[i], true);
    }
}

void node_groups_end_turn(struct node *n)
{
    while (n->dirty != NULL) {
        struct partition *p = n->dirty;
        n->dirty = p->next_dirty;
        p->dirty = false;
        raft_flush(p->raft, n->now);
        see_lead_lost(n, p);
        log_writes(n, p);
        send_messages(n);
        see_who_leads(n, p);
        node_group_apply(n, p);
        see_who_leads(n, p);
        node_split_stepped(n, p);
        node_close_ended(n, p);
        if (p->reads_first != NO_ENTRY)
            node_run_reads(n, p);
        if (node_led_term(p) != 0)
            node_snapshot_offer(n, p);
        compact(n, p, false);
        n->raft_at = instant_earlier(n->raft_at, raft_deadline(p->raft));
    }
}

/* ---- the log ---- */

/* Start of the record of the first entry that is not applied; UINT64_MAX: there is none. Records of
 * entries stand in the log in the order of their indexes, so that entry's is the first of them. */
static uint64_t pinned_lsn(const struct partition *p)
{
    const struct raft_entry *e = raft_entry_at(p->raft, raft_applied(p->raft) + 1);
    must(e == NULL || raft_pinned_lsn(p->raft) == e->lsn);
    return e == NULL ? UINT64_MAX : raft_pinned_lsn(p->raft) - log_record_size(e->payload.size);
}

uint64_t node_groups_pinned_lsn(const struct node *n)
{
    uint64_t pinned = UINT64_MAX;
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        uint64_t lsn = n->partitions[i] == NULL ? UINT64_MAX : pinned_lsn(n->partitions[i]);
        pinned = lsn < pinned ? lsn : pinned;
    }
    return pinned;
}

/* All entries that are not applied, in order, or none. */
static void relog(struct node *n, struct partition *p)
{
    size_t bytes = 0;
    const struct raft_entry *e;
    const uint64_t first = raft_applied(p->raft) + 1;
    for (uint64_t at = first; (e = raft_entry_at(p->raft, at)) != NULL; at++)
        bytes += log_record_size(e->payload.size) + LOG_HEADER_SIZE;
    if (!node_has_log_space(n, bytes))
        return;
    for (uint64_t at = first; (e = raft_entry_at(p->raft, at)) != NULL; at++) {
        raft_entry_logged(p->raft, at,
                          log_writer_append(&n->log, e->kind, p->info.id, e->term, at, e->payload));
    }
    logged(n, p);
    n->relogged_lsn = n->log.next_lsn;
}

void node_groups_relog(struct node *n, uint64_t lsn)
{
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        if (n->partitions[i] != NULL && pinned_lsn(n->partitions[i]) < lsn)
            relog(n, n->partitions[i]);
    }
}

/* ---- refusals ---- */

/* Whether that replica's node can be reached, and is the one it was. */
static bool is_there(const struct node *n, uint64_t member)
{
    uint32_t node = raft_member_node(member);
    if (node > n->options.node_count)
        return false; /* started with fewer nodes than the data knows */
    uint32_t generation = node == n->options.id ? n->generation : n->peers[node].generation;
    return raft_member_generation(member) == generation && node_is_reachable(n, node);
}

void node_refuse_not_leader(struct node *n, const struct operation *o, const struct partition *p)
{
    uint32_t leader = raft_member_node(raft_leader(p->raft));
    const struct raft_members *m = raft_members(p->raft);
    char what[32] = "the catalog";
    if (p->info.id != CATALOG_GROUP)
        snprintf(what, sizeof what, "partition %u", p->info.id);
    if (leader != 0 && leader != n->options.id) {
        node_refuse(n, o->from, o->request.id, REPLY_NOT_LEADER,
                    "node %u does not lead %s, node %u does", n->options.id, what, leader);
    } else {
        uint32_t voters = 0, reachable = 0;
        for (uint32_t i = 0; i < m->count; i++) {
            voters += m->all[i].voter;
            reachable += m->all[i].voter && is_there(n, m->all[i].id);
        }
        node_refuse(n, o->from, o->request.id, REPLY_NOT_LEADER,
                    "%s has no leader now: node %u reaches %u of its %u replicas, and it takes %u "
                    "to elect one",
                    what, n->options.id, reachable, voters, voters / 2 + 1);
    }
    n->effects[n->effect_count - 1].reply.leader = leader == n->options.id ? 0 : leader;
}
