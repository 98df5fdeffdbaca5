/* reconcile.c - the catalog's leader makes replicas exist where the catalog says.
 *
 * A table is being reconciled while its replicas may differ from the catalog. Each node is asked to
 * open (or close) its replica, again and again while the node can be reached, until it
 * acknowledges. Groups whose intended members have changed are asked to change their members. A
 * partition that must be split is asked to split; nodes that have applied the split have the
 * children already. Once a majority of each group has acknowledged, CATALOG_RECONCILED is proposed.
 * The other replicas follow later. All steps may be repeated: a new leader reconciles every table
 * once.
 *
 * A merge goes from step to step (engine/catalog/merge.c). When the slots of a partition allow the
 * next step, it is proposed to the catalog. A merge whose freeze lasts longer than merge_freeze_ms
 * is given up.
 *
 *   RECONCILE-1  A replica of a deleted table is closed once the leaders of the table's groups have
 *             said that no parts are pending in other tables, and the catalog has noted that
 *             (`no_pending_parts`). A group without a leader is waited for, unless it lost most of
 *             its replicas with their disks. A merge that the catalog has decided is done first:
 *             the catalog does not list the upper group any more.
 *
 * Not here: nodes that have lost their disks (reconcile_nodes.c). */
#include "engine/node/catalog_leader/reconcile_internal.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/probe.h"
#include "base/settings/merge.h"
#include "base/settings/requests.h"

enum {
    SEND_AGAIN_MS = 250,
    MEMBERS_MS = 5, /* while a group has more voters than it should: that slows its writes */
    MERGE_MS = 10,  /* while a partition serves nothing because of a merge */
    SPLIT_MS = 10,  /* after the leader has applied a split: most followers have applied it then */
    SLOTS = 16,     /* of a partition: one per member, then one per task of the group */
    MEMBERS_SLOT = 7, /* the group has the right members; of a deleted table: no pending parts */
    SPLIT_SLOT = 8,   /* it has split off the partitions that name it as their parent */
    LEAVING_SLOT = 9, /* the replica that was moved away is erased; begins once it is let go */
    MERGE_SLOT = 10,  /* the group has thawed, or taken over the partition above */
    MERGE_QUICK = 50, /* so many attempts of a merge follow each other soon */
    OPEN_MS = 1000,   /* without a leader in a deleted table; then missing replicas are opened */
    NO_LEADER_MS = 10000, /* then a group in a deleted table is looked at: is a majority left? */
    ANSWER_MS = 2500,     /* after that a request may be outdated: a new call begins */
};

_Static_assert((int)REPLICAS_MAX <= (int)MEMBERS_SLOT, "a slot for each");

/* What the nodes were told about a partition, and which of its slots have acknowledged. */
struct reconcile_partition {
    uint32_t partition;
    uint16_t done;      /* a bit per slot; set too for slots that the partition does not have */
    uint16_t requested; /* a bit per slot: a call waits for an answer */
    uint32_t leader;    /* the node that last answered for the group; 0: none yet */
    uint64_t hash;      /* of what the nodes were told */
    struct instant
        leader_seen_at; /* of a deleted table: when a leader was heard, or the question began */
    bool cannot_absorb; /* of a deleted table: a leader could not take over the partition above */
    /* while the partition is being frozen */
    struct instant freeze_until;
    struct frozen frozen; /* by its replicas' answers */
};

struct reconcile_table {
    LIST_ENTRY(reconcile_table) place;
    uint32_t table_id;
    enum table_status status;
    uint32_t count;
    uint32_t attempt;
    uint32_t missing;     /* slots that are not done, and steps of the catalog that are awaited */
    bool queries_leaders; /* DELETING, and before anything is closed (RECONCILE-1) */
    bool splitting;
    bool proposed;             /* CATALOG_RECONCILED was proposed */
    struct instant send_at;    /* INSTANT_NEVER: all is done */
    struct instant show_until; /* until then the table keeps its status (table_change_delay_ms) */
    struct reconcile_partition at[]; /* by partition, in key order */
};

/* The merge step of a partition; none in a table that is being deleted. */
static enum merge_step reconcile_merge_of(const struct reconcile_table *s,
                                          const struct partition_info *p)
{
    return s->status == TABLE_DELETING ? MERGE_NONE : p->merge;
}

static struct reconcile_table *reconcile_find(struct reconciler *reconciler, uint32_t table_id)
{
    struct reconcile_table *s = LIST_FIRST(&reconciler->tables);
    while (s != NULL && s->table_id != table_id)
        s = LIST_NEXT(s, place);
    return s;
}

/* The table's partitions, and their number. Group 0 is reconciled as table 0. Until the catalog
 * knows group 0, its info comes from the replica here. */
