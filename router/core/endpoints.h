/* endpoints.h - the table of endpoints: method, path, target, and the function that serves each.
 *
 * The public listener serves DynamoDB at /, and the pages below /weir/ that change nothing. The
 * admin listener serves all pages below /weir/. */
#pragma once

#include "router/http/http.h"
#include "router/json/api_error.h"

struct client;
struct operation;
struct router;

#define TARGET_STREAMS "DynamoDBStreams_20120810."

struct endpoint {
    llhttp_method_t method; /* GET: HEAD too */
    const char *path;       /* / is not on the admin listener */
    void (*serve)(struct router *r, struct client *c, const struct endpoint *e);
    const struct operation *operation; /* for `serve` */
    const char *about;                 /* in the list of pages; NULL: not listed */
    const char *shown;                 /* the path in the list of pages; NULL: `path` */
    const char *target;                /* X-Amz-Target begins so; NULL: any X-Amz-Target */
    uint32_t types; /* types that a body may have: bits 1 << enum http_content_type; 0: any */
    bool prefix;    /* any path that begins with `path` */
    bool changes;   /* changes the cluster: only on the admin listener */
};

/* A whole request of the client has come. */
void endpoints_serve(struct router *r, struct client *c);

/* Answers with r->fault. */
void endpoints_answer_fault(struct router *r, struct client *c, const char *type);
/* Sets r->fault and answers with it. Always false. */
bool endpoints_refuse(struct router *r, struct client *c, enum fault_kind kind, const char *text);
/* The Content-Type of the answer to the client's request. */
const char *endpoints_answer_type(const struct client *c);
