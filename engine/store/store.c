/* store.c - a node's applied state: memtables over a durable backing. */
#include "engine/store/store.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "base/buffer.h"
#include "base/id_map.h"
#include "engine/store/long_key.h"

STAILQ_HEAD(erasures, erasure);

struct erasure {
    STAILQ_ENTRY(erasure) place;
    struct buffer lo;
    struct buffer hi;
};

enum {
    ERASE_AT_ONCE = 64 /* the most ranges in one checkpoint */
};

/* The records that long keys share, and that a memtable changes. */
struct shared_records {
    uint64_t bytes;       /* of them, as they are before */
    struct id_map change; /* owns; by the hash of the record's key: the bytes that were put */
};

struct store {
    struct backing *backing; /* owns */
    struct memtable *active; /* owns */
    struct memtable *frozen; /* owns; NULL if none */
    uint64_t frozen_lsn;
    uint64_t log_lsn;
    uint64_t used_bytes;
    struct space space;
    uint32_t snapshots;       /* that are open */
    uint64_t quota;           /* of the disk, in `space` */
    uint64_t checkpoint_cost; /* of `space` */
    uint64_t cost;            /* of both memtables: asked for in each turn */
    struct shared_records active_shared;
    struct shared_records frozen_shared;
    uint64_t resident_max_bytes;
    uint64_t seed;
    struct erasures erasures; /* owns; the checkpoint works on the first ones */
    struct erasures erased;   /* owns; done, to be returned by store_next_erased */
    struct buffer lent_bound; /* the bound that store_next_erased lends */
    /* the flush thread's, between freeze and done */
    const struct mem_entry **flushing; /* owns */
    size_t flushed;
    struct backing_range erasing[ERASE_AT_ONCE]; /* of the first erasures */
    size_t erasing_count;
    uint64_t erase_max_bytes;
    uint64_t erased_bytes;
};

static inline void store_check(const struct store *s)
{
    must(s->active != s->frozen);
    must(s->frozen == NULL || s->frozen_lsn >= s->log_lsn); /* STORE-1 */
    must(s->frozen != NULL || s->frozen_shared.bytes == 0);
    must(s->erasing_count <= ERASE_AT_ONCE);
}

static void store_set_space(struct store *s, const struct backing_info *info)
{
    s->space = info->space;
    s->quota = UINT64_MAX; /* unknown: store_follow_disk takes it over */
    s->checkpoint_cost = space_checkpoint_cost(&s->space);
}

/* The quota changes when any store of the disk is measured. */
static void store_follow_disk(struct store *s)
{
    if (s->backing->disk == NULL)
        return;
    const uint64_t quota = disk_share_quota(s->backing->disk);
    if (quota == s->quota)
        return;
    s->quota = quota;
    space_set_quota(&s->space, quota);
    s->checkpoint_cost = space_checkpoint_cost(&s->space);
}

static uint64_t memtable_cost(const struct store *s, const struct memtable *m,
                              const struct shared_records *shared)
{
    return m == NULL || memtable_count(m) == 0
               ? 0
               : space_cost(&s->space, memtable_count(m), memtable_bytes(m) + shared->bytes);
}

/* After each change of a memtable or of `space`. */
static void store_count_cost(struct store *s)
{
    s->cost = memtable_cost(s, s->active, &s->active_shared) +
              memtable_cost(s, s->frozen, &s->frozen_shared);
}

static void store_set_need(struct store *s)
{
    if (s->backing->disk == NULL)
        return;
    disk_share_set_need(s->backing->disk, space_need(&s->space, s->cost));
}

struct store *store_create(struct backing *backing, uint64_t resident_max_bytes, uint64_t seed)
{
    struct store *s = must_calloc(1, sizeof *s);
    struct backing_info info = backing->methods->info(backing);
    s->backing = backing;
    STAILQ_INIT(&s->erasures);
    STAILQ_INIT(&s->erased);
    s->active = memtable_create();
    s->log_lsn = info.log_lsn;
    s->used_bytes = info.used_bytes;
    store_set_space(s, &info);
    s->resident_max_bytes = resident_max_bytes;
    s->seed = seed;
    return s;
}

static void erasure_destroy(struct erasure *e)
{
    buffer_deinit(&e->lo);
    buffer_deinit(&e->hi);
    free(e);
}

static void erasures_destroy(struct erasures *all)
{
    for (struct erasure *e; (e = STAILQ_FIRST(all)) != NULL;) {
        STAILQ_REMOVE_HEAD(all, place);
        erasure_destroy(e);
    }
}