static uint32_t reconcile_partitions_of(const struct reconciler *reconciler, uint32_t table_id,
                                        const struct partition_info **out)
{
    const struct table *t = catalog_find_id(reconciler->catalog->state, table_id);
    if (t == NULL && table_id == CATALOG_TABLE_ID) {
        *out = &partitions_find(reconciler->partitions, CATALOG_GROUP)->info;
        return 1;
    }
    must(t != NULL);
    *out = t->partitions;
    return t->partition_count;
}

/* The number of partitions that must be split off from this partition. They follow it. */
static uint32_t reconcile_children_of(const struct partition_info *p, uint32_t index,
                                      uint32_t count)
{
    uint32_t children = 0;
    while (index + 1 + children < count && p[index + 1 + children].parent == p[index].id)
        children++;
    return children;
}

/* Appends the info that nodes are told, without the fields that only the catalog needs. Requests
 * for a step of a merge send the whole info instead. If a replica has joined since the group began,
 * the members are not the first members any more. Then each replica that opens now starts from a
 * snapshot, and learns the members from it. So it does if the partition was split and has a stream:
 * the snapshot tells at which place of the log the shards begin and end. */
static void reconcile_append_hashed(struct buffer *out, enum table_status status,
                                    const struct partition_info *p)
{
    struct partition_info target = *p;
    const bool was_split = p->epoch > 1 && p->stream.id != 0;
    if (status != TABLE_CREATING && (p->arrivals > 0 || was_split))
        target.joined = (1U << p->member_count) - 1;
    target.let_go = false;
    target.parent = 0;
    memset(target.share_ppm, 0, sizeof target.share_ppm);
    target.merge = MERGE_NONE;
    target.absorbed = false;
    partition_info_encode(out, &target);
}

/* The slots that a partition has. */
static uint16_t reconcile_slots_of(const struct reconcile_table *s,
                                   const struct partition_info *partitions, uint32_t index)
{
    const struct partition_info *p = &partitions[index];
    const bool deleting = s->status == TABLE_DELETING;
    uint16_t slots = (uint16_t)((1U << p->member_count) - 1);
    const bool absorbs = p->merge == MERGE_ABSORB && !p->absorbed;
    if (s->queries_leaders)
        return (uint16_t)(1 << MEMBERS_SLOT | absorbs << MERGE_SLOT);
    if (!deleting && p->joined != 0)
        slots |= 1 << MEMBERS_SLOT;
    if (!deleting && reconcile_children_of(partitions, index, s->count) > 0)
        slots |= 1 << SPLIT_SLOT;
    if (p->leaving != 0)
        slots |= 1 << LEAVING_SLOT;
    if (!deleting && (p->merge == MERGE_THAW || absorbs))
        slots |= 1 << MERGE_SLOT;
    return slots;
}

/* A slot that has acknowledged the same info before stays done: a change of one partition does not
 * reconcile a table of a thousand partitions again. `old` lists the same partitions in the same
 * order, except those that a split has added and those that a merge has ended. */
static void reconcile_carry_over(struct reconcile_table *s, const struct reconcile_table *old)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t same = k;
        while (same < old->count && old->at[same].partition != s->at[i].partition)
            same++;
        if (same == old->count)
            continue;
        k = same + 1;
        s->at[i].leader = old->at[same].leader;
        s->at[i].leader_seen_at = old->at[same].leader_seen_at;
        if (old->at[same].hash != s->at[i].hash)
            continue;
        s->at[i].done |= old->at[same].done;
        s->at[i].frozen = old->at[same].frozen;
        s->at[i].freeze_until = old->at[same].freeze_until;
    }
}

/* The hash of what nodes are told about the partition. */
static uint64_t reconcile_hash_of(struct reconciler *reconciler, enum table_status status,
                                  const struct partition_info *p)
{
    buffer_clear(&reconciler->env->scratch);
    reconcile_append_hashed(&reconciler->env->scratch, status, p);
    return XXH3_64bits_withSeed(reconciler->env->scratch.data, reconciler->env->scratch.size,
                                p->merge == MERGE_FREEZE);
}

