/* flow.c - connections of flows on a loop. */
#include "bench/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/queue.h>

#include "bench/redis.h"
#include "host/connection.h"
#include "host/loop.h"
#include "workload/client_response.h"

#define FLOW_TIMEOUT_NS (10 * NS_PER_S) /* for connections, and for answers after the end */
#define FLOW_CHECK_NS   (20 * NS_PER_MS)

struct flow_connection {
    TAILQ_ENTRY(flow_connection) entry; /* in the list of idle ones */
    struct flow_state *state;           /* borrows */
    struct connection *connection;
    int64_t due_ns; /* of the request in flight */
    struct client_response http;
    struct buffer redis; /* the answer so far */
};

struct flow_state {
    struct flow *flow;                   /* borrows */
    struct flow_run *run;                /* borrows */
    struct flow_connection *connections; /* owns */
    TAILQ_HEAD(, flow_connection) idle;
};

struct flow_run {
    struct loop *loop;        /* owns */
    struct flow_state *flows; /* owns */
    int count;
    int64_t start_ns, end_ns;
    int64_t missing; /* connections that are not open yet, and requests in flight */
    struct buffer request;
    struct buffer *error;
    bool failed;
};

static void flow_fail(struct flow_state *s, const char *what)
{
    if (!s->run->failed)
        buffer_append_format(s->run->error, "%s: %s", s->flow->name, what);
    s->run->failed = true;
}

/* ---- requests ---- */

static bool flow_is_over(const struct flow_state *s, int64_t due_ns)
{
    const struct flow *f = s->flow;
    return due_ns >= s->run->end_ns || (f->requests_max > 0 && f->sent >= f->requests_max);
}

static int64_t flow_due_ns(const struct flow_state *s, int64_t now_ns)
{
    const struct flow *f = s->flow;
    return f->per_s == 0 ? now_ns
                         : s->run->start_ns + (int64_t)((__int128)f->sent * NS_PER_S / f->per_s);
}

static void flow_send(struct flow_state *s, struct flow_connection *c, int64_t due_ns)
{
    struct flow_run *run = s->run;
    buffer_clear(&run->request);
    s->flow->write(s->flow->context, s->flow->sent++, &run->request);
    c->due_ns = due_ns;
    run->missing++;
    connection_send(c->connection, buffer_slice(&run->request));
}

/* Sends what is due on idle connections. Returns when the next request is due, INT64_MAX if an
 * answer must come first, or the flow is over. */
static int64_t flow_advance(struct flow_state *s, int64_t now_ns)
{
    struct flow_connection *c;
    while ((c = TAILQ_FIRST(&s->idle)) != NULL && !s->run->failed) {
        const int64_t due_ns = flow_due_ns(s, now_ns);
        if (flow_is_over(s, due_ns))
            return INT64_MAX;
        if (due_ns > now_ns)
            return due_ns;
        TAILQ_REMOVE(&s->idle, c, entry);
        flow_send(s, c, due_ns);
    }
    return INT64_MAX;
}

static void flow_answered(struct flow_connection *c, enum flow_end end, struct slice text)
{
    struct flow_state *s = c->state;
    struct flow *f = s->flow;
    loop_read_clock(s->run->loop);
    const int64_t now_ns = loop_now(s->run->loop).ns;
    s->run->missing--;
    f->ends[end]++;
    f->elapsed_ns = now_ns - s->run->start_ns;
    histogram_record(&f->latency, now_ns - c->due_ns);
    if (end == FLOW_OTHER && f->ends[end] == 1)
        buffer_append_slice(&f->other, text);
    TAILQ_INSERT_TAIL(&s->idle, c, entry);
    flow_advance(s, now_ns);
}

/* ---- connections ---- */

static void flow_answer_http(void *context, int http_status, struct slice body)
{
    const enum flow_end end = http_status == 200   ? FLOW_ADMITTED
                              : http_status == 429 ? FLOW_REFUSED
                                                   : FLOW_OTHER;
    flow_answered(context, end, body);
}

static enum status flow_feed_redis(struct flow_connection *c, struct slice bytes)
{
    struct redis_reply reply;
    buffer_append_slice(&c->redis, bytes);
    const enum status status = redis_reply_read(buffer_slice(&c->redis), &reply);
    if (status != STATUS_OK)
        return status == STATUS_PENDING ? STATUS_OK : status;
    const enum flow_end end = reply.is_error || !reply.has_integer ? FLOW_OTHER
                              : reply.integer == 1                 ? FLOW_ADMITTED
                                                                   : FLOW_REFUSED;
    flow_answered(c, end, buffer_slice(&c->redis));
    buffer_clear(&c->redis);
    return STATUS_OK;
}

static void flow_opened(UNUSED void *context, struct connection *connection)
{
    struct flow_connection *c = connection_user(connection);
    c->state->run->missing--;
}

