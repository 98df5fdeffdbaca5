/* limiter_scene.c - commands on buckets in memory. */
#include "tests/support/limiter_scene.h"

#include "base/must.h"
#include "tests/check.h"

void limiter_scene_init(struct limiter_scene *s, int64_t now_ms)
{
    *s = (struct limiter_scene){.now_ms = now_ms, .limits = {.version = 1}};
}

void limiter_scene_init_daily(struct limiter_scene *s, int64_t now_ms)
{
    enum {
        DAY_MS = 24 * 60 * 60 * 1000
    };
    limiter_scene_init(s, now_ms);
    limiter_scene_limit(s, "rpd", 1000, 1000, DAY_MS);
}

void limiter_scene_deinit(struct limiter_scene *s)
{
    for (uint32_t i = 0; i < LIMITER_SHARDS_MAX; i++)
        buffer_deinit(&s->items[i]);
}

void limiter_scene_limit(struct limiter_scene *s, const char *name, int64_t capacity,
                         int64_t amount, int64_t period_ms)
{
    must(s->limits.count < LIMITER_LIMITS_MAX);
    s->limits.at[s->limits.count++] = (struct limiter_limit){.name = slice_of(name),
                                                             .capacity = 1000 * capacity,
                                                             .amount = 1000 * amount,
                                                             .period_ms = period_ms,
                                                             .least = LIMITER_LEAST_MTOK};
    must(limiter_limits_fault(&s->limits) == NULL);
}

struct limiter_command limiter_scene_command(const struct limiter_scene *s, enum limiter_verb verb,
                                             uint32_t shard)
{
    return (struct limiter_command){
        .verb = (uint8_t)verb,
        .shard = shard,
        .known = s->known,
        .limits = s->limits,
        .mwcu = 1000,
    };
}

/* A key alone, as an item. */
static void key_append(struct buffer *out, uint32_t shard)
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

