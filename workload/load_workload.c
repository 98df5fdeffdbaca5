/* load_workload.c - arrivals become requests, requests wait for a connection, answers are counted. */
#include "workload/load_workload.h"

#include <math.h>
#include <stdlib.h>

enum {
    HOLD_NS = 10 * 1000 * 1000
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

static void finish_request(struct load_workload *w, const struct load_request *r, int64_t now_ns,
                           const struct load_verdict *v, const struct json_value *answer)
{
    struct load_shared *s = w->shared;
    if (s->history.file != NULL)
        load_history_return(&s->history, r, now_ns, v, answer);
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

static const struct json_value no_answer;

/* ---- connections ---- */

static void set_ready(struct load_connection *lc)
{
    struct load_workload *w = lc->workload;
    bool ready = lc->client.up && lc->count < w->options.pipeline;
    if (ready && !lc->ready)
        TAILQ_INSERT_TAIL(&w->ready, lc, entry);
    else if (!ready && lc->ready)
        TAILQ_REMOVE(&w->ready, lc, entry);
    lc->ready = ready;
}

static void load_answered(void *context, int http_status, struct slice body)
{
    struct load_connection *lc = context;
    struct load_shared *s = lc->workload->shared;
    struct json_value answer = no_answer;
    if (lc->count == 0) {
        lc->client.response.closes = true; /* an unrequested answer: the connection is given up */
        return;
    }
    struct load_verdict v;
    struct load_request r = take_sent(lc);
    if (body.size > 0 && json_parse(s->parser, body, &answer) != STATUS_OK)
        answer = no_answer;
    load_verdict_of(http_status, &answer, &v);
    finish_request(lc->workload, &r, loop_now(s->loop).ns, &v, &answer);
    set_ready(lc);
}

static void load_opened(void *context)
{
    struct load_connection *lc = context;
    lc->counted = true;
    lc->workload->shared->connections_up++;
    set_ready(lc);
}

static void load_lost(void *context, const char *why, int error)
{
    struct load_connection *lc = context;
    struct load_shared *s = lc->workload->shared;
    struct load_verdict v = {.outcome = LOAD_FAILED, .applied_unknown = true};
    memcpy(v.error, why, strlen(why) + 1);
    s->connections_up -= lc->counted;
    if (!lc->counted)
        s->connect_error = error;
    lc->counted = false;
    set_ready(lc);
    while (lc->count > 0) {
        struct load_request r = take_sent(lc);
        finish_request(lc->workload, &r, loop_now(s->loop).ns, &v, &no_answer);
    }
}

static const struct client_events load_events = {
    .opened = load_opened, .answer = load_answered, .lost = load_lost};

void load_workload_connect(struct load_workload *w)
{
    for (int64_t i = 0; i < w->options.connections; i++)
        client_connection_open(&w->connections[i].client);
}

void load_workload_check(struct load_workload *w, int64_t now_ns)
{
    for (int64_t i = 0; i < w->options.connections; i++) {
        struct load_connection *lc = &w->connections[i];
        client_connection_check(&lc->client, now_ns);
        if (lc->count > 0 && now_ns - lc->sent[lc->first].sent_ns > w->shared->load->timeout_ns)
            client_connection_give_up(&lc->client, "timeout");
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
    if (s->history.file != NULL)
        load_history_invoke(&s->history, &w->options, &r);
    client_connection_send(&lc->client, buffer_slice(&w->scratch));
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
    /* After a long turn, arrivals due before the end may not have begun yet. */
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
            if (w->shared->history.file != NULL)
                load_history_return(&w->shared->history, &r, now_ns, &v, &no_answer);
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
    w->waiting = must_calloc((size_t)w->outstanding_max, sizeof w->waiting[0]);
    w->connections = must_calloc((size_t)options->connections, sizeof w->connections[0]);
    load_template_init(&w->request, &w->options, &shared->load->urls[0],
                       shared->load->unsigned_requests);
    load_result_init(&w->result);
    TAILQ_INIT(&w->ready);
    for (int64_t i = 0; i < options->connections; i++) {
        struct load_connection *lc = &w->connections[i];
        lc->workload = w;
        lc->client = (struct client_connection){.loop = shared->loop,
                                                .urls = shared->load->urls,
                                                .url_count = shared->load->url_count,
                                                .url = (int)(i % shared->load->url_count),
                                                .events = &load_events,
                                                .context = lc,
                                                .keep_body = shared->history.file != NULL};
        lc->sent = must_calloc((size_t)options->pipeline, sizeof lc->sent[0]);
    }
}

void load_workload_deinit(struct load_workload *w)
{
    for (int64_t i = 0; i < w->options.connections; i++) {
        client_connection_deinit(&w->connections[i].client);
        free(w->connections[i].sent);
    }
    free(w->connections);
    free(w->waiting);
    load_template_deinit(&w->request);
    load_result_deinit(&w->result);
    buffer_deinit(&w->scratch);
}
