/* node/split.c - a partition cut into several: one entry of its log, applied by every replica at
 * the same place.
 *
 * Applying it narrows the replica's range and makes the children groups at once, of the data that
 * is in the store already. A child begins at index 1, term 1, with the members the parent's log has
 * at that place: the same on every replica. What was measured about the parent is divided.
 *
 * Invariants
 *   P1  Ranges of a node's replicas never overlap: a child is not opened, nor a snapshot of a wider
 *       range taken, where another replica holds some of it.
 *   P2  A range and its epoch change by LOG_SPLIT or a snapshot, never by what the catalog
 *       says, and the epoch never falls. A replica is opened as its group is: with the range from
 *       before a split until the group has split. One that is opened later begins behind the split
 *       and passes over its entry.
 *   P3  Who has acknowledged the entry comes to hold the children: it applies the entry, in the
 *       replay too (LOG_SPLIT_DONE precedes every record of a child), or before a snapshot
 *       overtakes it. So a majority that has the entry is one that has the children.
 *   P4  While the parent's leader may serve by a lease what is a child's now, nobody but its own
 *       node's replica is elected in the child (raft_start_child). One that became a voter of the
 *       parent after the entry has applied it before it serves, and holds nobody up.
 *
 * Items are counted anew after a cut, a slice at a time: each replica counts the keys it holds from
 * the first one on, and meanwhile writes count only before the place it has reached. So the count
 * is exact in the end, the same everywhere, and no turn waits for a big partition. */
#include "base/must.h"
#include "base/probe.h"
#include "engine/node/node_internal.h"

enum {
    CHILD_BASE = 1, /* index and term a child begins at */
};

/* ---- asked by the catalog ---- */

/* A replica that was opened after its group had split begins with the epoch after the split, and
 * cannot tell whether it was made. Members that were there before know. Which they are is not known
 * here: the next one in order gets its turn, so that all do. */
static void hand_split_on(struct node *n, struct partition *p, const struct operation *o)
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
        if (can && raft_transfer(p->raft, n->now, next->id) == RAFT_OK)
            break;
    }
    node_group_stepped(n, p);
    node_refuse_not_leader(n, o, p);
}

static bool is_proposed(const struct partition *p)
{
    for (const struct inflight *e = p->first; e != NULL; e = e->next) {
        if (e->kind == LOG_SPLIT)
            return true;
    }
    return false;
}

static bool is_of(const struct partition *p, const struct partition_split *s)
{
    return s->parent.id == p->info.id && s->parent.table_id == p->info.table_id &&
           s->parent.epoch == p->info.epoch + 1 && slice_equal(s->parent.lo, p->info.lo) &&
           slice_equal(s->children[s->child_count - 1].hi, p->info.hi) &&
           slice_compare(p->info.lo, s->parent.hi) < 0;
}

void node_run_split(struct node *n, const struct operation *o)
{
    const struct request *q = &o->request;
    struct partition_split split;
    struct partition *p = node_partition(n, q->partition);
    if (partition_split_decode(q->body, &split) != STATUS_OK || split.parent.id != q->partition) {
        node_refuse(n, o->from, q->id, REPLY_MALFORMED, "not a split of partition %u",
                    q->partition);
        return;
    }
    if (p == NULL || p->info.id == CATALOG_GROUP) {
        node_refuse(n, o->from, q->id, REPLY_WRONG_PARTITION, "node %u does not hold partition %u",
                    n->options.id, q->partition);
        return;
    }
    if (p->led == 0) {
        node_refuse_not_leader(n, o, p);
        return;
    }
    if (p->info.epoch >= split.parent.epoch && partition_splits(p)->count > 0) {
        node_push_reply(n, o->from, q->id, REPLY_OK);
        return;
    }
    if (p->info.epoch >= split.parent.epoch) {
        hand_split_on(n, p, o);
        return;
    }
    if (!is_of(p, &split)) {
        node_refuse(n, o->from, q->id, REPLY_MALFORMED, "partition %u is not what is to be split",
                    p->info.id);
        return;
    }
    if (is_proposed(p)) {
        node_refuse(n, o->from, q->id, REPLY_OVERLOADED, "partition %u is being split", p->info.id);
        return;
    }
    if (node_can_write(n, o, q->body.size) &&
        node_propose(n, p, o, LOG_SPLIT, q->body, slice_make(NULL, 0)) != NULL)
        node_note(n, NODE_TRACE_SPLIT_PROPOSED, p->info.id, (int64_t)split.parent.epoch);
}

