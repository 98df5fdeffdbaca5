/* sources.c - clients: what they send, and what they do after an answer.
 *
 * An open loop without retries costs no event besides its arrival. In a closed loop, or with
 * retries, each answer is an event of its client. */
#include <stdlib.h>

#include "lab/fidelity/admission/model_internal.h"

/* ---- the heap of next arrivals ---- */

static bool source_is_before(const struct model *m, uint32_t a, uint32_t b)
{
    const struct model_source *x = &m->sources[a], *y = &m->sources[b];
    return x->next_ns != y->next_ns ? x->next_ns < y->next_ns : a < b;
}

static void heap_sink(struct model *m, uint32_t at)
{
    uint32_t *heap = m->arrivals;
    for (;;) {
        uint32_t first = at, child = 2 * at + 1;
        for (uint32_t i = child; i < child + 2 && i < m->arrival_count; i++) {
            if (source_is_before(m, heap[i], heap[first]))
                first = i;
        }
        if (first == at)
            return;
        uint32_t swapped = heap[at];
        heap[at] = heap[first];
        heap[first] = swapped;
        at = first;
    }
}

int64_t model_sources_next_ns(const struct model *m)
{
    return m->arrival_count == 0 ? INT64_MAX : m->sources[m->arrivals[0]].next_ns;
}

static void source_read_ahead(struct model_source *s)
{
    s->next_ns = traffic_next(&s->traffic, &s->next) ? s->next.at_ns : INT64_MAX;
}

/* ---- requests ---- */

static struct model_request *request_pooled(struct model *m)
{
    struct model_request *r = STAILQ_FIRST(&m->free);
    if (r != NULL)
        STAILQ_REMOVE_HEAD(&m->free, entry);
    else
        r = arena_alloc(&m->pool, sizeof *r);
    return r;
}

struct model_request *model_sources_keep(struct model *m, const struct model_request *r)
{
    if (r->pooled)
        return (struct model_request *)r;
    struct model_request *kept = request_pooled(m);
    *kept = *r;
    kept->pooled = true;
    return kept;
}

static void request_free(struct model *m, struct model_request *r)
{
    if (r->pooled)
        STAILQ_INSERT_HEAD(&m->free, r, entry);
}

static struct model_table *pick_table(struct model *m, struct model_source *s)
{
    if (s->copy != UINT32_MAX)
        return s->table;
    uint64_t copies = (uint64_t)s->table->scenario->copies;
    return &m->tables[s->table->number + prng_below(&s->spread, copies)];
}

static void attempt_send(struct model *m, struct model_request *r)
{
    r->sent_ns = m->scheduler.now.ns;
    r->router = demand_router(&r->source->workload->routers, m->scheduler.now.ns, m->router_count,
                              &r->source->spread, &r->source->router_next);
    model_hedges_begin(m, r);
    model_routers_submit(m, r);
}

static void client_think(struct model *m, struct model_source *s, uint32_t client);

static void request_over(struct model *m, struct model_request *r)
{
    struct model_source *s = r->source;
    uint32_t client = r->client;
    request_free(m, r);
    if (s->traffic.options.clients.count > 0)
        client_think(m, s, client);
}

static void attempt_now(void *context, uint64_t argument)
{
    struct model_request *r = context;
    (void)argument;
    attempt_send(r->model, r);
}

/* Sends an attempt now, or when the client's own limiter lets it go. */
static void source_attempt(struct model *m, struct model_request *r)
{
    struct model_source *s = r->source;
    struct retry_verdict v =
        retry_send(&s->clients[r->client], &r->retry, m->scheduler.now.ns, &s->retries);
    if (!v.again) {
        observe_rejected(m, r);
        request_over(m, r);
    } else if (v.at_ns > m->scheduler.now.ns) {
        struct model_request *kept = model_sources_keep(m, r);
        model_in(m, v.at_ns - m->scheduler.now.ns, attempt_now, kept, 0);
    } else {
        attempt_send(m, r);
    }
}