static void flow_received(UNUSED void *context, struct connection *connection, struct slice bytes)
{
    struct flow_connection *c = connection_user(connection);
    const enum status status = c->state->flow->protocol == FLOW_REDIS
                                   ? flow_feed_redis(c, bytes)
                                   : client_response_feed(&c->http, bytes);
    if (status != STATUS_OK)
        flow_fail(c->state, "an answer is malformed");
}

static void flow_closed(UNUSED void *context, struct connection *connection, int error)
{
    struct flow_connection *c = connection_user(connection);
    flow_fail(c->state, error != 0 ? strerror(error) : "the server closed a connection");
}

static void flow_open(struct flow_state *s, struct flow_connection *c)
{
    static const struct connection_handler handler = {
        .opened = flow_opened, .received = flow_received, .closed = flow_closed};
    c->state = s;
    client_response_init(&c->http, false, flow_answer_http, c);
    TAILQ_INSERT_TAIL(&s->idle, c, entry);
    s->run->missing++;
    if (loop_connect(s->run->loop, "127.0.0.1", s->flow->port, &handler, NULL, &c->connection) !=
        STATUS_OK)
        flow_fail(s, strerror(errno));
    else
        connection_set_user(c->connection, c);
}

static void flow_begin(struct flow_run *run, struct flow_state *s, struct flow *f)
{
    s->run = run;
    s->flow = f;
    f->sent = f->elapsed_ns = 0;
    memset(f->ends, 0, sizeof f->ends);
    histogram_init(&f->latency);
    buffer_clear(&f->other);
    TAILQ_INIT(&s->idle);
    s->connections = must_calloc((size_t)f->connections, sizeof *s->connections);
    for (int64_t i = 0; i < f->connections; i++)
        flow_open(s, &s->connections[i]);
}

static void flow_end(struct flow_state *s)
{
    for (int64_t i = 0; i < s->flow->connections; i++) {
        client_response_deinit(&s->connections[i].http);
        buffer_deinit(&s->connections[i].redis);
    }
    free(s->connections);
}

/* ---- running ---- */

static void flows_turn(struct flow_run *run, int64_t deadline_ns)
{
    if (loop_turn(run->loop, (struct instant){deadline_ns}) != STATUS_OK)
        flow_fail(&run->flows[0], strerror(errno));
}

/* Until all connections are open, or all requests are answered. */
static void flows_await(struct flow_run *run, const char *fault)
{
    const int64_t until_ns = loop_now(run->loop).ns + FLOW_TIMEOUT_NS;
    while (run->missing > 0 && !run->failed) {
        flows_turn(run, loop_now(run->loop).ns + FLOW_CHECK_NS);
        if (loop_now(run->loop).ns > until_ns)
            flow_fail(&run->flows[0], fault);
    }
}

static bool flows_are_over(const struct flow_run *run, int64_t now_ns)
{
    bool over = true;
    for (int i = 0; i < run->count; i++)
        over &= flow_is_over(&run->flows[i], now_ns);
    return over;
}

static void flows_go(struct flow_run *run, int64_t duration_ns)
{
    loop_read_clock(run->loop);
    int64_t now_ns = loop_now(run->loop).ns;
    run->start_ns = now_ns;
    run->end_ns = now_ns + duration_ns;
    while (!run->failed && !flows_are_over(run, now_ns)) {
        int64_t next_ns = now_ns + FLOW_CHECK_NS;
        for (int i = 0; i < run->count; i++) {
            const int64_t due_ns = flow_advance(&run->flows[i], now_ns);
            next_ns = MIN(due_ns, next_ns);
        }
        flows_turn(run, next_ns);
        now_ns = loop_now(run->loop).ns;
    }
}

enum status flows_run(struct flow *const flows[], int count, int64_t duration_ns,
                      struct buffer *error)
{
    struct flow_run run = {.count = count, .error = error};
    if (loop_create(&run.loop) != STATUS_OK)
        return buffer_explain(error, STATUS_IO, "io_uring: %s", strerror(errno));
    prctl(PR_SET_TIMERSLACK, 1000UL); /* ns: requests are due to the microsecond */
    run.flows = must_calloc((size_t)count, sizeof *run.flows);
    for (int i = 0; i < count; i++)
        flow_begin(&run, &run.flows[i], flows[i]);
    flows_await(&run, "not all connections open");
    if (!run.failed)
        flows_go(&run, duration_ns);
    flows_await(&run, "not all requests are answered");
    loop_destroy(run.loop);
    for (int i = 0; i < count; i++)
        flow_end(&run.flows[i]);
    free(run.flows);
    buffer_deinit(&run.request);
    return run.failed ? STATUS_IO : STATUS_OK;
}

void flow_deinit(struct flow *f)
{
    buffer_deinit(&f->other);
}
