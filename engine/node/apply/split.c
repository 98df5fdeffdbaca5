/* split.c - splits a partition: an entry of its log, applied by every replica at the same place.
 *
 * Applying the entry narrows the replica's range and creates the children's groups at once. Their
 * items are in the store already. A child begins at index 1, term 1, with the members of the
 * parent's log at that place, which are the same on every replica. The children get their shares of
 * the parent's buckets.
 *
 * Invariants
 *   SPLIT-1  Ranges of a node's replicas never overlap. While another replica holds some of the
 *       keys, no child is opened, and no snapshot of a wider range is taken.
 *   SPLIT-2  A range and its epoch change only with LOG_SPLIT, LOG_MERGE or a snapshot, never
 *       because the catalog says so. The epoch falls only in a replica without state and log
 *       (split_widen). A replica is opened with its group's range: until the group has split, the
 *       range from before the split. A replica that is opened later begins after the split and
 *       skips the entry.
 *   SPLIT-3  A replica that has acknowledged the entry will hold the children. It applies the entry
 *       also in the replay: LOG_SPLIT_DONE precedes every record of a child. It applies the entry
 *       before a snapshot overtakes it. So a majority with the entry is a majority with the
 *       children.
 *   SPLIT-4  While the parent's leader may serve a child's keys by lease, only the replica on that
 *       leader's node can be elected in the child (raft_start_child). A member that became a voter
 *       of the parent after the entry has applied the entry before it serves: it blocks nothing. */
#include "base/probe.h"
#include "engine/node/apply/applier_internal.h"

enum {
    CHILD_BASE = 1, /* index and term a child begins at */
};

/* ---- asked by the catalog ---- */

/* A replica that was opened after the split's decision begins with the epoch after the split, and
 * cannot tell whether the group has split. Older members know. This replica does not know which
 * members are older: it hands leadership to the next member in order, so that each has its turn. */
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
    raft_driver_stepped(applier->driver, p);
    raft_driver_refuse(applier->driver, o, p);
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
        split.parent.id != q->partition)
        env_refuse(applier->env, o, REPLY_MALFORMED, "malformed split of partition %u",
                   q->partition);
    else if (p == NULL || p->info.id == CATALOG_GROUP || p->ended)
        env_refuse(applier->env, o, REPLY_WRONG_PARTITION, "node %u does not hold partition %u",
                   applier->env->id, q->partition);
    else if (p->led == 0)
        raft_driver_refuse(applier->driver, o, p);
    else if (p->info.epoch >= split.parent.epoch && partition_splits(p)->count > 0)
        env_reply(applier->env, o, REPLY_OK);
    else if (p->info.epoch >= split.parent.epoch)
        split_hand_split_on(applier, p, o);
    else if (!split_is_of(p, &split))
        env_refuse(applier->env, o, REPLY_MALFORMED, "partition %u differs from the one to split",
                   p->info.id);
    else if (proposals_split(p))
        env_refuse(applier->env, o, REPLY_OVERLOADED, "partition %u is being split", p->info.id);
    else if (proposals_may_write(applier->proposals, o, q->split.bytes.size) &&
             raft_driver_propose(applier->driver, p, o, LOG_SPLIT, q->split.bytes,
                                 slice_make(NULL, 0)) != NULL)
        env_note(applier->env, NODE_TRACE_SPLIT_PROPOSED, p->info.id, (int64_t)split.parent.epoch);
}

/* ---- applying it ---- */

/* The info as the node keeps it, without the fields that only the catalog needs. */
static struct partition_info split_kept_info(const struct partition *parent,
                                             const struct partition_info *target, uint32_t node)
{
    struct partition_info info = *target;
    info.indexes = parent->info.indexes; /* as of this place in the log */
    info.indexes_version = parent->info.indexes_version;
    info.ttl = parent->info.ttl;
    info.stream = parent->info.stream;
    info.key_sharding_version = parent->info.key_sharding_version;
    info.parent = 0;
    memset(info.share_ppm, 0, sizeof info.share_ppm);
    if (partition_member_on(&info, node) != raft_self(parent->raft)) {
        /* The catalog wants other members by now. Until they have joined, this one is a member. */
        info.member_count = parent->info.member_count;
        memcpy(info.members, parent->info.members, sizeof info.members);
    }
    return info;
}