static void shared_reset(struct shared_records *r)
{
    id_map_deinit(&r->change);
    *r = (struct shared_records){0};
}

void store_destroy(struct store *s)
{
    erasures_destroy(&s->erasures);
    erasures_destroy(&s->erased);
    buffer_deinit(&s->lent_bound);
    memtable_destroy(s->active);
    memtable_destroy(s->frozen);
    shared_reset(&s->active_shared);
    shared_reset(&s->frozen_shared);
    s->backing->methods->close(s->backing);
    free(s);
}

uint64_t store_hash_seed(const struct store *s)
{
    return s->seed;
}

uint64_t store_hash(const struct store *s, struct slice key)
{
    return memtable_hash(s->seed, key);
}

uint64_t store_log_lsn(const struct store *s)
{
    return s->log_lsn;
}

static uint64_t shared_hash(const struct store *s, struct slice key)
{
    const uint64_t hash = store_hash(s, long_key_prefix(key));
    return hash != 0 ? hash : 1;
}

static uint64_t shared_change(const struct shared_records *r, uint64_t hash)
{
    return (uintptr_t)id_map_find(&r->change, hash);
}

uint64_t store_shared_cost(const struct store *s, struct slice key)
{
    if (key.size < LONG_KEY_PREFIX_SIZE || !space_is_scarce(&s->space))
        return 0;
    const uint64_t hash = shared_hash(s, key);
    return shared_change(&s->active_shared, hash) > 0
               ? 0
               : s->backing->methods->shared_bytes(s->backing, key) +
                     shared_change(&s->frozen_shared, hash);
}

static void store_note_shared(struct store *s, struct slice key, struct slice value)
{
    struct shared_records *r = &s->active_shared;
    const uint64_t hash = shared_hash(s, key), before = shared_change(r, hash);
    r->bytes += store_shared_cost(s, key);
    if (before > 0)
        id_map_remove(&r->change, hash);
    id_map_add(&r->change, hash, (void *)(uintptr_t)(before + key.size + value.size));
}

void store_put(struct store *s, struct slice key, struct slice value)
{
    if (key.size >= LONG_KEY_PREFIX_SIZE)
        store_note_shared(s, key, value);
    memtable_put(s->active, key, store_hash(s, key), value);
    store_count_cost(s);
    store_set_need(s);
}

void store_release(struct store *s)
{
    s->backing->methods->release(s->backing);
}

bool store_needs_touch(const struct store *s)
{
    return s->used_bytes > s->resident_max_bytes;
}

void store_touch(struct store *s, struct slice key, bool reverse, uint64_t bytes)
{
    s->backing->methods->touch(s->backing, key, reverse, bytes);
}

/* Whether a memtable knows the key. Then `status` is the answer. */
static bool get_in_memory(const struct store *s, struct slice key, struct slice *value,
                          enum status *status)
{
    if (memtable_count(s->active) == 0 && s->frozen == NULL)
        return false;
    uint64_t hash = store_hash(s, key);
    const struct mem_entry *e = memtable_get(s->active, key, hash);
    if (e == NULL && s->frozen != NULL)
        e = memtable_get(s->frozen, key, hash);
    if (e == NULL)
        return false;
    *value = e->value;
    *status = e->value.data == NULL ? STATUS_NOT_FOUND : STATUS_OK;
    return true;
}

enum status store_get(struct store *s, struct slice key, bool touched, struct slice *value)
{
    enum status status;
    if (get_in_memory(s, key, value, &status))
        return status;
    if (!touched && store_needs_touch(s))
        return STATUS_PENDING;
    return s->backing->methods->get(s->backing, key, value);
}

/* ---- ranges ---- */

static bool store_inside(const struct store_cursor *c, struct slice key)
{
    if (c->reverse)
        return slice_compare(key, c->end) >= 0;
    return c->end.size == 0 || slice_compare(key, c->end) < 0;
}

static const struct mem_entry *mem_inside(const struct store_cursor *c, const struct mem_entry *e)
{
    return e != NULL && store_inside(c, e->key) ? e : NULL;
}

static void backing_moved(struct store_cursor *c, enum status status)
{
    c->backing_valid = status == STATUS_OK && store_inside(c, c->backing.key);
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        c->failure = status;
}

static const struct mem_entry *mem_seek(const struct store_cursor *c, struct memtable *m,
                                        struct slice from)
{
    if (m == NULL)
        return NULL;
    return mem_inside(c, c->reverse ? memtable_seek_before(m, from) : memtable_seek(m, from));
}

