/* memtable.h - committed writes that are not in the backing yet, in key order.
 *
 * A hash index serves point reads. A skip list, doubly linked at its lowest level, keeps the order.
 * New keys enter the skip list only when a caller asks for order: most writes are flushed before
 * any scan, and for the flush memtable_sorted sorts them.
 * Threads: one thread uses a memtable. Once the memtable is frozen (no more memtable_put), a second
 * thread may call memtable_sorted meanwhile.
 * Lifetimes: keys and values lend until memtable_destroy, replaced values too.
 * Source: Pugh, "Skip lists", 1990. Levels come from the key's seeded hash, so that the same writes
 * and the same seed give the same shape. */
#pragma once

#include "base/arena.h"

struct memtable;

struct mem_entry {
    struct slice key;
    struct slice value; /* data NULL: the key was deleted */
};

struct memtable *memtable_create(void);
void memtable_destroy(struct memtable *m);

size_t memtable_bytes(const struct memtable *m); /* memory for keys, values and the hash index */
size_t memtable_count(const struct memtable *m); /* keys, deleted ones included */

/* value.data == NULL records a deletion. `hash` is memtable_hash of the key, always with the same
 * seed. */
void memtable_put(struct memtable *m, struct slice key, uint64_t hash, struct slice value);

/* Clients choose keys. Without a seed that they do not know, they could choose keys of one slot, or
 * of one level. */
uint64_t memtable_hash(uint64_t seed, struct slice key);

/* NULL: the memtable does not know the key. */
const struct mem_entry *memtable_get(const struct memtable *m, struct slice key, uint64_t hash);

/* All entries in key order. The caller frees the array. Reads nothing that other functions write in
 * a frozen memtable. */
const struct mem_entry **memtable_sorted(const struct memtable *m);

/* The first entry >= key; the last entry < key (an empty key: the last entry). NULL: no entry. */
const struct mem_entry *memtable_seek(struct memtable *m, struct slice key);
const struct mem_entry *memtable_seek_before(struct memtable *m, struct slice key);
const struct mem_entry *memtable_next(const struct mem_entry *e);
const struct mem_entry *memtable_prev(const struct mem_entry *e);
