/* router.c - hands events to the parts of the router, and takes effects from them. */
#include "router/core/router.h"

#include <stdlib.h>

#include "base/settings/gac.h"
#include "base/settings/http.h"
#include "base/settings/requests.h"
#include "router/core/answer_record.h"
#include "router/core/input_parse.h"
#include "router/core/late_replies.h"
#include "router/core/limit.h"
#include "router/core/node_watch.h"
#include "router/core/request_id.h"
#include "router/core/request_metrics.h"
#include "router/core/shedding.h"
#include "router/limiter/bucket_maintenance.h"
#include "router/limiter/limiter_call.h"
#include "router/limiter/transaction_queue.h"
#include "router/records/records.h"

enum {
    NODE_TIMEOUT_MS = 1000 /* about the time of an election */
};
static const int64_t BACKOFF_MS[BACKOFFS] = {1, 2, 10, 25, 50, 100}; /* the last repeats */

struct router *router_create(const struct router_options *options)
{
    struct router *r = must_calloc(1, sizeof *r);
    r->options = *options;
    if (r->options.account == NULL)
        r->options.account = "000000000000";
    r->config = options->config;
    r->prng = prng_seeded(options->seed);
    r->hash_seed = options->seed;
    r->catalog_node = 1;
    r->json = json_parser_create();
    struct prng lives = prng_seeded(~options->seed);
    r->gac = gac_client_create(&(struct gac_client_options){.config = options->config,
                                                            .servers = options->gac_servers,
                                                            .router = prng_next(&lives) | 1});
    TAILQ_INIT(&r->resting);
    TAILQ_INIT(&r->texts);
    TAILQ_INIT(&r->output);
    TAILQ_INIT(&r->sending);
    TAILQ_INIT(&r->refused);
    timer_queue_init(&r->idle, duration_ms(config_http(r->config)->http_idle_ms));
    timer_queue_init(&r->unread, duration_ms(config_http(r->config)->http_unread_ms));
    timer_queue_init(&r->arriving, duration_ms(config_http(r->config)->http_request_ms));
    timer_queue_init(&r->mute, duration_ms(config_http(r->config)->http_request_ms));
    timer_queue_init(&r->deadlines, duration_ms(config_requests(r->config)->request_deadline_ms));
    timer_queue_init(&r->node_timeout, duration_ms(NODE_TIMEOUT_MS));
    timer_queue_init(&r->limit_waits, duration_ms(config_gac(r->config)->gac_wait_ms));
    node_watch_init(r);
    shedding_init(r);
    late_replies_init(r);
    request_metrics_init(r);
    answer_record_init(r);
    limiter_init(r);
    own_writes_init(r);
    for (int i = 0; i < BACKOFFS; i++)
        timer_queue_init(&r->backoffs[i], duration_ms(BACKOFF_MS[i]));
    return r;
}

void router_destroy(struct router *r)
{
    struct client *c;
    while ((c = id_map_any(&r->clients)) != NULL)
        client_destroy(c);
    limiter_deinit(r);
    limit_deinit(r);
    own_writes_deinit(r);
    records_destroy(r->records);
    route_cache_deinit(r);
    call_reap(r, true);
    input_parse_deinit(r);
    must(r->held_bytes == 0); /* CORE-1 */
    while (r->spare_calls != NULL) {
        struct call *spare = r->spare_calls;
        r->spare_calls = spare->next;
        call_destroy(spare);
    }
    for (uint32_t i = 0; i < r->spare_count; i++)
        buffer_deinit(&r->spare[i]);
    buffer_deinit(&r->lent);
    buffer_deinit(&r->scratch);
    fault_deinit(&r->fault);
    json_parser_destroy(r->json);
    gac_client_destroy(r->gac);
    node_watch_deinit(r);
    shedding_deinit(r);
    late_replies_deinit(r);
    request_metrics_deinit(r);
    id_map_deinit(&r->clients);
    free(r->slots);
    free(r);
}

/* ---- events ---- */

static void router_event_begin(struct router *r, struct instant now)
{
    must(!instant_before(now, r->now));
    r->now = now;
    r->fault.reading = steps_begin(r->hash_seed);
}

static void router_event_end(struct router *r)
{
    do {
        client_resume_all(r);
    } while (limit_run(r));
}

void router_set_wall_clock(struct router *r, struct instant now, int64_t wall_ms)
{
    router_event_begin(r, now);
    r->wall_ms = wall_ms;
    r->wall_at = now;
    r->date_until = now;
    if (r->limiter->check_timer.queue == NULL)
        timer_start(&r->limiter->check_timer, &r->limiter->check_timers, now);
}