/* Begins to reconcile the table. Takes over `old`, which may be NULL, and frees it. */
static void reconcile_begin_table(struct reconciler *reconciler, uint32_t table_id,
                                  enum table_status status, struct reconcile_table *old)
{
    const struct partition_info *partitions;
    uint32_t count = reconcile_partitions_of(reconciler, table_id, &partitions);
    struct reconcile_table *s = must_calloc(1, sizeof *s + count * sizeof s->at[0]);
    must(count < UINT32_MAX / SLOTS);
    s->table_id = table_id;
    s->status = status;
    s->queries_leaders = status == TABLE_DELETING &&
                         !catalog_find_id(reconciler->catalog->state, table_id)->no_pending_parts &&
                         !MUTATED(MUTATION_CLOSE_UNCONFIRMED);
    s->count = count;
    s->send_at = reconciler->env->now;
    s->show_until =
        old != NULL && old->status == status
            ? old->show_until
            : instant_add_ms(reconciler->env->now,
                             config_requests(reconciler->env->config)->table_change_delay_ms);
    for (uint32_t i = 0; i < count; i++) {
        s->at[i].partition = partitions[i].id;
        s->at[i].hash = reconcile_hash_of(reconciler, status, &partitions[i]);
        s->at[i].leader_seen_at = reconciler->env->now;
        s->at[i].freeze_until = instant_add_ms(
            reconciler->env->now, config_merge(reconciler->env->config)->merge_freeze_ms);
    }
    if (old != NULL && status != TABLE_DELETING)
        reconcile_carry_over(s, old);
    free(old);
    for (uint32_t i = 0; i < count; i++) {
        uint16_t slots = reconcile_slots_of(s, partitions, i);
        s->at[i].done |= (uint16_t)~slots;
        s->splitting |= slots >> SPLIT_SLOT & 1;
        s->missing += (uint32_t)__builtin_popcount(slots & ~s->at[i].done);
        if (partitions[i].leaving != 0 && s->at[i].done >> LEAVING_SLOT & 1 && !s->queries_leaders)
            s->missing++; /* until CATALOG_LEFT */
        if (reconcile_merge_of(s, &partitions[i]) != MERGE_NONE)
            s->missing++; /* until the next step */
    }
    LIST_INSERT_HEAD(&reconciler->tables, s, place);
}

/* The children exist, even if the parent's group has not answered for the split. */
static void reconcile_end_split(struct reconcile_table *s)
{
    s->splitting = false;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->at[i].done >> SPLIT_SLOT & 1)
            continue;
        s->at[i].done |= 1 << SPLIT_SLOT;
        s->missing--;
    }
}

bool reconcile_rests(struct reconciler *reconciler, uint32_t table_id)
{
    const struct reconcile_table *s = reconcile_find(reconciler, table_id);
    return s != NULL && s->missing == 0 && s->status == TABLE_ACTIVE && !s->splitting;
}

void reconcile_changed(struct reconciler *reconciler, const struct table *t)
{
    struct reconcile_table *s = reconcile_find(reconciler, t->id);
    bool gone = catalog_find_id(reconciler->catalog->state, t->id) == NULL;
    bool reconciled = s != NULL && !gone && t->status == TABLE_ACTIVE && !table_is_splitting(t) &&
                      s->proposed && (s->status != TABLE_ACTIVE || s->splitting);
    if (reconciled) {
        reconcile_end_split(s);
        s->status = TABLE_ACTIVE; /* missing replicas are still asked for */
        return;
    }
    if (s != NULL)
        LIST_REMOVE(s, place);
    internal_calls_end(reconciler->calls, INTERNAL_CALL_RECONCILE, t->id);
    if (gone)
        free(s);
    else
        reconcile_begin_table(reconciler, t->id, t->status, s);
}

/* ---- proposing ---- */

void reconcile_propose_command(struct reconciler *reconciler, struct catalog_command *command)
{
    const struct operation o = {.from = FROM_SELF};
    command->spec.name = slice_of("-");
    if (proposals_may_write(reconciler->proposals, &o, 1024))
        catalog_replica_propose(reconciler->catalog, &o, command);
}

static void reconcile_propose_reconciled(struct reconciler *reconciler,
                                         const struct reconcile_table *s)
{
    struct catalog_command command =
        catalog_replica_command(reconciler->catalog, CATALOG_RECONCILED);
    catalog_command_reconciled(&command, catalog_find_id(reconciler->catalog->state, s->table_id));
    reconcile_propose_command(reconciler, &command);
}

static void reconcile_propose_decision(struct reconciler *reconciler, enum catalog_op op,
                                       const struct decision *d)
{
    struct catalog_command command = catalog_replica_command(reconciler->catalog, op);
    buffer_clear(&reconciler->env->scratch);
    decision_encode(&reconciler->env->scratch, d);
    command.decision = env_lend_scratch(reconciler->env);
    reconcile_propose_command(reconciler, &command);
}

/* CATALOG_LET_GO or CATALOG_LEFT: the group has let go of the leaving replica, or it is erased. */
static void reconcile_propose_left(struct reconciler *reconciler, enum catalog_op op,
                                   const struct partition_info *p)
{
    const struct decision d = {.table_id = p->table_id,
                               .partition = p->id,
                               .epoch = p->epoch,
                               .from_node = raft_member_node(p->leaving)};
    reconcile_propose_decision(reconciler, op, &d);
}

