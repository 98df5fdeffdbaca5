/* replicas.c - opens the replicas that the catalog wants here, closes others, and changes the
 * members of groups.
 *
 * The catalog's leader repeats an order until it is acknowledged, and an order may come late. So
 * each order says up to where its sender knew the catalog's log (`as_of`). An order from before the
 * last close opens nothing. The record of a replica is on disk before the answer. */
#include "base/probe.h"
#include "engine/node/request/requests_internal.h"

/* The request is answered when its own record is durable. */
static void replicas_answer_later(struct inflight *e, const struct operation *o)
{
    e->answer = true;
    e->from = o->from;
    e->request_id = o->request.id;
}

/* `p` NULL: there is no replica. The record then only keeps older orders from opening one. */
static struct inflight *replicas_append_close(struct requests *requests, struct partition *p,
                                              uint32_t group, uint64_t as_of)
{
    if (p != NULL)
        p->closing = true; /* if a second record follows, it finds no replica */
    requests->identity->closed_as_of = MAX(requests->identity->closed_as_of, as_of);
    return proposals_append_own(requests->proposals, LOG_PARTITION_CLOSE, group, as_of,
                                slice_make(NULL, 0));
}

void requests_close_orphan(struct requests *requests, struct partition *p, uint64_t as_of)
{
    if (!p->closing && !proposals_are_full(requests->proposals) &&
        node_log_has_space(requests->log, 0))
        replicas_append_close(requests, p, p->info.id, as_of);
}

/* Whether the replica here is this member, or there is no replica. If not, the order was refused.
 * An older member than this one was moved away: it is closed first. For an older member the order
 * comes too late. */
static bool replicas_is_member(struct requests *requests, const struct operation *o,
                               struct partition *p, uint64_t member, uint64_t as_of)
{
    if (p == NULL || raft_self(p->raft) == member)
        return true;
    if (raft_self(p->raft) < member) {
        PROBE("a replica comes back before it is gone");
        requests_close_orphan(requests, p, as_of);
    }
    env_refuse(requests->env, o, REPLY_STALE_MAP, "node %u has another replica of partition %u",
               requests->env->id, p->info.id);
    return false;
}

/* Whether the replica is being opened by another order. */
static bool replicas_is_opening(const struct requests *requests, uint32_t partition,
                                struct slice word)
{
    bool opening = false;
    const struct inflight *e;
    STAILQ_FOREACH (e, &requests->proposals->own, place)
        opening |=
            e->kind == LOG_PARTITION && e->group == partition && !slice_equal(e->payload, word);
    return opening;
}

static void replicas_refuse_opening(struct requests *requests, const struct operation *o,
                                    uint32_t partition, const char *what)
{
    env_refuse(requests->env, o, REPLY_WRONG_PARTITION, "partition %u is being %s", partition,
               what);
}

/* A group's indexes and its stream change by an entry of its log. Answers that it has not happened
 * yet, or that a newer change has. */
static void replicas_change_indexes(struct requests *requests, const struct operation *o,
                                    struct partition *p, const struct partition_info *info)
{
    if (info->indexes_version < p->info.indexes_version) {
        PROBE("an older word of a table's indexes comes after a newer one");
        env_refuse(requests->env, o, REPLY_STALE_MAP, "partition %u has newer indexes of its table",
                   p->info.id);
        return;
    }
    if (p->led == 0) {
        env_refuse(requests->env, o, REPLY_NOT_LEADER,
                   "node %u does not lead partition %u, whose table has other indexes",
                   requests->env->id, p->info.id);
        return;
    }
    applier_propose_indexes(requests->applier, p, info);
    env_refuse(requests->env, o, REPLY_OVERLOADED,
               "partition %u does not have the indexes of its table yet", p->info.id);
}

