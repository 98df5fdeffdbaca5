#include "cmd/load_workload.h"

#include <math.h>
#include <stdlib.h>

#include "base/must.h"
#include "cmd/load_history.h"

enum {
    HOLD_NS = 10 * 1000 * 1000,
    PAUSE_NS_MIN = 10 * 1000 * 1000,
    PAUSE_NS_MAX = 500 * 1000 * 1000,
};

/* ---- requests that wait ---- */

static void push_waiting(struct load_workload *w, const struct load_request *r)
{
    must(w->waiting_count < w->outstanding_max);
    w->waiting[(w->waiting_first + w->waiting_count++) % w->outstanding_max] = *r;
}

static struct load_request pop_waiting(struct load_workload *w)
{
    must(w->waiting_count > 0);
    struct load_request r = w->waiting[w->waiting_first];
    w->waiting_first = (w->waiting_first + 1) % w->outstanding_max;
    w->waiting_count--;
    return r;
}

/* ---- the end of a request ---- */

static void finish(struct load_workload *w, const struct load_request *r, int64_t now_ns,
                   const struct load_verdict *v, struct slice body)
{
    struct load_shared *s = w->shared;
    load_history_return(s->history, r, now_ns, v, body);
    if (s->try_again && v->outcome != LOAD_ADMITTED) {
        struct load_request again = *r;
        again.number = ++s->last_number;
        push_waiting(w, &again);
        w->hold_ns = now_ns + HOLD_NS;
        return;
    }
    load_result_count(&w->result, v, r->is_read, r->item_bytes, now_ns - r->intended_ns);
    w->outstanding--;
}

static struct load_request take_sent(struct load_connection *lc)
{
    must(lc->count > 0);
    struct load_request r = lc->sent[lc->first];
    lc->first = (lc->first + 1) % lc->workload->options.pipeline;
    lc->count--;
    return r;
}

static void fail_all_sent(struct load_connection *lc, int64_t now_ns, const char *label)
{
    struct load_verdict v = {.outcome = LOAD_FAILED, .applied_unknown = true};
    memcpy(v.error, label, strlen(label) + 1);
    while (lc->count > 0) {
        struct load_request r = take_sent(lc);
        finish(lc->workload, &r, now_ns, &v, slice_make(NULL, 0));
    }
}

/* ---- connections ---- */

static void set_ready(struct load_connection *lc)
{
    struct load_workload *w = lc->workload;
    bool ready = lc->up && !lc->closing && lc->count < w->options.pipeline;
    if (ready && !lc->ready)
        TAILQ_INSERT_TAIL(&w->ready, lc, entry);
    else if (!ready && lc->ready)
        TAILQ_REMOVE(&w->ready, lc, entry);
    lc->ready = ready;
}

static void on_answer(void *context, int http_status, struct slice body)
{
    struct load_connection *lc = context;
    int64_t now_ns = loop_now(lc->workload->shared->loop).ns;
    if (lc->count == 0) {
        lc->reader.closes = true; /* an answer to nothing: give this connection up */
        return;
    }
    struct load_verdict v;
    struct load_request r = take_sent(lc);
    load_verdict_of(http_status, body, &v);
    finish(lc->workload, &r, now_ns, &v, body);
}

static void on_opened(void *context, struct connection *c)
{
    (void)context;
    struct load_connection *lc = connection_user(c);
    lc->up = true;
    lc->pause_ns = 0;
    lc->workload->shared->connections_up++;
    set_ready(lc);
}

static void give_up(struct load_connection *lc, const char *label)
{
    lc->closing = true;
    set_ready(lc);
    fail_all_sent(lc, loop_now(lc->workload->shared->loop).ns, label);
    connection_abort(lc->connection);
}

static void on_received(void *context, struct connection *c, struct slice bytes)
{
    (void)context;
    struct load_connection *lc = connection_user(c);
    if (load_response_feed(&lc->reader, bytes) != STATUS_OK)
        give_up(lc, "malformed-answer");
    else if (lc->reader.closes)
        give_up(lc, "connection-closed");
    else
        set_ready(lc);
}

/* After a failure, to the next URL: a router that died is not waited for. */
static void try_next_url(struct load_connection *lc)
{
    const struct load_options *o = lc->workload->shared->load;
    int next = (int)(lc->url - o->urls) + 1;
    lc->url = &o->urls[next % o->url_count];
}

