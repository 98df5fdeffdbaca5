/* acquire.c - acquire, check and consume: take tokens, or refuse. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "router/client.h"
#include "router/limiter/pages.h"
#include "router/limiter/take.h"

/* The request's name, given by the client or drawn. It chooses the shard only if the client gave it. */
static void acquire_name(struct call *c, struct charge *g, const struct bucket_name *b)
{
    const struct slice key = http_find(&c->client->http.head, "idempotency-key");
    XXH3_state_t hash;
    XXH3_128bits_reset(&hash);
    if (key.size > 0) {
        XXH3_128bits_update(&hash, key.data, key.size);
        XXH3_128bits_update(&hash, b->space.data, b->space.size);
        XXH3_128bits_update(&hash, b->entity.data, b->entity.size);
        XXH3_128bits_update(&hash, b->resource.data, b->resource.size);
    } else {
        const uint64_t drawn[2] = {prng_next(&c->router->prng), prng_next(&c->router->prng)};
        XXH3_128bits_update(&hash, drawn, sizeof drawn);
    }
    const XXH128_hash_t token = XXH3_128bits_digest(&hash);
    memcpy(g->token, &token, sizeof g->token);
    g->named = g->homed = key.size > 0;
    g->home = slice_head(slice_make(g->token, sizeof g->token));
}

/* ---- acquire ---- */

static bool acquire_begin(struct call *c, const struct json_value body[])
{
    static const char *const NAMES[] = {"namespace", "entity",         "resource", "consume",
                                        "lease_ms",  "on_unavailable", NULL};
    struct take *t = arena_zalloc(&c->arena, sizeof *t);
    struct words w;
    struct bucket_name name;
    if (!words_body(&w, c, body) || !words_only(&w, NAMES) || !words_bucket(&w, &name) ||
        !words_amounts(&w, "consume", NAMES, 0, &t->amounts) ||
        !words_integer(&w, "lease_ms", 1, WORDS_LEASE_MS_MAX, 0, &t->lease_ms) ||
        !words_on_unavailable(&w, &t->session.on_unavailable))
        return false;
    acquire_name(c, &t->session.charge, &name);
    t->session.charge.digest = amounts_digest(&t->amounts, 1);
    session_begin(c, &t->session, &take_work, &name);
    return true;
}

const struct operation operation_limiter_acquire = {.name = "LimiterAcquire",
                                                    .begin = acquire_begin,
                                                    .ready = session_ready,
                                                    .reply = session_reply,
                                                    .finish = session_finish,
                                                    .fail = take_fail,
                                                    .end = session_end};

/* ---- check ---- */

static bool check_begin(struct call *c, const struct json_value unused[])
{
    static const char *const NAMES[] = {"namespace", "entity", "resource", "on_unavailable", NULL};
    struct take *t = arena_zalloc(&c->arena, sizeof *t);
    struct words w;
    struct bucket_name name;
    (void)unused;
    t->proxy = true;
    if (!words_query(&w, c) || !words_bucket(&w, &name) ||
        !words_on_unavailable(&w, &t->session.on_unavailable) ||
        !words_amounts(&w, "query", NAMES, 0, &t->amounts) || !words_only(&w, NAMES))
        return false;
    acquire_name(c, &t->session.charge, &name);
    t->session.charge.digest = amounts_digest(&t->amounts, 1);
    session_begin(c, &t->session, &take_work, &name);
    return true;
}

const struct operation operation_limiter_check = {.name = "LimiterCheck",
                                                  .begin = check_begin,
                                                  .ready = session_ready,
                                                  .reply = session_reply,
                                                  .finish = session_finish,
                                                  .fail = take_fail,
                                                  .end = session_end};

/* ---- consume ---- */

static bool consume_begin(struct call *c, const struct json_value body[])
{
    static const char *const NAMES[] = {"lease", "consume", NULL};
    struct take *t = arena_zalloc(&c->arena, sizeof *t);
    struct charge *g = &t->session.charge;
    struct slice text;
    struct words w;
    if (!words_body(&w, c, body) || !words_only(&w, NAMES) ||
        !words_text(&w, "lease", LEASE_TEXT_MAX, &text) ||
        !words_amounts(&w, "consume", NAMES, 0, &t->amounts))
        return false;
    if (!lease_read(&c->arena, text, &t->lease))
        return words_invalid(c, "lease", "it is none that an answer has given");
    t->uses_lease = true;
    lease_token(&t->lease, g->token);
    g->named = true;
    g->digest = amounts_digest(&t->amounts, 2);
    g->until_ms = t->lease.until_ms;
    g->home = t->lease.parts[0].shard;
    g->homed = true;
    const struct bucket_name name = {t->lease.space, t->lease.parts[0].entity, t->lease.resource};
    session_begin(c, &t->session, &take_work, &name);
    return true;
}

const struct operation operation_limiter_consume = {.name = "LimiterConsume",
                                                    .begin = consume_begin,
                                                    .ready = session_ready,
                                                    .reply = session_reply,
                                                    .finish = session_finish,
                                                    .fail = take_fail,
                                                    .end = session_end};
