/* bucket_cache.c - the router's cache of buckets. */
#include "router/limiter/bucket_cache.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/settings/limiter.h"
#include "router/limiter/bucket_maintenance.h"
#include "router/limiter/bucket_sweeper.h"

enum {
    RETRY_MS = 5, /* while a transaction has an item */
    /* After its share got smaller, a shard that was short of write units stays so for a while, even
     * if it is asked for less now than it may take. */
    SETTLE_EMPTY_MS = 500,
    SETTLE_LOW_MS = 1000,
    WRITES_LOW = LIMITER_WRITES_MWCU / 5,
    BACKOFF_MS_MAX = LIMITER_SHARD_FRESH_MS / 2,
    BACKOFF_FRACTION = 8
};

_Static_assert(LIMITER_SHARDS_MAX == 1 << (LIMITER_SIZES - 1), "each number of shards has a place");

/* Whether no request of this router is on its way to a shard. */
static bool bucket_is_quiet(const struct cached_bucket *b)
{
    bool quiet = true;
    for (uint32_t i = 0; i < b->shards_allocated; i++) {
        quiet = quiet && !b->shards[i].in_transaction;
        for (uint32_t k = 0; k < LIMITER_LIMITS_MAX; k++)
            quiet = quiet && b->shards[i].in_flight[k] == 0;
    }
    return quiet;
}

static inline void bucket_check(const struct cached_bucket *b)
{
    must((b->shard_map.count & (b->shard_map.count - 1)) == 0); /* shards are masked */
    must(b->shard_map.count <= LIMITER_SHARDS_MAX);
    must(b->shards_allocated <= LIMITER_SHARDS_MAX);
    must(b->limits.count <= LIMITER_LIMITS_MAX);
    must(b->unreported_refusals >= 0);
}

/* ---- life ---- */

void limiter_init(struct router *r)
{
    struct limiter *l = must_calloc(1, sizeof *l);
    TAILQ_INIT(&l->lru);
    LIST_INIT(&l->maintenance_calls);
    LIST_INIT(&l->event_calls);
    TAILQ_INIT(&l->queue);
    timer_queue_init(&l->queue_timers, duration_ms(0)); /* in the next tick */
    timer_queue_init(&l->retry_timers, duration_ms(RETRY_MS));
    timer_queue_init(&l->deadline_timers,
                     duration_ms(config_limiter(r->config)->limiter_deadline_ms));
    timer_queue_init(&l->check_timers, duration_ms(config_limiter(r->config)->limiter_refresh_ms));
    r->limiter = l;
}

static void bucket_destroy(struct router *r, struct cached_bucket *b)
{
    must(b->ref_count == 0);
    must(!b->in_maintenance);
    must(r->limiter->count > 0);
    must_in_tests(bucket_is_quiet(b));
    TAILQ_REMOVE(&r->limiter->lru, b, lru_entry);
    id_map_remove(&r->limiter->buckets, b->hash);
    r->limiter->count--;
    buffer_deinit(&b->name_bytes);
    buffer_deinit(&b->names);
    free(b->shards);
    free(b);
}

void limiter_deinit(struct router *r)
{
    struct cached_bucket *b;
    maintenance_end_all(r);
    sweeper_end(r);
    while ((b = TAILQ_FIRST(&r->limiter->lru)) != NULL)
        bucket_destroy(r, b);
    must(r->limiter->count == 0);
    must(TAILQ_EMPTY(&r->limiter->queue));
    timer_stop(&r->limiter->check_timer);
    timer_stop(&r->limiter->queue_timer);
    id_map_deinit(&r->limiter->buckets);
    buffer_deinit(&r->limiter->sweep_key);
    free(r->limiter);
}

/* ---- finding ---- */

static bool bucket_name_equal(const struct bucket_name *a, const struct bucket_name *b)
{
    return slice_equal(a->name_space, b->name_space) && slice_equal(a->entity, b->entity) &&
           slice_equal(a->resource, b->resource);
}

