/* idempotency_lookup.c - asks the owner shards of a token whether they know it. */
#include "router/limiter/idempotency_lookup.h"

#include "base/mutation.h"
#include "base/settings/transactions.h"
#include "router/limiter/bucket_maintenance.h"

uint32_t idempotency_owner_shard(const struct charge *g, const struct cached_bucket *b)
{
    return (uint32_t)g->owner_key & (bucket_shard_count(b) - 1);
}

/* The shards that owned the token of late, by other numbers of shards. Which numbers there were is
 * not known once a merging is over. */
static uint32_t idempotency_former_owners(const struct call *c, const struct cached_bucket *b,
                                          uint32_t out[LIMITER_SIZES])
{
    const struct limiter_call *s = c->state;
    const uint32_t own = idempotency_owner_shard(&s->charge, b);
    uint32_t found = 0, last = LIMITER_SHARDS_MAX;
    const int64_t token_ms = config_transactions(c->router->config)->transaction_token_ms;
    const bool changed = b->shard_map.epoch > b->shard_map.grown[0]; /* ever */
    if (!changed || router_wall_ms(c->router) - b->changed_ms > token_ms ||
        MUTATED(MUTATION_LIMITER_QUERY_ONE_SHARD))
        return 0;
    for (uint32_t size = 1; size <= LIMITER_SHARDS_MAX; size *= 2) {
        const uint32_t shard = (uint32_t)s->charge.owner_key & (size - 1);
        must(found < LIMITER_SIZES);
        if (shard != own && shard != last)
            out[found++] = shard;
        last = shard;
    }
    return found;
}

/* Whether the owner was created, so that its parents have adopted the shard map. */
static bool owner_is_created(struct cached_bucket *b, uint32_t shard)
{
    const struct cached_shard *k = bucket_shard(b, shard);
    return k->is_valid && k->shards == bucket_shard_count(b);
}

static void idempotency_lookup_send(struct call *c, const struct cached_bucket *b, uint32_t shard)
{
    struct limiter_call *s = c->state;
    struct item_place place;
    item_place_of_shard(c, &s->table->table, &b->name, shard, &place);
    struct subrequest *sub = call_request(c, s->table, REQUEST_UPDATE);
    sub->request.write.key = place.key;
    sub->request.write.item = place.item;
    sub->request.write.token.id = slice_make(s->charge.token, sizeof s->charge.token);
    sub->request.write.token.digest = s->charge.digest;
    sub->request.write.token.only = true;
    subrequest_start(c->router, sub);
}

/* Creates the owner. False: that cannot be begun. */
static bool owner_create(struct call *c, struct cached_bucket *b, uint32_t own)
{
    struct limiter_call *s = c->state;
    struct charge *g = &s->charge;
    if (!s->owner_was_read) {
        s->owner_was_read = true;
        g->end = 0;
        limiter_call_read_shards(c, b);
        s->reads_owner = true;
        return true;
    }
    must(g->parts != NULL);
    s->owner_was_read = false;
    g->count = 1;
    g->parts[0].bucket = b;
    g->parts[0].shard = own;
    g->end = CHARGE_REFUSED;
    g->refusal = LIMITER_ABSENT;
    g->failed = 0;
    return limiter_call_repair(c);
}

bool idempotency_lookup_begin(struct call *c, bool tokens_short)
{
    struct limiter_call *s = c->state;
    const bool all = tokens_short || s->maybe_expired;
    struct charge *g = &s->charge;
    must(s->chain_count > 0);
    must(c->outstanding == 0);
    struct cached_bucket *b = s->chain[0];
    uint32_t owners[LIMITER_SIZES];
    if (!g->token_has_owner ||
        (g->queried_shards == bucket_shard_count(b) && (!all || g->queried_own)))
        return false;
    const uint32_t own = idempotency_owner_shard(g, b),
                   count = idempotency_former_owners(c, b, owners);
    if (count == 0 && !all)
        return false;
    if (b->merging) { /* until all shards that go are sealed */
        maintenance_grow(c->router, b);
        limiter_call_back_off(c);
        return true;
    }
    if (count > 0 && own > 0 && !owner_is_created(b, own) && owner_create(c, b, own))
        return true;
    g->queried_shards = bucket_shard_count(b);
    g->queried_own = all;
    g->end = CHARGE_REFUSED;
    s->step = LIMITER_CALL_LOOKUP;
    for (uint32_t i = 0; i < count; i++)
        idempotency_lookup_send(c, b, owners[i]);
    if (all)
        idempotency_lookup_send(c, b, own);
    return true;
}

bool idempotency_lookup_expired(struct call *c)
{
    struct limiter_call *s = c->state;
    if (s->maybe_expired || !s->charge.token_has_owner)
        return false;
    s->maybe_expired = true;
    s->charge.end = 0;
    s->step = LIMITER_CALL_READ_SHARDS; /* the router may be wrong about the number of shards */
    s->read_failed = false;
    s->reads_owner = true;
    s->repaired = s->chain[0];
    shard_read_send(c, s->chain[0], 0);
    return true;
}

void idempotency_lookup_reply(struct call *c, const struct reply *r)
{
    struct limiter_call *s = c->state;
    struct charge *g = &s->charge;
    if (r->code == REPLY_ABORTED)
        return; /* not known there */
    if (r->code == REPLY_OK)
        g->end = CHARGE_DONE;
    else if (r->code == REPLY_TOKEN_MISMATCH)
        g->end = CHARGE_TOKEN_MISMATCH;
    else if (g->end == CHARGE_REFUSED)
        g->end = CHARGE_UNAVAILABLE;
}

bool idempotency_lookup_finish(struct call *c)
{
    struct limiter_call *s = c->state;
    struct charge *g = &s->charge;
    must(g->end != 0);
    must(g->has_token);
    if (g->end == CHARGE_REFUSED)
        return s->handlers->plan(c);
    g->is_repeat = true;
    if (g->end == CHARGE_UNAVAILABLE)
        fault_set(call_fault(c), FAULT_UNAVAILABLE,
                  "The shards with the record of earlier requests do not answer");
    return s->handlers->charge_ended(c);
}