/* Proposes the step that the slots of a merging partition allow. It is proposed again until the
 * catalog has taken it. */
static void reconcile_propose_merge(struct reconciler *reconciler, const struct reconcile_table *s,
                                    const struct partition_info *p,
                                    const struct reconcile_partition *at)
{
    uint16_t replicas = (uint16_t)((1U << p->member_count) - 1) | 1 << MEMBERS_SLOT;
    bool all = (at->done & replicas) == replicas || MUTATED(MUTATION_ABSORB_AS_IT_IS);
    bool group = at->done >> MERGE_SLOT & 1;
    struct decision d = {.table_id = p->table_id, .partition = p->id, .epoch = p->epoch};
    if (p->merge == MERGE_FREEZE && !instant_before(reconciler->env->now, at->freeze_until)) {
        d.merge = MERGE_GIVE_UP; /* perhaps the catalog has refused the next step */
        d.has_event = true;
        d.event =
            (struct event){.kind = EVENT_MERGE_GIVEN_UP,
                           .table_id = s->table_id,
                           .partition = p->id,
                           .table = catalog_find_id(reconciler->catalog->state, s->table_id)->name,
                           .reason = slice_of("not all its replicas stopped in time")};
    } else if (p->merge == MERGE_FREEZE && all && at->frozen.index != 0) {
        d.merge = MERGE_ABSORB_IT;
        d.frozen_index = at->frozen.index;
        d.frozen_term = at->frozen.term;
    } else if (p->merge == MERGE_THAW && group) {
        d.merge = MERGE_THAWED;
    } else if (p->merge == MERGE_ABSORB && !p->absorbed && group) {
        d.merge = MERGE_ABSORBED;
    } else if (p->merge == MERGE_ABSORB && p->absorbed && all) {
        d.merge = MERGE_DONE;
    } else {
        return;
    }
    reconcile_propose_decision(reconciler, CATALOG_MERGE, &d);
}

/* ---- sending ---- */

static void reconcile_encode_split(struct buffer *out, const struct partition_info *p,
                                   uint32_t children)
{
    struct partition_split split = {.parent = *p, .child_count = children};
    for (uint32_t i = 0; i < children; i++)
        split.children[i] = p[1 + i];
    partition_split_encode(out, &split);
}

static enum request_op reconcile_op_of(const struct reconcile_table *s,
                                       const struct partition_info *p, uint32_t slot)
{
    if (slot == LEAVING_SLOT || (s->status == TABLE_DELETING && slot != MERGE_SLOT))
        return REQUEST_PARTITION_CLOSE;
    if (slot == MERGE_SLOT || (slot < MEMBERS_SLOT && p->merge == MERGE_FREEZE))
        return REQUEST_PARTITION_MERGE;
    if (slot == SPLIT_SLOT)
        return REQUEST_PARTITION_SPLIT;
    return slot == MEMBERS_SLOT ? REQUEST_PARTITION_MEMBERS : REQUEST_PARTITION_OPEN;
}

/* The nodes to ask. A replica's slot: its node. A slot of the group: first the node that answered
 * last, then the others. */
static void reconcile_choose_nodes(const struct reconciler *reconciler,
                                   const struct reconcile_partition *at,
                                   const struct partition_info *p, uint32_t slot,
                                   struct internal_call_options *out)
{
    if (slot < MEMBERS_SLOT || slot == LEAVING_SLOT) {
        out->candidate_count = 1;
        out->candidates[0] =
            slot == LEAVING_SLOT ? raft_member_node(p->leaving) : partition_node(p, slot);
        return;
    }
    internal_calls_to_leader(out, p);
    if (at->leader != 0 && peers_reach(reconciler->peers, at->leader))
        out->first = at->leader;
    for (uint32_t i = 0; i < out->candidate_count && out->first == 0; i++) {
        if (peers_reach(reconciler->peers, out->candidates[i]))
            out->first = out->candidates[i];
    }
}

/* Fills in the body of a request, by its kind. */
static void reconcile_make_request(struct reconciler *reconciler, const struct reconcile_table *s,
                                   const struct partition_info *partitions, uint32_t index,
                                   struct request *out)
{
    const struct partition_info *p = &partitions[index];
    struct buffer *b = &reconciler->env->scratch;
    buffer_clear(b);
    switch (out->op) {
    case REQUEST_PARTITION_SPLIT:
        reconcile_encode_split(b, p, reconcile_children_of(partitions, index, s->count));
        out->split.bytes = env_lend_scratch(reconciler->env);
        break;
    case REQUEST_PARTITION_MERGE:
        partition_info_encode(b, p);
        out->group.info = env_lend_scratch(reconciler->env);
        break;
    case REQUEST_PARTITION_MEMBERS:
        reconcile_append_hashed(b, s->status, p);
        out->group.info = env_lend_scratch(reconciler->env);
        break;
    default:
        reconcile_append_hashed(b, s->status, p);
        out->replica.info = env_lend_scratch(reconciler->env);
        out->replica.as_of = catalog_replica_as_of(reconciler->catalog);
        out->replica.table_deleted = s->status == TABLE_DELETING;
        out->replica.queries_leader = s->queries_leaders;
        break;
    }
}