/* NULL: the child was opened before, without the split, or this replica was removed from the group:
 * then its keys are erased. */
static struct partition *split_create_child(struct applier *applier, const struct partition *parent,
                                            const struct partition_info *target, uint64_t since_lsn)
{
    struct raft_base base = {.index = CHILD_BASE, .term = CHILD_BASE};
    base.members = *raft_members_applied(parent->raft);
    if (partitions_find(applier->partitions, target->id) != NULL) {
        PROBE("a child was opened before the split is applied");
        return NULL;
    }
    if (raft_members_find(&base.members, raft_self(parent->raft)) == NULL) {
        PROBE("a replica that was removed applies a split");
        local_state_erase(applier->env, target->lo, target->hi, target->indexes);
        return NULL;
    }
    struct partition_info info = split_kept_info(parent, target, applier->env->id);
    struct partition *child = partition_create(&info);
    child->since_lsn = since_lsn;
    partitions_add(applier->partitions, child);
    raft_driver_create_raft(applier->driver, child, &base);
    partition_count_anew(child);
    env_note(applier->env, NODE_TRACE_PARTITION_OPENED, info.id, (int64_t)since_lsn);
    return child;
}

/* Divides the parent's balances and debts among the pieces, by their shares. */
static void split_divide_load(struct applier *applier, struct partition *parent,
                              const struct partition_split *s, struct partition *const children[])
{
    struct admission elsewhere[SPLIT_POINTS_MAX]; /* of children that are not created here */
    struct admission *pieces[SPLIT_POINTS_MAX + 1] = {&parent->admission};
    struct admission_rates rates[SPLIT_POINTS_MAX + 1] = {partition_rates(&s->parent)};
    uint32_t shares[ADMIT_KINDS][SPLIT_POINTS_MAX + 1];
    for (uint32_t i = 0; i < s->child_count; i++) {
        pieces[i + 1] = children[i] != NULL ? &children[i]->admission : &elsewhere[i];
        rates[i + 1] = partition_rates(&s->children[i]);
    }
    for (uint32_t kind = 0; kind < ADMIT_KINDS; kind++)
        partition_split_shares(s, kind, shares[kind]);
    const uint32_t *const by_kind[] = {shares[ADMIT_READ], shares[ADMIT_WRITE]};
    admission_leave(&parent->admission, applier->env->now);
    admission_split(pieces, s->child_count + 1, applier->env->config, rates, by_kind,
                    applier->env->now);
    bucket_mirrors_divided(applier->buckets, parent);
    for (uint32_t i = 0; i < s->child_count; i++) {
        if (children[i] != NULL)
            bucket_mirrors_divided(applier->buckets, children[i]);
    }
}

static void split_start_children(struct applier *applier, struct partition *parent,
                                 struct partition *const children[], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (children[i] == NULL)
            continue;
        raft_start_child(children[i]->raft, applier->env->now, parent->raft); /* SPLIT-4 */
        if (partition_led_term(parent) != 0)
            raft_campaign(children[i]->raft, applier->env->now);
        raft_driver_stepped(applier->driver, children[i]);
    }
}

/* The parent will notify these children of its lease grant (applier_stepped). Children of earlier
 * splits stay in the range of ids, because they may still lack a leader. */
static void split_follow_children(struct partition *p, struct partition *const children[],
                                  uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (children[i] == NULL)
            continue;
        children[i]->lineage.parent = p->info.id;
        if (p->lineage.child_last == 0)
            p->lineage.child_first = children[i]->info.id;
        p->lineage.child_last = children[i]->info.id;
    }
}

void split_apply(struct applier *applier, struct partition *p, const struct raft_entry *e,
                 UNUSED struct applied *out)
{
    struct partition_split s;
    struct partition *children[SPLIT_POINTS_MAX];
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
        return; /* the node's start begins the buckets and starts all replicas */
    background_wake(applier->background, BACKGROUND_COUNT);
    split_divide_load(applier, p, &s, children);
    proposals_void(applier->proposals, p);
    split_start_children(applier, p, children, s.child_count);
    applier_proposals_failed(applier, p, false);
}

/* The child with this id, if it must still follow its parent. NULL: no such child. */
static struct partition *split_followed_child(const struct applier *applier,
                                              const struct partition *p, uint32_t id)
{
    struct partition *child = partitions_find(applier->partitions, id);
    return child != NULL && child->lineage.parent == p->info.id ? child : NULL;
}

