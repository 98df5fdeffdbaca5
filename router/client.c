/* client.c - the life of a client connection: requests, answers, close.
 *
 * The host reports how many bytes for a client it still holds (unsent bytes). A client with more
 * than UNSENT_MAX of them is blocked: its next request begins only after the client has read some.
 * Unsent bytes count in held_bytes. A client that takes no bytes for http_unread_ms is closed. If
 * memory is short, it is closed after UNREAD_GRACE_MS; the client that waits longest goes first.
 * After them the bodies of unfinished requests are dropped, the largest first.
 *
 * A client that sends nothing holds a connection. When there are connections_max of them, the
 * client that has been idle for longest, IDLE_GRACE_MS at least, makes room for a new one.
 *
 *   reading --(whole request)--> busy --(answer)--> reading
 *      |  \--(refused)-> draining --\      \
 *      \--(idle or too slow)---------> closing --> gone
 *
 * client_receive and client_resume_all lead from reading to busy; client_answer leads back. */
#include <stdlib.h>

#include "base/settings/http.h"
#include "router/core/cors.h"
#include "router/core/endpoints.h"
#include "router/core/router_internal.h"

enum {
    UNSENT_MAX = 64 * 1024,
    PIECE_SIZE = 64 * 1024,    /* of a large body: so many bytes are copied in one go */
    REST_MIN = 2 * PIECE_SIZE, /* a smaller body is copied behind its head */
    UNREAD_GRACE_MS = 1000,
    IDLE_GRACE_MS = 1000,
    ARRIVING_CHECKED_MAX = 256, /* unfinished requests that are looked at while memory is short */
};

static void client_account(struct client *c)
{
    router_account(c->router, &c->accounted,
                   http_large_head(&c->http.head) + c->http.pieces.capacity + c->backlog.capacity +
                       c->out.size + c->rest_left + c->unsent);
}

/* ---- output ---- */

static void client_output_add(struct client *c)
{
    if (c->in_output)
        return;
    c->in_output = true;
    TAILQ_INSERT_TAIL(&c->router->output, c, output);
}

static struct buffer *client_output(struct client *c)
{
    struct router *r = c->router;
    client_output_add(c);
    if (c->rest.count > 0)
        return &c->rest.at[c->rest.count - 1];
    if (c->out.data == NULL && r->spare_count > 0)
        c->out = r->spare[--r->spare_count];
    return &c->out;
}

static void client_drop_rest(struct client *c)
{
    parts_deinit(&c->rest);
    c->rest_left = c->rest_at = 0;
    c->rest_part = 0;
}

static void client_output_remove(struct client *c)
{
    TAILQ_REMOVE(&c->router->output, c, output);
    c->in_output = false;
}

static void client_give_back_buffer(struct router *r, struct buffer *b)
{
    if (b->data != NULL && b->capacity <= KEPT_BUFFER_MAX && r->spare_count < SPARE_BUFFERS) {
        buffer_clear(b);
        r->spare[r->spare_count++] = *b;
        *b = (struct buffer){0};
    } else {
        buffer_deinit(b);
    }
}

static void client_start_closing(struct client *c)
{
    c->closing = true;
    timer_stop(&c->timer);
    client_output_add(c);
}

/* Closes the connection at once; unsent bytes are dropped. */
static void client_abort(struct client *c)
{
    c->aborting = true;
    c->unsent = 0;
    buffer_clear(&c->out);
    client_drop_rest(c);
    timer_stop(&c->unread);
    client_account(c);
    client_start_closing(c);
}

/* The body of a request that is still arriving. The rest is dropped as it comes. The request is
 * refused at its end: a client that is still sending would not read an answer. */
static void client_drop_body(struct client *c)
{
    c->over_budget = true;
    c->http.discarding = true;
    http_drop_body(&c->http);
    client_account(c);
}

static bool client_has_bytes(const struct client *c)
{
    return !c->aborting && (c->out.size > 0 || c->rest.count > 0);
}

/* The rest waits until the host has sent what it was given. */
static bool client_pauses(const struct client *c)
{
    return !c->aborting && c->out.size == 0 && c->rest.count > 0 && c->unsent > UNSENT_MAX;
}