static void reconcile_send_slot(struct reconciler *reconciler, struct reconcile_table *s,
                                const struct partition_info *partitions, uint32_t index,
                                uint32_t slot)
{
    const struct partition_info *p = &partitions[index];
    struct internal_call_options options = {.kind = INTERNAL_CALL_RECONCILE,
                                            .subject = s->table_id,
                                            .token = index * SLOTS + slot,
                                            .timeout = duration_ms(ANSWER_MS)};
    reconcile_choose_nodes(reconciler, &s->at[index], p, slot, &options);
    bool alone = options.candidate_count == 1;
    if ((s->at[index].requested >> slot & 1) != 0 ||
        (alone && !peers_reach(reconciler->peers, options.candidates[0])))
        return;
    const enum request_op op = reconcile_op_of(s, p, slot);
    struct request request = {.op = op, .partition = p->id, .epoch = p->epoch};
    reconcile_make_request(reconciler, s, partitions, index, &request);
    s->at[index].requested |= (uint16_t)(1U << slot);
    internal_calls_begin(reconciler->calls, &options, &request);
}

/* Asks the node to open a replica, without waiting for the answer. */
static void reconcile_open_unanswered(struct reconciler *reconciler, enum table_status status,
                                      const struct partition_info *target, uint32_t node)
{
    if (!peers_reach(reconciler->peers, node))
        return;
    buffer_clear(&reconciler->env->scratch);
    reconcile_append_hashed(&reconciler->env->scratch, status, target);
    const struct request request = {
        .op = REQUEST_PARTITION_OPEN,
        .partition = target->id,
        .epoch = target->epoch,
        .replica = {.info = env_lend_scratch(reconciler->env),
                    .as_of = catalog_replica_as_of(reconciler->catalog)},
    };
    internal_calls_send(reconciler->calls, node, &request);
}

/* Opens the leaving replica, if it is not open yet: the group counts on its vote until it is
 * removed. The info names it in the place of a replica that has joined. */
static void reconcile_open_leaving(struct reconciler *reconciler, enum table_status status,
                                   const struct partition_info *p)
{
    struct partition_info target = *p;
    uint32_t joined = 0;
    while (joined < p->member_count && (p->joined >> joined & 1) == 0)
        joined++;
    if (joined == p->member_count)
        return;
    target.members[joined] = p->leaving;
    target.leaving = 0;
    target.joined = (1U << p->member_count) - 1;
    reconcile_open_unanswered(reconciler, status, &target, raft_member_node(p->leaving));
}

/* Until the group has split, its replicas are opened with the epoch and range from before the
 * split. A replica opened with the new ones would not apply the split. If all were, no replica
 * could make the split. */
static void reconcile_open_unsplit(struct reconciler *reconciler, const struct reconcile_table *s,
                                   const struct partition_info *partitions, uint32_t index,
                                   uint32_t node)
{
    struct partition_info before = partitions[index];
    before.epoch--;
    before.hi = partitions[index + reconcile_children_of(partitions, index, s->count)].hi;
    reconcile_open_unanswered(reconciler, s->status, &before, node);
}

static bool reconcile_is_done(const struct reconcile_table *s, uint32_t index, uint32_t slot)
{
    return s->at[index].done >> slot & 1;
}

/* Whether the leaving replica may be erased now: the catalog knows that its group does not count on
 * it any more, and its node can be reached. If the node cannot be reached, the slot is done:
 * the replica asks the catalog when its node is back. In a deleted table every replica counts until
 * it is closed (reconcile_is_closed). */
static bool reconcile_may_erase(struct reconciler *reconciler, struct reconcile_table *s,
                                const struct partition_info *p, uint32_t index)
{
    bool reachable = peers_reach(reconciler->peers, raft_member_node(p->leaving));
    if (s->status == TABLE_DELETING)
        return reachable;
    if (!p->let_go && reconcile_is_done(s, index, MEMBERS_SLOT))
        reconcile_propose_left(reconciler, CATALOG_LET_GO, p);
    if (p->let_go && !reachable)
        s->at[index].done |= 1 << LEAVING_SLOT;
    return p->let_go && reachable;
}

