/* pool.c - the connections of a workload, and what comes back over them. */
#include <stdlib.h>

#include "lab/clients/clients_internal.h"
#include "lab/clients/tables.h"

static int64_t pool_now_ns(const struct clients *c)
{
    return c->options.scheduler->now.ns;
}

/* ---- requests ---- */

static enum load_kind load_kind_of(const struct attempt *a)
{
    switch (a->traffic.kind) {
    case TRAFFIC_READ:
    case TRAFFIC_READ_MODIFY_WRITE:
        return LOAD_GET;
    case TRAFFIC_SCAN:
        return LOAD_SCAN;
    case TRAFFIC_DELETE:
        return LOAD_DELETE;
    default:
        return a->source->workload->scenario->transact > 0 ? LOAD_TRANSACT : LOAD_PUT;
    }
}

/* The time at which the item expires, a number of ten digits: it has six bytes. */
static void add_expiry(struct clients *c, const struct attempt *a, struct load_request *r)
{
    const struct scenario *s = c->options.scenario;
    const int64_t at_ns = s->tables[a->source->workload->scenario->table_place].expire_at_ns;
    if (at_ns == 0)
        return;
    const int64_t at_s = (c->options.wall_ms + at_ns / NS_PER_MS) / 1000;
    buffer_append_format(&c->members, ",\"" TABLES_EXPIRY_NAME "\":{\"N\":\"%lld\"}",
                         (long long)at_s);
    r->more = buffer_slice(&c->members);
    r->more_bytes += (int32_t)strlen(TABLES_EXPIRY_NAME) + 6;
}

static struct slice attempt_bytes(struct clients *c, const struct attempt *a)
{
    struct load_request r = {.number = a->traffic.number + 1,
                             .key = a->traffic.key,
                             .item_bytes = a->traffic.size_bytes,
                             .scan_length = a->traffic.scan_length,
                             .kind = load_kind_of(a),
                             .consistent = a->traffic.consistent};
    buffer_clear(&c->bytes);
    if (a->source->workload->scenario->limiter != NULL) {
        acquires_write(c, a);
        return buffer_slice(&c->bytes);
    }
    if (r.kind == LOAD_PUT) {
        indexes_add_members(c, a, &r);
        add_expiry(c, a, &r);
    }
    load_request_write(&a->source->workload->templates[a->copy], &r, &c->bytes);
    return buffer_slice(&c->bytes);
}

/* ---- connections ---- */

static void connection_answered(void *context, int http_status, struct slice body);

static struct pool_connection *connection_open(struct clients *c, struct pool *pool)
{
    uint64_t handle = c->options.port.connect(c->options.port.context, pool->router);
    if (handle == 0)
        return NULL;
    struct pool_connection *n = must_calloc(1, sizeof *n);
    n->clients = c;
    n->pool = pool;
    n->handle = handle;
    client_response_init(&n->response, false, connection_answered, n);
    id_map_add(&c->connections, handle, n);
    pool->open++;
    return n;
}

/* The connection is idle or its attempt was taken away. */
static void connection_free(struct clients *c, struct pool_connection *n)
{
    n->pool->open--;
    id_map_remove(&c->connections, n->handle);
    client_response_deinit(&n->response);
    free(n);
}

static void connection_idle(struct pool_connection *n)
{
    n->attempt = NULL;
    LIST_INSERT_HEAD(&n->pool->idle, n, entry);
}

/* ---- the ends of attempts ---- */

static void attempt_detach(struct attempt *a)
{
    TAILQ_REMOVE(&a->source->workload->sent, a, sent);
    if (a->connection == NULL)
        TAILQ_REMOVE(&a->pool->waiting, a, waiting);
    a->connection = NULL;
}

static void attempt_fails(struct clients *c, struct attempt *a, enum retry_result result)
{
    const struct attempt_end end = {.result = result, .reason = REASON_FAILED, .hint_ns = -1};
    attempt_over(c, a, &end);
}

