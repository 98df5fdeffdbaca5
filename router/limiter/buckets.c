/* buckets.c - the router's memory of buckets. */
#include "router/limiter/buckets.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/settings/limiter.h"
#include "router/limiter/patrol.h"
#include "router/limiter/tend.h"

enum {
    PAUSE_MS = 5, /* while a transaction has an item */
    /* After its share got smaller, a shard that was short of write units stays so for a while, even if it
     * is asked for less now than it may take. */
    SETTLE_EMPTY_MS = 500,
    SETTLE_LOW_MS = 1000,
    WRITES_LOW = LIMITER_WRITES_MWCU / 5,
    PAUSE_MOST_MS = LIMITER_HEARD_MS / 2,
    PAUSE_PART = 8
};

/* ---- life ---- */

void limiter_init(struct router *r)
{
    struct limiter *l = must_calloc(1, sizeof *l);
    TAILQ_INIT(&l->used);
    LIST_INIT(&l->tends);
    LIST_INIT(&l->tells);
    TAILQ_INIT(&l->waiting);
    timer_queue_init(&l->turns, duration_ms(0)); /* in the next tick */
    timer_queue_init(&l->pauses, duration_ms(PAUSE_MS));
    timer_queue_init(&l->deadlines, duration_ms(config_limiter(r->config)->limiter_deadline_ms));
    timer_queue_init(&l->looks, duration_ms(config_limiter(r->config)->limiter_look_ms));
    r->limiter = l;
}

static void bucket_destroy(struct router *r, struct known_bucket *b)
{
    must(b->uses == 0);
    TAILQ_REMOVE(&r->limiter->used, b, used);
    id_map_remove(&r->limiter->buckets, b->hash);
    r->limiter->count--;
    buffer_deinit(&b->text);
    buffer_deinit(&b->words);
    free(b->at);
    free(b);
}

void limiter_deinit(struct router *r)
{
    struct known_bucket *b;
    tend_end_all(r);
    patrol_end(r);
    while ((b = TAILQ_FIRST(&r->limiter->used)) != NULL)
        bucket_destroy(r, b);
    timer_stop(&r->limiter->look);
    timer_stop(&r->limiter->turn);
    id_map_deinit(&r->limiter->buckets);
    buffer_deinit(&r->limiter->patrol_from);
    free(r->limiter);
}

/* ---- finding ---- */

static bool name_is(const struct bucket_name *a, const struct bucket_name *b)
{
    return slice_equal(a->space, b->space) && slice_equal(a->entity, b->entity) &&
           slice_equal(a->resource, b->resource);
}

/* Seeded: clients choose the names. */
static uint64_t name_hash(const struct router *r, const struct bucket_name *n)
{
    uint64_t h = XXH3_64bits_withSeed(n->space.data, n->space.size, r->hash_seed);
    h = XXH3_64bits_withSeed(n->entity.data, n->entity.size, h);
    h = XXH3_64bits_withSeed(n->resource.data, n->resource.size, h);
    return h | 1;
}

/* Makes room: the bucket that was not used for the longest time goes. */
static void limiter_evict(struct router *r)
{
    struct known_bucket *b = TAILQ_FIRST(&r->limiter->used);
    while (b != NULL && b->uses > 0)
        b = TAILQ_NEXT(b, used);
    if (b != NULL)
        bucket_destroy(r, b);
}

static struct known_bucket *bucket_make(struct router *r, const struct bucket_name *name,
                                        uint64_t hash)
{
    struct known_bucket *b = must_calloc(1, sizeof *b);
    if (r->limiter->count >= config_limiter(r->config)->limiter_buckets_max)
        limiter_evict(r);
    b->hash = hash;
    buffer_append_slice(&b->text, name->space);
    buffer_append_slice(&b->text, name->entity);
    buffer_append_slice(&b->text, name->resource);
    const uint8_t *text = b->text.data;
    b->name.space = slice_make(text, name->space.size);
    b->name.entity = slice_make(text + name->space.size, name->entity.size);
    b->name.resource = slice_make(text + name->space.size + name->entity.size, name->resource.size);
    b->turn = (uint32_t)prng_next(&r->prng);
    id_map_add(&r->limiter->buckets, hash, b);
    TAILQ_INSERT_TAIL(&r->limiter->used, b, used);
    r->limiter->count++;
    return b;
}

