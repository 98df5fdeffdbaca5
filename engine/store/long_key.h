/* long_key.h - keys that are too long for LMDB.
 *
 * LMDB's keys have at most 511 bytes, storage keys at most STORAGE_KEY_SIZE_MAX. A key of less than
 * 511 bytes is stored as it is. All other keys with the same first 511 bytes are in one LMDB
 * record, a bucket: its value lists them and their values in key order. So LMDB's order is the key
 * order. A batch with changes of a bucket rewrites it once. Buckets are small unless many long keys
 * share a long prefix. */
#pragma once

#include "base/buffer.h"

enum {
    LONG_KEY_PREFIX_SIZE = 511
};

struct bucket_entry {
    struct slice key;
    struct slice value;
    size_t start; /* offsets in the bucket */
    size_t end;
};

/* The key of the LMDB record. */
static inline struct slice long_key_prefix(struct slice key)
{
    return key.size < LONG_KEY_PREFIX_SIZE ? key : slice_make(key.data, LONG_KEY_PREFIX_SIZE);
}

static inline bool long_key_is_bucket(struct slice lmdb_key)
{
    return lmdb_key.size == LONG_KEY_PREFIX_SIZE;
}

/* The entry at offset `at`. False: the end of the bucket, or damaged bytes. */
bool bucket_at(struct slice bucket, size_t at, struct bucket_entry *out);
/* The first entry >= key; the last entry < key (an empty key: the last entry). False: no such
 * entry. */
bool bucket_seek(struct slice bucket, struct slice key, struct bucket_entry *out);
bool bucket_seek_before(struct slice bucket, struct slice key, struct bucket_entry *out);

/* Changes a bucket, in ascending order of the keys. Appends the entries from offset *from up to the
 * key, and the key with its value unless value.data is NULL. *from: 0 before the first change, then
 * the offset behind the key. */
void bucket_change(struct slice bucket, size_t *from, struct slice key, struct slice value,
                   struct buffer *out);
/* After the last change. */
void bucket_append_rest(struct slice bucket, size_t from, struct buffer *out);

/* Appends the bucket without its entries in [lo, hi); hi empty: no upper bound. Returns the number
 * of erased entries, and adds their erase_cost (backing.h) to `cost`. */
uint32_t bucket_erase(struct slice bucket, struct slice lo, struct slice hi, struct buffer *out,
                      uint64_t *cost);
