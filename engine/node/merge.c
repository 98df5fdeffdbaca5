/* node/merge.c - two partitions that adjoin become one, at the node: entries of their logs.
 *
 * The upper partition's log gets an entry that freezes it: what follows it changes nothing, and the
 * replicas that have applied it serve nothing. Once all of them have, the catalog gives its keys to
 * the lower partition, whose log gets an entry by which each replica takes over what the upper
 * one's replica beside it holds. Nothing is copied: the items are in the node's store already.
 * engine/catalog/merge.c has the order of the steps, docs/decisions/0022 why nothing is lost.
 *
 * Invariants
 *   ABSORB-1  A replica takes over a range only from a replica that is frozen by the entry which the
 *             catalog names. Where that entry is not known to be committed yet, it is in the log:
 *             it was applied here before, or the catalog would not know all replicas as frozen.
 *   ABSORB-2  A frozen replica keeps its state: no snapshot of the same epoch replaces it, unless the
 *             catalog has given the merge up.
 *   ABSORB-3  A replica is said to be open with its new range once the node cannot forget, in a
 *             crash, that it has taken the range over. Then the upper one's replica is nobody's.
 *   ABSORB-4  A snapshot of the lower partition from before the entry is not sent once the leader has
 *             applied the entry, and is not taken by a replica that was opened behind it. */
#include <errno.h>

#include "base/must.h"
#include "base/probe.h"
#include "engine/node/node_internal.h"
#include "replication/raft_mutation.h"

/* ---- which step ---- */

static bool is_proposed(const struct partition *p)
{
    for (const struct inflight *e = p->first; e != NULL; e = e->next) {
        if (e->kind == LOG_MERGE || e->kind == LOG_SPLIT)
            return true;
    }
    return false;
}

/* u64 index, u64 term of the entry that froze it. */
static struct slice frozen_body(struct node *n, const struct partition *p)
{
    return arena_copy(&n->lent, slice_make(&p->frozen, sizeof p->frozen));
}

static bool adjoins(const struct partition *p, const struct partition_info *info)
{
    return slice_equal(info->lo, p->info.lo) && p->info.hi.size > 0 &&
           slice_compare(p->info.hi, info->hi) < 0;
}

/* Whether the partition is as it was before this step. */
static bool is_next(const struct partition *p, const struct partition_info *info)
{
    if (info->id != p->info.id || info->table_id != p->info.table_id)
        return false;
    switch (info->merge) {
    case MERGE_FREEZE:
        return info->epoch == p->info.epoch;
    case MERGE_THAW:
        return info->epoch == p->info.epoch + 1 && slice_equal(info->hi, p->info.hi);
    case MERGE_ABSORB:
        return info->epoch == p->info.epoch + 1 && adjoins(p, info);
    case MERGE_NONE:
        break;
    }
    return false;
}

bool node_merge_is_sound(uint32_t group, struct slice payload)
{
    struct partition_info info;
    struct reader r = {payload, false};
    return partition_info_decode(&r, &info) == STATUS_OK && r.left.size == 0 && info.id == group &&
           group != CATALOG_GROUP && info.merge != MERGE_NONE;
}

/* ---- what is taken over ---- */

/* It may have restarted, and not know yet that the entry is committed (ABSORB-1). */
static bool is_frozen_by(struct node *n, struct partition *upper, const struct partition_info *info)
{
    if (upper == NULL || upper->no_state)
        return false;
    if (upper->frozen.index == 0) {
        PROBE("a replica learns that it is frozen from the one that takes over");
        if (!n->started)
            return node_replay_to(n, upper, info->frozen_index) == STATUS_OK &&
                   upper->frozen.index == info->frozen_index;
        if (raft_learn_commit(upper->raft, info->frozen_index, info->frozen_term))
            node_group_apply(n, upper);
    }
    return upper->frozen.index == info->frozen_index && upper->frozen.term == info->frozen_term;
}

static bool may_take_over(struct node *n, const struct partition_info *info)
{
    return is_frozen_by(n, node_partition(n, info->merge_with), info) ||
           MUTATED(RAFT_MUTATION_ABSORB_AS_IT_IS);
}

/* ---- asked by the catalog ---- */

void node_run_merge(struct node *n, const struct operation *o)
{
    const struct request *q = &o->request;
    struct partition_info info;
    struct reader r = {q->body, false};
    struct partition *p = node_partition(n, q->partition);
    if (!node_merge_is_sound(q->partition, q->body) ||
        partition_info_decode(&r, &info) != STATUS_OK) {
        node_refuse(n, o->from, q->id, REPLY_MALFORMED, "not a merge of partition %u",
                    q->partition);
    } else if (p == NULL || p->closing) {
        node_refuse(n, o->from, q->id, REPLY_WRONG_PARTITION, "node %u does not hold partition %u",
                    n->options.id, q->partition);
    } else if (info.merge == MERGE_FREEZE && partition_is_frozen(p) &&
               info.epoch == p->info.epoch) {
        node_push_reply(n, o->from, q->id, REPLY_OK)->body = frozen_body(n, p);
    } else if (p->led == 0) {
        node_refuse_not_leader(n, o, p);
    } else if (info.merge != MERGE_FREEZE && p->info.epoch >= info.epoch) {
        node_push_reply(n, o->from, q->id, REPLY_OK);
    } else if (!is_next(p, &info)) {
        node_refuse(n, o->from, q->id, REPLY_STALE_MAP, "partition %u is not what is to be merged",
                    p->info.id);
    } else if (is_proposed(p)) {
        node_refuse(n, o->from, q->id, REPLY_OVERLOADED, "partition %u is being merged or split",
                    p->info.id);
    } else if (info.merge == MERGE_ABSORB && !may_take_over(n, &info)) {
        /* The entry would stop every node of the group: a wrong word must not get that far. */
        node_refuse(n, o->from, q->id, REPLY_OVERLOADED,
                    "node %u does not hold partition %u frozen", n->options.id, info.merge_with);
    } else if (node_can_write(n, o, q->body.size) &&
               node_propose(n, p, o, LOG_MERGE, q->body, slice_make(NULL, 0)) != NULL) {
        node_note(n, NODE_TRACE_MERGE_PROPOSED, p->info.id, (int64_t)info.merge);
    }
}

