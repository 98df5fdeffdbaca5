/* load_workload.c - arrivals become requests, requests wait for a connection, answers are
 * counted. */
#include "workload/load_workload.h"

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

/* ---- what holds between events ---- */

/* The requests that wait, are on a connection, or are due later. */
static int64_t workload_requests(const struct load_workload *w)
{
    int64_t count = w->waiting_count;
    for (int64_t i = 0; i < w->options.connections; i++)
        count += w->connections[i].count;
    for (int64_t i = 0; i < w->timers.count; i++)
        count += w->timers.heap[i].kind == LOAD_TIMER_ATTEMPT;
    return count;
}

static void workload_check(const struct load_workload *w)
{
    const struct load_result *r = &w->result;
    must(w->outstanding <= w->outstanding_max);            /* LOAD-1 */
    must_in_tests(w->outstanding == workload_requests(w)); /* LOAD-1 */
    must(r->offered - w->outstanding == r->admitted + r->refused + r->failed + r->client_overrun +
                                            r->client_rejected + r->unfinished); /* LOAD-2 */
}

/* ---- the end of a request ---- */

static enum trace_outcome trace_outcome_of(enum load_outcome outcome)
{
    return outcome == LOAD_ADMITTED  ? TRACE_ADMITTED
           : outcome == LOAD_REFUSED ? TRACE_THROTTLED
                                     : TRACE_FAILED;
}

/* The request is over, and counted: its client goes on. */
static void end_request(struct load_workload *w, const struct load_request *r, int64_t now_ns,
                        enum trace_outcome outcome)
{
    if (w->shared->recorder != NULL)
        trace_recorder_end(w->shared->recorder, r->recorded, outcome);
    w->outstanding--;
    if (w->options.traffic.clients.count > 0)
        load_timers_add(&w->timers, now_ns + traffic_think_ns(&w->traffic), LOAD_TIMER_CLIENT,
                        NULL);
}

static enum retry_result retry_result_of(const struct load_verdict *v)
{
    if (v->outcome != LOAD_FAILED)
        return v->outcome == LOAD_ADMITTED ? RETRY_DONE : RETRY_THROTTLED;
    if (!v->applied_unknown)
        return RETRY_FINAL;
    return strcmp(v->error, "timeout") == 0 ? RETRY_TIMEOUT : RETRY_ERROR;
}

/* Whether the client tries again. */
static bool retry_request(struct load_workload *w, const struct load_request *r, int64_t now_ns,
                          const struct load_verdict *v, int64_t retry_after_ms)
{
    struct load_request again = *r;
    if (w->options.retry.policy == NULL)
        return false;
    const struct retry_outcome outcome = {retry_result_of(v),
                                          retry_after_ms < 0 ? -1 : retry_after_ms * NS_PER_MS};
    struct retry_verdict verdict =
        retry_after(&w->retry, &again.retry, &outcome, now_ns, &w->retry_random);
    if (verdict.again) {
        again.number = ++w->shared->last_number;
        load_timers_add(&w->timers, verdict.at_ns, LOAD_TIMER_ATTEMPT, &again);
        return true;
    }
    w->result.gave_up_attempts += verdict.stop == RETRY_STOP_ATTEMPTS;
    w->result.gave_up_quota += verdict.stop == RETRY_STOP_QUOTA;
    return false;
}

static enum load_kind write_kind(const struct load_workload *w)
{
    return w->options.transact > 0 ? LOAD_TRANSACT : w->options.increments ? LOAD_ADD : LOAD_PUT;
}

