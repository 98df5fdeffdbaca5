/* endpoints.h - one table of endpoints: method, path, target, and the function that serves them.
 *
 * The public listener serves DynamoDB at /, and those pages below /weir/ that change nothing. Pages
 * that change the cluster are served by the admin listener alone. */
#ifndef WEIR_ROUTER_ENDPOINTS_H
#define WEIR_ROUTER_ENDPOINTS_H

#include "router/api_error.h"
#include "router/http/http.h"

struct client;
struct operation;
struct router;
struct service;

struct endpoint {
    llhttp_method_t method; /* GET: HEAD too */
    const char *path;
    const struct service
        *service;     /* X-Amz-Target begins with its target; NULL: it may say anything */
    uint32_t types;   /* bits 1 << enum http_content_type that a body may have; 0: any */
    bool public_only; /* not on the admin listener */
    bool changes;     /* the cluster */
    void (*serve)(struct router *r, struct client *c, const struct endpoint *e);
    const struct operation *operation; /* for `serve` */
    const char *shown;                 /* the path in the list of pages; NULL: it is not listed */
    const char *about;
};

/* A whole request has come. */
void endpoints_serve(struct router *r, struct client *c);

/* An answer with an id of its own. */
void endpoints_answer(struct router *r, struct client *c, int status, const char *type,
                      struct slice body);
/* The answer that says `r->fault`. */
void endpoints_answer_fault(struct router *r, struct client *c, const char *type);
/* Sets the fault and answers; false. */
bool endpoints_refuse(struct router *r, struct client *c, enum fault_kind kind, const char *text);
/* The Content-Type of the answer to the client's request. */
const char *endpoints_answer_type(const struct client *c);

#endif
