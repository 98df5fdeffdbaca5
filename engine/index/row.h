/* row.h - the rows of indexes: their keys, and what they show of an item.
 *
 * Key of a row in a local index: the item's storage key in the index's key space, with the sort key
 * of the index before that of the table:
 *
 *   number (u8) | table id (u24 BE) | hash (BE) | partition key | sort key of the index | sort key
 *
 * Key of a row in a global index, in the table of the index:
 *
 *   table id (u32 BE) | hash (BE) | partition key of the index | each attribute of its sort key |
 *   partition key | sort key
 *
 * A partition key of several attributes is one key part, the escaped attributes behind each other.
 * Value: the projected attributes, encoded as an item. So both follow from the item alone. */
#pragma once

#include "engine/index/index.h"
#include "engine/item/step_budget.h"

/* What the item has of an index's keys. The first one that holds counts. */
enum index_keys {
    INDEX_KEYS_COMPLETE,
    INDEX_KEYS_TYPE,  /* a value is not of the key attribute's type */
    INDEX_KEYS_EMPTY, /* a value has no bytes */
    INDEX_KEYS_SIZE,  /* the values are longer than a key may be */
    INDEX_KEYS_ABSENT /* a key attribute is not there */
};

/* Only an item with INDEX_KEYS_COMPLETE has a row. `values`: in the order of the index's keys. */
enum index_keys index_keys_of(const struct index *x, struct slice item,
                              struct attr values[2 * INDEX_KEYS_MAX]);

/* The index's sort key in the item. False: the item has no row. */
bool index_sort_of(const struct index *x, struct slice item, struct attr *out);

/* Appends the key of the row of the item with this storage key. */
void index_row_append_key(struct buffer *out, const struct index *x, struct slice item_key,
                          const struct attr *sort);

/* Appends the key of the item's row in a global index. False: the item has no row, and nothing is
 * appended. */
bool index_global_append_key(struct buffer *out, const struct index *x, struct slice item_key,
                             struct slice item);
/* The partition key of a global index as one attribute, of values in the order of the index's keys.
 * Uses `scratch` if there are several. */
struct attr index_global_partition(const struct index *x, const struct attr values[],
                                   struct buffer *scratch);

/* Appends what the row shows of the item. Returns its item_size. */
uint32_t index_row_append(struct buffer *out, const struct index_set *set, const struct index *x,
                          struct slice item);
/* item_size of what index_row_append would append. */
uint32_t index_row_size(const struct index_set *set, const struct index *x, struct slice item);
/* Whether both items have the same row. Their keys are those of the same row. */
bool index_row_is_same(const struct index_set *set, const struct index *x, struct slice a,
                       struct slice b, struct steps *steps);

/* Whether the row shows the attribute. */
bool index_shows(const struct index_set *set, const struct index *x, struct slice name);
