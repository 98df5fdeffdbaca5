/* node_apply.c - what a durable log record does to the node, in service and in replay alike. */
#include <xxhash.h>

#include "base/must.h"
#include "engine/node_internal.h"

/* Rows of NODE_TABLE_ID: partitions, ranges still to be erased, where group 0's log stands. */
enum {
    ROW_PARTITION = 'p',
    ROW_ERASE = 'e',
    ROW_CATALOG_INDEX = 'i',
};

static void append_be32(struct buffer *b, uint32_t value)
{
    buffer_append_u32(b, __builtin_bswap32(value));
}

static struct slice erase_row_key(struct node *n, struct slice lo)
{
    buffer_clear(&n->scratch);
    append_be32(&n->scratch, NODE_TABLE_ID);
    buffer_append_u8(&n->scratch, ROW_ERASE);
    buffer_append_slice(&n->scratch, lo);
    return buffer_slice(&n->scratch);
}

struct slice node_partition_row_key(struct node *n, uint32_t id)
{
    buffer_clear(&n->scratch);
    append_be32(&n->scratch, NODE_TABLE_ID);
    buffer_append_u8(&n->scratch, ROW_PARTITION);
    append_be32(&n->scratch, id);
    return buffer_slice(&n->scratch);
}

/* Row value: XXH3 of what follows | log index | items | bytes | partition_info. */
void node_store_partition(struct node *n, struct partition *p)
{
    struct buffer row = {0};
    buffer_append_u64(&row, 0);
    buffer_append_u64(&row, p->index);
    buffer_append_u64(&row, (uint64_t)p->item_count);
    buffer_append_u64(&row, (uint64_t)p->item_bytes);
    buffer_append_slice(&row, buffer_slice(&p->bytes));
    uint64_t checksum = XXH3_64bits(row.data + 8, row.size - 8);
    memcpy(row.data, &checksum, sizeof checksum);
    store_put(n->store, node_partition_row_key(n, p->info.id), buffer_slice(&row));
    buffer_deinit(&row);
}

/* Where group 0's log stands: no replica of it has a partition row. */
void node_store_catalog_index(struct node *n)
{
    uint8_t key[5];
    uint32_t table_id = __builtin_bswap32(NODE_TABLE_ID);
    memcpy(key, &table_id, sizeof table_id);
    key[4] = ROW_CATALOG_INDEX;
    store_put(n->store, slice_make(key, sizeof key),
              slice_make(&n->catalog_index, sizeof n->catalog_index));
}

static enum status load_partition(struct node *n, struct slice value)
{
    struct reader r = {value, false};
    uint64_t checksum = reader_u64(&r);
    if (r.failed || XXH3_64bits(r.left.data, r.left.size) != checksum)
        return STATUS_CORRUPT;
    uint64_t index = reader_u64(&r);
    int64_t items = (int64_t)reader_u64(&r), bytes = (int64_t)reader_u64(&r);
    struct partition_info info;
    if (partition_info_decode(&r, &info) != STATUS_OK)
        return STATUS_CORRUPT;
    struct partition *p = partition_create(&info);
    p->index = index;
    p->item_count = items;
    p->item_bytes = bytes;
    node_add_partition(n, p);
    return STATUS_OK;
}

