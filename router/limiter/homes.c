/* homes.c - asks shards for the token of a charge. */
#include "router/limiter/homes.h"

#include "base/mutation.h"
#include "base/settings/transactions.h"
#include "router/limiter/tend.h"

uint32_t homes_own(const struct charge *g, const struct known_bucket *b)
{
    return (uint32_t)g->home & (bucket_count(b) - 1);
}

/* The shards that the home has chosen of late, by other numbers of shards. What the numbers were is forgotten
 * when a merging is over. */
static uint32_t homes_find(const struct call *c, const struct known_bucket *b,
                           uint32_t out[LIMITER_SIZES])
{
    const struct session *s = c->state;
    const uint32_t own = homes_own(&s->charge, b);
    uint32_t found = 0, last = LIMITER_SHARDS_MAX;
    const int64_t known_ms = config_transactions(c->router->config)->transaction_token_ms;
    const bool changed = b->shards.epoch > b->shards.grown[0]; /* ever */
    if (!changed || router_wall_ms(c->router) - b->changed_ms > known_ms ||
        MUTATED(MUTATION_LIMITER_FORGET_HOME))
        return 0;
    for (uint32_t size = 1; size <= LIMITER_SHARDS_MAX; size *= 2) {
        const uint32_t shard = (uint32_t)s->charge.home & (size - 1);
        if (shard != own && shard != last)
            out[found++] = shard;
        last = shard;
    }
    return found;
}

/* Whether the own home was made, so that the shards that it comes from know of it. */
static bool home_is_made(struct known_bucket *b, uint32_t shard)
{
    const struct known_shard *k = bucket_shard(b, shard);
    return k->heard && k->shards == bucket_count(b);
}

static void home_send(struct call *c, const struct known_bucket *b, uint32_t shard)
{
    struct session *s = c->state;
    struct place place;
    place_of_shard(c, &s->table->table, &b->name, shard, &place);
    struct subrequest *sub = call_request(c, s->table, REQUEST_UPDATE);
    sub->request.write.key = place.key;
    sub->request.write.item = place.item;
    sub->request.write.token = slice_make(s->charge.token, sizeof s->charge.token);
    sub->request.write.digest = s->charge.digest;
    sub->request.write.token_only = true;
    subrequest_start(c->router, sub);
}

/* Makes the own home. False: that cannot be begun. */
static bool home_make(struct call *c, struct known_bucket *b, uint32_t own)
{
    struct session *s = c->state;
    struct charge *g = &s->charge;
    if (!s->home_read) {
        s->home_read = true;
        g->end = 0;
        session_read(c, b);
        s->reads_home = true;
        return true;
    }
    s->home_read = false;
    g->count = 1;
    g->parts[0].bucket = b;
    g->parts[0].shard = own;
    g->end = CHARGE_REFUSED;
    g->refusal = LIMITER_ABSENT;
    g->failed = 0;
    return session_mend(c);
}

bool homes_ask(struct call *c, bool short_of)
{
    struct session *s = c->state;
    const bool all = short_of || s->late;
    struct charge *g = &s->charge;
    struct known_bucket *b = s->chain[0];
    uint32_t homes[LIMITER_SIZES];
    if (!g->homed || (g->asked == bucket_count(b) && (!all || g->asked_own)))
        return false;
    const uint32_t own = homes_own(g, b), count = homes_find(c, b, homes);
    if (count == 0 && !all)
        return false;
    if (b->merging) { /* until all shards that go are closed */
        tend_grow(c->router, b);
        session_wait(c);
        return true;
    }
    if (count > 0 && own > 0 && !home_is_made(b, own) && home_make(c, b, own))
        return true;
    g->asked = bucket_count(b);
    g->asked_own = all;
    g->end = CHARGE_REFUSED;
    s->step = SESSION_ASK;
    for (uint32_t i = 0; i < count; i++)
        home_send(c, b, homes[i]);
    if (all)
        home_send(c, b, own);
    return true;
}

bool homes_ask_late(struct call *c)
{
    struct session *s = c->state;
    if (s->late || !s->charge.homed)
        return false;
    s->late = true;
    s->charge.end = 0;
    s->step = SESSION_READ; /* the router may be wrong about the number of shards */
    s->deaf = false;
    s->reads_home = true;
    s->mended = s->chain[0];
    command_read(c, s->chain[0], 0);
    return true;
}

void homes_took(struct call *c, const struct reply *r)
{
    struct session *s = c->state;
    struct charge *g = &s->charge;
    if (r->code == REPLY_ABORTED)
        return; /* not known there */
    if (r->code == REPLY_OK)
        g->end = CHARGE_DONE;
    else if (r->code == REPLY_TOKEN_MISMATCH)
        g->end = CHARGE_USED;
    else if (g->end == CHARGE_REFUSED)
        g->end = CHARGE_LOST;
}

bool homes_end(struct call *c)
{
    struct session *s = c->state;
    struct charge *g = &s->charge;
    if (g->end == CHARGE_REFUSED)
        return s->work->known(c);
    g->before = true;
    if (g->end == CHARGE_LOST)
        fault_set(call_fault(c), FAULT_UNAVAILABLE,
                  "It cannot be asked whether the request was done before");
    return s->work->charged(c);
}
