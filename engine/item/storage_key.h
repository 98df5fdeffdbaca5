/* storage_key.h - the byte string under which an item is stored. Byte order is key order.
 *
 *   table id (u32 BE) | xxh3-64 of the partition key (BE) | partition key | sort key
 *
 * Each key part is escaped (00 becomes 00 FF) and ends in 00 01; the hash is of unescaped bytes.
 * Numbers are encoded by number.h first. A partition is a range [lo, hi) of such strings. Its
 * bounds may be any strings, also inside an item collection.
 *
 * Table ids are less than 2^24. So the first byte is free, and names the key space: 0 has the
 * items, 1 to LOCAL_INDEXES_MAX have the rows of the table's local indexes (engine/index/row.h). */
#pragma once

#include "base/big_endian.h"
#include "engine/item/item.h"

enum {
    STORAGE_KEY_TABLE_SIZE = 4,
    STORAGE_KEY_HASH_SIZE = 8,
    STORAGE_KEY_BOUND_SIZE = STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE
};

/* The table of a key with so many bytes. */
static inline uint32_t storage_key_table(struct slice key)
{
    must(key.size >= STORAGE_KEY_TABLE_SIZE);
    return be32_get(key.data);
}

/* Appends a storage key's twin in another key space. */
void storage_key_append_in_space(struct buffer *out, uint8_t space, struct slice key);

/* Appends an item's storage key. Key attributes are of type S, N or B. `sort` is NULL if the table
 * has no sort key. */
void storage_key_append(struct buffer *out, uint32_t table_id, const struct attr *partition,
                        const struct attr *sort);

/* Appends the prefix that all items of a collection share. */
void storage_key_append_collection(struct buffer *out, uint32_t table_id,
                                   const struct attr *partition);

/* Appends a sort key to a collection's prefix. `terminated` false: without the final 00 01, for
 * begins_with. */
void storage_key_append_sort(struct buffer *out, const struct attr *sort, bool terminated);

/* Writes table id | hash: the lower bound of a range of hashes. */
void storage_key_append_hash(struct buffer *out, uint32_t table_id, uint64_t hash);
struct slice storage_key_write_bound(uint8_t out[STORAGE_KEY_BOUND_SIZE], uint32_t table_id,
                                     uint64_t hash);

/* The hash in the bound of a range; zeros complete a shorter bound. A bound without a hash gives
 * `open`. */
uint64_t storage_key_bound_hash(struct slice bound, uint64_t open);

/* Split point number i, 1 to pieces - 1, if the hashes from lo to hi are split into equal
 * pieces. */
uint64_t storage_key_even_split(uint64_t lo, uint64_t hi, uint32_t i, uint32_t pieces);

/* Whether the bytes can be the key of an item or row: a table, a hash, and key parts, each escaped
 * and terminated, at most STORAGE_KEY_SIZE_MAX bytes. Does not check that the hash is right. */
bool storage_key_is_complete(struct slice key);

/* The key of the item behind which a range begins: a page goes on at the last key and a byte 0.
 * Another key is returned as it is. */
struct slice storage_key_begun_behind(struct slice lo);
/* Whether no key of so many parts is a proper beginning of the bytes. Else rows that lie behind an
 * item's key (its locks, its changes for indexes) would lie on the other side of the bound than the
 * item. */
bool storage_key_is_bound(struct slice key, uint32_t parts);

/* To read a key part by part: the first function takes table and hash off `key`, or all of a
 * shorter key. The second takes off one part, and appends it unescaped. False: the key ended in the
 * part. */
void storage_key_skip_hash(struct slice *key);
bool storage_key_next_part(struct slice *key, struct buffer *out);

/* Turns `key` into the least byte string that is greater than all strings that begin with `key`. A
 * key of only FF becomes empty, which means "no upper bound". */
void storage_key_successor(struct buffer *key);

/* The size of the prefix that all items of the key's collection share. The whole size if the key
 * was cut off before the end of its partition key. */
size_t storage_key_collection_size(struct slice key);

/* The size of the key part that begins at `at`, with its end. 0: no part begins there. */
size_t storage_key_part_size(struct slice key, size_t at);

uint64_t storage_key_hash(const struct attr *partition);
