/* store.h - a node's applied state: memtables over a durable backing.
 *
 * Writes go to the active memtable. A checkpoint freezes this memtable. The flush thread writes it
 * to the backing in one transaction; meanwhile writes go to a new memtable. Reads look into the
 * active memtable, then the frozen one, then the backing.
 *
 * Invariants
 *   STORE-1  The backing holds the effects of the log before store_log_lsn. It may also hold
 *            effects of later records.
 *   STORE-2  At most one memtable is frozen. It never changes.
 *   STORE-3  If a checkpoint finds no space, its memtable stays frozen: nothing is lost, and the
 *            checkpoint is tried again.
 * Threads: all functions belong to the owner's thread, except store_checkpoint_write and
 * store_touch. */
#pragma once

#include "base/instant.h"
#include "engine/store/backing.h"
#include "engine/store/memtable.h"

struct store;

/* Owns the backing. `resident_max_bytes`: see store_get. `seed`: of hashes in memory. */
struct store *store_create(struct backing *backing, uint64_t resident_max_bytes, uint64_t seed);
void store_destroy(struct store *s);

/* For hashes of what clients send: nobody outside knows it. None of them goes to disk. */
uint64_t store_hash_seed(const struct store *s);
uint64_t store_hash(const struct store *s, struct slice key);

/* The log must be replayed from here on. */
uint64_t store_log_lsn(const struct store *s);

/* Copies key and value. value.data == NULL: deletes the key. */
void store_put(struct store *s, struct slice key, struct slice value);

/* STATUS_OK, STATUS_NOT_FOUND, STATUS_IO, STATUS_CORRUPT (the backing is damaged), STATUS_PENDING.
 * STATUS_PENDING: the answer may be on a page that is not in memory. Then let another thread run
 * store_touch for the key, and ask again with `touched`. This happens only while the backing uses
 * more than `resident_max_bytes`. The value lends until the next store_put,
 * store_release, store_checkpoint_done or store_grow. */
enum status store_get(struct store *s, struct slice key, bool touched, struct slice *value);

/* The caller needs no results of its reads any more: values that were put together are freed. */
void store_release(struct store *s);

/* Whether store_touch must run before each read of the backing. */
bool store_needs_touch(const struct store *s);
void store_touch(struct store *s, struct slice key, bool reverse, uint64_t bytes);

/* ---- ranges ---- */

struct store_cursor {
    struct store *store;
    bool reverse;
    struct slice end; /* forwards: the first key outside; in reverse: the least key inside */
    const struct mem_entry *active;
    const struct mem_entry *frozen;
    struct backing_change backing;
    bool backing_valid;
    enum status failure;
};

/* Reads the keys in [lo, hi), in order or in reverse; hi empty: no bound. No store_put is allowed
 * while the cursor is used. */
void store_seek(struct store *s, struct slice lo, struct slice hi, bool reverse,
                struct store_cursor *out);
/* STATUS_OK, STATUS_NOT_FOUND (the end), STATUS_IO, STATUS_CORRUPT. */
enum status store_next(struct store_cursor *c, struct slice *key, struct slice *value);

/* ---- checkpoints ---- */

size_t store_active_bytes(const struct store *s);
bool store_is_frozen(const struct store *s);

/* Deletes the range in the background, in later checkpoints that may erase. */
void store_erase(struct store *s, struct slice lo, struct slice hi);
bool store_erase_pending(const struct store *s);
bool store_erase_overlaps(const struct store *s, struct slice lo, struct slice hi);

/* Freezes the active memtable. With it the backing has the log up to `lsn`. The checkpoint erases
 * about `erase_max_bytes` of the pending ranges; 0: nothing. */
void store_freeze(struct store *s, uint64_t lsn, uint64_t erase_max_bytes);
/* On the flush thread: the statuses of backing_methods.write. */
enum status store_checkpoint_write(struct store *s);
/* On the owner's thread: the result of store_checkpoint_write. */
void store_checkpoint_done(struct store *s, enum status status);
/* The lower bound of the next range that was erased completely, each once. False: no more. Lends
 * until the next call. */
bool store_next_erased(struct store *s, struct slice *lo);
/* Bytes that the last checkpoint erased, as erase_cost (engine/store/backing.h) counts them. */
uint64_t store_erased_bytes(const struct store *s);

/* ---- space ---- */

/* As the last checkpoint, or the attempt at one, has found it, with the disk quota of now.
 * Lends until the next call, store_put or store_checkpoint_done. */
const struct space *store_space(struct store *s);
/* What the checkpoints cost that are not written, the running one included (space_cost). */
uint64_t store_space_cost(const struct store *s);
/* What a change of the key adds to that cost beside the bytes and the record: a record that the key
 * shares with other long keys is written anew, once a checkpoint. 0 while less than a half of the
 * space was used. */
uint64_t store_shared_cost(const struct store *s, struct slice key);
/* Whether a checkpoint should be written soon, lest it not fit. */
bool store_needs_checkpoint(struct store *s);

/* ---- snapshots: the backing as it was when the snapshot was opened ---- */

struct backing_snapshot;

/* Whether an open snapshot keeps the pages that checkpoints free, and they are scarce. */
bool store_keeps_pages(const struct store *s);
/* Close the snapshot before store_grow. */
enum status store_snapshot_open(struct store *s, struct backing_snapshot **out);
void store_snapshot_close(struct store *s, struct backing_snapshot *snapshot);
enum status store_snapshot_get(struct store *s, struct backing_snapshot *snapshot, struct slice key,
                               struct slice *value);
/* The first key >= `key` (`after`: > `key`). STATUS_NOT_FOUND: no such key. */
enum status store_snapshot_seek(struct store *s, struct backing_snapshot *snapshot,
                                struct slice key, bool after, struct backing_change *out);

/* Makes the map bigger. No checkpoint may be running. STATUS_FULL: the map is as big as it may be,
 * or the last checkpoint did not lack map. */
enum status store_grow(struct store *s);
