/* verify.c - reading back everything a node holds. */
#include <stdlib.h>
#include <xxhash.h>

#include "base/big_endian.h"
#include "base/must.h"
#include "engine/item/storage_key.h"
#include "engine/node/collection.h"
#include "engine/node/node_internal.h"
#include "engine/node/rows.h"

struct tally {
    int64_t items;
    int64_t bytes;
    uint64_t checksum;
    int64_t counted_items; /* of them those the partition's own count is about */
    int64_t counted_bytes;
    bool miscounted_collection;
};

/* The item collection that is being read. */
struct collection_tally {
    struct tally *tally; /* of its partition; NULL: none */
    struct buffer key;
    int64_t told; /* by its row */
    int64_t bytes;
};

static void verify_add_item(struct tally *t, struct slice key, struct slice item)
{
    t->items++;
    t->bytes += item_size(item);
    t->checksum = XXH3_64bits_withSeed(key.data, key.size, t->checksum);
    t->checksum = XXH3_64bits_withSeed(item.data, item.size, t->checksum);
}

static void verify_end_collection(struct collection_tally *c)
{
    if (c->tally != NULL && c->told != c->bytes)
        c->tally->miscounted_collection = true;
    c->tally = NULL;
}

/* The collection the key lies in; where they are not counted, none. */
static void verify_enter_collection(struct collection_tally *c, const struct partition *p,
                                    struct slice key, struct tally *tally)
{
    struct slice prefix = collection_key(key);
    if (c->tally == tally && slice_equal(buffer_slice(&c->key), prefix))
        return;
    verify_end_collection(c);
    if (!p->info.whole_collections || p->no_state)
        return;
    c->tally = tally;
    c->told = c->bytes = 0;
    buffer_clear(&c->key);
    buffer_append_slice(&c->key, prefix);
}

static uint32_t verify_table_of(struct slice key)
{
    return key.size >= STORAGE_KEY_TABLE_SIZE ? be32_get(key.data) : 0;
}

/* The place of the replica that holds the key among all; their number: none does. */
static uint32_t verify_holder_of(const struct node *n, struct slice key)
{
    uint32_t at = 0;
    while (at < n->partitions.count && !partition_holds(n->partitions.all[at], key))
        at++;
    return at;
}

static void verify_damaged(struct node *n, struct slice key, struct node_verification *out)
{
    if (out->damaged++ > 0)
        return;
    buffer_clear(&n->env.scratch);
    buffer_append_slice(&n->env.scratch, key);
    out->first_damaged_key = buffer_slice(&n->env.scratch);
}

static enum status verify_read_all(struct node *n, struct tally *tallies,
                                   struct node_verification *out)
{
    static const uint8_t first_table[4] = {0, 0, 0, CATALOG_TABLE_ID + 1};
    struct store_cursor c;
    struct slice key, item;
    const struct partition *p = NULL;
    struct tally *tally = NULL;
    struct collection_tally collection = {0};
    enum status status;
    store_seek(n->env.store, slice_make(first_table, 4), slice_make(NULL, 0), false, &c);
    while ((status = store_next(&c, &key, &item)) == STATUS_OK &&
           verify_table_of(key) != NODE_TABLE_ID) {
        if (p == NULL || !partition_holds(p, key)) {
            uint32_t at = verify_holder_of(n, key);
            p = at < n->partitions.count ? n->partitions.all[at] : NULL;
            tally = &tallies[at];
        }
        if (p == NULL)
            continue; /* of a partition that was closed, not erased yet */
        verify_enter_collection(&collection, p, key, tally);
        if (partition_is_row(p, key)) {
            if (collection_decode(key, item, &collection.told) != STATUS_OK)
                verify_damaged(n, key, out);
            continue;
        }
        if (item_check(item) != STATUS_OK) {
            verify_damaged(n, key, out);
            continue;
        }
        collection.bytes += item_size(item);
        verify_add_item(tally, key, item);
        if (!p->counting || slice_compare(key, buffer_slice(&p->counted_to)) < 0) {
            tally->counted_items++;
            tally->counted_bytes += item_size(item);
        }
        out->items++;
        out->bytes += item_size(item);
    }
    verify_end_collection(&collection);
    buffer_deinit(&collection.key);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

enum status node_verify(struct node *n, struct node_verification *out)
{
    return node_verify_replicas(n, out, NULL, NULL);
}

static void verify_tell(const struct partition *p, const struct tally *t,
                        void (*replica)(void *context, const struct replica_verification *r),
                        void *context)
{
    struct replica_verification r = {.group = p->info.id,
                                     .applied = raft_applied(p->raft),
                                     .items = t->items,
                                     .bytes = t->bytes,
                                     .checksum = t->checksum,
                                     .no_state = p->no_state};
    replica(context, &r);
}

enum status node_verify_replicas(struct node *n, struct node_verification *out,
                                 void (*replica)(void *context,
                                                 const struct replica_verification *r),
                                 void *context)
{
    *out = (struct node_verification){0};
    struct tally *tallies = calloc(n->partitions.count + 1, sizeof *tallies);
    must(tallies != NULL);
    enum status status = verify_read_all(n, tallies, out);
    for (uint32_t i = 0; i < n->partitions.count; i++) {
        const struct partition *p = n->partitions.all[i];
        out->partitions++;
        bool counted = p->item_count == tallies[i].counted_items &&
                       p->item_bytes == tallies[i].counted_bytes &&
                       !tallies[i].miscounted_collection;
        out->miscounted += !counted && !p->no_state; /* half a snapshot is nobody's count */
        if (replica != NULL && p->info.id != CATALOG_GROUP)
            verify_tell(p, &tallies[i], replica, context);
    }
    free(tallies);
    return status;
}
