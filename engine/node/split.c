/* split.c - a partition cut into several: one entry of its log, applied by every replica at
 * the same place.
 *
 * Applying it narrows the replica's range and makes the children groups at once, of the data that
 * is in the store already. A child begins at index 1, term 1, with the members the parent's log has
 * at that place: the same on every replica. What was measured about the parent is divided.
 *
 * Invariants
 *   SPLIT-1  Ranges of a node's replicas never overlap: a child is not opened, nor a snapshot of a wider
 *       range taken, where another replica holds some of it.
 *   SPLIT-2  A range and its epoch change by LOG_SPLIT or a snapshot, never by what the catalog
 *       says, and the epoch never falls. A replica is opened as its group is: with the range from
 *       before a split until the group has split. One that is opened later begins behind the split
 *       and passes over its entry.
 *   SPLIT-3  Who has acknowledged the entry comes to hold the children: it applies the entry, in the
 *       replay too (LOG_SPLIT_DONE precedes every record of a child), or before a snapshot
 *       overtakes it. So a majority that has the entry is one that has the children.
 *   SPLIT-4  While the parent's leader may serve by a lease what is a child's now, nobody but its own
 *       node's replica is elected in the child (raft_start_child). One that became a voter of the
 *       parent after the entry has applied it before it serves, and holds nobody up.
 */
#include "base/must.h"
#include "base/probe.h"
#include "engine/node/applier_internal.h"

enum {
    CHILD_BASE = 1, /* index and term a child begins at */
};

/* ---- asked by the catalog ---- */

/* A replica that was opened after its group had split begins with the epoch after the split, and
 * cannot tell whether it was made. Members that were there before know. Which they are is not known
 * here: the next one in order gets its turn, so that all do. */
static void split_hand_split_on(struct applier *applier, struct partition *p,
                                const struct operation *o)
{
    const struct raft_members *m = raft_members(p->raft);
    uint64_t self = raft_self(p->raft);
    const struct raft_member *own = raft_members_find(m, self);
    uint32_t first = own != NULL ? (uint32_t)(own - m->all) + 1 : 0;
    PROBE("a replica that was opened after a split's decision leads");
    for (uint32_t i = 0; i < m->count; i++) {
        const struct raft_member *next = &m->all[(first + i) % m->count];
        bool can =
            next->id != self && next->voter && raft_match(p->raft, next->id) >= raft_last(p->raft);
        if (can && raft_transfer(p->raft, applier->env->now, next->id) == RAFT_OK)
            break;
    }
    groups_stepped(applier->groups, p);
    groups_refuse(applier->groups, o, p);
}

static bool split_is_proposed(const struct partition *p)
{
    const struct inflight *e;
    STAILQ_FOREACH (e, &p->proposals, place) {
        if (e->kind == LOG_SPLIT)
            return true;
    }
    return false;
}

static bool split_is_of(const struct partition *p, const struct partition_split *s)
{
    return s->parent.id == p->info.id && s->parent.table_id == p->info.table_id &&
           s->parent.epoch == p->info.epoch + 1 && slice_equal(s->parent.lo, p->info.lo) &&
           slice_equal(s->children[s->child_count - 1].hi, p->info.hi) &&
           slice_compare(p->info.lo, s->parent.hi) < 0;
}

void applier_run_split(struct applier *applier, const struct operation *o)
{
    const struct request *q = &o->request;
    struct partition_split split;
    struct partition *p = partitions_find(applier->partitions, q->partition);
    if (partition_split_decode(q->split.bytes, &split) != STATUS_OK ||
        split.parent.id != q->partition) {
        env_refuse(applier->env, o, REPLY_MALFORMED, "not a split of partition %u", q->partition);
        return;
    }
    if (p == NULL || p->info.id == CATALOG_GROUP) {
        env_refuse(applier->env, o, REPLY_WRONG_PARTITION, "node %u does not hold partition %u",
                   applier->env->id, q->partition);
        return;
    }
    if (p->led == 0) {
        groups_refuse(applier->groups, o, p);
        return;
    }
    if (p->info.epoch >= split.parent.epoch && partition_splits(p)->count > 0) {
        env_reply(applier->env, o, REPLY_OK);
        return;
    }
    if (p->info.epoch >= split.parent.epoch) {
        split_hand_split_on(applier, p, o);
        return;
    }
    if (!split_is_of(p, &split)) {
        env_refuse(applier->env, o, REPLY_MALFORMED, "partition %u is not what is to be split",
                   p->info.id);
        return;
    }
    if (split_is_proposed(p)) {
        env_refuse(applier->env, o, REPLY_OVERLOADED, "partition %u is being split", p->info.id);
        return;
    }
    if (proposals_may_write(applier->proposals, o, q->split.bytes.size) &&
        groups_propose(applier->groups, p, o, LOG_SPLIT, q->split.bytes, slice_make(NULL, 0)) !=
            NULL)
        env_note(applier->env, NODE_TRACE_SPLIT_PROPOSED, p->info.id, (int64_t)split.parent.epoch);
}

