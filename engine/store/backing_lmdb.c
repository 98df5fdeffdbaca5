/* backing_lmdb.c - a store's backing in one LMDB environment.
 *
 * It has three databases: `items` (storage keys; long keys by long_key.h), `parts` (of values that
 * need more than a page, by lmdb_parts.h) and `meta` (the log position, and notes of parts that
 * must go, by lmdb_writer.h). Every write is one synchronous transaction: after a power loss LMDB
 * has the whole last transaction. The owner reads in a snapshot of its own, one other thread
 * writes, any thread touches. `lock` only keeps touches out while the map is moved. */
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file_mode.h"
#include "base/limits.h"
#include "base/mutation.h"
#include "base/probe.h"
#include "engine/store/backing.h"
#include "engine/store/lmdb_parts.h"
#include "engine/store/lmdb_writer.h"
#include "engine/store/long_key.h"

static const char meta_log_lsn[] = "log_lsn";

enum {
    FREES_A_PAGE = 100,  /* parts that a page of LMDB's list names beside SPACE_LISTED pages */
    RECORDS_A_PAGE = 60, /* of the list, which LMDB reads at least */
    SWEEP_PAGES = 400,   /* a page of that list names them */
    SWEEPS_MAX = 64,     /* after a write */
};

_Static_assert(SPACE_LISTED + FREES_A_PAGE <= SPACE_PAGE / sizeof(size_t) - 3,
               "a page of LMDB's list names them beside its head and their number");

/* A read transaction and a position in it. */
struct backing_snapshot {
    LIST_ENTRY(backing_snapshot) place;
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_cursor *parts;
    MDB_dbi items;
    struct arena lent;      /* values that were put together */
    uint32_t lent_count;    /* of them */
    bool lends_one;         /* the next value takes the place of the last one */
    struct parts_head last; /* the last one, and its value there; size 0: none */
    struct slice last_value;
    struct slice bucket; /* the position is in this bucket, at bucket_entry; data NULL: no bucket */
    struct bucket_entry bucket_entry;
};

struct lmdb {
    struct backing backing; /* first */
    MDB_env *env;
    MDB_dbi items;
    MDB_dbi parts;
    MDB_dbi meta;
    uint64_t map_max_bytes;
    bool map_full;      /* the last write lacked map, not disk */
    struct space space; /* the writer's, until the write has ended */
    pthread_rwlock_t lock;
    struct backing_snapshot now; /* the owner reads it; refresh renews it */
    pthread_mutex_t snapshots_lock;
    LIST_HEAD(, backing_snapshot) snapshots; /* the open ones */
    struct lmdb_writer writer;
};

_Static_assert(offsetof(struct lmdb, backing) == 0, "a backing is an lmdb");

static struct lmdb *lmdb_of(struct backing *b)
{
    return (struct lmdb *)b;
}

static enum status lmdb_status_of(int error)
{
    if (status_is_no_space(error))
        return STATUS_FULL;
    switch (error) {
    case 0:
        return STATUS_OK;
    case MDB_NOTFOUND:
        return STATUS_NOT_FOUND;
    case MDB_MAP_FULL:
        return STATUS_FULL;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
        errno = EINVAL;
        return STATUS_CORRUPT;
    default:
        errno = error > 0 ? error : EIO;
        return STATUS_IO;
    }
}

/* ---- reads ---- */

static void snapshot_release(struct backing_snapshot *s)
{
    arena_reset(&s->lent);
    s->lent_count = 0;
    s->last.size = 0;
    s->bucket = slice_make(NULL, 0);
}

static void snapshot_end(struct backing_snapshot *s)
{
    mdb_cursor_close(s->cursor);
    mdb_cursor_close(s->parts);
    mdb_txn_abort(s->txn);
    arena_deinit(&s->lent);
}

static enum status snapshot_begin(struct lmdb *l, struct backing_snapshot *s)
{
    s->items = l->items;
    int error = mdb_txn_begin(l->env, NULL, MDB_RDONLY, &s->txn);
    if (error != 0)
        return lmdb_status_of(error);
    error = mdb_cursor_open(s->txn, l->items, &s->cursor);
    if (error == 0) {
        error = mdb_cursor_open(s->txn, l->parts, &s->parts);
        if (error != 0)
            mdb_cursor_close(s->cursor);
    }
    if (error != 0) {
        mdb_txn_abort(s->txn);
        s->txn = NULL;
    }
    return lmdb_status_of(error);
}

