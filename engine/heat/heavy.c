/* heavy.c - adds up the sketch by partition keys.
 *
 * First some candidates are found, by the rule of Misra and Gries: a key with more than a part in
 * CANDIDATES of the heat is among them. Then their weights are counted. */
#include "engine/heat/heavy.h"

#include "base/big_endian.h"
#include "engine/item/storage_key.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    CANDIDATES = 32
};

struct candidate {
    uint64_t hash; /* of the partition key's bytes in storage keys; 0: free */
    int64_t mcu;
    uint32_t item;
};

struct heavy_scan {
    struct sketch_item *items;
    uint64_t *hashes; /* by item; 0: its partition key is cut off */
    uint32_t count;
    uint32_t shared;
    uint8_t *key; /* a whole key: the shared bytes, then the item's */
    struct candidate candidates[CANDIDATES];
};

/* The size of what the item's partition key is in storage keys, which are in `s->key` then. 0: cut
 * off. */
static size_t heavy_prefix(struct heavy_scan *s, const struct sketch_item *item)
{
    must(item->key.size <= SKETCH_KEY_MAX); /* the room behind the shared bytes */
    const size_t size = s->shared + item->key.size;
    const size_t head = STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE;
    if (item->key.size > 0)
        memcpy(s->key + s->shared, item->key.data, item->key.size);
    const size_t part = size > head ? storage_key_part_size(slice_make(s->key, size), head) : 0;
    return part > 0 ? head + part : 0;
}

static struct candidate *heavy_find(struct heavy_scan *s, uint64_t hash)
{
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        if (s->candidates[i].hash == hash)
            return &s->candidates[i];
    }
    return NULL;
}

static void heavy_lower(struct heavy_scan *s, int64_t mcu)
{
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        struct candidate *c = &s->candidates[i];
        c->mcu -= mcu;
        if (c->mcu <= 0)
            *c = (struct candidate){0};
    }
}

static int64_t heavy_least(const struct heavy_scan *s)
{
    int64_t least = s->candidates[0].mcu;
    for (uint32_t i = 1; i < CANDIDATES; i++)
        least = MIN(s->candidates[i].mcu, least);
    return least;
}

static void heavy_vote(struct heavy_scan *s, uint32_t item)
{
    const uint64_t hash = s->hashes[item];
    int64_t mcu = s->items[item].mcu;
    must(hash != 0); /* of a free candidate */
    must(mcu > 0);
    struct candidate *c = heavy_find(s, hash);
    if (c == NULL && (c = heavy_find(s, 0)) == NULL) {
        const int64_t least = heavy_least(s);
        const int64_t lower = MIN(mcu, least);
        heavy_lower(s, lower);
        mcu -= lower;
        c = mcu > 0 ? heavy_find(s, 0) : NULL;
    }
    if (c == NULL)
        return;
    c->hash = hash;
    c->mcu += mcu;
    must(c->mcu > 0);
    c->item = item;
}

/* Gives the candidates their true weights. Returns that of all items. */
static int64_t heavy_count(struct heavy_scan *s)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < CANDIDATES; i++)
        s->candidates[i].mcu = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        struct candidate *c = s->hashes[i] != 0 ? heavy_find(s, s->hashes[i]) : NULL;
        total += s->items[i].mcu;
        if (c != NULL)
            c->mcu += s->items[i].mcu;
    }
    return total;
}

/* Replaces the weights of the candidates by what they are asked for. */
static void heavy_to_rates(struct heavy_scan *s, struct heat *h, struct instant now,
                           enum admit_kind kind, int64_t rate)
{
    const int64_t total = heavy_count(s);
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        struct candidate *c = &s->candidates[i];
        if (c->mcu == 0)
            continue;
        must(heavy_prefix(s, &s->items[c->item]) > 0);
        const uint64_t hash = be64_get(s->key + STORAGE_KEY_TABLE_SIZE);
        c->mcu = heat_key_rate(h, now, kind, hash, (int64_t)((__int128)c->mcu * rate / total));
    }
}

static bool heavy_scan_begin(struct heavy_scan *s, struct heat *h, struct instant now,
                             enum admit_kind kind, struct slice lo, struct arena *arena)
{
    *s = (struct heavy_scan){.shared = h->shared,
                             .items = arena_alloc(arena, SKETCH_ENTRIES * sizeof *s->items),
                             .key = arena_alloc(arena, h->shared + SKETCH_KEY_MAX)};
    must(lo.size >= h->shared);
    if (h->shared > 0)
        memcpy(s->key, lo.data, h->shared);
    s->count = heat_items(h, now, kind, s->items);
    s->hashes = arena_zalloc(arena, (s->count + 1) * sizeof *s->hashes);
    for (uint32_t i = 0; i < s->count; i++) {
        const size_t size = heavy_prefix(s, &s->items[i]);
        if (size > 0)
            s->hashes[i] = XXH3_64bits(s->key, size) | 1;
    }
    return s->count > 0;
}

uint32_t heat_heavy_keys(struct heat *h, struct instant now, enum admit_kind kind, struct slice lo,
                         int64_t mcu_min, struct arena *arena, struct heavy_key out[HEAVY_KEYS_MAX])
{
    struct heavy_scan s;
    const int64_t rate = heat_rate_now(h, now, kind);
    uint32_t found = 0;
    if (rate < mcu_min || !heavy_scan_begin(&s, h, now, kind, lo, arena))
        return 0;
    for (uint32_t i = 0; i < s.count; i++) {
        if (s.hashes[i] != 0)
            heavy_vote(&s, i);
    }
    heavy_to_rates(&s, h, now, kind, rate);
    while (found < HEAVY_KEYS_MAX) {
        struct candidate *most = &s.candidates[0];
        for (uint32_t i = 1; i < CANDIDATES; i++)
            most = s.candidates[i].mcu > most->mcu ? &s.candidates[i] : most;
        if (most->mcu == 0 || most->mcu < mcu_min)
            return found;
        must(found == 0 || most->mcu <= out[found - 1].mcu);
        const size_t size = heavy_prefix(&s, &s.items[most->item]);
        out[found++] =
            (struct heavy_key){.key = arena_copy(arena, slice_make(s.key, size)), .mcu = most->mcu};
        *most = (struct candidate){0};
    }
    return found;
}