/* Seeded: clients choose the names. */
static uint64_t bucket_name_hash(const struct router *r, const struct bucket_name *n)
{
    uint64_t h = XXH3_64bits_withSeed(n->name_space.data, n->name_space.size, r->hash_seed);
    h = XXH3_64bits_withSeed(n->entity.data, n->entity.size, h);
    h = XXH3_64bits_withSeed(n->resource.data, n->resource.size, h);
    return h | 1;
}

/* Makes room: the bucket that was not used for the longest time goes. */
static void limiter_evict(struct router *r)
{
    struct cached_bucket *b = TAILQ_FIRST(&r->limiter->lru);
    while (b != NULL && b->ref_count > 0)
        b = TAILQ_NEXT(b, lru_entry);
    if (b != NULL)
        bucket_destroy(r, b);
}

static struct cached_bucket *bucket_create(struct router *r, const struct bucket_name *name,
                                           uint64_t hash)
{
    struct cached_bucket *b = must_calloc(1, sizeof *b);
    if (r->limiter->count >= config_limiter(r->config)->limiter_buckets_max)
        limiter_evict(r);
    b->hash = hash;
    buffer_append_slice(&b->name_bytes, name->name_space);
    buffer_append_slice(&b->name_bytes, name->entity);
    buffer_append_slice(&b->name_bytes, name->resource);
    const uint8_t *text = b->name_bytes.data;
    b->name.name_space = slice_make(text, name->name_space.size);
    b->name.entity = slice_make(text + name->name_space.size, name->entity.size);
    b->name.resource =
        slice_make(text + name->name_space.size + name->entity.size, name->resource.size);
    b->next_shard = (uint32_t)prng_next(&r->prng);
    id_map_add(&r->limiter->buckets, hash, b);
    TAILQ_INSERT_TAIL(&r->limiter->lru, b, lru_entry);
    r->limiter->count++;
    must(r->limiter->count == r->limiter->buckets.count);
    return b;
}

struct cached_bucket *bucket_hold(struct router *r, const struct bucket_name *name)
{
    uint64_t hash = bucket_name_hash(r, name);
    struct cached_bucket *b = id_map_find(&r->limiter->buckets, hash);
    while (b != NULL && !bucket_name_equal(&b->name, name)) { /* equal hashes */
        hash += 2;
        b = id_map_find(&r->limiter->buckets, hash);
    }
    if (b == NULL) {
        b = bucket_create(r, name, hash);
    } else {
        TAILQ_REMOVE(&r->limiter->lru, b, lru_entry);
        TAILQ_INSERT_TAIL(&r->limiter->lru, b, lru_entry);
    }
    b->ref_count++;
    return b;
}

void bucket_release(UNUSED struct router *r, struct cached_bucket *b)
{
    must(b->ref_count > 0);
    b->ref_count--;
}

/* ---- limits ---- */

static struct slice limit_name_copy(struct buffer *names, struct slice s)
{
    const size_t at = names->size;
    buffer_append_slice(names, s);
    return slice_make(names->data + at, s.size);
}

static size_t limit_names_size(const struct limit_scope_item *from, struct slice parent)
{
    size_t size = parent.size + 1;
    for (uint32_t i = 0; i < from->limits.count; i++)
        size += from->limits.at[i].name.size;
    return size;
}