/* Whether the slot must wait for another slot. A child is opened only after its parent has split:
 * otherwise a node without the parent could not open the parent with its old range. In a deleted
 * table the parent's replica is closed first: until then the parent may still create the child.
 * A group is asked for pending parts once it has taken over the partition above: that partition is
 * asked by nobody else. */
static bool reconcile_must_wait(const struct reconcile_table *s,
                                const struct partition_info *partitions, uint32_t index,
                                uint32_t slot)
{
    if (s->queries_leaders && !reconcile_is_done(s, index, MERGE_SLOT))
        return true;
    if (partitions[index].parent == 0)
        return false;
    uint32_t parent = index;
    while (parent > 0 && partitions[parent].id != partitions[index].parent)
        parent--;
    return !reconcile_is_done(s, parent, s->status == TABLE_DELETING ? slot : SPLIT_SLOT);
}

/* Sends what the partition's slots lack, except LEAVING_SLOT and MERGE_SLOT. Replicas of a group
 * that must split are opened only from the second attempt on: the group usually splits at once. */
static void reconcile_send_slots(struct reconciler *reconciler, struct reconcile_table *s,
                                 const struct partition_info *partitions, uint32_t index)
{
    const struct partition_info *p = &partitions[index];
    bool unsplit = !reconcile_is_done(s, index, SPLIT_SLOT);
    for (uint32_t slot = 0; slot < LEAVING_SLOT; slot++) {
        bool replica = slot < p->member_count;
        if ((!replica && slot < MEMBERS_SLOT) || reconcile_is_done(s, index, slot) ||
            reconcile_must_wait(s, partitions, index, slot))
            continue;
        if (!replica || !unsplit)
            reconcile_send_slot(reconciler, s, partitions, index, slot);
        else if (s->attempt > 0)
            reconcile_open_unsplit(reconciler, s, partitions, index, partition_node(p, slot));
    }
}

/* Whether most replicas were lost with their disks: those that are left cannot elect a leader. A
 * replica that has joined lately may not vote; the one that it replaces may. */
static bool reconcile_is_lost(const struct reconciler *reconciler, const struct partition_info *p)
{
    const struct catalog *catalog = reconciler->catalog->state;
    uint32_t left = p->leaving != 0 && !catalog_has_lost(catalog, p->leaving);
    for (uint32_t i = 0; i < p->member_count; i++)
        left += !(p->joined >> i & 1) && !catalog_has_lost(catalog, p->members[i]);
    return left <= p->member_count / 2U;
}

/* Opens what may be missing: a node that slept while the table was new has no replica, and the
 * group may need its vote. Replicas of a child come with the split. */
static void reconcile_open_again(struct reconciler *reconciler, const struct reconcile_table *s,
                                 const struct partition_info *partitions, uint32_t index)
{
    const struct partition_info *p = &partitions[index];
    const bool unsplit = reconcile_children_of(partitions, index, s->count) > 0;
    for (uint32_t i = 0; i < p->member_count && p->parent == 0; i++) {
        if (unsplit)
            reconcile_open_unsplit(reconciler, s, partitions, index, partition_node(p, i));
        else
            reconcile_open_unanswered(reconciler, s->status, p, partition_node(p, i));
    }
}

/* Goes on without a leader if none can be elected, or if the leader cannot take over the partition
 * above. A group whose nodes may come back is waited for, however long: other tables need what it
 * has committed for them. */
static void reconcile_wait_for_leader(struct reconciler *reconciler, struct reconcile_table *s,
                                      const struct partition_info *partitions, uint32_t index)
{
    const uint32_t slot = reconcile_is_done(s, index, MERGE_SLOT) ? MEMBERS_SLOT : MERGE_SLOT;
    const int64_t leaderless_ns =
        instant_since(reconciler->env->now, s->at[index].leader_seen_at).ns;
    if (!s->queries_leaders || reconcile_is_done(s, index, slot) ||
        leaderless_ns < OPEN_MS * NS_PER_MS)
        return;
    reconcile_open_again(reconciler, s, partitions, index);
    const bool cannot = slot == MERGE_SLOT && s->at[index].cannot_absorb;
    if (leaderless_ns < NO_LEADER_MS * NS_PER_MS ||
        (!cannot && !reconcile_is_lost(reconciler, &partitions[index])))
        return;
    PROBE("a group of a deleted table has no leader");
    s->at[index].done |= (uint16_t)(1U << slot);
    s->at[index].leader_seen_at = reconciler->env->now;
    s->missing--;
}