/* ---- applying it ---- */

static void freeze(struct node *n, struct partition *p, const struct raft_entry *e,
                   struct applied *out)
{
    if (p->frozen.index == 0)
        p->frozen = (struct frozen){e->index, e->term};
    else
        PROBE("a partition is frozen twice");
    node_note(n, NODE_TRACE_FROZEN, p->info.id, (int64_t)e->index);
    out->body = frozen_body(n, p);
}

static void thaw(struct node *n, struct partition *p, uint64_t epoch)
{
    struct partition_info info = p->info;
    info.epoch = epoch;
    partition_set(p, &info);
    if (p->frozen.index == 0)
        PROBE("a merge is given up before anything was frozen");
    p->frozen = (struct frozen){0};
    p->thaws = false;
    node_note(n, NODE_TRACE_THAWED, p->info.id, (int64_t)epoch);
}

/* Of an earlier life. */
static void join_kept(struct partition *p, struct partition *upper, uint64_t epoch)
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

static void join_buckets(struct node *n, struct partition *p, struct partition *upper)
{
    const struct admission_rates rates = node_rates_of(&p->info);
    admission_leave(&p->admission, n->now);
    admission_leave(&upper->admission, n->now);
    admission_absorb(&p->admission, &upper->admission, n->config, &rates, n->now);
    node_buckets_divided(n, p);
}

/* The items stay. */
static void remove_replica(struct node *n, uint32_t id)
{
    store_put(n->store, node_partition_row_key(n, id), slice_make(NULL, 0));
    node_note(n, NODE_TRACE_PARTITION_CLOSED, id,
              (int64_t)raft_applied(node_partition(n, id)->raft));
    node_remove_partition(n, id);
}

static void absorb(struct node *n, struct partition *p, const struct raft_entry *e,
                   const struct partition_info *told)
{
    struct partition *upper = node_partition(n, told->merge_with);
    if (!may_take_over(n, told)) {
        /* Nothing is guessed: it is not known what those keys hold. */
        PROBE("what is to be taken over is not here");
        node_stop(n, ENOTRECOVERABLE);
        return;
    }
    struct partition_info info = p->info;
    if (n->started) {
        log_writer_append(&n->log, LOG_SPLIT_DONE, p->info.id, 0, e->index, slice_make(NULL, 0));
        p->absorbed_lsn = n->log.next_lsn;
    }
    info.epoch = told->epoch;
    info.hi = told->hi;
    memcpy(info.rate_mcu, told->rate_mcu, sizeof info.rate_mcu);
    partition_set(p, &info);
    partition_count_anew(p);
    partition_push_split(p, e->index, e->term);
    node_note(n, NODE_TRACE_ABSORBED, p->info.id, (int64_t)told->merge_with);
    PROBE("a replica takes over what another one holds");
    if (upper == NULL)
        return;
    if (n->started)
        join_buckets(n, p, upper);
    else
        join_kept(p, upper, info.epoch);
    n->count_at = n->now;
    remove_replica(n, upper->info.id);
}

void node_apply_merge(struct node *n, struct partition *p, const struct raft_entry *e,
                      struct applied *out)
{
    struct partition_info info;
    struct reader r = {e->payload, false};
    must(partition_info_decode(&r, &info) == STATUS_OK);
    if (!is_next(p, &info)) {
        PROBE("a step of a merge is in the log twice");
        out->code = REPLY_STALE_MAP;
        return;
    }
    if (info.merge == MERGE_FREEZE)
        freeze(n, p, e, out);
    else if (info.merge == MERGE_THAW)
        thaw(n, p, info.epoch);
    else
        absorb(n, p, e, &info);
}

/* ---- snapshots ---- */

/* Who was taken over holds just these keys, and nothing else here holds any of them: until this
 * replica follows, its group does not split (MERGE-4). It may not know that it is frozen, after a
 * restart: nobody is left to tell it. */
bool node_merge_give_way(struct node *n, const struct partition *to, struct slice lo,
                         struct slice hi)
{
    const struct partition *upper = NULL;
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        const struct partition *p = n->partitions[i];
        if (p == NULL || p == to || !partition_overlaps(p, lo, hi))
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
    remove_replica(n, upper->info.id);
    return true;
}
