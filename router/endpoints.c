/* endpoints.c - the table of endpoints, and the dispatcher. */
#include "router/endpoints.h"

#include "router/admin/guard.h"
#include "router/admin/pages.h"
#include "router/cors.h"
#include "router/operations/operation.h"
#include "router/operations/serve.h"
#include "router/router_internal.h"

static const char AMZ_JSON[] = "application/x-amz-json-1.0";

/* ---- answers ---- */

void endpoints_answer(struct router *r, struct client *c, int status, const char *type,
                      struct slice body)
{
    char id[REQUEST_ID_SIZE];
    request_id_make(&r->prng, id);
    client_answer(c, status, type, body, id, NULL);
}

void endpoints_answer_fault(struct router *r, struct client *c, const char *type)
{
    buffer_clear(&r->scratch);
    fault_write(&r->scratch, &r->fault);
    endpoints_answer(r, c, fault_status(r->fault.kind), type, buffer_slice(&r->scratch));
}

const char *endpoints_answer_type(const struct client *c)
{
    return c->http.head.type == HTTP_TYPE_JSON ? "application/json" : AMZ_JSON;
}

bool endpoints_refuse(struct router *r, struct client *c, enum fault_kind kind, const char *text)
{
    fault_set(&r->fault, kind, "%s", text);
    endpoints_answer_fault(r, c, endpoints_answer_type(c));
    return false;
}

static void serve_health(struct router *r, struct client *c, const struct endpoint *e)
{
    (void)e;
    buffer_clear(&r->scratch);
    buffer_append_text(&r->scratch, "healthy: ");
    buffer_append_slice(&r->scratch, http_find(&c->http.head, "host"));
    endpoints_answer(r, c, 200, "text/plain", buffer_slice(&r->scratch));
}

static void serve_list(struct router *r, struct client *c, const struct endpoint *e);

/* ---- the table ---- */

enum {
    JSON_TYPES = 1 << HTTP_TYPE_AMZ_JSON | 1 << HTTP_TYPE_JSON
};

static const struct endpoint ALL[] = {
    {.method = HTTP_GET,
     .path = "/",
     .public_only = true,
     .serve = serve_health,
     .shown = "/",
     .about = "whether the server is healthy"},
    {.method = HTTP_POST,
     .path = "/",
     .public_only = true,
     .service = &service_dynamodb,
     .types = JSON_TYPES,
     .serve = serve_body,
     .shown = "/",
     .about = "DynamoDB's operations"},
    {.method = HTTP_POST, /* X-Amz-Target names no service */
     .path = "/",
     .public_only = true,
     .types = JSON_TYPES,
     .serve = serve_body},
    {.method = HTTP_GET,
     .path = "/weir/partitions",
     .serve = serve_query,
     .operation = &operation_partitions,
     .shown = "/weir/partitions",
     .about = "what each partition consumed, and refused why; ?table=NAME"},
    {.method = HTTP_GET,
     .path = "/weir/gac",
     .serve = serve_query,
     .operation = &operation_gac,
     .shown = "/weir/gac",
     .about = "what this router holds of tables' limits"},
    {.method = HTTP_GET,
     .path = "/weir/events",
     .serve = serve_query,
     .operation = &operation_events,
     .shown = "/weir/events",
     .about = "what the controller has decided, and why; ?after=NUMBER"},
    {.method = HTTP_POST,
     .path = "/weir/split",
     .changes = true,
     .serve = serve_body,
     .operation = &operation_split,
     .shown = "/weir/split",
     .about = "admin listener: cuts a partition"},
    {.method = HTTP_POST,
     .path = "/weir/drain",
     .changes = true,
     .serve = serve_query,
     .operation = &operation_drain,
     .shown = "/weir/drain?node=NUMBER",
     .about = "admin listener: empties a node; &undo=1 takes it back"},
    {.method = HTTP_GET, .path = "/weir", .serve = serve_list},
    {.method = HTTP_GET, .path = "/weir/", .serve = serve_list},
};