static void reconcile_send_missing(struct reconciler *reconciler, struct reconcile_table *s)
{
    const struct partition_info *partitions;
    must(reconcile_partitions_of(reconciler, s->table_id, &partitions) == s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct partition_info *p = &partitions[i];
        reconcile_wait_for_leader(reconciler, s, partitions, i);
        reconcile_send_slots(reconciler, s, partitions, i);
        if (!reconcile_is_done(s, i, MERGE_SLOT))
            reconcile_send_slot(reconciler, s, partitions, i, MERGE_SLOT);
        if (reconcile_merge_of(s, p) != MERGE_NONE)
            reconcile_propose_merge(reconciler, s, p, &s->at[i]);
        if (p->leaving == 0 || s->queries_leaders)
            continue;
        if (s->status != TABLE_DELETING && !p->let_go && !reconcile_is_done(s, i, MEMBERS_SLOT))
            reconcile_open_leaving(reconciler, s->status, p);
        if (!reconcile_is_done(s, i, LEAVING_SLOT) && reconcile_may_erase(reconciler, s, p, i))
            reconcile_send_slot(reconciler, s, partitions, i, LEAVING_SLOT);
        if (reconcile_is_done(s, i, LEAVING_SLOT))
            reconcile_propose_left(reconciler, CATALOG_LEFT, p);
    }
    s->attempt++;
    s->send_at = instant_add_ms(reconciler->env->now, SEND_AGAIN_MS);
}

/* Whether the open replicas are too few to elect a leader or to support a leader's lease. While the
 * members change, it is not known which of them vote: the members that have not joined lately vote,
 * the others may. */
static bool reconcile_is_closed(const struct reconcile_table *s, const struct partition_info *p,
                                uint32_t index)
{
    uint32_t all = (1U << p->member_count) - 1;
    uint32_t open = all & ~(uint32_t)s->at[index].done;
    uint32_t left = (uint32_t)__builtin_popcount(open);
    uint32_t voters = (uint32_t)__builtin_popcount(all & (~p->joined | open));
    if (p->leaving != 0 && !reconcile_is_done(s, index, LEAVING_SLOT)) {
        left++;
        voters++;
    }
    return left <= voters / 2;
}

/* Whether each group has a majority of its replicas open. In a deleted table: whether all leaders
 * were asked, and then whether enough replicas are closed. */
static bool reconcile_is_usable(const struct reconciler *reconciler,
                                const struct reconcile_table *s)
{
    const struct partition_info *partitions;
    const struct table *t = catalog_find_id(reconciler->catalog->state, s->table_id);
    if (s->queries_leaders)
        return s->missing == 0;
    if (s->status == TABLE_DELETING &&
        catalog_next_index(reconciler->catalog->state, t, NULL) != NULL)
        return false; /* its name is free when its indexes are gone */
    must(reconcile_partitions_of(reconciler, s->table_id, &partitions) == s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t members = s->at[i].done & ((1U << partitions[i].member_count) - 1);
        bool majority = (uint32_t)__builtin_popcount(members) >= partitions[i].member_count / 2 + 1;
        if (!(s->status == TABLE_DELETING ? reconcile_is_closed(s, &partitions[i], i) : majority))
            return false;
    }
    return true;
}

/* Proposes CATALOG_RECONCILED if the acknowledgements allow it. Rests when all is done. */
static void reconcile_advance(struct reconciler *reconciler, struct reconcile_table *s)
{
    bool unsettled = s->status != TABLE_ACTIVE || s->splitting;
    bool shown = s->status == TABLE_ACTIVE || s->queries_leaders ||
                 !instant_before(reconciler->env->now, s->show_until);
    if (unsettled && shown && !s->proposed && reconcile_is_usable(reconciler, s)) {
        s->proposed = true;
        reconcile_propose_reconciled(reconciler, s);
    }
    if (s->missing == 0 && !unsettled)
        s->send_at = INSTANT_NEVER;
}

/* A member has refused to change the indexes of its group, because another member leads. That
 * member may have acknowledged the change before it led, and forgotten the change with a snapshot:
 * all members are told again. */
static void reconcile_send_again(struct reconcile_table *s, const struct partition_info *p,
                                 uint32_t index)
{
    const uint16_t again = s->at[index].done & (uint16_t)((1U << p->member_count) - 1);
    PROBE("a leader must be told again what its group does not know");
    s->at[index].done &= (uint16_t)~again;
    s->missing += (uint32_t)__builtin_popcount(again);
}

