/* limiter_play_check.c - what must hold of a bucket of the rate limiter at any time. */
#include "tests/support/limiter_play_internal.h"

void play_expect(struct play *y, bool holds, const char *fault)
{
    if (!holds && y->fault == NULL)
        y->fault = fault;
}

/* ---- all tokens ---- */

/* A level's holder: an open or closed shard, or a gift. */
struct holder {
    const struct limiter_limits *limits;
    const struct limiter_level *levels;
    uint32_t shard, shards;
};

typedef void (*holder_visit)(void *context, const struct holder *h);

/* `all`: also gifts whose shards are made. They count again when these shards expire. */
static void gifts_visit(const struct play *y, const struct limiter_bucket *b, bool all,
                        holder_visit visit, void *context)
{
    struct limiter_bucket child;
    for (uint32_t i = 0; i < b->gift_count; i++) {
        const struct limiter_gift *g = &b->gifts[i];
        const uint32_t born = 1U << limiter_size_of(g->child);
        const bool made = limiter_scene_find(&y->scene, g->child, &child) &&
                          child.epoch >= g->epoch && (!child.closed || child.opened);
        if (!made || all)
            visit(context, &(struct holder){&b->limits, g->levels, g->child, born});
        else if (child.closed) /* and not absorbed: then there is no gift */
            visit(context, &(struct holder){&child.limits, child.levels, g->child, born});
    }
}

/* All levels that count. */
static void levels_visit(const struct play *y, bool all, holder_visit visit, void *context)
{
    struct limiter_bucket b;
    for (uint32_t shard = 0; shard < LIMITER_SHARDS_MAX; shard++) {
        if (!limiter_scene_find(&y->scene, shard, &b) || b.closed)
            continue;
        visit(context, &(struct holder){&b.limits, b.levels, shard, b.shards});
        gifts_visit(y, &b, all, visit, context);
    }
}

/* The tokens in all levels at a time. What a level has got before its time counts less. */
struct total {
    int64_t now_ms;
    __int128 exact[LIMITER_LIMITS_MAX]; /* mtok / period_ms */
    __int128 tokens[LIMITER_LIMITS_MAX];
    int64_t debt[LIMITER_LIMITS_MAX];
};

static void total_add(void *context, const struct holder *h)
{
    struct total *t = (struct total *)context;
    for (uint32_t i = 0; i < h->limits->count; i++) {
        struct limiter_level level = h->levels[i];
        limiter_refill(&level, &h->limits->at[i], h->shard, h->shards, t->now_ms);
        t->exact[i] += (__int128)level.tokens * h->limits->at[i].period_ms + level.part;
        t->exact[i] += (__int128)limiter_share(h->limits->at[i].amount, h->shard, h->shards) *
                       (t->now_ms - level.at_ms);
        t->tokens[i] += level.tokens;
        t->debt[i] += h->levels[i].tokens < 0 ? -h->levels[i].tokens : 0;
    }
}

static struct total total_of(const struct play *y, int64_t now_ms)
{
    struct total t = {.now_ms = now_ms};
    const struct limiter_limits *limits = &y->scene.limits;
    levels_visit(y, false, total_add, &t);
    for (uint32_t i = 0; i < limits->count && y->scene.items[0].size == 0; i++) {
        t.exact[i] += (__int128)limits->at[i].capacity * limits->at[i].period_ms;
        t.tokens[i] += limits->at[i].capacity;
    }
    return t;
}

/* ---- windows ---- */

static void window_note(struct play *y, uint32_t i)
{
    struct play_window *w = &y->windows[i];
    const __int128 time = (__int128)y->highest[i].amount * y->now_ms;
    const __int128 at = (__int128)w->taken * y->highest[i].period_ms - time;
    const __int128 at_all = (__int128)w->taken_all * y->highest[i].period_ms - time;
    w->least = w->begun && w->least < at ? w->least : at;
    w->least_all = w->begun && w->least_all < at_all ? w->least_all : at_all;
    w->begun = true;
}

/* Within every window that ends now: taken <= capacity + amount * time / period, and the debt if the
 * adjustments count. Beside that, each shard may have the fraction of a mtok, and its leader's clock
 * may be ahead. */
static void window_check(struct play *y, uint32_t i, int64_t debt)
{
    const struct play_window *w = &y->windows[i];
    const struct limiter_limit *l = &y->highest[i];
    const __int128 time = (__int128)l->amount * y->now_ms;
    const __int128 slack = y->single ? l->period_ms - 1
                                     : (__int128)l->amount * PLAY_CLOCKS_MS +
                                           (__int128)LIMITER_SHARDS_MAX * l->period_ms;
    const __int128 most = (__int128)l->capacity * l->period_ms + slack;
    const __int128 at = (__int128)w->taken * l->period_ms - time;
    const __int128 at_all = (__int128)w->taken_all * l->period_ms - time;
    play_expect(y, at <= w->least + most, "more is taken than the capacity and the rate allow");
    play_expect(y, at_all <= w->least_all + most + (__int128)debt * l->period_ms,
                "more is taken than the capacity, the rate and the debt allow");
}

