/* node/settling.c - leading group 0: getting partitions where the catalog wants them.
 *
 * A table whose partitions may not be in place is being settled: every replica is opened (or
 * closed) at its node, again and again while the node can be reached, until it has acknowledged;
 * groups whose intended members have changed are told to change; one that is to be split is told
 * to, and the nodes that have applied the split find the children open already. Once a majority of
 * each group has acknowledged, CATALOG_SETTLE is proposed; the rest goes on behind it. All steps
 * may be repeated: a new leader settles every table once.
 *
 * A merge goes from step to step (engine/catalog/merge.c): where the slots of a partition allow the
 * next one, the catalog is told. What is frozen for longer than merge_freeze_ms is given up.
 *
 * Nodes are watched too: one that lives under another generation than the catalog knows has lost
 * its disk, and its replicas are replaced. */
#include <stdlib.h>
#include <xxhash.h>

#include "base/must.h"
#include "engine/node/node_internal.h"
#include "replication/raft_mutation.h"

enum {
    SEND_AGAIN_MS = 250,
    MEMBERS_MS = 5, /* while a group has more voters than it should: that slows its writes */
    MERGE_MS = 10,  /* while a partition that is to be merged serves nothing */
    SPLIT_MS = 10,  /* after the leader has applied a split: then the others have, mostly */
    NODES_MS = 50,
    SLOTS = 16,       /* of a partition: its members, then the group's own */
    MEMBERS_SLOT = 7, /* it has the right members */
    SPLIT_SLOT = 8,   /* it has split off the partitions that name it as their parent */
    LEAVING_SLOT = 9, /* what was moved away is erased: once the group has let go of it */
    MERGE_SLOT = 10,  /* it has thawed, or taken over the partition above */
    MERGE_QUICK = 50, /* attempts of a merge that follow each other soon */
    REDIRECTS_MAX = 8,
    PLACE_BITS = 21, /* of a request's id: a partition and a slot */
    ROUNDS = 1 << (32 - PLACE_BITS),
};
_Static_assert((int)REPLICAS_MAX <= (int)MEMBERS_SLOT, "a slot for each");

/* What was said of a partition, and which of its slots have acknowledged it. */
struct settled {
    uint32_t partition;
    uint16_t done; /* a bit per slot; those that it does not have are done */
    uint64_t hash; /* of what was said */
    /* while it is being frozen */
    struct instant freeze_until;
    struct frozen frozen; /* as its replicas say */
};

struct settling {
    struct settling *next;
    uint32_t table_id;
    enum table_status status;
    uint32_t count;
    uint32_t round;
    uint32_t attempt;
    uint32_t missing;   /* slots not done */
    uint32_t redirects; /* in this attempt: leaders that were named, and asked at once */
    bool splitting;
    bool proposed;             /* CATALOG_SETTLE is in the log */
    struct instant send_at;    /* INSTANT_NEVER: all is done */
    struct instant show_until; /* the status stays for table_change_delay_ms */
    struct settled at[];       /* by partition, in key order */
};

/* Of a table that is deleted nothing is merged any more. */
static enum merge_step merge_of(const struct settling *s, const struct partition_info *p)
{
    return s->status == TABLE_DELETING ? MERGE_NONE : p->merge;
}

/* table | round | partition and slot: an answer to an earlier round is told from one to this. */
static uint64_t request_id(const struct settling *s, uint32_t index, uint32_t slot)
{
    return (uint64_t)s->table_id << 32 | (uint64_t)s->round << PLACE_BITS |
           (index * SLOTS + slot + 1);
}

static struct settling **find_settling(struct node *n, uint32_t table_id)
{
    struct settling **link = &n->settling;
    while (*link != NULL && (*link)->table_id != table_id)
        link = &(*link)->next;
    return link;
}

/* NULL: there is none. */
static struct settling *take_settling(struct settling **link)
{
    struct settling *s = *link;
    if (s != NULL)
        *link = s->next;
    return s;
}

