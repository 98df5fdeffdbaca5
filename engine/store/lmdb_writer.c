/* lmdb_writer.c - writes a batch of changes in a transaction of LMDB. */
#include "engine/store/lmdb_writer.h"

#include "base/mutation.h"
#include "engine/store/long_key.h"

static const char note_mark[] = "gone";

/* Of parts that nobody needs: the mark and the number, and as value the head. */
struct note_key {
    char mark[4];
    uint64_t number;
} __attribute__((packed));
_Static_assert(sizeof note_mark - 1 == sizeof((struct note_key *)NULL)->mark, "the mark fits");

static int write_note(struct lmdb_writer *w, const struct parts_head *old)
{
    struct note_key key;
    uint8_t head[PARTS_HEAD_SIZE];
    memcpy(key.mark, note_mark, sizeof key.mark);
    key.number = old->number;
    parts_head_encode(old, head);
    MDB_val k = {sizeof key, &key}, v = {sizeof head, head};
    w->has_notes = true;
    return mdb_put(mdb_cursor_txn(w->at), w->meta, &k, &v, 0);
}

/* Whether the parts can be freed, or written anew, in this transaction. */
static bool writer_may_free(struct lmdb_writer *w, const struct parts_head *old)
{
    const uint64_t pages = parts_count(old, w->page_bytes);
    if (old->size == 0)
        return true;
    if (w->freed > w->frees_max || pages > w->frees_max - w->freed)
        return false;
    w->freed += pages;
    must(w->freed <= w->frees_max); /* PARTS-3 */
    return true;
}

static int write_erase_parts(struct lmdb_writer *w, const struct parts_head *old)
{
    return writer_may_free(w, old) ? parts_erase(w->at_part, old, UINT64_MAX) : write_note(w, old);
}

/* Divides the value. It gets the number of the value that it replaces if the parts of that one can
 * go now. */
static int write_parts(struct lmdb_writer *w, struct parts_head old, struct slice value,
                       uint8_t head[PARTS_HEAD_SIZE])
{
    int error = 0;
    w->has_parts = true;
    if (!writer_may_free(w, &old)) {
        error = write_note(w, &old);
        old.size = 0;
    }
    return error != 0 ? error : parts_write(w->at_part, w->page_bytes, &old, value, head);
}

/* Sets the record to the value; data NULL: deletes it. */
static int write_record(struct lmdb_writer *w, struct slice key, struct slice value)
{
    struct parts_head old = {0};
    uint8_t head[PARTS_HEAD_SIZE];
    MDB_val k = val_of(key), v;
    int error = 0;
    must(key.size > 0);
    must(key.size <= LONG_KEY_PREFIX_SIZE);
    if (value.data == NULL || w->has_parts) {
        error = mdb_cursor_get(w->at, &k, &v, MDB_SET_KEY);
        if (error != 0 && error != MDB_NOTFOUND)
            return error;
        if (error == 0)
            parts_head_of(slice_of_val(v), &old);
    }
    if (value.data == NULL) {
        error = error == 0 ? mdb_cursor_del(w->at, 0) : 0;
        return error != 0 ? error : write_erase_parts(w, &old);
    }
    if (parts_are_needed(value, w->page_bytes)) {
        error = write_parts(w, old, value, head);
        value = slice_make(head, sizeof head);
    } else {
        error = write_erase_parts(w, &old);
    }
    k = val_of(key);
    v = val_of(value);
    return error != 0 ? error : mdb_cursor_put(w->at, &k, &v, 0);
}

/* Reads a bucket to w->before. */
static int write_read_bucket(struct lmdb_writer *w, MDB_val v)
{
    struct parts_head head;
    buffer_clear(&w->before);
    if (!parts_head_of(slice_of_val(v), &head)) {
        buffer_append_slice(&w->before, slice_of_val(v));
        return 0;
    }
    const int error = parts_read(w->at_part, &head, buffer_reserve(&w->before, head.size));
    w->before.size = head.size;
    return error;
}

