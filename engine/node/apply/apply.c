/* apply.c - applies committed entries to replicas, and durable own records to the node. In service
 * and in replay the effect is the same. */
#include "base/probe.h"
#include "base/settings/replication.h"
#include "engine/message/transaction_messages.h"
#include "engine/node/apply/applier_internal.h"
#include "engine/node/core/collection.h"
#include "engine/node/core/local_rows.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/core/stream_rows.h"

/* ---- committed entries ---- */

static void apply_item(struct applier *applier, struct partition *p, const struct change *c,
                       struct applied *out)
{
    const bool was = c->old_size >= 0, is = c->value.data != NULL;
    enum status returned = STATUS_NOT_FOUND;
    out->reply.kind = ANSWER_ITEM;
    if (out->return_values == RETURN_OLD)
        returned = store_get(applier->env->store, c->key, true, &out->reply.item.bytes);
    if (is || was)
        store_put(applier->env->store, c->key, c->value);
    if (out->return_values == RETURN_NEW)
        returned = store_get(applier->env->store, c->key, true, &out->reply.item.bytes);
    out->reply.item.found = returned == STATUS_OK;
    if (returned != STATUS_OK && returned != STATUS_NOT_FOUND) {
        out->reply.code = REPLY_UNKNOWN;
        out->reply.text = slice_of("the write is done, but the replaced item cannot be read");
    }
    if (partition_has_counted(p, c->key))
        tally_add(&p->items, is - was,
                  (is ? (int64_t)item_size(c->value) : 0) - (was ? c->old_size : 0));
    if (p->marks != NULL)
        p->marks[mark_of(applier->env->store, c->key)] = raft_applied(p->raft);
}

static void apply_change(struct applier *applier, struct partition *p, const struct change *c,
                         struct applied *out)
{
    if (c->space == SPACE_ITEMS)
        apply_item(applier, p, c, out);
    else
        store_put(applier->env->store, c->key, c->value);
    if (c->space == SPACE_TRANSACTIONS)
        transactions_applied(applier->transactions, p, c->key, c->value);
}

/* `parts`: the value of a change that global indexes lack. */
static void apply_index_feed_costs(struct slice parts, struct buffer *costs)
{
    index_feed_change_open(&parts);
    for (struct index_feed_part part; index_feed_change_next(&parts, &part);) {
        buffer_append_u8(costs, 0);
        buffer_append_u32(costs, part.table_id);
        buffer_append_u64(costs, (uint64_t)part.units * MCU_PER_UNIT);
    }
}

/* What a part that is locked will cost indexes once its transaction commits. Until then its item
 * stays as it is. */
static void apply_lock_costs(struct applier *applier, const struct partition *p,
                             const struct change *c, struct buffer *costs)
{
    enum transaction_row row;
    struct slice key, old = {NULL, 0}, now = {NULL, 0};
    const uint8_t *name;
    struct transaction_lock lock;
    struct reader r = {c->value, false};
    struct buffer keys = {0}, feed = {0};
    struct local_writes local;
    if (c->value.size == 0 || !transaction_key_split(c->key, &row, &key, &name) || row != ROW_LOCK)
        return;
    transaction_lock_walk(&(struct codec){.in = &r}, &lock);
    if (r.failed || lock.kind == LOCK_CHECK || lock.moves)
        return;
    key = key_in_space(key, 0, &applier->env->lent);
    if (lock.kind == LOCK_PUT)
        now = lock.item;
    if (store_get(applier->env->store, key, true, &old) != STATUS_OK)
        old = slice_make(NULL, 0);
    struct steps steps = steps_begin(store_hash_seed(applier->env->store));
    local_rows_plan(p, key, old, now, &keys, &steps, &local);
    for (uint32_t i = 0; i < local.count; i++)
        local_rows_report_cost(costs, local.changes[i].key.data[0], local.costs_mcu[i]);
    if (index_set_global(p->indexes) > 0)
        index_feed_change_append(&feed, p->indexes, key, old, now, 0, &steps);
    if (feed.size > 0)
        apply_index_feed_costs(buffer_slice(&feed), costs);
    buffer_deinit(&keys);
    buffer_deinit(&feed);
}