void bucket_configure(struct router *r, struct cached_bucket *b,
                      const struct slice items[LIMIT_SCOPES])
{
    must(b->ref_count > 0);
    struct limit_scope_item at[LIMIT_SCOPES], none = {0};
    const struct limit_scope_item *from = &none;
    uint64_t version = 0;
    enum on_unavailable unavailable = ON_UNAVAILABLE_UNSET;
    for (uint32_t i = 0; i < LIMIT_SCOPES; i++)
        limit_scope_read(items[i], &at[i]);
    b->scope = LIMIT_SCOPE_SYSTEM;
    for (uint32_t i = 0; i < LIMIT_SCOPE_PARENT; i++) {
        version += at[i].version;
        if (unavailable == ON_UNAVAILABLE_UNSET)
            unavailable = at[i].on_unavailable;
        if (from->limits.count == 0 && at[i].limits.count > 0) {
            from = &at[i];
            b->scope = (enum limit_scope)i;
        }
    }
    if (!b->configured || version != b->limits.version)
        for (uint32_t i = 0; i < b->shards_allocated; i++)
            b->shards[i].is_valid = false; /* balances are in the order of the limits */
    const struct slice parent =
        at[LIMIT_SCOPE_PARENT].cascade ? at[LIMIT_SCOPE_PARENT].parent : none.parent;
    buffer_clear(&b->names);
    /* names borrow: it must not move */
    const uint8_t *names = buffer_reserve(&b->names, limit_names_size(from, parent));
    b->limits = from->limits;
    b->limits.version = version;
    for (uint32_t i = 0; i < b->limits.count; i++)
        b->limits.at[i].name = limit_name_copy(&b->names, from->limits.at[i].name);
    b->parent = limit_name_copy(&b->names, parent);
    must(b->names.data == names);
    must(b->scope < LIMIT_SCOPE_PARENT);
    bucket_check(b);
    b->on_unavailable = unavailable;
    b->configured = true;
    b->limits_valid_until =
        instant_add(r->now, duration_ms(config_limiter(r->config)->limiter_limits_ms));
}

/* The limits are asked for before they are used again. */
static void bucket_expire_limits(struct cached_bucket *b)
{
    b->limits_valid_until = (struct instant){0};
}

void limiter_expire_limits(struct router *r, const struct bucket_name *of)
{
    struct cached_bucket *b;
    TAILQ_FOREACH (b, &r->limiter->lru, lru_entry) {
        if (slice_equal(b->name.name_space, of->name_space) &&
            (of->entity.size == 0 || slice_equal(b->name.entity, of->entity)) &&
            (of->resource.size == 0 || slice_equal(b->name.resource, of->resource)))
            bucket_expire_limits(b);
    }
}

uint32_t bucket_find_limit(const struct cached_bucket *b, struct slice name)
{
    uint32_t i = 0;
    while (i < b->limits.count && !slice_equal(b->limits.at[i].name, name))
        i++;
    return i;
}

/* ---- shards ---- */

struct cached_shard *bucket_shard(struct cached_bucket *b, uint32_t shard)
{
    must(shard < LIMITER_SHARDS_MAX);
    if (shard >= b->shards_allocated) {
        const uint32_t count = shard < 1 ? 1 : 2 * (1U << (31 - __builtin_clz(shard)));
        b->shards = must_have(realloc(b->shards, count * sizeof *b->shards));
        memset(b->shards + b->shards_allocated, 0,
               (count - b->shards_allocated) * sizeof *b->shards);
        b->shards_allocated = count;
    }
    must(shard < b->shards_allocated);
    must(b->shards_allocated <= LIMITER_SHARDS_MAX);
    return &b->shards[shard];
}

void bucket_expire_shard_map(const struct router *r, struct cached_bucket *b)
{
    if (b->shard_map.epoch == 0 ||
        instant_since(r->now, b->shard_map_read_at).ns < duration_ms(LIMITER_SHARD_MAP_TTL_MS).ns)
        return;
    b->shard_map = (struct limiter_shard_map){0};
    b->merging = false;
    for (uint32_t i = 0; i < b->shards_allocated; i++)
        b->shards[i].is_valid = false;
}

bool bucket_shard_is_hot(const struct router *r, const struct cached_bucket *b, uint32_t shard,
                         bool empty)
{
    if (shard >= b->shards_allocated)
        return false;
    const struct cached_shard *k = &b->shards[shard];
    const int64_t changed_ms = MAX(k->changed_ms, b->changed_ms);
    const int64_t settle_ms = empty ? SETTLE_EMPTY_MS : SETTLE_LOW_MS;
    const struct instant changed =
        instant_before(k->changed_at, b->changed_at) ? b->changed_at : k->changed_at;
    /* The clocks of router and leader may differ by minutes: only readings of one are compared. */
    const bool settled = k->at_ms - changed_ms >= settle_ms ||
                         instant_since(r->now, changed).ns >= duration_ms(settle_ms).ns;
    return (empty || k->write_tokens < WRITES_LOW) && settled;
}

