/* memtable.c - committed writes that are not in the backing yet: a hash index and a skip list. */
#include "engine/store/memtable.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/must.h"

enum {
    LEVELS_MAX = 20,
    SLOTS_MIN = 1024
};

/* The parts that a lookup reads are side by side. The place of the key's bytes is known without a
 * pointer. */
struct node {
    struct mem_entry entry; /* first: a mem_entry is a node */
    uint8_t key[];          /* then its links, aligned */
};

struct links {
    struct node *older; /* put before this one */
    struct node *previous;
    size_t levels;
    struct node *next[];
};

/* A lookup compares hashes in the slots, which are side by side. It reads a node only if the hash
 * matches. */
struct slot {
    uint64_t hash;
    struct node *node; /* NULL: free */
};

struct memtable {
    struct arena arena;  /* owns the nodes: searches read them, so they lie close together */
    struct arena values; /* owns */
    struct node *head;   /* before the first node; has all levels */
    struct node *last;
    struct node *newest;  /* starts the chain of `older` */
    struct node *ordered; /* this node and all older ones are in the skip list */
    size_t levels;        /* in use */
    size_t count;
    size_t slot_count;  /* a power of two, and at least twice `count` */
    struct slot *slots; /* owns; a key is in the first slot from its hash on that was free */
};

_Static_assert(offsetof(struct node, entry) == 0, "a mem_entry is a node");
_Static_assert((SLOTS_MIN & (SLOTS_MIN - 1)) == 0, "slots are masked");

static inline void memtable_check(const struct memtable *m)
{
    must((m->slot_count & (m->slot_count - 1)) == 0);
    must(m->slot_count >= 2 * m->count); /* a search ends at a free slot */
    must((m->newest == NULL) == (m->count == 0));
}

static size_t links_at(size_t key_size)
{
    return sizeof(struct node) + ((key_size + 7) & ~(size_t)7);
}

static struct links *links_of(const struct node *n)
{
    return (struct links *)(void *)((uint8_t *)(uintptr_t)n + links_at(n->entry.key.size));
}

static struct node *node_alloc(struct arena *arena, struct slice key, int levels)
{
    const size_t next_size = (size_t)levels * sizeof(struct node *);
    struct node *n = arena_alloc(arena, links_at(key.size) + sizeof(struct links) + next_size);
    n->entry = (struct mem_entry){slice_make(n->key, key.size), {NULL, 0}};
    if (key.size > 0)
        memcpy(n->key, key.data, key.size);
    struct links *l = links_of(n);
    *l = (struct links){.levels = (size_t)levels};
    memset(l->next, 0, next_size);
    return n;
}

struct memtable *memtable_create(void)
{
    struct memtable *m = must_calloc(1, sizeof *m);
    m->head = node_alloc(&m->arena, (struct slice){NULL, 0}, LEVELS_MAX);
    m->levels = 1;
    m->slot_count = SLOTS_MIN;
    m->slots = must_calloc(m->slot_count, sizeof m->slots[0]);
    return m;
}

void memtable_destroy(struct memtable *m)
{
    if (m == NULL)
        return;
    arena_deinit(&m->arena);
    arena_deinit(&m->values);
    free(m->slots);
    free(m);
}

size_t memtable_bytes(const struct memtable *m)
{
    return m->arena.used_bytes + m->values.used_bytes + m->slot_count * sizeof m->slots[0];
}

size_t memtable_count(const struct memtable *m)
{
    return m->count;
}

uint64_t memtable_hash(uint64_t seed, struct slice key)
{
    return XXH3_64bits_withSeed(key.data, key.size, seed);
}

static bool has_key(const struct node *n, struct slice key)
{
    return n->entry.key.size == key.size && memcmp(n->key, key.data, key.size) == 0;
}

/* The key's slot, or the free slot for a new key. */
static struct slot *memtable_find(const struct memtable *m, struct slice key, uint64_t hash)
{
    size_t i = hash & (m->slot_count - 1);
    while (m->slots[i].node != NULL &&
           (m->slots[i].hash != hash || !has_key(m->slots[i].node, key)))
        i = (i + 1) & (m->slot_count - 1);
    return &m->slots[i];
}

const struct mem_entry *memtable_get(const struct memtable *m, struct slice key, uint64_t hash)
{
    const struct node *n = memtable_find(m, key, hash)->node;
    return n == NULL ? NULL : &n->entry;
}

/* The last node before `key` on every level in use. */
static struct node *memtable_descend(const struct memtable *m, struct slice key,
                                     struct node *before[LEVELS_MAX])
{
    struct node *n = m->head;
    for (size_t level = m->levels; level-- > 0;) {
        struct node *next;
        while ((next = links_of(n)->next[level]) != NULL && slice_compare(next->entry.key, key) < 0)
            n = next;
        if (before != NULL)
            before[level] = n;
    }
    return n;
}

