/* limiter_fixture.c - commands on buckets in memory. */
#include "tests/support/limiter_fixture.h"

#include "base/must.h"
#include "tests/check.h"

void limiter_fixture_init(struct limiter_fixture *s, int64_t now_ms)
{
    *s = (struct limiter_fixture){.now_ms = now_ms, .limits = {.version = 1}};
}

void limiter_fixture_init_daily(struct limiter_fixture *s, int64_t now_ms)
{
    enum {
        DAY_MS = 24 * 60 * 60 * 1000
    };
    limiter_fixture_init(s, now_ms);
    limiter_fixture_limit(s, "rpd", 1000, 1000, DAY_MS);
}

void limiter_fixture_deinit(struct limiter_fixture *s)
{
    for (uint32_t i = 0; i < LIMITER_SHARDS_MAX; i++)
        buffer_deinit(&s->items[i]);
}

void limiter_fixture_limit(struct limiter_fixture *s, const char *name, int64_t capacity,
                           int64_t amount, int64_t period_ms)
{
    must(s->limits.count < LIMITER_LIMITS_MAX);
    s->limits.at[s->limits.count++] =
        (struct limiter_limit){.name = slice_of(name),
                               .capacity = 1000 * capacity,
                               .amount = 1000 * amount,
                               .period_ms = period_ms,
                               .request_min = LIMITER_REQUEST_MIN_MTOK};
    must(limiter_limits_fault(&s->limits) == NULL);
}

struct limiter_command limiter_fixture_command(const struct limiter_fixture *s,
                                               enum limiter_verb verb, uint32_t shard)
{
    return (struct limiter_command){
        .verb = (uint8_t)verb,
        .shard = shard,
        .sender_map = s->shard_map,
        .limits = s->limits,
        .mwcu = 1000,
    };
}

/* A key alone, as an item. */
static void fixture_append_key(struct buffer *out, uint32_t shard)
{
    struct item_writer w;
    struct buffer text = {0};
    buffer_append_format(&text, "default/BUCKET#user-4711#completions#%u", shard);
    item_begin(&w, out);
    item_name(&w, slice_of("PK"));
    item_string(&w, buffer_slice(&text));
    item_name(&w, slice_of("SK"));
    item_string(&w, slice_of("#STATE"));
    item_end(&w);
    buffer_deinit(&text);
}

enum limiter_refusal limiter_fixture_run(struct limiter_fixture *s,
                                         const struct limiter_command *command)
{
    struct limiter_bucket bucket;
    struct buffer *item = &s->items[command->shard], key = {0}, out = {0};
    const bool exists = item->size > 0;
    fixture_append_key(&key, command->shard);
    const enum limiter_refusal refusal = limiter_apply(
        command, exists ? buffer_slice(item) : buffer_slice(&key), exists, s->now_ms, &out);
    must((refusal == LIMITER_DONE) == (out.size > 0));
    buffer_deinit(&key);
    if (refusal != LIMITER_DONE)
        return refusal;
    must(item_check(buffer_slice(&out)) == STATUS_OK);
    must(limiter_bucket_decode(buffer_slice(&out), &bucket));
    must(bucket.shard == command->shard);
    buffer_deinit(item);
    *item = out;
    return refusal;
}

bool limiter_fixture_find(const struct limiter_fixture *s, uint32_t shard,
                          struct limiter_bucket *out)
{
    if (s->items[shard].size == 0)
        return false;
    must(limiter_bucket_decode(buffer_slice(&s->items[shard]), out));
    return true;
}

struct limiter_bucket limiter_fixture_bucket(const struct limiter_fixture *s, uint32_t shard)
{
    struct limiter_bucket b;
    must(limiter_fixture_find(s, shard, &b));
    return b;
}

void limiter_fixture_read_map(struct limiter_fixture *s)
{
    s->shard_map = limiter_fixture_bucket(s, 0).shard_map;
}

enum limiter_refusal limiter_fixture_take(struct limiter_fixture *s, uint32_t shard, int64_t mtok)
{
    struct limiter_command m = limiter_fixture_command(s, LIMITER_TAKE, shard);
    m.amounts[0] = mtok;
    return limiter_fixture_run(s, &m);
}

