/* looks.c - what a bucket has: available, time-until, capacity, status; and top. Nothing is taken. */
#include "router/json/json_writer.h"
#include "router/limiter/pages.h"
#include "router/limiter/session.h"
#include "router/limiter/shown.h"

enum look_kind {
    LOOK_AVAILABLE,
    LOOK_TIME_UNTIL,
    LOOK_CAPACITY,
    LOOK_STATUS
};

struct look {
    struct session session; /* must be first */
    enum look_kind kind;
    struct amounts amounts;
    uint32_t reads;
};

static void look_write_name(struct call *c, const struct known_bucket *b)
{
    json_member_string(&c->body, "namespace", b->name.space);
    json_member_string(&c->body, "entity", b->name.entity);
    json_member_string(&c->body, "resource", b->name.resource);
}

/* What all shards have now, by the router's clock. */
static int64_t look_tokens(const struct router *r, struct known_bucket *b, uint32_t limit)
{
    const struct limiter_limit *l = &b->limits.at[limit];
    int64_t sum = 0;
    for (uint32_t i = 0; i < bucket_count(b); i++) {
        const struct known_shard *k = bucket_shard(b, i);
        if (!k->heard) {
            sum += limiter_share(l->capacity, i, bucket_count(b));
            continue;
        }
        struct limiter_balance level = k->levels[limit];
        const int64_t now_ms = router_wall_ms(r);
        limiter_refill(&level, l, i, k->shards, now_ms > level.at_ms ? now_ms : level.at_ms);
        sum += level.tokens;
    }
    return sum;
}

static void look_write_limits(struct call *c, struct known_bucket *b)
{
    json_member_open(&c->body, "limits", '[');
    for (uint32_t i = 0; i < b->limits.count; i++) {
        json_write_open(&c->body, '{');
        json_member_string(&c->body, "name", b->limits.at[i].name);
        json_member_thousandths(&c->body, "capacity", b->limits.at[i].capacity);
        json_member_thousandths(&c->body, "available", look_tokens(c->router, b, i));
        json_write_close(&c->body, '}');
    }
    json_write_close(&c->body, ']');
}

static bool look_wait(struct call *c, struct known_bucket *b)
{
    const struct look *k = c->state;
    int64_t longest = 0;
    for (uint32_t i = 0; i < k->amounts.count; i++) {
        const uint32_t at = bucket_limit(b, k->amounts.at[i].limit);
        if (at == b->limits.count)
            return words_invalid(c, "query", "the bucket has no limit '%.*s'",
                                 SHOWN(k->amounts.at[i].limit));
        const struct limiter_limit *l = &b->limits.at[at];
        const int64_t missing = k->amounts.at[i].mtok - look_tokens(c->router, b, at);
        if (k->amounts.at[i].mtok > l->capacity)
            return words_invalid(c, "query", "'%.*s' can never be so many: its capacity is %.12g",
                                 SHOWN(l->name), (double)l->capacity / 1000);
        const int64_t wait_ms = limiter_refill_ms(missing, l->amount, l->period_ms);
        longest = wait_ms > longest ? wait_ms : longest;
    }
    json_member_integer(&c->body, "wait_ms", longest);
    return true;
}

static void look_write_shards(struct call *c, struct known_bucket *b)
{
    json_member_integer(&c->body, "shards", bucket_count(b));
    json_member_integer(&c->body, "epoch", (int64_t)b->shards.epoch);
    json_member_bool(&c->body, "merging", b->merging);
    json_member_open(&c->body, "items", '[');
    for (uint32_t i = 0; i < bucket_count(b); i++) {
        const struct known_shard *k = bucket_shard(b, i);
        json_write_open(&c->body, '{');
        json_member_integer(&c->body, "shard", i);
        json_member_bool(&c->body, "there", k->version > 0);
        if (k->version > 0) {
            json_member_integer(&c->body, "share_of", k->shards);
            json_member_thousandths(&c->body, "wcu", k->writes);
            json_member_integer(&c->body, "requests", k->requests);
        }
        json_member_open(&c->body, "tokens", '{');
        for (uint32_t l = 0; k->heard && l < b->limits.count; l++) {
            json_write_name(&c->body, b->limits.at[l].name);
            json_write_thousandths(&c->body, k->levels[l].tokens);
        }
        json_write_close(&c->body, '}');
        json_write_close(&c->body, '}');
    }
    json_write_close(&c->body, ']');
}

static bool look_answer(struct call *c)
{
    const struct look *k = c->state;
    struct known_bucket *b = k->session.chain[0];
    json_write_open(&c->body, '{');
    look_write_name(c, b);
    switch (k->kind) {
    case LOOK_CAPACITY:
        json_member_text(&c->body, "level", level_name(b->level));
        level_write_limits(&c->body, &b->limits);
        if (b->parent.size > 0)
            json_member_string(&c->body, "parent", b->parent);
        break;
    case LOOK_TIME_UNTIL:
        if (!look_wait(c, b))
            return false;
        break;
    case LOOK_STATUS:
        json_member_text(&c->body, "level", level_name(b->level));
        look_write_limits(c, b);
        look_write_shards(c, b);
        break;
    case LOOK_AVAILABLE:
        look_write_limits(c, b);
        break;
    }
    json_write_close(&c->body, '}');
    return true;
}

