/* bucket_queries.c - what a bucket has: available, time-until, capacity, status; and top. Nothing
 * is taken. */
#include "router/json/json_writer.h"
#include "router/limiter/limiter_call.h"
#include "router/limiter/limiter_operations.h"

enum bucket_query_kind {
    QUERY_AVAILABLE,
    QUERY_TIME_UNTIL,
    QUERY_CAPACITY,
    QUERY_STATUS
};

struct bucket_query {
    struct limiter_call limiter_call; /* must be first */
    enum bucket_query_kind kind;
    struct amounts amounts;
    uint32_t reads;
};

_Static_assert(offsetof(struct bucket_query, limiter_call) == 0, "call->state is a limiter_call");

static void bucket_query_write_name(struct call *c, const struct cached_bucket *b)
{
    json_member_string(&c->body, "namespace", b->name.name_space);
    json_member_string(&c->body, "entity", b->name.entity);
    json_member_string(&c->body, "resource", b->name.resource);
}

/* The tokens of all shards now, by the router's clock. */
static int64_t bucket_query_tokens(const struct router *r, struct cached_bucket *b, uint32_t limit)
{
    must(limit < b->limits.count);
    const struct limiter_limit *l = &b->limits.at[limit];
    int64_t sum = 0;
    for (uint32_t i = 0; i < bucket_shard_count(b); i++) {
        const struct cached_shard *k = bucket_shard(b, i);
        if (!k->is_valid) {
            sum += limiter_share(l->capacity, i, bucket_shard_count(b));
            continue;
        }
        struct limiter_balance balance = k->balances[limit];
        const int64_t now_ms = router_wall_ms(r);
        limiter_refill(&balance, l, i, k->shards, MAX(now_ms, balance.at_ms));
        sum += balance.tokens;
    }
    return sum;
}

static void bucket_query_write_limits(struct call *c, struct cached_bucket *b)
{
    json_member_open(&c->body, "limits", '[');
    for (uint32_t i = 0; i < b->limits.count; i++) {
        json_write_open(&c->body, '{');
        json_member_string(&c->body, "name", b->limits.at[i].name);
        json_member_thousandths(&c->body, "capacity", b->limits.at[i].capacity);
        json_member_thousandths(&c->body, "available", bucket_query_tokens(c->router, b, i));
        json_write_close(&c->body, '}');
    }
    json_write_close(&c->body, ']');
}

static bool bucket_query_wait(struct call *c, struct cached_bucket *b)
{
    const struct bucket_query *k = c->state;
    int64_t longest = 0;
    for (uint32_t i = 0; i < k->amounts.count; i++) {
        const uint32_t at = bucket_find_limit(b, k->amounts.at[i].limit);
        if (at == b->limits.count)
            return limiter_error_invalid(c, "query", "the bucket has no limit '%.*s'",
                                         SHOWN(k->amounts.at[i].limit));
        const struct limiter_limit *l = &b->limits.at[at];
        const int64_t missing = k->amounts.at[i].mtok - bucket_query_tokens(c->router, b, at);
        if (k->amounts.at[i].mtok > l->capacity)
            return limiter_error_invalid(
                c, "query", "'%.*s' cannot give this many tokens: its capacity is %.12g",
                SHOWN(l->name), (double)l->capacity / 1000);
        const int64_t wait_ms = limiter_refill_ms(missing, l->amount, l->period_ms);
        longest = MAX(wait_ms, longest);
    }
    json_member_integer(&c->body, "wait_ms", longest);
    return true;
}

static void bucket_query_write_shards(struct call *c, struct cached_bucket *b)
{
    json_member_integer(&c->body, "shards", bucket_shard_count(b));
    json_member_integer(&c->body, "epoch", (int64_t)b->shard_map.epoch);
    json_member_bool(&c->body, "merging", b->merging);
    json_member_open(&c->body, "items", '[');
    for (uint32_t i = 0; i < bucket_shard_count(b); i++) {
        const struct cached_shard *k = bucket_shard(b, i);
        json_write_open(&c->body, '{');
        json_member_integer(&c->body, "shard", i);
        json_member_bool(&c->body, "there", k->version > 0);
        if (k->version > 0) {
            json_member_integer(&c->body, "share_of", k->shards);
            json_member_thousandths(&c->body, "wcu", k->write_tokens);
            json_member_integer(&c->body, "requests", k->requests);
        }
        json_member_open(&c->body, "tokens", '{');
        for (uint32_t l = 0; k->is_valid && l < b->limits.count; l++) {
            json_write_name(&c->body, b->limits.at[l].name);
            json_write_thousandths(&c->body, k->balances[l].tokens);
        }
        json_write_closes(&c->body, "}}");
    }
    json_write_close(&c->body, ']');
}

static bool bucket_query_answer(struct call *c)
{
    const struct bucket_query *k = c->state;
    must(k->limiter_call.chain_count > 0);
    struct cached_bucket *b = k->limiter_call.chain[0];
    json_write_open(&c->body, '{');
    bucket_query_write_name(c, b);
    switch (k->kind) {
    case QUERY_CAPACITY:
        json_member_text(&c->body, "level", limit_scope_name(b->scope));
        limit_scope_write_limits(&c->body, &b->limits);
        if (b->parent.size > 0)
            json_member_string(&c->body, "parent", b->parent);
        break;
    case QUERY_TIME_UNTIL:
        if (!bucket_query_wait(c, b))
            return false;
        break;
    case QUERY_STATUS:
        json_member_text(&c->body, "level", limit_scope_name(b->scope));
        bucket_query_write_limits(c, b);
        bucket_query_write_shards(c, b);
        break;
    case QUERY_AVAILABLE:
        bucket_query_write_limits(c, b);
        break;
    }
    json_write_close(&c->body, '}');
    return true;
}