/* w->bucket takes the place of the record. */
static int write_bucket(struct lmdb_writer *w, struct slice key)
{
    const struct slice bucket = buffer_slice(&w->bucket);
    return write_record(w, key, bucket.size == 0 ? slice_make(NULL, 0) : bucket);
}

/* Writes the change, and all that follow in its bucket. c: the next one, unless the batch has
 * ended. The bucket is written once: pages that a transaction takes and gives up again are no
 * longer free for it if they must not be listed (writer_may_free). */
static int write_bucket_changes(struct lmdb_writer *w, const struct backing_batch *batch,
                                struct backing_change *c, bool *ended)
{
    uint8_t prefix[LONG_KEY_PREFIX_SIZE];
    memcpy(prefix, c->key.data, sizeof prefix);
    const struct slice key = slice_make(prefix, sizeof prefix);
    MDB_val k = val_of(key), v;
    int error = mdb_cursor_get(w->at, &k, &v, MDB_SET_KEY);
    buffer_clear(&w->before);
    buffer_clear(&w->bucket);
    if (error == 0)
        error = write_read_bucket(w, v);
    if (error != 0 && error != MDB_NOTFOUND)
        return error;
    const struct slice before = buffer_slice(&w->before);
    size_t from = 0;
    do {
        bucket_change(before, &from, c->key, c->value, &w->bucket);
        *ended = !batch->next(batch->context, c);
    } while (!*ended && slice_equal(long_key_prefix(c->key), key));
    bucket_append_rest(before, from, &w->bucket);
    return write_bucket(w, key);
}

static int write_changes(struct lmdb_writer *w, const struct backing_batch *batch)
{
    struct backing_change c;
    int error = 0;
    bool ended = !batch->next(batch->context, &c);
    while (error == 0 && !ended) {
        if (c.key.size >= LONG_KEY_PREFIX_SIZE) {
            error = write_bucket_changes(w, batch, &c, &ended);
            continue;
        }
        error = write_record(w, c.key, c.value);
        ended = !batch->next(batch->context, &c);
    }
    return error;
}

/* Erases the part of the record at the cursor that lies in the range. A bucket may reach beyond the
 * range: its entries outside the range stay. */
static int write_erase_record(struct lmdb_writer *w, MDB_val k, MDB_val v,
                              const struct backing_range *range, uint64_t *erased_bytes)
{
    if (!long_key_is_bucket(slice_of_val(k)) || MUTATED(MUTATION_WHOLE_RECORDS)) {
        struct parts_head head;
        *erased_bytes += erase_cost(k.mv_size, parts_value_size(slice_of_val(v)));
        parts_head_of(slice_of_val(v), &head);
        const int error = mdb_cursor_del(w->at, 0);
        return error != 0 ? error : write_erase_parts(w, &head);
    }
    uint8_t key[LONG_KEY_PREFIX_SIZE]; /* a put may move the page that `k` points to */
    memcpy(key, k.mv_data, sizeof key);
    const int error = write_read_bucket(w, v);
    if (error != 0)
        return error;
    buffer_clear(&w->bucket);
    const struct slice before = buffer_slice(&w->before);
    return bucket_erase(before, range->lo, range->hi, &w->bucket, erased_bytes) == 0
               ? 0
               : write_bucket(w, slice_make(key, sizeof key));
}

static int write_erase_range(struct lmdb_writer *w, const struct backing_range *range,
                             uint64_t most, uint64_t *erased_bytes)
{
    MDB_val k = val_of(long_key_prefix(range->lo)), v;
    int error = mdb_cursor_get(w->at, &k, &v, MDB_SET_RANGE);
    while (error == 0 && *erased_bytes < most) {
        if (range->hi.size > 0 && slice_compare(slice_of_val(k), range->hi) >= 0)
            return 0;
        error = write_erase_record(w, k, v, range, erased_bytes);
        if (error != 0)
            return error;
        error = mdb_cursor_get(w->at, &k, &v, MDB_NEXT); /* after a deletion: the one after it */
    }
    return error == MDB_NOTFOUND ? 0 : error;
}