static enum status snapshot_renew(struct backing_snapshot *s)
{
    snapshot_release(s);
    int error = mdb_txn_renew(s->txn);
    if (error == 0)
        error = mdb_cursor_renew(s->txn, s->cursor);
    if (error == 0)
        error = mdb_cursor_renew(s->txn, s->parts);
    return lmdb_status_of(error);
}

static enum status lmdb_refresh(struct backing *b)
{
    struct lmdb *l = lmdb_of(b);
    if (l->now.txn == NULL)
        return snapshot_begin(l, &l->now);
    mdb_txn_reset(l->now.txn);
    return snapshot_renew(&l->now);
}

/* The last value stays: the next event may read it again, or another key of the same bucket. */
static void lmdb_release(struct backing *b)
{
    struct backing_snapshot *s = &lmdb_of(b)->now;
    if (s->lent_count > 1)
        snapshot_release(s);
}

/* Puts the record's value together, if it is in parts. Many keys may ask for one bucket in turn. */
static enum status snapshot_whole(struct backing_snapshot *s, struct slice *record)
{
    struct parts_head head;
    if (!parts_head_of(*record, &head))
        return STATUS_OK;
    if (s->last.size == 0 || s->last.number != head.number) {
        if (s->lends_one)
            snapshot_release(s);
        uint8_t *value = arena_alloc(&s->lent, head.size);
        const int error = parts_read(s->parts, &head, value);
        s->lent_count++;
        s->last.size = 0;
        if (error != 0)
            return lmdb_status_of(error);
        s->last = head;
        s->last_value = slice_make(value, head.size);
    }
    *record = s->last_value;
    return STATUS_OK;
}

static enum status snapshot_get(struct backing_snapshot *s, struct slice key, struct slice *value)
{
    MDB_val k = val_of(long_key_prefix(key)), v;
    int error = mdb_get(s->txn, s->items, &k, &v);
    if (error != 0)
        return lmdb_status_of(error);
    *value = slice_of_val(v);
    const enum status status = snapshot_whole(s, value);
    if (status != STATUS_OK || key.size < LONG_KEY_PREFIX_SIZE)
        return status;
    struct bucket_entry e;
    if (!bucket_seek(*value, key, &e) || !slice_equal(e.key, key))
        return STATUS_NOT_FOUND;
    *value = e.value;
    return STATUS_OK;
}

/* Takes the record at the cursor. In a bucket: its first entry, in reverse its last. The value of
 * another record is put together by snapshot_found. */
static enum status lmdb_enter(struct backing_snapshot *s, MDB_val k, MDB_val v, bool reverse,
                              struct backing_change *out)
{
    s->bucket = slice_make(NULL, 0);
    *out = (struct backing_change){slice_of_val(k), slice_of_val(v)};
    if (!long_key_is_bucket(out->key))
        return STATUS_OK;
    const enum status status = snapshot_whole(s, &out->value);
    if (status != STATUS_OK)
        return status;
    s->bucket = out->value;
    bool found = reverse ? bucket_seek_before(s->bucket, slice_make(NULL, 0), &s->bucket_entry)
                         : bucket_at(s->bucket, 0, &s->bucket_entry);
    if (!found)
        return STATUS_CORRUPT;
    *out = (struct backing_change){s->bucket_entry.key, s->bucket_entry.value};
    return STATUS_OK;
}

static enum status snapshot_found(struct backing_snapshot *s, enum status status,
                                  struct backing_change *out)
{
    return status != STATUS_OK || s->bucket.data != NULL ? status : snapshot_whole(s, &out->value);
}

static enum status lmdb_move(struct backing_snapshot *s, bool reverse, struct backing_change *out)
{
    MDB_val k, v;
    int error = mdb_cursor_get(s->cursor, &k, &v, reverse ? MDB_PREV : MDB_NEXT);
    return error != 0 ? lmdb_status_of(error) : lmdb_enter(s, k, v, reverse, out);
}

