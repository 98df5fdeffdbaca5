#include "engine/store/memtable.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/must.h"

enum {
    LEVELS_MAX = 20,
    BUCKETS_MIN = 1024
};

struct node {
    struct mem_entry entry; /* first: a mem_entry is a node */
    uint64_t hash;
    struct node *chain; /* next in the same hash bucket */
    struct node *older; /* put before this one */
    struct node *previous;
    uint8_t levels;
    struct node *next[];
};

struct memtable {
    struct arena arena;  /* owns nodes and keys: close together, for they are what is searched */
    struct arena values; /* owns */
    struct node *head;   /* before the first; all levels */
    struct node *last;
    struct node *newest;  /* of the chain of `older` */
    struct node *ordered; /* it and all older ones are in the skip list */
    int levels;           /* in use */
    size_t count;
    size_t bucket_count;   /* a power of two */
    struct node **buckets; /* owns */
};

static struct node *node_alloc(struct arena *arena, int levels)
{
    struct node *n = arena_zalloc(arena, sizeof *n + (size_t)levels * sizeof n->next[0]);
    n->levels = (uint8_t)levels;
    return n;
}

struct memtable *memtable_create(void)
{
    struct memtable *m = calloc(1, sizeof *m);
    must(m != NULL);
    m->head = node_alloc(&m->arena, LEVELS_MAX);
    m->levels = 1;
    m->bucket_count = BUCKETS_MIN;
    m->buckets = calloc(m->bucket_count, sizeof m->buckets[0]);
    must(m->buckets != NULL);
    return m;
}

void memtable_destroy(struct memtable *m)
{
    if (m == NULL)
        return;
    arena_deinit(&m->arena);
    arena_deinit(&m->values);
    free(m->buckets);
    free(m);
}

size_t memtable_bytes(const struct memtable *m)
{
    return m->arena.used_bytes + m->values.used_bytes + m->bucket_count * sizeof m->buckets[0];
}

size_t memtable_count(const struct memtable *m)
{
    return m->count;
}

uint64_t memtable_hash(struct slice key)
{
    return XXH3_64bits(key.data, key.size);
}

static struct node *find(const struct memtable *m, struct slice key, uint64_t hash)
{
    struct node *n = m->buckets[hash & (m->bucket_count - 1)];
    while (n != NULL && (n->hash != hash || !slice_equal(n->entry.key, key)))
        n = n->chain;
    return n;
}

const struct mem_entry *memtable_get(const struct memtable *m, struct slice key, uint64_t hash)
{
    struct node *n = find(m, key, hash);
    return n == NULL ? NULL : &n->entry;
}

/* The last node before `key` on every level in use. */
static struct node *descend(const struct memtable *m, struct slice key,
                            struct node *before[LEVELS_MAX])
{
    struct node *n = m->head;
    for (int level = m->levels - 1; level >= 0; level--) {
        while (n->next[level] != NULL && slice_compare(n->next[level]->entry.key, key) < 0)
            n = n->next[level];
        if (before != NULL)
            before[level] = n;
    }
    return n;
}

static void grow_buckets(struct memtable *m)
{
    size_t count = m->bucket_count * 2;
    struct node **buckets = calloc(count, sizeof buckets[0]);
    must(buckets != NULL);
    for (struct node *n = m->newest; n != NULL; n = n->older) {
        n->chain = buckets[n->hash & (count - 1)];
        buckets[n->hash & (count - 1)] = n;
    }
    free(m->buckets);
    m->buckets = buckets;
    m->bucket_count = count;
}

/* One level more with probability 1/4 each, from the hash's high bits (the low ones choose the
 * bucket). */
static int levels_of(uint64_t hash)
{
    int levels = 1 + __builtin_clzll(hash | 1) / 2;
    return levels < LEVELS_MAX ? levels : LEVELS_MAX;
}

static void insert(struct memtable *m, struct slice key, uint64_t hash, struct slice value)
{
    struct node *n = node_alloc(&m->arena, levels_of(hash));
    n->entry = (struct mem_entry){arena_copy(&m->arena, key), value};
    n->hash = hash;
    n->older = m->newest;
    m->newest = n;
    n->chain = m->buckets[hash & (m->bucket_count - 1)];
    m->buckets[hash & (m->bucket_count - 1)] = n;
    if (++m->count > m->bucket_count)
        grow_buckets(m);
}

static void link(struct memtable *m, struct node *n)
{
    struct node *before[LEVELS_MAX];
    descend(m, n->entry.key, before);
    while (m->levels < n->levels)
        before[m->levels++] = m->head;
    for (int level = 0; level < n->levels; level++) {
        n->next[level] = before[level]->next[level];
        before[level]->next[level] = n;
    }
    n->previous = before[0] == m->head ? NULL : before[0];
    if (n->next[0] == NULL)
        m->last = n;
    else
        n->next[0]->previous = n;
}

/* Brings the skip list up to date. */
static void order(struct memtable *m)
{
    for (struct node *n = m->newest; n != m->ordered; n = n->older)
        link(m, n);
    m->ordered = m->newest;
}

static int compare_entries(const void *a, const void *b)
{
    return slice_compare((*(const struct mem_entry *const *)a)->key,
                         (*(const struct mem_entry *const *)b)->key);
}

const struct mem_entry **memtable_sorted(const struct memtable *m)
{
    const struct mem_entry **entries = malloc((m->count + 1) * sizeof(const struct mem_entry *));
    must(entries != NULL);
    size_t count = 0;
    for (const struct node *n = m->newest; n != NULL; n = n->older)
        entries[count++] = &n->entry;
    must(count == m->count);
    qsort(entries, count, sizeof(const struct mem_entry *), compare_entries);
    return entries;
}

void memtable_put(struct memtable *m, struct slice key, uint64_t hash, struct slice value)
{
    struct slice copy = {NULL, 0};
    if (value.data != NULL)
        copy = slice_make(memcpy(arena_alloc(&m->values, value.size), value.data, value.size),
                          value.size);
    struct node *n = find(m, key, hash);
    if (n != NULL)
        n->entry.value = copy;
    else
        insert(m, key, hash, copy);
}

static const struct mem_entry *entry_of(const struct node *n)
{
    return n == NULL ? NULL : &n->entry;
}

const struct mem_entry *memtable_seek(struct memtable *m, struct slice key)
{
    order(m);
    return entry_of(descend(m, key, NULL)->next[0]);
}

const struct mem_entry *memtable_seek_before(struct memtable *m, struct slice key)
{
    order(m);
    if (key.size == 0)
        return entry_of(m->last);
    struct node *n = descend(m, key, NULL);
    return n == m->head ? NULL : entry_of(n);
}

const struct mem_entry *memtable_next(const struct memtable *m, const struct mem_entry *e)
{
    (void)m;
    return entry_of(((const struct node *)e)->next[0]);
}

const struct mem_entry *memtable_prev(const struct memtable *m, const struct mem_entry *e)
{
    (void)m;
    return entry_of(((const struct node *)e)->previous);
}
