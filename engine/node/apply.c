/* node/apply.c - what a committed entry does to a replica, and a durable record of the node's own
 * to the node, in service and in replay alike. */
#include "base/must.h"
#include "base/probe.h"
#include "engine/item/storage_key.h"
#include "engine/node/node_internal.h"

/* ---- committed entries ---- */

static bool write_decode(struct slice payload, struct write_head *head, struct slice *key,
                         struct slice *item)
{
    if (payload.size < sizeof *head)
        return false;
    memcpy(head, payload.data, sizeof *head);
    if (head->key_size > payload.size - sizeof *head)
        return false;
    size_t item_at = sizeof *head + head->key_size;
    *key = slice_make(payload.data + sizeof *head, head->key_size);
    *item = slice_make(NULL, 0);
    if (payload.size > item_at)
        *item = slice_make(payload.data + item_at, payload.size - item_at);
    return true;
}

/* What apply_write relies on; items are checked where they are read. */
static bool write_is_sound(struct slice payload)
{
    struct write_head head;
    struct slice key, item;
    if (!write_decode(payload, &head, &key, &item))
        return false;
    const int64_t collection_max = INT64_C(1) << 50;
    bool put = item.size > 0;
    return key.size > STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE &&
           key.size <= STORAGE_KEY_SIZE_MAX && head.burst <= 2 && head.old_size >= -1 &&
           head.old_size <= ITEM_SIZE_MAX && head.cost_mcu >= 0 &&
           head.cost_mcu <= write_cost_mcu(ITEM_SIZE_MAX) &&
           head.collection_bytes >= COLLECTION_NOT_COUNTED &&
           head.collection_bytes <= collection_max &&
           (!put || (item_checksum_holds(item) && item_size(item) <= ITEM_SIZE_MAX));
}

bool node_entry_is_sound(uint32_t group, enum log_kind kind, struct slice payload)
{
    struct catalog_command command;
    struct partition_split split;
    switch (kind) {
    case LOG_WRITE:
        return group != CATALOG_GROUP && write_is_sound(payload);
    case LOG_CATALOG:
        return group == CATALOG_GROUP && catalog_command_decode(payload, &command) == STATUS_OK;
    case LOG_SPLIT:
        return group != CATALOG_GROUP && partition_split_decode(payload, &split) == STATUS_OK;
    case LOG_MERGE:
        return node_merge_is_sound(group, payload);
    case LOG_NOOP:
        return payload.size == 0;
    case LOG_MEMBERS:
        return true; /* the message's decoder has looked at it */
    default:
        return false;
    }
}

static void put_collection(struct node *n, struct slice row_key, int64_t bytes)
{
    uint8_t row[COLLECTION_ROW_SIZE];
    if (bytes > 0)
        collection_encode(row_key, bytes, row);
    store_put(n->store, row_key, slice_make(bytes > 0 ? row : NULL, bytes > 0 ? sizeof row : 0));
}

static void apply_write(struct node *n, struct partition *p, const struct raft_entry *e,
                        bool want_old, struct applied *out)
{
    struct write_head head;
    struct slice key, item;
    must(write_decode(e->payload, &head, &key, &item)); /* its checksum held */
    if (!partition_holds(p, key) || p->frozen.index != 0) {
        /* Proposed before a split or a merge that came first: nothing is done. */
        PROBE("a write behind a split of its key range");
        out->code = REPLY_STALE_MAP;
        return;
    }
    if (want_old && store_get(n->store, key, true, &out->body) == STATUS_OK)
        out->found = true;
    if (item.data != NULL || head.old_size >= 0)
        store_put(n->store, key, item);
    if (head.collection_bytes >= 0)
        put_collection(n, collection_key(key), head.collection_bytes);
    partition_count_item(p, key, (item.data != NULL) - (head.old_size >= 0),
                         (item.data != NULL ? (int64_t)item_size(item) : 0) -
                             (head.old_size >= 0 ? head.old_size : 0));
}

static void apply_catalog(struct node *n, const struct raft_entry *e, struct applied *out)
{
    struct catalog_command command;
    must(catalog_command_decode(e->payload, &command) == STATUS_OK);
    struct catalog_result result;
    catalog_apply(n->catalog, e->payload, &result);
    for (uint32_t i = 0; i < result.row_count; i++)
        store_put(n->store, result.rows[i].key, result.rows[i].value);
    node_note(n, NODE_TRACE_CATALOG, result.code, (int64_t)e->index);
    out->code = result.code;
    out->text = arena_copy(&n->lent, result.text);
    if (result.table == NULL || !node_leads_catalog(n))
        return; /* nobody here has asked for it */
    buffer_clear(&n->scratch);
    table_encode(&n->scratch, result.table);
    out->body = arena_copy(&n->lent, buffer_slice(&n->scratch));
    if (result.code == REPLY_OK) /* a refusal must not take apart what is being settled */
        node_settling_changed(n, result.table);
}