static enum status snapshot_step(struct backing_snapshot *s, bool reverse,
                                 struct backing_change *out)
{
    if (s->bucket.data != NULL) {
        struct bucket_entry e;
        must(s->bucket_entry.start < s->bucket_entry.end);
        must(s->bucket_entry.end <= s->bucket.size);
        bool found = reverse ? s->bucket_entry.start > 0 &&
                                   bucket_seek_before(s->bucket, s->bucket_entry.key, &e)
                             : bucket_at(s->bucket, s->bucket_entry.end, &e);
        if (found) {
            s->bucket_entry = e;
            *out = (struct backing_change){e.key, e.value};
            return STATUS_OK;
        }
    }
    return lmdb_move(s, reverse, out);
}

static enum status seek_forward(struct backing_snapshot *s, struct slice key,
                                struct backing_change *out)
{
    MDB_val k = val_of(long_key_prefix(key)), v;
    int error = mdb_cursor_get(s->cursor, &k, &v, key.size == 0 ? MDB_FIRST : MDB_SET_RANGE);
    if (error != 0)
        return lmdb_status_of(error);
    enum status status = lmdb_enter(s, k, v, false, out);
    if (status != STATUS_OK || slice_compare(out->key, key) >= 0)
        return status;
    /* The record is the key's own bucket, and the bucket's first entry is before the key. */
    if (!bucket_seek(s->bucket, key, &s->bucket_entry))
        return lmdb_move(s, false, out);
    *out = (struct backing_change){s->bucket_entry.key, s->bucket_entry.value};
    return STATUS_OK;
}

static enum status seek_backward(struct backing_snapshot *s, struct slice key,
                                 struct backing_change *out)
{
    MDB_val k = val_of(long_key_prefix(key)), v;
    int error = key.size == 0 ? MDB_NOTFOUND : mdb_cursor_get(s->cursor, &k, &v, MDB_SET_RANGE);
    if (error != 0 && error != MDB_NOTFOUND)
        return lmdb_status_of(error);
    if (error == MDB_NOTFOUND) {
        error = mdb_cursor_get(s->cursor, &k, &v, MDB_LAST);
        return error != 0 ? lmdb_status_of(error) : lmdb_enter(s, k, v, true, out);
    }
    struct slice bucket = slice_of_val(v);
    if (!long_key_is_bucket(slice_of_val(k)))
        return lmdb_move(s, true, out);
    const enum status status = snapshot_whole(s, &bucket);
    if (status != STATUS_OK)
        return status;
    if (!bucket_seek_before(bucket, key, &s->bucket_entry))
        return lmdb_move(s, true, out);
    s->bucket = bucket;
    *out = (struct backing_change){s->bucket_entry.key, s->bucket_entry.value};
    return STATUS_OK;
}

static enum status lmdb_get(struct backing *b, struct slice key, struct slice *value)
{
    return snapshot_get(&lmdb_of(b)->now, key, value);
}

static uint64_t lmdb_shared_bytes(struct backing *b, struct slice key)
{
    struct lmdb *l = lmdb_of(b);
    MDB_val k = val_of(long_key_prefix(key)), v;
    return long_key_is_bucket(long_key_prefix(key)) && mdb_get(l->now.txn, l->items, &k, &v) == 0
               ? parts_value_size(slice_of_val(v))
               : 0;
}

static enum status lmdb_step(struct backing *b, bool reverse, struct backing_change *out)
{
    struct backing_snapshot *s = &lmdb_of(b)->now;
    return snapshot_found(s, snapshot_step(s, reverse, out), out);
}

static enum status lmdb_seek(struct backing *b, struct slice key, bool reverse,
                             struct backing_change *out)
{
    struct backing_snapshot *s = &lmdb_of(b)->now;
    s->bucket = slice_make(NULL, 0);
    const enum status status = reverse ? seek_backward(s, key, out) : seek_forward(s, key, out);
    return snapshot_found(s, status, out);
}

static enum status lmdb_snapshot_get(UNUSED struct backing *b, struct backing_snapshot *s,
                                     struct slice key, struct slice *value)
{
    return snapshot_get(s, key, value);
}

static enum status lmdb_snapshot_seek(UNUSED struct backing *b, struct backing_snapshot *s,
                                      struct slice key, bool after, struct backing_change *out)
{
    s->bucket = slice_make(NULL, 0);
    enum status status = seek_forward(s, key, out);
    if (status == STATUS_OK && after && slice_equal(out->key, key))
        status = snapshot_step(s, false, out);
    return snapshot_found(s, status, out);
}

