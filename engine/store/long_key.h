/* long_key.h - keys that LMDB cannot hold as they are.
 *
 * LMDB's keys end at 511 bytes, storage keys at STORAGE_KEY_SIZE_MAX. A key shorter than 511 bytes
 * is stored as it is. All longer keys that share their first 511 bytes live in one LMDB record, a
 * bucket, whose value is their list in key order. So LMDB's order stays the key order. Buckets are
 * small unless many long keys share a long prefix; then each write rewrites its bucket. */
#ifndef WEIR_ENGINE_STORE_LONG_KEY_H
#define WEIR_ENGINE_STORE_LONG_KEY_H

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

/* The key LMDB is asked for. */
static inline struct slice long_key_prefix(struct slice key)
{
    return key.size < LONG_KEY_PREFIX_SIZE ? key : slice_make(key.data, LONG_KEY_PREFIX_SIZE);
}

static inline bool long_key_is_bucket(struct slice lmdb_key)
{
    return lmdb_key.size == LONG_KEY_PREFIX_SIZE;
}

/* The entry at offset `at`; false at the end or if the bytes are damaged. */
bool bucket_at(struct slice bucket, size_t at, struct bucket_entry *out);
/* First entry >= key; last entry < key (an empty key: the last). */
bool bucket_seek(struct slice bucket, struct slice key, struct bucket_entry *out);
bool bucket_seek_before(struct slice bucket, struct slice key, struct bucket_entry *out);

/* Appends the bucket with `key` set to `value`, or without it (value.data == NULL). */
void bucket_change(struct slice bucket, struct slice key, struct slice value, struct buffer *out);

/* Appends the bucket without its entries in [lo, hi); hi empty: no upper bound. Returns how many
 * entries were left out, and adds what erasing each costs (backing.h) to `cost`. */
uint32_t bucket_erase(struct slice bucket, struct slice lo, struct slice hi, struct buffer *out,
                      uint64_t *cost);

#endif