void node_apply(struct node *n, struct partition *p, const struct raft_entry *e, bool want_old,
                struct applied *out)
{
    *out = (struct applied){.code = REPLY_OK};
    if (e->kind == LOG_WRITE)
        apply_write(n, p, e, want_old, out);
    else if (e->kind == LOG_CATALOG)
        apply_catalog(n, e, out);
    else if (e->kind == LOG_SPLIT)
        node_apply_split(n, p, e);
    else if (e->kind == LOG_MERGE)
        node_apply_merge(n, p, e, out);
    else
        must(e->kind == LOG_NOOP || e->kind == LOG_MEMBERS);
    if (e->kind == LOG_MEMBERS && p->led != 0)
        node_buckets_led(n, p); /* for a member that is new */
}

/* ---- the node's own records ---- */

static void first_members(const struct partition_info *info, uint32_t node, struct raft_base *base)
{
    *base = (struct raft_base){.members.count = info->member_count};
    for (uint32_t i = 0; i < info->member_count; i++) {
        base->members.all[i] = (struct raft_member){info->members[i], true};
        if (partition_node(info, i) == node)
            base->no_state = info->joined >> i & 1;
    }
}

static enum status apply_partition(struct node *n, uint64_t lsn, struct slice payload)
{
    struct reader r = {payload, false};
    struct partition_info info;
    if (partition_info_decode(&r, &info) != STATUS_OK ||
        partition_member_on(&info, n->options.id) == 0)
        return STATUS_CORRUPT;
    struct partition *p = node_partition(n, info.id);
    if (p != NULL) {
        if (info.epoch != p->info.epoch ||
            partition_member_on(&info, n->options.id) != raft_self(p->raft))
            return STATUS_OK; /* it was split meanwhile: ranges come with the group's log alone */
        info.lo = p->info.lo;
        info.hi = p->info.hi;
        partition_set(p, &info);
        if (n->started) /* its buckets begin with the node */
            node_buckets_changed(n, p);
        return STATUS_OK;
    }
    if (node_holds_range(n, info.lo, info.hi)) {
        PROBE("a replica was merged into another one before a word to it was on disk");
        return STATUS_OK;
    }
    struct raft_base base;
    first_members(&info, n->options.id, &base);
    p = partition_create(&info);
    p->since_lsn = lsn;
    node_add_partition(n, p);
    node_group_create(n, p, &base);
    node_note(n, NODE_TRACE_PARTITION_OPENED, info.id, (int64_t)lsn);
    if (info.id == CATALOG_GROUP && n->catalog == NULL)
        n->catalog = catalog_create();
    if (!n->started)
        return STATUS_OK;
    node_buckets_begin(n, p);
    node_group_start(n, p, n->now);
    if (info.members[0] == raft_self(p->raft) && info.joined == 0) {
        raft_campaign(p->raft, n->now); /* nobody has led it yet: this one should */
        node_group_stepped(n, p);
    }
    return STATUS_OK;
}

static void leave_catalog(struct node *n, const struct partition *p)
{
    if (p->led != 0)
        node_settling_end(n);
    if (n->catalog != NULL) /* none is loaded while the replica waits for a snapshot */
        catalog_destroy(n->catalog);
    n->catalog = NULL;
    node_store_left_catalog(n);
}

static void apply_partition_close(struct node *n, uint32_t group, uint64_t as_of)
{
    struct partition *p = node_partition(n, group);
    if (as_of > n->closed_as_of)
        n->closed_as_of = as_of;
    node_store_closed(n);
    if (p == NULL)
        return;
    if (group == CATALOG_GROUP)
        leave_catalog(n, p);
    node_erase(n, p->info.lo, p->info.hi);
    store_put(n->store, node_partition_row_key(n, group), slice_make(NULL, 0));
    node_note(n, NODE_TRACE_PARTITION_CLOSED, group, (int64_t)raft_applied(p->raft));
    node_remove_partition(n, group);
}

