/* api.c - from a whole HTTP request to an operation: the checks the service makes before any
 * operation's own, in its order. */
#include <stdio.h>
#include <string.h>

#include "router/core.h"
#include "router/gzip.h"
#include "router/operation.h"
#include "router/shape.h"

static const char AMZ_JSON[] = "application/x-amz-json-1.0";
static const char TARGET_PREFIX[] = "DynamoDB_20120810.";

static void answer(struct router *r, struct client *c, int status, const char *type,
                   struct slice body)
{
    char id[REQUEST_ID_SIZE];
    request_id_make(&r->prng, id);
    client_answer(c, status, type, body, id, NULL);
}

void api_answer_fault(struct router *r, struct client *c, const char *type)
{
    buffer_clear(&r->scratch);
    fault_write(&r->scratch, &r->fault);
    answer(r, c, fault_status(r->fault.kind), type, buffer_slice(&r->scratch));
}

static bool refuse(struct router *r, struct client *c, enum fault_kind kind, const char *text)
{
    fault_set(&r->fault, kind, "%s", text);
    api_answer_fault(r, c, c->http.head.type == HTTP_TYPE_JSON ? "application/json" : AMZ_JSON);
    return false;
}

/* ---- what is not the API ---- */

static void answer_not_found(struct router *r, struct client *c)
{
    answer(r, c, 404, "text/xml", slice_of("<UnknownOperationException/>\n"));
}

#define PAGES                                                                                    \
    "GET  /                        whether the server is healthy\n"                              \
    "POST /                        DynamoDB's operations\n"                                      \
    "GET  /weir/partitions         what each partition consumed, and refused why; ?table=NAME\n" \
    "GET  /weir/gac                what this router holds of tables' limits\n"                   \
    "GET  /weir/events             what the controller has decided, and why; ?after=NUMBER\n"    \
    "POST /weir/split              admin listener: cuts a partition\n"                           \
    "POST /weir/drain?node=NUMBER  admin listener: empties a node; &undo=1 takes it back\n"

static void answer_no_path(struct router *r, struct client *c)
{
    answer(r, c, 404, "text/plain", slice_of("There is nothing at this path. There is:\n\n" PAGES));
}

static bool is_page_list(const struct client *c, struct slice path)
{
    bool get = c->http.head.method == HTTP_GET || c->http.head.method == HTTP_HEAD;
    return get && (slice_is(path, "/weir") || slice_is(path, "/weir/"));
}

static void answer_page_list(struct router *r, struct client *c)
{
    answer(r, c, 200, "text/plain", slice_of(PAGES));
}

static void answer_health(struct router *r, struct client *c)
{
    buffer_clear(&r->scratch);
    buffer_append_text(&r->scratch, "healthy: ");
    buffer_append_text(&r->scratch, c->http.head.host);
    answer(r, c, 200, "text/plain", buffer_slice(&r->scratch));
}

/* What stands at paths of its own. What changes something stands on the admin listener alone. */
struct endpoint {
    llhttp_method_t method;
    const char *path;
    const struct operation *operation;
    bool changes;
    bool takes_body; /* JSON; else the query string says all */
};

static struct slice path_of(const struct client *c)
{
    return slice_make(c->http.head.path, strcspn(c->http.head.path, "?"));
}

static const struct endpoint *find_endpoint(const struct client *c)
{
    static const struct endpoint ALL[] = {
        {HTTP_GET, "/weir/partitions", &operation_partitions, false, false},
        {HTTP_GET, "/weir/gac", &operation_gac, false, false},
        {HTTP_GET, "/weir/events", &operation_events, false, false},
        {HTTP_POST, "/weir/drain", &operation_drain, true, false},
        {HTTP_POST, "/weir/split", &operation_split, true, true},
    };
    llhttp_method_t method = c->http.head.method == HTTP_HEAD ? HTTP_GET : c->http.head.method;
    for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++) {
        if (ALL[i].method == method && slice_is(path_of(c), ALL[i].path))
            return &ALL[i];
    }
    return NULL;
}

/* ---- the API ---- */

enum {
    UNPACKED_FREE = 1 << 20, /* any body may unpack to so much: the largest item, say */
    UNPACKED_RATIO_MAX = 64, /* and a larger one to so many times its size: JSON has about 10 */
};