bool router_refuse_memory(struct router *r)
{
    r->counters.refused_memory++;
    return fault_set(&r->fault, FAULT_UNAVAILABLE,
                     "The router's memory budget for requests and answers is used up "
                     "(http_memory_max_bytes); please try again");
}

uint64_t router_make_id(struct router *r, char out[HTTP_REQUEST_ID_SIZE])
{
    const struct request_id_parts parts = {
        .router = r->options.number, .wall_ms = router_wall_ms(r), .count = r->id_count++};
    return request_id_write(&r->prng, &parts, out);
}

const char *router_date(struct router *r)
{
    if (instant_before(r->now, r->date_until))
        return r->date;
    int64_t ms = router_wall_ms(r), s = ms / 1000;
    r->date_until = instant_add(r->now, duration_ms(1000 - ms % 1000));
    if (s != r->date_s || r->date[0] == '\0')
        http_date(s, r->date);
    r->date_s = s;
    return r->date;
}

void router_open(struct router *r, struct instant now, uint64_t connection)
{
    router_event_begin(r, now);
    client_open(r, connection, false);
}

void router_open_admin(struct router *r, struct instant now, uint64_t connection)
{
    router_event_begin(r, now);
    client_open(r, connection, true);
}

bool router_unsent(struct router *r, struct instant now, uint64_t connection, size_t bytes)
{
    router_event_begin(r, now);
    if (!client_unsent(r, connection, bytes))
        return false;
    router_event_end(r);
    return true;
}

void router_receive(struct router *r, struct instant now, struct waiting waited,
                    uint64_t connection, struct slice bytes)
{
    router_event_begin(r, now);
    r->waited = waited;
    call_reap(r, true);
    client_receive(r, connection, bytes);
    r->waited = (struct waiting){0};
    router_event_end(r);
}

void router_end(struct router *r, struct instant now, uint64_t connection)
{
    router_event_begin(r, now);
    client_end(r, connection);
}

void router_close(struct router *r, struct instant now, uint64_t connection)
{
    router_event_begin(r, now);
    client_close(r, connection);
}

static void router_expire_requests(struct router *r)
{
    for (struct timer *t; (t = timer_queue_expire(&r->deadlines, r->now)) != NULL;)
        subrequest_deadline(r, TIMER_OWNER(t, struct subrequest, deadline));
}

void router_reply(struct router *r, struct instant now, uint32_t node, const struct reply *reply)
{
    router_event_begin(r, now);
    node_watch_received(r, node);
    router_expire_requests(r); /* a router that stood still meets answers before its timers */
    subrequest_reply(r, node, reply);
    router_event_end(r);
}

void router_node_lost(struct router *r, struct instant now, uint32_t node)
{
    router_event_begin(r, now);
    node_watch_link_lost(r, node);
    subrequest_node_lost(r, node);
    late_replies_node_lost(r, node);
    router_event_end(r);
}

void router_parsed(struct router *r, struct instant now)
{
    router_event_begin(r, now);
    input_parse_parsed(r);
    router_event_end(r);
}

void router_not_sent(struct router *r, struct instant now, uint32_t node, uint64_t request_id)
{
    router_event_begin(r, now);
    subrequest_not_sent(r, node, request_id);
    router_event_end(r);
}

/* ---- global admission control ---- */

uint64_t router_late_reads(const struct router *r)
{
    return (uint64_t)r->counters.own_writes_late;
}

const struct gac_client *router_gac(const struct router *r)
{
    return r->gac;
}

void router_gac_up(struct router *r, struct instant now, uint32_t server)
{
    router_event_begin(r, now);
    gac_client_up(r->gac, now, server);
}

void router_gac_down(struct router *r, struct instant now, uint32_t server, bool gone)
{
    router_event_begin(r, now);
    gac_client_down(r->gac, now, server, gone);
    router_event_end(r);
}

enum status router_gac_receive(struct router *r, struct instant now, uint32_t server,
                               struct slice frame)
{
    router_event_begin(r, now);
    enum status status = gac_client_receive(r->gac, now, server, frame);
    router_event_end(r);
    return status;
}

/* ---- time ---- */