static void attempt_due(void *context, uint64_t argument)
{
    struct model_request *r = context;
    (void)argument;
    source_attempt(r->model, r);
}

/* ---- answers ---- */

static void client_receives(void *context, uint64_t argument)
{
    struct model_request *r = context;
    struct model *m = r->model;
    struct model_source *s = r->source;
    if (r->pair != NULL && !model_hedges_answered(m, r, (enum retry_result)argument)) {
        request_free(m, r);
        return;
    }
    const struct retry_outcome outcome = {(enum retry_result)argument, r->hint_ns};
    struct retry_verdict v =
        retry_after(&s->clients[r->client], &r->retry, &outcome, m->scheduler.now.ns, &s->retries);
    if (!v.again)
        request_over(m, r);
    else
        model_in(m, v.at_ns - m->scheduler.now.ns, attempt_due, r, 0);
}

static bool client_waits(const struct model_source *s)
{
    return s->traffic.options.clients.count > 0 || s->workload->retry.policy->send != NULL ||
           s->attempts_max > 1;
}

void model_sources_done(struct model *m, struct model_request *r,
                        const struct admit_verdict *verdict, bool failed, int64_t done_ns)
{
    struct model_source *s = r->source;
    if (r->pair == NULL && !client_waits(s)) {
        request_free(m, r);
        return;
    }
    const bool error = failed || verdict->reason == ADMIT_REFUSED_OVERLOAD;
    enum retry_result result = error                         ? RETRY_ERROR
                               : verdict->reason == ADMIT_OK ? RETRY_DONE
                                                             : RETRY_THROTTLED;
    int64_t timeout_ns = s->workload->timeout_ns;
    struct model_request *kept = model_sources_keep(m, r);
    kept->done_ns = done_ns;
    kept->hint_ns = !error && verdict->reason != ADMIT_OK ? verdict->wait.ns : -1;
    if (done_ns - kept->sent_ns > timeout_ns) {
        result = RETRY_TIMEOUT;
        done_ns = kept->sent_ns + timeout_ns;
    }
    model_in(m, done_ns > m->scheduler.now.ns ? done_ns - m->scheduler.now.ns : 0, client_receives,
             kept, (uint64_t)result);
}

/* ---- arrivals ---- */

static void request_make(struct model *m, struct model_source *s, uint32_t client,
                         const struct traffic_request *t)
{
    struct model_request r = {.model = m,
                              .source = s,
                              .table = pick_table(m, s),
                              .traffic = *t,
                              .due_ns = m->scheduler.now.ns,
                              .client = client};
    if (t->kind == TRAFFIC_READ_MODIFY_WRITE) { /* a read, then an update of the same item */
        r.traffic.kind = TRAFFIC_READ;
        r.traffic.scan_length = 1;
        if (s->traffic.options.clients.count == 0)
            source_attempt(m, &r);
        r.traffic.kind = TRAFFIC_UPDATE;
    }
    source_attempt(m, &r);
}

void model_sources_arrive(struct model *m)
{
    struct model_source *s = &m->sources[m->arrivals[0]];
    request_make(m, s, s->client_next++ % s->client_count, &s->next);
    source_read_ahead(s);
    if (s->next_ns == INT64_MAX)
        m->arrivals[0] = m->arrivals[--m->arrival_count];
    heap_sink(m, 0);
}

static void client_sends(void *context, uint64_t argument)
{
    struct model_source *s = context;
    struct model *m = s->model;
    struct traffic_request t;
    if (m->scheduler.now.ns >= s->traffic.options.end_ns)
        return;
    traffic_make(&s->traffic, m->scheduler.now.ns, &t);
    request_make(m, s, (uint32_t)argument, &t);
}

static void client_think(struct model *m, struct model_source *s, uint32_t client)
{
    model_in(m, traffic_think_ns(&s->traffic), client_sends, s, client);
}

/* ---- life ---- */