static size_t unpacked_max(const struct router *r, size_t packed)
{
    size_t by_ratio = packed * UNPACKED_RATIO_MAX;
    size_t most = by_ratio > UNPACKED_FREE ? by_ratio : UNPACKED_FREE;
    size_t body_max = (size_t)r->config->http_body_max_bytes;
    return most < body_max ? most : body_max;
}

/* A small body may unpack to a large one, which counts as held from here on. */
static bool unpack_body(struct router *r, struct client *c)
{
    const struct http_head *head = &c->http.head;
    size_t most = unpacked_max(r, c->http.body.size);
    switch (coding_unpack(&r->scratch, head->body_coding, c->http.body, most)) {
    case STATUS_OK:
        break;
    case STATUS_TOO_LARGE:
        return refuse(r, c, FAULT_TOO_LARGE,
                      most < (size_t)r->config->http_body_max_bytes
                          ? "The body unpacks to more than 1 MiB and 64 times its size"
                          : "The body unpacks to more than http_body_max_bytes");
    default:
        return refuse(r, c, FAULT_SERIALIZATION,
                      head->body_coding == CODING_GZIP ? "The body is not gzip"
                                                       : "The body is not deflate (zlib)");
    }
    router_account(r, &r->scratch_accounted, r->scratch.capacity);
    if (client_make_room(r, 0))
        return true;
    r->counters.refused_memory++;
    return refuse(r, c, FAULT_UNAVAILABLE,
                  "The unpacked body does not fit in the router's memory budget "
                  "(http_memory_max_bytes); please try again");
}

/* The body, unpacked and padded, in the scratch buffer. */
static bool take_body(struct router *r, struct client *c)
{
    const struct http_head *head = &c->http.head;
    buffer_clear(&r->scratch);
    if (head->unknown_coding)
        return refuse(r, c, FAULT_SERIALIZATION,
                      "Content-Encoding must be gzip, deflate or identity");
    if (head->body_coding == CODING_IDENTITY)
        buffer_append_slice(&r->scratch, c->http.body);
    else if (!unpack_body(r, c))
        return false;
    memset(buffer_reserve(&r->scratch, JSON_PADDING), 0, JSON_PADDING);
    return true;
}

/* What is read is done with: a large body's memory is not kept. */
static void drop_body(struct router *r)
{
    if (r->scratch.capacity > (1 << 20))
        buffer_deinit(&r->scratch);
    router_account(r, &r->scratch_accounted, 0);
}

static bool refuse_operation(struct router *r, struct client *c, struct slice name)
{
    if (!operation_is_later(name))
        return refuse(r, c, FAULT_UNKNOWN_OPERATION, "");
    char text[HTTP_TARGET_MAX + 40];
    snprintf(text, sizeof text, "%.*s is not supported by weir yet", SHOWN(name));
    return refuse(r, c, FAULT_UNKNOWN_OPERATION, text);
}

/* The operation X-Amz-Target names. */
static const struct operation *find_operation(struct router *r, struct client *c)
{
    const char *target = c->http.head.target;
    size_t prefix = sizeof TARGET_PREFIX - 1;
    struct slice name = slice_of(target);
    if (name.size < prefix || memcmp(target, TARGET_PREFIX, prefix) != 0) {
        refuse(r, c, FAULT_UNKNOWN_OPERATION, "");
        return NULL;
    }
    name = slice_make(target + prefix, name.size - prefix);
    const struct operation *o = operation_find(name);
    if (o == NULL)
        refuse_operation(r, c, name);
    return o;
}

/* Runs an operation on the body that take_body took. */
static void run(struct router *r, struct client *c, const struct operation *o,
                const struct json_value *root)
{
    const struct http_head *head = &c->http.head;
    r->counters.requests++;
    if (head->attempt > 1)
        r->counters.client_retries++;
    if (r->scratch.size == 0) {
        refuse(r, c, FAULT_SERIALIZATION, "");
        return;
    }
    struct json_value members[SHAPE_MEMBERS_MAX];
    struct call *call = call_create(r, c, o);
    call->content_type = head->type == HTTP_TYPE_JSON ? "application/json" : AMZ_JSON;
    if (!shape_check(o->input, root, o->name_first, members, &r->fault) ||
        !shape_refuse_later(o->input, members, &r->fault)) {
        call_fail(call);
        return;
    }
    call_begin(call, members);
}