uint32_t bucket_shard_count(const struct cached_bucket *b)
{
    return b->shard_map.count > 0 ? b->shard_map.count : 1;
}

/* Its balances, in the order of the bucket's limits. */
static void shard_set_balances(const struct cached_bucket *b, struct cached_shard *k,
                               const struct limiter_bucket *item)
{
    k->is_valid = item->limits.version == b->limits.version && !item->sealed;
    for (uint32_t i = 0; i < item->limits.count; i++) {
        const uint32_t at = bucket_find_limit(b, item->limits.at[i].name);
        if (at == b->limits.count)
            k->is_valid = false;
        else
            k->balances[at] = item->balances[i];
    }
    k->is_valid &= item->limits.count == b->limits.count;
}

static void bucket_set_shards(const struct router *r, struct cached_bucket *b,
                              const struct limiter_bucket *first, struct instant requested_at)
{
    must(first->shard == 0);
    must(first->shard_map.epoch >= b->shard_map.epoch); /* CACHE-1 */
    b->shard_map = first->shard_map;
    b->shard_map_read_at = requested_at;
    b->merging = first->merging;
    if (b->changed_ms != first->changed_ms)
        b->changed_at = r->now;
    b->changed_ms = first->changed_ms;
    must(b->shard_map.count > 0);
    bucket_check(b);
}

bool bucket_update_from_shard(struct router *r, struct cached_bucket *b, uint32_t shard,
                              struct slice item, struct instant requested_at, int64_t leader_ms,
                              struct limiter_bucket *out)
{
    must(b->ref_count > 0);
    must(!instant_before(r->now, requested_at)); /* CACHE-2 */
    struct cached_shard *k = bucket_shard(b, shard);
    if (!limiter_bucket_decode(item, out) || out->shard != shard) {
        k->is_valid = false;
        return false;
    }
    k->requested_at = requested_at;
    k->by_transaction = false;
    k->at_ms = leader_ms > 0 ? leader_ms : out->write_balance.at_ms;
    k->shards = out->shards;
    k->epoch = out->epoch;
    k->version = out->limits.version;
    k->write_tokens = out->write_balance.tokens;
    if (k->changed_ms != out->changed_ms)
        k->changed_at = r->now;
    k->changed_ms = out->changed_ms;
    k->requests = out->admitted + out->refused;
    shard_set_balances(b, k, out);
    if (shard == 0 && out->shard_map.epoch > b->shard_map.epoch) {
        b->idle_since =
            r->now; /* not by wall clocks: they may differ by more than limiter_merge_ms */
        b->check_from = (struct instant){0};
        b->check_interval_ms = 0;
    }
    if (shard == 0 && out->shard_map.epoch >= b->shard_map.epoch)
        bucket_set_shards(r, b, out, requested_at);
    if (out->limits.version > b->limits.version && b->configured)
        bucket_expire_limits(b);
    return true;
}

void bucket_update_from_sweep(struct router *r, struct cached_bucket *b,
                              const struct limiter_bucket *first)
{
    if (first->shard_map.epoch > b->shard_map.epoch)
        bucket_set_shards(r, b, first, r->now);
}

/* ---- balances ---- */

void bucket_add_in_flight(struct cached_bucket *b, uint32_t shard, const int64_t amounts[],
                          int sign)
{
    struct cached_shard *k = bucket_shard(b, shard);
    must(sign == 1 || sign == -1);
    for (uint32_t i = 0; i < LIMITER_LIMITS_MAX; i++) {
        k->in_flight[i] += amounts[i] > 0 ? sign * amounts[i] : 0;
        must(k->in_flight[i] >= 0); /* a request is answered once */
    }
}

void bucket_return_charge(struct cached_bucket *b, uint32_t shard, const int64_t amounts[],
                          int64_t mwcu)
{
    struct cached_shard *k = bucket_shard(b, shard);
    must(mwcu >= 0);
    for (uint32_t i = 0; i < b->limits.count && k->is_valid; i++) {
        const int64_t full = limiter_share(b->limits.at[i].capacity, shard, k->shards);
        const int64_t tokens = k->balances[i].tokens + amounts[i];
        k->balances[i].tokens = MIN(tokens, full);
    }
    k->write_tokens += mwcu;
}

