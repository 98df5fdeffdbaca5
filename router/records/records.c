/* records.c - two pools of records, full and short, each with its pairs in a heap. */
#include "router/records/records.h"

#include <stdlib.h>

#include "base/must.h"
#include "base/prng.h"

enum {
    PAIRS = 1024, /* the first one holds the records of all pairs for which there is no room */
    PAIR_BUCKETS = 2048,
    SHORT_PART = 8, /* of the bytes, one part in so many is for short records */
    NONE = UINT32_MAX,
};

/* In front of each record of a pool. */
struct record_slot {
    uint64_t number; /* of the request; 0: the slot is free */
    uint64_t order;  /* a later record has a higher one */
    uint32_t older;  /* of all; of a free slot: the next one */
    uint32_t newer;
    uint32_t pair_newer;
    uint32_t bucket_next;
    uint32_t pair;
};

struct record_short {
    char id[RECORD_ID_SIZE];
    uint8_t outcome, causes, kind, reason, cause;
    uint8_t table_size;
    char table[RECORD_TABLE_MAX_SHORT];
    int64_t wall_ms;
    const char *operation;
    uint32_t partition, node, table_id, member, index;
    uint16_t status;
    int64_t cost_mcu, wait_ns, level_mcu;
};

struct pair {
    uint64_t key;
    uint32_t held;
    uint32_t oldest, newest;
    uint32_t bucket_next;
    uint32_t heap_at;
    int64_t second;
    uint32_t of_second; /* full records of that second */
};

struct pool {
    uint8_t *slots;   /* owns */
    size_t slot_size; /* bytes, the head included */
    uint32_t count;
    uint32_t held;
    uint32_t used; /* the slots from here on were never used: their pages cost no memory */
    uint32_t free; /* the first free slot that was used */
    uint32_t oldest, newest;
    uint32_t *buckets; /* owns; by number */
    uint32_t bucket_mask;
    struct pair pairs[PAIRS];
    uint32_t pair_free;
    uint32_t pair_buckets[PAIR_BUCKETS];
    uint32_t heap[PAIRS]; /* pairs that hold records; that with most is the first */
    uint32_t heap_size;
};

struct records {
    struct pool full, brief;
    uint64_t order;
    uint64_t added_full, added_brief;
};

void record_add_text(struct decision_record *d, enum record_text which, struct slice text,
                     size_t max)
{
    size_t at = 0;
    for (int i = 0; i < (int)which; i++)
        at += d->text_sizes[i];
    size_t size = MIN(MIN(text.size, max), RECORD_TEXTS_SIZE - at);
    while (size > 0 && size < text.size && (text.data[size] & 0xC0) == 0x80)
        size--;
    if (size > 0)
        memcpy(d->texts + at, text.data, size);
    d->text_sizes[which] = (uint8_t)size;
}

bool record_is_of_table(const struct decision_record *d, struct slice name)
{
    const struct slice known = record_text(d, RECORD_TABLE);
    const size_t max = d->short_form ? RECORD_TABLE_MAX_SHORT : RECORD_TABLE_MAX;
    return slice_equal(known, slice_make(name.data, MIN(name.size, max)));
}

void record_hide_key(struct decision_record *d)
{
    const struct slice key = record_text(d, RECORD_KEY);
    const size_t at = (size_t)((const char *)key.data - d->texts), end = at + key.size;
    memmove(d->texts + at, d->texts + end, RECORD_TEXTS_SIZE - end);
    d->text_sizes[RECORD_KEY] = 0;
}

_Static_assert(RECORD_TEXTS_SIZE <= UINT8_MAX, "the sizes of texts");

/* ---- the heap of pairs ---- */

static void heap_place(struct pool *p, uint32_t at, uint32_t pair)
{
    p->heap[at] = pair;
    p->pairs[pair].heap_at = at;
}

