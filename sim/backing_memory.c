#include "sim/backing_memory.h"

#include <stdlib.h>

#include "base/must.h"

/* ---- versions: sorted arrays of entries which versions share ---- */

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

static enum status version_get(const struct memory_version *v, struct slice key,
                               struct slice *value)
{
    size_t at = version_find(v, key);
    if (at == v->count || !slice_equal(key_of(v->entries[at]), key))
        return STATUS_NOT_FOUND;
    *value = value_of(v->entries[at]);
    return STATUS_OK;
}

static enum status version_at(const struct memory_version *v, size_t at, struct backing_change *out)
{
    if (at >= v->count)
        return STATUS_NOT_FOUND;
    *out = (struct backing_change){key_of(v->entries[at]), value_of(v->entries[at])};
    return STATUS_OK;
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

/* ---- one process' view of it ---- */

struct memory_backing {
    struct backing backing;       /* first */
    struct memory_medium *medium; /* borrows */
    struct memory_version *seen;  /* owns a use: what reads see */
    size_t cursor;
    bool short_of_map; /* what the last write lacked was map */
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

static enum status get(struct backing *b, struct slice key, struct slice *value)
{
    return version_get(memory_of(b)->seen, key, value);
}

static enum status seek(struct backing *b, struct slice key, bool reverse,
                        struct backing_change *out)
{
    struct memory_backing *m = memory_of(b);
    m->cursor = version_find(m->seen, key);
    if (!reverse)
        return version_at(m->seen, m->cursor, out);
    if (key.size == 0)
        m->cursor = m->seen->count;
    if (m->cursor == 0)
        return STATUS_NOT_FOUND;
    return version_at(m->seen, --m->cursor, out);
}

static enum status step(struct backing *b, bool reverse, struct backing_change *out)
{
    struct memory_backing *m = memory_of(b);
    if (reverse && m->cursor == 0)
        return STATUS_NOT_FOUND;
    m->cursor = reverse ? m->cursor - 1 : m->cursor + 1;
    return version_at(m->seen, m->cursor, out);
}

static enum status refresh(struct backing *b)
{
    struct memory_backing *m = memory_of(b);
    version_release(m->seen);
    m->seen = version_use(m->medium->version);
    return STATUS_OK;
}

/* ---- writing ---- */

static bool to_be_erased(const struct backing_batch *batch, struct slice key)
{
    return batch->erase_lo.size > 0 && slice_compare(key, batch->erase_lo) >= 0 &&
           (batch->erase_hi.size == 0 || slice_compare(key, batch->erase_hi) < 0);
}

struct merge {
    struct memory_version *to;
    const struct backing_batch *batch;
    uint64_t erased_bytes;
};

/* Takes over a use of the entry. */
static void merge_add(struct merge *g, struct entry *e)
{
    if (g->erased_bytes < g->batch->erase_max_bytes && to_be_erased(g->batch, key_of(e))) {
        g->erased_bytes += erase_cost(key_of(e).size, value_of(e).size);
        entry_release(e);
    } else {
        version_add(g->to, e);
    }
}

static void merge_add_old(struct merge *g, struct entry *e)
{
    e->uses++;
    merge_add(g, e);
}

struct changes {
    struct backing_change *all; /* owns */
    size_t count;
    size_t capacity;
};

static void changes_pull(struct changes *c, const struct backing_batch *batch)
{
    struct backing_change change;
    while (batch->next(batch->context, &change)) {
        if (c->count == c->capacity) {
            c->capacity = c->capacity == 0 ? 256 : c->capacity * 2;
            c->all = realloc(c->all, c->capacity * sizeof c->all[0]);
            must(c->all != NULL);
        }
        must(c->count == 0 || slice_compare(c->all[c->count - 1].key, change.key) < 0);
        c->all[c->count++] = change;
    }
}

static struct memory_version *merged(const struct memory_version *old, const struct changes *c,
                                     const struct backing_batch *batch, uint64_t *erased_bytes)
{
    struct merge g = {.to = version_create(old->count + c->count), .batch = batch};
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
    changes_pull(&c, batch);
    struct memory_version *v = merged(medium->version, &c, batch, erased_bytes);
    free(c.all);
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
    (void)b;
    return version_get(s->version, key, value);
}

static enum status snapshot_seek(struct backing *b, struct backing_snapshot *s, struct slice key,
                                 bool after, struct backing_change *out)
{
    (void)b;
    size_t at = version_find(s->version, key);
    if (after && at < s->version->count && slice_equal(key_of(s->version->entries[at]), key))
        at++;
    return version_at(s->version, at, out);
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
