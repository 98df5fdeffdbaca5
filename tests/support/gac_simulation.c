/* gac_simulation.c - frames between leases and ledgers, arrivals of requests, and faults. */
#include "tests/support/gac_simulation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/settings/gac.h"
#include "tests/support/baseline_policies.h"

enum {
    DOWN_AFTER_MS = 400, /* until the host notices a cut link */
    WAIT_MS = 50         /* how long a request waits for tokens that were asked for */
};

static const struct gac_key key = {7, 0, GAC_WRITE};

struct frame {
    struct gac_simulation *simulation;
    uint32_t router, server;
    uint64_t life;
    bool to_server;
    struct buffer bytes;
};

static struct instant read_clock(const struct gac_simulation *w, int64_t offset_ns, int64_t ppm)
{
    int64_t ns = w->scheduler.now.ns;
    return (struct instant){offset_ns + ns + (int64_t)((__int128)ns * ppm / 1000000)};
}

static struct instant router_now(const struct gac_simulation *w, uint32_t router)
{
    const struct gac_simulation_router *r = &w->routers[router];
    return read_clock(w, r->clock_offset_ns, r->clock_ppm);
}

static struct instant server_now(const struct gac_simulation *w, uint32_t server)
{
    const struct gac_simulation_server *s = &w->servers[server];
    return read_clock(w, s->clock_offset_ns, s->clock_ppm);
}

static void after_router(struct gac_simulation *w, uint32_t router);

/* ---- messages ---- */

static void frame_deliver(void *context, uint64_t argument)
{
    (void)argument;
    struct frame *f = context;
    struct gac_simulation *w = f->simulation;
    struct gac_link *link = &w->links[f->router][f->server];
    struct gac_simulation_router *r = &w->routers[f->router];
    struct gac_simulation_server *s = &w->servers[f->server];
    bool arrives = link->life == f->life && !link->cut && r->client != NULL && s->server != NULL;
    if (arrives && f->to_server) {
        struct buffer answer = {0}, error = {0};
        must(gac_server_receive(s->server, server_now(w, f->server),
                                (struct gac_origin){.link = f->life}, buffer_slice(&f->bytes),
                                &answer, &error) == STATUS_OK);
        struct frame *back = malloc(sizeof *back);
        must(back != NULL);
        *back = (struct frame){w, f->router, f->server, f->life, false, answer};
        int64_t at = w->scheduler.now.ns + w->options.delay_ns / 2 +
                     (int64_t)prng_below(&w->prng, (uint64_t)w->options.delay_ns + 1);
        link->last_ns[1] = at > link->last_ns[1] ? at : link->last_ns[1];
        scheduler_at(&w->scheduler, (struct instant){link->last_ns[1]}, frame_deliver, back, 0);
        buffer_deinit(&error);
    } else if (arrives) {
        must(gac_client_receive(r->client, router_now(w, f->router), f->server,
                                buffer_slice(&f->bytes)) == STATUS_OK);
        after_router(w, f->router);
    }
    buffer_deinit(&f->bytes);
    free(f);
}

static void send_frames(struct gac_simulation *w, uint32_t router)
{
    struct gac_simulation_router *r = &w->routers[router];
    uint32_t server;
    struct slice bytes;
    while (gac_client_next_frame(r->client, router_now(w, router), &server, &bytes)) {
        struct gac_link *link = &w->links[router][server];
        struct frame *f = calloc(1, sizeof *f);
        must(f != NULL);
        *f = (struct frame){.simulation = w,
                            .router = router,
                            .server = server,
                            .life = link->life,
                            .to_server = true};
        buffer_append_slice(&f->bytes, bytes);
        struct reader reader = {bytes, false};
        struct gac_requests requests;
        must(gac_requests_decode(&reader, &requests) == STATUS_OK);
        w->messages += requests.count > 0 ? 2 : 0;
        int64_t at = w->scheduler.now.ns + w->options.delay_ns / 2 +
                     (int64_t)prng_below(&w->prng, (uint64_t)w->options.delay_ns + 1);
        link->last_ns[0] = at > link->last_ns[0] ? at : link->last_ns[0];
        scheduler_at(&w->scheduler, (struct instant){link->last_ns[0]}, frame_deliver, f, 0);
    }
}

/* ---- requests ---- */