/* A change that global indexes lack, or one that they have now. After a split another partition may
 * own the latter. */
static void apply_index_feed(struct applier *applier, struct partition *p, const struct change *c,
                             uint64_t index)
{
    struct slice item_key;
    if (c->value.data == NULL) {
        const bool complete = index_feed_key_split(c->key, &item_key);
        if (!complete || !partition_holds(p, key_in_space(item_key, 0, &applier->env->lent)))
            return;
        store_put(applier->env->store, c->key, c->value);
        index_feeds_removed(applier->feeds, p, c->key, (size_t)c->old_size);
        return;
    }
    struct buffer *key = &applier->env->scratch;
    buffer_clear(key);
    index_feed_key_append(key, c->key, p->info.id, index);
    store_put(applier->env->store, buffer_slice(key), c->value);
    index_feeds_added(applier->feeds, p, buffer_slice(key), c->value);
}

/* The next change of an item. A zeroed change: there is none. */
static struct change apply_next_item(struct change_set set)
{
    struct change c;
    while (change_set_next(&set, &c)) {
        if (c.space == SPACE_ITEMS)
            return c;
    }
    return (struct change){0};
}

static void apply_collection_size(const struct change *c, struct buffer *sizes)
{
    int64_t bytes = 0;
    if (c->value.data != NULL)
        must(collection_decode(c->key, c->value, &bytes) == STATUS_OK); /* checked when logged */
    buffer_append_u64(sizes, (uint64_t)bytes);
}

/* Whether the partition has the key of the change. Rows of local indexes, and changes that global
 * indexes lack, lie with the next item of the set. */
static bool apply_holds(const struct applier *applier, const struct partition *p,
                        const struct change *c, const struct change *item)
{
    enum transaction_row row;
    struct slice key;
    const uint8_t *name;
    switch (c->space) {
    case SPACE_LOCAL_ROWS:
        return partition_holds(p, item->key);
    case SPACE_INDEX_FEED:
        return c->value.data == NULL || partition_holds(p, item->key);
    case SPACE_STREAM:
        return true; /* the record stays in the partition, whatever becomes of the item */
    case SPACE_TRANSACTIONS:
        return transaction_key_split(c->key, &row, &key, &name) &&
               partition_holds(p, key_in_space(key, 0, &applier->env->lent));
    default:
        return partition_holds(p, c->key);
    }
}

/* Applies the changes whose keys the partition has. Rows follow from the next item of the set.
 * False: it has none of them. */
static bool apply_changes(struct applier *applier, struct partition *p, struct change_set set,
                          uint64_t index, struct applied *out)
{
    struct change c, item = apply_next_item(set);
    struct buffer costs = {0}, collections = {0};
    uint32_t records = 0;
    bool any = false;
    while (change_set_next(&set, &c)) {
        const bool holds = apply_holds(applier, p, &c, &item);
        any |= holds;
        if (!holds) {
            PROBE("a change of a key that a split has taken away");
        } else if (c.space == SPACE_LOCAL_ROWS) {
            local_rows_apply(applier->env, p, &c, &item, &costs);
        } else if (c.space == SPACE_INDEX_FEED) {
            apply_index_feed(applier, p, &c, index);
            if (c.value.data != NULL)
                apply_index_feed_costs(c.value, &costs);
        } else if (c.space == SPACE_STREAM) {
            stream_rows_apply(applier->env, p, &c, &item, index, records++);
        } else {
            apply_change(applier, p, &c, out);
            if (c.space == SPACE_TRANSACTIONS && out->answers && p->indexes != NULL)
                apply_lock_costs(applier, p, &c, &costs);
            if (c.space == SPACE_COLLECTIONS && out->answers)
                apply_collection_size(&c, &collections);
        }
        if (c.space == SPACE_ITEMS)
            item = apply_next_item(set);
    }
    out->reply.item.index_costs = arena_copy(&applier->env->lent, buffer_slice(&costs));
    out->collections = arena_copy(&applier->env->lent, buffer_slice(&collections));
    buffer_deinit(&costs);
    buffer_deinit(&collections);
    return any;
}