/* ---- applying it ---- */

/* As the node keeps it: what the catalog alone has to remember is left out. */
static struct partition_info split_kept_info(const struct partition *parent,
                                             const struct partition_info *told, uint32_t node)
{
    struct partition_info info = *told;
    info.parent = 0;
    memset(info.share_ppm, 0, sizeof info.share_ppm);
    if (partition_member_on(&info, node) != raft_self(parent->raft)) {
        /* The catalog wants others by now; until they are there, this replica is one. */
        info.member_count = parent->info.member_count;
        memcpy(info.members, parent->info.members, sizeof info.members);
    }
    return info;
}

/* NULL: there is one already, which has come without the split, or should be none. */
static struct partition *split_create_child(struct applier *applier, const struct partition *parent,
                                            const struct partition_info *told, uint64_t since_lsn)
{
    struct raft_base base = {.index = CHILD_BASE, .term = CHILD_BASE};
    base.members = *raft_members_applied(parent->raft);
    if (partitions_find(applier->partitions, told->id) != NULL) {
        PROBE("a child was opened before the split is applied");
        return NULL;
    }
    if (raft_members_find(&base.members, raft_self(parent->raft)) == NULL) {
        PROBE("a replica that was removed applies a split");
        rows_erase(applier->env, told->lo, told->hi);
        return NULL;
    }
    struct partition_info info = split_kept_info(parent, told, applier->env->id);
    struct partition *child = partition_create(&info);
    child->since_lsn = since_lsn;
    partitions_add(applier->partitions, child);
    groups_create_raft(applier->groups, child, &base);
    partition_count_anew(child);
    env_note(applier->env, NODE_TRACE_PARTITION_OPENED, info.id, (int64_t)since_lsn);
    return child;
}

/* What was measured about the parent, and what it owes, goes to the pieces by their shares. */
static void split_divide_load(struct applier *applier, struct partition *parent,
                              const struct partition_split *s, struct partition *const children[])
{
    struct admission elsewhere[SPLIT_CUTS_MAX]; /* of children that are not made here */
    struct admission *pieces[SPLIT_CUTS_MAX + 1] = {&parent->admission};
    struct admission_rates rates[SPLIT_CUTS_MAX + 1] = {partition_rates(&s->parent)};
    uint32_t shares[ADMIT_KINDS][SPLIT_CUTS_MAX + 1];
    for (uint32_t i = 0; i < s->child_count; i++) {
        pieces[i + 1] = children[i] != NULL ? &children[i]->admission : &elsewhere[i];
        rates[i + 1] = partition_rates(&s->children[i]);
    }
    for (uint32_t kind = 0; kind < ADMIT_KINDS; kind++)
        partition_split_shares(s, kind, shares[kind]);
    const uint32_t *const by_kind[] = {shares[ADMIT_READ], shares[ADMIT_WRITE]};
    admission_leave(&parent->admission, applier->env->now);
    admission_divide(pieces, s->child_count + 1, applier->env->config, rates, by_kind,
                     applier->env->now);
    buckets_divided(applier->buckets, parent);
    for (uint32_t i = 0; i < s->child_count; i++) {
        if (children[i] != NULL)
            buckets_divided(applier->buckets, children[i]);
    }
}

static void split_start_children(struct applier *applier, struct partition *parent,
                                 struct partition *const children[], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (children[i] == NULL)
            continue;
        raft_start_child(children[i]->raft, applier->env->now, parent->raft);
        if (partition_led_term(parent) != 0)
            raft_campaign(children[i]->raft, applier->env->now);
        groups_stepped(applier->groups, children[i]);
    }
}

/* Those of earlier splits may be without a leader still. */
static void split_follow_children(struct partition *p, struct partition *const children[],
                                  uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (children[i] == NULL)
            continue;
        children[i]->parent = p->info.id;
        if (p->child_last == 0)
            p->child_first = children[i]->info.id;
        p->child_last = children[i]->info.id;
    }
}

void split_apply(struct applier *applier, struct partition *p, const struct raft_entry *e,
                 struct applied *out)
{
    (void)out;
    struct partition_split s;
    struct partition *children[SPLIT_CUTS_MAX];
    must(partition_split_decode(e->payload, &s) == STATUS_OK);
    if (!split_is_of(p, &s)) {
        PROBE("a split is in the log twice");
        return;
    }
    uint64_t lsn = applier->env->started ? applier->log->writer.next_lsn : applier->log->replay_lsn;
    if (applier->env->started)
        log_writer_append(&applier->log->writer, LOG_SPLIT_DONE, p->info.id, 0, e->index,
                          slice_make(NULL, 0));
    for (uint32_t i = 0; i < s.child_count; i++)
        children[i] = split_create_child(applier, p, &s.children[i], lsn);
    struct partition_info info = split_kept_info(p, &s.parent, applier->env->id);
    partition_set(p, &info);
    partition_count_anew(p);
    partition_push_split(p, e->index, e->term);
    split_follow_children(p, children, s.child_count);
    env_note(applier->env, NODE_TRACE_SPLIT, p->info.id, (int64_t)e->index);
    if (!applier->env->started)
        return; /* everybody starts, and buckets begin, with the node */
    background_wake(applier->background, BACKGROUND_COUNT);
    split_divide_load(applier, p, &s, children);
    proposals_void(applier->proposals, p);
    split_start_children(applier, p, children, s.child_count);
}