void store_seek(struct store *s, struct slice lo, struct slice hi, bool reverse,
                struct store_cursor *out)
{
    *out = (struct store_cursor){.store = s, .reverse = reverse, .end = reverse ? lo : hi};
    struct slice from = reverse ? hi : lo;
    out->active = mem_seek(out, s->active, from);
    out->frozen = mem_seek(out, s->frozen, from);
    backing_moved(out, s->backing->methods->seek(s->backing, from, reverse, &out->backing));
}

static const struct mem_entry *mem_step(const struct store_cursor *c, const struct mem_entry *e)
{
    return mem_inside(c, c->reverse ? memtable_prev(e) : memtable_next(e));
}

/* The key that comes first in the cursor's direction; NULL data at the end. */
static struct slice first_key(const struct store_cursor *c)
{
    struct slice first = {NULL, 0};
    struct slice keys[3] = {c->active != NULL ? c->active->key : first,
                            c->frozen != NULL ? c->frozen->key : first,
                            c->backing_valid ? c->backing.key : first};
    for (int i = 0; i < 3; i++) {
        if (keys[i].data == NULL)
            continue;
        int order = first.data == NULL ? -1 : slice_compare(keys[i], first);
        if (first.data == NULL || (c->reverse ? order > 0 : order < 0))
            first = keys[i];
    }
    return first;
}

static bool stands_on(const struct mem_entry *e, struct slice key)
{
    return e != NULL && slice_equal(e->key, key);
}

enum status store_next(struct store_cursor *c, struct slice *key, struct slice *value)
{
    struct store *s = c->store;
    while (c->failure == STATUS_OK) {
        *key = first_key(c);
        if (key->data == NULL)
            return STATUS_NOT_FOUND;
        bool in_active = stands_on(c->active, *key), in_frozen = stands_on(c->frozen, *key);
        bool in_backing = c->backing_valid && slice_equal(c->backing.key, *key);
        *value = in_active ? c->active->value : in_frozen ? c->frozen->value : c->backing.value;
        if (in_active)
            c->active = mem_step(c, c->active);
        if (in_frozen)
            c->frozen = mem_step(c, c->frozen);
        if (in_backing)
            backing_moved(c, s->backing->methods->step(s->backing, c->reverse, &c->backing));
        if (value->data != NULL)
            return STATUS_OK;
    }
    return c->failure;
}

/* ---- checkpoints ---- */

size_t store_active_bytes(const struct store *s)
{
    return memtable_count(s->active) == 0 ? 0 : memtable_bytes(s->active);
}

bool store_is_frozen(const struct store *s)
{
    return s->frozen != NULL;
}

void store_erase(struct store *s, struct slice lo, struct slice hi)
{
    must(lo.size > 0);
    struct erasure *e = must_calloc(1, sizeof *e);
    buffer_append_slice(&e->lo, lo);
    buffer_append_slice(&e->hi, hi);
    STAILQ_INSERT_TAIL(&s->erasures, e, place);
}

bool store_erase_pending(const struct store *s)
{
    return !STAILQ_EMPTY(&s->erasures);
}

bool store_erase_overlaps(const struct store *s, struct slice lo, struct slice hi)
{
    const struct erasure *e;
    STAILQ_FOREACH (e, &s->erasures, place) {
        bool before = e->hi.size > 0 && slice_compare(buffer_slice(&e->hi), lo) <= 0;
        bool behind = hi.size > 0 && slice_compare(hi, buffer_slice(&e->lo)) <= 0;
        if (!before && !behind)
            return true;
    }
    return false;
}

void store_freeze(struct store *s, uint64_t lsn, uint64_t erase_max_bytes)
{
    store_check(s);
    must(s->frozen == NULL); /* STORE-2 */
    must(lsn >= s->log_lsn);
    s->frozen = s->active;
    s->frozen_lsn = lsn;
    s->active = memtable_create();
    s->frozen_shared = s->active_shared;
    s->active_shared = (struct shared_records){0}; /* the frozen one owns the map */
    s->erasing_count = 0;
    s->erase_max_bytes = erase_max_bytes;
    const struct erasure *e;
    STAILQ_FOREACH (e, &s->erasures, place) {
        if (erase_max_bytes == 0 || s->erasing_count == ERASE_AT_ONCE)
            break;
        s->erasing[s->erasing_count++] =
            (struct backing_range){buffer_slice(&e->lo), buffer_slice(&e->hi)};
    }
    store_check(s);
}