void applier_stepped(struct applier *applier, struct partition *p)
{
    bool leaderless = false;
    for (uint32_t id = p->lineage.child_first; id != 0 && id <= p->lineage.child_last; id++) {
        struct partition *child = split_followed_child(applier, p, id);
        if (child == NULL)
            continue;
        if (raft_leader(child->raft) != 0 || partition_led_term(child) != 0) {
            child->lineage.parent = 0;
            continue;
        }
        leaderless = true;
        raft_follow_parent(child->raft, applier->env->now, p->raft);
        if (partition_led_term(p) != 0) /* other members may have applied the split by now */
            raft_campaign(child->raft, applier->env->now);
        raft_driver_stepped(applier->driver, child);
    }
    if (!leaderless)
        p->lineage.child_first = p->lineage.child_last = 0;
}

void split_orphan(struct applier *applier, const struct partition *p)
{
    for (uint32_t id = p->lineage.child_first; id != 0 && id <= p->lineage.child_last; id++) {
        struct partition *child = split_followed_child(applier, p, id);
        if (child == NULL)
            continue;
        child->lineage.parent = 0;
        if (!applier->env->started)
            continue;
        PROBE("a child without a leader outlives its parent");
        raft_follow_parent(child->raft, applier->env->now, NULL);
        raft_driver_stepped(applier->driver, child);
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
        if (!applier_learn_commit(applier, p, index, splits->at[i].term))
            continue;
        PROBE("a split is applied before a snapshot overtakes it"); /* SPLIT-3 */
        return;
    }
}

static void split_take_info(struct partition *p, const struct partition_info *target)
{
    struct partition_info info = p->info;
    info.epoch = target->epoch;
    info.hi = target->hi;
    info.indexes = target->indexes;
    info.indexes_version = target->indexes_version;
    info.ttl = target->ttl;
    info.stream = target->stream;
    info.key_sharding_version = target->key_sharding_version;
    partition_set(p, &info);
}

/* Takes the wider range of an older epoch: the group may need this replica to make the split at
 * all. False: see split_take_range. */
static bool split_widen(struct applier *applier, struct partition *p,
                        const struct partition_info *target)
{
    bool state = !p->no_state && raft_applied(p->raft) > 0;
    bool past = state || raft_last(p->raft) > 0, opening = false;
    const struct inflight *e;
    STAILQ_FOREACH (e, &applier->proposals->own, place)
        opening |= e->kind == LOG_PARTITION; /* perhaps a child's */
    if (slice_compare(target->hi, p->info.hi) < 0)
        return false; /* from before a merge: no other replica here has the absorbed keys */
    if (past || opening || partitions_hold_range(applier->partitions, p->info.hi, target->hi) ||
        local_state_is_erasing(applier->env, p->info.hi, target->hi, target->indexes))
        return false;
    PROBE("a replica that knows of a split begins before it");
    split_take_info(p, target);
    return true;
}

bool split_take_range(struct applier *applier, struct partition *p,
                      const struct partition_info *target)
{
    if (target->epoch == p->info.epoch) {
        if (target->indexes_version != p->info.indexes_version ||
            target->key_sharding_version != p->info.key_sharding_version)
            split_take_info(p, target);
        return true;
    }
    if (target->epoch < p->info.epoch)
        return split_widen(applier, p, target);
    if (slice_compare(target->hi, p->info.hi) > 0) {
        if (!merge_give_way(applier, p, p->info.hi, target->hi))
            return false;
        split_take_info(p, target);
        p->absorbed_lsn = UINT64_MAX; /* until the snapshot is installed */
        return true;
    }
    PROBE("a snapshot brings a range that was split");
    struct buffer hi = {0};
    buffer_append_slice(&hi, p->info.hi);
    split_take_info(p, target);
    if (!slice_equal(buffer_slice(&hi), p->info.hi) &&
        !partitions_hold_range(applier->partitions, p->info.hi, buffer_slice(&hi)))
        local_state_erase(applier->env, p->info.hi, buffer_slice(&hi),
                          p->info.indexes); /* the children get these keys by their own snapshots */
    buffer_deinit(&hi);
    return true;
}
