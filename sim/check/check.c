/* check.c - at the end of a run: is the data of the nodes whole, and do the replicas agree? */
#include "sim/check/check.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/big_endian.h"
#include "engine/catalog/table.h"
#include "engine/index/row.h"
#include "engine/item/equal.h"
#include "engine/node/core/collection.h"
#include "engine/node/core/owned_keys.h"
#include "engine/stream/stream.h"

static bool check_node(struct node_process *p, uint32_t id, struct buffer *why)
{
    struct node *n = node_process_node(p);
    struct node_verification v;
    if (n == NULL || node_is_stopped(n)) {
        buffer_append_format(why, "node %u is %s though all is calm\n", id,
                             n == NULL ? "down" : "stopped");
        return false;
    }
    if (node_verify(n, &v) != STATUS_OK) {
        buffer_append_format(why, "node %u cannot be verified\n", id);
        return false;
    }
    if (v.open_transactions > 0) {
        buffer_append_format(
            why, "node %u holds %lld locks and records of transactions, one in partition %u\n", id,
            (long long)v.open_transactions, v.open_partition);
        return false;
    }
    if (v.damaged == 0 && v.miscounted == 0)
        return true;
    buffer_append_format(why,
                         "node %u holds %lld damaged items, and %u partitions are miscounted\n", id,
                         (long long)v.damaged, v.miscounted);
    return false;
}

static bool check_rest(struct node_process *const *nodes, uint32_t count, struct buffer *why)
{
    for (uint32_t id = 1; id <= count; id++) {
        const struct node *n = node_process_node(nodes[id]);
        const size_t size = why->size;
        if (n != NULL)
            node_census(n, why);
        if (why->size > size) {
            buffer_append_format(why, "node %u holds that though all is calm\n", id);
            return false;
        }
    }
    return true;
}

bool check_nodes(struct node_process *const *nodes, uint32_t count, struct buffer *why)
{
    for (uint32_t id = 1; id <= count; id++) {
        if (!check_node(nodes[id], id, why))
            return false;
    }
    return check_rest(nodes, count, why);
}

/* ---- replicas ---- */

static bool check_ranges(const struct table *t, struct buffer *why)
{
    uint8_t lo[4], hi[4];
    be32_put(lo, t->id);
    be32_put(hi, t->id + 1);
    must(t->partition_count > 0);
    const struct partition_info *last = &t->partitions[t->partition_count - 1];
    bool whole = slice_compare(t->partitions[0].lo, slice_make(lo, sizeof lo)) <= 0;
    whole &= last->hi.size == 0 || slice_compare(last->hi, slice_make(hi, sizeof hi)) >= 0;
    for (uint32_t i = 1; i < t->partition_count; i++)
        whole &= slice_equal(t->partitions[i - 1].hi, t->partitions[i].lo);
    if (!whole)
        buffer_append_text(why, "the partitions of the table are not the whole key space\n");
    return whole;
}

struct contents {
    uint64_t hash;
    uint64_t items;
};

/* What the partition owns in a key space; 0: its items. The cursor lends from the arena. */
static void seek_space(struct node *n, const struct partition_info *p, uint8_t space,
                       struct arena *arena, struct store_cursor *c)
{
    uint8_t next_table[4];
    be32_put(next_table, p->table_id + 1);
    const struct slice hi = p->hi.size > 0 ? p->hi : slice_make(next_table, sizeof next_table);
    store_seek(node_store(n), key_in_space(p->lo, space, arena), key_in_space(hi, space, arena),
               false, c);
}

static bool check_space_read(struct node *n, const struct partition_info *p, uint8_t space,
                             struct contents *out)
{
    struct arena arena = {0};
    struct store_cursor c;
    struct slice key, value;
    enum status status;
    *out = (struct contents){0};
    seek_space(n, p, space, &arena, &c);
    while ((status = store_next(&c, &key, &value)) == STATUS_OK) {
        out->items++;
        out->hash = XXH3_64bits_withSeed(key.data, key.size, out->hash);
        out->hash = XXH3_64bits_withSeed(value.data, value.size, out->hash);
    }
    arena_deinit(&arena);
    return status == STATUS_NOT_FOUND;
}

