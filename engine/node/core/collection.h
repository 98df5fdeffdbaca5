/* collection.h - the size of an item collection, in tables that keep collections whole.
 *
 * A row beside the items holds the size in bytes. The row's key is the prefix that all the items'
 * keys share. Such a table has no item without a sort key, so this key is free. The row comes right
 * before the items, in the same partition. Snapshots, splits and erasure treat it like an item.
 *
 * Invariants
 *   COLLECTION-1  The row holds the sum of item_size, of the items and of their index rows. A
 *                 collection without items has no row.
 *   COLLECTION-2  A log entry holds the size of its collection after the entry. The leader computes
 *                 the size from the row and the writes in flight. A replica writes the size without
 *                 reading.
 *   COLLECTION-3  No split divides a collection. So all entries of a collection are in the same
 *   log.
 *
 * Value: XXH3 of key and bytes, u64 | bytes, u64. */
#pragma once

#include "base/slice.h"
#include "base/status.h"

enum {
    COLLECTION_ROW_SIZE = 16,
    COLLECTION_NOT_COUNTED = -1, /* bytes, in tables whose collections may be divided */
};

/* The key of the row of a storage key's collection. It borrows the bytes of `key`. */
struct slice collection_key(struct slice key);
bool collection_is_row(struct slice key);

void collection_encode(struct slice row_key, int64_t bytes, uint8_t out[COLLECTION_ROW_SIZE]);
/* STATUS_CORRUPT: the value is not what was written. */
enum status collection_decode(struct slice row_key, struct slice value, int64_t *bytes);
