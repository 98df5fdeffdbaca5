/* verify.c - reads everything that a node holds, and checks it. */
#include <xxhash.h>

#include "engine/index/row.h"
#include "engine/item/equal.h"
#include "engine/node/core/collection.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/node_internal.h"

enum {
    LENT_BYTES = 1 << 20 /* what was read is released after so many */
};

/* The content of a replica, as read. */
struct content {
    struct tally items;
    uint64_t checksum;
    struct tally counted;                 /* the items that the partition's own count includes */
    struct tally rows[LOCAL_INDEXES_MAX]; /* that the items should have, by place */
    struct tally counted_rows[LOCAL_INDEXES_MAX]; /* of the items that are counted */
    int64_t rows_read;
    struct tally records;      /* of streams, that the partition's own count includes */
    int64_t open_transactions; /* their locks and records */
    bool miscounted_collection;
};

/* The item collection that is being read. */
struct collection_tally {
    bool counted; /* false: no collection, or the partition does not count collections */
    struct buffer key;
    int64_t recorded; /* the bytes in its row */
    int64_t bytes;
};

/* Whether the store has the row that follows from the item. Counts the row. */
static bool verify_row(struct node *n, const struct partition *p, uint32_t place, struct content *t,
                       struct slice key, struct slice item)
{
    const struct index *x = &p->indexes->at[place];
    struct attr sort;
    struct slice row;
    struct buffer row_key = {0}, shown = {0};
    if (!index_sort_of(x, item, &sort))
        return true;
    index_row_append_key(&row_key, x, key, &sort);
    const int64_t size = index_row_append(&shown, p->indexes, x, item);
    tally_add(&t->rows[place], 1, size);
    if (partition_has_counted(p, key))
        tally_add(&t->counted_rows[place], 1, size);
    struct steps steps = steps_begin(store_hash_seed(n->env.store));
    const bool there =
        store_get(n->env.store, buffer_slice(&row_key), true, &row) == STATUS_OK &&
        item_equal(row, buffer_slice(&shown), &steps); /* a change of order alone rewrites no row */
    buffer_deinit(&row_key);
    buffer_deinit(&shown);
    return there;
}

/* Counts the item. False: a row of it is missing or wrong. */
static bool verify_item(struct node *n, const struct partition *p, struct content *t,
                        struct slice key, struct slice item)
{
    bool valid = true;
    tally_add(&t->items, 1, (int64_t)item_size(item));
    t->checksum = XXH3_64bits_withSeed(key.data, key.size, t->checksum);
    t->checksum = XXH3_64bits_withSeed(item.data, item.size, t->checksum);
    if (partition_has_counted(p, key))
        tally_add(&t->counted, 1, (int64_t)item_size(item));
    for (uint32_t i = 0; i < index_set_local(p->indexes); i++)
        valid = verify_row(n, p, i, t, key, item) && valid;
    return valid || p->no_state;
}

/* Whether the partition's own counts are right, and it has no rows but those of its items. */
static bool verify_counts(const struct partition *p, const struct content *t)
{
    int64_t rows = 0;
    for (uint32_t i = 0; i < index_set_local(p->indexes); i++)
        rows += t->rows[i].count;
    return !t->miscounted_collection && rows == t->rows_read &&
           memcmp(&p->items, &t->counted, sizeof t->counted) == 0 &&
           memcmp(&p->stream.rows, &t->records, sizeof t->records) == 0 &&
           memcmp(p->rows, t->counted_rows, sizeof t->counted_rows) == 0;
}

static void verify_leave_collection(struct collection_tally *c, struct content *t)
{
    t->miscounted_collection |= c->counted && c->recorded != c->bytes;
    c->counted = false;
}

static void verify_enter_collection(struct collection_tally *c, const struct partition *p,
                                    struct slice key, struct content *t)
{
    struct slice prefix = collection_key(key);
    if (c->counted && slice_equal(buffer_slice(&c->key), prefix))
        return;
    verify_leave_collection(c, t);
    if (!p->info.whole_collections || p->no_state)
        return;
    c->counted = true;
    c->recorded = c->bytes = 0;
    buffer_set(&c->key, prefix);
}

