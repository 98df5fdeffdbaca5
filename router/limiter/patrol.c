/* patrol.c - a page of the limiter's table, and the buckets with several shards on it. */
#include "router/limiter/patrol.h"

#include "engine/item/storage_key.h"
#include "router/limiter/words.h"
#include "router/plan/ranges.h"

enum {
    PAGE_ITEMS = 100,
    PAGE_PAUSE_MS = 5000,
    THROTTLED_PAUSE_MS = 60000
};

struct patrol {
    struct ranges_plan plan; /* must be first */
    struct plan_range range;
};

static void patrol_take(struct call *c, struct slice item)
{
    static struct limiter_bucket bucket; /* large */
    struct router *r = c->router;
    struct bucket_name name;
    struct attr key;
    if (!limiter_bucket_decode(item, &bucket) || bucket.shard != 0 ||
        (bucket.shard_map.count < 2 && !bucket.merging) || !item_find(item, slice_of("PK"), &key) ||
        !bucket_name_of_key(key.body, &name))
        return;
    struct known_bucket *b = bucket_hold(r, &name);
    bucket_seen(r, b, &bucket);
    bucket_release(r, b);
}

static bool patrol_begin(struct call *c, const struct json_value m[])
{
    struct patrol *p = c->state;
    (void)m;
    ranges_begin(c, &p->plan);
    return true;
}

static bool patrol_ready(struct call *c)
{
    struct patrol *p = c->state;
    const struct limiter *l = c->router->limiter;
    struct buffer lo = {0}, hi = {0};
    storage_key_append_hash(&lo, p->plan.route->table.id, 0);
    lo.size = STORAGE_KEY_TABLE_SIZE;
    buffer_append_slice(&hi, buffer_slice(&lo));
    storage_key_successor(&hi);
    /* Where the last page ended, if that is of this table: it may have been made anew. */
    const struct slice from = buffer_slice(&l->patrol_from);
    const bool goes_on =
        slice_compare(from, buffer_slice(&lo)) > 0 && slice_compare(from, buffer_slice(&hi)) < 0;
    p->range.lo = arena_copy(&c->arena, goes_on ? from : buffer_slice(&lo));
    p->range.hi = arena_copy(&c->arena, buffer_slice(&hi));
    buffer_deinit(&lo);
    buffer_deinit(&hi);
    ranges_start(c, &p->plan);
    return true;
}

static bool patrol_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct patrol *p = c->state;
    if (r->code == REPLY_THROTTLED)
        c->router->limiter->patrol_at = instant_add_ms(c->router->now, THROTTLED_PAUSE_MS);
    return ranges_reply(c, &p->plan, s, r);
}

static bool patrol_finish(struct call *c)
{
    struct patrol *p = c->state;
    struct buffer *from = &c->router->limiter->patrol_from;
    if (!ranges_finish(c, &p->plan))
        return false;
    if (!p->plan.ended)
        return true;
    buffer_clear(from);
    if (!p->range.ended)
        buffer_append_slice(from, p->range.lo);
    return true;
}

static int patrol_fail(struct call *c, const struct fault *f)
{
    (void)c;
    return words_fail_status(f);
}

static void patrol_over(struct call *c)
{
    c->router->limiter->patrol = NULL;
}

static const struct operation PATROL = {.name = "LimiterPatrol",
                                        .begin = patrol_begin,
                                        .ready = patrol_ready,
                                        .reply = patrol_reply,
                                        .finish = patrol_finish,
                                        .fail = patrol_fail,
                                        .end = patrol_over};

void patrol_look(struct router *r)
{
    struct limiter *l = r->limiter;
    if (l->count == 0 || l->patrol != NULL || instant_before(r->now, l->patrol_at))
        return; /* count 0: nobody uses the limiter here, and there may be no table */
    l->patrol_at = instant_add_ms(r->now, PAGE_PAUSE_MS);
    struct call *c = call_create_own(r, &PATROL);
    struct patrol *p = arena_zalloc(&c->arena, sizeof *p);
    p->plan = (struct ranges_plan){.table = slice_of(LIMITER_TABLE),
                                   .ranges = &p->range,
                                   .count = 1,
                                   .limit = PAGE_ITEMS,
                                   .take = patrol_take};
    c->state = p;
    l->patrol = c;
    call_begin(c, NULL);
}

void patrol_end(struct router *r)
{
    if (r->limiter->patrol != NULL)
        call_end(r->limiter->patrol);
}