/* An eighth of the time in which the share fills. */
static int64_t shard_backoff_ms_max(const struct cached_bucket *b, const int64_t amounts[])
{
    int64_t max_ms = BACKOFF_MS_MAX;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        const struct limiter_limit *l = &b->limits.at[i];
        const int64_t fill_ms = limiter_refill_ms(l->capacity, l->amount, l->period_ms);
        if (amounts[i] > 0 && fill_ms / BACKOFF_FRACTION < max_ms)
            max_ms = fill_ms / BACKOFF_FRACTION;
    }
    must(max_ms >= 0);
    return max_ms;
}

static bool shard_has_tokens(const struct cached_shard *k, const struct cached_bucket *b,
                             const int64_t amounts[])
{
    for (uint32_t i = 0; i < b->limits.count; i++) {
        if (amounts[i] > 0 && k->balances[i].tokens < amounts[i])
            return false;
    }
    return true;
}

void bucket_update_backoff(const struct router *r, struct cached_bucket *b, uint32_t shard,
                           const int64_t amounts[], struct instant requested_at, bool done)
{
    struct cached_shard *k = bucket_shard(b, shard);
    const int64_t max_ms = shard_backoff_ms_max(b, amounts), doubled_ms = 2 * k->backoff_ms + 1;
    if (!k->is_valid ||
        instant_before(requested_at, k->backoff_until)) /* it was sent before the backoff */
        return;
    if (!done)
        k->backoff_ms = MIN(doubled_ms, max_ms);
    else if (k->backoff_until.ns != 0)
        k->backoff_ms -= (k->backoff_ms + BACKOFF_FRACTION - 1) / BACKOFF_FRACTION;
    k->backoff_until = shard_has_tokens(k, b, amounts) ? (struct instant){0}
                                                       : instant_add_ms(r->now, k->backoff_ms);
    must(k->backoff_ms >= 0);
    must(k->backoff_ms <= BACKOFF_MS_MAX); /* CACHE-3 */
}

/* Had the shard been charged at once, the hidden limit would have refilled since. */
void bucket_add_deferred_cost(const struct router *r, struct cached_bucket *b, uint32_t shard,
                              int64_t mcu)
{
    struct cached_shard *k = bucket_shard(b, shard);
    const int64_t since_ms = instant_since(r->now, k->deferred_at).ns / NS_PER_MS;
    const int64_t refilled =
        since_ms >= 1000 ? LIMITER_WRITES_MWCU : since_ms * LIMITER_WRITES_MWCU / 1000;
    k->deferred_cost_mwcu =
        (k->deferred_cost_mwcu > refilled ? k->deferred_cost_mwcu - refilled : 0) + mcu;
    k->deferred_at = r->now;
}

/* Whether the cached shard is valid, and was read lately. */
static bool shard_is_fresh(const struct router *r, const struct cached_bucket *b, uint32_t shard)
{
    if (shard >= b->shards_allocated || !b->shards[shard].is_valid)
        return false;
    const struct cached_shard *k = &b->shards[shard];
    return k->shards == bucket_shard_count(b) &&
           instant_since(r->now, k->requested_at).ns <= duration_ms(LIMITER_SHARD_FRESH_MS).ns;
}

bool bucket_is_fresh(const struct router *r, const struct cached_bucket *b)
{
    for (uint32_t i = 0; i < bucket_shard_count(b); i++) {
        if (!shard_is_fresh(r, b, i) || b->shards[i].by_transaction)
            return false;
    }
    return true;
}