struct instant router_deadline(const struct router *r)
{
    if (!TAILQ_EMPTY(&r->resting))
        return r->now;
    struct instant next =
        instant_earlier(timer_queue_next(&r->idle), timer_queue_next(&r->arriving));
    next = instant_earlier(next, timer_queue_next(&r->mute));
    next = instant_earlier(next, timer_queue_next(&r->unread));
    next = instant_earlier(next, timer_queue_next(&r->deadlines));
    next = instant_earlier(next, timer_queue_next(&r->node_timeout));
    next = instant_earlier(next, timer_queue_next(&r->node_polls));
    next = instant_earlier(next, timer_queue_next(&r->limit_waits));
    next = instant_earlier(next, timer_queue_next(&r->late_timers));
    next = instant_earlier(next, timer_queue_next(&r->own.waits));
    next = instant_earlier(next, timer_queue_next(&r->limiter->retry_timers));
    next = instant_earlier(next, timer_queue_next(&r->limiter->deadline_timers));
    next = instant_earlier(next, timer_queue_next(&r->limiter->check_timers));
    next = instant_earlier(next, timer_queue_next(&r->limiter->queue_timers));
    for (int i = 0; i < BACKOFFS; i++)
        next = instant_earlier(next, timer_queue_next(&r->backoffs[i]));
    return instant_earlier(next, gac_client_deadline(r->gac));
}

static void router_expire_clients(struct router *r, struct timer_queue *q)
{
    for (struct timer *t; (t = timer_queue_expire(q, r->now)) != NULL;)
        client_expire(r, TIMER_OWNER(t, struct client, timer));
}

void router_tick(struct router *r, struct instant now)
{
    struct timer *t;
    router_event_begin(r, now);
    call_reap(r, true);
    router_expire_clients(r, &r->mute);
    router_expire_clients(r, &r->idle);
    router_expire_clients(r, &r->arriving);
    while ((t = timer_queue_expire(&r->unread, now)) != NULL)
        client_unread(r, TIMER_OWNER(t, struct client, unread));
    while ((t = timer_queue_expire(&r->node_polls, now)) != NULL)
        node_watch_poll(r, TIMER_OWNER(t, struct node_watch, poll));
    router_expire_requests(r);
    while ((t = timer_queue_expire(&r->node_timeout, now)) != NULL)
        subrequest_node_timeout(r, TIMER_OWNER(t, struct subrequest, node_timeout));
    for (int i = 0; i < BACKOFFS; i++) {
        while ((t = timer_queue_expire(&r->backoffs[i], now)) != NULL)
            subrequest_backoff_over(r, TIMER_OWNER(t, struct subrequest, backoff));
    }
    while ((t = timer_queue_expire(&r->own.waits, now)) != NULL)
        subrequest_own_over(r, TIMER_OWNER(t, struct subrequest, own));
    while ((t = timer_queue_expire(&r->limit_waits, now)) != NULL)
        limit_wait_over(r, TIMER_OWNER(t, struct subrequest, backoff));
    while ((t = timer_queue_expire(&r->limiter->retry_timers, now)) != NULL)
        limiter_call_retry_due(TIMER_OWNER(t, struct limiter_call, retry_timer));
    while ((t = timer_queue_expire(&r->limiter->deadline_timers, now)) != NULL)
        limiter_call_time_out(TIMER_OWNER(t, struct limiter_call, deadline));
    if (timer_queue_expire(&r->limiter->check_timers, now) != NULL)
        maintenance_run(r);
    if (timer_queue_expire(&r->limiter->queue_timers, now) != NULL)
        transaction_queue_run(r);
    while ((t = timer_queue_expire(&r->late_timers, now)) != NULL)
        late_reply_expire(r, t);
    call_go_on(r);
    gac_client_tick(r->gac, now);
    router_event_end(r);
}

/* ---- effects ---- */

static bool router_next_gac_frame(struct router *r, struct router_effect *out)
{
    uint32_t server;
    struct slice frame;
    if (!gac_client_next_frame(r->gac, r->now, &server, &frame))
        return false;
    *out = (struct router_effect){.kind = ROUTER_SEND_GAC, .gac_server = server, .bytes = frame};
    return true;
}

bool router_next_effect(struct router *r, struct router_effect *out)
{
    if (subrequest_next_effect(r, out))
        return true;
    if (node_watch_next_ping(r, out))
        return true;
    if (client_next_effect(r, out))
        return true;
    if (router_next_gac_frame(r, out))
        return true;
    if (input_parse_next_text(r, out))
        return true;
    call_reap(r, true);
    return false;
}

bool router_over_budget(const struct router *r, uint64_t more)
{
    return r->held_bytes + more > (uint64_t)config_http(r->config)->http_memory_max_bytes;
}
