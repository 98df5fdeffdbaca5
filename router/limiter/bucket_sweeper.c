/* bucket_sweeper.c - a page of the limiter's table, and the buckets with several shards on it. */
#include "router/limiter/bucket_sweeper.h"

#include "router/plan/ranges.h"

enum {
    PAGE_ITEMS = 100,
    PAGE_INTERVAL_MS = 5000,
    THROTTLED_BACKOFF_MS = 60000
};

struct sweeper {
    struct ranges_plan plan; /* must be first */
    struct plan_range range;
};

_Static_assert(offsetof(struct sweeper, plan) == 0, "call->state is a ranges_plan");

static void sweeper_take(struct call *c, struct slice item)
{
    static struct limiter_bucket bucket; /* large */
    struct router *r = c->router;
    struct bucket_name name;
    struct attr key;
    if (!limiter_bucket_decode(item, &bucket) || bucket.shard != 0 ||
        (bucket.shard_map.count < 2 && !bucket.merging) || !item_find(item, slice_of("PK"), &key) ||
        !bucket_name_of_key(key.body, &name))
        return;
    struct cached_bucket *b = bucket_hold(r, &name);
    bucket_update_from_sweep(r, b, &bucket);
    bucket_release(r, b);
}

static bool sweeper_begin(struct call *c, UNUSED const struct json_value m[])
{
    struct sweeper *p = c->state;
    ranges_begin(c, &p->plan);
    return true;
}

static bool sweeper_ready(struct call *c)
{
    struct sweeper *p = c->state;
    const struct limiter *l = c->router->limiter;
    struct buffer lo = {0}, hi = {0};
    storage_key_append_hash(&lo, p->plan.route->table.id, 0);
    lo.size = STORAGE_KEY_TABLE_SIZE;
    buffer_append_slice(&hi, buffer_slice(&lo));
    storage_key_successor(&hi);
    /* Where the last page ended, if that is of this table: it may have been made anew. */
    const struct slice from = buffer_slice(&l->sweep_key);
    const bool goes_on =
        slice_compare(from, buffer_slice(&lo)) > 0 && slice_compare(from, buffer_slice(&hi)) < 0;
    p->range.lo = arena_copy(&c->arena, goes_on ? from : buffer_slice(&lo));
    p->range.hi = arena_copy(&c->arena, buffer_slice(&hi));
    must(slice_compare(p->range.lo, p->range.hi) < 0);
    buffer_deinit(&lo);
    buffer_deinit(&hi);
    ranges_start(c, &p->plan);
    return true;
}

static bool sweeper_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct sweeper *p = c->state;
    if (r->code == REPLY_THROTTLED)
        c->router->limiter->sweep_at = instant_add_ms(c->router->now, THROTTLED_BACKOFF_MS);
    return ranges_reply(c, &p->plan, s, r);
}

static bool sweeper_finish(struct call *c)
{
    struct sweeper *p = c->state;
    struct buffer *from = &c->router->limiter->sweep_key;
    if (!ranges_finish(c, &p->plan))
        return false;
    if (!p->plan.ended)
        return true;
    buffer_clear(from);
    if (!p->range.ended)
        buffer_append_slice(from, p->range.lo);
    return true;
}

static int sweeper_fail(UNUSED struct call *c, const struct fault *f)
{
    return limiter_error_status(f);
}

static void sweeper_over(struct call *c)
{
    must(c->router->limiter->sweep == c);
    c->router->limiter->sweep = NULL;
}

static const struct operation sweeper_operation = {.name = "LimiterSweep",
                                                   .begin = sweeper_begin,
                                                   .ready = sweeper_ready,
                                                   .reply = sweeper_reply,
                                                   .finish = sweeper_finish,
                                                   .fail = sweeper_fail,
                                                   .end = sweeper_over};

void sweeper_run(struct router *r)
{
    struct limiter *l = r->limiter;
    if (l->count == 0 || l->sweep != NULL || instant_before(r->now, l->sweep_at))
        return; /* count 0: nobody uses the limiter here, and there may be no table */
    l->sweep_at = instant_add_ms(r->now, PAGE_INTERVAL_MS);
    struct call *c = call_create_own(r, &sweeper_operation);
    struct sweeper *p = arena_zalloc(&c->arena, sizeof *p);
    p->plan = (struct ranges_plan){.table = slice_of(LIMITER_TABLE),
                                   .ranges = &p->range,
                                   .count = 1,
                                   .limit = PAGE_ITEMS,
                                   .take = sweeper_take};
    c->state = p;
    l->sweep = c;
    call_begin(c, NULL);
}

void sweeper_end(struct router *r)
{
    if (r->limiter->sweep != NULL)
        call_end(r->limiter->sweep);
}