struct known_bucket *bucket_hold(struct router *r, const struct bucket_name *name)
{
    uint64_t hash = name_hash(r, name);
    struct known_bucket *b = id_map_find(&r->limiter->buckets, hash);
    while (b != NULL && !name_is(&b->name, name)) { /* equal hashes */
        hash += 2;
        b = id_map_find(&r->limiter->buckets, hash);
    }
    if (b == NULL) {
        b = bucket_make(r, name, hash);
    } else {
        TAILQ_REMOVE(&r->limiter->used, b, used);
        TAILQ_INSERT_TAIL(&r->limiter->used, b, used);
    }
    b->uses++;
    return b;
}

void bucket_release(struct router *r, struct known_bucket *b)
{
    (void)r;
    must(b->uses > 0);
    b->uses--;
}

/* ---- limits ---- */

static struct slice keep(struct buffer *words, struct slice s)
{
    const size_t at = words->size;
    buffer_append_slice(words, s);
    return slice_make(words->data + at, s.size);
}

static size_t words_size(const struct level_item *from, struct slice parent)
{
    size_t size = parent.size + 1;
    for (uint32_t i = 0; i < from->limits.count; i++)
        size += from->limits.at[i].name.size;
    return size;
}

void bucket_configure(struct router *r, struct known_bucket *b, const struct slice items[LEVELS])
{
    struct level_item at[LEVELS], none = {0};
    const struct level_item *from = &none;
    uint64_t version = 0;
    enum on_unavailable unavailable = ON_UNAVAILABLE_UNSAID;
    for (uint32_t i = 0; i < LEVELS; i++)
        level_read(items[i], &at[i]);
    b->level = LEVEL_SYSTEM;
    for (uint32_t i = 0; i < LEVEL_META; i++) {
        version += at[i].version;
        if (unavailable == ON_UNAVAILABLE_UNSAID)
            unavailable = at[i].on_unavailable;
        if (from->limits.count == 0 && at[i].limits.count > 0) {
            from = &at[i];
            b->level = (enum level)i;
        }
    }
    if (!b->configured || version != b->limits.version)
        for (uint32_t i = 0; i < b->at_count; i++)
            b->at[i].heard = false; /* levels are in the order of the limits */
    const struct slice parent = at[LEVEL_META].cascade ? at[LEVEL_META].parent : none.parent;
    buffer_clear(&b->words);
    buffer_reserve(&b->words, words_size(from, parent)); /* names borrow: it must not move */
    b->limits = from->limits;
    b->limits.version = version;
    for (uint32_t i = 0; i < b->limits.count; i++)
        b->limits.at[i].name = keep(&b->words, from->limits.at[i].name);
    b->parent = keep(&b->words, parent);
    b->on_unavailable = unavailable;
    b->configured = true;
    b->fresh_until = instant_add(r->now, duration_ms(config_limiter(r->config)->limiter_limits_ms));
}

void bucket_forget_limits(struct known_bucket *b)
{
    b->fresh_until = (struct instant){0};
}

void limiter_forget_limits(struct router *r, const struct bucket_name *of)
{
    struct known_bucket *b;
    TAILQ_FOREACH (b, &r->limiter->used, used) {
        if (slice_equal(b->name.space, of->space) &&
            (of->entity.size == 0 || slice_equal(b->name.entity, of->entity)) &&
            (of->resource.size == 0 || slice_equal(b->name.resource, of->resource)))
            bucket_forget_limits(b);
    }
}

uint32_t bucket_limit(const struct known_bucket *b, struct slice name)
{
    uint32_t i = 0;
    while (i < b->limits.count && !slice_equal(b->limits.at[i].name, name))
        i++;
    return i;
}

/* ---- shards ---- */

