/* backing_memory.c - a simulated store's backing: a sorted map in immutable versions. */
#include "sim/backing_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/must.h"
#include "base/probe.h"
#include "engine/store/long_key.h"

/* ---- versions: sorted arrays of records; versions share records ---- */

/* A record of LMDB: an item, or a bucket of items with long keys. */
struct entry {
    uint32_t uses;
    uint32_t key_size;
    uint32_t value_size;
    uint8_t bytes[]; /* key, value */
};

struct memory_version {
    uint32_t uses;
    size_t count;
    uint64_t bytes;
    uint64_t log_lsn;
    struct entry *entries[]; /* owns a use of each */
};

static struct slice key_of(const struct entry *e)
{
    return slice_make(e->bytes, e->key_size);
}

static struct slice value_of(const struct entry *e)
{
    return slice_make(e->bytes + e->key_size, e->value_size);
}

static struct entry *entry_create(const struct backing_change *c)
{
    must(c->key.size > 0 && c->key.size <= LONG_KEY_PREFIX_SIZE); /* LMDB takes no longer keys */
    struct entry *e = malloc(sizeof *e + c->key.size + c->value.size);
    must(e != NULL);
    e->uses = 1;
    e->key_size = (uint32_t)c->key.size;
    e->value_size = (uint32_t)c->value.size;
    memcpy(e->bytes, c->key.data, c->key.size);
    if (c->value.size > 0)
        memcpy(e->bytes + c->key.size, c->value.data, c->value.size);
    return e;
}

static void entry_release(struct entry *e)
{
    if (--e->uses == 0)
        free(e);
}

static struct memory_version *version_create(size_t room)
{
    struct memory_version *v = malloc(sizeof *v + room * sizeof v->entries[0]);
    must(v != NULL);
    *v = (struct memory_version){.uses = 1};
    return v;
}

static void version_release(struct memory_version *v)
{
    if (--v->uses > 0)
        return;
    for (size_t i = 0; i < v->count; i++)
        entry_release(v->entries[i]);
    free(v);
}

static struct memory_version *version_use(struct memory_version *v)
{
    v->uses++;
    return v;
}

static void version_add(struct memory_version *v, struct entry *e)
{
    v->entries[v->count++] = e;
    v->bytes += sizeof *e + e->key_size + e->value_size;
}