/* A write that was proposed before a split or a merge changes nothing if the partition has lost its
 * key, or is frozen. No set with several items is proposed while a split is on its way. So if the
 * partition has some items of a set and lacks others, this replica was opened after a split that is
 * further on in the log: it takes its own. */
static void apply_write(struct applier *applier, struct partition *p, const struct raft_entry *e,
                        struct applied *out)
{
    struct change_set set;
    change_set_reopen(e->payload, &set); /* it was checked when it was logged or replayed */
    if (p->frozen.index != 0 || !apply_changes(applier, p, set, e->index, out)) {
        PROBE("a write behind a split of its key range");
        out->reply.code = REPLY_STALE_MAP;
    }
}

static void apply_catalog(struct applier *applier, struct partition *p, const struct raft_entry *e,
                          struct applied *out)
{
    struct catalog_command command;
    must(p->info.id == CATALOG_GROUP);
    must(catalog_command_decode(e->payload, &command) == STATUS_OK);
    struct catalog_result result;
    catalog_apply(applier->catalog->state, e->payload, &result);
    for (uint32_t i = 0; i < result.row_count; i++)
        store_put(applier->env->store, result.rows[i].key, result.rows[i].value);
    env_note(applier->env, NODE_TRACE_CATALOG, result.code, (int64_t)e->index);
    out->reply.code = result.code;
    out->reply.text = arena_copy(&applier->env->lent, result.text);
    if (result.table == NULL || !catalog_replica_leads(applier->catalog))
        return; /* no request of this node waits for the table */
    catalog_replica_answer(applier->catalog, result.table, &out->reply);
    if (result.code != REPLY_OK)
        return; /* a refusal must not take apart what is being reconciled */
    reconcile_changed(applier->reconciler, result.table);
    for (uint32_t i = 0; i < result.index_count; i++)
        reconcile_changed(applier->reconciler, result.indexes[i]);
}

static void apply_members(struct applier *applier, struct partition *p,
                          UNUSED const struct raft_entry *e, UNUSED struct applied *out)
{
    if (p->led != 0)
        bucket_mirrors_led(applier->buckets, p); /* tells a new member the buckets */
}

static bool write_is_complete(uint32_t group, struct slice payload)
{
    struct change_set set;
    return group != CATALOG_GROUP && change_set_open(payload, &set);
}

/* Reading checks items too. This check keeps bad items out of the counts. */
static bool item_change_is_valid(const struct change *c)
{
    bool put = c->value.data != NULL;
    return c->key.size > STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE &&
           c->key.size <= STORAGE_KEY_SIZE_MAX && c->old_size <= ITEM_SIZE_MAX &&
           (!put || (item_checksum_holds(c->value) && item_size(c->value) <= ITEM_SIZE_MAX));
}

static bool collection_change_is_valid(const struct change *c)
{
    int64_t bytes;
    return c->key.size <= STORAGE_KEY_SIZE_MAX && collection_is_row(c->key) &&
           (c->value.data == NULL || collection_decode(c->key, c->value, &bytes) == STATUS_OK);
}

static bool local_change_is_valid(const struct change *c)
{
    return c->key.size > STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE &&
           c->key.size <= STORAGE_KEY_SIZE_MAX && c->value.data == NULL && c->key.data[0] >= 1 &&
           c->key.data[0] <= LOCAL_INDEXES_MAX && c->old_size <= ITEM_SIZE_MAX &&
           (c->derived || c->old_size >= 0);
}

static bool index_feed_is_valid(const struct change *c)
{
    return c->key.size > STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE &&
           c->key.size <= STORAGE_KEY_SIZE_MAX + INDEX_FEED_SUFFIX_SIZE &&
           c->key.data[0] == SPACE_INDEX_FEED_KEYS && c->old_size <= UINT32_MAX / 2 &&
           (c->value.data == NULL ? c->old_size >= 0 : index_feed_change_is_valid(c->value));
}

static bool transaction_change_is_valid(const struct change *c)
{
    return transaction_row_is_valid(c->key, c->value);
}

/* A lock's entry is one change, and costs what its part will: the item, and of each local index a
 * row that goes and one that comes. */