/* ---- applying it ---- */

/* As the node keeps it: what the catalog alone has to remember is left out. */
static struct partition_info kept_info(const struct partition *parent,
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
static struct partition *create_child(struct node *n, const struct partition *parent,
                                      const struct partition_info *told, uint64_t since_lsn)
{
    struct raft_base base = {.index = CHILD_BASE, .term = CHILD_BASE};
    base.members = *raft_members_applied(parent->raft);
    if (node_partition(n, told->id) != NULL) {
        PROBE("a child was opened before the split is applied");
        return NULL;
    }
    if (raft_members_find(&base.members, raft_self(parent->raft)) == NULL) {
        PROBE("a replica that was removed applies a split");
        node_erase(n, told->lo, told->hi);
        return NULL;
    }
    struct partition_info info = kept_info(parent, told, n->options.id);
    struct partition *child = partition_create(&info);
    child->since_lsn = since_lsn;
    node_add_partition(n, child);
    node_group_create(n, child, &base);
    partition_count_anew(child);
    node_note(n, NODE_TRACE_PARTITION_OPENED, info.id, (int64_t)since_lsn);
    return child;
}

/* What was measured about the parent, and what it owes, goes to the pieces by their shares. */
static void divide_load(struct node *n, struct partition *parent, const struct partition_split *s,
                        struct partition *const children[])
{
    struct admission elsewhere[SPLIT_CUTS_MAX]; /* of children that are not made here */
    struct admission *pieces[SPLIT_CUTS_MAX + 1] = {&parent->admission};
    struct admission_rates rates[SPLIT_CUTS_MAX + 1] = {node_rates_of(&s->parent)};
    uint32_t shares[ADMIT_KINDS][SPLIT_CUTS_MAX + 1];
    for (uint32_t i = 0; i < s->child_count; i++) {
        pieces[i + 1] = children[i] != NULL ? &children[i]->admission : &elsewhere[i];
        rates[i + 1] = node_rates_of(&s->children[i]);
    }
    for (uint32_t kind = 0; kind < ADMIT_KINDS; kind++)
        partition_split_shares(s, kind, shares[kind]);
    const uint32_t *const by_kind[] = {shares[ADMIT_READ], shares[ADMIT_WRITE]};
    admission_leave(&parent->admission, n->now);
    admission_divide(pieces, s->child_count + 1, n->config, rates, by_kind, n->now);
    node_buckets_divided(n, parent);
    for (uint32_t i = 0; i < s->child_count; i++) {
        if (children[i] != NULL)
            node_buckets_divided(n, children[i]);
    }
}

static void start_children(struct node *n, struct partition *parent,
                           struct partition *const children[], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (children[i] == NULL)
            continue;
        raft_start_child(children[i]->raft, n->now, parent->raft);
        if (node_led_term(parent) != 0)
            raft_campaign(children[i]->raft, n->now);
        node_group_stepped(n, children[i]);
    }
}

/* Those of earlier splits may be without a leader still. */
static void follow_children(struct partition *p, struct partition *const children[], uint32_t count)
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