/* The first entry whose key is not before `key`. */
static size_t version_find(const struct memory_version *v, struct slice key)
{
    size_t low = 0, high = v->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (slice_compare(key_of(v->entries[middle]), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- items in records: found as in engine/store/backing_lmdb.c ---- */

struct place {
    size_t at;
    struct slice bucket; /* the bucket at `at`; the place is at its bucket_entry */
    struct bucket_entry bucket_entry;
};

static enum status version_get(const struct memory_version *v, struct slice key,
                               struct slice *value)
{
    struct slice record = long_key_prefix(key);
    size_t at = version_find(v, record);
    if (at == v->count || !slice_equal(key_of(v->entries[at]), record))
        return STATUS_NOT_FOUND;
    *value = value_of(v->entries[at]);
    if (!long_key_is_bucket(record))
        return STATUS_OK;
    struct bucket_entry e;
    if (!bucket_seek(*value, key, &e) || !slice_equal(e.key, key))
        return STATUS_NOT_FOUND;
    *value = e.value;
    return STATUS_OK;
}

/* Enters the record at place->at, from its first or its last item. */
static enum status place_enter(const struct memory_version *v, struct place *place, bool reverse,
                               struct backing_change *out)
{
    place->bucket = slice_make(NULL, 0);
    if (place->at >= v->count)
        return STATUS_NOT_FOUND;
    const struct entry *e = v->entries[place->at];
    *out = (struct backing_change){key_of(e), value_of(e)};
    if (!long_key_is_bucket(out->key))
        return STATUS_OK;
    place->bucket = value_of(e);
    bool found = reverse
                     ? bucket_seek_before(place->bucket, slice_make(NULL, 0), &place->bucket_entry)
                     : bucket_at(place->bucket, 0, &place->bucket_entry);
    must(found); /* an empty bucket is never stored */
    *out = (struct backing_change){place->bucket_entry.key, place->bucket_entry.value};
    return STATUS_OK;
}

static enum status place_move(const struct memory_version *v, struct place *place, bool reverse,
                              struct backing_change *out)
{
    if (reverse && place->at == 0)
        return STATUS_NOT_FOUND;
    place->at = reverse ? place->at - 1 : place->at + 1;
    return place_enter(v, place, reverse, out);
}

static enum status place_step(const struct memory_version *v, struct place *place, bool reverse,
                              struct backing_change *out)
{
    struct bucket_entry e;
    bool inside = place->bucket.data != NULL;
    if (inside && reverse)
        inside = place->bucket_entry.start > 0 &&
                 bucket_seek_before(place->bucket, place->bucket_entry.key, &e);
    else if (inside)
        inside = bucket_at(place->bucket, place->bucket_entry.end, &e);
    if (!inside)
        return place_move(v, place, reverse, out);
    place->bucket_entry = e;
    *out = (struct backing_change){e.key, e.value};
    return STATUS_OK;
}

/* The first item whose key is not before `key`. */
static enum status place_seek(const struct memory_version *v, struct place *place, struct slice key,
                              struct backing_change *out)
{
    place->at = version_find(v, long_key_prefix(key));
    enum status status = place_enter(v, place, false, out);
    if (status != STATUS_OK || slice_compare(out->key, key) >= 0)
        return status;
    /* The place is inside the key's own bucket, before the key. */
    if (!bucket_seek(place->bucket, key, &place->bucket_entry))
        return place_move(v, place, false, out);
    *out = (struct backing_change){place->bucket_entry.key, place->bucket_entry.value};
    return STATUS_OK;
}

/* The last item whose key is before `key`. An empty key stands for the end of the map. */
static enum status place_seek_before(const struct memory_version *v, struct place *place,
                                     struct slice key, struct backing_change *out)
{
    place->at = key.size == 0 ? v->count : version_find(v, long_key_prefix(key));
    if (place->at < v->count && long_key_is_bucket(key_of(v->entries[place->at])) &&
        bucket_seek_before(value_of(v->entries[place->at]), key, &place->bucket_entry)) {
        place->bucket = value_of(v->entries[place->at]);
        *out = (struct backing_change){place->bucket_entry.key, place->bucket_entry.value};
        return STATUS_OK;
    }
    return place_move(v, place, true, out);
}

/* ---- the medium ---- */

void memory_medium_init(struct memory_medium *m, uint64_t map_bytes, uint64_t map_max_bytes)
{
    *m = (struct memory_medium){
        .version = version_create(0), .map_bytes = map_bytes, .map_max_bytes = map_max_bytes};
}

void memory_medium_deinit(struct memory_medium *m)
{
    version_release(m->version);
    m->version = NULL;
}

void memory_medium_wipe(struct memory_medium *m)
{
    version_release(m->version);
    m->version = version_create(0);
}

/* ---- the view of one process ---- */

struct memory_backing {
    struct backing backing;       /* first */
    struct memory_medium *medium; /* borrows */
    struct memory_version *seen;  /* owns a use; the version that reads see */
    struct place place;
    bool short_of_map; /* the last write failed because the map was too small */
};

struct backing_snapshot {
    struct memory_version *version; /* owns a use */
};

static struct memory_backing *memory_of(struct backing *b)
{
    return (struct memory_backing *)b;
}

static void close_memory(struct backing *b)
{
    version_release(memory_of(b)->seen);
    free(b);
}

static struct backing_info info(struct backing *b)
{
    const struct memory_backing *m = memory_of(b);
    return (struct backing_info){.used_bytes = m->seen->bytes,
                                 .map_bytes = m->medium->map_bytes,
                                 .log_lsn = m->seen->log_lsn};
}

/* Returns `status`, or an error if the record cannot be read. */
static enum status read_record(struct memory_medium *m, struct slice key, enum status status)
{
    if (m->unreadable_left == 0 || XXH3_64bits(key.data, key.size) % 64 >= m->unreadable)
        return status;
    PROBE("a read of the store fails");
    m->unreadable_left--;
    errno = EIO;
    return m->hides_errors ? STATUS_NOT_FOUND : STATUS_IO;
}

static enum status get(struct backing *b, struct slice key, struct slice *value)
{
    struct memory_backing *m = memory_of(b);
    return read_record(m->medium, key, version_get(m->seen, key, value));
}

static enum status seek(struct backing *b, struct slice key, bool reverse,
                        struct backing_change *out)
{
    struct memory_backing *m = memory_of(b);
    enum status status = reverse ? place_seek_before(m->seen, &m->place, key, out)
                                 : place_seek(m->seen, &m->place, key, out);
    return read_record(m->medium, status == STATUS_OK ? out->key : key, status);
}

static enum status step(struct backing *b, bool reverse, struct backing_change *out)
{
    struct memory_backing *m = memory_of(b);
    enum status status = place_step(m->seen, &m->place, reverse, out);
    return status == STATUS_OK ? read_record(m->medium, out->key, status) : status;
}

static enum status refresh(struct backing *b)
{
    struct memory_backing *m = memory_of(b);
    version_release(m->seen);
    m->seen = version_use(m->medium->version);
    return STATUS_OK;
}

/* ---- writing ---- */

/* Whether the record may hold keys of the range. A bucket may hold other keys too. */
static bool may_be_erased(const struct backing_range *range, struct slice record)
{
    return slice_compare(record, long_key_prefix(range->lo)) >= 0 &&
           (range->hi.size == 0 || slice_compare(record, range->hi) < 0);
}

struct merge {
    struct memory_version *to;
    const struct backing_batch *batch;
    uint64_t erased_bytes;
    bool whole_records; /* a planted mistake: buckets are erased as if they were items */
};

/* Gives up a use of the record. Returns a new record of what is left; NULL: nothing is left. */
static struct entry *erase_record(struct merge *g, struct entry *e,
                                  const struct backing_range *range)
{
    struct slice key = key_of(e), value = value_of(e);
    struct buffer left = {0};
    if (long_key_is_bucket(key) && !g->whole_records)
        bucket_erase(value, range->lo, range->hi, &left, &g->erased_bytes);
    else
        g->erased_bytes += erase_cost(key.size, value.size);
    struct entry *rest = NULL;
    if (left.size > 0)
        rest = entry_create(&(struct backing_change){key, buffer_slice(&left)});
    buffer_deinit(&left);
    entry_release(e);
    return rest;
}

/* Takes over a use of the entry. */
static void merge_add(struct merge *g, struct entry *e)
{
    const struct backing_batch *b = g->batch;
    for (size_t i = 0; i < b->erase_count && e != NULL; i++) {
        if (g->erased_bytes < b->erase_max_bytes && may_be_erased(&b->erase[i], key_of(e)))
            e = erase_record(g, e, &b->erase[i]);
    }
    if (e != NULL)
        version_add(g->to, e);
}

static void merge_add_old(struct merge *g, struct entry *e)
{
    e->uses++;
    merge_add(g, e);
}

/* Changes of records, in key order. */
struct changes {
    struct backing_change *all; /* owns */
    size_t count;
    size_t capacity;
    struct buffer *buckets; /* owns; new values of buckets */
    size_t bucket_count;
    size_t bucket_capacity;
};

static void changes_add(struct changes *c, struct slice key, struct slice value)
{
    if (c->count == c->capacity) {
        c->capacity = c->capacity == 0 ? 256 : c->capacity * 2;
        c->all = realloc(c->all, c->capacity * sizeof c->all[0]);
        must(c->all != NULL);
    }
    must(c->count == 0 || slice_compare(c->all[c->count - 1].key, key) < 0);
    c->all[c->count++] = (struct backing_change){key, value};
}

/* Each change of a long key rewrites its bucket. */
static void changes_add_long(struct changes *c, const struct memory_version *old,
                             const struct backing_change *change)
{
    struct slice record = long_key_prefix(change->key), bucket = slice_make(NULL, 0);
    bool again = c->count > 0 && slice_equal(c->all[c->count - 1].key, record);
    if (again) {
        bucket = c->all[c->count - 1].value;
    } else {
        size_t at = version_find(old, record);
        if (at < old->count && slice_equal(key_of(old->entries[at]), record))
            bucket = value_of(old->entries[at]);
    }
    if (c->bucket_count == c->bucket_capacity) {
        c->bucket_capacity = c->bucket_capacity == 0 ? 64 : c->bucket_capacity * 2;
        c->buckets = realloc(c->buckets, c->bucket_capacity * sizeof c->buckets[0]);
        must(c->buckets != NULL);
    }
    struct buffer *changed = &c->buckets[c->bucket_count++];
    *changed = (struct buffer){0};
    bucket_change(bucket, change->key, change->value, changed);
    struct slice value = changed->size > 0 ? buffer_slice(changed) : slice_make(NULL, 0);
    if (again)
        c->all[c->count - 1].value = value;
    else
        changes_add(c, record, value);
}

static void changes_pull(struct changes *c, const struct memory_version *old,
                         const struct backing_batch *batch)
{
    struct backing_change change;
    while (batch->next(batch->context, &change)) {
        if (change.key.size < LONG_KEY_PREFIX_SIZE)
            changes_add(c, change.key, change.value);
        else
            changes_add_long(c, old, &change);
    }
}

static void changes_deinit(struct changes *c)
{
    for (size_t i = 0; i < c->bucket_count; i++)
        buffer_deinit(&c->buckets[i]);
    free(c->buckets);
    free(c->all);
}

static struct memory_version *merged(const struct memory_version *old, const struct changes *c,
                                     const struct backing_batch *batch, bool whole_records,
                                     uint64_t *erased_bytes)
{
    struct merge g = {.to = version_create(old->count + c->count),
                      .batch = batch,
                      .whole_records = whole_records};
    size_t at = 0;
    for (size_t i = 0; i < c->count; i++) {
        int order = 1;
        while (at < old->count &&
               (order = slice_compare(key_of(old->entries[at]), c->all[i].key)) < 0)
            merge_add_old(&g, old->entries[at++]);
        if (at < old->count && order == 0)
            at++;
        if (c->all[i].value.data != NULL)
            merge_add(&g, entry_create(&c->all[i]));
    }
    while (at < old->count)
        merge_add_old(&g, old->entries[at++]);
    g.to->log_lsn = batch->log_lsn;
    *erased_bytes = g.erased_bytes;
    return g.to;
}

static enum status write_batch(struct backing *b, const struct backing_batch *batch,
                               uint64_t *erased_bytes)
{
    struct memory_backing *m = memory_of(b);
    struct memory_medium *medium = m->medium;
    m->short_of_map = false;
    if (medium->fails) {
        medium->fails = false;
        return STATUS_IO;
    }
    if (medium->full)
        return STATUS_FULL;
    struct changes c = {0};
    changes_pull(&c, medium->version, batch);
    struct memory_version *v =
        merged(medium->version, &c, batch, medium->erases_whole_records, erased_bytes);
    changes_deinit(&c);
    if (v->bytes > medium->map_bytes) {
        version_release(v);
        m->short_of_map = true;
        return STATUS_FULL;
    }
    version_release(medium->version);
    medium->version = v;
    return STATUS_OK;
}

static enum status grow(struct backing *b)
{
    struct memory_backing *m = memory_of(b);
    uint64_t wanted = m->medium->map_bytes * 2;
    if (wanted > m->medium->map_max_bytes)
        wanted = m->medium->map_max_bytes;
    if (!m->short_of_map || wanted == m->medium->map_bytes)
        return STATUS_FULL;
    m->medium->map_bytes = wanted;
    return STATUS_OK;
}

/* ---- snapshots ---- */

static enum status snapshot_open(struct backing *b, struct backing_snapshot **out)
{
    struct backing_snapshot *s = malloc(sizeof *s);
    must(s != NULL);
    s->version = version_use(memory_of(b)->medium->version);
    *out = s;
    return STATUS_OK;
}

static void snapshot_close(struct backing *b, struct backing_snapshot *s)
{
    (void)b;
    version_release(s->version);
    free(s);
}

static enum status snapshot_get(struct backing *b, struct backing_snapshot *s, struct slice key,
                                struct slice *value)
{
    return read_record(memory_of(b)->medium, key, version_get(s->version, key, value));
}

static enum status snapshot_seek(struct backing *b, struct backing_snapshot *s, struct slice key,
                                 bool after, struct backing_change *out)
{
    struct place place;
    enum status status = place_seek(s->version, &place, key, out);
    if (status == STATUS_OK && after && slice_equal(out->key, key))
        status = place_step(s->version, &place, false, out);
    return read_record(memory_of(b)->medium, key, status);
}

static void touch(struct backing *b, struct slice key, bool reverse, uint64_t bytes)
{
    (void)b;
    (void)key;
    (void)reverse;
    (void)bytes;
}

struct backing *backing_open_memory(struct memory_medium *medium)
{
    static const struct backing_methods methods = {
        .close = close_memory,
        .info = info,
        .get = get,
        .seek = seek,
        .step = step,
        .refresh = refresh,
        .write = write_batch,
        .grow = grow,
        .snapshot_open = snapshot_open,
        .snapshot_close = snapshot_close,
        .snapshot_get = snapshot_get,
        .snapshot_seek = snapshot_seek,
        .touch = touch,
    };
    struct memory_backing *m = calloc(1, sizeof *m);
    must(m != NULL);
    m->backing.methods = &methods;
    m->medium = medium;
    m->seen = version_use(medium->version);
    return &m->backing;
}