enum {
    ROWS_OF_CHANGE_MAX = 1 + 2 * LOCAL_INDEXES_MAX
};

static bool write_is_valid(uint32_t group, struct slice payload)
{
    static bool (*const is_valid[KEY_SPACES])(const struct change *c) = {
        [SPACE_ITEMS] = item_change_is_valid,
        [SPACE_COLLECTIONS] = collection_change_is_valid,
        [SPACE_LOCAL_ROWS] = local_change_is_valid,
        [SPACE_INDEX_FEED] = index_feed_is_valid,
        [SPACE_TRANSACTIONS] = transaction_change_is_valid,
        [SPACE_STREAM] = stream_change_is_valid,
    };
    _Static_assert(KEY_SPACES == SPACE_STREAM + 1, "is_sound has a row for each key space");
    struct change_set set;
    struct change c;
    if (group == CATALOG_GROUP || !change_set_open(payload, &set))
        return false;
    bool indexed = false; /* rows that follow from an item have come, and the item has not */
    bool valid = set.burst <= 2 && set.cost_mcu >= 0 &&
                 set.cost_mcu <= set.count * ROWS_OF_CHANGE_MAX * TRANSACTION_FACTOR *
                                     write_cost_mcu(ITEM_SIZE_MAX);
    while (valid && change_set_next(&set, &c)) {
        valid = is_valid[c.space](&c) && (!c.derived || c.space == SPACE_LOCAL_ROWS);
        indexed |=
            c.space == SPACE_LOCAL_ROWS ||
            ((c.space == SPACE_INDEX_FEED || c.space == SPACE_STREAM) && c.value.data != NULL);
        if (!indexed || c.space != SPACE_ITEMS)
            continue;
        valid = valid && (c.value.data == NULL || item_check(c.value) == STATUS_OK);
        indexed = false;
    }
    return valid && !indexed;
}

static bool catalog_is_valid(uint32_t group, struct slice payload)
{
    struct catalog_command command;
    return group == CATALOG_GROUP && catalog_command_decode(payload, &command) == STATUS_OK;
}

static bool split_is_valid(uint32_t group, struct slice payload)
{
    struct partition_split split;
    return group != CATALOG_GROUP && partition_split_decode(payload, &split) == STATUS_OK;
}

static bool indexes_are_valid(uint32_t group, struct slice payload)
{
    const struct index_set *set;
    struct stream_latest stream;
    struct arena arena = {0};
    struct reader r = {payload, false};
    reader_u32(&r);                                 /* the version */
    const size_t attribute = reader_sized(&r).size; /* by which items expire */
    stream_latest_walk(&(struct codec){.in = &r}, &stream);
    reader_u64(&r); /* the version of sharded keys */
    const bool valid = group != CATALOG_GROUP && attribute <= TTL_NAME_SIZE_MAX && !r.failed &&
                       index_set_decode(r.left, &arena, &set) == STATUS_OK;
    arena_deinit(&arena);
    return valid;
}

/* From here on the leader says what writes mean for these indexes, and for this stream, and refuses
 * who knows fewer sharded keys. Entries that it has proposed already may not: an index is filled
 * only after them, and items of sharded keys move only after them. A leader may have proposed an
 * older word of the catalog after a newer one was on its way. */
static void apply_indexes(struct applier *applier, struct partition *p, const struct raft_entry *e,
                          UNUSED struct applied *out)
{
    struct partition_info info = p->info;
    struct reader r = {e->payload, false};
    p->index_versions.proposed = 0;
    info.indexes_version = reader_u32(&r);
    info.ttl = reader_sized(&r);
    stream_latest_walk(&(struct codec){.in = &r}, &info.stream);
    const uint64_t key_sharding_version = reader_u64(&r);
    info.indexes = r.left;
    p->index_versions.logged = MAX(p->index_versions.logged, info.indexes_version);
    if (info.indexes_version <= p->info.indexes_version)
        return;
    const bool others = !slice_equal(info.indexes, p->info.indexes);
    if (key_sharding_version > info.key_sharding_version) {
        info.key_sharding_version = key_sharding_version;
        applier_note_key_sharding(p);
    }
    partition_set(p, &info);
    if (applier->env->started)
        stream_trims_begin(applier->stream_trims, p);
    if (!others)
        return;
    p->index_versions.from = p->led != 0 ? raft_last(p->raft) : 0;
    if (applier->env->started)
        index_feeds_begin(applier->feeds, p);
}