/* Group 0 is settled as table 0; until the catalog knows of it, from its leader's own info. */
static uint32_t partitions_of(const struct node *n, uint32_t table_id,
                              const struct partition_info **out)
{
    const struct table *t = catalog_find_id(n->catalog, table_id);
    if (t == NULL && table_id == CATALOG_TABLE_ID) {
        *out = &node_partition(n, CATALOG_GROUP)->info;
        return 1;
    }
    must(t != NULL);
    *out = t->partitions;
    return t->partition_count;
}

/* The partitions that are to be split off from this one follow it. */
static uint32_t children_of(const struct partition_info *p, uint32_t index, uint32_t count)
{
    uint32_t children = 0;
    while (index + 1 + children < count && p[index + 1 + children].parent == p[index].id)
        children++;
    return children;
}

/* As nodes hear of it, but for a step of a merge: the rest is for the catalog to remember. Where a
 * replica has joined a group that has begun, the members are no longer those it began with: whoever
 * opens only now starts from a snapshot too, and with it learns who the members are. */
static void append_told(struct buffer *out, enum table_status status,
                        const struct partition_info *p)
{
    struct partition_info told = *p;
    if (status != TABLE_CREATING && p->arrivals > 0)
        told.joined = (1U << p->member_count) - 1;
    told.let_go = false;
    told.parent = 0;
    memset(told.share_ppm, 0, sizeof told.share_ppm);
    told.merge = MERGE_NONE;
    told.absorbed = false;
    partition_info_encode(out, &told);
}

uint64_t node_catalog_as_of(const struct node *n)
{
    return raft_applied(node_partition(n, CATALOG_GROUP)->raft);
}

/* The slots a partition has. */
static uint16_t slots_of(enum table_status status, const struct partition_info *partitions,
                         uint32_t index, uint32_t count)
{
    const struct partition_info *p = &partitions[index];
    uint16_t slots = (uint16_t)((1U << p->member_count) - 1);
    if (status != TABLE_DELETING && p->joined != 0)
        slots |= 1 << MEMBERS_SLOT;
    if (status != TABLE_DELETING && children_of(partitions, index, count) > 0)
        slots |= 1 << SPLIT_SLOT;
    if (p->leaving != 0)
        slots |= 1 << LEAVING_SLOT;
    if (status != TABLE_DELETING &&
        (p->merge == MERGE_THAW || (p->merge == MERGE_ABSORB && !p->absorbed)))
        slots |= 1 << MERGE_SLOT;
    return slots;
}

/* What has acknowledged the same words before need not hear them again: a table of a thousand
 * partitions is not settled anew for a change of one. `old` lists the same partitions in the same
 * order, but for those that have come between by a split, and those that a merge has ended. */
static void carry_over(struct settling *s, const struct settling *old)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t same = k;
        while (same < old->count && old->at[same].partition != s->at[i].partition)
            same++;
        if (same == old->count)
            continue;
        k = same + 1;
        if (old->at[same].hash != s->at[i].hash)
            continue;
        s->at[i].done |= old->at[same].done;
        s->at[i].frozen = old->at[same].frozen;
        s->at[i].freeze_until = old->at[same].freeze_until;
    }
}

/* Of what is said to the nodes about the partition. */
static uint64_t hash_of(struct node *n, enum table_status status, const struct partition_info *p)
{
    buffer_clear(&n->scratch);
    append_told(&n->scratch, status, p);
    return XXH3_64bits_withSeed(n->scratch.data, n->scratch.size, p->merge == MERGE_FREEZE);
}