/* Sends over the connection. False: the connection was lost. */
static bool connection_send(struct clients *c, struct pool_connection *n, struct attempt *a)
{
    if (!c->options.port.send(c->options.port.context, n->handle, attempt_bytes(c, a)))
        return false;
    n->attempt = a;
    a->connection = n;
    return true;
}

/* An idle connection, or a new one. NULL: none can be had; `full`: because of the pool's bound. */
static struct pool_connection *pool_take(struct clients *c, struct pool *pool, bool *full)
{
    struct pool_connection *n = LIST_FIRST(&pool->idle);
    *full = n == NULL && pool->open >= c->options.connections_max;
    if (n != NULL)
        LIST_REMOVE(n, entry);
    else if (!*full)
        n = connection_open(c, pool);
    return n;
}

/* Sends waiting attempts as long as there are connections. An idle connection may have been lost
 * without news: then the next one is tried. */
static void pool_pump(struct clients *c, struct pool *pool)
{
    struct attempt *a;
    bool full;
    while ((a = TAILQ_FIRST(&pool->waiting)) != NULL) {
        bool fresh = LIST_EMPTY(&pool->idle);
        struct pool_connection *n = pool_take(c, pool, &full);
        if (full)
            return;
        if (n != NULL && connection_send(c, n, a)) {
            TAILQ_REMOVE(&pool->waiting, a, waiting);
            continue;
        }
        if (n != NULL)
            connection_free(c, n);
        if (fresh) {
            attempt_detach(a);
            attempt_fails(c, a, RETRY_ERROR);
        }
    }
}

/* ---- answers ---- */

/* A cancelled transaction has the reason of each item, without weir's own. */
static bool is_cancelled_for_throughput(struct slice body)
{
    static const char cancelled[] = "TransactionCanceledException",
                      provisioned[] = "\"ProvisionedThroughputExceeded\"",
                      on_demand[] = "\"ThrottlingError\"";
    return memmem(body.data, body.size, cancelled, sizeof cancelled - 1) != NULL &&
           (memmem(body.data, body.size, provisioned, sizeof provisioned - 1) != NULL ||
            memmem(body.data, body.size, on_demand, sizeof on_demand - 1) != NULL);
}

/* weir's message names the exact reason: " (node: node 3, which serves ..". */
static uint32_t reason_of(struct slice body)
{
    static const char overload[] = "is overloaded and did nothing";
    if (memmem(body.data, body.size, overload, sizeof overload - 1) != NULL)
        return ADMIT_REFUSED_OVERLOAD;
    for (uint32_t reason = 1; reason < ADMIT_REASONS; reason++) {
        char text[32] = " (";
        const char *name = admit_reason_name((enum admit_reason)reason);
        size_t size = strlen(name);
        must(size + 4 < sizeof text);
        memcpy(text + 2, name, size);
        memcpy(text + 2 + size, ": ", 2);
        if (memmem(body.data, body.size, text, size + 4) != NULL)
            return reason;
    }
    return is_cancelled_for_throughput(body) ? ADMIT_REFUSED_ALLOCATION : REASON_FAILED;
}

/* What the answer to the attempt says, if it is no success. */
static void attempt_end_of(struct clients *c, const struct attempt *a, int http_status,
                           struct slice body, struct attempt_end *end)
{
    const bool acquires = a->source->workload->scenario->limiter != NULL;
    const uint32_t refusal = acquires ? acquires_refusal(body) : 0;
    end->reason = refusal != 0 ? refusal : reason_of(body);
    end->index = end->reason == ADMIT_REFUSED_INDEX ? indexes_named(c, a, body) : 0;
    end->result = http_status >= 500             ? RETRY_ERROR
                  : end->reason != REASON_FAILED ? RETRY_THROTTLED
                                                 : RETRY_FINAL;
}