/* A follower notes nothing: its last entries may be replaced, and no leader asks it. */
void applier_note_key_sharding(struct partition *p)
{
    p->index_versions.key_sharding_from = p->led != 0 ? raft_last(p->raft) : 0;
}

void applier_proposals_failed(struct applier *applier, struct partition *p, bool all)
{
    if (all)
        transactions_discard(applier->transactions, p);
    transactions_begin(applier->transactions, p);
    index_feeds_begin(applier->feeds, p);
}

void applier_propose_indexes(struct applier *applier, struct partition *p,
                             const struct partition_info *info)
{
    const struct operation own = {.from = FROM_SELF};
    struct buffer *head = &applier->env->scratch;
    const size_t size = sizeof info->indexes_version + sizeof(uint32_t) + info->ttl.size +
                        sizeof info->stream + sizeof info->key_sharding_version +
                        info->indexes.size;
    struct stream_latest stream = info->stream;
    if (p->led == 0 || p->index_versions.proposed == p->led ||
        !proposals_may_write(applier->proposals, &own, size) ||
        !raft_driver_may_propose(applier->driver, p, &own, size))
        return;
    buffer_clear(head);
    buffer_append_u32(head, info->indexes_version);
    buffer_append_sized(head, info->ttl);
    stream_latest_walk(&(struct codec){.out = head}, &stream);
    buffer_append_u64(head, info->key_sharding_version);
    if (raft_driver_propose(applier->driver, p, &own, LOG_INDEXES, buffer_slice(head),
                            info->indexes) != NULL)
        p->index_versions.proposed = p->led;
}

void applier_propose_known_indexes(struct applier *applier, struct partition *p)
{
    if (p->led == 0 || p->info.indexes_version <= p->index_versions.logged ||
        p->frozen.index != 0 || p->index_versions.proposed == p->led || p->no_state || p->closing ||
        p->ended)
        return;
    PROBE("a leader tells its group of indexes that it knows from the catalog");
    applier_propose_indexes(applier, p, &p->info);
    if (p->index_versions.proposed == p->led)
        return;
    const int64_t wait_ms = config_replication(applier->env->config)->append_retry_ms;
    applier->propose_at =
        instant_earlier(applier->propose_at, instant_add_ms(applier->env->now, wait_ms));
}

void applier_tick(struct applier *applier)
{
    if (instant_before(applier->env->now, applier->propose_at))
        return;
    applier->propose_at = INSTANT_NEVER;
    for (uint32_t i = 0; i < applier->partitions->count; i++)
        applier_propose_known_indexes(applier, applier->partitions->all[i]);
}

static bool noop_is_valid(UNUSED uint32_t group, struct slice payload)
{
    return payload.size == 0;
}

static bool members_are_valid(UNUSED uint32_t group, UNUSED struct slice payload)
{
    return true; /* the decoder of raft's messages, or raft itself, checks them */
}

/* The kinds of entries of a group. A new kind is a row here. */
static const struct entry_kind {
    /* Whether a record of this node's log is usable. Its checksum held. */
    bool (*is_complete)(uint32_t group, struct slice payload);
    /* Whether an entry of another node is usable. Nothing in it is trusted. */
    bool (*is_valid)(uint32_t group, struct slice payload);
    /* Applies the committed entry. NULL: it changes nothing. */
    void (*apply)(struct applier *applier, struct partition *p, const struct raft_entry *e,
                  struct applied *out);
} entry_kinds[LOG_KINDS] = {
    [LOG_WRITE] = {write_is_complete, write_is_valid, apply_write},
    [LOG_CATALOG] = {catalog_is_valid, catalog_is_valid, apply_catalog},
    [LOG_SPLIT] = {split_is_valid, split_is_valid, split_apply},
    [LOG_MERGE] = {merge_is_valid, merge_is_valid, merge_apply},
    [LOG_INDEXES] = {indexes_are_valid, indexes_are_valid, apply_indexes},
    [LOG_NOOP] = {noop_is_valid, noop_is_valid, NULL},
    [LOG_MEMBERS] = {members_are_valid, members_are_valid, apply_members},
};

