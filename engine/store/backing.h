/* backing.h - where a store keeps what has left the log: an ordered, durable map of bytes.
 *
 * An interface, so that a simulated store with crash semantics can stand in for LMDB. Two threads
 * use it: the owner reads (get, seek, next; in a snapshot that backing_refresh renews), one other
 * writes (backing_write). backing_touch may be called from any thread.
 * Lifetimes: what reads return lends until backing_refresh, backing_grow or the cursor's next step.
 */
#ifndef WEIR_ENGINE_STORE_BACKING_H
#define WEIR_ENGINE_STORE_BACKING_H

#include "base/slice.h"
#include "base/status.h"

struct backing;

/* One change of a write: value.data == NULL deletes. */
struct backing_change {
    struct slice key;
    struct slice value;
};

/* Keys in [lo, hi); hi empty = to the end. */
struct backing_range {
    struct slice lo;
    struct slice hi;
};

/* What one durable write changes, all or nothing. */
struct backing_batch {
    /* Changes in ascending key order, pulled one by one; false at the end. */
    bool (*next)(void *context, struct backing_change *out);
    void *context;
    /* Afterwards keys in these ranges are deleted, until they come to `erase_max_bytes` as
     * erase_cost counts them. */
    const struct backing_range *erase;
    size_t erase_count;
    uint64_t erase_max_bytes;
    uint64_t log_lsn; /* the log before it is not needed any more */
};

/* What it takes to delete a record: its page is found and rewritten, however small the record is.
 */
static inline uint64_t erase_cost(size_t key_size, size_t value_size)
{
    return 256 + key_size + value_size;
}

struct backing_info {
    uint64_t used_bytes; /* of the map, free pages included */
    uint64_t map_bytes;
    uint64_t log_lsn; /* of the last write */
};

/* What the backing held when it was opened, whatever is written later. Belongs to the owner's
 * thread; keeps the space of what is replaced meanwhile from being used again. */
struct backing_snapshot;

struct backing_methods {
    void (*close)(struct backing *b);
    struct backing_info (*info)(struct backing *b);
    /* STATUS_OK, STATUS_NOT_FOUND, STATUS_IO. */
    enum status (*get)(struct backing *b, struct slice key, struct slice *value);
    /* First key >= `key`, or last key < `key` (reverse; an empty key: the last of all). */
    enum status (*seek)(struct backing *b, struct slice key, bool reverse,
                        struct backing_change *out);
    enum status (*step)(struct backing *b, bool reverse, struct backing_change *out);
    /* The owner's reads see the last write from now on. */
    enum status (*refresh)(struct backing *b);
    /* STATUS_FULL: map or disk full, nothing was changed, may be tried again after backing_grow or
     * when there is space; STATUS_IO: never again. `erased_bytes`, less than the batch's most:
     * nothing is left of the ranges. */
    enum status (*write)(struct backing *b, const struct backing_batch *batch,
                         uint64_t *erased_bytes);
    /* Doubles the map. Called by the owner while nobody else is inside. STATUS_FULL: at its limit,
     * or what the last write lacked was not map. */
    enum status (*grow)(struct backing *b);
    /* STATUS_OK, STATUS_IO (too many are open). Close it before the backing, and before grow. */
    enum status (*snapshot_open)(struct backing *b, struct backing_snapshot **out);
    void (*snapshot_close)(struct backing *b, struct backing_snapshot *s);
    /* As get; and the first key >= `key` (`after`: > `key`). They lend until the next of them. */
    enum status (*snapshot_get)(struct backing *b, struct backing_snapshot *s, struct slice key,
                                struct slice *value);
    enum status (*snapshot_seek)(struct backing *b, struct backing_snapshot *s, struct slice key,
                                 bool after, struct backing_change *out);
    /* Reads from `key`, up to `bytes` in the given direction, so that the pages are resident. */
    void (*touch)(struct backing *b, struct slice key, bool reverse, uint64_t bytes);
};

struct backing {
    const struct backing_methods *methods;
};

struct backing_options {
    const char *path; /* an existing directory */
    uint64_t map_initial_bytes;
    uint64_t map_max_bytes;
};

/* engine/store/backing_lmdb.c. STATUS_IO (errno set), STATUS_CORRUPT, STATUS_FULL. */
enum status backing_open_lmdb(const struct backing_options *options, struct backing **out);

#endif