enum limiter_refusal limiter_scene_run(struct limiter_scene *s,
                                       const struct limiter_command *command)
{
    struct limiter_bucket bucket;
    struct buffer *item = &s->items[command->shard], key = {0}, out = {0};
    const bool exists = item->size > 0;
    key_append(&key, command->shard);
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

bool limiter_scene_find(const struct limiter_scene *s, uint32_t shard, struct limiter_bucket *out)
{
    if (s->items[shard].size == 0)
        return false;
    must(limiter_bucket_decode(buffer_slice(&s->items[shard]), out));
    return true;
}

struct limiter_bucket limiter_scene_bucket(const struct limiter_scene *s, uint32_t shard)
{
    struct limiter_bucket b;
    must(limiter_scene_find(s, shard, &b));
    return b;
}

void limiter_scene_learn(struct limiter_scene *s)
{
    s->known = limiter_scene_bucket(s, 0).truth;
}

static enum limiter_refusal amount_run(struct limiter_scene *s, enum limiter_verb verb,
                                       uint32_t shard, int64_t mtok)
{
    struct limiter_command m = limiter_scene_command(s, verb, shard);
    m.amounts[0] = mtok;
    return limiter_scene_run(s, &m);
}

enum limiter_refusal limiter_scene_take(struct limiter_scene *s, uint32_t shard, int64_t mtok)
{
    return amount_run(s, LIMITER_TAKE, shard, mtok);
}

void limiter_scene_assert_takes(struct limiter_scene *s, uint32_t shard, int64_t tokens)
{
    assert_int_equal(limiter_scene_take(s, shard, 1000 * tokens), LIMITER_DONE);
}

void limiter_scene_assert_short(struct limiter_scene *s, uint32_t shard, int64_t tokens)
{
    assert_int_equal(limiter_scene_take(s, shard, 1000 * tokens), LIMITER_SHORT);
}

enum limiter_refusal limiter_scene_adjust(struct limiter_scene *s, uint32_t shard, int64_t mtok)
{
    return amount_run(s, LIMITER_ADJUST, shard, mtok);
}

void limiter_scene_open(struct limiter_scene *s, uint32_t shard)
{
    struct limiter_bucket b;
    const uint32_t parent = limiter_parent(shard);
    if (limiter_scene_find(s, shard, &b) && !b.closed)
        return;
    if (parent > 0)
        limiter_scene_open(s, parent);
    struct limiter_command m = limiter_scene_command(s, LIMITER_GIVE, parent);
    m.child = shard;
    const enum limiter_refusal refusal = limiter_scene_run(s, &m);
    must(refusal == LIMITER_DONE || refusal == LIMITER_NO_CHANGE);
    b = limiter_scene_bucket(s, parent);
    uint32_t i = 0;
    while (i < b.gift_count && b.gifts[i].child != shard)
        i++;
    must(i < b.gift_count);
    m = limiter_scene_command(s, LIMITER_OPEN, shard);
    m.limits = b.limits;
    m.gift = b.gifts[i];
    must(limiter_scene_run(s, &m) == LIMITER_DONE);
}

void limiter_scene_double(struct limiter_scene *s)
{
    limiter_scene_learn(s);
    const struct limiter_command m = limiter_scene_command(s, LIMITER_DOUBLE, 0);
    must(limiter_scene_run(s, &m) == LIMITER_DONE);
    limiter_scene_learn(s);
}

void limiter_scene_merge_shard(struct limiter_scene *s, uint32_t shard)
{
    struct limiter_command m = limiter_scene_command(s, LIMITER_CLOSE, shard);
    must(limiter_scene_run(s, &m) == LIMITER_DONE);
    const struct limiter_bucket closed = limiter_scene_bucket(s, shard);
    m = limiter_scene_command(s, LIMITER_ABSORB, limiter_parent(shard));
    m.limits = closed.limits;
    m.gift.child = shard;
    m.gift.epoch = closed.epoch;
    m.opened = closed.opened;
    memcpy(m.gift.levels, closed.levels, sizeof m.gift.levels);
    const enum limiter_refusal refusal = limiter_scene_run(s, &m);
    must(refusal == LIMITER_DONE || refusal == LIMITER_NO_CHANGE);
}

void limiter_scene_halve(struct limiter_scene *s)
{
    limiter_scene_learn(s);
    struct limiter_command m = limiter_scene_command(s, LIMITER_HALVE, 0);
    must(limiter_scene_run(s, &m) == LIMITER_DONE);
    limiter_scene_learn(s);
    for (uint32_t shard = s->known.count; shard < 2 * s->known.count; shard++)
        limiter_scene_merge_shard(s, shard);
    m = limiter_scene_command(s, LIMITER_HALVED, 0);
    must(limiter_scene_run(s, &m) == LIMITER_DONE);
    limiter_scene_learn(s);
}

static int64_t tokens_now(const struct limiter_scene *s, const struct limiter_bucket *b,
                          struct limiter_level level, uint32_t shard, uint32_t shards)
{
    limiter_refill(&level, &b->limits.at[0], shard, shards, s->now_ms);
    return level.tokens;
}

int64_t limiter_scene_tokens(const struct limiter_scene *s)
{
    struct limiter_bucket b, child;
    int64_t tokens = 0;
    for (uint32_t shard = 0; shard < LIMITER_SHARDS_MAX; shard++) {
        if (!limiter_scene_find(s, shard, &b) || b.closed)
            continue;
        tokens += tokens_now(s, &b, b.levels[0], shard, b.shards);
        for (uint32_t i = 0; i < b.gift_count; i++) {
            const struct limiter_gift *g = &b.gifts[i];
            const bool made = limiter_scene_find(s, g->child, &child) && child.epoch >= g->epoch &&
                              (!child.closed || child.opened);
            if (!made)
                tokens +=
                    tokens_now(s, &b, g->levels[0], g->child, 1U << limiter_size_of(g->child));
            else if (child.closed) /* and not absorbed yet */
                tokens += tokens_now(s, &child, child.levels[0], g->child, child.shards);
        }
    }
    return tokens;
}
