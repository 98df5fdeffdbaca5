/* store.h - a node's applied state: memtables over a durable backing.
 *
 * Writes go to the active memtable. A checkpoint freezes it and hands it to the flush thread, which
 * writes it to the backing in one transaction; meanwhile writes go to a fresh one. Reads see active
 * over frozen over backing.
 *
 * Invariants: S1 the backing holds exactly the log up to store_log_lsn. S2 at most one memtable is
 * frozen, and it never changes. S3 a checkpoint that failed for want of space keeps its memtable
 * frozen: nothing is lost, and it is tried again.
 * Threads: all functions belong to the owner's thread but store_checkpoint_write and store_touch.
 */
#ifndef WEIR_ENGINE_STORE_STORE_H
#define WEIR_ENGINE_STORE_STORE_H

#include "base/instant.h"
#include "engine/store/backing.h"
#include "engine/store/memtable.h"

struct store;

/* Owns the backing. `resident_max_bytes`: see store_get. */
struct store *store_create(struct backing *backing, uint64_t resident_max_bytes);
void store_destroy(struct store *s);

/* Where the log must be replayed from. */
uint64_t store_log_lsn(const struct store *s);
uint64_t store_used_bytes(const struct store *s);

/* value.data == NULL deletes. */
void store_put(struct store *s, struct slice key, struct slice value);

/* STATUS_OK, STATUS_NOT_FOUND, STATUS_IO; STATUS_PENDING: the answer may lie on a page that is not
 * in memory. Then let another thread run store_touch for the key and ask again with `touched`.
 * Asked only when the data exceeds `resident_max_bytes`. The value lends until the next store_put,
 * store_checkpoint_done or store_grow. */
enum status store_get(struct store *s, struct slice key, bool touched, struct slice *value);

/* Whether reads of the backing must be preceded by store_touch. */
bool store_needs_touch(const struct store *s);
void store_touch(struct store *s, struct slice key, bool reverse, uint64_t bytes);

/* ---- ranges ---- */

struct store_cursor {
    struct store *store;
    bool reverse;
    struct slice end; /* first key outside, forwards; last key inside, backwards */
    const struct mem_entry *active;
    const struct mem_entry *frozen;
    struct backing_change backing;
    bool backing_valid;
    enum status failure;
};

/* Keys in [lo, hi), hi empty = no bound, in order or in reverse. No write may happen meanwhile. */
void store_seek(struct store *s, struct slice lo, struct slice hi, bool reverse,
                struct store_cursor *out);
/* STATUS_OK, STATUS_NOT_FOUND (the end), STATUS_IO, STATUS_CORRUPT. */
enum status store_next(struct store_cursor *c, struct slice *key, struct slice *value);

/* ---- checkpoints ---- */

size_t store_active_bytes(const struct store *s);
bool store_is_frozen(const struct store *s);

/* Deletes the range in the background, with those of the checkpoints to come that may erase. */
void store_erase(struct store *s, struct slice lo, struct slice hi);
bool store_erase_pending(const struct store *s);
bool store_erase_overlaps(const struct store *s, struct slice lo, struct slice hi);

/* Freezes the active memtable, which holds the log up to `lsn`. Of what is to be erased about so
 * many bytes go with it; 0: nothing does. */
void store_freeze(struct store *s, uint64_t lsn, uint64_t erase_max_bytes);
/* On the flush thread: the statuses of backing_methods.write. */
enum status store_checkpoint_write(struct store *s);
/* Back on the owner's thread, with what store_checkpoint_write returned. */
void store_checkpoint_done(struct store *s, enum status status);
/* The ranges it has erased to their end, by their lower bounds, each once. False: no more. Lends
 * until the next call. */
bool store_next_erased(struct store *s, struct slice *lo);
/* By the last checkpoint that erased, in erase_cost (engine/store/backing.h). */
uint64_t store_erased_bytes(const struct store *s);
/* ---- snapshots: what the backing holds, for as long as they are open ---- */

struct backing_snapshot;

/* To be closed before store_grow. */
enum status store_snapshot_open(struct store *s, struct backing_snapshot **out);
void store_snapshot_close(struct store *s, struct backing_snapshot *snapshot);
enum status store_snapshot_get(struct store *s, struct backing_snapshot *snapshot, struct slice key,
                               struct slice *value);
/* The first key >= `key` (`after`: > `key`); STATUS_NOT_FOUND: there is none. */
enum status store_snapshot_seek(struct store *s, struct backing_snapshot *snapshot,
                                struct slice key, bool after, struct backing_change *out);

/* A bigger map, while no checkpoint is being written. STATUS_FULL: it is as big as it may be. */
enum status store_grow(struct store *s);

#endif