static void count_admitted(struct gac_simulation *w, struct gac_simulation_router *r, int64_t cost)
{
    r->admitted++;
    w->admitted++;
    w->costly_admitted += cost != GAC_SIMULATION_COST;
    token_bucket_refill(&w->ideal, w->scheduler.now);
    token_bucket_debit(&w->ideal, cost);
    if (-w->ideal.balance > w->over_mcu)
        w->over_mcu = -w->ideal.balance;
}

static enum gac_verdict tokens_take(struct gac_simulation *w, uint32_t router, int64_t cost)
{
    struct gac_limit limit = {
        .key = key, .policy = w->options.policy, .rate = w->options.units * 1000, .version = 1};
    struct duration wait;
    struct gac_client *client = w->routers[router].client;
    enum gac_verdict verdict = gac_client_take(client, router_now(w, router), &limit, cost, &wait);
    if (verdict == GAC_TAKEN)
        gac_client_settle(client, key, cost, cost);
    return verdict;
}

static void request_refuse(struct gac_simulation *w, struct gac_simulation_router *r)
{
    r->refused++;
    w->refused++;
}

static void drop_first(struct gac_simulation_router *r)
{
    r->waiting--;
    memmove(&r->until[0], &r->until[1], r->waiting * sizeof r->until[0]);
    memmove(&r->costs[0], &r->costs[1], r->waiting * sizeof r->costs[0]);
}

/* Waiting requests try again, in order. */
static void try_again(struct gac_simulation *w, uint32_t router)
{
    struct gac_simulation_router *r = &w->routers[router];
    while (r->waiting > 0 && r->changes != gac_client_changes(r->client)) {
        enum gac_verdict verdict = tokens_take(w, router, r->costs[0]);
        if (verdict == GAC_WAIT) {
            r->changes = gac_client_changes(r->client);
            return;
        }
        if (verdict == GAC_TAKEN)
            count_admitted(w, r, r->costs[0]);
        else
            request_refuse(w, r);
        drop_first(r);
    }
    r->changes = gac_client_changes(r->client);
}

static void waiting_expire(struct gac_simulation *w, struct gac_simulation_router *r)
{
    while (r->waiting > 0 && !instant_before(w->scheduler.now, r->until[0])) {
        request_refuse(w, r);
        drop_first(r);
    }
}

static void router_tick(void *context, uint64_t argument)
{
    struct gac_simulation *w = context;
    uint32_t router = (uint32_t)(argument & 0xff);
    struct gac_simulation_router *r = &w->routers[router];
    if (r->client == NULL || argument >> 8 != r->life ||
        instant_before(w->scheduler.now, r->tick_at))
        return;
    gac_client_tick(r->client, router_now(w, router));
    r->tick_at = INSTANT_NEVER;
    after_router(w, router);
}

static void after_router(struct gac_simulation *w, uint32_t router)
{
    struct gac_simulation_router *r = &w->routers[router];
    waiting_expire(w, r);
    try_again(w, router);
    send_frames(w, router);
    int64_t left = gac_client_deadline(r->client).ns - router_now(w, router).ns;
    struct instant at =
        instant_add(w->scheduler.now, (struct duration){left < 0 ? 0 : left + left / 1000});
    if (r->waiting > 0)
        at = instant_earlier(at, r->until[0]);
    if (!instant_before(at, r->tick_at))
        return;
    r->tick_at = at;
    scheduler_at(&w->scheduler, at, router_tick, w, r->life << 8 | router);
}

static void request_arrive(void *context, uint64_t argument);

static void next_arrival(struct gac_simulation *w, uint32_t router)
{
    struct gac_simulation_router *r = &w->routers[router];
    if (r->per_second == 0 || r->client == NULL)
        return;
    double unit = (double)(prng_below(&w->prng, 1 << 30) + 1) / (1 << 30);
    int64_t ns = (int64_t)(-__builtin_log(unit) * 1e12 / (double)r->per_second);
    scheduler_in(&w->scheduler, (struct duration){ns}, request_arrive, w,
                 (uint64_t)r->flow << 8 | router);
}