/* No split is under way, and every replica has the range that the catalog says. */
static bool check_shape(struct node_process *const *nodes, const struct partition_info *p,
                        struct buffer *why)
{
    if (p->parent != 0) {
        buffer_append_format(why, "partition %u is still being split off from %u\n", p->id,
                             p->parent);
        return false;
    }
    for (uint32_t i = 0; i < p->member_count; i++) {
        uint32_t node = partition_node(p, i);
        const struct partition_info *here = node_replica(node_process_node(nodes[node]), p->id);
        if (here != NULL && here->epoch == p->epoch && slice_equal(here->lo, p->lo) &&
            slice_equal(here->hi, p->hi))
            continue;
        buffer_append_format(why, "node %u %s partition %u as the catalog knows it\n", node,
                             here == NULL ? "does not have" : "does not split", p->id);
        return false;
    }
    return true;
}

/* Whether all replicas have the same rows in the key space. */
static bool check_space(struct node_process *const *nodes, const struct partition_info *p,
                        uint8_t space, struct buffer *why)
{
    struct contents first, other;
    for (uint32_t i = 0; i < p->member_count; i++) {
        uint32_t node = partition_node(p, i);
        struct contents *c = i == 0 ? &first : &other;
        if (!check_space_read(node_process_node(nodes[node]), p, space, c)) {
            buffer_append_format(why, "node %u cannot read partition %u\n", node, p->id);
            return false;
        }
        if (i == 0 || (first.hash == other.hash && first.items == other.items))
            continue;
        buffer_append_format(why,
                             "the replicas of partition %u differ in key space %u: %llu rows on "
                             "node %u, %llu on node %u\n",
                             p->id, space, (unsigned long long)first.items, partition_node(p, 0),
                             (unsigned long long)other.items, node);
        return false;
    }
    return true;
}

static bool check_partition(struct node_process *const *nodes, const struct partition_info *p,
                            uint32_t replicas, struct buffer *why)
{
    if (!check_shape(nodes, p, why))
        return false;
    if (p->member_count != replicas) {
        buffer_append_format(why, "partition %u has %u replicas and should have %u\n", p->id,
                             p->member_count, replicas);
        return false;
    }
    /* Not by key_ranges_of: what it forgets is to be found. */
    for (uint8_t space = 0; space <= SPACE_STREAM_KEYS; space++) {
        if (!check_space(nodes, p, space, why))
            return false;
    }
    return true;
}

/* Whether the item is where its partition key has its items. While items move they may be
 * elsewhere. A counter's item has cells, and a kept total, which is in no shard. */
static bool item_is_in_owner_shard(const struct table *t, struct slice key)
{
    const struct sharded_key *k = key_sharding_find(t->sharded_keys, key);
    if (k == NULL)
        return key_shard_of(key) == 0;
    const uint64_t shard = key_shard_of(key);
    if (k->counter)
        return sharded_key_moves(k) || shard < k->shards || shard == UINT64_MAX;
    return sharded_key_moves(k) || shard == sharded_key_owner(k, key);
}

static bool check_owner_shards(struct node_process *const *nodes, const struct table *t,
                               const struct partition_info *p, struct buffer *why)
{
    struct node *n = node_process_node(nodes[partition_node(p, 0)]);
    struct store_cursor c;
    struct slice key, value;
    uint64_t astray = 0;
    struct arena arena = {0};
    seek_space(n, p, 0, &arena, &c);
    while (t->index_of == 0 && store_next(&c, &key, &value) == STATUS_OK)
        astray +=
            !(t->whole_collections && collection_is_row(key)) && !item_is_in_owner_shard(t, key);
    arena_deinit(&arena);
    if (astray > 0)
        buffer_append_format(why, "%llu items of partition %u are not in their owner shards\n",
                             (unsigned long long)astray, p->id);
    return astray == 0;
}

