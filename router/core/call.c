/* call.c - the life of an API request. */
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/catalog/key_text.h"
#include "engine/message/request_traits.h"
#include "router/core/answer_record.h"
#include "router/core/input_parse.h"
#include "router/core/item_placement.h"
#include "router/core/operation.h"
#include "router/core/request_metrics.h"

/* ---- memory ---- */

static struct call *call_make(struct router *r, const struct operation *operation)
{
    struct call *c = r->spare_calls;
    if (c != NULL) {
        r->spare_calls = c->next;
        r->spare_call_count--;
    } else {
        c = must_calloc(1, sizeof *c);
        c->router = r;
    }
    c->operation = operation;
    c->begun = r->now;
    c->number = router_make_id(r, c->request_id);
    return c;
}

struct call *call_create(struct router *r, struct client *client, const struct operation *operation)
{
    must(client->call == NULL); /* CLIENT-1 */
    struct call *c = call_make(r, operation);
    c->client = client;
    client->call = c;
    return c;
}

struct call *call_create_own(struct router *r, const struct operation *operation)
{
    struct call *c = call_make(r, operation);
    c->own = true;
    return c;
}

void call_destroy(struct call *c)
{
    arena_deinit(&c->arena);
    buffer_deinit(&c->bytes);
    buffer_deinit(&c->body);
    parts_deinit(&c->parts);
    free(c);
}

uint64_t call_bytes_number(struct call *c)
{
    if (c->bytes_number == 0)
        c->bytes_number = XXH3_64bits_withSeed(c->bytes.data, c->bytes.size, c->router->hash_seed);
    return c->bytes_number;
}

static void call_keep_buffer(struct buffer *b)
{
    if (b->capacity > KEPT_BUFFER_MAX)
        buffer_deinit(b);
    buffer_clear(b);
}

static void call_recycle(struct router *r, struct call *c)
{
    must(c->accounted == 0); /* CORE-1 */
    if (r->spare_call_count == SPARE_CALLS) {
        call_destroy(c);
        return;
    }
    call_keep_buffer(&c->bytes);
    call_keep_buffer(&c->body);
    parts_deinit(&c->parts);
    arena_reset(&c->arena);
    *c = (struct call){
        .router = r, .arena = c->arena, .bytes = c->bytes, .body = c->body, .next = r->spare_calls};
    r->spare_calls = c;
    r->spare_call_count++;
}

void call_reap(struct router *r, bool all)
{
    struct call **at = &r->finished;
    while (*at != NULL) {
        struct call *c = *at;
        if (!all && c->subrequests != NULL) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        call_recycle(r, c);
    }
}

void call_account(struct call *c)
{
    const size_t text = c->input_parse != NULL ? c->input_parse->held : 0;
    if (!c->ended)
        router_account(c->router, &c->accounted,
                       text + c->arena.used_bytes + c->bytes.capacity + c->body.capacity +
                           c->parts.size);
}

/* ---- life ---- */

void call_end(struct call *c)
{
    struct router *r = c->router;
    must(!c->ended);
    c->ended = true;
    for (struct subrequest *s = c->subrequests; s != NULL; s = s->next_of_call)
        subrequest_cancel(r, s);
    for (struct route_waiter *w = c->waiters; w != NULL; w = w->next_of_call)
        route_cancel(w);
    for (struct route_use *u = c->routes; u != NULL; u = u->next)
        route_release(u->route);
    c->routes = NULL;
    if (c->rests)
        TAILQ_REMOVE(&r->resting, c, resting);
    c->rests = false;
    input_parse_end(c);
    if (c->operation->end != NULL)
        c->operation->end(c);
    if (c->client != NULL)
        c->client->call = NULL;
    c->client = NULL;
    router_account(r, &c->accounted, 0);
    c->next = r->finished;
    r->finished = c;
}

/* Whether it is a request for a table's data that was started. */
static bool call_part_was_sent(const struct subrequest *s)
{
    return s->route != NULL && traits_of(&s->request)->data &&
           s->request.op != REQUEST_INDEX_SHOWS && (s->state != SUBREQUEST_IDLE || s->end.replied);
}

bool router_answer_next(struct router_answer *a, struct router_part *out)
{
    const struct subrequest *s = a->parts;
    while (s != NULL && !call_part_was_sent(s))
        s = s->next_of_call;
    a->parts = s != NULL ? s->next_of_call : NULL;
    if (s == NULL)
        return false;
    const struct request *original = placement_original(s);
    *out = (struct router_part){.op = original->op,
                                .table = &s->route->table,
                                .key = request_key(original),
                                .consistent = request_is_consistent(original),
                                .replied = s->end.replied,
                                .code = s->end.code,
                                .consumed_mcu = s->end.consumed_mcu,
                                .item_bytes = s->end.replied ? s->end.item_bytes : -1,
                                .scanned = s->end.scanned};
    return true;
}

/* The fault is NULL if the call was done. */
static void call_report(const struct call *c, int status, const struct fault *f)
{
    const struct router *r = c->router;
    struct router_answer a = {.connection = c->client != NULL ? c->client->id : 0,
                              .request_id = c->request_id,
                              .operation = c->operation->name,
                              .http_status = status,
                              .error = f != NULL ? fault_type(f->kind) : "",
                              .duration = instant_since(r->now, c->begun)};
    if (f != NULL) {
        a.text = buffer_slice(&f->text);
        a.more = buffer_slice(&f->more);
    }
    if (c->routes != NULL)
        a.table = c->routes->route->table.name;
    const struct subrequest *s = c->subrequests;
    while (s != NULL && s->route == NULL)
        s = s->next_of_call;
    struct buffer key = {0};
    if (s != NULL) { /* partition and key are of this table */
        a.table = s->route->table.name;
        a.partition = s->request.partition;
        key_text_append(&key, &s->route->table, request_key(placement_original(s)));
    }
    a.key = buffer_slice(&key);
    a.consumed_mcu = c->consumed_mcu;
    a.parts = c->subrequests;
    r->options.answered(r->options.answered_context, &a);
    buffer_deinit(&key);
}

