/* acquire.c - acquire, check and consume: take tokens, or refuse. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "router/core/client.h"
#include "router/limiter/acquire_plan.h"
#include "router/limiter/limiter_operations.h"

_Static_assert(sizeof(XXH128_hash_t) == TRANSACTION_TOKEN_SIZE, "a token is a hash");

/* The request's token, from the Idempotency-Key or drawn. It chooses the shard only if the client
 * gave a key. */
static void acquire_name(struct call *c, struct charge *g, const struct bucket_name *b)
{
    const struct slice key = http_find(&c->client->http.head, "idempotency-key");
    XXH3_state_t hash;
    XXH3_128bits_reset(&hash);
    if (key.size > 0) {
        XXH3_128bits_update(&hash, key.data, key.size);
        XXH3_128bits_update(&hash, b->name_space.data, b->name_space.size);
        XXH3_128bits_update(&hash, b->entity.data, b->entity.size);
        XXH3_128bits_update(&hash, b->resource.data, b->resource.size);
    } else {
        const uint64_t drawn[2] = {prng_next(&c->router->prng), prng_next(&c->router->prng)};
        XXH3_128bits_update(&hash, drawn, sizeof drawn);
    }
    const XXH128_hash_t token = XXH3_128bits_digest(&hash);
    memcpy(g->token, &token, sizeof g->token);
    g->has_token = g->token_has_owner = key.size > 0;
    g->owner_key = slice_head(slice_make(g->token, sizeof g->token));
}

/* ---- acquire ---- */

static bool acquire_begin(struct call *c, const struct json_value body[])
{
    static const char *const NAMES[] = {"namespace", "entity",         "resource", "consume",
                                        "lease_ms",  "on_unavailable", NULL};
    struct acquire_plan *t = arena_zalloc(&c->arena, sizeof *t);
    struct limiter_request w;
    struct bucket_name name;
    if (!limiter_request_body(&w, c, body) || !limiter_request_check_names(&w, NAMES) ||
        !limiter_request_bucket(&w, &name) ||
        !limiter_request_amounts(&w, "consume", NAMES, 0, &t->amounts) ||
        !limiter_request_integer(&w, "lease_ms", 1, APP_LEASE_MS_MAX, 0, &t->lease_ms) ||
        !limiter_request_on_unavailable(&w, &t->limiter_call.on_unavailable))
        return false;
    acquire_name(c, &t->limiter_call.charge, &name);
    t->limiter_call.charge.digest = amounts_digest(&t->amounts, 1);
    limiter_call_begin(c, &t->limiter_call, &acquire_handlers, &name);
    return true;
}

LIMITER_OPERATION(acquire, "LimiterAcquire", .begin = acquire_begin, LIMITER_CALL_STEPS,
                  .fail = acquire_fail);

/* ---- check ---- */

static bool check_begin(struct call *c, UNUSED const struct json_value unused[])
{
    static const char *const NAMES[] = {"namespace", "entity", "resource", "on_unavailable", NULL};
    struct acquire_plan *t = arena_zalloc(&c->arena, sizeof *t);
    struct limiter_request w;
    struct bucket_name name;
    t->proxy = true;
    if (!limiter_request_query(&w, c) || !limiter_request_bucket(&w, &name) ||
        !limiter_request_on_unavailable(&w, &t->limiter_call.on_unavailable) ||
        !limiter_request_amounts(&w, "query", NAMES, 0, &t->amounts) ||
        !limiter_request_check_names(&w, NAMES))
        return false;
    acquire_name(c, &t->limiter_call.charge, &name);
    t->limiter_call.charge.digest = amounts_digest(&t->amounts, 1);
    limiter_call_begin(c, &t->limiter_call, &acquire_handlers, &name);
    return true;
}

LIMITER_OPERATION(check, "LimiterCheck", .begin = check_begin, LIMITER_CALL_STEPS,
                  .fail = acquire_fail);

/* ---- consume ---- */

static bool consume_begin(struct call *c, const struct json_value body[])
{
    static const char *const NAMES[] = {"lease", "consume", NULL};
    struct acquire_plan *t = arena_zalloc(&c->arena, sizeof *t);
    struct charge *g = &t->limiter_call.charge;
    struct slice text;
    struct limiter_request w;
    if (!limiter_request_body(&w, c, body) || !limiter_request_check_names(&w, NAMES) ||
        !limiter_request_text(&w, "lease", APP_LEASE_TEXT_MAX, &text) ||
        !limiter_request_amounts(&w, "consume", NAMES, 0, &t->amounts))
        return false;
    if (!app_lease_read(&c->arena, text, &t->lease))
        return limiter_error_invalid(c, "lease", "it is not a valid lease");
    t->uses_lease = true;
    app_lease_token(&t->lease, g->token);
    g->has_token = true;
    g->digest = amounts_digest(&t->amounts, 2);
    g->expires_ms = t->lease.expires_ms;
    g->owner_key = t->lease.parts[0].shard;
    g->token_has_owner = true;
    const struct bucket_name name = {t->lease.name_space, t->lease.parts[0].entity,
                                     t->lease.resource};
    limiter_call_begin(c, &t->limiter_call, &acquire_handlers, &name);
    return true;
}

LIMITER_OPERATION(consume, "LimiterConsume", .begin = consume_begin, LIMITER_CALL_STEPS,
                  .fail = acquire_fail);