void reconcile_answered(struct reconciler *reconciler, const struct internal_call_answer *answer)
{
    const struct reply *reply = answer->reply;
    struct reconcile_table *s = reconcile_find(reconciler, answer->subject);
    uint32_t index = answer->token / SLOTS, slot = answer->token % SLOTS;
    must(s != NULL && index < s->count);
    s->at[index].requested &= (uint16_t) ~(1U << slot);
    if (slot >= MEMBERS_SLOT && slot != LEAVING_SLOT)
        s->at[index].leader = answer->node;
    if (reconcile_is_done(s, index, slot))
        return; /* the slot is done already */
    const struct partition_info *partitions;
    must(reconcile_partitions_of(reconciler, s->table_id, &partitions) == s->count);
    if (s->queries_leaders &&
        (slot == MERGE_SLOT ? reply->code == REPLY_OK : reply->code == REPLY_OVERLOADED))
        s->at[index].leader_seen_at = reconciler->env->now;
    s->at[index].cannot_absorb |= slot == MERGE_SLOT && reply->code == REPLY_OVERLOADED;
    if (!s->queries_leaders && slot == MEMBERS_SLOT && reply->members.too_many_voters)
        s->send_at = instant_earlier(s->send_at, instant_add_ms(reconciler->env->now, MEMBERS_MS));
    enum merge_step merge = reconcile_merge_of(s, &partitions[index]);
    if (merge != MERGE_NONE && s->attempt < MERGE_QUICK)
        s->send_at = instant_earlier(s->send_at, instant_add_ms(reconciler->env->now, MERGE_MS));
    if (reply->code == REPLY_NOT_LEADER && merge == MERGE_NONE && slot < MEMBERS_SLOT)
        reconcile_send_again(s, &partitions[index], index);
    const bool nowhere = s->queries_leaders && reply->code == REPLY_WRONG_PARTITION; /* CALLS-3 */
    if (reply->code != REPLY_OK && !nowhere)
        return; /* the request is sent again */
    if (merge == MERGE_FREEZE && slot < MEMBERS_SLOT) {
        if (reply->frozen.index == 0)
            return; /* the replica is not frozen yet */
        s->at[index].frozen = (struct frozen){reply->frozen.index, reply->frozen.term};
    }
    s->at[index].done |= (uint16_t)(1U << slot);
    s->missing -=
        slot != LEAVING_SLOT; /* CATALOG_LEFT reconciles the table again, without the slot */
    if (merge != MERGE_NONE)
        reconcile_propose_merge(reconciler, s, &partitions[index], &s->at[index]);
    if (slot == SPLIT_SLOT)
        s->send_at = instant_add_ms(reconciler->env->now, SPLIT_MS);
    if (slot == MEMBERS_SLOT || slot == LEAVING_SLOT || (s->queries_leaders && slot == MERGE_SLOT))
        s->send_at = reconciler->env->now; /* other slots waited for this one */
    reconcile_advance(reconciler, s);
}

/* ---- life and time ---- */

void reconcile_start(struct reconciler *reconciler)
{
    reconcile_end(reconciler);
    reconciler->catalog->loads = cluster_loads_create();
    reconciler->catalog->led_since = reconciler->env->now;
    for (const struct table *t = NULL; (t = catalog_next(reconciler->catalog->state, t)) != NULL;)
        reconcile_begin_table(reconciler, t->id, t->status, NULL);
    reconcile_begin_table(reconciler, CATALOG_TABLE_ID, TABLE_ACTIVE, NULL);
    reconcile_watch_nodes(reconciler);
}

void reconcile_end(struct reconciler *reconciler)
{
    internal_calls_end_all(reconciler->calls, INTERNAL_CALL_RECONCILE);
    for (struct reconcile_table *s; (s = LIST_FIRST(&reconciler->tables)) != NULL;) {
        LIST_REMOVE(s, place);
        free(s);
    }
    cluster_loads_destroy(reconciler->catalog->loads);
    reconciler->catalog->loads = NULL;
}

void reconcile_tick(struct reconciler *reconciler)
{
    if (!catalog_replica_leads(reconciler->catalog))
        return;
    if (!instant_before(reconciler->env->now, reconciler->nodes_at))
        reconcile_watch_nodes(reconciler);
    struct reconcile_table *s;
    LIST_FOREACH (s, &reconciler->tables, place) {
        if (instant_before(reconciler->env->now, s->send_at))
            continue;
        reconcile_send_missing(reconciler, s);
        if (s->proposed && (s->status != TABLE_ACTIVE || s->splitting))
            s->proposed = false; /* the proposal may be lost */
        reconcile_advance(reconciler, s);
    }
}

struct instant reconcile_deadline(const struct reconciler *reconciler)
{
    if (!catalog_replica_leads(reconciler->catalog))
        return INSTANT_NEVER;
    struct instant t = reconciler->nodes_at;
    const struct reconcile_table *s;
    LIST_FOREACH (s, &reconciler->tables, place)
        t = instant_earlier(t, s->send_at);
    return t;
}