/* They lend until the next effect. */
static struct slice client_next_bytes(struct router *r, struct client *c)
{
    if (c->out.size > 0) {
        r->lent = c->out;
        c->out = (struct buffer){0};
        return buffer_slice(&r->lent);
    }
    struct buffer *part = &c->rest.at[c->rest_part];
    const size_t left = part->size - c->rest_at, size = MIN(left, PIECE_SIZE);
    const struct slice piece = slice_make(part->data + c->rest_at, size);
    c->rest_at += size;
    c->rest_left -= size;
    if (size < left)
        return piece;
    r->lent = *part;
    *part = (struct buffer){0};
    c->rest_at = 0;
    if (++c->rest_part == c->rest.count)
        client_drop_rest(c);
    return piece;
}

static void client_close_now(struct client *c, struct router_effect *out)
{
    *out = (struct router_effect){.kind = c->aborting ? ROUTER_ABORT : ROUTER_CLOSE,
                                  .connection = c->id};
    client_output_remove(c);
    if (c->call != NULL)
        call_end(c->call);
    c->close_requested = true;
    if (c->unsent == 0) /* else the client stays until the host has sent all or has closed */
        client_destroy(c);
}

bool client_next_effect(struct router *r, struct router_effect *out)
{
    struct client *c;
    client_give_back_buffer(r, &r->lent);
    while ((c = TAILQ_FIRST(&r->output)) != NULL && client_pauses(c))
        client_output_remove(c);
    if (c == NULL)
        return false;
    if (!client_has_bytes(c)) {
        client_close_now(c, out);
        return true;
    }
    *out = (struct router_effect){
        .kind = ROUTER_SEND_BYTES, .connection = c->id, .bytes = client_next_bytes(r, c)};
    if (!client_has_bytes(c) && !c->closing)
        client_output_remove(c);
    return true;
}

/* How long the timer has run. */
static int64_t client_timer_ms(const struct router *r, const struct timer *t)
{
    return (instant_since(r->now, t->at).ns + t->queue->delay.ns) / NS_PER_MS;
}

/* The largest of the requests that have been arriving for longest. NULL: none is larger than `more`
 * and older than UNREAD_GRACE_MS. */
static struct client *client_largest_arriving(struct router *r, uint64_t more)
{
    struct client *largest = NULL;
    struct timer *t;
    int checked = 0;
    TAILQ_FOREACH (t, &r->arriving.timers, entry) {
        struct client *c = TIMER_OWNER(t, struct client, timer);
        if (checked++ == ARRIVING_CHECKED_MAX || client_timer_ms(r, t) < UNREAD_GRACE_MS)
            break;
        if (!c->feeding && !c->over_budget && c->accounted > more &&
            (largest == NULL || c->accounted > largest->accounted))
            largest = c;
    }
    return largest;
}

bool client_make_room(struct router *r, uint64_t more)
{
    while (router_over_budget(r, more) && !TAILQ_EMPTY(&r->unread.timers)) {
        struct client *c = TIMER_OWNER(TAILQ_FIRST(&r->unread.timers), struct client, unread);
        if (client_timer_ms(r, &c->unread) < UNREAD_GRACE_MS)
            break;
        r->counters.unread_closed++;
        client_abort(c);
    }
    struct client *c;
    while (router_over_budget(r, more) && (c = client_largest_arriving(r, more)) != NULL) {
        r->counters.evicted++;
        client_drop_body(c);
    }
    return !router_over_budget(r, more);
}

/* ---- life ---- */

/* Sends the refusal at once; the client need not have sent a request. */
static void client_turn_away(struct client *c)
{
    struct router *r = c->router;
    fault_set(&r->fault, FAULT_UNAVAILABLE,
              "The router has its maximum of connections (connections_max); please try "
              "again");
    c->feeding = true;
    endpoints_answer_fault(r, c, "application/x-amz-json-1.0");
    c->feeding = false;
}

/* Closes the client that has been idle for longest, if that is long enough. */
static void client_make_place(struct router *r)
{
    struct timer_queue *const queues[] = {&r->mute, &r->idle};
    struct client *longest = NULL;
    int64_t longest_ms = IDLE_GRACE_MS - 1;
    for (size_t i = 0; i < COUNT_OF(queues); i++) {
        struct timer *t = TAILQ_FIRST(&queues[i]->timers);
        if (t == NULL || client_timer_ms(r, t) <= longest_ms)
            continue;
        longest = TIMER_OWNER(t, struct client, timer);
        longest_ms = client_timer_ms(r, t);
    }
    if (longest == NULL)
        return;
    r->counters.evicted++;
    r->client_count -= longest->counted;
    longest->counted = false;
    client_start_closing(longest);
}

