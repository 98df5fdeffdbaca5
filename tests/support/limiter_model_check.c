/* limiter_model_check.c - what must hold of a bucket of the rate limiter at any time. */
#include "tests/support/limiter_model_internal.h"

void limiter_model_expect(struct limiter_model *model, bool holds, const char *fault)
{
    if (!holds && model->fault == NULL)
        model->fault = fault;
}

/* ---- all tokens ---- */

/* A balance's holder: a live or sealed shard, or a reserved share. */
struct holder {
    const struct limiter_limits *limits;
    const struct limiter_balance *balances;
    uint32_t shard, shards;
};

typedef void (*holder_visit)(void *context, const struct holder *h);

/* `all`: also reserved shares whose shards are made. They count again when these shards expire. */
static void reserved_visit(const struct limiter_model *model, const struct limiter_bucket *b,
                           bool all, holder_visit visit, void *context)
{
    struct limiter_bucket child;
    for (uint32_t i = 0; i < b->reserved_count; i++) {
        const struct limiter_reserved_share *g = &b->reserved[i];
        const uint32_t born = 1U << limiter_size_of(g->child);
        const bool made = limiter_fixture_find(&model->fixture, g->child, &child) &&
                          child.epoch >= g->epoch && (!child.sealed || child.created);
        if (!made || all)
            visit(context, &(struct holder){&b->limits, g->balances, g->child, born});
        else if (child.sealed) /* and not merged in: then there is no reserved share */
            visit(context, &(struct holder){&child.limits, child.balances, g->child, born});
    }
}

/* All balances that count. */
static void balances_visit(const struct limiter_model *model, bool all, holder_visit visit,
                           void *context)
{
    struct limiter_bucket b;
    for (uint32_t shard = 0; shard < LIMITER_SHARDS_MAX; shard++) {
        if (!limiter_fixture_find(&model->fixture, shard, &b) || b.sealed)
            continue;
        visit(context, &(struct holder){&b.limits, b.balances, shard, b.shards});
        reserved_visit(model, &b, all, visit, context);
    }
}

/* The tokens in all balances at a time. What a balance has got before its time counts less. */
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
        struct limiter_balance balance = h->balances[i];
        limiter_refill(&balance, &h->limits->at[i], h->shard, h->shards, t->now_ms);
        t->exact[i] += (__int128)balance.tokens * h->limits->at[i].period_ms + balance.fraction;
        t->exact[i] += (__int128)limiter_share(h->limits->at[i].amount, h->shard, h->shards) *
                       (t->now_ms - balance.at_ms);
        t->tokens[i] += balance.tokens;
        t->debt[i] += h->balances[i].tokens < 0 ? -h->balances[i].tokens : 0;
    }
}

static struct total total_of(const struct limiter_model *model, int64_t now_ms)
{
    struct total t = {.now_ms = now_ms};
    const struct limiter_limits *limits = &model->fixture.limits;
    balances_visit(model, false, total_add, &t);
    for (uint32_t i = 0; i < limits->count && model->fixture.items[0].size == 0; i++) {
        t.exact[i] += (__int128)limits->at[i].capacity * limits->at[i].period_ms;
        t.tokens[i] += limits->at[i].capacity;
    }
    return t;
}

/* ---- windows ---- */

static void window_note(struct limiter_model *model, uint32_t i)
{
    struct model_window *w = &model->windows[i];
    const __int128 time = (__int128)model->highest[i].amount * model->now_ms;
    const __int128 at = (__int128)w->taken * model->highest[i].period_ms - time;
    const __int128 at_all = (__int128)w->taken_all * model->highest[i].period_ms - time;
    w->min = w->begun && w->min < at ? w->min : at;
    w->min_all = w->begun && w->min_all < at_all ? w->min_all : at_all;
    w->begun = true;
}

/* Within every window that ends now: taken <= capacity + amount * time / period, and the debt if
 * the adjustments count. Beside that, each shard may have the fraction of a mtok, and its leader's
 * clock may be ahead. */
static void window_check(struct limiter_model *model, uint32_t i, int64_t debt)
{
    const struct model_window *w = &model->windows[i];
    const struct limiter_limit *l = &model->highest[i];
    const __int128 time = (__int128)l->amount * model->now_ms;
    const __int128 slack = model->single ? l->period_ms - 1
                                         : (__int128)l->amount * MODEL_CLOCKS_MS +
                                               (__int128)LIMITER_SHARDS_MAX * l->period_ms;
    const __int128 max = (__int128)l->capacity * l->period_ms + slack;
    const __int128 at = (__int128)w->taken * l->period_ms - time;
    const __int128 at_all = (__int128)w->taken_all * l->period_ms - time;
    limiter_model_expect(model, at <= w->min + max,
                         "more is taken than the capacity and the rate allow");
    limiter_model_expect(model, at_all <= w->min_all + max + (__int128)debt * l->period_ms,
                         "more is taken than the capacity, the rate and the debt allow");
}