static enum status apply_node(struct node *n, uint64_t generation, struct slice payload)
{
    struct reader r = {payload, false};
    n->support_kept.ns = (int64_t)reader_u64(&r);
    if (r.failed || r.left.size > 0 || n->support_kept.ns <= 0)
        return STATUS_CORRUPT;
    n->generation = (uint32_t)generation;
    n->support_changing = false;
    node_store_generation(n);
    return STATUS_OK;
}

enum status node_apply_own(struct node *n, enum log_kind kind, uint32_t group, uint64_t index,
                           uint64_t lsn, struct slice payload)
{
    switch (kind) {
    case LOG_NODE:
        return apply_node(n, index, payload);
    case LOG_PARTITION:
        return apply_partition(n, lsn, payload);
    case LOG_PARTITION_CLOSE:
        apply_partition_close(n, group, index);
        return STATUS_OK;
    case LOG_BUCKETS:
        return n->started ? STATUS_OK : node_buckets_replay(n, payload);
    default:
        return STATUS_OK;
    }
}

enum status node_replay_to(struct node *n, struct partition *p, uint64_t index)
{
    const struct raft_entry *e;
    if (raft_replay_commit(p->raft, index) != STATUS_OK)
        return STATUS_CORRUPT;
    while (raft_applied(p->raft) < index && (e = raft_next_committed(p->raft)) != NULL) {
        struct applied applied;
        p->stored = false;
        node_apply(n, p, e, false, &applied);
    }
    raft_compact(p->raft, raft_applied(p->raft));
    return n->stop_error == 0 ? STATUS_OK : STATUS_CORRUPT;
}

/* Records of the children may follow: they are made now, as they were then. */
static enum status replay_split_done(struct node *n, const struct log_record *record)
{
    struct partition *p = node_partition(n, record->group);
    if (p == NULL || record->lsn < p->since_lsn || record->index <= raft_applied(p->raft))
        return STATUS_OK;
    PROBE("a split is applied in the replay");
    n->replay_lsn = record->lsn;
    if (node_replay_to(n, p, record->index) != STATUS_OK)
        return STATUS_CORRUPT;
    const struct split_history *splits = partition_splits(p);
    bool split = splits->count > 0 && splits->at[splits->count - 1].index == record->index;
    return split ? STATUS_OK : STATUS_CORRUPT;
}

static enum status replay_entry(struct node *n, const struct log_record *record)
{
    struct partition *p = node_partition(n, record->group);
    if (p == NULL || record->lsn < p->since_lsn)
        return STATUS_OK; /* of a replica that is gone */
    if (record->kind == LOG_HARD_STATE) {
        p->stored = false; /* the log that says it may be trimmed with the next checkpoint */
        raft_replay_hard_state(p->raft, record->term, record->index);
        return STATUS_OK;
    }
    struct write_head head;
    struct slice key, item;
    struct catalog_command command;
    if (record->kind == LOG_WRITE && !write_decode(record->payload, &head, &key, &item))
        return STATUS_CORRUPT;
    if (record->kind == LOG_CATALOG &&
        catalog_command_decode(record->payload, &command) != STATUS_OK)
        return STATUS_CORRUPT;
    struct partition_split split;
    if (record->kind == LOG_SPLIT && partition_split_decode(record->payload, &split) != STATUS_OK)
        return STATUS_CORRUPT;
    if (record->kind == LOG_MERGE && !node_merge_is_sound(record->group, record->payload))
        return STATUS_CORRUPT;
    const struct raft_entry e = {.index = record->index,
                                 .term = record->term,
                                 .kind = record->kind,
                                 .lsn = record->lsn + log_record_size(record->payload.size),
                                 .payload = record->payload};
    return raft_replay_entry(p->raft, &e);
}

enum status node_replay(struct node *n, const struct log_record *record)
{
    switch (record->kind) {
    case LOG_WRITE:
    case LOG_CATALOG:
    case LOG_NOOP:
    case LOG_MEMBERS:
    case LOG_HARD_STATE:
    case LOG_SPLIT:
    case LOG_MERGE:
        return replay_entry(n, record);
    case LOG_SPLIT_DONE:
        return replay_split_done(n, record);
    case LOG_NODE:
    case LOG_PARTITION:
    case LOG_PARTITION_CLOSE:
    case LOG_BUCKETS:
        if (record->lsn < n->local_lsn)
            return STATUS_OK;
        return node_apply_own(n, record->kind, record->group, record->index, record->lsn,
                              record->payload);
    case LOG_SEGMENT:
    case LOG_END:
    case LOG_KINDS:
        break;
    }
    return STATUS_OK;
}
