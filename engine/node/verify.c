/* node/verify.c - reading back everything a node holds. */
#include <stdlib.h>
#include <xxhash.h>

#include "base/must.h"
#include "engine/node/node_internal.h"

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
    struct partition *partition; /* NULL: none */
    struct buffer key;
    int64_t told; /* by its row */
    int64_t bytes;
};

static void add_item(struct tally *t, struct slice key, struct slice item)
{
    t->items++;
    t->bytes += item_size(item);
    t->checksum = XXH3_64bits_withSeed(key.data, key.size, t->checksum);
    t->checksum = XXH3_64bits_withSeed(item.data, item.size, t->checksum);
}

static void end_collection(struct collection_tally *c, struct tally *tallies)
{
    if (c->partition != NULL && c->told != c->bytes)
        tallies[c->partition->info.id].miscounted_collection = true;
    c->partition = NULL;
}

/* The collection the key lies in; where they are not counted, none. */
static void enter_collection(struct collection_tally *c, struct partition *p, struct slice key,
                             struct tally *tallies)
{
    struct slice prefix = collection_key(key);
    if (c->partition == p && slice_equal(buffer_slice(&c->key), prefix))
        return;
    end_collection(c, tallies);
    if (!p->info.whole_collections || p->no_state)
        return;
    c->partition = p;
    c->told = c->bytes = 0;
    buffer_clear(&c->key);
    buffer_append_slice(&c->key, prefix);
}

static uint32_t table_of(struct slice key)
{
    uint32_t id = 0;
    if (key.size >= sizeof id)
        memcpy(&id, key.data, sizeof id);
    return __builtin_bswap32(id);
}

static struct partition *holder_of(const struct node *n, struct slice key)
{
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        if (n->partitions[i] != NULL && partition_holds(n->partitions[i], key))
            return n->partitions[i];
    }
    return NULL;
}

static void damaged(struct node *n, struct slice key, struct node_verification *out)
{
    if (out->damaged++ > 0)
        return;
    buffer_clear(&n->scratch);
    buffer_append_slice(&n->scratch, key);
    out->first_damaged_key = buffer_slice(&n->scratch);
}

static enum status read_all(struct node *n, struct tally *tallies, struct node_verification *out)
{
    static const uint8_t first_table[4] = {0, 0, 0, CATALOG_TABLE_ID + 1};
    struct store_cursor c;
    struct slice key, item;
    struct partition *p = NULL;
    struct collection_tally collection = {0};
    enum status status;
    store_seek(n->store, slice_make(first_table, 4), slice_make(NULL, 0), false, &c);
    while ((status = store_next(&c, &key, &item)) == STATUS_OK && table_of(key) != NODE_TABLE_ID) {
        if (p == NULL || !partition_holds(p, key))
            p = holder_of(n, key);
        if (p == NULL)
            continue; /* of a partition that was closed, not erased yet */
        enter_collection(&collection, p, key, tallies);
        if (partition_is_row(p, key)) {
            if (collection_decode(key, item, &collection.told) != STATUS_OK)
                damaged(n, key, out);
            continue;
        }
        if (item_check(item) != STATUS_OK) {
            damaged(n, key, out);
            continue;
        }
        collection.bytes += item_size(item);
        add_item(&tallies[p->info.id], key, item);
        if (!p->counting || slice_compare(key, buffer_slice(&p->counted_to)) < 0) {
            tallies[p->info.id].counted_items++;
            tallies[p->info.id].counted_bytes += item_size(item);
        }
        out->items++;
        out->bytes += item_size(item);
    }
    end_collection(&collection, tallies);
    buffer_deinit(&collection.key);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

enum status node_verify(struct node *n, struct node_verification *out)
{
    return node_verify_replicas(n, out, NULL, NULL);
}

static void tell(const struct partition *p, const struct tally *t,
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
    struct tally *tallies = calloc(n->partitions_size + 1, sizeof *tallies);
    must(tallies != NULL);
    enum status status = read_all(n, tallies, out);
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        const struct partition *p = n->partitions[i];
        if (p == NULL)
            continue;
        out->partitions++;
        bool counted = p->item_count == tallies[i].counted_items &&
                       p->item_bytes == tallies[i].counted_bytes &&
                       !tallies[i].miscounted_collection;
        out->miscounted += !counted && !p->no_state; /* half a snapshot is nobody's count */
        if (replica != NULL && p->info.id != CATALOG_GROUP)
            tell(p, &tallies[i], replica, context);
    }
    free(tallies);
    return status;
}