int64_t bucket_tokens_max(const struct router *r, const struct cached_bucket *b, uint32_t shard,
                          uint32_t limit)
{
    const uint32_t count = bucket_shard_count(b);
    must(limit < b->limits.count);
    must(shard < count);
    const struct limiter_limit *l = &b->limits.at[limit];
    const int64_t share = limiter_share(l->capacity, shard, count);
    const int64_t in_flight = shard < b->shards_allocated ? b->shards[shard].in_flight[limit] : 0;
    if (!shard_is_fresh(r, b, shard))
        return share - in_flight;
    const struct cached_shard *k = &b->shards[shard];
    const int64_t since_ms = instant_before(r->now, k->backoff_until)
                                 ? 0
                                 : instant_since(r->now, k->requested_at).ns / NS_PER_MS + 1;
    struct limiter_balance balance = k->balances[limit];
    const int64_t now_ms = k->at_ms + since_ms;
    limiter_refill(&balance, l, shard, count, MAX(now_ms, balance.at_ms));
    return balance.tokens - in_flight;
}

int64_t bucket_tokens_max_total(const struct router *r, const struct cached_bucket *b,
                                uint32_t limit)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < bucket_shard_count(b); i++)
        sum += bucket_tokens_max(r, b, i, limit);
    return sum;
}

/* How long the router backs off from all shards (CACHE-3). */
static int64_t bucket_backoff_ms_min(const struct router *r, const struct cached_bucket *b)
{
    int64_t min_ms = BACKOFF_MS_MAX;
    for (uint32_t i = 0; i < bucket_shard_count(b); i++) {
        const bool paused =
            i < b->shards_allocated && instant_before(r->now, b->shards[i].backoff_until);
        const int64_t ms =
            paused ? instant_since(b->shards[i].backoff_until, r->now).ns / NS_PER_MS + 1 : 0;
        min_ms = MIN(ms, min_ms);
    }
    return min_ms;
}

int64_t bucket_wait_ms(const struct router *r, const struct cached_bucket *b, uint32_t limit,
                       int64_t mtok)
{
    must(limit < b->limits.count);
    const struct limiter_limit *l = &b->limits.at[limit];
    const int64_t missing = mtok - bucket_tokens_max_total(r, b, limit);
    if (mtok > l->capacity)
        return -1;
    if (missing <= 0)
        return 0;
    const int64_t pause_ms = bucket_backoff_ms_min(r, b);
    const int64_t wait_ms = limiter_refill_ms(missing, l->amount, l->period_ms);
    must(wait_ms <= LIMITER_WAIT_MS_MAX);
    return MAX(wait_ms, pause_ms);
}

int64_t bucket_shard_wait_ms(const struct router *r, const struct cached_bucket *b,
                             const int64_t amounts[])
{
    const uint32_t count = bucket_shard_count(b);
    int64_t least = LIMITER_WAIT_MS_MAX;
    for (uint32_t shard = 0; shard < count; shard++) {
        const bool paused =
            shard < b->shards_allocated && instant_before(r->now, b->shards[shard].backoff_until);
        int64_t longest =
            paused ? instant_since(b->shards[shard].backoff_until, r->now).ns / NS_PER_MS + 1 : 0;
        for (uint32_t i = 0; i < b->limits.count; i++) {
            const struct limiter_balance known = {.tokens = bucket_tokens_max(r, b, shard, i)};
            const int64_t ms =
                amounts[i] > 0 ? limiter_wait_ms(&known, &b->limits.at[i], shard, count, amounts[i])
                               : 0;
            longest = MAX(ms, longest);
        }
        least = MIN(longest, least);
    }
    return least;
}

/* ---- counts ---- */

struct metrics_limiter *limiter_counts(struct router *r, struct slice name)
{
    struct limiter *l = r->limiter;
    for (uint32_t i = 0; i < l->namespace_count; i++) {
        if (slice_is(name, l->namespaces[i].name))
            return &l->namespaces[i].counts;
    }
    if (l->namespace_count == LIMITER_NAMESPACES_MAX)
        return &l->namespaces[LIMITER_NAMESPACES_MAX - 1].counts;
    struct namespace_counts *s = &l->namespaces[l->namespace_count++];
    if (l->namespace_count == LIMITER_NAMESPACES_MAX)
        name = slice_of("(others)");
    must(name.size <= LIMITER_NAMESPACE_MAX);
    memcpy(s->name, name.data, name.size);
    s->name[name.size] = '\0';
    return &s->counts;
}
