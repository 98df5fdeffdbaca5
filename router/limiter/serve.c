/* serve.c - requests below /limiter/v1: bodies and queries, and what no endpoint takes. */
#include "router/operations/serve.h"
#include "router/client.h"
#include "router/limiter/pages.h"
#include "router/limiter/words.h"

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

void limiter_answer_nothing_there(struct router *r, struct client *c, bool other_method)
{
    if (other_method)
        fault_set(&r->fault, FAULT_NOT_IMPLEMENTED,
                  "This path takes another method, or another Content-Type than was sent: bodies "
                  "are application/json");
    else
        fault_set(&r->fault, FAULT_UNKNOWN_OPERATION,
                  "There is nothing at this path; docs/limiter-api.yaml has all paths");
    endpoints_answer_fault(r, c, JSON);
}
