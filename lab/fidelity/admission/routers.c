/* routers.c - routers take tokens of the table's limit, find the partition, and answer.
 *
 * As router/core/limit.c: a request takes the least that it can cost. If tokens are short and
 * have been asked for, the request waits for at most gac_wait_ms behind those that wait for the
 * same limit. */
#include <stdlib.h>

#include "base/settings/gac.h"
#include "lab/fidelity/admission/model_internal.h"

/* ---- the router's own time ---- */

struct instant router_clock(const struct model *m, struct model_router *r)
{
    int64_t since_ns = m->scheduler.now.ns - r->clock_at_ns;
    int64_t now_ns =
        m->scheduler.now.ns + r->clock_offset_ns + (int64_t)((double)since_ns * r->clock_drift);
    if (now_ns > r->now_ns)
        r->now_ns = now_ns; /* a monotonic clock does not go back */
    return (struct instant){r->now_ns};
}

/* How long it takes until the router's clock shows `at`. */
static int64_t router_until(const struct model *m, struct model_router *r, struct instant at)
{
    int64_t ns = at.ns - router_clock(m, r).ns;
    return (int64_t)((double)ns / (1 + r->clock_drift)) + 1;
}

/* ---- life ---- */

void router_start(struct model *m, struct model_router *r)
{
    const struct gac_client_options options = {
        .config = m->config,
        .servers = m->server_count,
        .router = model_seed(m, DEMAND_GAC, (uint64_t)r->number << 32 | ++r->life) | 1};
    r->client = gac_client_create(&options);
    r->down = false;
    r->tick_at = INSTANT_NEVER;
    r->changes = 0;
    model_links_link(m, r);
    router_pump(m, r);
}

static void queues_drop(struct model *m, struct model_router *r)
{
    size_t at = 0;
    for (struct model_queue *q; (q = id_map_next(&r->queues, &at)) != NULL;) {
        while (!STAILQ_EMPTY(&q->requests)) {
            struct model_request *lost = STAILQ_FIRST(&q->requests);
            STAILQ_REMOVE_HEAD(&q->requests, entry);
            r->waiting--;
            model_sources_done(m, lost, NULL, true, m->scheduler.now.ns);
        }
        free(q);
    }
    id_map_deinit(&r->queues);
}

void router_stop(struct model *m, struct model_router *r)
{
    if (r->down)
        return;
    model_links_unlink(m, r);
    r->down = true;
    r->life++;
    queues_drop(m, r);
    gac_client_destroy(r->client);
    r->client = NULL;
}

void model_routers_create(struct model *m)
{
    m->router_count = (uint32_t)m->scenario->cluster.routers;
    m->routers = must_calloc(m->router_count, sizeof m->routers[0]);
    for (uint32_t i = 0; i < m->router_count; i++) {
        m->routers[i].number = i;
        m->routers[i].peers =
            must_calloc((size_t)m->scenario->cluster.nodes + 1, sizeof m->routers[i].peers[0]);
        overload_init(&m->routers[i].overload, m->config);
        m->routers[i].down = true;
    }
}

void model_routers_destroy(struct model *m)
{
    for (uint32_t i = 0; m->routers != NULL && i < m->router_count; i++) {
        struct model_router *r = &m->routers[i];
        size_t at = 0;
        for (struct model_queue *q; (q = id_map_next(&r->queues, &at)) != NULL;)
            free(q);
        id_map_deinit(&r->queues);
        free(r->peers);
        if (r->client != NULL)
            gac_client_destroy(r->client);
    }
    free(m->routers);
}

/* ---- tokens ---- */

static struct model_queue *router_queue(struct model_router *r, struct gac_key key)
{
    struct model_queue *q = id_map_find(&r->queues, gac_key_number(key));
    if (q != NULL)
        return q;
    q = must_calloc(1, sizeof *q);
    q->key = key;
    STAILQ_INIT(&q->requests);
    id_map_add(&r->queues, gac_key_number(key), q);
    return q;
}

static int64_t min_cost(const struct traffic_request *t)
{
    return model_kind(t) == ADMIT_READ ? read_cost_mcu(0, t->consistent)
                                       : write_cost_mcu(model_write_bytes(t));
}

static enum gac_verdict router_take(struct model *m, struct model_router *r,
                                    struct model_request *q, struct duration *wait)
{
    struct gac_limit limit = q->table->limits[model_kind(&q->traffic)];
    int64_t mcu = min_cost(&q->traffic);
    enum gac_verdict v = gac_client_take(r->client, router_clock(m, r), &limit, mcu, wait);
    if (v == GAC_TAKEN)
        q->taken_mcu = mcu;
    if (v == GAC_REFUSED)
        *wait = gac_client_place(r->client, router_clock(m, r), limit.key, mcu,
                                 (uint64_t)q->due_ns ^ (uint64_t)q->client << 40, *wait);
    return v;
}