/* `o` NULL: X-Amz-Target names it. */
static void post(struct router *r, struct client *c, const struct operation *o)
{
    struct json_value root = {0};
    if (!take_body(r, c))
        return;
    if (r->scratch.size > 0 && json_parse(r->json, buffer_slice(&r->scratch), &root) != STATUS_OK) {
        refuse(r, c, FAULT_SERIALIZATION, "");
        return;
    }
    if (o == NULL)
        o = find_operation(r, c);
    if (o != NULL)
        run(r, c, o, &root);
}

static void run_endpoint(struct router *r, struct client *c, const struct endpoint *e)
{
    if (e->takes_body) {
        post(r, c, e->operation);
        return;
    }
    struct call *call = call_create(r, c, e->operation);
    call->content_type = "application/json";
    call_begin(call, NULL);
}

/* ---- the admin listener ---- */

/* In constant time: what differs where must not show. */
static bool same_token(const char *expected, const char *given)
{
    size_t size = strlen(expected);
    unsigned difference = strlen(given) != size;
    for (size_t i = 0; i < HTTP_BEARER_MAX && i < size; i++)
        difference |= (unsigned char)expected[i] ^ (unsigned char)given[i];
    return difference == 0;
}

/* Why a request may not change anything; NULL: it may. A browser adds Origin to what a page sends,
 * and sends no application/json without leave, which is never given. */
static const char *admin_refusal(const struct router *r, const struct client *c)
{
    const struct http_head *head = &c->http.head;
    const char *token = r->options.admin_token;
    if (head->once & HTTP_ONCE_ORIGIN)
        return "The admin listener takes no requests of web pages (Origin)";
    if (token != NULL && !same_token(token, head->bearer))
        return "The admin listener needs Authorization: Bearer and the token of --admin-token";
    if (head->method != HTTP_GET && head->method != HTTP_HEAD && head->type != HTTP_TYPE_JSON)
        return "The admin listener takes Content-Type: application/json only";
    return NULL;
}

static void admin_request(struct router *r, struct client *c)
{
    const struct endpoint *e = find_endpoint(c);
    const char *why = admin_refusal(r, c);
    if (why != NULL)
        refuse(r, c, FAULT_FORBIDDEN, why);
    else if (e != NULL)
        run_endpoint(r, c, e);
    else if (is_page_list(c, path_of(c)))
        answer_page_list(r, c);
    else
        answer_no_path(r, c);
}

/* ---- the public listener ---- */

/* A browser asks what a page may send. */
static void preflight(struct router *r, struct client *c)
{
    if (cors_allowed(r, c) != NULL)
        answer(r, c, 200, "text/plain", slice_make(NULL, 0));
    else
        refuse(r, c, FAULT_FORBIDDEN,
               "Pages of this origin may not use this server (cors_origins)");
}

static bool is_root(const struct client *c)
{
    return slice_is(path_of(c), "/");
}

static void root_request(struct router *r, struct client *c)
{
    const struct http_head *head = &c->http.head;
    bool other_type = head->type == HTTP_TYPE_NONE || head->type == HTTP_TYPE_OTHER;
    if (head->method == HTTP_GET || head->method == HTTP_HEAD)
        answer_health(r, c);
    else if (head->method != HTTP_POST || (c->http.body.size > 0 && other_type))
        answer_not_found(r, c);
    else
        post(r, c, NULL);
}

static void public_request(struct router *r, struct client *c)
{
    const struct endpoint *e = find_endpoint(c);
    if (c->http.head.method == HTTP_OPTIONS && c->http.head.origin[0] != '\0')
        preflight(r, c);
    else if (e != NULL && e->changes)
        refuse(r, c, FAULT_FORBIDDEN,
               "What changes the cluster is taken by the admin listener only: by default the port "
               "600 above this one, on loopback (--admin)");
    else if (e != NULL)
        run_endpoint(r, c, e);
    else if (is_root(c))
        root_request(r, c);
    else if (is_page_list(c, path_of(c)))
        answer_page_list(r, c);
    else
        answer_no_path(r, c);
}

void api_request(struct router *r, struct client *c)
{
    if (c->admin)
        admin_request(r, c);
    else
        public_request(r, c);
    drop_body(r);
}
