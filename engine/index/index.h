/* index.h - the secondary indexes of a table, and their bytes in the catalog and at its replicas.
 *
 * An index has a row for each item that has all key attributes of the index.
 *
 * A local index sorts the items of a collection by another attribute. Its rows lie in the item's
 * own partition, in the key space `number` (engine/item/storage_key.h).
 *
 * A global index has keys of its own, of one to four attributes each. Its rows are the items of
 * another table, `table_id`, with partitions and throughput of its own. The leaders of the base
 * table's partitions keep it up to date (engine/node/index/index_feed.h). */
#pragma once

#include "base/arena.h"
#include "base/codec.h"
#include "engine/item/item.h"

/* A key attribute of type ATTR_STRING, ATTR_NUMBER or ATTR_BINARY. Empty name: no sort key. */
struct key_attr {
    struct slice name;
    enum attr_type type;
};

void key_attr_walk(struct codec *c, struct key_attr *k);

/* A number of items or of rows, and the sum of their item_size. */
struct tally {
    int64_t count;
    int64_t bytes;
};

static inline void tally_add(struct tally *t, int64_t count, int64_t bytes)
{
    t->count += count;
    t->bytes += bytes;
}

enum projection_kind {
    PROJECT_ALL = 1,
    PROJECT_KEYS,   /* the keys of table and index */
    PROJECT_INCLUDE /* the keys, and the attributes in `names` */
};

struct index {
    uint8_t number;    /* of a local index: 1 to LOCAL_INDEXES_MAX, unlike all others; 0: global */
    uint32_t table_id; /* of a global index; 0: local, or the catalog has not chosen it yet */
    struct slice name;
    uint32_t partition_count; /* attributes of the partition key; of a local index: the table's */
    uint32_t sort_count;      /* attributes of the sort key; of a local index: 1, else 0 to 4 */
    struct key_attr keys[2 * INDEX_KEYS_MAX]; /* of the partition key, then of the sort key */
    enum projection_kind projection;
    struct slice names; /* each u32 size + bytes, for PROJECT_INCLUDE */
};

/* The sort key of a local index. */
static inline const struct key_attr *index_sort_key(const struct index *x)
{
    must(x->sort_count >= 1);
    return &x->keys[x->partition_count];
}

/* The indexes of a table, with the table's own keys. */
struct index_set {
    struct key_attr partition_key;
    struct key_attr sort_key; /* empty name: none, and no local indexes */
    uint32_t count;
    uint32_t local_count; /* local indexes, which come first */
    struct index *at;
};

/* Its bytes begin with the table's keys. A set without indexes has no bytes. */
void index_set_encode(struct buffer *out, const struct index_set *set);
/* `*out` is NULL if there are no bytes. Lends from `bytes`; the rest comes from the arena.
 * STATUS_MALFORMED. */
enum status index_set_decode(struct slice bytes, struct arena *arena, const struct index_set **out);

/* NULL: there is no such index. `set` may be NULL. */
const struct index *index_set_find(const struct index_set *set, struct slice name);

/* The global index with this table. NULL: there is none. */
const struct index *index_set_find_table(const struct index_set *set, uint32_t table_id);

/* The number of local indexes, which come first; 0 without a set. */
static inline uint32_t index_set_local(const struct index_set *set)
{
    return set != NULL ? set->local_count : 0;
}
/* The number of global indexes. */
static inline uint32_t index_set_global(const struct index_set *set)
{
    return set != NULL ? set->count - set->local_count : 0;
}
static inline const struct index *index_set_global_at(const struct index_set *set, uint32_t i)
{
    must(i < set->count - set->local_count);
    return &set->at[set->local_count + i];
}
