/* merge.c - two neighbouring partitions become one, at the node: entries of their logs.
 *
 * An entry of the upper partition's log freezes it: later entries change nothing, and the replicas
 * that have applied the entry serve nothing. Once all replicas have, the catalog gives the keys to
 * the lower partition. By an entry of the lower partition's log each of its replicas takes over the
 * keys of the upper replica on the same node. Nothing is copied: the items are in the node's store.
 * engine/catalog/merge.c has the order of the steps, docs/decisions/0022 why nothing is lost.
 *
 * Invariants
 *   ABSORB-1  A replica takes over a range only from a replica that is frozen by the entry that the
 *             catalog names. If the replica does not know that this entry is committed, its log
 *             still has the entry: the catalog knows that all replicas have applied it. Before it
 *             the log may have an earlier freezing entry, and the entry that thaws.
 *   ABSORB-2  A frozen replica keeps its state: no snapshot of the same epoch replaces it, unless
 *             the catalog has given the merge up.
 *   ABSORB-3  A replica counts as open with its new range once a crash cannot make the node forget
 *             that it has taken the range over. Then the upper replica belongs to no group.
 *   ABSORB-4  Once the leader has applied the entry, it sends no snapshot of the lower partition
 *             from before the entry. A replica that was opened after the entry takes none. */
#include <errno.h>

#include "base/probe.h"
#include "engine/node/apply/applier_internal.h"

/* ---- which step ---- */

static bool merge_is_proposed(const struct partition *p)
{
    const struct inflight *e;
    STAILQ_FOREACH (e, &p->proposals, place) {
        if (e->kind == LOG_MERGE || e->kind == LOG_SPLIT)
            return true;
    }
    return false;
}

static void merge_notify_frozen(const struct partition *p, struct reply *out)
{
    out->kind = ANSWER_FROZEN;
    out->frozen.index = p->frozen.index;
    out->frozen.term = p->frozen.term;
}

static bool merge_adjoins(const struct partition *p, const struct partition_info *info)
{
    return slice_equal(info->lo, p->info.lo) && p->info.hi.size > 0 &&
           slice_compare(p->info.hi, info->hi) < 0;
}

/* Whether the partition is as it was before this step. */
static bool merge_is_next(const struct partition *p, const struct partition_info *info)
{
    if (info->id != p->info.id || info->table_id != p->info.table_id)
        return false;
    switch (info->merge) {
    case MERGE_FREEZE:
        return info->epoch == p->info.epoch;
    case MERGE_THAW:
        return info->epoch == p->info.epoch + 1 && slice_equal(info->hi, p->info.hi);
    case MERGE_ABSORB:
        return info->epoch == p->info.epoch + 1 && merge_adjoins(p, info);
    case MERGE_NONE:
        break;
    }
    return false;
}

bool merge_is_valid(uint32_t group, struct slice payload)
{
    struct partition_info info;
    return partition_info_decode(payload, &info) == STATUS_OK && info.id == group &&
           group != CATALOG_GROUP && info.merge != MERGE_NONE;
}

/* ---- what is taken over ---- */

/* Whether the upper replica is frozen by that entry. After a restart the replica may not know that
 * the entry is committed: then it is applied here (ABSORB-1). The replica may still be frozen by an
 * earlier entry, of a merge that was given up. */
static bool merge_is_frozen_by(struct applier *applier, struct partition *upper,
                               const struct partition_info *info)
{
    if (upper == NULL || upper->no_state)
        return false;
    if (upper->frozen.index < info->frozen_index) {
        PROBE("a replica learns that it is frozen from the one that takes over");
        if (upper->frozen.index != 0)
            PROBE("a replica learns that it was thawed and frozen again");
        if (!applier->env->started)
            return applier_replay_to(applier, upper, info->frozen_index) == STATUS_OK &&
                   upper->frozen.index == info->frozen_index;
        applier_learn_commit(applier, upper, info->frozen_index, info->frozen_term);
    }
    return upper->frozen.index == info->frozen_index && upper->frozen.term == info->frozen_term;
}