void client_open(struct router *r, uint64_t id, bool admin)
{
    must(id_map_find(&r->clients, id) == NULL);
    struct client *c = must_calloc(1, sizeof *c);
    c->id = id;
    c->router = r;
    c->admin = admin;
    http_init(&c->http, r->config);
    id_map_add(&r->clients, id, c);
    if (!admin && r->client_count >= config_http(r->config)->connections_max)
        client_make_place(r);
    if (!admin && r->client_count >= config_http(r->config)->connections_max) {
        client_turn_away(c);
        return;
    }
    c->counted = !admin;
    r->client_count += c->counted;
    timer_start(&c->timer, &r->mute, r->now);
}

void client_destroy(struct client *c)
{
    struct router *r = c->router;
    if (c->call != NULL)
        call_end(c->call);
    if (c->in_output)
        client_output_remove(c);
    if (c->in_resume)
        LIST_REMOVE(c, resume);
    timer_stop(&c->timer);
    timer_stop(&c->unread);
    r->client_count -= c->counted;
    router_account(r, &c->accounted, 0);
    id_map_remove(&r->clients, c->id);
    http_deinit(&c->http);
    client_give_back_buffer(r, &c->out);
    client_drop_rest(c);
    buffer_deinit(&c->backlog);
    free(c);
}

void client_close(struct router *r, uint64_t id)
{
    struct client *c = id_map_find(&r->clients, id);
    if (c != NULL)
        client_destroy(c);
}

/* ---- refusals ---- */

/* Reads and drops the rest of a refused body. Why: TCP resets a connection that is closed with
 * unread bytes, and the client would lose the answer. */
static void client_drain(struct client *c, uint64_t bytes)
{
    c->draining = true;
    c->drain_left = bytes;
    timer_start(&c->timer, &c->router->arriving, c->router->now);
    if (bytes == 0)
        client_start_closing(c);
}

static uint64_t client_body_left(const struct client *c, size_t received)
{
    const struct http *h = &c->http;
    uint64_t announced = http_body_announced(h);
    if (h->head.expects_continue)
        return 0; /* the client waits for 100 Continue */
    if (announced == 0)
        return h->body_max; /* chunked: the length is not known; assume the largest body */
    return announced > received ? announced - received : 0;
}

/* `rest`: bytes that were received after the refused bytes. */
static void client_refuse(struct client *c, size_t rest)
{
    const struct config *config = c->router->config;
    switch (c->http.refusal) {
    case HTTP_REFUSAL_BODY:
        fault_set(&c->router->fault, FAULT_TOO_LARGE,
                  "The body is larger than %lld bytes (http_body_max_bytes)",
                  (long long)config_http(config)->http_body_max_bytes);
        break;
    case HTTP_REFUSAL_HEADERS:
        fault_set(&c->router->fault, FAULT_HEADERS_TOO_LARGE,
                  "The head of the request is longer than %lld bytes (http_header_max_bytes)",
                  (long long)config_http(config)->http_header_max_bytes);
        break;
    case HTTP_REFUSAL_TARGET:
        fault_set(&c->router->fault, FAULT_TARGET_TOO_LONG, "The path is longer than %d bytes",
                  HTTP_PATH_MAX - 1);
        break;
    case HTTP_REFUSAL_CODING:
        fault_set(&c->router->fault, FAULT_NOT_IMPLEMENTED,
                  "The only transfer coding of weir is Transfer-Encoding: chunked");
        break;
    default:
        fault_set(&c->router->fault, FAULT_MALFORMED_HTTP, "This is not an HTTP/1.1 request%s%s",
                  c->http.head.why != NULL ? ": " : "",
                  c->http.head.why != NULL ? c->http.head.why : "");
    }
    uint64_t left = c->http.refusal == HTTP_REFUSAL_BODY ? client_body_left(c, rest) : 0;
    http_drop_head(&c->http);
    c->http.head.keep_alive = false;
    c->draining = true; /* the answer must not close the connection yet */
    endpoints_answer_fault(c->router, c, "application/x-amz-json-1.0");
    client_drain(c, left);
}

/* ---- input ---- */

static void client_headers_came(struct client *c)
{
    struct router *r = c->router;
    uint64_t announced = http_body_announced(&c->http);
    c->over_budget = !client_make_room(r, announced);
    if (c->over_budget)
        c->http.discarding = true;
    if (c->http.head.expects_continue && !c->http.head.http_1_0)
        buffer_append_text(client_output(c), "HTTP/1.1 100 Continue\r\n\r\n");
}