static void grow_slots(struct memtable *m)
{
    size_t count = m->slot_count * 2;
    struct slot *slots = must_calloc(count, sizeof slots[0]);
    for (const struct slot *s = m->slots; s < m->slots + m->slot_count; s++) {
        if (s->node == NULL)
            continue;
        size_t i = s->hash & (count - 1);
        while (slots[i].node != NULL)
            i = (i + 1) & (count - 1);
        slots[i] = *s;
    }
    free(m->slots);
    m->slots = slots;
    m->slot_count = count;
}

/* Each further level has probability 1/4. The levels come from the hash's high bits; its low bits
 * choose the slot. */
static int memtable_levels_of(uint64_t hash)
{
    int levels = 1 + __builtin_clzll(hash | 1) / 2;
    return MIN(levels, LEVELS_MAX);
}

static void memtable_insert(struct memtable *m, struct slot *slot, struct slice key, uint64_t hash,
                            struct slice value)
{
    struct node *n = node_alloc(&m->arena, key, memtable_levels_of(hash));
    n->entry.value = value;
    links_of(n)->older = m->newest;
    m->newest = n;
    *slot = (struct slot){hash, n};
    if (2 * ++m->count > m->slot_count)
        grow_slots(m);
}

static void memtable_link(struct memtable *m, struct node *n)
{
    struct node *before[LEVELS_MAX];
    struct links *l = links_of(n);
    must(l->levels > 0);
    must(l->levels <= LEVELS_MAX);
    memtable_descend(m, n->entry.key, before);
    must_in_tests(before[0] == m->head || slice_compare(before[0]->entry.key, n->entry.key) < 0);
    while (m->levels < l->levels)
        before[m->levels++] = m->head;
    for (size_t level = 0; level < l->levels; level++) {
        struct node **from = &links_of(before[level])->next[level];
        l->next[level] = *from;
        *from = n;
    }
    l->previous = before[0] == m->head ? NULL : before[0];
    if (l->next[0] == NULL)
        m->last = n;
    else
        links_of(l->next[0])->previous = n;
    must_in_tests(l->next[0] == NULL || slice_compare(n->entry.key, l->next[0]->entry.key) < 0);
}

/* Puts the new keys into the skip list. */
static void memtable_order(struct memtable *m)
{
    for (struct node *n = m->newest; n != m->ordered; n = links_of(n)->older)
        memtable_link(m, n);
    m->ordered = m->newest;
}

/* Most keys differ in their first bytes. These bytes are compared without reading the key. */
struct place {
    uint64_t head; /* slice_head */
    const struct mem_entry *entry;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    return slice_compare(x->entry->key, y->entry->key);
}

const struct mem_entry **memtable_sorted(const struct memtable *m)
{
    struct place *places = must_have(malloc((m->count + 1) * sizeof *places));
    const struct mem_entry **entries =
        must_have(malloc((m->count + 1) * sizeof(const struct mem_entry *)));
    size_t count = 0;
    for (const struct node *n = m->newest; n != NULL; n = links_of(n)->older)
        places[count++] = (struct place){slice_head(n->entry.key), &n->entry};
    must(count == m->count);
    qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 0; i < count; i++)
        entries[i] = places[i].entry;
    for (size_t i = 1; i < count; i++)
        must_in_tests(slice_compare(entries[i - 1]->key, entries[i]->key) < 0); /* each key once */
    free(places);
    return entries;
}

void memtable_put(struct memtable *m, struct slice key, uint64_t hash, struct slice value)
{
    struct slice copy = {NULL, 0};
    must(key.size > 0); /* an empty key is no bound of a range */
    if (value.data != NULL)
        copy = slice_make(memcpy(arena_alloc(&m->values, value.size), value.data, value.size),
                          value.size);
    struct slot *slot = memtable_find(m, key, hash);
    if (slot->node != NULL)
        slot->node->entry.value = copy;
    else
        memtable_insert(m, slot, key, hash, copy);
    memtable_check(m);
}

static const struct mem_entry *entry_of(const struct node *n)
{
    return n == NULL ? NULL : &n->entry;
}

const struct mem_entry *memtable_seek(struct memtable *m, struct slice key)
{
    memtable_order(m);
    return entry_of(links_of(memtable_descend(m, key, NULL))->next[0]);
}

const struct mem_entry *memtable_seek_before(struct memtable *m, struct slice key)
{
    memtable_order(m);
    if (key.size == 0)
        return entry_of(m->last);
    struct node *n = memtable_descend(m, key, NULL);
    return n == m->head ? NULL : entry_of(n);
}

const struct mem_entry *memtable_next(const struct mem_entry *e)
{
    return entry_of(links_of((const struct node *)e)->next[0]);
}

const struct mem_entry *memtable_prev(const struct mem_entry *e)
{
    return entry_of(links_of((const struct node *)e)->previous);
}