static void on_closed(void *context, struct connection *c, int error)
{
    (void)context;
    struct load_connection *lc = connection_user(c);
    struct load_shared *s = lc->workload->shared;
    int64_t now_ns = loop_now(s->loop).ns;
    if (lc->up)
        s->connections_up--;
    else
        s->connect_error = error;
    lc->up = lc->closing = false;
    lc->connection = NULL;
    set_ready(lc);
    fail_all_sent(lc, now_ns, "connection-lost");
    try_next_url(lc);
    lc->retry_ns = now_ns + lc->pause_ns;
    lc->pause_ns = lc->pause_ns ? lc->pause_ns * 2 : PAUSE_NS_MIN;
    if (lc->pause_ns > PAUSE_NS_MAX)
        lc->pause_ns = PAUSE_NS_MAX;
}

static const struct connection_handler handler = {
    .opened = on_opened, .received = on_received, .closed = on_closed};

static void connect_one(struct load_connection *lc)
{
    struct load_shared *s = lc->workload->shared;
    load_response_init(&lc->reader, s->history != NULL, on_answer, lc);
    if (loop_connect(s->loop, lc->url->host, lc->url->port, &handler, NULL, &lc->connection) !=
        STATUS_OK) {
        lc->connection = NULL;
        lc->retry_ns = loop_now(s->loop).ns + PAUSE_NS_MAX;
        try_next_url(lc);
        return;
    }
    connection_set_user(lc->connection, lc);
}

void load_workload_connect(struct load_workload *w)
{
    for (int64_t i = 0; i < w->options.connections; i++)
        connect_one(&w->connections[i]);
}

void load_workload_check(struct load_workload *w, int64_t now_ns)
{
    for (int64_t i = 0; i < w->options.connections; i++) {
        struct load_connection *lc = &w->connections[i];
        if (lc->connection == NULL && now_ns >= lc->retry_ns)
            connect_one(lc);
        else if (lc->count > 0 && !lc->closing &&
                 now_ns - lc->sent[lc->first].sent_ns > w->shared->load->timeout_ns)
            give_up(lc, "timeout");
    }
}

/* ---- sending ---- */

static void send_one(struct load_workload *w, struct load_connection *lc, int64_t now_ns)
{
    struct load_shared *s = w->shared;
    struct load_request r = pop_waiting(w);
    r.sent_ns = now_ns;
    buffer_clear(&w->scratch);
    load_request_write(&w->request, &r, &w->scratch);
    load_history_invoke(s->history, &w->options.keys, &r, w->options.table, w->options.consistent);
    connection_send(lc->connection, buffer_slice(&w->scratch));
    lc->sent[(lc->first + lc->count++) % w->options.pipeline] = r;
    w->result.sent++;
    /* To the back of the list: the connections take turns. */
    TAILQ_REMOVE(&w->ready, lc, entry);
    lc->ready = false;
    set_ready(lc);
}

static void send_waiting(struct load_workload *w, int64_t now_ns)
{
    struct load_connection *lc;
    if (now_ns < w->hold_ns)
        return;
    while (w->waiting_count > 0 && (lc = TAILQ_FIRST(&w->ready)) != NULL)
        send_one(w, lc, now_ns);
}

/* ---- arrivals ---- */

static void begin_request(struct load_workload *w, int64_t intended_ns)
{
    const struct load_workload_options *o = &w->options;
    struct load_request r = {.intended_ns = intended_ns, .number = ++w->shared->last_number};
    r.key = load_keys_next(&w->options.keys, &w->random);
    r.is_read = o->path[0] != 0 || (o->read_ratio > 0 &&
                                    (o->read_ratio >= 1 || prng_unit(&w->random) < o->read_ratio));
    r.is_delete = !r.is_read && o->delete_ratio > 0 && prng_unit(&w->random) < o->delete_ratio;
    r.item_bytes = (int32_t)prng_between(&w->random, o->item_bytes_min, o->item_bytes_max);
    w->outstanding++;
    push_waiting(w, &r);
}

static void schedule_next(struct load_workload *w)
{
    double rate = w->options.rate;
    w->arrivals++;
    if (w->options.arrival == LOAD_ARRIVAL_CONSTANT)
        w->next_ns = w->begin_ns + (int64_t)((double)w->arrivals * (1e9 / rate));
    else
        w->next_ns += (int64_t)(-log1p(-prng_unit(&w->random)) * (1e9 / rate));
}