static bool endpoint_takes_type(const struct endpoint *e, const struct client *c)
{
    return e->types == 0 || c->http.body.size == 0 || (e->types >> c->http.head.type & 1) != 0;
}

static bool endpoint_takes_target(const struct endpoint *e, const struct client *c)
{
    return e->service == NULL ||
           slice_starts_with(http_text(&c->http.head, c->http.head.amz_target),
                             slice_of(e->service->target));
}

static const struct endpoint *endpoint_find(const struct client *c)
{
    const struct http_head *head = &c->http.head;
    const llhttp_method_t method = head->method == HTTP_HEAD ? HTTP_GET : head->method;
    const struct slice path = http_text(head, head->path);
    for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++) {
        const struct endpoint *e = &ALL[i];
        if (e->method == method && slice_is(path, e->path) && !(e->public_only && c->admin) &&
            endpoint_takes_type(e, c) && endpoint_takes_target(e, c))
            return e;
    }
    return NULL;
}

/* ---- the list of pages ---- */

static void endpoints_list(struct buffer *out)
{
    for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++) {
        if (ALL[i].about != NULL)
            buffer_append_format(out, "%-4s %-24s %s\n", ALL[i].method == HTTP_GET ? "GET" : "POST",
                                 ALL[i].shown, ALL[i].about);
    }
}

static void serve_list(struct router *r, struct client *c, const struct endpoint *e)
{
    (void)e;
    buffer_clear(&r->scratch);
    endpoints_list(&r->scratch);
    endpoints_answer(r, c, 200, "text/plain", buffer_slice(&r->scratch));
}

static void answer_nothing_there(struct router *r, struct client *c)
{
    if (!c->admin && slice_is(http_text(&c->http.head, c->http.head.path), "/")) {
        endpoints_answer(r, c, 404, "text/xml", slice_of("<UnknownOperationException/>\n"));
        return;
    }
    buffer_clear(&r->scratch);
    buffer_append_text(&r->scratch, "There is nothing at this path. There is:\n\n");
    endpoints_list(&r->scratch);
    endpoints_answer(r, c, 404, "text/plain", buffer_slice(&r->scratch));
}

/* ---- the dispatcher ---- */

/* A browser asks whether a page may send requests. */
static void answer_preflight(struct router *r, struct client *c)
{
    if (cors_allowed(r, c).size > 0)
        endpoints_answer(r, c, 200, "text/plain", slice_make(NULL, 0));
    else
        endpoints_refuse(r, c, FAULT_FORBIDDEN,
                         "Pages of this origin may not use this server (cors_origins)");
}

static void endpoints_dispatch(struct router *r, struct client *c)
{
    const struct http_head *head = &c->http.head;
    const char *why = c->admin ? admin_refusal(r, c) : NULL;
    if (why != NULL) {
        endpoints_refuse(r, c, FAULT_FORBIDDEN, why);
        return;
    }
    if (!c->admin && head->method == HTTP_OPTIONS && http_find(head, "origin").size > 0) {
        answer_preflight(r, c);
        return;
    }
    const struct endpoint *e = endpoint_find(c);
    if (e == NULL)
        answer_nothing_there(r, c);
    else if (e->changes && !c->admin)
        endpoints_refuse(r, c, FAULT_FORBIDDEN,
                         "What changes the cluster is taken by the admin listener only: by default "
                         "the port 600 above this one, on loopback (--admin)");
    else
        e->serve(r, c, e);
}

/* The body in the scratch buffer is not needed any more. The memory of a large body is freed. */
static void endpoints_drop_body(struct router *r)
{
    if (r->scratch.capacity > (1 << 20))
        buffer_deinit(&r->scratch);
    router_account(r, &r->scratch_accounted, 0);
}

void endpoints_serve(struct router *r, struct client *c)
{
    endpoints_dispatch(r, c);
    endpoints_drop_body(r);
}
