/* storage_key.h - where an item lives: one byte string whose order is the key order.
 *
 *   table id (u32 BE) | xxh3-64 of the partition key, not escaped (BE) | partition key | sort key
 *
 * Each key part is escaped (00 becomes 00 FF) and ends in 00 01; numbers stand in number.h's
 * encoding first. So byte order is: table, hash, partition key, sort key; and a partition is a
 * range [lo, hi) of such strings, whose ends may fall anywhere, inside an item collection too. */
#ifndef WEIR_ENGINE_ITEM_STORAGE_KEY_H
#define WEIR_ENGINE_ITEM_STORAGE_KEY_H

#include "engine/item/item.h"

enum {
    STORAGE_KEY_TABLE_SIZE = 4,
    STORAGE_KEY_HASH_SIZE = 8,
    STORAGE_KEY_BOUND_SIZE = STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE
};

/* Key attributes are of type S, N or B; `sort` is NULL where the table has no sort key. */
void storage_key_append(struct buffer *out, uint32_t table_id, const struct attr *partition,
                        const struct attr *sort);

/* The prefix shared by all items of one partition key. */
void storage_key_append_collection(struct buffer *out, uint32_t table_id,
                                   const struct attr *partition);

/* Appended to a collection prefix: the sort key's bytes without terminator (for begins_with), or
 * with it. */
void storage_key_append_sort(struct buffer *out, const struct attr *sort, bool terminated);

/* table id | hash: the lower bound of a hash range. */
void storage_key_append_hash(struct buffer *out, uint32_t table_id, uint64_t hash);
struct slice storage_key_write_bound(uint8_t out[STORAGE_KEY_BOUND_SIZE], uint32_t table_id,
                                     uint64_t hash);

/* The hash that the bound of a range begins with, zeros behind a shorter bound; `open` for a bound
 * without a hash. */
uint64_t storage_key_bound_hash(struct slice bound, uint64_t open);

/* Where piece number i, from 1 on, begins if the hashes from lo to hi are cut into equal pieces. */
uint64_t storage_key_even_cut(uint64_t lo, uint64_t hi, uint32_t i, uint32_t pieces);

/* Whether the bytes can be an item's: a table, a hash, and one or two key parts, each escaped and
 * terminated. The hash is not compared. */
bool storage_key_is_whole(struct slice key);

/* To read a key part by part: `key` loses its table and hash (all of it, if it ends there), and
 * then a part each time, whose bytes without escapes are appended. False: the key ended within the
 * part.
 */
void storage_key_skip_hash(struct slice *key);
bool storage_key_next_part(struct slice *key, struct buffer *out);

/* Turns `key` into the least byte string greater than every string it is a prefix of; an all-FF
 * key becomes empty, which stands for "no upper bound". */
void storage_key_successor(struct buffer *key);

/* Bytes of a storage key up to the end of its partition key: what all items of its collection begin
 * with. All of them where the end is not among them: the key was cut off. */
size_t storage_key_collection_size(struct slice key);

uint64_t storage_key_hash(const struct attr *partition);

#endif
