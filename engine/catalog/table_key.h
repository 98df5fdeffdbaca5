/* table_key.h - the key of an item by a table's key schema, and its storage key. */
#pragma once

#include "engine/catalog/table.h"
#include "engine/item/storage_key.h"

/* The key attributes of an item. sort.type is 0 if the table has no sort key. */
struct key {
    struct attr partition; /* borrows from the item */
    struct attr sort;
    struct attr index[2 * INDEX_KEYS_MAX]; /* of a row: the index's keys; otherwise types are 0 */
};

static inline bool table_has_sort_key(const struct table *t)
{
    return t->sort_key.name.size > 0;
}

/* Appends the storage key. */
void key_append_storage(struct buffer *out, const struct table *t, const struct key *key);

/* Appends the key attributes as an item. */
void key_append_item(struct buffer *out, const struct table *t, const struct key *key);

/* Appends the key of the row in an index, as requests and replies have it: of a local index, as if
 * the row lay in the items' key space. `x` NULL: the storage key. */
void key_append_row(struct buffer *out, const struct table *t, const struct index *x,
                    const struct key *key);

/* The key of an item, or of a row of the index, that a node has sent. A missing attribute has type
 * 0. `x` NULL: an item. */
void key_find(const struct table *t, const struct index *x, struct slice item, struct key *out);

/* Reads the key out of what key_append_row appends; copies it to the arena. False: it is no such
 * key. */
bool key_of_storage(const struct table *t, const struct index *x, struct slice storage_key,
                    struct arena *arena, struct key *out);
