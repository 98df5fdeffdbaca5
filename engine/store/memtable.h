/* memtable.h - committed writes that are not in LMDB yet, in key order.
 *
 * A hash index for point reads, and a skip list for order, doubly linked at its lowest level, into
 * which new keys are only put when somebody asks for order: most writes are never scanned before
 * they are flushed, and then the flush thread sorts. One thread uses a memtable; once frozen (the
 * owner's word: no more memtable_put) a second one may call memtable_sorted meanwhile. Lifetimes:
 * keys and values lend until memtable_destroy; a value that was replaced stays readable. Source of
 * the structure: Pugh, "Skip lists", 1990; levels are drawn from the key's hash, so that the same
 * writes give the same shape. */
#ifndef WEIR_ENGINE_STORE_MEMTABLE_H
#define WEIR_ENGINE_STORE_MEMTABLE_H

#include "base/arena.h"

struct memtable;

struct mem_entry {
    struct slice key;
    struct slice value; /* empty data (NULL): the key was deleted */
};

struct memtable *memtable_create(void);
void memtable_destroy(struct memtable *m);

size_t memtable_bytes(const struct memtable *m); /* memory taken by keys and values */
size_t memtable_count(const struct memtable *m); /* keys, deleted ones included */

/* value.data == NULL records a deletion. `hash` is memtable_hash(key). */
void memtable_put(struct memtable *m, struct slice key, uint64_t hash, struct slice value);

uint64_t memtable_hash(struct slice key);

/* NULL if the table does not know the key. */
const struct mem_entry *memtable_get(const struct memtable *m, struct slice key, uint64_t hash);

/* All entries in key order, to be freed; touches nothing that the other functions write. */
const struct mem_entry **memtable_sorted(const struct memtable *m);

/* First entry >= key; last entry < key (an empty key: the last of all). NULL if there is none. */
const struct mem_entry *memtable_seek(struct memtable *m, struct slice key);
const struct mem_entry *memtable_seek_before(struct memtable *m, struct slice key);
const struct mem_entry *memtable_next(const struct memtable *m, const struct mem_entry *e);
const struct mem_entry *memtable_prev(const struct memtable *m, const struct mem_entry *e);

#endif
