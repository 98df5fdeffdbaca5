/* backing.h - the durable part of a store: an ordered map of bytes. A checkpoint writes to it.
 *
 * The backing is an interface. Nodes use LMDB (backing_lmdb.c). Simulated nodes use LMDB behind a
 * wrapper that makes reads and writes fail (sim/world/store_disk.h).
 * Threads: the owner reads (get, seek, step), in a snapshot that `refresh` renews. One other thread
 * writes (`write`). Any thread may call `touch`.
 * Lifetimes: results of reads lend until `refresh`, `grow` or `release`. */
#pragma once

#include "base/disk_account.h"
#include "base/slice.h"
#include "base/status.h"
#include "engine/store/space.h"

struct backing;

/* A change of one key. value.data == NULL: the key is deleted. */
struct backing_change {
    struct slice key;
    struct slice value;
};

/* Keys in [lo, hi); hi empty = to the end. */
struct backing_range {
    struct slice lo;
    struct slice hi;
};

/* The changes of one durable write: all or nothing. */
struct backing_batch {
    /* Changes in ascending key order, pulled one by one; false at the end. */
    bool (*next)(void *context, struct backing_change *out);
    void *context;
    /* After the changes, keys in these ranges are deleted, until the sum of their erase_cost
     * reaches `erase_max_bytes`. */
    const struct backing_range *erase;
    size_t erase_count;
    uint64_t erase_max_bytes;
    uint64_t log_lsn; /* the log before this lsn is not needed any more */
};

/* The cost of deleting a record, in bytes. Even for a small record a page is read and rewritten. */
static inline uint64_t erase_cost(size_t key_size, size_t value_size)
{
    return 256 + key_size + value_size;
}

struct backing_info {
    uint64_t used_bytes; /* of the map, free pages included */
    uint64_t log_lsn;    /* of the last write */
    struct space space;  /* after the last write, or the attempt */
};

/* The backing as it was when the snapshot was opened. Belongs to the owner's thread. While it is
 * open, the space of replaced data is not used again. */
struct backing_snapshot;

struct backing_methods {
    void (*close)(struct backing *b);
    struct backing_info (*info)(struct backing *b);
    /* STATUS_OK, STATUS_NOT_FOUND, STATUS_IO, STATUS_CORRUPT: pages of the backing are damaged. */
    enum status (*get)(struct backing *b, struct slice key, struct slice *value);
    /* The first key >= `key`; in reverse the last key < `key`, for an empty `key` the last key. */
    enum status (*seek)(struct backing *b, struct slice key, bool reverse,
                        struct backing_change *out);
    enum status (*step)(struct backing *b, bool reverse, struct backing_change *out);
    /* From now on the owner's reads see the last write. */
    enum status (*refresh)(struct backing *b);
    /* The bytes that a change of the key writes anew beside its own: of the record that it shares
     * with others. */
    uint64_t (*shared_bytes)(struct backing *b, struct slice key);
    /* The owner needs no results of its reads any more. */
    void (*release)(struct backing *b);
    /* STATUS_FULL: map or disk is full, and nothing was changed; try again after `refresh` and
     * `grow`, or when there is space. STATUS_IO: do not try again. If `erased_bytes` is less than
     * the batch's `erase_max_bytes`, the ranges are empty. */
    enum status (*write)(struct backing *b, const struct backing_batch *batch,
                         uint64_t *erased_bytes);
    /* Doubles the map. Called by the owner while no write runs. STATUS_FULL: the map is at its
     * limit, or the last write did not lack map. */
    enum status (*grow)(struct backing *b);
    /* STATUS_OK, STATUS_IO (too many snapshots are open). Close the snapshot before the backing,
     * and before `grow`. */
    enum status (*snapshot_open)(struct backing *b, struct backing_snapshot **out);
    void (*snapshot_close)(struct backing *b, struct backing_snapshot *s);
    /* Like `get`. Like `seek` forwards, with `after` the first key > `key`. Results lend until the
     * next call of either. */
    enum status (*snapshot_get)(struct backing *b, struct backing_snapshot *s, struct slice key,
                                struct slice *value);
    enum status (*snapshot_seek)(struct backing *b, struct backing_snapshot *s, struct slice key,
                                 bool after, struct backing_change *out);
    /* Reads `bytes` from `key` on, in the given direction, so that the pages become resident. */
    void (*touch)(struct backing *b, struct slice key, bool reverse, uint64_t bytes);
};

struct backing {
    const struct backing_methods *methods;
    /* Borrows. The owner says what it needs. NULL: the map alone bounds the backing. */
    struct disk_share *disk;
};

struct backing_options {
    const char *path; /* an existing directory */
    uint64_t map_initial_bytes;
    uint64_t map_max_bytes;
    struct disk_share *disk; /* borrows; NULL: the disk is not asked */
};

/* engine/store/backing_lmdb.c. STATUS_IO (errno set), STATUS_CORRUPT, STATUS_FULL. */
enum status backing_open_lmdb(const struct backing_options *options, struct backing **out);