void requests_open(struct requests *requests, struct operation *o)
{
    struct partition_info info;
    const struct slice word = o->request.replica.info;
    const uint64_t as_of = o->request.replica.as_of;
    uint64_t member = 0;
    if (partition_info_decode(word, &info) == STATUS_OK)
        member = partition_member_on(&info, requests->env->id);
    if (member == 0 || raft_member_generation(member) != requests->identity->generation) {
        env_refuse(requests->env, o, REPLY_MALFORMED, "not a replica of node %u, generation %u",
                   requests->env->id, requests->identity->generation);
        return;
    }
    struct partition *p = partitions_find(requests->partitions, info.id);
    bool older = p != NULL && info.epoch < p->info.epoch;
    if ((p != NULL && p->closing) || (p == NULL && replicas_is_opening(requests, info.id, word))) {
        replicas_refuse_opening(requests, o, info.id, p != NULL ? "closed" : "opened");
    } else if (!replicas_is_member(requests, o, p, member, as_of)) {
        return;
    } else if (p == NULL && as_of < requests->identity->closed_as_of) {
        PROBE("what was closed is to be opened by an older word");
        env_refuse(requests->env, o, REPLY_STALE_MAP,
                   "node %u has closed replicas by a newer order", requests->env->id);
    } else if (p != NULL && p->info.indexes_version != info.indexes_version && !older &&
               info.epoch == p->info.epoch && p->frozen.index == 0) {
        replicas_change_indexes(requests, o, p, &info);
    } else if (p != NULL && p->absorbed_lsn > requests->log->writer.written_lsn) {
        env_refuse(requests->env, o, REPLY_OVERLOADED,
                   "the merge of partition %u is not on disk yet", info.id);
    } else if (p != NULL && slice_equal(buffer_slice(&p->bytes), word)) {
        env_reply(requests->env, o, REPLY_OK);
    } else if (p != NULL && info.epoch != p->info.epoch) {
        p->thaws = p->frozen.index != 0 && !older; /* only a thaw gives it a newer epoch */
        env_refuse(requests->env, o, older ? REPLY_STALE_MAP : REPLY_OVERLOADED,
                   "partition %u is at epoch %llu here", info.id,
                   (unsigned long long)p->info.epoch);
    } else if (p != NULL && p->frozen.index != 0) {
        env_refuse(requests->env, o, REPLY_OVERLOADED, "partition %u is being merged", info.id);
    } else if (p == NULL &&
               (partitions_hold_range(requests->partitions, info.lo, info.hi) ||
                proposals_open_range(requests->proposals, info.id, info.lo, info.hi))) {
        PROBE("a child is to be opened where its parent has not split yet");
        partitions_range_is_uncertain(requests->partitions, info.lo, info.hi);
        env_refuse(requests->env, o, REPLY_OVERLOADED, "node %u has not split off partition %u yet",
                   requests->env->id, info.id);
    } else if (p == NULL && local_state_is_erasing(requests->env, info.lo, info.hi, info.indexes)) {
        env_refuse(requests->env, o, REPLY_OVERLOADED,
                   "node %u is still erasing its former keys there", requests->env->id);
    } else if (proposals_may_write(requests->proposals, o, word.size)) {
        replicas_answer_later(
            proposals_append_own(requests->proposals, LOG_PARTITION, info.id, 0, word), o);
    }
}

/* Closes the replica of a deleted table, unless a lease grant holds it: that leader may serve by
 * lease, and relies on this replica. The grant ends when that leader resigns, or when the
 * support for its node lapses. */
void requests_close_ended(struct requests *requests, struct partition *p)
{
    if (!p->close_request.waits || p->closing || raft_grants_lease(p->raft))
        return;
    const struct operation o = {
        .from = p->close_request.from,
        .request = {.op = REQUEST_PARTITION_CLOSE, .id = p->close_request.id},
    };
    p->close_request.waits = false;
    if (proposals_may_write(requests->proposals, &o, 0))
        replicas_answer_later(
            replicas_append_close(requests, p, p->info.id, p->close_request.as_of), &o);
}

/* Whether all that is committed here is done in other tables, too. If not, the order was
 * refused. */
static bool replicas_have_no_pending_parts(struct requests *requests, const struct operation *o,
                                           const struct partition *p)
{
    if (p->led != 0 && !transactions_are_known(requests->transactions, p, o))
        return false; /* locks that could not be read may be of pending parts */
    if (transactions_have_pending_parts(p)) {
        env_refuse(requests->env, o, REPLY_OVERLOADED,
                   "partition %u has transactions with pending parts", p->info.id);
        return false;
    }
    return true;
}

/* The table is deleted. Its replicas are closed only after the leader has reported that the group
 * has no pending parts: without them no new leader could be elected. After its report the leader
 * takes no new part. A leader that was replaced does not know the pending parts of its
 * successor. */
static void replicas_agree(struct requests *requests, struct operation *o, struct partition *p)
{
    if (p == NULL) {
        env_refuse(requests->env, o, REPLY_WRONG_PARTITION,
                   "node %u has no replica of partition %u", requests->env->id,
                   o->request.partition);
    } else if (p->led == 0) {
        raft_driver_refuse(requests->driver, o, p);
    } else if (proposals_split(p)) {
        env_refuse(requests->env, o, REPLY_OVERLOADED, "partition %u is being split", p->info.id);
    } else if (requests_leads_read(requests, p, o) &&
               replicas_have_no_pending_parts(requests, o, p)) {
        p->ended = true;
        env_reply(requests->env, o, REPLY_OK);
    }
}

/* The table is deleted. From now on the replica serves nothing, even before it is closed. */
static void replicas_end_partition(struct requests *requests, const struct operation *o,
                                   struct partition *p, uint64_t as_of)
{
    p->ended = p->close_request.waits = true;
    p->close_request.as_of = as_of;
    p->close_request.from = o->from;
    p->close_request.id = o->request.id;
    raft_resign(p->raft, requests->env->now);
    raft_query_leader(p->raft);
    raft_driver_stepped(requests->driver, p);
    requests_close_ended(requests, p);
}

/* Closes the named member, or an older one; a newer member stays. If there is no replica, older
 * orders will open none. */