static enum status lmdb_snapshot_open(struct backing *b, struct backing_snapshot **out)
{
    struct lmdb *l = lmdb_of(b);
    struct backing_snapshot *s = must_calloc(1, sizeof *s);
    s->lends_one = true;
    enum status status = snapshot_begin(l, s);
    if (status != STATUS_OK) {
        free(s);
        return status;
    }
    pthread_mutex_lock(&l->snapshots_lock);
    LIST_INSERT_HEAD(&l->snapshots, s, place);
    pthread_mutex_unlock(&l->snapshots_lock);
    *out = s;
    return STATUS_OK;
}

static void lmdb_snapshot_close(struct backing *b, struct backing_snapshot *s)
{
    struct lmdb *l = lmdb_of(b);
    pthread_mutex_lock(&l->snapshots_lock);
    LIST_REMOVE(s, place);
    pthread_mutex_unlock(&l->snapshots_lock);
    snapshot_end(s);
    free(s);
}

/* ---- the writer ---- */

static int write_all(struct lmdb *l, MDB_txn *txn, const struct backing_batch *batch,
                     uint64_t *erased_bytes)
{
    const int error = lmdb_writer_write(&l->writer, txn, batch, erased_bytes);
    if (error != 0)
        return error;
    uint64_t lsn = batch->log_lsn;
    MDB_val k = val_of(slice_of(meta_log_lsn)), v = {sizeof lsn, &lsn};
    return mdb_put(txn, l->meta, &k, &v, 0);
}

/* LMDB reports a short write as EIO. The disk is full if the file cannot grow now. The failed
 * transaction has no effect. The check must also grow the file's size: file size limits and quotas
 * do not count space allocated beyond the end. */
static bool disk_is_full(const struct lmdb *l)
{
    int fd;
    struct stat info;
    if (mdb_env_get_fd(l->env, &fd) != 0 || fstat(fd, &info) != 0)
        return false;
    int error = posix_fallocate(fd, info.st_size, MIB);
    if (error == 0)
        error = ftruncate(fd, info.st_size) == 0 ? 0 : errno;
    return error != 0 && lmdb_status_of(error) == STATUS_FULL;
}

/* ---- how much space is left ---- */

/* The next write may use what transactions before this one have freed. LMDB keeps what the last one
 * has freed for a recovery, and for an open snapshot what was freed since. */
static size_t usable_before(struct lmdb *l, size_t last)
{
    struct backing_snapshot *s;
    pthread_mutex_lock(&l->snapshots_lock);
    LIST_FOREACH (s, &l->snapshots, place) {
        const size_t id = mdb_txn_id(s->txn);
        last = MIN(id, last);
    }
    pthread_mutex_unlock(&l->snapshots_lock);
    return last;
}

/* The key of a record of the free list: the transaction that has freed the pages. */
static size_t freed_by(MDB_val k)
{
    size_t id = SIZE_MAX;
    if (k.mv_size == sizeof id)
        memcpy(&id, k.mv_data, sizeof id);
    return id;
}

/* The pages of a record of LMDB's free list: their number, and the pages in descending order. LMDB
 * takes single pages from the first records, and looks for pages side by side in the next ones, for
 * RECORDS_A_PAGE records a page. So a run counts as far as the records before it have the pages
 * that a checkpoint takes before its list. */
static void space_add_record(struct space *s, MDB_val v, uint64_t page_bytes, uint64_t record)
{
    const size_t *list = v.mv_data;
    const size_t count = v.mv_size < sizeof list[0] ? 0 : list[0];
    const uint64_t before = s->free_bytes / page_bytes / SPACE_LISTED;
    if (MUTATED(MUTATION_OMIT_FREED_PAGES) || v.mv_size / sizeof list[0] <= count)
        return;
    s->free_bytes += count * page_bytes;
    for (size_t i = 1, run = 1; i <= count; i++, run++) {
        if (i < count && list[i] == list[i + 1] + 1)
            continue;
        const uint64_t pages = MIN(run, before);
        if (pages * page_bytes > s->run_bytes && record < RECORDS_A_PAGE * pages)
            s->run_bytes = pages * page_bytes;
        run = 0;
    }
}