static bool bucket_query_plan(struct call *c)
{
    const struct bucket_query *k = c->state;
    if (k->kind == QUERY_CAPACITY)
        return bucket_query_answer(c);
    limiter_call_read_shards(c, k->limiter_call.chain[0]);
    return true;
}

static bool bucket_query_shards_read(struct call *c)
{
    struct bucket_query *k = c->state;
    struct cached_bucket *b = k->limiter_call.chain[0];
    const uint32_t count = bucket_shard_count(b);
    if (k->reads++ == 0 && count > 1) { /* shard 0 may have more shards in its map */
        limiter_call_read_shards(c, b);
        return true;
    }
    return limiter_call_send_limits(c, b) || bucket_query_answer(c);
}

static bool bucket_query_failed(UNUSED struct call *c)
{
    return false; /* the fault says why shards cannot be read */
}

static const struct limiter_call_handlers bucket_query_handlers = {
    .plan = bucket_query_plan,
    .charge_ended = bucket_query_failed,
    .shards_read = bucket_query_shards_read,
    .no_parents = true};

static bool bucket_query_begin(struct call *c, UNUSED const struct json_value unused[])
{
    static const char *const NAMES[] = {"namespace", "entity", "resource", NULL};
    struct bucket_query *k = arena_zalloc(&c->arena, sizeof *k);
    struct bucket_name name;
    struct limiter_request w;
    k->kind = (enum bucket_query_kind)c->operation->variant;
    if (!limiter_request_query(&w, c) || !limiter_request_bucket(&w, &name) ||
        (k->kind == QUERY_TIME_UNTIL &&
         !limiter_request_amounts(&w, "query", NAMES, 0, &k->amounts)) ||
        !limiter_request_check_names(&w, NAMES))
        return false;
    limiter_call_begin(c, &k->limiter_call, &bucket_query_handlers, &name);
    return true;
}

/* ---- top ---- */

enum {
    TOP_MAX = 100
};

static int64_t bucket_requests(const struct cached_bucket *b)
{
    return b->admitted + b->refused;
}

/* Keeps the list in the order of requests, the largest number first. */
static uint32_t top_add(struct cached_bucket *list[], uint32_t count, uint32_t max,
                        struct cached_bucket *b)
{
    uint32_t at = count < max ? count : max - 1;
    if (count == max && bucket_requests(list[at]) >= bucket_requests(b))
        return count;
    for (; at > 0 && bucket_requests(list[at - 1]) < bucket_requests(b); at--)
        list[at] = list[at - 1];
    list[at] = b;
    return count < max ? count + 1 : count;
}

static bool top_begin(struct call *c, UNUSED const struct json_value unused[])
{
    static const char *const NAMES[] = {"namespace", "count", NULL};
    struct cached_bucket *list[TOP_MAX], *b;
    struct slice space;
    struct limiter_request w;
    int64_t max;
    uint32_t count = 0;
    c->state = NULL;
    if (!limiter_request_query(&w, c) || !limiter_request_check_names(&w, NAMES) ||
        !limiter_request_namespace(&w, &space) ||
        !limiter_request_integer(&w, "count", 1, TOP_MAX, 10, &max))
        return false;
    TAILQ_FOREACH (b, &c->router->limiter->lru, lru_entry) {
        if (slice_equal(b->name.name_space, space))
            count = top_add(list, count, (uint32_t)max, b);
    }
    json_write_open_with(&c->body, "buckets", '[');
    for (uint32_t i = 0; i < count; i++) {
        json_write_open(&c->body, '{');
        bucket_query_write_name(c, list[i]);
        json_member_integer(&c->body, "shards", bucket_shard_count(list[i]));
        json_member_integer(&c->body, "admitted", list[i]->admitted);
        json_member_integer(&c->body, "refused", list[i]->refused);
        json_write_close(&c->body, '}');
    }
    json_write_closes(&c->body, "]}");
    return true;
}

LIMITER_OPERATION(available, "LimiterAvailable", .begin = bucket_query_begin,
                  .variant = QUERY_AVAILABLE, LIMITER_CALL_OPERATION);
LIMITER_OPERATION(time_until, "LimiterTimeUntil", .begin = bucket_query_begin,
                  .variant = QUERY_TIME_UNTIL, LIMITER_CALL_OPERATION);
LIMITER_OPERATION(capacity, "LimiterCapacity", .begin = bucket_query_begin,
                  .variant = QUERY_CAPACITY, LIMITER_CALL_OPERATION);
LIMITER_OPERATION(status, "LimiterStatus", .begin = bucket_query_begin, .variant = QUERY_STATUS,
                  LIMITER_CALL_OPERATION);
LIMITER_OPERATION(top, "LimiterTop", .begin = top_begin, .fail = limiter_error_answer);