static void router_settle(struct model_router *r, struct model_request *q, int64_t used_mcu)
{
    if (q->taken_mcu == 0)
        return;
    gac_client_settle(r->client, q->table->limits[model_kind(&q->traffic)].key, q->taken_mcu,
                      used_mcu);
    q->taken_mcu = 0;
}

/* ---- serving ---- */

static struct slice request_key_of(struct model *m, struct model_request *q)
{
    const struct load_keys *k = &q->source->traffic.options.keys;
    char text[LOAD_KEY_SIZE_MAX];
    struct buffer *out = &q->source->key;
    size_t size = load_keys_text(k, q->traffic.key, text);
    struct attr one = {.type = ATTR_STRING, .body = slice_make(text, size)};
    (void)m;
    buffer_clear(out);
    if (load_keys_share_one(k)) {
        struct attr whole = {.type = ATTR_STRING, .body = slice_of(k->single)};
        storage_key_append(out, q->table->id, &whole, &one);
    } else {
        storage_key_append(out, q->table->id, &one, NULL);
    }
    return buffer_slice(out);
}

/* The router's processor: a queue like a node's. */
static int64_t router_work(struct model *m, struct model_router *r, int64_t ns)
{
    int64_t at = m->scheduler.now.ns;
    int64_t begins = r->busy_until_ns > at ? r->busy_until_ns : at;
    r->busy_until_ns = begins + ns;
    return r->busy_until_ns - at;
}

static void router_refuse(struct model *m, struct model_router *r, struct model_request *q,
                          enum admit_reason reason, struct duration wait)
{
    const struct admit_verdict v = {.reason = reason, .wait = wait};
    struct model_partition *p = model_partitions_route(q->table, request_key_of(m, q));
    observe_request(m, q, p, reason, demand_cost_mcu(&q->traffic), -1);
    model_note(m, reason);
    model_sources_done(m, q, &v, false,
                       m->scheduler.now.ns +
                           router_work(m, r, m->scenario->cluster.costs.refuse_ns) +
                           2 * m->scenario->cluster.costs.network_ns);
}

/* As router/core/shedding.c: by the time that the request would wait for the router's processor. */
static bool router_arrives(struct model *m, struct model_router *r, struct model_request *q,
                           bool limited)
{
    const int64_t wait_ns = r->busy_until_ns - m->scheduler.now.ns;
    const bool shorter = wait_ns <= r->overload.target_ns;
    const struct overload_arrival a = {
        .now = {m->scheduler.now.ns + (wait_ns > 0 ? wait_ns : 0)},
        .waited = {wait_ns > 0 ? wait_ns : 0},
        .within_limit = limited || shorter,
        .key_hash = shorter ? 0 : storage_key_bound_hash(request_key_of(m, q), 0)};
    return overload_arrive(&r->overload, &a);
}

bool model_routers_is_within(const struct model *m, const struct model_router *r,
                             const struct model_table *t, enum admit_kind kind)
{
    if (t->limited[kind] && gac_client_limits(r->client, &t->limits[kind]))
        return true;
    return !gac_client_exempts(r->client, &t->limits[kind]) &&
           !overload_is_excess(&r->excess, gac_key_number(t->limits[kind].key), model_now(m));
}

static void router_serve(struct model *m, struct model_router *r, struct model_request *q)
{
    struct slice key = request_key_of(m, q);
    struct model_partition *p = model_partitions_route(q->table, key);
    struct model_outcome out;
    model_nodes_serve(m, p, q, key, &out);
    if (out.failed) {
        router_settle(r, q, 0);
        observe_request(m, q, p, REFUSED_FAILED, demand_cost_mcu(&q->traffic), -1);
        model_sources_done(m, q, NULL, true,
                           m->scheduler.now.ns + m->scenario->cluster.costs.network_ns);
        return;
    }
    bool admitted = out.verdict.reason == ADMIT_OK;
    q->miss_ns = out.miss_ns;
    router_settle(r, q, admitted ? out.cost_mcu : 0);
    const struct scenario_costs *costs = &m->scenario->cluster.costs;
    int64_t done_ns = out.done_ns +
                      router_work(m, r, admitted ? costs->router_ns : costs->refuse_ns) +
                      model_way_ns(m) + model_way_ns(m);
    model_note(m, (uint64_t)out.verdict.reason << 48 ^ (uint64_t)out.cost_mcu ^ p->id);
    observe_request(m, q, p, (uint32_t)out.verdict.reason, out.cost_mcu,
                    admitted ? done_ns - q->due_ns : -1);
    model_sources_done(m, q, &out.verdict, false, done_ns);
}

/* ---- waiting for tokens ---- */