static void client_request_came(struct client *c)
{
    struct router *r = c->router;
    timer_stop(&c->timer);
    if (c->over_budget) {
        c->over_budget = false;
        router_refuse_memory(r);
        endpoints_answer_fault(r, c, "application/x-amz-json-1.0");
        return;
    }
    endpoints_serve(r, c);
}

static void client_check_budget(struct client *c)
{
    client_account(c);
    if (c->http.in_request && !c->over_budget && !client_make_room(c->router, 0))
        client_drop_body(c);
}

/* The client must read answers before its next request begins. */
static bool client_is_blocked(const struct client *c)
{
    return c->out.size + c->rest_left + c->unsent > UNSENT_MAX && !c->http.in_request;
}

/* Returns how many bytes were taken. Stops early if a call began, or the client is blocked or
 * closing. */
static size_t client_feed(struct client *c, struct slice bytes)
{
    size_t at = 0;
    c->feeding = true;
    while ((at < bytes.size || c->http.due) && c->call == NULL && !c->closing && !c->draining &&
           !client_is_blocked(c)) {
        size_t taken;
        enum http_event event =
            http_receive(&c->http, slice_make(bytes.data + at, bytes.size - at), &taken);
        at += taken;
        if (event == HTTP_EVENT_HEADERS) {
            client_headers_came(c);
        } else if (event == HTTP_EVENT_REQUEST) {
            client_request_came(c);
            http_drop_body(&c->http); /* parsed: the bytes are not needed any more */
            call_reap(c->router, false);
        } else if (event == HTTP_EVENT_REFUSED) {
            client_refuse(c, bytes.size - at);
            at = bytes.size;
        }
    }
    c->feeding = false;
    client_check_budget(c);
    return at;
}

/* While the client has no call: times the arrival of a request, or the idle time between two. */
static void client_watch(struct client *c)
{
    struct router *r = c->router;
    if (c->call != NULL || c->closing || c->draining)
        return;
    struct timer_queue *q = c->http.in_request ? &r->arriving : &r->idle;
    if (c->timer.queue != q)
        timer_start(&c->timer, q, r->now);
}

static void client_drop_drained(struct client *c, size_t size)
{
    c->drain_left -= MIN(size, c->drain_left);
    if (c->drain_left == 0 && !c->closing)
        client_start_closing(c);
}

static void client_keep_backlog(struct client *c, struct slice bytes)
{
    struct router *r = c->router;
    if (bytes.size == 0)
        return;
    if (c->backlog_at > 0 && c->backlog_at * 2 > c->backlog.size) {
        c->backlog.size -= c->backlog_at;
        memmove(c->backlog.data, c->backlog.data + c->backlog_at, c->backlog.size);
        c->backlog_at = 0;
    }
    size_t waiting = c->backlog.size - c->backlog_at;
    size_t most = (size_t)(config_http(r->config)->http_header_max_bytes +
                           config_http(r->config)->http_body_max_bytes);
    bool full = waiting > 0 && waiting + bytes.size > most;
    if (full || !client_make_room(r, bytes.size)) {
        /* The client sends requests without reading answers: only a close stops it. */
        client_start_closing(c);
        return;
    }
    buffer_append_slice(&c->backlog, bytes);
    client_account(c);
}

void client_receive(struct router *r, uint64_t id, struct slice bytes)
{
    struct client *c = id_map_find(&r->clients, id);
    if (c == NULL || c->closing)
        return;
    if (c->draining) {
        client_drop_drained(c, bytes.size);
        return;
    }
    size_t taken = 0;
    if (c->call == NULL && c->backlog.size == 0)
        taken = client_feed(c, bytes);
    if (!c->closing && !c->draining)
        client_keep_backlog(c, slice_make(bytes.data + taken, bytes.size - taken));
    client_watch(c);
}

static void client_resume(struct client *c)
{
    size_t size = c->backlog.size - c->backlog_at;
    if (size > 0 && c->call == NULL && !c->closing)
        c->backlog_at += client_feed(c, slice_make(c->backlog.data + c->backlog_at, size));
    if (c->backlog_at == c->backlog.size) {
        if (c->backlog.capacity > 0)
            buffer_deinit(&c->backlog);
        c->backlog_at = 0;
        client_account(c);
    }
    client_watch(c);
}

/* Closes a client that sends nothing more, once all its requests are answered. */
static void client_close_if_ended(struct client *c)
{
    if (c->ended && c->call == NULL && c->backlog.size == 0 && !c->closing)
        client_start_closing(c);
}