void limiter_fixture_create_shard(struct limiter_fixture *s, uint32_t shard)
{
    struct limiter_bucket b;
    const uint32_t parent = limiter_parent_shard(shard);
    if (limiter_fixture_find(s, shard, &b) && !b.sealed)
        return;
    if (parent > 0)
        limiter_fixture_create_shard(s, parent);
    struct limiter_command m = limiter_fixture_command(s, LIMITER_RESERVE_CHILD, parent);
    m.child = shard;
    const enum limiter_refusal refusal = limiter_fixture_run(s, &m);
    must(refusal == LIMITER_DONE || refusal == LIMITER_NO_CHANGE);
    b = limiter_fixture_bucket(s, parent);
    uint32_t i = 0;
    while (i < b.reserved_count && b.reserved[i].child != shard)
        i++;
    must(i < b.reserved_count);
    m = limiter_fixture_command(s, LIMITER_CREATE_CHILD, shard);
    m.limits = b.limits;
    m.reserved_share = b.reserved[i];
    must(limiter_fixture_run(s, &m) == LIMITER_DONE);
}

void limiter_fixture_grow(struct limiter_fixture *s)
{
    limiter_fixture_read_map(s);
    const struct limiter_command m = limiter_fixture_command(s, LIMITER_GROW, 0);
    must(limiter_fixture_run(s, &m) == LIMITER_DONE);
    limiter_fixture_read_map(s);
}

/* Seals a shard that goes, and merges it into its parent. */
static void fixture_merge_shard(struct limiter_fixture *s, uint32_t shard)
{
    struct limiter_command m = limiter_fixture_command(s, LIMITER_SEAL, shard);
    must(limiter_fixture_run(s, &m) == LIMITER_DONE);
    const struct limiter_bucket sealed = limiter_fixture_bucket(s, shard);
    m = limiter_fixture_command(s, LIMITER_MERGE_IN, limiter_parent_shard(shard));
    m.limits = sealed.limits;
    m.reserved_share.child = shard;
    m.reserved_share.epoch = sealed.epoch;
    m.created = sealed.created;
    memcpy(m.reserved_share.balances, sealed.balances, sizeof m.reserved_share.balances);
    const enum limiter_refusal refusal = limiter_fixture_run(s, &m);
    must(refusal == LIMITER_DONE || refusal == LIMITER_NO_CHANGE);
}

void limiter_fixture_merge(struct limiter_fixture *s)
{
    limiter_fixture_read_map(s);
    struct limiter_command m = limiter_fixture_command(s, LIMITER_MERGE_BEGIN, 0);
    must(limiter_fixture_run(s, &m) == LIMITER_DONE);
    limiter_fixture_read_map(s);
    for (uint32_t shard = s->shard_map.count; shard < 2 * s->shard_map.count; shard++)
        fixture_merge_shard(s, shard);
    m = limiter_fixture_command(s, LIMITER_MERGE_COMMIT, 0);
    must(limiter_fixture_run(s, &m) == LIMITER_DONE);
    limiter_fixture_read_map(s);
}

static int64_t fixture_tokens_now(const struct limiter_fixture *s, const struct limiter_bucket *b,
                                  struct limiter_balance balance, uint32_t shard, uint32_t shards)
{
    limiter_refill(&balance, &b->limits.at[0], shard, shards, s->now_ms);
    return balance.tokens;
}

int64_t limiter_fixture_tokens(const struct limiter_fixture *s)
{
    struct limiter_bucket b, child;
    int64_t tokens = 0;
    for (uint32_t shard = 0; shard < LIMITER_SHARDS_MAX; shard++) {
        if (!limiter_fixture_find(s, shard, &b) || b.sealed)
            continue;
        tokens += fixture_tokens_now(s, &b, b.balances[0], shard, b.shards);
        for (uint32_t i = 0; i < b.reserved_count; i++) {
            const struct limiter_reserved_share *g = &b.reserved[i];
            const bool made = limiter_fixture_find(s, g->child, &child) &&
                              child.epoch >= g->epoch && (!child.sealed || child.created);
            if (!made)
                tokens += fixture_tokens_now(s, &b, g->balances[0], g->child,
                                             1U << limiter_size_of(g->child));
            else if (child.sealed) /* and not merged in yet */
                tokens += fixture_tokens_now(s, &child, child.balances[0], g->child, child.shards);
        }
    }
    return tokens;
}