static void windows_move(struct play *y, const struct limiter_command *m)
{
    const struct total after = total_of(y, y->scene.now_ms);
    for (uint32_t i = 0; i < m->limits.count; i++) {
        struct play_window *w = &y->windows[i];
        const bool takes = m->verb == LIMITER_TAKE;
        window_note(y, i);
        w->taken_all += m->amounts[i];
        w->taken += takes || m->amounts[i] < 0 ? m->amounts[i] : 0;
        window_check(y, i, after.debt[i]);
        window_note(y, i);
    }
}

/* ---- commands ---- */

/* What was lost beyond what the command takes must have flowed over: the shard is full but for that. */
static bool may_flow_over(const struct limiter_command *m, const struct limiter_bucket *b,
                          uint32_t i)
{
    const int64_t full =
        b->limits.count > i ? limiter_share(b->limits.at[i].capacity, b->shard, b->shards) : -1;
    return full >= 0 && b->levels[i].tokens + (m->amounts[i] > 0 ? m->amounts[i] : 0) == full;
}

/* `old`: the shard's item before. */
static void command_check(struct play *y, const struct limiter_command *m, struct buffer *old)
{
    const struct limiter_bucket b = limiter_scene_bucket(&y->scene, m->shard);
    struct buffer *item = &y->scene.items[m->shard], now = *item;
    const struct total after = total_of(y, b.writes.at_ms);
    *item = *old;
    const struct total before = total_of(y, b.writes.at_ms);
    *item = now;
    for (uint32_t i = 0; i < m->limits.count; i++) {
        const __int128 lost = before.exact[i] - after.exact[i] -
                              (__int128)m->amounts[i] * y->scene.limits.at[i].period_ms;
        play_expect(y, lost >= 0, "a command makes tokens");
        play_expect(y, lost == 0 || may_flow_over(m, &b, i), "a command loses tokens");
        play_expect(y, after.tokens[i] <= y->scene.limits.at[i].capacity,
                    "all shards together have more than the capacity");
    }
}

enum limiter_refusal play_run(struct play *y, const struct limiter_command *m)
{
    struct buffer old = {0}, *item = &y->scene.items[m->shard];
    buffer_append_slice(&old, buffer_slice(item));
    y->scene.now_ms = y->now_ms + y->ahead_ms[m->shard];
    const enum limiter_refusal refusal = limiter_scene_run(&y->scene, m);
    play_expect(y, refusal != LIMITER_NO_BUCKET, "an item is no bucket");
    play_expect(y, refusal != LIMITER_NO_LIMIT, "a limit is gone");
    if (refusal == LIMITER_DONE) {
        if (!y->changes)
            command_check(y, m, &old);
        if (m->verb == LIMITER_TAKE || m->verb == LIMITER_ADJUST)
            windows_move(y, m);
    }
    buffer_deinit(&old);
    return refusal;
}

/* ---- time to live ---- */

static bool item_is_over(const struct play *y, uint32_t shard)
{
    struct attr value;
    struct number n;
    size_t used;
    int64_t ttl_s;
    return item_find(buffer_slice(&y->scene.items[shard]), slice_of("ttl"), &value) &&
           number_decode(value.body, &n, &used) == STATUS_OK && number_to_i64(&n, &ttl_s) &&
           ttl_s * 1000 <= y->now_ms;
}

void play_expire(struct play *y, uint32_t shard)
{
    if (!item_is_over(y, shard))
        return;
    const struct total before = total_of(y, y->now_ms);
    buffer_deinit(&y->scene.items[shard]);
    const struct total after = total_of(y, y->now_ms);
    y->expired++;
    for (uint32_t i = 0; i < y->scene.limits.count && !y->changes; i++)
        play_expect(y, after.tokens[i] == before.tokens[i], "an item that goes is not full");
}

/* ---- the end ---- */

static void wait_add(void *context, const struct holder *h)
{
    int64_t *most = (int64_t *)context;
    for (uint32_t i = 0; i < h->limits->count; i++) {
        const struct limiter_limit *limit = &h->limits->at[i];
        const int64_t full = limiter_share(limit->capacity, h->shard, h->shards);
        const int64_t missing = full - h->levels[i].tokens;
        const int64_t amount = limiter_share(limit->amount, h->shard, h->shards);
        /* What is missing at the rate, and a millisecond. */
        const int64_t wait = (int64_t)((__int128)missing * limit->period_ms / amount) + 1;
        *most = wait > *most ? wait : *most;
    }
}

int64_t play_full_after_ms(const struct play *y)
{
    int64_t most = 0;
    levels_visit(y, true, wait_add, &most);
    return most;
}

void play_expect_full(struct play *y)
{
    const struct total t = total_of(y, y->now_ms);
    for (uint32_t i = 0; i < y->scene.limits.count; i++)
        play_expect(y, t.tokens[i] == y->scene.limits.at[i].capacity,
                    "shards left alone are not full");
}