static bool merge_may_take_over(struct applier *applier, const struct partition_info *info)
{
    return merge_is_frozen_by(applier, partitions_find(applier->partitions, info->merge_with),
                              info) ||
           MUTATED(MUTATION_ABSORB_AS_IT_IS);
}

/* ---- asked by the catalog ---- */

void applier_run_merge(struct applier *applier, const struct operation *o)
{
    const struct request *q = &o->request;
    struct partition_info info;
    struct partition *p = partitions_find(applier->partitions, q->partition);
    if (!merge_is_valid(q->partition, q->group.info) ||
        partition_info_decode(q->group.info, &info) != STATUS_OK) {
        env_refuse(applier->env, o, REPLY_MALFORMED, "malformed merge of partition %u",
                   q->partition);
    } else if (p == NULL || p->closing) {
        env_refuse(applier->env, o, REPLY_WRONG_PARTITION, "node %u does not hold partition %u",
                   applier->env->id, q->partition);
    } else if (info.merge == MERGE_FREEZE && partition_is_frozen(p) &&
               info.epoch == p->info.epoch) {
        merge_notify_frozen(p, env_reply(applier->env, o, REPLY_OK));
    } else if (p->led == 0) {
        raft_driver_refuse(applier->driver, o, p);
    } else if (info.merge != MERGE_FREEZE && p->info.epoch >= info.epoch) {
        env_reply(applier->env, o, REPLY_OK);
    } else if (!merge_is_next(p, &info)) {
        env_refuse(applier->env, o, REPLY_STALE_MAP, "partition %u differs from the one to merge",
                   p->info.id);
    } else if (merge_is_proposed(p)) {
        env_refuse(applier->env, o, REPLY_OVERLOADED, "partition %u is being merged or split",
                   p->info.id);
    } else if (info.merge == MERGE_ABSORB && !merge_may_take_over(applier, &info)) {
        /* Such an entry would stop every node of the group. */
        env_refuse(applier->env, o, REPLY_OVERLOADED, "node %u does not hold partition %u frozen",
                   applier->env->id, info.merge_with);
    } else if (proposals_may_write(applier->proposals, o, q->group.info.size) &&
               raft_driver_propose(applier->driver, p, o, LOG_MERGE, q->group.info,
                                   slice_make(NULL, 0)) != NULL) {
        env_note(applier->env, NODE_TRACE_MERGE_PROPOSED, p->info.id, (int64_t)info.merge);
    }
}

/* ---- applying it ---- */

static void merge_freeze(struct applier *applier, struct partition *p, const struct raft_entry *e,
                         struct applied *out)
{
    if (p->frozen.index == 0)
        p->frozen = (struct frozen){e->index, e->term};
    else
        PROBE("a partition is frozen twice");
    env_note(applier->env, NODE_TRACE_FROZEN, p->info.id, (int64_t)e->index);
    merge_notify_frozen(p, &out->reply);
}

static void merge_thaw(struct applier *applier, struct partition *p, uint64_t epoch)
{
    struct partition_info info = p->info;
    info.epoch = epoch;
    partition_set(p, &info);
    const bool frozen = p->frozen.index != 0;
    if (!frozen)
        PROBE("a merge is given up before anything was frozen");
    p->frozen = (struct frozen){0};
    p->thaws = false;
    if (frozen)
        applier_proposals_failed(applier, p, true);
    env_note(applier->env, NODE_TRACE_THAWED, p->info.id, (int64_t)epoch);
}

/* Adds up the balances of an earlier life. */
static void merge_join_kept(struct partition *p, struct partition *upper, uint64_t epoch)
{
    if (p->kept == NULL || upper->kept == NULL)
        return;
    p->kept->epoch = epoch;
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        struct admission_balances *b = &p->kept->balances[kind];
        const struct admission_balances *other = &upper->kept->balances[kind];
        b->cap_mcu += other->cap_mcu;
        b->allocation_mcu += other->allocation_mcu;
        b->burst_mcu += other->burst_mcu;
    }
}

