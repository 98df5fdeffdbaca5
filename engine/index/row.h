/* row.h - the rows of a local index: their keys, and what they show of an item.
 *
 * Key: the item's storage key in the index's key space, with the sort key of the index before that
 * of the table:
 *
 *   number (u8) | table id (u24 BE) | hash (BE) | partition key | sort key of the index | sort key
 *
 * Value: the projected attributes, encoded as an item. So both follow from the item alone. */
#pragma once

#include "engine/index/index.h"

/* The index's sort key in the item. False: the item has no row. */
bool index_sort_of(const struct index *x, struct slice item, struct attr *out);

/* Appends the key of the row of the item with this storage key. */
void index_row_append_key(struct buffer *out, const struct index *x, struct slice item_key,
                          const struct attr *sort);
/* Appends the storage key of the item that the row belongs to. False: it is no row's key. */
bool index_row_append_item_key(struct buffer *out, struct slice row_key);

/* Appends what the row shows of the item. Returns its item_size. */
uint32_t index_row_append(struct buffer *out, const struct index_set *set, const struct index *x,
                          struct slice item);
/* item_size of what index_row_append would append. */
uint32_t index_row_size(const struct index_set *set, const struct index *x, struct slice item);
/* Whether both items have the same row. Their keys are those of the same row. */
bool index_row_is_same(const struct index_set *set, const struct index *x, struct slice a,
                       struct slice b);

/* Whether the row shows the attribute. */
bool index_shows(const struct index_set *set, const struct index *x, struct slice name);