/* A row that is not in the key space of items. False: it is damaged. */
static bool verify_other_row(const struct partition *p, struct content *t, struct slice key,
                             struct slice value)
{
    const uint8_t space = key.data[0];
    uint32_t partition;
    struct stream_position at;
    if (space < SPACE_INDEX_FEED_KEYS) {
        t->rows_read++;
        return true;
    }
    if (space == SPACE_INDEX_FEED_KEYS)
        return index_feed_change_is_valid(value);
    if (space != SPACE_STREAM_KEYS) {
        const bool valid = transaction_row_is_valid(key, value);
        t->open_transactions += valid && transaction_row_is_open(key, value);
        return valid;
    }
    if (partition_has_counted(p, key))
        tally_add(&t->records, 1, (int64_t)(key.size + value.size));
    t->checksum = XXH3_64bits_withSeed(key.data, key.size, t->checksum);
    t->checksum = XXH3_64bits_withSeed(value.data, value.size, t->checksum);
    return stream_key_split(key, &partition, &at) && stream_record_is_valid(value);
}

static enum status verify_partition(struct node *n, const struct partition *p, struct content *t,
                                    struct node_verification *out)
{
    const struct key_ranges ranges =
        key_ranges_of(p->info.lo, p->info.hi, p->info.indexes, &n->env.lent);
    struct collection_tally collection = {0};
    struct owned_cursor c;
    struct buffer from = {0};
    struct slice key, value;
    enum status status;
    size_t lent = 0;
    owned_seek(n->env.store, &ranges, &c);
    while ((status = owned_next(&c, &key, &value)) == STATUS_OK) {
        if (lent >= LENT_BYTES) { /* the whole replica is read in one event */
            buffer_set(&from, key);
            store_release(n->env.store);
            owned_seek_again(&c, buffer_slice(&from));
            lent = 0;
            continue;
        }
        lent += value.size;
        if (key.data[0] != 0) { /* a row, which its item was compared with */
            if (!verify_other_row(p, t, key, value))
                out->damaged++;
            continue;
        }
        verify_enter_collection(&collection, p, key, t);
        if (partition_is_row(p, key)) {
            if (collection_decode(key, value, &collection.recorded) != STATUS_OK)
                out->damaged++;
            continue;
        }
        if (item_check(value) != STATUS_OK) {
            out->damaged++;
            continue;
        }
        collection.bytes += partition_bytes_of(p, value);
        if (!verify_item(n, p, t, key, value))
            out->damaged++;
    }
    verify_leave_collection(&collection, t);
    buffer_deinit(&collection.key);
    buffer_deinit(&from);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

enum status node_verify(struct node *n, struct node_verification *out)
{
    return node_verify_replicas(n, out, NULL, NULL);
}

static void verify_report(const struct partition *p, const struct content *t,
                          void (*replica)(void *context, const struct replica_verification *r),
                          void *context)
{
    struct replica_verification r = {.group = p->info.id,
                                     .applied = raft_applied(p->raft),
                                     .items = t->items.count,
                                     .bytes = t->items.bytes,
                                     .checksum = t->checksum,
                                     .no_state = p->no_state};
    replica(context, &r);
}

/* The catalog's rows are no items: catalog_replica_load reads them. */
enum status node_verify_replicas(struct node *n, struct node_verification *out,
                                 void (*replica)(void *context,
                                                 const struct replica_verification *r),
                                 void *context)
{
    *out = (struct node_verification){0};
    for (uint32_t i = 0; i < n->partitions.count; i++) {
        const struct partition *p = n->partitions.all[i];
        struct content t = {0};
        enum status status = STATUS_OK;
        if (p->info.id != CATALOG_GROUP)
            status = verify_partition(n, p, &t, out);
        if (status != STATUS_OK)
            return status;
        out->partitions++;
        out->items += t.items.count;
        out->bytes += t.items.bytes;
        if (p->led != 0 && t.open_transactions > 0) {
            out->open_transactions += t.open_transactions;
            out->open_partition = p->info.id;
        }
        /* an unfinished snapshot has no count */
        out->miscounted += !p->no_state && !verify_counts(p, &t);
        if (replica != NULL && p->info.id != CATALOG_GROUP)
            verify_report(p, &t, replica, context);
    }
    return STATUS_OK;
}