/* The one with this id, if it is a child that is still to be followed; or NULL. */
static struct partition *split_followed_child(const struct applier *applier,
                                              const struct partition *p, uint32_t id)
{
    struct partition *child = partitions_find(applier->partitions, id);
    return child != NULL && child->parent == p->info.id ? child : NULL;
}

void applier_stepped(struct applier *applier, struct partition *p)
{
    bool leaderless = false;
    for (uint32_t id = p->child_first; id != 0 && id <= p->child_last; id++) {
        struct partition *child = split_followed_child(applier, p, id);
        if (child == NULL)
            continue;
        if (raft_leader(child->raft) != 0 || partition_led_term(child) != 0) {
            child->parent = 0;
            continue;
        }
        leaderless = true;
        raft_follow_parent(child->raft, applier->env->now, p->raft);
        if (partition_led_term(p) != 0) /* the others may have applied it by now */
            raft_campaign(child->raft, applier->env->now);
        groups_stepped(applier->groups, child);
    }
    if (!leaderless)
        p->child_first = p->child_last = 0;
}

void split_orphan(struct applier *applier, const struct partition *p)
{
    for (uint32_t id = p->child_first; id != 0 && id <= p->child_last; id++) {
        struct partition *child = split_followed_child(applier, p, id);
        if (child == NULL)
            continue;
        child->parent = 0;
        if (!applier->env->started)
            continue;
        PROBE("a child without a leader outlives its parent");
        raft_follow_parent(child->raft, applier->env->now, NULL);
        groups_stepped(applier->groups, child);
    }
}

/* ---- snapshots ---- */

void split_catch_up(struct applier *applier, struct partition *p,
                    const struct split_history *splits)
{
    for (uint32_t i = splits->count; i-- > 0 && !p->no_state;) {
        uint64_t index = splits->at[i].index;
        if (index <= raft_applied(p->raft))
            return;
        if (!raft_learn_commit(p->raft, index, splits->at[i].term))
            continue;
        PROBE("a split is applied before a snapshot overtakes it");
        applier_apply_committed(applier, p);
        return;
    }
}

static void split_take_info(struct partition *p, const struct partition_info *told)
{
    struct partition_info info = p->info;
    info.epoch = told->epoch;
    info.hi = told->hi;
    partition_set(p, &info);
}

/* The group may need this replica before it can split at all. */
static bool split_widen(struct applier *applier, struct partition *p,
                        const struct partition_info *told)
{
    bool state = !p->no_state && raft_applied(p->raft) > 0;
    bool past = state || raft_last(p->raft) > 0, opening = false;
    const struct inflight *e;
    STAILQ_FOREACH (e, &applier->proposals->own, place)
        opening |= e->kind == LOG_PARTITION; /* perhaps of a child */
    if (slice_compare(told->hi, p->info.hi) < 0)
        return false; /* from before a merge: what was taken over since is nowhere else */
    if (past || opening || partitions_hold_range(applier->partitions, p->info.hi, told->hi) ||
        rows_are_erasing(applier->env, p->info.hi, told->hi))
        return false;
    PROBE("a replica that knows of a split begins before it");
    split_take_info(p, told);
    return true;
}

bool split_take_range(struct applier *applier, struct partition *p,
                      const struct partition_info *told)
{
    if (told->epoch == p->info.epoch)
        return true;
    if (told->epoch < p->info.epoch)
        return split_widen(applier, p, told);
    if (slice_compare(told->hi, p->info.hi) > 0) {
        if (!merge_give_way(applier, p, p->info.hi, told->hi))
            return false;
        split_take_info(p, told);
        p->absorbed_lsn = UINT64_MAX; /* until it is installed */
        return true;
    }
    PROBE("a snapshot brings a range that was split");
    struct buffer hi = {0};
    buffer_append_slice(&hi, p->info.hi);
    split_take_info(p, told);
    if (!slice_equal(buffer_slice(&hi), p->info.hi) &&
        !partitions_hold_range(applier->partitions, p->info.hi, buffer_slice(&hi)))
        rows_erase(applier->env, p->info.hi,
                   buffer_slice(&hi)); /* the children's own snapshots bring theirs */
    buffer_deinit(&hi);
    return true;
}