/* `old`, which may be NULL, is taken over. */
static void settle(struct node *n, uint32_t table_id, enum table_status status,
                   struct settling *old)
{
    const struct partition_info *partitions;
    uint32_t count = partitions_of(n, table_id, &partitions);
    struct settling *s = calloc(1, sizeof *s + count * sizeof s->at[0]);
    must(s != NULL && count < (1U << PLACE_BITS) / SLOTS);
    s->table_id = table_id;
    s->status = status;
    s->count = count;
    s->round = n->settle_round++ % ROUNDS;
    s->send_at = n->now;
    s->show_until = old != NULL && old->status == status
                        ? old->show_until
                        : instant_add(n->now, duration_ms(n->config->table_change_delay_ms));
    for (uint32_t i = 0; i < count; i++) {
        s->at[i].partition = partitions[i].id;
        s->at[i].hash = hash_of(n, status, &partitions[i]);
        s->at[i].freeze_until = instant_add(n->now, duration_ms(n->config->merge_freeze_ms));
    }
    if (old != NULL && status != TABLE_DELETING)
        carry_over(s, old);
    free(old);
    for (uint32_t i = 0; i < count; i++) {
        uint16_t slots = slots_of(status, partitions, i, count);
        s->at[i].done |= (uint16_t)~slots;
        s->splitting |= slots >> SPLIT_SLOT & 1;
        s->missing += (uint32_t)__builtin_popcount(slots & ~s->at[i].done);
        if (partitions[i].leaving != 0 && s->at[i].done >> LEAVING_SLOT & 1)
            s->missing++; /* until CATALOG_LEFT */
        if (merge_of(s, &partitions[i]) != MERGE_NONE)
            s->missing++; /* until the next step */
    }
    s->next = n->settling;
    n->settling = s;
}

/* The children are there, whether or not the group has answered for the split. */
static void end_split(struct settling *s)
{
    s->splitting = false;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->at[i].done >> SPLIT_SLOT & 1)
            continue;
        s->at[i].done |= 1 << SPLIT_SLOT;
        s->missing--;
    }
}

bool node_settling_rests(struct node *n, uint32_t table_id)
{
    const struct settling *s = *find_settling(n, table_id);
    return s != NULL && s->missing == 0 && s->status == TABLE_ACTIVE && !s->splitting;
}

void node_settling_changed(struct node *n, const struct table *t)
{
    struct settling **link = find_settling(n, t->id);
    bool gone = catalog_find_id(n->catalog, t->id) == NULL;
    bool settled = *link != NULL && !gone && t->status == TABLE_ACTIVE && !table_is_splitting(t) &&
                   (*link)->proposed && ((*link)->status != TABLE_ACTIVE || (*link)->splitting);
    if (settled) {
        end_split(*link);
        (*link)->status = TABLE_ACTIVE; /* what is missing goes on */
        return;
    }
    struct settling *old = take_settling(link);
    if (gone)
        free(old);
    else
        settle(n, t->id, t->status, old);
}

/* ---- proposing ---- */

static void propose_command(struct node *n, struct catalog_command *command)
{
    const struct operation o = {.from = FROM_SELF, .request.id = OWN_UNANSWERED};
    command->spec.name = slice_of("-");
    if (node_can_write(n, &o, 1024))
        node_catalog_propose(n, &o, command);
}

static void propose_settle(struct node *n, const struct settling *s)
{
    struct catalog_command command;
    catalog_command_init(&command, CATALOG_SETTLE, n->config, n->options.node_count, 0);
    command.table_id = s->table_id;
    command.partition_count = s->count;
    command.status = s->status;
    propose_command(n, &command);
}

static void propose_decision(struct node *n, enum catalog_op op, const struct decision *d)
{
    struct catalog_command command;
    catalog_command_init(&command, op, n->config, n->options.node_count, 0);
    buffer_clear(&n->scratch);
    decision_encode(&n->scratch, d);
    command.decision = arena_copy(&n->lent, buffer_slice(&n->scratch));
    propose_command(n, &command);
}

static void propose(struct node *n, enum catalog_op op, uint32_t table_id, uint32_t node,
                    uint32_t generation)
{
    struct catalog_command command;
    catalog_command_init(&command, op, n->config, n->options.node_count, 0);
    command.table_id = table_id;
    command.node = node;
    command.generation = generation;
    propose_command(n, &command);
}