static int write_erase(struct lmdb_writer *w, const struct backing_batch *batch,
                       uint64_t *erased_bytes)
{
    int error = 0;
    *erased_bytes = 0;
    for (size_t i = 0; i < batch->erase_count && error == 0; i++)
        error = write_erase_range(w, &batch->erase[i], batch->erase_max_bytes, erased_bytes);
    return error;
}

static int writer_begin(struct lmdb_writer *w, MDB_txn *txn)
{
    MDB_stat stat;
    must(w->at == NULL); /* one transaction at a time */
    must(w->at_part == NULL);
    int error = mdb_stat(txn, w->parts, &stat);
    if (error != 0)
        return error;
    w->page_bytes = stat.ms_psize;
    w->has_parts = stat.ms_entries > 0;
    w->freed = 0;
    error = mdb_cursor_open(txn, w->items, &w->at);
    return error != 0 ? error : mdb_cursor_open(txn, w->parts, &w->at_part);
}

static void writer_end(struct lmdb_writer *w)
{
    if (w->at != NULL)
        mdb_cursor_close(w->at);
    if (w->at_part != NULL)
        mdb_cursor_close(w->at_part);
    w->at = w->at_part = NULL;
}

int lmdb_writer_write(struct lmdb_writer *w, MDB_txn *txn, const struct backing_batch *batch,
                      uint64_t *erased_bytes)
{
    int error = writer_begin(w, txn);
    if (error == 0)
        error = write_changes(w, batch);
    if (error == 0)
        error = write_erase(w, batch, erased_bytes);
    writer_end(w);
    return error;
}

/* The first note. MDB_NOTFOUND: there is none. */
static int sweep_next(MDB_cursor *notes, struct parts_head *out)
{
    MDB_val k = val_of(slice_make(note_mark, sizeof note_mark - 1)), v;
    const int error = mdb_cursor_get(notes, &k, &v, MDB_SET_RANGE);
    if (error != 0)
        return error;
    return k.mv_size == sizeof(struct note_key) && memcmp(k.mv_data, note_mark, 4) == 0 &&
                   parts_head_of(slice_of_val(v), out)
               ? 0
               : MDB_NOTFOUND;
}

static int sweep_notes(struct lmdb_writer *w, MDB_cursor *notes, uint64_t most)
{
    struct parts_head gone;
    int error = 0;
    while (error == 0 && most > 0 && (error = sweep_next(notes, &gone)) == 0) {
        const uint64_t count = parts_count(&gone, w->page_bytes);
        const uint64_t now = MIN(count, most);
        error = parts_erase(w->at_part, &gone, now);
        most -= now;
        gone = parts_without(&gone, now, w->page_bytes);
        if (error == 0)
            error = gone.size > 0 ? write_note(w, &gone) : mdb_cursor_del(notes, 0);
    }
    return error;
}

int lmdb_writer_sweep(struct lmdb_writer *w, MDB_txn *txn, uint64_t most)
{
    MDB_cursor *notes;
    must(most > 0);
    int error = writer_begin(w, txn);
    if (error == 0)
        error = mdb_cursor_open(txn, w->meta, &notes);
    if (error == 0) {
        error = sweep_notes(w, notes, most);
        w->has_notes = error != MDB_NOTFOUND;
        mdb_cursor_close(notes);
    }
    writer_end(w);
    return error == MDB_NOTFOUND ? 0 : error;
}

void lmdb_writer_deinit(struct lmdb_writer *w)
{
    must(w->at == NULL);
    buffer_deinit(&w->bucket);
    buffer_deinit(&w->before);
}