void node_apply_split(struct node *n, struct partition *p, const struct raft_entry *e)
{
    struct partition_split s;
    struct partition *children[SPLIT_CUTS_MAX];
    must(partition_split_decode(e->payload, &s) == STATUS_OK);
    if (!is_of(p, &s)) {
        PROBE("a split is in the log twice");
        return;
    }
    uint64_t lsn = n->started ? n->log.next_lsn : n->replay_lsn;
    if (n->started)
        log_writer_append(&n->log, LOG_SPLIT_DONE, p->info.id, 0, e->index, slice_make(NULL, 0));
    for (uint32_t i = 0; i < s.child_count; i++)
        children[i] = create_child(n, p, &s.children[i], lsn);
    struct partition_info info = kept_info(p, &s.parent, n->options.id);
    partition_set(p, &info);
    partition_count_anew(p);
    partition_push_split(p, e->index, e->term);
    follow_children(p, children, s.child_count);
    node_note(n, NODE_TRACE_SPLIT, p->info.id, (int64_t)e->index);
    if (!n->started)
        return; /* everybody starts, and buckets begin, with the node */
    n->count_at = n->now;
    divide_load(n, p, &s, children);
    node_void_proposals(n, p);
    start_children(n, p, children, s.child_count);
}

/* The one with this id, if it is a child that is still to be followed; or NULL. */
static struct partition *followed_child(const struct node *n, const struct partition *p,
                                        uint32_t id)
{
    struct partition *child = node_partition(n, id);
    return child != NULL && child->parent == p->info.id ? child : NULL;
}

void node_split_stepped(struct node *n, struct partition *p)
{
    bool leaderless = false;
    for (uint32_t id = p->child_first; id != 0 && id <= p->child_last; id++) {
        struct partition *child = followed_child(n, p, id);
        if (child == NULL)
            continue;
        if (raft_leader(child->raft) != 0 || node_led_term(child) != 0) {
            child->parent = 0;
            continue;
        }
        leaderless = true;
        raft_follow_parent(child->raft, n->now, p->raft);
        if (node_led_term(p) != 0) /* the others may have applied it by now */
            raft_campaign(child->raft, n->now);
        node_group_stepped(n, child);
    }
    if (!leaderless)
        p->child_first = p->child_last = 0;
}

void node_split_orphan(struct node *n, const struct partition *p)
{
    for (uint32_t id = p->child_first; id != 0 && id <= p->child_last; id++) {
        struct partition *child = followed_child(n, p, id);
        if (child == NULL)
            continue;
        child->parent = 0;
        if (!n->started)
            continue;
        PROBE("a child without a leader outlives its parent");
        raft_follow_parent(child->raft, n->now, NULL);
        node_group_stepped(n, child);
    }
}

/* ---- snapshots ---- */

void node_split_catch_up(struct node *n, struct partition *p, const struct split_history *splits)
{
    for (uint32_t i = splits->count; i-- > 0 && !p->no_state;) {
        uint64_t index = splits->at[i].index;
        if (index <= raft_applied(p->raft))
            return;
        if (!raft_learn_commit(p->raft, index, splits->at[i].term))
            continue;
        PROBE("a split is applied before a snapshot overtakes it");
        node_group_apply(n, p);
        return;
    }
}

bool node_holds_range(const struct node *n, struct slice lo, struct slice hi)
{
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        const struct partition *p = n->partitions[i];
        if (p != NULL && partition_overlaps(p, lo, hi))
            return true;
    }
    return false;
}

bool node_opens_range(const struct node *n, uint32_t but, struct slice lo, struct slice hi)
{
    for (const struct inflight *e = n->own_first; e != NULL; e = e->next) {
        struct partition_info other;
        struct reader r = {e->payload, false};
        if (e->kind != LOG_PARTITION || e->group == but)
            continue;
        must(partition_info_decode(&r, &other) == STATUS_OK);
        bool before = hi.size > 0 && slice_compare(hi, other.lo) <= 0;
        bool behind = other.hi.size > 0 && slice_compare(other.hi, lo) <= 0;
        if (!before && !behind)
            return true;
    }
    return false;
}

void node_doubt_holders(struct node *n, struct slice lo, struct slice hi)
{
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        struct partition *p = n->partitions[i];
        if (p != NULL && partition_overlaps(p, lo, hi))
            p->doubted = true;
    }
}

static void take_info(struct partition *p, const struct partition_info *told)
{
    struct partition_info info = p->info;
    info.epoch = told->epoch;
    info.hi = told->hi;
    partition_set(p, &info);
}