static void request_arrive(void *context, uint64_t argument)
{
    struct gac_simulation *w = context;
    uint32_t router = (uint32_t)(argument & 0xff);
    struct gac_simulation_router *r = &w->routers[router];
    if (r->client == NULL || argument >> 8 != r->flow)
        return;
    next_arrival(w, router);
    r->offered++;
    w->offered++;
    bool costly = w->options.costly_every > 0 && w->offered % w->options.costly_every == 0;
    int64_t cost = costly ? w->options.costly_mcu : GAC_SIMULATION_COST;
    enum gac_verdict verdict = r->waiting > 0 ? GAC_WAIT : tokens_take(w, router, cost);
    if (verdict == GAC_TAKEN) {
        count_admitted(w, r, cost);
    } else if (verdict == GAC_REFUSED) {
        request_refuse(w, r);
    } else {
        if (r->waiting == r->waiting_capacity) {
            r->waiting_capacity = r->waiting_capacity == 0 ? 64 : r->waiting_capacity * 2;
            r->until = realloc(r->until, r->waiting_capacity * sizeof r->until[0]);
            r->costs = realloc(r->costs, r->waiting_capacity * sizeof r->costs[0]);
            must(r->until != NULL && r->costs != NULL);
        }
        r->costs[r->waiting] = cost;
        r->until[r->waiting++] = instant_add(w->scheduler.now, duration_ms(WAIT_MS));
    }
    after_router(w, router);
}

void gac_simulation_load(struct gac_simulation *w, uint32_t router, int64_t per_second)
{
    struct gac_simulation_router *r = &w->routers[router];
    if (r->per_second == per_second)
        return;
    r->per_second = per_second;
    r->flow++;
    next_arrival(w, router);
}

/* ---- faults ---- */

static void link_connect(struct gac_simulation *w, uint32_t router, uint32_t server)
{
    struct gac_simulation_router *r = &w->routers[router];
    if (r->client == NULL || w->servers[server].server == NULL)
        return;
    w->links[router][server].life = ++w->next_link;
    gac_client_up(r->client, router_now(w, router), server);
    after_router(w, router);
}

void gac_simulation_crash_server(struct gac_simulation *w, uint32_t server)
{
    gac_server_destroy(w->servers[server].server);
    w->servers[server].server = NULL;
    for (uint32_t i = 0; i < w->options.routers; i++) {
        bool reachable = w->links[i][server].life != 0 && !w->links[i][server].cut;
        w->links[i][server].life = 0;
        if (!reachable || w->routers[i].client == NULL)
            continue;
        gac_client_down(w->routers[i].client, router_now(w, i), server, true);
        after_router(w, i);
    }
}

void gac_simulation_start_server(struct gac_simulation *w, uint32_t server)
{
    struct gac_simulation_server *s = &w->servers[server];
    const struct gac_server_options options = {&w->config, server, w->options.servers,
                                               prng_next(&w->prng) | 1};
    s->life++;
    s->server = gac_server_create(&options);
    for (uint32_t i = 0; i < w->options.routers; i++)
        link_connect(w, i, server);
}

void gac_simulation_crash_router(struct gac_simulation *w, uint32_t router)
{
    struct gac_simulation_router *r = &w->routers[router];
    gac_client_destroy(r->client);
    r->client = NULL;
    r->waiting = 0;
    for (uint32_t s = 1; s <= w->options.servers; s++) {
        struct gac_link *link = &w->links[router][s];
        if (w->servers[s].server != NULL && !link->cut && link->life != 0)
            gac_server_link_closed(w->servers[s].server, link->life);
        link->life = 0;
    }
}

void gac_simulation_start_router(struct gac_simulation *w, uint32_t router)
{
    struct gac_simulation_router *r = &w->routers[router];
    const struct gac_client_options options = {&w->config, w->options.servers,
                                               prng_next(&w->prng) | 1};
    r->life++;
    r->flow++;
    r->tick_at = INSTANT_NEVER;
    r->client = gac_client_create(&options);
    r->changes = 0;
    for (uint32_t s = 1; s <= w->options.servers; s++)
        link_connect(w, router, s);
    after_router(w, router);
    next_arrival(w, router);
}

static void notice_cut(void *context, uint64_t argument)
{
    struct gac_simulation *w = context;
    uint32_t router = (uint32_t)(argument >> 8), server = (uint32_t)(argument & 0xff);
    if (!w->links[router][server].cut || w->routers[router].client == NULL)
        return;
    w->links[router][server].life = 0;
    gac_client_down(w->routers[router].client, router_now(w, router), server, false);
    after_router(w, router);
}