void client_end(struct router *r, uint64_t id)
{
    struct client *c = id_map_find(&r->clients, id);
    if (c == NULL)
        return;
    c->ended = true;
    client_close_if_ended(c);
}

bool client_unsent(struct router *r, uint64_t id, size_t bytes)
{
    struct client *c = id_map_find(&r->clients, id);
    if (c == NULL || c->aborting)
        return false;
    const bool taken = bytes < c->unsent;
    c->unsent = bytes;
    client_account(c);
    if (bytes <= ROUTER_UNSENT_MIN)
        timer_stop(&c->unread);
    else if (taken || c->unread.queue == NULL)
        timer_start(&c->unread, &r->unread, r->now);
    if (c->close_requested && bytes == 0) {
        client_destroy(c);
        return false;
    }
    if (c->rest.count > 0 && bytes <= UNSENT_MAX)
        client_output_add(c);
    const bool waits = c->backlog.size > c->backlog_at && c->call == NULL && !c->closing;
    if (!waits || client_is_blocked(c))
        return c->in_output;
    client_resume(c);
    client_close_if_ended(c);
    return true;
}

void client_resume_all(struct router *r)
{
    struct client *c;
    while ((c = LIST_FIRST(&r->resume)) != NULL) {
        LIST_REMOVE(c, resume);
        c->in_resume = false;
        client_resume(c);
        client_close_if_ended(c);
    }
}

static struct http_answer client_head_of(struct client *c, int status, size_t body_size)
{
    struct router *r = c->router;
    const struct http_head *head = &c->http.head;
    return (struct http_answer){
        .status = status,
        .date = router_date(r),
        .origin = head->once & HTTP_ONCE_ORIGIN ? cors_allowed(r, c) : slice_make(NULL, 0),
        .preflight = head->method == HTTP_OPTIONS,
        .coding = http_packs(body_size) ? http_accepted_coding(head) : CODING_IDENTITY,
        .keep_alive = head->keep_alive,
        .http_1_0 = head->http_1_0,
        .head_only = head->method == HTTP_HEAD};
}

static void client_answered(struct client *c)
{
    if (!c->http.head.keep_alive && !c->draining)
        client_start_closing(c);
    if (!c->feeding && !c->in_resume) {
        c->in_resume = true;
        LIST_INSERT_HEAD(&c->router->resume, c, resume);
    }
}

void client_answer(struct client *c, int status, const char *type, struct slice body,
                   const char *request_id, const struct http_throttle *throttle, struct slice lines)
{
    if (c->aborting)
        return;
    struct http_answer answer = client_head_of(c, status, body.size);
    answer.type = type;
    answer.body = body;
    answer.request_id = request_id;
    answer.throttle = throttle;
    answer.lines = lines;
    http_write_answer(client_output(c), &answer);
    client_answered(c);
}

static void client_take_parts(struct client *c, struct parts *parts)
{
    c->rest_left += parts->size;
    for (uint32_t i = 0; i < parts->count; i++)
        parts_add(&c->rest, &parts->at[i]);
    parts_deinit(parts);
    client_account(c);
}

void client_answer_parts(struct client *c, int status, const char *type, struct parts *parts,
                         struct buffer *body, const char *request_id,
                         const struct http_throttle *throttle, struct slice lines)
{
    const size_t size = parts->size + body->size;
    const bool small = size < REST_MIN;
    if (c->aborting)
        return;
    if (small || (http_packs(size) && http_accepted_coding(&c->http.head) != CODING_IDENTITY)) {
        client_answer(c, status, type, buffer_slice(body), request_id, throttle, lines);
        return;
    }
    struct http_answer answer = client_head_of(c, status, size);
    parts_add(parts, body);
    answer.type = type;
    answer.parts = parts;
    answer.request_id = request_id;
    answer.throttle = throttle;
    answer.lines = lines;
    http_write_answer(client_output(c), &answer);
    client_take_parts(c, parts);
    client_answered(c);
}

void client_unread(struct router *r, struct client *c)
{
    r->counters.unread_closed++;
    client_abort(c);
}

void client_expire(struct router *r, struct client *c)
{
    if (!c->draining && c->http.in_request) {
        c->http.head.keep_alive = false;
        fault_set(&r->fault, FAULT_TIMEOUT,
                  "The request did not arrive completely within %lld ms (http_request_ms)",
                  (long long)config_http(r->config)->http_request_ms);
        endpoints_answer_fault(r, c, "application/x-amz-json-1.0");
    }
    client_start_closing(c);
}