static bool look_known(struct call *c)
{
    const struct look *k = c->state;
    if (k->kind == LOOK_CAPACITY)
        return look_answer(c);
    session_read(c, k->session.chain[0]);
    return true;
}

static bool look_read(struct call *c)
{
    struct look *k = c->state;
    struct known_bucket *b = k->session.chain[0];
    const uint32_t count = bucket_count(b);
    if (k->reads++ == 0 && count > 1) { /* shard 0 may have told of more */
        session_read(c, b);
        return true;
    }
    return session_tell(c, b) || look_answer(c);
}

static bool look_charged(struct call *c)
{
    (void)c;
    return false; /* the fault says why shards cannot be read */
}

static const struct session_work WORK = {
    .known = look_known, .charged = look_charged, .read = look_read, .no_parents = true};

static bool look_begin(struct call *c, enum look_kind kind)
{
    static const char *const NAMES[] = {"namespace", "entity", "resource", NULL};
    struct look *k = arena_zalloc(&c->arena, sizeof *k);
    struct bucket_name name;
    struct words w;
    k->kind = kind;
    if (!words_query(&w, c) || !words_bucket(&w, &name) ||
        (kind == LOOK_TIME_UNTIL && !words_amounts(&w, "query", NAMES, 0, &k->amounts)) ||
        !words_only(&w, NAMES))
        return false;
    session_begin(c, &k->session, &WORK, &name);
    return true;
}

static bool available_begin(struct call *c, const struct json_value unused[])
{
    (void)unused;
    return look_begin(c, LOOK_AVAILABLE);
}

static bool time_until_begin(struct call *c, const struct json_value unused[])
{
    (void)unused;
    return look_begin(c, LOOK_TIME_UNTIL);
}

static bool capacity_begin(struct call *c, const struct json_value unused[])
{
    (void)unused;
    return look_begin(c, LOOK_CAPACITY);
}

static bool status_begin(struct call *c, const struct json_value unused[])
{
    (void)unused;
    return look_begin(c, LOOK_STATUS);
}

/* ---- top ---- */

enum {
    TOP_MAX = 100
};

static int64_t bucket_requests(const struct known_bucket *b)
{
    return b->admitted + b->refused;
}

/* Keeps the list in the order of requests, most first. */
static uint32_t top_add(struct known_bucket *list[], uint32_t count, uint32_t most,
                        struct known_bucket *b)
{
    uint32_t at = count < most ? count : most - 1;
    if (count == most && bucket_requests(list[at]) >= bucket_requests(b))
        return count;
    for (; at > 0 && bucket_requests(list[at - 1]) < bucket_requests(b); at--)
        list[at] = list[at - 1];
    list[at] = b;
    return count < most ? count + 1 : count;
}

static bool top_begin(struct call *c, const struct json_value unused[])
{
    static const char *const NAMES[] = {"namespace", "count", NULL};
    struct known_bucket *list[TOP_MAX], *b;
    struct slice space;
    struct words w;
    int64_t most;
    uint32_t count = 0;
    (void)unused;
    c->state = NULL;
    if (!words_query(&w, c) || !words_only(&w, NAMES) || !words_space(&w, &space) ||
        !words_integer(&w, "count", 1, TOP_MAX, 10, &most))
        return false;
    TAILQ_FOREACH (b, &c->router->limiter->used, used) {
        if (slice_equal(b->name.space, space))
            count = top_add(list, count, (uint32_t)most, b);
    }
    json_write_open(&c->body, '{');
    json_member_open(&c->body, "buckets", '[');
    for (uint32_t i = 0; i < count; i++) {
        json_write_open(&c->body, '{');
        look_write_name(c, list[i]);
        json_member_integer(&c->body, "shards", bucket_count(list[i]));
        json_member_integer(&c->body, "admitted", list[i]->admitted);
        json_member_integer(&c->body, "refused", list[i]->refused);
        json_write_close(&c->body, '}');
    }
    json_write_close(&c->body, ']');
    json_write_close(&c->body, '}');
    return true;
}

const struct operation operation_limiter_available = {
    .name = "LimiterAvailable", .begin = available_begin, SESSION_STEPS};
const struct operation operation_limiter_time_until = {
    .name = "LimiterTimeUntil", .begin = time_until_begin, SESSION_STEPS};
const struct operation operation_limiter_capacity = {
    .name = "LimiterCapacity", .begin = capacity_begin, SESSION_STEPS};
const struct operation operation_limiter_status = {
    .name = "LimiterStatus", .begin = status_begin, SESSION_STEPS};
const struct operation operation_limiter_top = {
    .name = "LimiterTop", .begin = top_begin, .fail = words_fail};