static bool next_change(void *context, struct backing_change *out)
{
    struct store *s = context;
    if (s->flushed == memtable_count(s->frozen))
        return false;
    const struct mem_entry *e = s->flushing[s->flushed++];
    must(s->flushed <= memtable_count(s->frozen));
    *out = (struct backing_change){e->key, e->value};
    return true;
}

enum status store_checkpoint_write(struct store *s)
{
    must(s->frozen != NULL);
    s->flushing = memtable_sorted(s->frozen);
    s->flushed = 0;
    struct backing_batch batch = {.next = next_change,
                                  .context = s,
                                  .erase = s->erasing,
                                  .erase_count = s->erasing_count,
                                  .erase_max_bytes = s->erase_max_bytes,
                                  .log_lsn = s->frozen_lsn};
    enum status status = s->backing->methods->write(s->backing, &batch, &s->erased_bytes);
    must(status != STATUS_OK || s->flushed == memtable_count(s->frozen)); /* STORE-1 */
    free(s->flushing);
    return status;
}

/* What the frozen memtable has needed is divided among the stores of the disk. */
static void store_measured(struct store *s, const struct backing_info *info)
{
    store_set_space(s, info);
    store_count_cost(s);
    store_set_need(s);
    if (s->backing->disk != NULL)
        disk_share_settle(s->backing->disk);
}

void store_checkpoint_done(struct store *s, enum status status)
{
    must(s->frozen != NULL);
    must(s->backing->methods->refresh(s->backing) == STATUS_OK);
    const struct backing_info info = s->backing->methods->info(s->backing);
    if (status != STATUS_OK) {
        store_measured(s, &info);
        return;
    }
    memtable_destroy(s->frozen);
    s->frozen = NULL;
    shared_reset(&s->frozen_shared);
    must(info.log_lsn == s->frozen_lsn);
    s->log_lsn = info.log_lsn;
    s->used_bytes = info.used_bytes;
    store_measured(s, &info);
    while (s->erased_bytes < s->erase_max_bytes && s->erasing_count > 0) {
        struct erasure *e = STAILQ_FIRST(&s->erasures);
        must(e != NULL);
        s->erasing_count--;
        STAILQ_REMOVE_HEAD(&s->erasures, place);
        STAILQ_INSERT_HEAD(&s->erased, e, place);
    }
    store_check(s);
}

bool store_next_erased(struct store *s, struct slice *lo)
{
    struct erasure *e = STAILQ_FIRST(&s->erased);
    if (e == NULL)
        return false;
    STAILQ_REMOVE_HEAD(&s->erased, place);
    buffer_deinit(&s->lent_bound);
    s->lent_bound = e->lo;
    e->lo = (struct buffer){0};
    erasure_destroy(e);
    *lo = buffer_slice(&s->lent_bound);
    return true;
}

uint64_t store_erased_bytes(const struct store *s)
{
    return s->erased_bytes;
}

const struct space *store_space(struct store *s)
{
    store_follow_disk(s);
    return &s->space;
}

uint64_t store_space_cost(const struct store *s)
{
    return s->cost;
}

bool store_needs_checkpoint(struct store *s)
{
    store_follow_disk(s);
    return s->cost >= s->checkpoint_cost;
}

bool store_keeps_pages(const struct store *s)
{
    return s->snapshots > 0 && space_is_scarce(&s->space);
}

enum status store_grow(struct store *s)
{
    return s->backing->methods->grow(s->backing);
}

enum status store_snapshot_open(struct store *s, struct backing_snapshot **out)
{
    const enum status status = s->backing->methods->snapshot_open(s->backing, out);
    s->snapshots += status == STATUS_OK;
    return status;
}

void store_snapshot_close(struct store *s, struct backing_snapshot *snapshot)
{
    must(s->snapshots > 0);
    s->snapshots--;
    s->backing->methods->snapshot_close(s->backing, snapshot);
}

enum status store_snapshot_get(struct store *s, struct backing_snapshot *snapshot, struct slice key,
                               struct slice *value)
{
    return s->backing->methods->snapshot_get(s->backing, snapshot, key, value);
}

enum status store_snapshot_seek(struct store *s, struct backing_snapshot *snapshot,
                                struct slice key, bool after, struct backing_change *out)
{
    return s->backing->methods->snapshot_seek(s->backing, snapshot, key, after, out);
}