/* The group may need this replica before it can split at all. */
static bool widen(struct node *n, struct partition *p, const struct partition_info *told)
{
    bool state = !p->no_state && raft_applied(p->raft) > 0;
    bool past = state || raft_last(p->raft) > 0, opening = false;
    for (const struct inflight *e = n->own_first; e != NULL; e = e->next)
        opening |= e->kind == LOG_PARTITION; /* perhaps of a child */
    if (slice_compare(told->hi, p->info.hi) < 0)
        return false; /* from before a merge: what was taken over since is nowhere else */
    if (past || opening || node_holds_range(n, p->info.hi, told->hi) ||
        store_erase_overlaps(n->store, p->info.hi, told->hi))
        return false;
    PROBE("a replica that knows of a split begins before it");
    take_info(p, told);
    return true;
}

bool node_split_take_range(struct node *n, struct partition *p, const struct partition_info *told)
{
    if (told->epoch == p->info.epoch)
        return true;
    if (told->epoch < p->info.epoch)
        return widen(n, p, told);
    if (slice_compare(told->hi, p->info.hi) > 0) {
        if (!node_merge_give_way(n, p, p->info.hi, told->hi))
            return false;
        take_info(p, told);
        p->absorbed_lsn = UINT64_MAX; /* until it is installed */
        return true;
    }
    PROBE("a snapshot brings a range that was split");
    struct buffer hi = {0};
    buffer_append_slice(&hi, p->info.hi);
    take_info(p, told);
    if (!slice_equal(buffer_slice(&hi), p->info.hi) &&
        !node_holds_range(n, p->info.hi, buffer_slice(&hi)))
        node_erase(n, p->info.hi,
                   buffer_slice(&hi)); /* the children's own snapshots bring theirs */
    buffer_deinit(&hi);
    return true;
}

/* ---- counting ---- */

static struct partition *next_to_count(const struct node *n)
{
    for (uint32_t i = 1; i <= n->partitions_size; i++) {
        struct partition *p = n->partitions[(n->counted_last + i) % n->partitions_size];
        if (p != NULL && p->counting && !p->no_state)
            return p;
    }
    return NULL;
}

static void count_slice(struct node *n, struct partition *p)
{
    struct store_cursor c;
    struct slice key, item;
    enum status status = STATUS_NOT_FOUND;
    size_t bytes = 0;
    store_seek(n->store, buffer_slice(&p->counted_to), p->info.hi, false, &c);
    for (int i = 0;; i++) {
        status = store_next(&c, &key, &item);
        if (status != STATUS_OK || i == SCAN_ITEMS || bytes >= SCAN_BYTES)
            break;
        bytes += item.size;
        if (partition_is_row(p, key) || !item_checksum_holds(item))
            continue; /* of an item that is damaged, whoever reads it is told */
        p->item_count++;
        p->item_bytes += (int64_t)item_size(item);
    }
    p->stored = false;
    p->counting = status != STATUS_NOT_FOUND;
    struct buffer to = {0};
    if (status == STATUS_OK)
        buffer_append_slice(&to, key);
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        partition_count_anew(p); /* what was counted behind the place is not known to be whole */
    if (status == STATUS_OK || status == STATUS_NOT_FOUND) {
        buffer_deinit(&p->counted_to);
        p->counted_to = to;
    }
}

void node_count_tick(struct node *n)
{
    if (instant_before(n->now, n->count_at))
        return;
    struct partition *p = NULL;
    if (n->count_scan.state != SCAN_IDLE) /* pages of this one were asked for */
        p = node_partition(n, n->counted_last);
    if (p == NULL || !p->counting || p->no_state)
        p = next_to_count(n);
    n->count_at = INSTANT_NEVER;
    if (p == NULL)
        return;
    n->counted_last = p->info.id;
    struct slice from = p->counted_to.size > 0 ? buffer_slice(&p->counted_to) : p->info.lo;
    if (!node_scan_may_read(n, &n->count_scan, RESUME_COUNT, p->info.id, from)) {
        n->count_at = node_scan_retry_at(n, &n->count_scan);
        return;
    }
    count_slice(n, p);
    n->count_at = instant_add(n->now, duration_ms(SCAN_MS));
}