static void connection_answered(void *context, int http_status, struct slice body)
{
    struct pool_connection *n = context;
    struct clients *c = n->clients;
    struct attempt *a = n->attempt;
    struct attempt_end end = {.result = RETRY_DONE, .hint_ns = -1};
    if (a == NULL)
        return; /* nobody asked */
    if (http_status < 500)
        a->source->workload->unknown--;
    if (http_status != 200) {
        attempt_end_of(c, a, http_status, body, &end);
        if (n->response.retry_after_ms >= 0)
            end.hint_ns = n->response.retry_after_ms * NS_PER_MS;
    }
    attempt_detach(a);
    connection_idle(n);
    attempt_over(c, a, &end);
}

static void connection_lost(struct clients *c, struct pool_connection *n)
{
    struct attempt *a = n->attempt;
    if (a == NULL)
        LIST_REMOVE(n, entry);
    else
        attempt_detach(a);
    connection_free(c, n);
    if (a != NULL)
        attempt_fails(c, a, RETRY_ERROR);
}

void clients_received(struct clients *c, uint64_t connection, struct slice bytes)
{
    struct pool_connection *n = id_map_find(&c->connections, connection);
    if (n == NULL)
        return;
    struct pool *pool = n->pool;
    if (client_response_feed(&n->response, bytes) != STATUS_OK || n->response.closes) {
        c->options.port.close(c->options.port.context, connection);
        connection_lost(c, n);
    }
    pool_pump(c, pool);
}

void clients_closed(struct clients *c, uint64_t connection)
{
    struct pool_connection *n = id_map_find(&c->connections, connection);
    if (n == NULL)
        return;
    struct pool *pool = n->pool;
    connection_lost(c, n);
    pool_pump(c, pool);
}

/* ---- time-outs ---- */

static void attempt_times_out(struct clients *c, struct attempt *a)
{
    struct pool_connection *n = a->connection;
    struct pool *pool = a->pool;
    attempt_detach(a);
    if (n != NULL) {
        c->options.port.close(c->options.port.context, n->handle);
        connection_free(c, n);
    }
    attempt_fails(c, a, RETRY_TIMEOUT);
    pool_pump(c, pool);
}

static void workload_timer(void *context, uint64_t argument);

static void timer_set(struct clients *c, struct clients_workload *w)
{
    struct attempt *first = TAILQ_FIRST(&w->sent);
    if (w->timer || first == NULL)
        return;
    w->timer = true;
    scheduler_at(c->options.scheduler, (struct instant){first->deadline_ns}, workload_timer, w, 0);
}

static void workload_timer(void *context, uint64_t argument)
{
    struct clients_workload *w = context;
    struct clients *c = w->clients;
    struct attempt *a;
    (void)argument;
    w->timer = false;
    while ((a = TAILQ_FIRST(&w->sent)) != NULL && a->deadline_ns <= pool_now_ns(c))
        attempt_times_out(c, a);
    timer_set(c, w);
}

void pool_submit(struct clients *c, struct attempt *a)
{
    struct clients_workload *w = a->source->workload;
    c->requests++;
    w->unknown++;
    a->deadline_ns = pool_now_ns(c) + w->scenario->timeout_ns;
    a->connection = NULL;
    TAILQ_INSERT_TAIL(&w->sent, a, sent);
    TAILQ_INSERT_TAIL(&a->pool->waiting, a, waiting);
    timer_set(c, w);
    pool_pump(c, a->pool);
}

/* ---- life ---- */

void pools_create(struct clients *c, struct clients_workload *w)
{
    TAILQ_INIT(&w->sent);
    w->pools = must_calloc(c->router_count, sizeof w->pools[0]);
    for (uint32_t i = 0; i < c->router_count; i++) {
        w->pools[i].router = i;
        LIST_INIT(&w->pools[i].idle);
        TAILQ_INIT(&w->pools[i].waiting);
    }
}

void pools_destroy(struct clients *c, struct clients_workload *w)
{
    for (struct pool_connection *n; (n = id_map_any(&c->connections)) != NULL;)
        connection_free(c, n);
    free(w->pools);
}
