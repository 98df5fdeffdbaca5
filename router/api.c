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
    client_answer(c, status, type, body, id);
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

static void answer_health(struct router *r, struct client *c)
{
    buffer_clear(&r->scratch);
    buffer_append_text(&r->scratch, "healthy: ");
    buffer_append_text(&r->scratch, c->http.head.host);
    answer(r, c, 200, "text/plain", buffer_slice(&r->scratch));
}

/* What is asked for by a path; NULL: nothing is. */
static const struct operation *find_page(const struct client *c)
{
    static const struct {
        enum http_method method;
        const char *path;
        const struct operation *operation;
    } pages[] = {
        {HTTP_GET, "/weir/partitions", &operation_partitions},
        {HTTP_GET, "/weir/gac", &operation_gac},
        {HTTP_GET, "/weir/events", &operation_events},
        {HTTP_POST, "/weir/drain", &operation_drain},
    };
    struct slice path = slice_make(c->http.head.path, strcspn(c->http.head.path, "?"));
    enum http_method method = c->http.head.method == HTTP_HEAD ? HTTP_GET : c->http.head.method;
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        if (pages[i].method == method && slice_is(path, pages[i].path))
            return pages[i].operation;
    }
    return NULL;
}

static void get(struct router *r, struct client *c)
{
    if (strcspn(c->http.head.path, "?") == 1)
        answer_health(r, c);
    else
        answer_not_found(r, c);
}

/* ---- the API ---- */

/* The body, unpacked and padded, in the scratch buffer. */
static bool take_body(struct router *r, struct client *c)
{
    const struct http_head *head = &c->http.head;
    buffer_clear(&r->scratch);
    if (r->scratch.capacity > (1 << 20))
        buffer_deinit(&r->scratch);
    if (head->unknown_coding)
        return refuse(r, c, FAULT_SERIALIZATION, "Content-Encoding must be gzip or identity");
    if (!head->gzip_body) {
        buffer_append_slice(&r->scratch, c->http.body);
    } else {
        switch (gzip_unpack(&r->scratch, c->http.body, (size_t)r->config->http_body_max_bytes)) {
        case STATUS_OK:
            break;
        case STATUS_TOO_LARGE:
            return refuse(r, c, FAULT_TOO_LARGE,
                          "The body unpacks to more than http_body_max_bytes");
        default:
            return refuse(r, c, FAULT_SERIALIZATION, "The body is not gzip");
        }
    }
    memset(buffer_reserve(&r->scratch, JSON_PADDING), 0, JSON_PADDING);
    return true;
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

static bool asks_split(const struct http_head *head)
{
    return strcmp(head->path, "/weir/split") == 0;
}

static void post(struct router *r, struct client *c)
{
    const struct http_head *head = &c->http.head;
    struct json_value root = {0};
    const bool split = asks_split(head);
    if (!split && c->http.body.size > 0 &&
        (head->type == HTTP_TYPE_NONE || head->type == HTTP_TYPE_OTHER)) {
        answer_not_found(r, c);
        return;
    }
    if (!take_body(r, c))
        return;
    if (r->scratch.size > 0 && json_parse(r->json, buffer_slice(&r->scratch), &root) != STATUS_OK) {
        refuse(r, c, FAULT_SERIALIZATION, "");
        return;
    }
    const struct operation *o = split ? &operation_split : find_operation(r, c);
    if (o == NULL)
        return;
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
    if (!shape_check(o->input, &root, o->name_first, members, &r->fault) ||
        !shape_refuse_later(o->input, members, &r->fault)) {
        call_fail(call);
        return;
    }
    call_begin(call, members);
}

void api_request(struct router *r, struct client *c)
{
    const struct operation *page = find_page(c);
    if (page != NULL) {
        struct call *call = call_create(r, c, page);
        call->content_type = "application/json";
        call_begin(call, NULL);
        return;
    }
    switch (c->http.head.method) {
    case HTTP_POST:
        post(r, c);
        break;
    case HTTP_GET:
    case HTTP_HEAD:
        get(r, c);
        break;
    default:
        answer_not_found(r, c);
    }
}