/* Ends the call and answers with its body. The fault is NULL if the call was done. */
static void call_answer(struct call *c, int status, const struct fault *f)
{
    struct client *client = c->client;
    if (c->router->options.answered != NULL && !c->own)
        call_report(c, status, f);
    request_metrics_note_answer(c, f);
    if (answer_record_is_due(c, f))
        answer_record_add(c, status, f);
    call_end(c);
    if (client != NULL)
        client_answer_parts(client, status, c->content_type, &c->parts, &c->body, c->request_id,
                            c->throttle.by != NULL ? &c->throttle : NULL, c->lines);
}

void call_fail(struct call *c)
{
    struct fault *f = call_fault(c);
    must(f->kind != FAULT_NONE);
    if (f->kind == FAULT_THROUGHPUT || f->kind == FAULT_THROTTLING)
        c->router->counters.throttled++;
    buffer_clear(&c->body);
    parts_deinit(&c->parts);
    int status = fault_status(f->kind);
    if (c->operation->fail != NULL)
        status = c->operation->fail(c, f);
    else
        fault_write(&c->body, f);
    call_answer(c, status, f);
}

/* A request of the call may have changed something: the answer must not be thrown away. */
static bool call_may_have_written(const struct call *c)
{
    for (const struct subrequest *s = c->subrequests; s != NULL; s = s->next_of_call) {
        if (traits_of(&s->request)->changes)
            return true;
    }
    return false;
}

/* False: the call has failed. */
static bool call_step(struct call *c)
{
    if (!client_make_room(c->router, 0) && !call_may_have_written(c))
        return router_refuse_memory(c->router);
    if (!c->ready) {
        if (c->operation->ready != NULL && !c->operation->ready(c))
            return false;
        c->ready = c->routes_pending == 0 && !c->rests;
        return true;
    }
    if (c->operation->finish != NULL && !c->operation->finish(c))
        return false;
    call_account(c);
    if (c->outstanding == 0 && c->routes_pending == 0 && !c->rests)
        call_answer(c, c->status != 0 ? c->status : 200, NULL);
    return true;
}

void call_advance(struct call *c)
{
    while (!c->ended && !c->rests && c->outstanding == 0 && c->routes_pending == 0) {
        if (!call_step(c)) {
            call_fail(c);
            return;
        }
    }
}

/* What follows is written behind the last byte, which tells whether a comma is due. */
static void call_cut_body(struct call *c)
{
    struct buffer rest = {0};
    if (c->body.size < CALL_TURN_JSON)
        return;
    buffer_append_u8(&rest, c->body.data[--c->body.size]);
    parts_add(&c->parts, &c->body);
    c->body = rest;
}

void call_rest(struct call *c)
{
    must(!c->rests && !c->ended);
    call_cut_body(c);
    c->rests = true;
    TAILQ_INSERT_TAIL(&c->router->resting, c, resting);
}

void call_go_on(struct router *r)
{
    struct call *c = TAILQ_FIRST(&r->resting);
    if (c == NULL)
        return;
    TAILQ_REMOVE(&r->resting, c, resting);
    c->rests = false;
    if (c->input_parse != NULL)
        input_parse_go_on(c);
    else if (!c->ready && !call_step(c)) /* some requests were sent, others were not */
        call_fail(c);
    else
        call_advance(c);
}

void call_begin(struct call *c, const struct json_value members[])
{
    call_fault(c)->operation = c->operation->name;
    if (!c->operation->begin(c, members)) {
        call_fail(c);
        return;
    }
    if (!c->rests)
        input_parse_end(c);
    call_account(c);
    call_advance(c);
}

/* ---- tables ---- */

struct route *call_hold_route(struct call *c, struct route *route)
{
    struct route_use *u = arena_alloc(&c->arena, sizeof *u);
    *u = (struct route_use){route, c->routes};
    c->routes = u;
    route->uses++;
    return route;
}

void call_require_table(struct call *c, struct slice name, struct route **out)
{
    call_find_table(c, name, out, NULL);
}

void call_find_table(struct call *c, struct slice name, struct route **out, bool *absent)
{
    struct route_waiter *w = arena_zalloc(&c->arena, sizeof *w);
    w->call = c;
    w->out = out;
    w->absent = absent;
    w->next_of_call = c->waiters;
    c->waiters = w;
    *out = NULL;
    struct route *route = route_acquire(c->router, name, false, w);
    if (route != NULL) {
        *out = call_hold_route(c, route);
        route_release(route);
        return;
    }
    c->routes_pending++;
}

void call_route_refused(struct call *c, const struct reply *refusal)
{
    static const struct subrequest TABLE_GET = {.request = {.op = REQUEST_TABLE_GET}};
    if (c->operation->of_streams && refusal->code == REPLY_TABLE_NOT_FOUND)
        call_stream_missing(c);
    else
        call_refuse(c, &TABLE_GET, refusal);
    call_fail(c);
}

/* ---- requests ---- */

struct subrequest *call_request(struct call *c, struct route *route, enum request_op op)
{
    struct subrequest *s = arena_zalloc(&c->arena, sizeof *s);
    s->call = c;
    s->request.op = op;
    s->route = route;
    s->node = route == NULL ? c->router->catalog_node : 0;
    s->next_of_call = c->subrequests;
    c->subrequests = s;
    return s;
}