static void windows_move(struct limiter_model *model, const struct limiter_command *m)
{
    const struct total after = total_of(model, model->fixture.now_ms);
    for (uint32_t i = 0; i < m->limits.count; i++) {
        struct model_window *w = &model->windows[i];
        const bool takes = m->verb == LIMITER_TAKE;
        window_note(model, i);
        w->taken_all += m->amounts[i];
        w->taken += takes || m->amounts[i] < 0 ? m->amounts[i] : 0;
        window_check(model, i, after.debt[i]);
        window_note(model, i);
    }
}

/* ---- commands ---- */

/* What was lost beyond what the command takes must have flowed over: the shard is full but for
 * that. */
static bool may_flow_over(const struct limiter_command *m, const struct limiter_bucket *b,
                          uint32_t i)
{
    const int64_t full =
        b->limits.count > i ? limiter_share(b->limits.at[i].capacity, b->shard, b->shards) : -1;
    return full >= 0 && b->balances[i].tokens + (m->amounts[i] > 0 ? m->amounts[i] : 0) == full;
}

/* `old`: the shard's item before. */
static void command_check(struct limiter_model *model, const struct limiter_command *m,
                          struct buffer *old)
{
    const struct limiter_bucket b = limiter_fixture_bucket(&model->fixture, m->shard);
    struct buffer *item = &model->fixture.items[m->shard], now = *item;
    const struct total after = total_of(model, b.write_balance.at_ms);
    *item = *old;
    const struct total before = total_of(model, b.write_balance.at_ms);
    *item = now;
    for (uint32_t i = 0; i < m->limits.count; i++) {
        const __int128 lost = before.exact[i] - after.exact[i] -
                              (__int128)m->amounts[i] * model->fixture.limits.at[i].period_ms;
        limiter_model_expect(model, lost >= 0, "a command makes tokens");
        limiter_model_expect(model, lost == 0 || may_flow_over(m, &b, i), "a command loses tokens");
        limiter_model_expect(model, after.tokens[i] <= model->fixture.limits.at[i].capacity,
                             "all shards together have more than the capacity");
    }
}

enum limiter_refusal limiter_model_run(struct limiter_model *model, const struct limiter_command *m)
{
    struct buffer old = {0}, *item = &model->fixture.items[m->shard];
    buffer_append_slice(&old, buffer_slice(item));
    model->fixture.now_ms = model->now_ms + model->ahead_ms[m->shard];
    const enum limiter_refusal refusal = limiter_fixture_run(&model->fixture, m);
    limiter_model_expect(model, refusal != LIMITER_NO_BUCKET, "an item is no bucket");
    limiter_model_expect(model, refusal != LIMITER_NO_LIMIT, "a limit is gone");
    if (refusal == LIMITER_DONE) {
        if (!model->changes)
            command_check(model, m, &old);
        if (m->verb == LIMITER_TAKE || m->verb == LIMITER_ADJUST)
            windows_move(model, m);
    }
    buffer_deinit(&old);
    return refusal;
}

/* ---- time to live ---- */

static bool item_is_over(const struct limiter_model *model, uint32_t shard)
{
    struct attr value;
    struct number n;
    size_t used;
    int64_t ttl_s;
    return item_find(buffer_slice(&model->fixture.items[shard]), slice_of("ttl"), &value) &&
           number_decode(value.body, &n, &used) == STATUS_OK && number_to_i64(&n, &ttl_s) &&
           ttl_s * 1000 <= model->now_ms;
}

void limiter_model_expire(struct limiter_model *model, uint32_t shard)
{
    if (!item_is_over(model, shard))
        return;
    const struct total before = total_of(model, model->now_ms);
    buffer_deinit(&model->fixture.items[shard]);
    const struct total after = total_of(model, model->now_ms);
    model->expired++;
    for (uint32_t i = 0; i < model->fixture.limits.count && !model->changes; i++)
        limiter_model_expect(model, after.tokens[i] == before.tokens[i],
                             "an item that goes is not full");
}

/* ---- the end ---- */

static void wait_add(void *context, const struct holder *h)
{
    int64_t *max = (int64_t *)context;
    for (uint32_t i = 0; i < h->limits->count; i++) {
        const struct limiter_limit *limit = &h->limits->at[i];
        const int64_t full = limiter_share(limit->capacity, h->shard, h->shards);
        const int64_t missing = full - h->balances[i].tokens;
        const int64_t amount = limiter_share(limit->amount, h->shard, h->shards);
        /* What is missing at the rate, and a millisecond. */
        const int64_t wait = (int64_t)((__int128)missing * limit->period_ms / amount) + 1;
        *max = wait > *max ? wait : *max;
    }
}

int64_t limiter_model_full_after_ms(const struct limiter_model *model)
{
    int64_t max = 0;
    balances_visit(model, true, wait_add, &max);
    return max;
}

void limiter_model_expect_full(struct limiter_model *model)
{
    const struct total t = total_of(model, model->now_ms);
    for (uint32_t i = 0; i < model->fixture.limits.count; i++)
        limiter_model_expect(model, t.tokens[i] == model->fixture.limits.at[i].capacity,
                             "shards left alone are not full");
}