static void router_wait_over(void *context, uint64_t argument)
{
    struct model *m = context;
    struct model_router *r = &m->routers[argument >> 32];
    if (!r->down && r->life == (uint32_t)argument)
        router_pump(m, r);
}

static void router_park(struct model *m, struct model_router *r, struct model_queue *q,
                        struct model_request *request)
{
    struct model_request *kept = model_sources_keep(m, request);
    kept->wait_until_ns = m->scheduler.now.ns + config_gac(m->config)->gac_wait_ms * NS_PER_MS;
    STAILQ_INSERT_TAIL(&q->requests, kept, entry);
    if (r->waiting++ == 0)
        r->changes = gac_client_changes(r->client);
    model_in(m, kept->wait_until_ns - m->scheduler.now.ns, router_wait_over, m,
             (uint64_t)r->number << 32 | r->life);
}

/* Tries the waiting requests in their order, until one must wait on. */
static void queue_retry(struct model *m, struct model_router *r, struct model_queue *q,
                        bool changed)
{
    struct model_request *w;
    while ((w = STAILQ_FIRST(&q->requests)) != NULL) {
        struct duration wait = {0};
        bool late = m->scheduler.now.ns >= w->wait_until_ns;
        if (!changed && !late)
            return;
        enum gac_verdict v = router_take(m, r, w, &wait);
        if (v == GAC_WAIT && !late)
            return;
        STAILQ_REMOVE_HEAD(&q->requests, entry);
        r->waiting--;
        if (v == GAC_TAKEN)
            router_serve(m, r, w);
        else
            router_refuse(m, r, w, ADMIT_REFUSED_TABLE, wait);
        if (r->down)
            return;
    }
}

static void router_retry_all(struct model *m, struct model_router *r)
{
    bool changed = r->changes != gac_client_changes(r->client);
    r->changes = gac_client_changes(r->client);
    size_t at = 0;
    for (struct model_queue *q; (q = id_map_next(&r->queues, &at)) != NULL;)
        queue_retry(m, r, q, changed);
}

/* ---- messages and deadlines ---- */

static void router_tick(void *context, uint64_t argument)
{
    struct model *m = context;
    struct model_router *r = &m->routers[argument >> 32];
    if (r->down || r->life != (uint32_t)argument || m->scheduler.now.ns < r->tick_at.ns)
        return;
    r->tick_at = INSTANT_NEVER;
    gac_client_tick(r->client, router_clock(m, r));
    router_pump(m, r);
}

static void router_set_tick(struct model *m, struct model_router *r)
{
    struct instant at = gac_client_deadline(r->client);
    if (at.ns == INSTANT_NEVER.ns)
        return;
    int64_t in_ns = router_until(m, r, at);
    int64_t at_ns = m->scheduler.now.ns + (in_ns > 0 ? in_ns : 0);
    if (at_ns >= r->tick_at.ns)
        return;
    r->tick_at.ns = at_ns;
    model_in(m, at_ns - m->scheduler.now.ns, router_tick, m, (uint64_t)r->number << 32 | r->life);
}

void router_pump(struct model *m, struct model_router *r)
{
    uint32_t server;
    struct slice frame;
    if (r->down)
        return;
    if (r->waiting > 0)
        router_retry_all(m, r);
    while (gac_client_next_frame(r->client, router_clock(m, r), &server, &frame))
        model_links_send(m, r, server, frame);
    router_set_tick(m, r);
}

/* ---- a request comes ---- */

void model_routers_submit(struct model *m, struct model_request *q)
{
    struct model_router *r = &m->routers[q->router];
    enum admit_kind kind = model_kind(&q->traffic);
    m->counts.requests++;
    if (r->down) {
        struct model_partition *p = model_partitions_route(q->table, request_key_of(m, q));
        observe_request(m, q, p, REFUSED_FAILED, demand_cost_mcu(&q->traffic), -1);
        model_sources_done(m, q, NULL, true,
                           m->scheduler.now.ns + m->scenario->cluster.costs.network_ns);
        return;
    }
    if (!router_arrives(m, r, q, model_routers_is_within(m, r, q->table, kind))) {
        router_refuse(m, r, q, ADMIT_REFUSED_OVERLOAD, (struct duration){0});
        return;
    }
    if (!q->table->limited[kind]) {
        router_serve(m, r, q);
        return;
    }
    struct duration wait = {0};
    struct model_queue *queue = router_queue(r, q->table->limits[kind].key);
    enum gac_verdict v = STAILQ_EMPTY(&queue->requests) ? router_take(m, r, q, &wait) : GAC_WAIT;
    if (v == GAC_TAKEN)
        router_serve(m, r, q);
    else if (v == GAC_REFUSED)
        router_refuse(m, r, q, ADMIT_REFUSED_TABLE, wait);
    else
        router_park(m, r, queue, q);
    router_pump(m, r);
}