void requests_close(struct requests *requests, struct operation *o)
{
    struct partition_info info;
    const uint64_t as_of = o->request.replica.as_of;
    if (partition_info_decode(o->request.replica.info, &info) != STATUS_OK ||
        info.id != o->request.partition) {
        env_refuse(requests->env, o, REPLY_MALFORMED,
                   "the request names no replica of partition %u to close", o->request.partition);
        return;
    }
    uint64_t member = partition_member_on(&info, requests->env->id);
    if (member == 0)
        member = info.leaving;
    struct partition *p = partitions_find(requests->partitions, info.id);
    bool absent = p == NULL || raft_self(p->raft) > member ||
                  raft_member_generation(member) != requests->identity->generation;
    if (o->request.replica.queries_leader)
        replicas_agree(requests, o, p);
    else if (p == NULL && replicas_is_opening(requests, info.id, slice_make(NULL, 0)))
        replicas_refuse_opening(requests, o, info.id, "opened");
    else if (absent && (p != NULL || as_of <= requests->identity->closed_as_of))
        env_reply(requests->env, o, REPLY_OK);
    else if (!absent && o->request.replica.table_deleted &&
             !replicas_have_no_pending_parts(requests, o, p))
        return;
    else if (!absent && o->request.replica.table_deleted && !p->closing)
        replicas_end_partition(requests, o, p, as_of);
    else if (proposals_may_write(requests->proposals, o, 0))
        replicas_answer_later(replicas_append_close(requests, absent ? NULL : p, info.id, as_of),
                              o);
}

/* Whether the members in force are committed. Before that, an earlier leader's members may come
 * back. */
static bool replicas_members_applied(const struct partition *p)
{
    const struct raft_members *m = raft_members(p->raft), *a = raft_members_applied(p->raft);
    bool same = m->count == a->count;
    for (uint32_t i = 0; i < m->count && same; i++)
        same = m->all[i].id == a->all[i].id && m->all[i].voter == a->all[i].voter;
    return same;
}

/* The next step from the present members to the wanted members: add, promote, remove. RAFT_INVALID:
 * nothing is left to do. */
static enum raft_outcome replicas_step_members(struct requests *requests, struct partition *p,
                                               const struct partition_info *info)
{
    const struct raft_members *m = raft_members(p->raft);
    for (uint32_t i = 0; i < m->count; i++) {
        if (raft_member_arrival(m->all[i].id) > info->arrivals)
            return RAFT_PENDING; /* the order is older than this member; a newer order exists */
    }
    for (uint32_t i = 0; i < info->member_count; i++) {
        const struct raft_member *member = raft_members_find(m, info->members[i]);
        if (member == NULL)
            return raft_change_members(p->raft, requests->env->now, RAFT_ADD_LEARNER,
                                       info->members[i]);
        if (!member->voter)
            return raft_change_members(p->raft, requests->env->now, RAFT_PROMOTE, info->members[i]);
    }
    for (uint32_t i = 0; i < m->count; i++) {
        uint64_t id = m->all[i].id;
        if (partition_member_on(info, raft_member_node(id)) == id)
            continue;
        if (id != raft_self(p->raft))
            return raft_change_members(p->raft, requests->env->now, RAFT_REMOVE, id);
        return raft_transfer(p->raft, requests->env->now, info->members[0]);
    }
    return replicas_members_applied(p) ? RAFT_INVALID /* nothing to do */ : RAFT_PENDING;
}

/* Whether there are more voters than wanted. Then a write may wait for one more acknowledgement. */
static bool replicas_has_too_many_voters(const struct partition *p,
                                         const struct partition_info *info)
{
    const struct raft_members *m = raft_members(p->raft);
    uint32_t voters = 0;
    for (uint32_t i = 0; i < m->count; i++)
        voters += m->all[i].voter;
    return voters > info->member_count;
}

void requests_members(struct requests *requests, struct operation *o)
{
    struct partition_info info;
    struct partition *p = partitions_find(requests->partitions, o->request.partition);
    if (partition_info_decode(o->request.group.info, &info) != STATUS_OK || p == NULL ||
        info.id != p->info.id) {
        env_refuse(requests->env, o, REPLY_WRONG_PARTITION, "node %u does not hold partition %u",
                   requests->env->id, o->request.partition);
        return;
    }
    if (p->led == 0) {
        raft_driver_refuse(requests->driver, o, p);
        return;
    }
    if (!proposals_may_write(requests->proposals, o, 256))
        return;
    enum raft_outcome outcome = replicas_step_members(requests, p, &info);
    raft_driver_stepped(requests->driver, p);
    if (outcome == RAFT_INVALID) {
        env_reply(requests->env, o, REPLY_OK);
        return;
    }
    struct reply *reply = env_refuse(requests->env, o, REPLY_OVERLOADED,
                                     "the members of partition %u are changing", p->info.id);
    reply->kind = ANSWER_MEMBERS;
    reply->members.too_many_voters = replicas_has_too_many_voters(p, &info);
}