static void finish_request(struct load_workload *w, const struct load_request *r, int64_t now_ns,
                           const struct load_verdict *v, const struct json_value *answer,
                           int64_t retry_after_ms)
{
    struct load_shared *s = w->shared;
    struct load_request again = *r;
    if (s->history.file != NULL)
        load_history_return(&s->history, r, now_ns, v, answer);
    if (s->try_again && v->outcome != LOAD_ADMITTED) {
        again.number = ++s->last_number;
        push_waiting(w, &again);
        w->hold_ns = now_ns + HOLD_NS;
        return;
    }
    if (retry_request(w, r, now_ns, v, retry_after_ms))
        return;
    if (r->modify && v->outcome == LOAD_ADMITTED) {
        again.number = ++s->last_number;
        again.kind = write_kind(w);
        again.modify = false;
        again.retry = (struct retry_request){0};
        load_timers_add(&w->timers, now_ns, LOAD_TIMER_ATTEMPT, &again);
        return;
    }
    load_result_count(&w->result, v, load_kind_reads(r->kind), r->item_bytes,
                      now_ns - r->intended_ns);
    end_request(w, r, now_ns, trace_outcome_of(v->outcome));
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
    finish_request(lc->workload, &r, loop_now(s->loop).ns, &v, &answer,
                   lc->client.response.retry_after_ms);
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
        finish_request(lc->workload, &r, loop_now(s->loop).ns, &v, &no_answer, -1);
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
    w->result.current.sent++;
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

/* ---- attempts ---- */

/* Sends the attempt when the retry model permits. */
static void begin_attempt(struct load_workload *w, const struct load_request *r, int64_t now_ns)
{
    struct load_request next = *r;
    if (w->options.retry.policy == NULL) {
        push_waiting(w, r);
        return;
    }
    struct retry_verdict v = retry_send(&w->retry, &next.retry, now_ns, &w->retry_random);
    if (!v.again) {
        w->result.client_rejected++;
        w->result.current.client_rejected++;
        end_request(w, &next, now_ns, TRACE_UNANSWERED);
        return;
    }
    if (v.at_ns > now_ns) {
        load_timers_add(&w->timers, v.at_ns, LOAD_TIMER_ATTEMPT, &next);
        return;
    }
    w->result.retries += next.retry.attempts > 0;
    push_waiting(w, &next);
}

/* ---- arrivals ---- */

static enum load_kind load_kind_of(const struct load_workload *w, enum traffic_kind kind)
{
    if (w->options.path[0] != 0)
        return LOAD_GET;
    switch (kind) {
    case TRAFFIC_READ:
        return w->options.queries ? LOAD_QUERY : LOAD_GET;
    case TRAFFIC_READ_MODIFY_WRITE:
        return LOAD_GET;
    case TRAFFIC_SCAN:
        return LOAD_SCAN;
    case TRAFFIC_DELETE:
        return LOAD_DELETE;
    case TRAFFIC_UPDATE:
    case TRAFFIC_INSERT:
    case TRAFFIC_KINDS:
        break;
    }
    return write_kind(w);
}

static void record_request(struct load_workload *w, const struct traffic_request *q,
                           struct load_request *r)
{
    char key[LOAD_KEY_SIZE_MAX];
    struct trace_record record = {.at_ns = r->intended_ns - w->shared->start_ns,
                                  .table = w->table_number,
                                  .tenant = w->tenant_number,
                                  .size_bytes = r->item_bytes,
                                  .scan_length = q->scan_length,
                                  .kind = q->kind,
                                  .consistent = q->consistent};
    size_t size = load_keys_text(&w->options.traffic.keys, q->key, key);
    record.at_ns = MAX(record.at_ns, 0);
    r->recorded = trace_recorder_begin(w->shared->recorder, &record, slice_make(key, size));
}

/* Counts the request, and begins it if there is room. */
static void offer_request(struct load_workload *w, const struct traffic_request *q,
                          int64_t intended_ns, int64_t now_ns)
{
    struct load_request r = {.intended_ns = intended_ns,
                             .number = ++w->shared->last_number,
                             .key = q->key,
                             .kind = load_kind_of(w, q->kind),
                             .item_bytes = q->size_bytes,
                             .scan_length = q->scan_length,
                             .consistent = q->consistent,
                             .modify =
                                 q->kind == TRAFFIC_READ_MODIFY_WRITE && w->options.path[0] == 0};
    if (r.item_bytes < w->item_bytes_min)
        r.item_bytes = (int32_t)w->item_bytes_min;
    w->requests_left--;
    w->result.offered++;
    w->result.current.offered++;
    if (w->shared->recorder != NULL)
        record_request(w, q, &r);
    if (w->outstanding < w->outstanding_max) {
        w->outstanding++;
        begin_attempt(w, &r, now_ns);
        return;
    }
    w->result.client_overrun++;
    w->result.current.client_overrun++;
    if (w->shared->recorder != NULL)
        trace_recorder_end(w->shared->recorder, r.recorded, TRACE_UNANSWERED);
}

static void schedule_next(struct load_workload *w)
{
    bool more = traffic_next(&w->traffic, &w->next);
    w->next_ns = more ? w->shared->start_ns + w->next.at_ns : INT64_MAX;
}

static void take_due(struct load_workload *w, int64_t now_ns)
{
    while (w->next_ns <= now_ns && w->next_ns < w->end_ns && w->requests_left > 0) {
        offer_request(w, &w->next, w->next_ns, now_ns);
        schedule_next(w);
    }
    /* A trace may be over long before the duration. */
    if (w->next_ns == INT64_MAX && w->options.replay[0] != 0)
        load_workload_stop(w, now_ns);
}

static void take_timers(struct load_workload *w, int64_t now_ns)
{
    struct load_timer t;
    while (load_timers_take(&w->timers, now_ns, &t)) {
        if (t.kind == LOAD_TIMER_ATTEMPT) {
            begin_attempt(w, &t.request, now_ns);
        } else if (now_ns < w->end_ns && w->requests_left > 0) {
            struct traffic_request q;
            traffic_make(&w->traffic, now_ns - w->shared->start_ns, &q);
            offer_request(w, &q, now_ns, now_ns);
        }
    }
}

void load_workload_advance(struct load_workload *w, int64_t now_ns)
{
    workload_check(w);
    take_due(w, now_ns);
    take_timers(w, now_ns);
    send_waiting(w, now_ns);
    workload_check(w);
}

int64_t load_workload_deadline(const struct load_workload *w)
{
    int64_t timer_ns = load_timers_deadline(&w->timers), arrival_ns = INT64_MAX;
    if (w->waiting_count > 0 && w->hold_ns > 0)
        arrival_ns = w->hold_ns;
    else if (w->requests_left > 0 && w->next_ns < w->end_ns)
        arrival_ns = w->next_ns;
    return MIN(timer_ns, arrival_ns);
}

bool load_workload_is_over(const struct load_workload *w, int64_t now_ns)
{
    /* After a long turn, arrivals due before the end may not have begun yet. */
    bool closed = w->options.traffic.clients.count > 0;
    bool all_begun = closed ? now_ns >= w->end_ns : w->next_ns >= w->end_ns;
    return w->outstanding == 0 && (all_begun || w->requests_left == 0);
}

enum status load_workload_open(struct load_workload *w, struct buffer *error)
{
    if (w->options.replay[0] == 0)
        return STATUS_OK;
    const enum status status =
        trace_file_open(&w->trace, w->options.replay, w->options.table, error);
    return status == STATUS_OK ? trace_file_check(&w->trace, error) : status;
}

void load_workload_start(struct load_workload *w)
{
    struct traffic_options *o = &w->options.traffic;
    w->begin_ns = w->shared->start_ns + o->start_ns;
    w->end_ns = w->begin_ns + w->options.duration_ns;
    w->result.elapsed_ns = w->options.duration_ns;
    w->next_ns = INT64_MAX;
    if (w->options.replay[0] != 0)
        o->source = trace_file_source(&w->trace, w->options.replay_speed);
    traffic_init(&w->traffic, o, w->seed);
    if (w->options.retry.policy != NULL)
        retry_init(&w->retry, &w->options.retry, w->begin_ns);
    for (int64_t i = 0; i < o->clients.count; i++)
        load_timers_add(&w->timers, w->begin_ns, LOAD_TIMER_CLIENT, NULL);
    if (o->clients.count == 0)
        schedule_next(w);
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
    workload_check(w);
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
    w->seed = seed;
    w->retry_random = prng_seeded(seed + 1);
    w->requests_left = requests_max ? requests_max : INT64_MAX;
    int64_t clients = options->traffic.clients.count;
    w->outstanding_max = clients > 0 ? clients : options->outstanding_max;
    load_timers_init(&w->timers, w->outstanding_max);
    w->waiting = must_calloc((size_t)w->outstanding_max, sizeof w->waiting[0]);
    w->connections = must_calloc((size_t)options->connections, sizeof w->connections[0]);
    load_template_init(&w->request, &w->options, &shared->load->urls[0],
                       shared->load->unsigned_requests);
    w->item_bytes_min = options->path[0] != 0 ? 0 : load_item_bytes_min(&w->options);
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
    load_timers_deinit(&w->timers);
    traffic_deinit(&w->traffic);
    trace_file_close(&w->trace);
    load_template_deinit(&w->request);
    load_result_deinit(&w->result);
    buffer_deinit(&w->scratch);
}