struct known_shard *bucket_shard(struct known_bucket *b, uint32_t shard)
{
    must(shard < LIMITER_SHARDS_MAX);
    if (shard >= b->at_count) {
        const uint32_t count = shard < 1 ? 1 : 2 * (1U << (31 - __builtin_clz(shard)));
        b->at = realloc(b->at, count * sizeof *b->at);
        must(b->at != NULL);
        memset(b->at + b->at_count, 0, (count - b->at_count) * sizeof *b->at);
        b->at_count = count;
    }
    return &b->at[shard];
}

void bucket_check_age(const struct router *r, struct known_bucket *b)
{
    if (b->shards.epoch == 0 ||
        instant_since(r->now, b->shards_heard).ns < duration_ms(LIMITER_SHARD_MAP_TTL_MS).ns)
        return;
    b->shards = (struct limiter_shard_map){0};
    b->merging = false;
    for (uint32_t i = 0; i < b->at_count; i++)
        b->at[i].heard = false;
}

bool bucket_is_pressed(const struct router *r, const struct known_bucket *b, uint32_t shard,
                       bool empty)
{
    if (shard >= b->at_count)
        return false;
    const struct known_shard *k = &b->at[shard];
    const int64_t changed_ms = k->changed_ms > b->changed_ms ? k->changed_ms : b->changed_ms;
    const int64_t settle_ms = empty ? SETTLE_EMPTY_MS : SETTLE_LOW_MS;
    const struct instant changed = instant_before(k->changed, b->changed) ? b->changed : k->changed;
    /* The clocks of router and leader may differ by minutes: only readings of one are compared. */
    const bool settled = (k->sure && k->at_ms - changed_ms >= settle_ms) ||
                         instant_since(r->now, changed).ns >= duration_ms(settle_ms).ns;
    return (empty || k->writes < WRITES_LOW) && settled;
}

uint32_t bucket_count(const struct known_bucket *b)
{
    return b->shards.count > 0 ? b->shards.count : 1;
}

/* Its levels, in the order of the bucket's limits. */
static void shard_take_levels(const struct known_bucket *b, struct known_shard *k,
                              const struct limiter_bucket *heard)
{
    k->heard = heard->limits.version == b->limits.version && !heard->sealed;
    for (uint32_t i = 0; i < heard->limits.count; i++) {
        const uint32_t at = bucket_limit(b, heard->limits.at[i].name);
        if (at == b->limits.count)
            k->heard = false;
        else
            k->levels[at] = heard->balances[i];
    }
    k->heard &= heard->limits.count == b->limits.count;
}

static void bucket_set_shards(const struct router *r, struct known_bucket *b,
                              const struct limiter_bucket *first, struct instant asked)
{
    b->shards = first->shard_map;
    b->shards_heard = asked;
    b->merging = first->merging;
    if (b->changed_ms != first->changed_ms)
        b->changed = r->now;
    b->changed_ms = first->changed_ms;
}

bool bucket_heard(struct router *r, struct known_bucket *b, uint32_t shard, struct slice item,
                  struct instant asked, int64_t leader_ms, struct limiter_bucket *out)
{
    struct known_shard *k = bucket_shard(b, shard);
    if (!limiter_bucket_decode(item, out) || out->shard != shard) {
        k->heard = false;
        return false;
    }
    k->asked = asked;
    k->sure = leader_ms >= 0;
    k->at_ms = leader_ms > 0 ? leader_ms : k->sure ? out->write_balance.at_ms : router_wall_ms(r);
    k->shards = out->shards;
    k->epoch = out->epoch;
    k->version = out->limits.version;
    k->writes = out->write_balance.tokens;
    if (k->changed_ms != out->changed_ms)
        k->changed = r->now;
    k->changed_ms = out->changed_ms;
    k->requests = out->admitted + out->refused;
    shard_take_levels(b, k, out);
    if (shard == 0 && out->shard_map.epoch > b->shards.epoch) {
        b->idle_since =
            r->now; /* not by wall clocks: they may differ by more than limiter_merge_ms */
        b->look_from = (struct instant){0};
        b->look_pause_ms = 0;
    }
    if (shard == 0 && out->shard_map.epoch >= b->shards.epoch)
        bucket_set_shards(r, b, out, asked);
    if (out->limits.version > b->limits.version && b->configured)
        bucket_forget_limits(b);
    return true;
}