static void source_start(struct model *m, struct model_source *s)
{
    const struct traffic_options *o = &s->traffic.options;
    if (o->clients.count == 0) {
        source_read_ahead(s);
        if (s->next_ns < INT64_MAX)
            m->arrivals[m->arrival_count++] = (uint32_t)(s - m->sources);
        return;
    }
    int64_t spread_ns = o->clients.think_ns > 0 ? o->clients.think_ns : NS_PER_MS;
    for (uint32_t i = 0; i < s->client_count; i++)
        model_in(m, o->start_ns + (int64_t)prng_below(&s->spread, (uint64_t)spread_ns),
                 client_sends, s, i);
}

static void source_init(struct model *m, const struct scenario_workload *w, uint32_t copy)
{
    uint32_t place = m->source_count++;
    struct model_source *s = &m->sources[place];
    *s = (struct model_source){
        .model = m, .workload = w, .tenant = demand_tenant(m->scenario, w), .copy = copy};
    for (s->table = m->tables; s->table->scenario != &m->scenario->tables[w->table_place];)
        s->table++;
    if (copy != UINT32_MAX)
        s->table += copy;
    s->spread = prng_seeded(model_seed(m, DEMAND_SPREAD, place));
    s->retries = prng_seeded(model_seed(m, DEMAND_RETRIES, place));
    s->router_next = place;
    s->streams[0] = s->streams[1] = UINT32_MAX;
    s->sizes_vary = model_sizes_vary(s);
    traffic_init(&s->traffic, &w->traffic, model_seed(m, DEMAND_SOURCES, place));
    s->client_count =
        w->traffic.clients.count > 0 ? (uint32_t)w->traffic.clients.count : DEMAND_OPEN_CLIENTS;
    s->clients = must_calloc(s->client_count, sizeof s->clients[0]);
    for (uint32_t i = 0; i < s->client_count; i++)
        retry_init(&s->clients[i], &w->retry, w->traffic.start_ns);
    s->hedging = prng_seeded(model_seed(m, DEMAND_HEDGES, place));
    if (w->hedge.on)
        s->hedges = must_calloc(s->client_count, sizeof s->hedges[0]);
    s->attempts_max =
        w->retry.attempts_max > 0 ? w->retry.attempts_max : w->retry.policy->attempts_max;
}

void model_sources_create(struct model *m)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->scenario->workload_count; i++) {
        const struct scenario_workload *w = &m->scenario->workloads[i];
        count += w->each ? (uint32_t)m->scenario->tables[w->table_place].copies : 1;
    }
    m->sources = must_calloc(count + 1, sizeof m->sources[0]);
    m->arrivals = must_calloc(count + 1, sizeof m->arrivals[0]);
    STAILQ_INIT(&m->free);
    STAILQ_INIT(&m->pairs);
    m->watch = (struct demand_watch){.scheduler = &m->scheduler, .measure = m->measure};
    for (uint32_t i = 0; i < m->scenario->workload_count; i++) {
        const struct scenario_workload *w = &m->scenario->workloads[i];
        int64_t copies = m->scenario->tables[w->table_place].copies;
        demand_watch_workload(&m->watch, w, i == 0);
        if (!w->each)
            source_init(m, w, copies == 1 ? 0 : UINT32_MAX);
        for (uint32_t copy = 0; w->each && copy < copies; copy++)
            source_init(m, w, copy);
    }
    for (uint32_t i = 0; i < m->source_count; i++)
        source_start(m, &m->sources[i]);
    for (uint32_t i = m->arrival_count; i > 0; i--)
        heap_sink(m, i - 1);
}

void model_sources_destroy(struct model *m)
{
    for (uint32_t i = 0; i < m->source_count; i++) {
        traffic_deinit(&m->sources[i].traffic);
        buffer_deinit(&m->sources[i].key);
        free(m->sources[i].clients);
        free(m->sources[i].hedges);
    }
    free(m->sources);
    free(m->arrivals);
    arena_deinit(&m->pool);
}