bool check_replicas(struct node_process *const *nodes, struct slice table, uint32_t replicas,
                    struct buffer *why)
{
    struct arena arena = {0};
    struct table t;
    bool good = table.size > 0 && table_decode(table, &arena, &t) == STATUS_OK;
    if (!good)
        buffer_append_text(why, "no node answers for the table\n");
    good = good && check_ranges(&t, why);
    for (uint32_t i = 0; good && i < t.partition_count; i++)
        good = check_partition(nodes, &t.partitions[i], replicas, why) &&
               check_owner_shards(nodes, &t, &t.partitions[i], why);
    arena_deinit(&arena);
    return good;
}

/* ---- global indexes ---- */

/* A set of rows, whatever their order. */
static void rows_add(struct contents *rows, struct slice key, struct slice value)
{
    rows->items++;
    rows->hash += XXH3_64bits_withSeed(key.data, key.size, item_digest(value));
}

static void rows_add_item(struct contents *rows, const struct index_set *set, struct slice key,
                          struct slice item)
{
    struct buffer row_key = {0}, row = {0};
    if (index_global_append_key(&row_key, &set->at[0], key, item)) {
        index_row_append(&row, set, &set->at[0], item);
        rows_add(rows, buffer_slice(&row_key), buffer_slice(&row));
    }
    buffer_deinit(&row_key);
    buffer_deinit(&row);
}

/* Adds the items of all partitions, or, with a set, the rows that follow from them. */
static bool rows_read(struct node_process *const *nodes, const struct table *t,
                      const struct index_set *set, struct contents *out)
{
    enum status status = STATUS_NOT_FOUND;
    for (uint32_t i = 0; i < t->partition_count && status == STATUS_NOT_FOUND; i++) {
        const struct partition_info *p = &t->partitions[i];
        struct node *n = node_process_node(nodes[partition_node(p, 0)]);
        struct store_cursor c;
        struct slice key, value;
        if (n == NULL)
            return false;
        store_seek(node_store(n), p->lo, p->hi, false, &c);
        while ((status = store_next(&c, &key, &value)) == STATUS_OK) {
            if (set == NULL)
                rows_add(out, key, value);
            else if (!(t->whole_collections && collection_is_row(key)))
                rows_add_item(out, set, key, value);
        }
    }
    return status == STATUS_NOT_FOUND;
}

bool check_index(struct node_process *const *nodes, struct slice table, struct slice index,
                 struct buffer *why)
{
    struct arena arena = {0};
    struct table t, x;
    struct contents expected = {0}, found = {0};
    bool good = table.size > 0 && table_decode(table, &arena, &t) == STATUS_OK && index.size > 0 &&
                table_decode(index, &arena, &x) == STATUS_OK &&
                rows_read(nodes, &t, x.index_set, &expected) && rows_read(nodes, &x, NULL, &found);
    if (!good) {
        buffer_append_text(why, "an index or its table cannot be read\n");
    } else if (expected.items != found.items || expected.hash != found.hash) {
        buffer_append_format(why, "%.*s has %llu rows, and should have %llu%s\n", (int)x.name.size,
                             (const char *)x.name.data, (unsigned long long)found.items,
                             (unsigned long long)expected.items,
                             expected.items == found.items ? " others" : "");
        good = false;
    }
    arena_deinit(&arena);
    return good;
}

bool check_coverage(struct slice table, struct buffer *why)
{
    struct arena arena = {0};
    struct table t;
    bool good = table_decode(table, &arena, &t) == STATUS_OK;
    if (!good)
        buffer_append_text(why, "the catalog's answer for the table is damaged\n");
    good = good && check_ranges(&t, why);
    arena_deinit(&arena);
    return good;
}

/* ---- leaders ---- */

void leaders_deinit(struct leaders *l)
{
    free(l->all);
}

uint32_t leaders_add(struct leaders *l, uint32_t group, uint64_t term, uint32_t node)
{
    for (size_t i = l->count; i > 0; i--) {
        if (l->all[i - 1].group == group && l->all[i - 1].term == term)
            return l->all[i - 1].node;
    }
    l->all = must_grow(l->all, l->count, &l->capacity, sizeof l->all[0]);
    l->all[l->count++] = (struct leader){group, node, term};
    return node;
}