bool applier_entry_is_valid(uint32_t group, enum log_kind kind, struct slice payload)
{
    return kind < LOG_KINDS && entry_kinds[kind].is_valid != NULL &&
           entry_kinds[kind].is_valid(group, payload);
}

/* `proposal`: of this node; NULL: it has none of the entry. */
static void apply_entry(struct applier *applier, struct partition *p, const struct raft_entry *e,
                        const struct inflight *proposal, struct applied *out)
{
    *out =
        (struct applied){.return_values = proposal != NULL ? proposal->return_values : RETURN_NONE,
                         .answers = proposal != NULL && proposal->answer};
    must(entry_kinds[e->kind].is_valid != NULL);
    if (entry_kinds[e->kind].apply != NULL)
        entry_kinds[e->kind].apply(applier, p, e, out);
}

/* The answer to a request about a transaction. */
static void apply_answer_transaction(struct applier *applier, const struct inflight *e,
                                     const struct applied *applied, struct reply *r)
{
    const struct slice items = arena_copy(&applier->env->lent, e->items);
    const struct slice costs = applied->reply.item.index_costs;
    r->kind = ANSWER_NONE;
    if (r->code != REPLY_OK)
        return;
    if (e->answer_kind == ANSWER_PARTS) {
        r->kind = ANSWER_PARTS;
        reply_edit_parts(r)->replies = items;
        reply_edit_parts(r)->index_costs = costs;
        reply_edit_parts(r)->collections = applied->collections;
    } else if (e->answer_kind == ANSWER_ITEM) { /* a part is prepared */
        r->kind = ANSWER_ITEM;
        r->item = (typeof(r->item)){.found = items.size > 0,
                                    .bytes = items,
                                    .index_costs = costs,
                                    .collection_bytes = e->collection_bytes};
    } else if (e->answer_kind == ANSWER_STATE) {
        r->kind = ANSWER_STATE;
        reply_edit_state(r)->decided =
            TRANSACTION_ABORTED; /* the only state that is written for who asks */
    }
}

static void apply_answer(struct applier *applier, const struct inflight *e,
                         const struct applied *applied)
{
    if (!e->answer)
        return;
    struct reply *r = env_reply_to(applier->env, e->from, e->request_id, REPLY_OK);
    *r = applied->reply;
    r->id = e->request_id;
    r->verdict = e->verdict;
    r->consumed_mcu = e->consumed_mcu;
    r->applied = e->index;
    if (r->kind == ANSWER_ITEM && e->answer_kind == ANSWER_ITEM)
        r->item.collection_bytes = e->collection_bytes;
    else if (r->kind == ANSWER_ITEM || r->kind == ANSWER_NONE)
        apply_answer_transaction(applier, e, applied, r);
}

void applier_apply_committed(struct applier *applier, struct partition *p)
{
    const struct raft_entry *entry;
    if (p->no_state)
        return;
    while ((entry = raft_next_committed(p->raft)) != NULL) {
        struct inflight *e = proposals_take(applier->proposals, p, entry);
        struct applied applied;
        p->stored = false;
        apply_entry(applier, p, entry, e, &applied);
        if (applier->env->stop_error != 0) {
            if (e != NULL)
                proposals_free(applier->proposals, e);
            return;
        }
        if (e == NULL)
            continue;
        apply_answer(applier, e, &applied);
        proposals_free(applier->proposals, e);
    }
}

bool applier_learn_commit(struct applier *applier, struct partition *p, uint64_t index,
                          uint64_t term)
{
    if (!raft_learn_commit(p->raft, index, term))
        return false;
    applier_apply_committed(applier, p);
    raft_driver_stepped(applier->driver, p);
    return true;
}

/* ---- the node's own records ---- */

static void apply_first_members(const struct partition_info *info, uint32_t node,
                                struct raft_base *base)
{
    *base = (struct raft_base){.members.count = info->member_count};
    for (uint32_t i = 0; i < info->member_count; i++) {
        base->members.all[i] = (struct raft_member){info->members[i], true};
        if (partition_node(info, i) == node)
            base->no_state = info->joined >> i & 1;
    }
}