static void take_due(struct load_workload *w, int64_t now_ns)
{
    while (w->next_ns <= now_ns && w->next_ns < w->end_ns && w->requests_left > 0) {
        w->requests_left--;
        w->result.offered++;
        w->result.current.offered++;
        if (w->outstanding < w->outstanding_max) {
            begin_request(w, w->next_ns);
        } else {
            w->result.client_overrun++;
            w->result.current.client_overrun++;
        }
        schedule_next(w);
    }
}

static void keep_busy(struct load_workload *w, int64_t now_ns)
{
    while (w->outstanding < w->outstanding_max && w->requests_left > 0) {
        w->requests_left--;
        w->result.offered++;
        w->result.current.offered++;
        begin_request(w, now_ns);
    }
}

void load_workload_advance(struct load_workload *w, int64_t now_ns)
{
    if (w->options.rate > 0)
        take_due(w, now_ns);
    else if (now_ns >= w->begin_ns && now_ns < w->end_ns)
        keep_busy(w, now_ns);
    send_waiting(w, now_ns);
}

int64_t load_workload_deadline(const struct load_workload *w)
{
    if (w->waiting_count > 0 && w->hold_ns > 0)
        return w->hold_ns;
    if (w->requests_left == 0)
        return INT64_MAX;
    if (w->options.rate > 0)
        return w->next_ns < w->end_ns ? w->next_ns : w->end_ns;
    return w->result.offered == 0 ? w->begin_ns : w->end_ns;
}

bool load_workload_is_over(const struct load_workload *w, int64_t now_ns)
{
    /* What was due before the end is still to come if this turn was long. */
    bool all_begun = w->options.rate > 0 ? w->next_ns >= w->end_ns : now_ns >= w->end_ns;
    return w->outstanding == 0 && (all_begun || w->requests_left == 0);
}

void load_workload_start(struct load_workload *w)
{
    w->begin_ns = w->shared->start_ns + w->options.start_ns;
    w->end_ns = w->begin_ns + w->options.duration_ns;
    w->next_ns = w->begin_ns;
    w->result.elapsed_ns = w->options.duration_ns;
}

void load_workload_stop(struct load_workload *w, int64_t now_ns)
{
    if (now_ns >= w->end_ns)
        return;
    w->end_ns = now_ns;
    w->result.elapsed_ns = now_ns > w->begin_ns ? now_ns - w->begin_ns : 0;
}

void load_workload_abandon(struct load_workload *w)
{
    struct load_verdict v = {
        .outcome = LOAD_FAILED, .applied_unknown = true, .error = "unfinished"};
    int64_t now_ns = loop_now(w->shared->loop).ns;
    for (int64_t i = 0; i < w->options.connections; i++) {
        struct load_connection *lc = &w->connections[i];
        while (lc->count > 0) {
            struct load_request r = take_sent(lc);
            load_history_return(w->shared->history, &r, now_ns, &v, slice_make(NULL, 0));
        }
    }
    w->result.unfinished += w->outstanding;
    w->outstanding = 0;
    w->waiting_count = 0;
}

/* ---- life ---- */

void load_workload_init(struct load_workload *w, struct load_shared *shared,
                        const struct load_workload_options *options, int64_t requests_max,
                        uint64_t seed)
{
    *w = (struct load_workload){.shared = shared, .options = *options};
    w->random = prng_seeded(seed);
    w->requests_left = requests_max ? requests_max : INT64_MAX;
    w->outstanding_max = options->rate > 0 ? options->outstanding_max : options->concurrency;
    w->waiting = calloc((size_t)w->outstanding_max, sizeof w->waiting[0]);
    w->connections = calloc((size_t)options->connections, sizeof w->connections[0]);
    must(w->waiting != NULL);
    must(w->connections != NULL);
    load_template_init(&w->request, &w->options, &shared->load->urls[0],
                       shared->load->unsigned_requests);
    load_result_init(&w->result);
    TAILQ_INIT(&w->ready);
    for (int64_t i = 0; i < options->connections; i++) {
        struct load_connection *lc = &w->connections[i];
        lc->workload = w;
        lc->url = &shared->load->urls[i % shared->load->url_count];
        lc->sent = calloc((size_t)options->pipeline, sizeof lc->sent[0]);
        must(lc->sent != NULL);
    }
}

void load_workload_deinit(struct load_workload *w)
{
    for (int64_t i = 0; i < w->options.connections; i++) {
        load_response_deinit(&w->connections[i].reader);
        free(w->connections[i].sent);
    }
    free(w->connections);
    free(w->waiting);
    load_template_deinit(&w->request);
    load_result_deinit(&w->result);
    buffer_deinit(&w->scratch);
}