static void merge_join_buckets(struct applier *applier, struct partition *p,
                               struct partition *upper)
{
    const struct admission_rates rates = partition_rates(&p->info);
    admission_leave(&p->admission, applier->env->now);
    admission_leave(&upper->admission, applier->env->now);
    admission_merge(&p->admission, &upper->admission, applier->env->config, &rates,
                    applier->env->now);
    bucket_mirrors_divided(applier->buckets, p);
}

static void merge_absorb(struct applier *applier, struct partition *p, const struct raft_entry *e,
                         const struct partition_info *target)
{
    struct partition *upper = partitions_find(applier->partitions, target->merge_with);
    if (!merge_may_take_over(applier, target)) {
        /* Do not guess: the node does not know which items those keys have. */
        PROBE("what is to be taken over is not here");
        env_stop(applier->env, ENOTRECOVERABLE);
        return;
    }
    struct partition_info info = p->info;
    if (applier->env->started) {
        log_writer_append(&applier->log->writer, LOG_SPLIT_DONE, p->info.id, 0, e->index,
                          slice_make(NULL, 0));
        p->absorbed_lsn = applier->log->writer.next_lsn;
    }
    info.epoch = target->epoch;
    info.hi = target->hi;
    memcpy(info.rate_mcu, target->rate_mcu, sizeof info.rate_mcu);
    if (upper != NULL && upper->info.key_sharding_version > info.key_sharding_version) {
        PROBE("a partition learns of sharded keys from the one that it absorbs");
        info.key_sharding_version = upper->info.key_sharding_version;
        applier_note_key_sharding(p);
    }
    partition_set(p, &info);
    partition_count_anew(p);
    partition_push_split(p, e->index, e->term);
    env_note(applier->env, NODE_TRACE_ABSORBED, p->info.id, (int64_t)target->merge_with);
    PROBE("a replica takes over what another one holds");
    if (upper == NULL)
        return;
    if (applier->env->started)
        merge_join_buckets(applier, p, upper);
    else
        merge_join_kept(p, upper, info.epoch);
    background_wake(applier->background, BACKGROUND_COUNT);
    applier_remove_partition(applier, upper);
    applier_proposals_failed(applier, p, false);
}

void merge_apply(struct applier *applier, struct partition *p, const struct raft_entry *e,
                 struct applied *out)
{
    struct partition_info info;
    must(partition_info_decode(e->payload, &info) == STATUS_OK);
    if (!merge_is_next(p, &info)) {
        PROBE("a step of a merge is in the log twice");
        out->reply.code = REPLY_STALE_MAP;
        return;
    }
    if (info.merge == MERGE_FREEZE)
        merge_freeze(applier, p, e, out);
    else if (info.merge == MERGE_THAW)
        merge_thaw(applier, p, info.epoch);
    else
        merge_absorb(applier, p, e, &info);
}

/* ---- snapshots ---- */

/* Only the absorbed replica here has any of these keys, and it has exactly these: the group does
 * not split before all its replicas have followed (MERGE-4). After a restart the absorbed replica
 * may not know that it is frozen: its group is gone and cannot tell it. */
bool merge_give_way(struct applier *applier, const struct partition *to, struct slice lo,
                    struct slice hi)
{
    struct partition *upper = NULL;
    for (uint32_t i = 0; i < applier->partitions->count; i++) {
        struct partition *p = applier->partitions->all[i];
        if (p == to || !partition_overlaps(p, lo, hi))
            continue;
        if (!slice_equal(p->info.lo, lo) || !slice_equal(p->info.hi, hi)) {
            PROBE("a snapshot brings what another replica still holds");
            return false;
        }
        upper = p;
    }
    if (upper == NULL)
        return true;
    PROBE("a replica gives way to a snapshot of the one that took over");
    applier_remove_partition(applier, upper);
    return true;
}