/* What was moved away is let go of, or erased. */
static void propose_left(struct node *n, enum catalog_op op, const struct partition_info *p)
{
    const struct decision d = {.table_id = p->table_id,
                               .partition = p->id,
                               .epoch = p->epoch,
                               .from_node = raft_member_node(p->leaving)};
    propose_decision(n, op, &d);
}

/* What the slots of a merging partition allow. The catalog is told until it says what is next. */
static void propose_merge(struct node *n, const struct settling *s, const struct partition_info *p,
                          const struct settled *at)
{
    uint16_t replicas = (uint16_t)((1U << p->member_count) - 1) | 1 << MEMBERS_SLOT;
    bool all = (at->done & replicas) == replicas || MUTATED(RAFT_MUTATION_ABSORB_AS_IT_IS);
    bool group = at->done >> MERGE_SLOT & 1;
    struct decision d = {.table_id = p->table_id, .partition = p->id, .epoch = p->epoch};
    if (p->merge == MERGE_FREEZE && !instant_before(n->now, at->freeze_until)) {
        d.merge = MERGE_GIVE_UP; /* perhaps the catalog has refused the next step */
        d.has_event = true;
        d.event = (struct event){.kind = EVENT_MERGE_GIVEN_UP,
                                 .table_id = s->table_id,
                                 .partition = p->id,
                                 .table = catalog_find_id(n->catalog, s->table_id)->name,
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
    propose_decision(n, CATALOG_MERGE, &d);
}

/* ---- sending ---- */

static void encode_split(struct buffer *out, const struct partition_info *p, uint32_t children)
{
    struct partition_split split = {.parent = *p, .child_count = children};
    for (uint32_t i = 0; i < children; i++)
        split.children[i] = p[1 + i];
    partition_split_encode(out, &split);
}

static enum request_op op_of(const struct settling *s, const struct partition_info *p,
                             uint32_t slot)
{
    if (s->status == TABLE_DELETING || slot == LEAVING_SLOT)
        return REQUEST_PARTITION_CLOSE;
    if (slot == MERGE_SLOT || (slot < MEMBERS_SLOT && p->merge == MERGE_FREEZE))
        return REQUEST_PARTITION_MERGE;
    if (slot == SPLIT_SLOT)
        return REQUEST_PARTITION_SPLIT;
    return slot == MEMBERS_SLOT ? REQUEST_PARTITION_MEMBERS : REQUEST_PARTITION_OPEN;
}

/* Who to ask; what is for the leader goes to one after the other: the replica on its way out may
 * lead, too. */
static uint32_t node_for(const struct settling *s, const struct partition_info *p, uint32_t slot)
{
    if (slot == LEAVING_SLOT)
        return raft_member_node(p->leaving);
    if (slot < MEMBERS_SLOT)
        return partition_node(p, slot);
    uint32_t i = s->attempt % (p->member_count + (p->leaving != 0));
    return i < p->member_count ? partition_node(p, i) : raft_member_node(p->leaving);
}

static void send_slot(struct node *n, struct settling *s, const struct partition_info *partitions,
                      uint32_t index, uint32_t slot, uint32_t node)
{
    const struct partition_info *p = &partitions[index];
    if (!node_is_reachable(n, node))
        return;
    const enum request_op op = op_of(s, p, slot);
    buffer_clear(&n->scratch);
    if (op == REQUEST_PARTITION_OPEN || op == REQUEST_PARTITION_CLOSE)
        buffer_append_u64(&n->scratch, node_catalog_as_of(n));
    if (op == REQUEST_PARTITION_SPLIT)
        encode_split(&n->scratch, p, children_of(partitions, index, s->count));
    else if (op == REQUEST_PARTITION_MERGE)
        partition_info_encode(&n->scratch, p);
    else
        append_told(&n->scratch, s->status, p);
    struct node_effect *e = node_push(n, NODE_REQUEST);
    e->to = node;
    e->request = (struct request){
        .id = request_id(s, index, slot),
        .op = op,
        .partition = p->id,
        .epoch = p->epoch,
        .consistent = s->status == TABLE_DELETING,
        .body = arena_copy(&n->lent, buffer_slice(&n->scratch)),
    };
}

/* Said until there is nothing to say it for, acknowledged or not. */
static void open_unanswered(struct node *n, enum table_status status,
                            const struct partition_info *told, uint32_t node)
{
    if (!node_is_reachable(n, node))
        return;
    buffer_clear(&n->scratch);
    buffer_append_u64(&n->scratch, node_catalog_as_of(n));
    append_told(&n->scratch, status, told);
    struct node_effect *e = node_push(n, NODE_REQUEST);
    e->to = node;
    e->request = (struct request){
        .id = OWN_UNANSWERED,
        .op = REQUEST_PARTITION_OPEN,
        .partition = told->id,
        .epoch = told->epoch,
        .body = arena_copy(&n->lent, buffer_slice(&n->scratch)),
    };
}

/* A replica on its way out may not have been opened yet, and the group counts on its vote until it
 * is removed. It has the place of a replica that has joined. */
static void open_leaving(struct node *n, enum table_status status, const struct partition_info *p)
{
    struct partition_info told = *p;
    uint32_t joined = 0;
    while (joined < p->member_count && (p->joined >> joined & 1) == 0)
        joined++;
    if (joined == p->member_count)
        return;
    told.members[joined] = p->leaving;
    told.leaving = 0;
    told.joined = (1U << p->member_count) - 1;
    open_unanswered(n, status, &told, raft_member_node(p->leaving));
}

/* Until the group has split, its replicas are opened as it is: one that began behind the split
 * would take no part in it, and once all had, nobody could split the group any more. */
static void open_unsplit(struct node *n, const struct settling *s,
                         const struct partition_info *partitions, uint32_t index, uint32_t node)
{
    struct partition_info before = partitions[index];
    before.epoch--;
    before.hi = partitions[index + children_of(partitions, index, s->count)].hi;
    open_unanswered(n, s->status, &before, node);
}

static bool is_done(const struct settling *s, uint32_t index, uint32_t slot)
{
    return s->at[index].done >> slot & 1;
}

/* A replica on its way out is erased only after the group counts on it no more, and the catalog
 * knows that. One whose node cannot be reached is left to itself: it asks the catalog when it is
 * back. Of a deleted table every replica counts until it is closed (is_closed). */
static bool may_erase(struct node *n, struct settling *s, const struct partition_info *p,
                      uint32_t index)
{
    bool reachable = node_is_reachable(n, raft_member_node(p->leaving));
    if (s->status == TABLE_DELETING)
        return reachable;
    if (!p->let_go && is_done(s, index, MEMBERS_SLOT))
        propose_left(n, CATALOG_LET_GO, p);
    if (p->let_go && !reachable)
        s->at[index].done |= 1 << LEAVING_SLOT;
    return p->let_go && reachable;
}

/* Children are opened once they have come out of their parent: before, a node that holds neither
 * could not take the parent's range as it still is. And one may come out on a node for as long as
 * the parent is there: that one is closed first. */
static bool must_wait(const struct settling *s, const struct partition_info *partitions,
                      uint32_t index, uint32_t slot)
{
    if (partitions[index].parent == 0)
        return false;
    uint32_t parent = index;
    while (parent > 0 && partitions[parent].id != partitions[index].parent)
        parent--;
    return !is_done(s, parent, s->status == TABLE_DELETING ? slot : SPLIT_SLOT);
}

/* But for those of what is moved away. A group that is to split does so at once, as a rule. */
static void send_slots(struct node *n, struct settling *s, const struct partition_info *partitions,
                       uint32_t index)
{
    const struct partition_info *p = &partitions[index];
    bool unsplit = !is_done(s, index, SPLIT_SLOT);
    for (uint32_t slot = 0; slot < LEAVING_SLOT; slot++) {
        bool replica = slot < p->member_count;
        if ((!replica && slot < MEMBERS_SLOT) || is_done(s, index, slot) ||
            must_wait(s, partitions, index, slot))
            continue;
        if (!replica || !unsplit)
            send_slot(n, s, partitions, index, slot, node_for(s, p, slot));
        else if (s->attempt > 0)
            open_unsplit(n, s, partitions, index, partition_node(p, slot));
    }
}

static void send_missing(struct node *n, struct settling *s)
{
    const struct partition_info *partitions;
    must(partitions_of(n, s->table_id, &partitions) == s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct partition_info *p = &partitions[i];
        send_slots(n, s, partitions, i);
        if (!is_done(s, i, MERGE_SLOT))
            send_slot(n, s, partitions, i, MERGE_SLOT, node_for(s, p, MERGE_SLOT));
        if (merge_of(s, p) != MERGE_NONE)
            propose_merge(n, s, p, &s->at[i]);
        if (p->leaving == 0)
            continue;
        if (s->status != TABLE_DELETING && !p->let_go && !is_done(s, i, MEMBERS_SLOT))
            open_leaving(n, s->status, p);
        if (!is_done(s, i, LEAVING_SLOT) && may_erase(n, s, p, i))
            send_slot(n, s, partitions, i, LEAVING_SLOT, node_for(s, p, LEAVING_SLOT));
        if (is_done(s, i, LEAVING_SLOT))
            propose_left(n, CATALOG_LEFT, p);
    }
    s->attempt++;
    s->redirects = 0;
    s->send_at = instant_add(n->now, duration_ms(SEND_AGAIN_MS));
}

/* Whether the replicas that are not closed yet can elect no leader, nor keep one by lease. Who
 * votes is not known while the members change: those that have not joined lately do, the others
 * may. */
static bool is_closed(const struct settling *s, const struct partition_info *p, uint32_t index)
{
    uint32_t all = (1U << p->member_count) - 1;
    uint32_t open = all & ~(uint32_t)s->at[index].done;
    uint32_t left = (uint32_t)__builtin_popcount(open);
    uint32_t voters = (uint32_t)__builtin_popcount(all & (~p->joined | open));
    if (p->leaving != 0 && !is_done(s, index, LEAVING_SLOT)) {
        left++;
        voters++;
    }
    return left <= voters / 2;
}

/* Whether each group has a majority of its replicas where they should be. */
static bool is_usable(const struct node *n, const struct settling *s)
{
    const struct partition_info *partitions;
    must(partitions_of(n, s->table_id, &partitions) == s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t members = s->at[i].done & ((1U << partitions[i].member_count) - 1);
        bool most = (uint32_t)__builtin_popcount(members) >= partitions[i].member_count / 2 + 1;
        if (!(s->status == TABLE_DELETING ? is_closed(s, &partitions[i], i) : most))
            return false;
    }
    return true;
}

/* Proposes what the acknowledgements allow; rests when all is done. */
static void advance(struct node *n, struct settling *s)
{
    bool unsettled = s->status != TABLE_ACTIVE || s->splitting;
    bool shown = s->status == TABLE_ACTIVE || !instant_before(n->now, s->show_until);
    if (unsettled && shown && !s->proposed && is_usable(n, s)) {
        s->proposed = true;
        propose_settle(n, s);
    }
    if (s->missing == 0 && !unsettled)
        s->send_at = INSTANT_NEVER;
}

static bool take_frozen(struct settled *at, struct slice body)
{
    struct reader r = {body, false};
    const struct frozen frozen = {.index = reader_u64(&r), .term = reader_u64(&r)};
    bool told = !r.failed && r.left.size == 0 && frozen.index != 0;
    if (told)
        at->frozen = frozen;
    return told;
}

void node_settling_reply(struct node *n, const struct reply *reply)
{
    struct settling *s = *find_settling(n, (uint32_t)(reply->id >> 32));
    uint32_t place = (uint32_t)(reply->id & ((1U << PLACE_BITS) - 1)) - 1;
    uint32_t index = place / SLOTS, slot = place % SLOTS;
    if (s == NULL || index >= s->count || reply->id != request_id(s, index, slot) ||
        is_done(s, index, slot))
        return; /* an answer to what is settled already */
    const struct partition_info *partitions;
    must(partitions_of(n, s->table_id, &partitions) == s->count);
    bool group = slot == MEMBERS_SLOT || slot == SPLIT_SLOT || slot == MERGE_SLOT;
    if (reply->code == REPLY_NOT_LEADER && group && reply->leader != 0 &&
        reply->leader <= n->options.node_count && s->redirects++ < REDIRECTS_MAX) {
        send_slot(n, s, partitions, index, slot, reply->leader);
        return;
    }
    if (slot == MEMBERS_SLOT && reply->more)
        s->send_at = instant_earlier(s->send_at, instant_add(n->now, duration_ms(MEMBERS_MS)));
    enum merge_step merge = merge_of(s, &partitions[index]);
    if (merge != MERGE_NONE && s->attempt < MERGE_QUICK)
        s->send_at = instant_earlier(s->send_at, instant_add(n->now, duration_ms(MERGE_MS)));
    if (reply->code != REPLY_OK)
        return; /* it is sent again */
    if (merge == MERGE_FREEZE && slot < MEMBERS_SLOT && !take_frozen(&s->at[index], reply->body))
        return;
    s->at[index].done |= (uint16_t)(1U << slot);
    s->missing -= slot != LEAVING_SLOT; /* CATALOG_LEFT ends that, and settles the table anew */
    if (merge != MERGE_NONE)
        propose_merge(n, s, &partitions[index], &s->at[index]);
    if (slot == SPLIT_SLOT)
        s->send_at = instant_add(n->now, duration_ms(SPLIT_MS));
    if (slot == MEMBERS_SLOT || slot == LEAVING_SLOT)
        s->send_at = n->now; /* what waited for it goes out */
    advance(n, s);
}

/* ---- nodes ---- */

/* The catalog is told where its own replicas are, so that they can be moved like all others. */
static void propose_found(struct node *n)
{
    struct catalog_command command;
    catalog_command_init(&command, CATALOG_FOUND, n->config, n->options.node_count, 0);
    buffer_clear(&n->scratch);
    partition_info_encode(&n->scratch, &node_partition(n, CATALOG_GROUP)->info);
    command.group = arena_copy(&n->lent, buffer_slice(&n->scratch));
    propose_command(n, &command);
}

static void replace_lost(struct node *n, const struct table *t)
{
    if (catalog_needs_replacing(n->catalog, t))
        propose(n, CATALOG_REPLACE, t->id, 0, 0);
}

static void watch_nodes(struct node *n)
{
    for (uint32_t node = 1; node <= n->options.node_count; node++) {
        uint32_t generation = node == n->options.id ? n->generation : n->peers[node].generation;
        if (generation == 0 || !node_is_reachable(n, node))
            continue;
        if (generation != catalog_generation(n->catalog, node))
            propose(n, CATALOG_NODE, 0, node, generation);
    }
    struct slice name = {NULL, 0};
    for (const struct table *t; (t = catalog_after(n->catalog, name)) != NULL; name = t->name)
        replace_lost(n, t);
    if (catalog_itself(n->catalog) == NULL)
        propose_found(n);
    else
        replace_lost(n, catalog_itself(n->catalog));
    n->nodes_at = instant_add(n->now, duration_ms(NODES_MS));
}

/* ---- life and time ---- */

void node_settling_start(struct node *n)
{
    n->loads = loads_create();
    n->catalog_led_since = n->now;
    struct slice name = {NULL, 0};
    for (const struct table *t; (t = catalog_after(n->catalog, name)) != NULL; name = t->name)
        settle(n, t->id, t->status, NULL);
    settle(n, CATALOG_TABLE_ID, TABLE_ACTIVE, NULL);
    watch_nodes(n);
}

void node_settling_end(struct node *n)
{
    while (n->settling != NULL)
        free(take_settling(&n->settling));
    loads_destroy(n->loads);
    n->loads = NULL;
}

void node_settling_tick(struct node *n)
{
    if (!node_leads_catalog(n))
        return;
    if (!instant_before(n->now, n->nodes_at))
        watch_nodes(n);
    for (struct settling *s = n->settling; s != NULL; s = s->next) {
        if (instant_before(n->now, s->send_at))
            continue;
        send_missing(n, s);
        if (s->proposed && (s->status != TABLE_ACTIVE || s->splitting))
            s->proposed = false; /* it may not have got through */
        advance(n, s);
    }
}

struct instant node_settling_deadline(const struct node *n)
{
    if (!node_leads_catalog(n))
        return INSTANT_NEVER;
    struct instant t = n->nodes_at;
    for (const struct settling *s = n->settling; s != NULL; s = s->next)
        t = instant_earlier(t, s->send_at);
    return t;
}

/* ---- the group's side ---- */

/* Whether the members in force are committed: until then an earlier leader's may come back. */
static bool members_applied(const struct partition *p)
{
    const struct raft_members *m = raft_members(p->raft), *a = raft_members_applied(p->raft);
    bool same = m->count == a->count;
    for (uint32_t i = 0; i < m->count && same; i++)
        same = m->all[i].id == a->all[i].id && m->all[i].voter == a->all[i].voter;
    return same;
}

/* The next step from the members there are to those there should be: add, promote, remove. */
static enum raft_outcome step_members(struct node *n, struct partition *p,
                                      const struct partition_info *info)
{
    const struct raft_members *m = raft_members(p->raft);
    for (uint32_t i = 0; i < m->count; i++) {
        if (raft_member_arrival(m->all[i].id) > info->arrivals)
            return RAFT_PENDING; /* said before that one came: it has been said anew since */
    }
    for (uint32_t i = 0; i < info->member_count; i++) {
        const struct raft_member *member = raft_members_find(m, info->members[i]);
        if (member == NULL)
            return raft_change_members(p->raft, n->now, RAFT_ADD_LEARNER, info->members[i]);
        if (!member->voter)
            return raft_change_members(p->raft, n->now, RAFT_PROMOTE, info->members[i]);
    }
    for (uint32_t i = 0; i < m->count; i++) {
        uint64_t id = m->all[i].id;
        if (partition_member_on(info, raft_member_node(id)) == id)
            continue;
        if (id != raft_self(p->raft))
            return raft_change_members(p->raft, n->now, RAFT_REMOVE, id);
        return raft_transfer(p->raft, n->now, info->members[0]);
    }
    return members_applied(p) ? RAFT_INVALID /* nothing to do */ : RAFT_PENDING;
}

/* Then a write waits for one more of them. */
static bool has_too_many_voters(const struct partition *p, const struct partition_info *info)
{
    const struct raft_members *m = raft_members(p->raft);
    uint32_t voters = 0;
    for (uint32_t i = 0; i < m->count; i++)
        voters += m->all[i].voter;
    return voters > info->member_count;
}

void node_run_members(struct node *n, const struct operation *o)
{
    struct partition_info info;
    struct reader r = {o->request.body, false};
    struct partition *p = node_partition(n, o->request.partition);
    if (partition_info_decode(&r, &info) != STATUS_OK || p == NULL || info.id != p->info.id) {
        node_refuse(n, o->from, o->request.id, REPLY_WRONG_PARTITION,
                    "node %u does not hold partition %u", n->options.id, o->request.partition);
        return;
    }
    if (p->led == 0) {
        node_refuse_not_leader(n, o, p);
        return;
    }
    if (!node_can_write(n, o, 256))
        return;
    enum raft_outcome outcome = step_members(n, p, &info);
    node_group_stepped(n, p);
    if (outcome == RAFT_INVALID) {
        node_push_reply(n, o->from, o->request.id, REPLY_OK);
        return;
    }
    node_refuse(n, o->from, o->request.id, REPLY_OVERLOADED,
                "the members of partition %u are changing", p->info.id);
    n->effects[n->effect_count - 1].reply.more = has_too_many_voters(p, &info);
}