static enum status apply_partition(struct applier *applier, const struct own_record *record)
{
    struct partition_info info;
    if (partition_info_decode(record->payload, &info) != STATUS_OK ||
        partition_member_on(&info, applier->env->id) == 0)
        return STATUS_CORRUPT;
    struct partition *p = partitions_find(applier->partitions, info.id);
    if (p != NULL) {
        if (info.epoch != p->info.epoch ||
            partition_member_on(&info, applier->env->id) != raft_self(p->raft))
            return STATUS_OK; /* split meanwhile: only the group's log changes the range */
        info.lo = p->info.lo;
        info.hi = p->info.hi;
        info.indexes = p->info.indexes;
        info.indexes_version = p->info.indexes_version;
        info.ttl = p->info.ttl;
        info.stream = p->info.stream;
        info.key_sharding_version = p->info.key_sharding_version;
        partition_set(p, &info);
        if (!applier->env->started)
            return STATUS_OK; /* it has no buckets yet */
        bucket_mirrors_changed(applier->buckets, p);
        raft_driver_stepped(applier->driver, p);
        return STATUS_OK;
    }
    if (partitions_hold_range(applier->partitions, info.lo, info.hi)) {
        PROBE("a replica was merged into another one before a word to it was on disk");
        return STATUS_OK;
    }
    struct raft_base base;
    apply_first_members(&info, applier->env->id, &base);
    p = partition_create(&info);
    p->since_lsn = record->lsn;
    partitions_add(applier->partitions, p);
    raft_driver_create_raft(applier->driver, p, &base);
    env_note(applier->env, NODE_TRACE_PARTITION_OPENED, info.id, (int64_t)record->lsn);
    if (info.id == CATALOG_GROUP && applier->catalog->state == NULL)
        applier->catalog->state = catalog_create();
    if (!applier->env->started)
        return STATUS_OK;
    bucket_mirrors_begin(applier->buckets, p);
    raft_driver_start(applier->driver, p, applier->env->now);
    if (info.members[0] == raft_self(p->raft) && info.joined == 0) {
        raft_campaign(p->raft, applier->env->now); /* a new group, which this replica should lead */
        raft_driver_stepped(applier->driver, p);
    }
    return STATUS_OK;
}

void applier_remove_partition(struct applier *applier, struct partition *p)
{
    proposals_drop(applier->proposals, p, "the partition was closed");
    pending_drop_reads(applier->pending, p, REPLY_WRONG_PARTITION, "the partition was closed");
    snapshots_remove_group(applier->snapshots, p->info.id);
    split_orphan(applier, p);
    transactions_discard(applier->transactions, p);
    partitions_remove(applier->partitions, p);
    bucket_mirrors_end(applier->buckets, p);
    raft_driver_remove(applier->driver, p); /* last: the calls above may put it on a list */
    local_state_remove_partition(applier->env, p->info.id);
    env_note(applier->env, NODE_TRACE_PARTITION_CLOSED, p->info.id, (int64_t)raft_applied(p->raft));
    partition_destroy(p);
}

static void apply_leave_catalog(struct applier *applier)
{
    reconcile_end(applier->reconciler);
    catalog_replica_discard(applier->catalog);
    local_state_store_left_catalog(applier->env, applier->identity);
}

/* The record's index: up to where the catalog's log was known to the sender of the close. */
static enum status apply_partition_close(struct applier *applier, const struct own_record *record)
{
    struct partition *p = partitions_find(applier->partitions, record->group);
    applier->identity->closed_as_of = MAX(applier->identity->closed_as_of, record->index);
    local_state_store_closed(applier->env, applier->identity);
    if (p == NULL)
        return STATUS_OK;
    if (record->group == CATALOG_GROUP)
        apply_leave_catalog(applier);
    local_state_erase(applier->env, p->info.lo, p->info.hi, p->info.indexes);
    applier_remove_partition(applier, p);
    return STATUS_OK;
}

