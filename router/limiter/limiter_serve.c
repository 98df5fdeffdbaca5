/* limiter_serve.c - requests below /limiter/v1: bodies and queries, and what no endpoint takes. */
#include "router/core/client.h"
#include "router/core/serve.h"
#include "router/limiter/limiter_error.h"
#include "router/limiter/limiter_operations.h"

static const char JSON[] = "application/json";

void limiter_serve_body(struct router *r, struct client *c, const struct endpoint *e)
{
    struct json_value root = {0};
    if (!serve_parse(r, c, &root))
        return;
    r->counters.requests++;
    struct call *call = call_create(r, c, e->operation);
    call->content_type = JSON;
    call_begin(call, &root);
}

void limiter_serve_query(struct router *r, struct client *c, const struct endpoint *e)
{
    r->counters.requests++;
    struct call *call = call_create(r, c, e->operation);
    call->content_type = JSON;
    call_begin(call, NULL);
}

void limiter_answer_nothing_there(struct router *r, struct client *c, struct slice methods)
{
    const bool typed = c->http.body.size > 0 && c->http.head.type != HTTP_TYPE_JSON;
    struct buffer body = {0}, lines = {0};
    char id[HTTP_REQUEST_ID_SIZE];
    int status = 404;
    if (methods.size == 0) {
        fault_set(&r->fault, FAULT_UNKNOWN_OPERATION,
                  "There is nothing at this path; docs/limiter-api.yaml has all paths");
    } else if (typed && memmem(methods.data, methods.size, "P", 1) != NULL) {
        status = 415;
        fault_set(&r->fault, FAULT_SERIALIZATION,
                  "The request needs Content-Type: application/json");
    } else {
        status = 405;
        fault_set(&r->fault, FAULT_NOT_IMPLEMENTED, "This path takes %.*s", SHOWN(methods));
        buffer_append_format(&lines, "\r\nAllow: %.*s", TEXT_OF(methods));
    }
    limiter_error_write(&body, &r->fault);
    router_make_id(r, id);
    client_answer(c, status, JSON, buffer_slice(&body), id, NULL, buffer_slice(&lines));
    buffer_deinit(&body);
    buffer_deinit(&lines);
}