static void heap_rise(struct pool *p, uint32_t at)
{
    const uint32_t pair = p->heap[at];
    while (at > 0 && p->pairs[p->heap[(at - 1) / 2]].held < p->pairs[pair].held) {
        heap_place(p, at, p->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_place(p, at, pair);
}

static void heap_sink(struct pool *p, uint32_t at)
{
    const uint32_t pair = p->heap[at];
    for (uint32_t child; (child = 2 * at + 1) < p->heap_size; at = child) {
        if (child + 1 < p->heap_size &&
            p->pairs[p->heap[child + 1]].held > p->pairs[p->heap[child]].held)
            child++;
        if (p->pairs[p->heap[child]].held <= p->pairs[pair].held)
            break;
        heap_place(p, at, p->heap[child]);
    }
    heap_place(p, at, pair);
}

static void heap_add(struct pool *p, uint32_t pair)
{
    must(p->heap_size < PAIRS);
    heap_place(p, p->heap_size, pair);
    heap_rise(p, p->heap_size++);
}

static void heap_remove(struct pool *p, uint32_t at)
{
    const uint32_t last = p->heap[--p->heap_size];
    if (at == p->heap_size)
        return;
    heap_place(p, at, last);
    heap_rise(p, at);
    heap_sink(p, p->pairs[last].heap_at);
}

/* ---- pairs ---- */

static uint32_t pair_bucket(uint64_t key)
{
    struct prng mix = prng_seeded(key);
    return (uint32_t)(prng_next(&mix) % PAIR_BUCKETS);
}

static uint64_t pair_key_of(const struct decision_record *d)
{
    const bool of_partition = d->partition != 0 && d->verdict.reason != ADMIT_REFUSED_TABLE;
    const uint64_t place =
        of_partition ? (uint64_t)d->partition << 1 : (uint64_t)d->table_id << 1 | 1;
    return place << 16 | (uint64_t)d->kind << 12 | (uint64_t)d->outcome << 8 |
           (uint64_t)d->verdict.reason;
}

/* The pair of the key, which is made if there is room: otherwise the first one. */
static uint32_t pair_of(struct pool *p, uint64_t key)
{
    uint32_t *bucket = &p->pair_buckets[pair_bucket(key)];
    for (uint32_t i = *bucket; i != NONE; i = p->pairs[i].bucket_next) {
        if (p->pairs[i].key == key)
            return i;
    }
    const uint32_t i = p->pair_free;
    if (i == NONE)
        return 0;
    p->pair_free = p->pairs[i].bucket_next;
    p->pairs[i] = (struct pair){
        .key = key, .oldest = NONE, .newest = NONE, .bucket_next = *bucket, .second = INT64_MIN};
    *bucket = i;
    return i;
}

static void pair_release(struct pool *p, uint32_t pair)
{
    uint32_t *at = &p->pair_buckets[pair_bucket(p->pairs[pair].key)];
    while (*at != pair)
        at = &p->pairs[*at].bucket_next;
    *at = p->pairs[pair].bucket_next;
    p->pairs[pair].bucket_next = p->pair_free;
    p->pair_free = pair;
}

/* Whether the pair may keep one more full record in that second. */
static bool pair_has_room(struct pair *pair, int64_t second)
{
    if (pair->second != second)
        pair->of_second = 0;
    pair->second = second;
    return pair->of_second++ < RECORDS_FULL_PER_S;
}

/* ---- pools ---- */

static struct record_slot *pool_slot(const struct pool *p, uint32_t i)
{
    return (struct record_slot *)(p->slots + p->slot_size * i);
}

static void *pool_record(const struct pool *p, uint32_t i)
{
    return pool_slot(p, i) + 1;
}

static void pool_init(struct pool *p, size_t bytes, size_t record_size)
{
    p->slot_size = sizeof(struct record_slot) + (record_size + 7) / 8 * 8;
    p->count = (uint32_t)MIN(bytes / (p->slot_size + sizeof *p->buckets), UINT32_MAX / 4);
    uint32_t buckets = 1;
    while (buckets < p->count)
        buckets *= 2;
    p->slots = must_calloc(p->count, p->slot_size);
    p->buckets = must_calloc(buckets, sizeof *p->buckets);
    p->bucket_mask = buckets - 1;
    for (uint32_t i = 0; i < buckets; i++)
        p->buckets[i] = NONE;
    for (uint32_t i = 0; i < PAIR_BUCKETS; i++)
        p->pair_buckets[i] = NONE;
    for (uint32_t i = 1; i < PAIRS; i++)
        p->pairs[i].bucket_next = i + 1 < PAIRS ? i + 1 : NONE;
    p->pairs[0] = (struct pair){.oldest = NONE, .newest = NONE, .second = INT64_MIN};
    p->pair_free = 1;
    p->oldest = p->newest = p->free = NONE;
}

static uint32_t *pool_bucket(const struct pool *p, uint64_t number)
{
    return &p->buckets[(uint32_t)number & p->bucket_mask];
}

static uint32_t pool_find(const struct pool *p, uint64_t number)
{
    uint32_t i = *pool_bucket(p, number);
    while (i != NONE && pool_slot(p, i)->number != number)
        i = pool_slot(p, i)->bucket_next;
    return i;
}

/* Removes the oldest record of the pair that has most. */
static void pool_evict(struct pool *p)
{
    must(p->heap_size > 0); /* DECISION-2 */
    const uint32_t number = p->heap[0];
    struct pair *pair = &p->pairs[number];
    const uint32_t i = pair->oldest;
    struct record_slot *slot = pool_slot(p, i);
    must(slot->number != 0 && slot->pair == number); /* DECISION-1 */
    pair->oldest = slot->pair_newer;
    if (pair->oldest == NONE)
        pair->newest = NONE;
    *(slot->older == NONE ? &p->oldest : &pool_slot(p, slot->older)->newer) = slot->newer;
    *(slot->newer == NONE ? &p->newest : &pool_slot(p, slot->newer)->older) = slot->older;
    uint32_t *at = pool_bucket(p, slot->number);
    while (*at != i)
        at = &pool_slot(p, *at)->bucket_next;
    *at = slot->bucket_next;
    slot->number = 0;
    slot->older = p->free;
    p->free = i;
    p->held--;
    if (--pair->held > 0) {
        heap_sink(p, 0);
        return;
    }
    heap_remove(p, 0);
    if (number != 0)
        pair_release(p, number);
}

static uint32_t pool_take_slot(struct pool *p)
{
    const uint32_t i = p->free;
    if (i == NONE) {
        must(p->used < p->count);
        return p->used++;
    }
    p->free = pool_slot(p, i)->older;
    return i;
}

static bool pool_is_full(const struct pool *p)
{
    return p->held == p->count;
}

/* Enters a new record, and returns its place. `number` is not 0. */
static void *pool_add(struct pool *p, uint64_t number, uint64_t order, uint32_t pair_number)
{
    struct pair *pair = &p->pairs[pair_number];
    const uint32_t i = pool_take_slot(p);
    struct record_slot *slot = pool_slot(p, i);
    uint32_t *bucket = pool_bucket(p, number);
    *slot = (struct record_slot){.number = number,
                                 .order = order,
                                 .older = p->newest,
                                 .newer = NONE,
                                 .pair_newer = NONE,
                                 .bucket_next = *bucket,
                                 .pair = pair_number};
    *bucket = i;
    *(p->newest == NONE ? &p->oldest : &pool_slot(p, p->newest)->newer) = i;
    p->newest = i;
    *(pair->newest == NONE ? &pair->oldest : &pool_slot(p, pair->newest)->pair_newer) = i;
    pair->newest = i;
    p->held++;
    if (pair->held++ == 0)
        heap_add(p, pair_number);
    else
        heap_rise(p, pair->heap_at);
    return slot + 1;
}

/* ---- records ---- */

struct records *records_create(size_t bytes)
{
    must(bytes >= RECORD_BYTES_MIN);
    struct records *r = must_calloc(1, sizeof *r);
    pool_init(&r->full, bytes - bytes / SHORT_PART, sizeof(struct decision_record));
    pool_init(&r->brief, bytes / SHORT_PART, sizeof(struct record_short));
    return r;
}

static void pool_deinit(struct pool *p)
{
    free(p->slots);
    free(p->buckets);
}

void records_destroy(struct records *r)
{
    if (r == NULL)
        return;
    pool_deinit(&r->full);
    pool_deinit(&r->brief);
    free(r);
}

/* The level of what has refused. */
static int64_t record_level(const struct decision_record *d)
{
    const struct admit_balances *b = &d->verdict.balances;
    switch (d->verdict.reason) {
    case ADMIT_REFUSED_KEY_RANGE:
        return b->cap_mcu;
    case ADMIT_REFUSED_ALLOCATION:
        return b->allocation_mcu;
    case ADMIT_REFUSED_NODE:
        return b->node_mcu;
    case ADMIT_REFUSED_TABLE:
        return d->rates.limit_level_mcu;
    default:
        return 0;
    }
}

static void record_set_level(struct decision_record *d, int64_t level_mcu)
{
    struct admit_balances *b = &d->verdict.balances;
    int64_t *const levels[ADMIT_REASONS] = {
        [ADMIT_REFUSED_KEY_RANGE] = &b->cap_mcu,
        [ADMIT_REFUSED_ALLOCATION] = &b->allocation_mcu,
        [ADMIT_REFUSED_NODE] = &b->node_mcu,
        [ADMIT_REFUSED_TABLE] = &d->rates.limit_level_mcu,
    };
    if (levels[d->verdict.reason] != NULL)
        *levels[d->verdict.reason] = level_mcu;
}

static void record_shorten(struct record_short *s, const struct decision_record *d)
{
    const struct slice table = record_text(d, RECORD_TABLE);
    *s = (struct record_short){.outcome = d->outcome,
                               .causes = d->causes,
                               .kind = d->kind,
                               .reason = (uint8_t)d->verdict.reason,
                               .cause = (uint8_t)d->verdict.cause,
                               .table_size = (uint8_t)MIN(table.size, RECORD_TABLE_MAX_SHORT),
                               .wall_ms = d->wall_ms,
                               .operation = d->operation,
                               .partition = d->partition,
                               .node = d->node,
                               .table_id = d->table_id,
                               .member = d->verdict.member,
                               .index = d->verdict.index,
                               .status = d->status,
                               .cost_mcu = d->cost_mcu,
                               .wait_ns = d->verdict.wait.ns,
                               .level_mcu = record_level(d)};
    memcpy(s->id, d->id, sizeof s->id);
    if (s->table_size > 0)
        memcpy(s->table, table.data, s->table_size);
}

static void record_lengthen(struct decision_record *d, const struct record_short *s,
                            uint64_t number)
{
    *d = (struct decision_record){.outcome = s->outcome,
                                  .causes = s->causes,
                                  .number = number,
                                  .wall_ms = s->wall_ms,
                                  .operation = s->operation,
                                  .partition = s->partition,
                                  .node = s->node,
                                  .table_id = s->table_id,
                                  .status = s->status,
                                  .kind = s->kind,
                                  .short_form = true,
                                  .cost_mcu = s->cost_mcu,
                                  .item_bytes = -1,
                                  .verdict = {.reason = (enum admit_reason)s->reason,
                                              .cause = (enum admit_reason)s->cause,
                                              .member = s->member,
                                              .index = s->index,
                                              .wait.ns = s->wait_ns}};
    memcpy(d->id, s->id, sizeof d->id);
    record_set_level(d, s->level_mcu);
    record_add_text(d, RECORD_TABLE, slice_make(s->table, s->table_size), RECORD_TABLE_MAX_SHORT);
    for (int i = 0; i < RECORD_MOMENTS; i++)
        d->moments_us[i] = RECORD_NEVER;
}

void records_add(struct records *r, const struct decision_record *d)
{
    const uint64_t key = pair_key_of(d), number = d->number != 0 ? d->number : 1;
    const uint32_t pair = pair_of(&r->full, key);
    r->order++;
    if (pair_has_room(&r->full.pairs[pair], d->wall_ms / 1000)) {
        if (pool_is_full(&r->full))
            pool_evict(&r->full);
        r->added_full++;
        /* the pair itself may have lost its last record */
        struct decision_record *to = pool_add(&r->full, number, r->order, pair_of(&r->full, key));
        *to = *d;
        to->short_form = false;
        return;
    }
    if (pool_is_full(&r->brief))
        pool_evict(&r->brief);
    r->added_brief++;
    record_shorten(pool_add(&r->brief, number, r->order, pair_of(&r->brief, key)), d);
}

uint32_t records_attempts(const struct records *r, const struct decision_record *d,
                          struct decision_record out[], uint32_t max)
{
    const struct pool *p = &r->full;
    uint32_t count = 0;
    for (uint32_t i = p->newest; i != NONE && count < max && d->invocation != 0;
         i = pool_slot(p, i)->older) {
        const struct decision_record *other = pool_record(p, i);
        if (other->invocation == d->invocation && other->number != d->number)
            out[count++] = *other;
    }
    return count;
}

static void pool_read(const struct pool *p, bool is_full, uint32_t i, struct decision_record *out)
{
    if (is_full)
        *out = *(const struct decision_record *)pool_record(p, i);
    else
        record_lengthen(out, pool_record(p, i), pool_slot(p, i)->number);
}

bool records_find(const struct records *r, uint64_t number, struct decision_record *out)
{
    number = number != 0 ? number : 1;
    uint32_t i = pool_find(&r->full, number);
    if (i != NONE) {
        pool_read(&r->full, true, i, out);
        return true;
    }
    i = pool_find(&r->brief, number);
    if (i != NONE)
        pool_read(&r->brief, false, i, out);
    return i != NONE;
}

bool records_next(const struct records *r, struct records_cursor *at, struct decision_record *out)
{
    const struct pool *const pools[2] = {&r->full, &r->brief};
    if (!at->begun)
        *at = (struct records_cursor){{r->full.newest, r->brief.newest}, true};
    const bool has[2] = {at->next[0] != NONE, at->next[1] != NONE};
    if (!has[0] && !has[1])
        return false;
    const int which = !has[0] || (has[1] && pool_slot(pools[1], at->next[1])->order >
                                                pool_slot(pools[0], at->next[0])->order);
    pool_read(pools[which], which == 0, at->next[which], out);
    at->next[which] = pool_slot(pools[which], at->next[which])->older;
    return true;
}

static int64_t pool_oldest_ms(const struct pool *p, bool is_full)
{
    struct decision_record oldest;
    if (p->oldest == NONE)
        return INT64_MAX;
    pool_read(p, is_full, p->oldest, &oldest);
    return oldest.wall_ms;
}

struct records_counts records_count(const struct records *r)
{
    const int64_t oldest = MIN(pool_oldest_ms(&r->full, true), pool_oldest_ms(&r->brief, false));
    return (struct records_counts){.full = r->added_full,
                                   .brief = r->added_brief,
                                   .held = r->full.held + r->brief.held,
                                   .oldest_ms = oldest == INT64_MAX ? 0 : oldest};
}

/* ---- checks, for tests ---- */

static void pool_check(const struct pool *p)
{
    uint32_t held = 0, in_order = 0;
    for (uint32_t i = 0; i < p->heap_size; i++) {
        const struct pair *pair = &p->pairs[p->heap[i]];
        uint32_t of_pair = 0;
        must(pair->heap_at == i);
        must(pair->held > 0);
        must(i == 0 || p->pairs[p->heap[(i - 1) / 2]].held >= pair->held); /* DECISION-2 */
        for (uint32_t k = pair->oldest; k != NONE; k = pool_slot(p, k)->pair_newer) {
            must(pool_slot(p, k)->pair == p->heap[i]); /* DECISION-1 */
            must(pool_find(p, pool_slot(p, k)->number) != NONE);
            of_pair++;
        }
        must(of_pair == pair->held);
        held += of_pair;
    }
    for (uint32_t i = p->newest; i != NONE; i = pool_slot(p, i)->older)
        in_order++;
    must(held == p->held && in_order == p->held); /* DECISION-1 */
}

void records_check(const struct records *r)
{
    pool_check(&r->full);
    pool_check(&r->brief);
}
