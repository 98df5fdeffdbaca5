/* verify.c - reads everything that a node holds, and checks it. */
#include <xxhash.h>

#include "engine/node/collection.h"
#include "engine/node/node_internal.h"
#include "engine/node/owned_keys.h"

/* The content of a replica, as read. */
struct tally {
    int64_t items;
    int64_t bytes;
    uint64_t checksum;
    int64_t counted_items; /* those that the partition's own count includes */
    int64_t counted_bytes;
    bool miscounted_collection;
};

/* The item collection that is being read. */
struct collection_tally {
    bool counted; /* false: no collection, or the partition does not count collections */
    struct buffer key;
    int64_t told; /* the bytes in its row */
    int64_t bytes;
};

static void verify_count_item(const struct partition *p, struct tally *t, struct slice key,
                              struct slice item)
{
    t->items++;
    t->bytes += item_size(item);
    t->checksum = XXH3_64bits_withSeed(key.data, key.size, t->checksum);
    t->checksum = XXH3_64bits_withSeed(item.data, item.size, t->checksum);
    if (p->counting && slice_compare(key, buffer_slice(&p->counted_to)) >= 0)
        return;
    t->counted_items++;
    t->counted_bytes += item_size(item);
}

static void verify_leave_collection(struct collection_tally *c, struct tally *t)
{
    t->miscounted_collection |= c->counted && c->told != c->bytes;
    c->counted = false;
}

static void verify_enter_collection(struct collection_tally *c, const struct partition *p,
                                    struct slice key, struct tally *t)
{
    struct slice prefix = collection_key(key);
    if (c->counted && slice_equal(buffer_slice(&c->key), prefix))
        return;
    verify_leave_collection(c, t);
    if (!p->info.whole_collections || p->no_state)
        return;
    c->counted = true;
    c->told = c->bytes = 0;
    buffer_set(&c->key, prefix);
}

static void verify_damaged(struct node *n, struct slice key, struct node_verification *out)
{
    if (out->damaged++ > 0)
        return;
    buffer_set(&n->env.scratch, key);
    out->first_damaged_key = buffer_slice(&n->env.scratch);
}

static enum status verify_partition(struct node *n, const struct partition *p, struct tally *t,
                                    struct node_verification *out)
{
    const struct key_ranges ranges = key_ranges_of(p->info.lo, p->info.hi);
    struct collection_tally collection = {0};
    struct owned_cursor c;
    struct slice key, value;
    enum status status;
    owned_seek(n->env.store, &ranges, &c);
    while ((status = owned_next(&c, &key, &value)) == STATUS_OK) {
        verify_enter_collection(&collection, p, key, t);
        if (partition_is_row(p, key)) {
            if (collection_decode(key, value, &collection.told) != STATUS_OK)
                verify_damaged(n, key, out);
            continue;
        }
        if (item_check(value) != STATUS_OK) {
            verify_damaged(n, key, out);
            continue;
        }
        collection.bytes += item_size(value);
        verify_count_item(p, t, key, value);
    }
    verify_leave_collection(&collection, t);
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

/* The catalog's rows are no items: catalog_replica_load reads them. */
enum status node_verify_replicas(struct node *n, struct node_verification *out,
                                 void (*replica)(void *context,
                                                 const struct replica_verification *r),
                                 void *context)
{
    *out = (struct node_verification){0};
    for (uint32_t i = 0; i < n->partitions.count; i++) {
        const struct partition *p = n->partitions.all[i];
        struct tally t = {0};
        enum status status = STATUS_OK;
        if (p->info.id != CATALOG_GROUP)
            status = verify_partition(n, p, &t, out);
        if (status != STATUS_OK)
            return status;
        out->partitions++;
        out->items += t.items;
        out->bytes += t.bytes;
        bool counted = p->item_count == t.counted_items && p->item_bytes == t.counted_bytes &&
                       !t.miscounted_collection;
        out->miscounted += !counted && !p->no_state; /* an unfinished snapshot has no count */
        if (replica != NULL && p->info.id != CATALOG_GROUP)
            verify_tell(p, &t, replica, context);
    }
    return STATUS_OK;
}