void bucket_seen(struct router *r, struct known_bucket *b, const struct limiter_bucket *first)
{
    if (first->shard_map.epoch > b->shards.epoch)
        bucket_set_shards(r, b, first, r->now);
}

/* ---- what can be there ---- */

void bucket_reckon(struct known_bucket *b, uint32_t shard, const int64_t amounts[], int sign)
{
    struct known_shard *k = bucket_shard(b, shard);
    for (uint32_t i = 0; i < LIMITER_LIMITS_MAX; i++)
        k->on_way[i] += amounts[i] > 0 ? sign * amounts[i] : 0;
}

void bucket_took(const struct router *r, struct known_bucket *b, uint32_t shard,
                 const int64_t amounts[], int64_t mwcu)
{
    struct known_shard *k = bucket_shard(b, shard);
    const int64_t now_ms = router_wall_ms(r), since_ms = now_ms - k->at_ms;
    for (uint32_t i = 0; i < b->limits.count && k->heard; i++) {
        const int64_t full = limiter_share(b->limits.at[i].capacity, shard, k->shards);
        const int64_t tokens = k->levels[i].tokens - amounts[i];
        k->levels[i].tokens = tokens < full ? tokens : full; /* amounts below 0 give back */
    }
    if (k->at_ms == 0 || since_ms >= 1000)
        k->writes = LIMITER_WRITES_MWCU;
    else if (since_ms > 0)
        k->writes += since_ms * 1000;
    k->writes = (k->writes < LIMITER_WRITES_MWCU ? k->writes : LIMITER_WRITES_MWCU) - mwcu;
    k->at_ms = now_ms > k->at_ms ? now_ms : k->at_ms;
    k->sure = false;
}

/* An eighth of the time in which the share fills. */
static int64_t shard_pause_most_ms(const struct known_bucket *b, const int64_t amounts[])
{
    int64_t most_ms = PAUSE_MOST_MS;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        const struct limiter_limit *l = &b->limits.at[i];
        const int64_t fill_ms = limiter_refill_ms(l->capacity, l->amount, l->period_ms);
        if (amounts[i] > 0 && fill_ms / PAUSE_PART < most_ms)
            most_ms = fill_ms / PAUSE_PART;
    }
    return most_ms;
}

static bool shard_has(const struct known_shard *k, const struct known_bucket *b,
                      const int64_t amounts[])
{
    for (uint32_t i = 0; i < b->limits.count; i++) {
        if (amounts[i] > 0 && k->levels[i].tokens < amounts[i])
            return false;
    }
    return true;
}

void bucket_learn_pause(const struct router *r, struct known_bucket *b, uint32_t shard,
                        const int64_t amounts[], struct instant asked, bool done)
{
    struct known_shard *k = bucket_shard(b, shard);
    const int64_t most_ms = shard_pause_most_ms(b, amounts), doubled_ms = 2 * k->pause_ms + 1;
    if (!k->heard || instant_before(asked, k->paused_until)) /* it was sent before the pause */
        return;
    if (!done)
        k->pause_ms = doubled_ms < most_ms ? doubled_ms : most_ms;
    else if (k->paused_until.ns != 0)
        k->pause_ms -= (k->pause_ms + PAUSE_PART - 1) / PAUSE_PART;
    k->paused_until =
        shard_has(k, b, amounts) ? (struct instant){0} : instant_add_ms(r->now, k->pause_ms);
}

/* Had the shard been charged at once, the hidden limit would have refilled since. */
void bucket_owe(const struct router *r, struct known_bucket *b, uint32_t shard, int64_t mcu)
{
    struct known_shard *k = bucket_shard(b, shard);
    const int64_t since_ms = instant_since(r->now, k->owed_at).ns / NS_PER_MS;
    const int64_t refilled =
        since_ms >= 1000 ? LIMITER_WRITES_MWCU : since_ms * LIMITER_WRITES_MWCU / 1000;
    k->owed_mwcu = (k->owed_mwcu > refilled ? k->owed_mwcu - refilled : 0) + mcu;
    k->owed_at = r->now;
}