static void space_count_free(struct lmdb *l, uint64_t page_bytes, size_t last)
{
    static const MDB_dbi free_list = 0; /* LMDB's own database */
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_stat parts;
    if (mdb_txn_begin(l->env, NULL, MDB_RDONLY, &txn) != 0)
        return;
    l->space.has_parts = mdb_stat(txn, l->parts, &parts) == 0 && parts.ms_entries > 0;
    if (mdb_cursor_open(txn, free_list, &cursor) == 0) {
        const size_t before = usable_before(l, last);
        uint64_t record = 0;
        MDB_val k, v;
        while (mdb_cursor_get(cursor, &k, &v, MDB_NEXT) == 0 && freed_by(k) < before)
            space_add_record(&l->space, v, page_bytes, record++);
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
}

/* A write that found no space has left pages behind the last one: others can use them. */
static void lmdb_cut_file(struct lmdb *l)
{
    int fd;
    struct stat info;
    MDB_envinfo env;
    MDB_stat stat;
    must(mdb_env_info(l->env, &env) == 0);
    must(mdb_env_stat(l->env, &stat) == 0);
    const off_t end = (off_t)((env.me_last_pgno + 1) * stat.ms_psize);
    if (mdb_env_get_fd(l->env, &fd) != 0 || fstat(fd, &info) != 0 || info.st_size <= end)
        return;
    if (ftruncate(fd, end) != 0)
        PROBE("pages of a failed write stay");
}

static int turn_over(struct lmdb *l, MDB_txn *txn)
{
    uint64_t lsn = 0;
    MDB_val k = val_of(slice_of(meta_log_lsn)), v;
    int error = mdb_get(txn, l->meta, &k, &v);
    if (error != 0 || v.mv_size != sizeof lsn)
        return error;
    memcpy(&lsn, v.mv_data, sizeof lsn);
    v.mv_data = &lsn;
    if (l->writer.has_notes)
        error = lmdb_writer_sweep(&l->writer, txn, SWEEP_PAGES);
    return error != 0 ? error : mdb_put(txn, l->meta, &k, &v, 0);
}

/* Writes next to nothing: what the last write has freed may be used from then on. Parts that nobody
 * needs go, too. While a snapshot keeps what was freed, it would only take pages. */
static void lmdb_turn_over(struct lmdb *l)
{
    MDB_txn *txn;
    pthread_mutex_lock(&l->snapshots_lock);
    const bool kept = !LIST_EMPTY(&l->snapshots);
    pthread_mutex_unlock(&l->snapshots_lock);
    bool noted = !kept;
    for (int i = 0; i < SWEEPS_MAX && noted; i++) {
        noted = l->writer.has_notes;
        if (mdb_txn_begin(l->env, NULL, 0, &txn) != 0)
            return;
        int error = turn_over(l, txn);
        if (error != 0)
            mdb_txn_abort(txn);
        else
            error = mdb_txn_commit(txn);
        if (error != 0) {
            l->writer.has_notes = noted;
            return;
        }
    }
}

static void lmdb_measure_totals(struct lmdb *l, MDB_envinfo *env, uint64_t page_bytes)
{
    uint64_t quota = UINT64_MAX;
    if (l->backing.disk != NULL) {
        disk_share_measure(l->backing.disk);
        quota = disk_share_quota(l->backing.disk);
    }
    must(mdb_env_info(l->env, env) == 0);
    l->space = (struct space){.map_bytes = l->map_max_bytes,
                              .file_bytes = (env->me_last_pgno + 1) * page_bytes};
    space_set_quota(&l->space, quota);
}

/* After a write, or an attempt. */
static void lmdb_measure_space(struct lmdb *l)
{
    MDB_envinfo env;
    MDB_stat stat;
    must(mdb_env_stat(l->env, &stat) == 0);
    lmdb_measure_totals(l, &env, stat.ms_psize);
    if (!space_is_scarce(&l->space) && !l->writer.has_notes)
        return;
    lmdb_turn_over(l);
    lmdb_measure_totals(l, &env, stat.ms_psize);
    space_count_free(l, stat.ms_psize, env.me_last_txnid);
}

static enum status lmdb_write_batch(struct backing *b, const struct backing_batch *batch,
                                    uint64_t *erased_bytes)
{
    struct lmdb *l = lmdb_of(b);
    MDB_txn *txn;
    l->writer.frees_max = space_is_scarce(&l->space)
                              ? space_run_bytes(&l->space) / SPACE_PAGE * FREES_A_PAGE
                              : UINT64_MAX;
    int error = mdb_txn_begin(l->env, NULL, 0, &txn);
    if (error != 0)
        return lmdb_status_of(error);
    error = write_all(l, txn, batch, erased_bytes);
    if (error != 0)
        mdb_txn_abort(txn);
    else
        error = mdb_txn_commit(txn);
    l->map_full = error == MDB_MAP_FULL;
    const enum status status =
        error == EIO && disk_is_full(l) ? STATUS_FULL : lmdb_status_of(error);
    if (status == STATUS_FULL)
        lmdb_cut_file(l);
    lmdb_measure_space(l);
    return status;
}

/* Tries whether there is address space for the map: LMDB cannot go on without its map. */
static bool address_space_left(uint64_t size)
{
    void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p != MAP_FAILED && munmap(p, size) == 0;
}

static enum status lmdb_grow(struct backing *b)
{
    struct lmdb *l = lmdb_of(b);
    MDB_envinfo info;
    must(mdb_env_info(l->env, &info) == 0);
    uint64_t target = info.me_mapsize * 2;
    target = MIN(target, l->map_max_bytes);
    if (!l->map_full || target <= info.me_mapsize || !address_space_left(target))
        return STATUS_FULL;
    must(LIST_EMPTY(&l->snapshots)); /* LMDB moves the map: their pages would be gone */
    mdb_txn_reset(l->now.txn);
    pthread_rwlock_wrlock(&l->lock);
    int error = mdb_env_set_mapsize(l->env, target);
    pthread_rwlock_unlock(&l->lock);
    enum status again = snapshot_renew(&l->now);
    return error != 0 ? lmdb_status_of(error) : again;
}

/* ---- any thread ---- */

/* Reads a byte of every page, only to load the page into memory. */
static uint64_t touch_pages(MDB_val v)
{
    uint64_t sum = 0;
    for (size_t at = 0; at < v.mv_size; at += 4096)
        sum += ((const volatile uint8_t *)v.mv_data)[at];
    return sum;
}

static int touch_value(MDB_cursor *parts, MDB_val v)
{
    struct parts_head head;
    touch_pages(v);
    return parts_head_of(slice_of_val(v), &head) ? parts_read(parts, &head, NULL) : 0;
}

static void touch_from(struct lmdb *l, MDB_txn *txn, MDB_val k, bool reverse, uint64_t bytes)
{
    MDB_val v;
    MDB_cursor *cursor, *parts;
    if (mdb_cursor_open(txn, l->items, &cursor) != 0)
        return;
    if (mdb_cursor_open(txn, l->parts, &parts) == 0) {
        int error = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
        if (error == MDB_NOTFOUND && reverse)
            error = mdb_cursor_get(cursor, &k, &v, MDB_LAST);
        for (uint64_t seen = 0; error == 0; seen += parts_value_size(slice_of_val(v))) {
            error = touch_value(parts, v);
            if (seen >= bytes || error != 0)
                break;
            error = mdb_cursor_get(cursor, &k, &v, reverse ? MDB_PREV : MDB_NEXT);
        }
        mdb_cursor_close(parts);
    }
    mdb_cursor_close(cursor);
}

static void lmdb_touch(struct backing *b, struct slice key, bool reverse, uint64_t bytes)
{
    struct lmdb *l = lmdb_of(b);
    MDB_txn *txn;
    pthread_rwlock_rdlock(&l->lock);
    if (mdb_txn_begin(l->env, NULL, MDB_RDONLY, &txn) == 0) {
        touch_from(l, txn, val_of(long_key_prefix(key)), reverse, bytes);
        mdb_txn_abort(txn);
    }
    pthread_rwlock_unlock(&l->lock);
}

/* ---- open and close ---- */

static struct backing_info lmdb_info(struct backing *b)
{
    struct lmdb *l = lmdb_of(b);
    MDB_envinfo env;
    MDB_stat stat;
    must(mdb_env_info(l->env, &env) == 0);
    must(mdb_env_stat(l->env, &stat) == 0);
    struct backing_info i = {.used_bytes = (env.me_last_pgno + 1) * stat.ms_psize,
                             .space = l->space};
    MDB_val k = val_of(slice_of(meta_log_lsn)), v;
    if (mdb_get(l->now.txn, l->meta, &k, &v) == 0 && v.mv_size == sizeof i.log_lsn)
        memcpy(&i.log_lsn, v.mv_data, sizeof i.log_lsn);
    return i;
}

static void close_lmdb(struct backing *b)
{
    struct lmdb *l = lmdb_of(b);
    must(LIST_EMPTY(&l->snapshots));
    if (l->now.txn != NULL)
        snapshot_end(&l->now);
    mdb_env_close(l->env);
    pthread_rwlock_destroy(&l->lock);
    pthread_mutex_destroy(&l->snapshots_lock);
    lmdb_writer_deinit(&l->writer);
    free(l);
}

static int open_databases(struct lmdb *l)
{
    MDB_txn *txn;
    int error = mdb_txn_begin(l->env, NULL, 0, &txn);
    if (error != 0)
        return error;
    error = mdb_dbi_open(txn, "items", MDB_CREATE, &l->items);
    if (error == 0)
        error = mdb_dbi_open(txn, "parts", MDB_CREATE, &l->parts);
    if (error == 0)
        error = mdb_dbi_open(txn, "meta", MDB_CREATE, &l->meta);
    if (error != 0) {
        mdb_txn_abort(txn);
        return error;
    }
    MDB_stat meta;
    error = mdb_stat(txn, l->meta, &meta);
    l->writer = (struct lmdb_writer){.items = l->items,
                                     .parts = l->parts,
                                     .meta = l->meta,
                                     .has_notes = error == 0 && meta.ms_entries > 1};
    return mdb_txn_commit(txn);
}

/* Sets the map to the configured first size, unless the environment has grown beyond it. */
static int set_map_size(struct lmdb *l, uint64_t initial)
{
    MDB_envinfo env;
    int error = mdb_env_info(l->env, &env);
    if (error == 0 && env.me_mapsize < initial)
        error = mdb_env_set_mapsize(l->env, initial);
    return error;
}

enum status backing_open_lmdb(const struct backing_options *options, struct backing **out)
{
    static const struct backing_methods methods = {
        .close = close_lmdb,
        .info = lmdb_info,
        .get = lmdb_get,
        .seek = lmdb_seek,
        .step = lmdb_step,
        .refresh = lmdb_refresh,
        .write = lmdb_write_batch,
        .shared_bytes = lmdb_shared_bytes,
        .release = lmdb_release,
        .grow = lmdb_grow,
        .snapshot_open = lmdb_snapshot_open,
        .snapshot_close = lmdb_snapshot_close,
        .snapshot_get = lmdb_snapshot_get,
        .snapshot_seek = lmdb_snapshot_seek,
        .touch = lmdb_touch,
    };
    struct lmdb *l = must_calloc(1, sizeof *l);
    l->backing.methods = &methods;
    l->map_max_bytes = options->map_max_bytes;
    l->backing.disk = options->disk;
    pthread_rwlock_init(&l->lock, NULL);
    pthread_mutex_init(&l->snapshots_lock, NULL);
    int error = mdb_env_create(&l->env);
    must(error == 0);
    must(mdb_env_set_maxdbs(l->env, 3) == 0);
    must(mdb_env_get_maxkeysize(l->env) >= LONG_KEY_PREFIX_SIZE);
    error = mdb_env_open(l->env, options->path, MDB_NOTLS | MDB_NORDAHEAD, FILE_MODE_PRIVATE);
    if (error == 0)
        error = set_map_size(l, MIN(options->map_initial_bytes, options->map_max_bytes));
    if (error == 0)
        error = open_databases(l);
    enum status status = error == 0 ? lmdb_refresh(&l->backing) : lmdb_status_of(error);
    if (status != STATUS_OK) {
        int kept = errno;
        close_lmdb(&l->backing);
        errno = kept;
        return status;
    }
    lmdb_measure_space(l);
    *out = &l->backing;
    return STATUS_OK;
}
