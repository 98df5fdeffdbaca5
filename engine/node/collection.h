/* collection.h - what an item collection holds, in tables that keep collections whole.
 *
 * Its bytes stand in a row beside its items, under what all their keys begin with: where an item
 * without a sort key would be, and such a table has none. So the row comes right before the items,
 * in the same partition, and goes wherever they go: snapshots, splits and erasure know nothing of
 * it.
 *
 * Invariants
 *   C1  The row says the sum of the items' item_size; a collection without items has none.
 *   C2  An entry of the log says what its collection holds after it. The leader knows, from the row
 *       and what is in flight; whoever applies the entry writes it down without reading.
 *   C3  No cut divides a collection, so all that comes before an entry and concerns its collection
 *       is in the same log.
 *
 * Value: XXH3 of key and bytes, u64 | bytes, u64. */
#ifndef WEIR_ENGINE_NODE_COLLECTION_H
#define WEIR_ENGINE_NODE_COLLECTION_H

#include "base/slice.h"
#include "base/status.h"

enum {
    COLLECTION_ROW_SIZE = 16,
    COLLECTION_NOT_COUNTED = -1, /* bytes, in tables whose collections may be divided */
};

/* The key of the row of the collection that a storage key lies in; lends as that does. */
struct slice collection_key(struct slice key);
bool collection_is_row(struct slice key);

void collection_encode(struct slice row_key, int64_t bytes, uint8_t out[COLLECTION_ROW_SIZE]);
/* STATUS_CORRUPT: it is not what was written. */
enum status collection_decode(struct slice row_key, struct slice value, int64_t *bytes);

#endif