static enum status load_rows(struct node *n, uint32_t table_id,
                             enum status (*load)(struct node *n, struct slice key,
                                                 struct slice value))
{
    struct buffer lo = {0};
    append_be32(&lo, table_id);
    struct store_cursor c;
    struct slice key, value, hi = {NULL, 0};
    uint8_t next_table[4] = {0, 0, 0, 1};
    if (table_id == CATALOG_TABLE_ID)
        hi = slice_make(next_table, sizeof next_table);
    store_seek(n->store, buffer_slice(&lo), hi, false, &c);
    enum status status;
    while ((status = store_next(&c, &key, &value)) == STATUS_OK) {
        status = load(n, key, value);
        if (status != STATUS_OK)
            break;
    }
    buffer_deinit(&lo);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static enum status load_node_row(struct node *n, struct slice key, struct slice value)
{
    if (key.size == 5 && key.data[4] == ROW_CATALOG_INDEX &&
        value.size == sizeof n->catalog_index) {
        memcpy(&n->catalog_index, value.data, value.size);
        return STATUS_OK;
    }
    if (key.size < 6)
        return STATUS_CORRUPT;
    if (key.data[4] == ROW_PARTITION)
        return load_partition(n, value);
    if (key.data[4] != ROW_ERASE)
        return STATUS_CORRUPT;
    store_erase(n->store, slice_make(key.data + 5, key.size - 5), value);
    return STATUS_OK;
}

static enum status load_catalog_row(struct node *n, struct slice key, struct slice value)
{
    return catalog_load_row(n->catalog, key, value);
}

enum status node_load(struct node *n, struct buffer *error)
{
    enum status status = load_rows(n, NODE_TABLE_ID, load_node_row);
    if (status == STATUS_OK && n->catalog != NULL)
        status = load_rows(n, CATALOG_TABLE_ID, load_catalog_row);
    if (status != STATUS_OK)
        buffer_append_format(error, "the node's own records cannot be read: %s",
                             status_text(status));
    return status;
}

/* ---- records ---- */

static enum status apply_write(struct node *n, uint32_t group, uint64_t index, struct slice payload,
                               bool want_old, struct applied *out)
{
    struct write_head head;
    if (payload.size < sizeof head)
        return STATUS_CORRUPT;
    memcpy(&head, payload.data, sizeof head);
    if (head.key_size > payload.size - sizeof head)
        return STATUS_CORRUPT;
    struct slice key = slice_make(payload.data + sizeof head, head.key_size);
    size_t item_at = sizeof head + head.key_size;
    struct slice item = {NULL, 0};
    if (payload.size > item_at)
        item = slice_make(payload.data + item_at, payload.size - item_at);
    struct partition *p = node_partition(n, group);
    if (p == NULL)
        return STATUS_OK; /* written before the partition was closed, replayed after */
    if (want_old && store_get(n->store, key, true, &out->body) == STATUS_OK)
        out->found = true;
    if (item.data != NULL || head.old_size >= 0)
        store_put(n->store, key, item);
    p->index = index > p->index ? index : p->index;
    p->item_count += (item.data != NULL) - (head.old_size >= 0);
    p->item_bytes += (item.data != NULL ? (int64_t)item_size(item) : 0) -
                     (head.old_size >= 0 ? head.old_size : 0);
    return STATUS_OK;
}

static enum status apply_partition(struct node *n, uint64_t index, struct slice payload)
{
    struct reader r = {payload, false};
    struct partition_info info;
    if (partition_info_decode(&r, &info) != STATUS_OK)
        return STATUS_CORRUPT;
    struct partition *p = node_partition(n, info.id);
    struct admission_rates rates;
    memcpy(rates.rate_mcu, info.rate_mcu, sizeof rates.rate_mcu);
    if (p == NULL) {
        p = partition_create(&info);
        node_add_partition(n, p);
        admission_init(&p->admission, n->policy, n->config, &rates, n->now);
    } else {
        partition_set(p, &info);
        admission_set_rates(&p->admission, n->config, &rates, n->now);
    }
    p->index = index > p->index ? index : p->index;
    node_note(n, NODE_TRACE_PARTITION_OPENED, info.id, (int64_t)index);
    node_store_partition(n, p);
    return STATUS_OK;
}

static enum status apply_partition_close(struct node *n, uint32_t group)
{
    struct partition *p = node_partition(n, group);
    if (p == NULL)
        return STATUS_OK;
    struct slice lo = p->info.lo, hi = p->info.hi;
    store_put(n->store, erase_row_key(n, lo), hi.size > 0 ? hi : slice_of(""));
    store_erase(n->store, lo, hi);
    store_put(n->store, node_partition_row_key(n, group), slice_make(NULL, 0));
    node_note(n, NODE_TRACE_PARTITION_CLOSED, group, (int64_t)p->index);
    node_remove_partition(n, group);
    return STATUS_OK;
}

void node_erased(struct node *n, struct slice lo)
{
    store_put(n->store, erase_row_key(n, lo), slice_make(NULL, 0));
}

static enum status apply_catalog(struct node *n, uint64_t index, struct slice payload,
                                 struct applied *out)
{
    struct catalog_command command;
    if (n->catalog == NULL || catalog_command_decode(payload, &command) != STATUS_OK)
        return STATUS_CORRUPT;
    struct catalog_result result;
    catalog_apply(n->catalog, payload, &result);
    for (uint32_t i = 0; i < result.row_count; i++)
        store_put(n->store, result.rows[i].key, result.rows[i].value);
    n->catalog_index = index;
    node_note(n, NODE_TRACE_CATALOG, result.code, (int64_t)index);
    out->code = result.code;
    out->text = arena_copy(&n->lent, result.text);
    if (result.table != NULL) {
        buffer_clear(&n->scratch);
        table_encode(&n->scratch, result.table);
        out->body = arena_copy(&n->lent, buffer_slice(&n->scratch));
        if (n->started)
            node_catalog_table_changed(n, result.table);
    }
    return STATUS_OK;
}

enum status node_apply(struct node *n, enum log_kind kind, uint32_t group, uint64_t index,
                       struct slice payload, bool want_old, struct applied *out)
{
    *out = (struct applied){.code = REPLY_OK};
    switch (kind) {
    case LOG_WRITE:
        return apply_write(n, group, index, payload, want_old, out);
    case LOG_PARTITION:
        return apply_partition(n, index, payload);
    case LOG_PARTITION_CLOSE:
        return apply_partition_close(n, group);
    case LOG_CATALOG:
        return apply_catalog(n, index, payload, out);
    case LOG_SEGMENT:
    case LOG_END:
    case LOG_NOOP:
    case LOG_MEMBERS:
    case LOG_HARD_STATE:
    case LOG_KINDS:
        break;
    }
    return STATUS_OK;
}

enum status node_replay(struct node *n, const struct log_record *record)
{
    struct applied applied;
    arena_reset(&n->lent);
    return node_apply(n, record->kind, record->group, record->index, record->payload, false,
                      &applied);
}
