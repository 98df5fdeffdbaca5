/* endpoints.c - the table of endpoints, the checks of the admin listener, and the dispatcher. */
#include "router/core/endpoints.h"

#include "router/admin/pages.h"
#include "router/core/cors.h"
#include "router/core/serve.h"
#include "router/json/json.h"
#include "router/limiter/limiter_error.h"
#include "router/limiter/limiter_operations.h"

static const char AMZ_JSON[] = "application/x-amz-json-1.0";

/* ---- answers ---- */

/* Answers with a new request id. */
static void endpoints_answer(struct router *r, struct client *c, int status, const char *type,
                             struct slice body)
{
    char id[HTTP_REQUEST_ID_SIZE];
    router_make_id(r, id);
    client_answer(c, status, type, body, id, NULL, slice_make(NULL, 0));
}

static bool is_of_limiter(const struct client *c)
{
    const struct http_head *head = &c->http.head;
    return head->path.size > 0 && /* a head that was refused at once has no text */
           slice_starts_with(http_text(head, head->path), slice_of("/limiter/"));
}

void endpoints_answer_fault(struct router *r, struct client *c, const char *type)
{
    buffer_clear(&r->scratch);
    if (is_of_limiter(c)) {
        if (r->fault.text.size == 0)
            buffer_append_text(&r->fault.text, JSON_MALFORMED_TEXT);
        limiter_error_write(&r->scratch, &r->fault);
        endpoints_answer(r, c, limiter_error_status(&r->fault), "application/json",
                         buffer_slice(&r->scratch));
        return;
    }
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

static void serve_health(struct router *r, struct client *c, UNUSED const struct endpoint *e)
{
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

/* Endpoints of the rate limiter. */
#define LIMITER_BODY(method, page, operation_, text)                                      \
    {                                                                                     \
        method, "/limiter/v1/" page, limiter_serve_body, &operation_limiter_##operation_, \
            .about = text, .types = 1 << HTTP_TYPE_JSON                                   \
    }
#define LIMITER_QUERY(method, page, operation_, text)                                      \
    {                                                                                      \
        method, "/limiter/v1/" page, limiter_serve_query, &operation_limiter_##operation_, \
            .about = text                                                                  \
    }

static const struct endpoint ALL[] = {
    {HTTP_GET, "/", serve_health, .about = "whether the server is healthy"},
    {HTTP_POST, "/", serve_body, .about = "DynamoDB's operations", .target = "DynamoDB_20120810.",
     .types = JSON_TYPES},
    {HTTP_POST, "/", serve_body, .about = "the operations of DynamoDB Streams",
     .target = TARGET_STREAMS, .types = JSON_TYPES},
    {HTTP_POST, "/", serve_body, .types = JSON_TYPES}, /* X-Amz-Target names no service */
    {HTTP_GET, "/metrics", serve_query, &operation_metrics,
     .about = "this router's counts, as Prometheus reads them"},
    {HTTP_GET, "/weir/partitions", serve_query, &operation_partitions,
     .about = "consumption and refusals of each partition; ?table=NAME"},
    {HTTP_GET, "/weir/gac", serve_query, &operation_gac,
     .about = "this router's tokens of tables' limits"},
    {HTTP_GET, "/weir/limiter", serve_query, &operation_limiter,
     .about = "this router's counters of the rate limiter, by namespace"},
    {HTTP_GET, "/weir/events", serve_query, &operation_events,
     .about = "the decisions of the controller, with reasons; ?after=NUMBER"},
    {HTTP_GET, "/weir/explain", serve_query, &operation_explain_last,
     .about = "why requests were refused or slow: the latest; ?last=N&table=NAME"},
    {HTTP_GET, "/weir/explain/", serve_query, &operation_explain_one,
     .about = "why a request was answered so", .shown = "/weir/explain/REQUEST-ID", .prefix = true},
    {HTTP_POST, "/weir/split", serve_body, &operation_split,
     .about = "admin listener: splits a partition", .changes = true},
    {HTTP_POST, "/weir/unshard", serve_body, &operation_unshard,
     .about = "admin listener: gives a hot key fewer shards", .changes = true},
    {HTTP_POST, "/weir/unsalt", serve_body, &operation_unshard, /* its path in the version before */
     .changes = true},
    {HTTP_POST, "/weir/drain", serve_query, &operation_drain,
     .about = "admin listener: empties a node; &undo=1 undoes this",
     .shown = "/weir/drain?node=NUMBER", .changes = true},
    LIMITER_BODY(HTTP_POST, "acquire", acquire, "rate limiter: takes tokens, or refuses"),
    LIMITER_QUERY(HTTP_GET, "check", check, "the same for proxies: 204 or 403"),
    LIMITER_BODY(HTTP_POST, "consume", consume, "takes more tokens under a lease"),
    LIMITER_BODY(HTTP_POST, "adjust", adjust, "corrects the tokens of a lease"),
    LIMITER_BODY(HTTP_POST, "release", release, "gives back a part of a lease"),
    LIMITER_BODY(HTTP_POST, "commit", commit, "ends a lease, and keeps its tokens"),
    LIMITER_BODY(HTTP_POST, "rollback", rollback, "ends a lease, and gives its tokens back"),
    LIMITER_QUERY(HTTP_GET, "available", available, "the tokens of a bucket"),
    LIMITER_QUERY(HTTP_GET, "time-until", time_until, "the time until it has the tokens"),
    LIMITER_QUERY(HTTP_GET, "capacity", capacity, "the limits of a bucket"),
    LIMITER_BODY(HTTP_PUT, "limits", set_limits, "sets limits"),
    LIMITER_QUERY(HTTP_GET, "limits", get_limits, "limits of a level"),
    LIMITER_QUERY(HTTP_DELETE, "limits", delete_limits, "deletes the limits of a level"),
    LIMITER_BODY(HTTP_PUT, "entities", set_entity, "sets an entity's parent"),
    LIMITER_QUERY(HTTP_GET, "entities", get_entity, "an entity's parent"),
    LIMITER_QUERY(HTTP_DELETE, "entities", delete_entity, "deletes the parent"),
    LIMITER_BODY(HTTP_POST, "reset", reset, "fills a bucket"),
    LIMITER_QUERY(HTTP_GET, "status", status, "a bucket's shards"),
    LIMITER_QUERY(HTTP_GET, "top", top, "the buckets with the most requests"),
    {HTTP_GET, "/weir", serve_list, .about = NULL},
    {HTTP_GET, "/weir/", serve_list, .about = NULL},
};

static bool endpoint_takes_type(const struct endpoint *e, const struct client *c)
{
    return e->types == 0 || c->http.body.size == 0 || (e->types >> c->http.head.type & 1) != 0;
}

static bool endpoint_takes_target(const struct endpoint *e, const struct client *c)
{
    return e->target == NULL || slice_starts_with(http_text(&c->http.head, c->http.head.amz_target),
                                                  slice_of(e->target));
}

static bool endpoint_takes_path(const struct endpoint *e, struct slice path)
{
    return e->prefix ? slice_starts_with(path, slice_of(e->path)) : slice_is(path, e->path);
}

static const struct endpoint *endpoint_find(const struct client *c)
{
    const struct http_head *head = &c->http.head;
    const llhttp_method_t method = head->method == HTTP_HEAD ? HTTP_GET : head->method;
    const struct slice path = http_text(head, head->path);
    for (size_t i = 0; i < COUNT_OF(ALL); i++) {
        const struct endpoint *e = &ALL[i];
        if (e->method == method && endpoint_takes_path(e, path) &&
            !(c->admin && strcmp(e->path, "/metrics") != 0 &&
              !slice_starts_with(path, slice_of("/weir"))) &&
            endpoint_takes_type(e, c) && endpoint_takes_target(e, c))
            return e;
    }
    return NULL;
}

/* ---- the list of pages ---- */

static void endpoints_list(struct buffer *out)
{
    for (size_t i = 0; i < COUNT_OF(ALL); i++) {
        if (ALL[i].about != NULL)
            buffer_append_format(out, "%-6s %-24s %s\n", llhttp_method_name(ALL[i].method),
                                 ALL[i].shown != NULL ? ALL[i].shown : ALL[i].path, ALL[i].about);
    }
}

static void serve_list(struct router *r, struct client *c, UNUSED const struct endpoint *e)
{
    buffer_clear(&r->scratch);
    endpoints_list(&r->scratch);
    endpoints_answer(r, c, 200, "text/plain", buffer_slice(&r->scratch));
}

static void answer_nothing_there(struct router *r, struct client *c)
{
    const struct slice path = http_text(&c->http.head, c->http.head.path);
    if (!c->admin && is_of_limiter(c)) {
        struct buffer methods = {0};
        for (size_t i = 0; i < COUNT_OF(ALL); i++) {
            if (slice_is(path, ALL[i].path))
                buffer_append_format(&methods, "%s%s", methods.size > 0 ? ", " : "",
                                     llhttp_method_name(ALL[i].method));
        }
        limiter_answer_nothing_there(r, c, buffer_slice(&methods));
        buffer_deinit(&methods);
        return;
    }
    if (!c->admin && slice_is(path, "/")) {
        endpoints_answer(r, c, 404, "text/xml", slice_of("<UnknownOperationException/>\n"));
        return;
    }
    buffer_clear(&r->scratch);
    buffer_append_text(&r->scratch, "There is nothing at this path. There is:\n\n");
    endpoints_list(&r->scratch);
    endpoints_answer(r, c, 404, "text/plain", buffer_slice(&r->scratch));
}

/* ---- the admin listener ---- */

/* Takes constant time: the time must not tell how many bytes are right. */
static bool admin_same_token(const char *expected, struct slice given)
{
    size_t size = strlen(expected);
    unsigned difference = given.size != size;
    for (size_t i = 0; i < size; i++)
        difference |= (uint8_t)expected[i] ^ (i < given.size ? given.data[i] : 0U);
    return difference == 0;
}

/* Why the admin listener refuses the request; NULL: it takes the request (docs/decisions/0015). It
 * refuses requests of web pages: a browser adds Origin to a page's POST, and asks the server before
 * a page may send application/json. The admin listener never allows this. */
static const char *admin_refusal(const struct router *r, const struct client *c)
{
    const struct http_head *head = &c->http.head;
    const char *token = r->options.admin_token;
    if (head->once & HTTP_ONCE_ORIGIN)
        return "The admin listener takes no requests of web pages (Origin)";
    if (token != NULL && !admin_same_token(token, http_bearer(head)))
        return "The admin listener needs Authorization: Bearer and the token of --admin-token";
    if (head->method != HTTP_GET && head->method != HTTP_HEAD && head->type != HTTP_TYPE_JSON)
        return "The admin listener takes Content-Type: application/json only";
    return NULL;
}

/* ---- the dispatcher ---- */

static void endpoints_dispatch(struct router *r, struct client *c)
{
    const struct http_head *head = &c->http.head;
    const char *why = c->admin ? admin_refusal(r, c) : NULL;
    if (why != NULL) {
        endpoints_refuse(r, c, FAULT_FORBIDDEN, why);
        return;
    }
    if (cors_refuse(r, c)) {
        endpoints_answer_fault(r, c, endpoints_answer_type(c));
        return;
    }
    if (!c->admin && head->method == HTTP_OPTIONS && (head->once & HTTP_ONCE_ORIGIN)) {
        endpoints_answer(r, c, 200, "text/plain", slice_make(NULL, 0)); /* a page may ask */
        return;
    }
    const struct endpoint *e = endpoint_find(c);
    if (e == NULL)
        answer_nothing_there(r, c);
    else if (e->changes && !c->admin)
        endpoints_refuse(r, c, FAULT_FORBIDDEN,
                         "Only the admin listener accepts requests that change the cluster: by "
                         "default the port 600 above this one, on loopback (--admin)");
    else
        e->serve(r, c, e);
}

/* The body in the scratch buffer is not needed any more. The memory of a large body is freed. */
static void endpoints_drop_body(struct router *r)
{
    if (r->scratch.capacity > (1 << 20))
        buffer_deinit(&r->scratch);
}

void endpoints_serve(struct router *r, struct client *c)
{
    endpoints_dispatch(r, c);
    endpoints_drop_body(r);
}