void gac_simulation_cut(struct gac_simulation *w, uint32_t router, uint32_t server, bool cut)
{
    w->links[router][server].cut = cut;
    if (cut)
        scheduler_in(&w->scheduler, duration_ms(DOWN_AFTER_MS), notice_cut, w,
                     (uint64_t)router << 8 | server);
    else if (w->links[router][server].life == 0)
        link_connect(w, router, server);
}

int64_t gac_simulation_held(const struct gac_simulation *w)
{
    struct gac_holding holding;
    int64_t held = 0;
    for (uint32_t i = 0; i < w->options.routers; i++) {
        if (w->routers[i].client != NULL &&
            gac_client_holding(w->routers[i].client, router_now(w, i), key, &holding))
            held += holding.tokens > 0 ? holding.tokens : 0;
    }
    return held;
}

uint32_t gac_simulation_owner(const struct gac_simulation *w)
{
    struct gac_holding holding;
    for (uint32_t i = 0; i < w->options.routers; i++) {
        if (w->routers[i].client != NULL &&
            gac_client_holding(w->routers[i].client, router_now(w, i), key, &holding))
            return holding.owner;
    }
    return 0;
}

/* ---- the world ---- */

void gac_simulation_init(struct gac_simulation *w, const struct gac_simulation_options *options)
{
    must(options->routers <= GAC_SIMULATION_ROUTERS && options->servers <= GAC_SIMULATION_SERVERS);
    *w = (struct gac_simulation){.options = *options, .prng = prng_seeded(options->seed)};
    config_init(&w->config, PROFILE_AWS);
    w->config.policies = baseline_policies();
    config_edit_gac(&w->config)->gac_bank_ms = options->bank_ms;
    if (options->named != NULL)
        snprintf(w->config.gac_policy, sizeof w->config.gac_policy, "%s", options->named);
    int64_t rate = options->units * 1000;
    int64_t bank = (int64_t)((__int128)rate * options->bank_ms / 1000);
    token_bucket_init(&w->ideal, bank, rate, INT64_MAX / 4, bank, w->scheduler.now);
    for (uint32_t s = 1; s <= options->servers; s++) {
        w->servers[s].clock_ppm =
            options->drift_ppm == 0
                ? 0
                : (int64_t)prng_below(&w->prng, 2 * (uint64_t)options->drift_ppm + 1) -
                      options->drift_ppm;
        w->servers[s].clock_offset_ns =
            (int64_t)prng_below(&w->prng, (uint64_t)options->skew_ns + 1);
        gac_simulation_start_server(w, s);
    }
    for (uint32_t i = 0; i < options->routers; i++) {
        w->routers[i].clock_ppm =
            options->drift_ppm == 0
                ? 0
                : (int64_t)prng_below(&w->prng, 2 * (uint64_t)options->drift_ppm + 1) -
                      options->drift_ppm;
        w->routers[i].clock_offset_ns =
            (int64_t)prng_below(&w->prng, (uint64_t)options->skew_ns + 1);
        gac_simulation_start_router(w, i);
    }
}

void gac_simulation_deinit(struct gac_simulation *w)
{
    for (uint32_t i = 0; i < w->options.routers; i++) {
        if (w->routers[i].client != NULL)
            gac_client_destroy(w->routers[i].client);
        free(w->routers[i].until);
        free(w->routers[i].costs);
    }
    for (uint32_t s = 1; s <= w->options.servers; s++) {
        if (w->servers[s].server != NULL)
            gac_server_destroy(w->servers[s].server);
        w->servers[s].server = NULL;
    }
    for (size_t i = 0; i < w->scheduler.capacity; i++) {
        if (w->scheduler.events[i].run != frame_deliver)
            continue;
        struct frame *f = w->scheduler.events[i].context;
        buffer_deinit(&f->bytes);
        free(f);
    }
    scheduler_deinit(&w->scheduler);
}

void gac_simulation_run(struct gac_simulation *w, int64_t ns)
{
    struct instant until = instant_add(w->scheduler.now, (struct duration){ns});
    while (scheduler_step(&w->scheduler, until))
        ;
}

void gac_simulation_measure(struct gac_simulation *w)
{
    w->over_mcu = 0;
    w->messages = w->offered = w->admitted = w->refused = 0;
}