/* Whether what was heard of the shard counts. */
static bool shard_is_known(const struct router *r, const struct known_bucket *b, uint32_t shard)
{
    if (shard >= b->at_count || !b->at[shard].heard)
        return false;
    const struct known_shard *k = &b->at[shard];
    return k->sure && k->shards == bucket_count(b) &&
           instant_since(r->now, k->asked).ns <= duration_ms(LIMITER_HEARD_MS).ns;
}

bool bucket_is_known(const struct router *r, const struct known_bucket *b)
{
    for (uint32_t i = 0; i < bucket_count(b); i++) {
        if (!shard_is_known(r, b, i))
            return false;
    }
    return true;
}

int64_t bucket_possible(const struct router *r, const struct known_bucket *b, uint32_t shard,
                        uint32_t limit)
{
    const struct limiter_limit *l = &b->limits.at[limit];
    const uint32_t count = bucket_count(b);
    const int64_t share = limiter_share(l->capacity, shard, count);
    const int64_t on_way = shard < b->at_count ? b->at[shard].on_way[limit] : 0;
    if (!shard_is_known(r, b, shard))
        return share - on_way;
    const struct known_shard *k = &b->at[shard];
    const int64_t since_ms = instant_before(r->now, k->paused_until)
                                 ? 0
                                 : instant_since(r->now, k->asked).ns / NS_PER_MS + 1;
    struct limiter_balance level = k->levels[limit];
    const int64_t now_ms = k->at_ms + since_ms;
    limiter_refill(&level, l, shard, count, now_ms > level.at_ms ? now_ms : level.at_ms);
    return level.tokens - on_way;
}

int64_t bucket_possible_in_all(const struct router *r, const struct known_bucket *b, uint32_t limit)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < bucket_count(b); i++)
        sum += bucket_possible(r, b, i, limit);
    return sum;
}

/* How long all shards are left alone (KNOWN-3). */
static int64_t bucket_pause_ms(const struct router *r, const struct known_bucket *b)
{
    int64_t least_ms = PAUSE_MOST_MS;
    for (uint32_t i = 0; i < bucket_count(b); i++) {
        const bool paused = i < b->at_count && instant_before(r->now, b->at[i].paused_until);
        const int64_t ms =
            paused ? instant_since(b->at[i].paused_until, r->now).ns / NS_PER_MS + 1 : 0;
        least_ms = ms < least_ms ? ms : least_ms;
    }
    return least_ms;
}

int64_t bucket_wait_ms(const struct router *r, const struct known_bucket *b, uint32_t limit,
                       int64_t mtok)
{
    const struct limiter_limit *l = &b->limits.at[limit];
    const int64_t missing = mtok - bucket_possible_in_all(r, b, limit);
    if (mtok > l->capacity)
        return -1;
    if (missing <= 0)
        return 0;
    const int64_t pause_ms = bucket_pause_ms(r, b);
    const int64_t wait_ms = limiter_refill_ms(missing, l->amount, l->period_ms);
    return wait_ms < pause_ms ? pause_ms : wait_ms;
}

/* ---- counts ---- */

struct metrics_limiter *limiter_counts(struct router *r, struct slice name)
{
    struct limiter *l = r->limiter;
    for (uint32_t i = 0; i < l->space_count; i++) {
        if (slice_is(name, l->spaces[i].name))
            return &l->spaces[i].counts;
    }
    if (l->space_count == LIMITER_SPACES_MAX)
        return &l->spaces[LIMITER_SPACES_MAX - 1].counts;
    struct space_counts *s = &l->spaces[l->space_count++];
    if (l->space_count == LIMITER_SPACES_MAX)
        name = slice_of("(others)");
    memcpy(s->name, name.data, name.size);
    s->name[name.size] = '\0';
    return &s->counts;
}