/* The record's index is the node's generation. */
static enum status apply_node(struct applier *applier, const struct own_record *record)
{
    struct reader r = {record->payload, false};
    struct identity *identity = applier->identity;
    identity->support_kept.ns = (int64_t)reader_u64(&r);
    if (r.failed || r.left.size > 0 || identity->support_kept.ns <= 0)
        return STATUS_CORRUPT;
    identity->generation = (uint32_t)record->index;
    identity->support_changing = false;
    local_state_store_generation(applier->env, identity);
    return STATUS_OK;
}

static enum status apply_buckets(struct applier *applier, const struct own_record *record)
{
    return applier->env->started ? STATUS_OK
                                 : bucket_mirrors_replay(applier->buckets, record->payload);
}

/* The kinds of the node's own records. A new kind is a row here. */
static enum status (*const own_kinds[LOG_KINDS])(struct applier *applier,
                                                 const struct own_record *record) = {
    [LOG_NODE] = apply_node,
    [LOG_PARTITION] = apply_partition,
    [LOG_PARTITION_CLOSE] = apply_partition_close,
    [LOG_BUCKETS] = apply_buckets,
};

enum status applier_apply_own(struct applier *applier, enum log_kind kind,
                              const struct own_record *record)
{
    must(own_kinds[kind] != NULL);
    return own_kinds[kind](applier, record);
}

/* ---- replay ---- */

enum status applier_replay_to(struct applier *applier, struct partition *p, uint64_t index)
{
    const struct raft_entry *e;
    if (raft_replay_commit(p->raft, index) != STATUS_OK)
        return STATUS_CORRUPT;
    while (raft_applied(p->raft) < index && (e = raft_next_committed(p->raft)) != NULL) {
        struct applied applied;
        p->stored = false;
        apply_entry(applier, p, e, NULL, &applied);
    }
    raft_compact(p->raft, raft_applied(p->raft));
    return applier->env->stop_error == 0 ? STATUS_OK : STATUS_CORRUPT;
}

/* Applies the split now, as in service: records of the children may follow. */
static enum status apply_replay_split_done(struct applier *applier, const struct log_record *record)
{
    struct partition *p = partitions_find(applier->partitions, record->group);
    if (p == NULL || record->lsn < p->since_lsn || record->index <= raft_applied(p->raft))
        return STATUS_OK;
    PROBE("a split is applied in the replay");
    applier->log->replay_lsn = record->lsn;
    if (applier_replay_to(applier, p, record->index) != STATUS_OK)
        return STATUS_CORRUPT;
    const struct split_history *splits = partition_splits(p);
    bool split = splits->count > 0 && splits->at[splits->count - 1].index == record->index;
    return split ? STATUS_OK : STATUS_CORRUPT;
}

static enum status apply_replay_entry(struct applier *applier, const struct log_record *record)
{
    struct partition *p = partitions_find(applier->partitions, record->group);
    if (p == NULL || record->lsn < p->since_lsn)
        return STATUS_OK; /* the record of an earlier replica */
    if (record->kind == LOG_HARD_STATE) {
        p->stored = false; /* the next checkpoint may trim this record from the log */
        raft_replay_hard_state(p->raft, record->term, record->index);
        return STATUS_OK;
    }
    if (!entry_kinds[record->kind].is_complete(record->group, record->payload))
        return STATUS_CORRUPT;
    const struct raft_entry e = {.index = record->index,
                                 .term = record->term,
                                 .kind = record->kind,
                                 .lsn = record->lsn + log_record_size(record->payload.size),
                                 .payload = record->payload};
    return raft_replay_entry(p->raft, &e);
}

enum status applier_replay(struct applier *applier, const struct log_record *record)
{
    if (record->kind == LOG_HARD_STATE || entry_kinds[record->kind].is_valid != NULL)
        return apply_replay_entry(applier, record);
    if (record->kind == LOG_SPLIT_DONE)
        return apply_replay_split_done(applier, record);
    if (own_kinds[record->kind] == NULL || record->lsn < applier->log->local_lsn)
        return STATUS_OK;
    const struct own_record own = {record->group, record->index, record->lsn, record->payload};
    return own_kinds[record->kind](applier, &own);
}
