/* serve.c - takes a body, unpacks and parses it if it is small, and checks it against the
 * operation's input. */
#include "router/core/serve.h"

#include "router/core/input_parse.h"

enum serve_taken {
    SERVE_REFUSED, /* the client was answered */
    SERVE_SMALL,   /* a padded text in the scratch buffer */
    SERVE_LARGE    /* a struct body, to be parsed */
};

static bool serve_refuse(struct router *r, struct client *c)
{
    endpoints_answer_fault(r, c, endpoints_answer_type(c));
    return false;
}

/* A body that came in pieces has a buffer of its own, which changes places with the given one. */
static void serve_move(struct client *c, struct buffer *to)
{
    struct buffer *pieces = &c->http.pieces;
    if (pieces->size == 0) {
        buffer_append_slice(to, c->http.body);
        return;
    }
    const struct buffer before = *to;
    *to = *pieces;
    *pieces = before;
    c->http.body = slice_make(NULL, 0);
}

/* A small body may unpack to a large text: that is unpacked beside the loop. */
static enum serve_taken serve_unpack(struct router *r, struct client *c, struct body *large)
{
    const enum content_coding coding = c->http.head.body_coding;
    const size_t packed = c->http.body.size, most = body_unpacked_max(r->config, packed);
    const size_t room = most < BODY_LARGE_MIN ? most : BODY_LARGE_MIN - 1;
    const enum status status = packed >= BODY_LARGE_MIN
                                   ? STATUS_TOO_LARGE
                                   : coding_unpack(&r->scratch, coding, c->http.body, room);
    if (status == STATUS_OK)
        return SERVE_SMALL;
    if (status == STATUS_TOO_LARGE && room < most) {
        *large = (struct body){.coding = coding, .unpacked_max = most};
        serve_move(c, &large->packed);
        return SERVE_LARGE;
    }
    body_refuse(&r->fault, r->config, coding, most, status);
    serve_refuse(r, c);
    return SERVE_REFUSED;
}

static enum serve_taken serve_take(struct router *r, struct client *c, struct body *large)
{
    const struct http_head *head = &c->http.head;
    buffer_clear(&r->scratch);
    if (head->unknown_coding) {
        endpoints_refuse(r, c, FAULT_SERIALIZATION,
                         "Content-Encoding must be gzip, deflate or identity");
        return SERVE_REFUSED;
    }
    if (head->body_coding != CODING_IDENTITY) {
        const enum serve_taken taken = serve_unpack(r, c, large);
        body_pad(&r->scratch);
        return taken;
    }
    const bool is_large = c->http.body.size >= BODY_LARGE_MIN;
    *large = (struct body){0};
    serve_move(c, is_large ? &large->text : &r->scratch);
    body_pad(is_large ? &large->text : &r->scratch);
    return is_large ? SERVE_LARGE : SERVE_SMALL;
}

/* The operation that X-Amz-Target names. */
static bool serve_find(struct router *r, struct client *c, const char *target,
                       const struct operation **out)
{
    const struct http_head *head = &c->http.head;
    struct slice name = http_text(head, head->amz_target);
    if (target == NULL)
        return endpoints_refuse(r, c, FAULT_UNKNOWN_OPERATION, "");
    const size_t prefix = strlen(target);
    name = slice_make(name.data + prefix, name.size - prefix);
    *out = operation_find(name, strcmp(target, TARGET_STREAMS) == 0);
    if (*out != NULL)
        return true;
    if (!operation_comes_later(name))
        return endpoints_refuse(r, c, FAULT_UNKNOWN_OPERATION, "");
    fault_set(&r->fault, FAULT_UNKNOWN_OPERATION, "%.*s is not supported by weir yet", SHOWN(name));
    endpoints_answer_fault(r, c, endpoints_answer_type(c));
    return false;
}

/* Runs the operation. `root` is the JSON of the body in the scratch buffer; NULL: `large` is parsed
 * first. */
static void serve_run(struct router *r, struct client *c, const struct operation *o,
                      const struct json_value *root, struct body *large)
{
    const struct http_head *head = &c->http.head;
    r->counters.requests++;
    if (head->attempt > 1)
        r->counters.client_retries++;
    if (root != NULL && r->scratch.size == 0) {
        endpoints_refuse(r, c, FAULT_SERIALIZATION, "");
        return;
    }
    struct json_value members[SHAPE_MEMBERS_MAX];
    struct call *call = call_create(r, c, o);
    call->content_type = endpoints_answer_type(c);
    if (root == NULL) {
        input_parse_begin(call, large);
        return;
    }
    if (!shape_check(o->input, root, o->name_first, members, &r->fault) ||
        !shape_refuse_later(o->input, members, &r->fault)) {
        call_fail(call);
        return;
    }
    call_begin(call, members);
}

static bool serve_parse_taken(struct router *r, struct client *c, struct json_value *root)
{
    return r->scratch.size == 0 ||
           json_parse(r->json, buffer_slice(&r->scratch), root) == STATUS_OK ||
           endpoints_refuse(r, c, FAULT_SERIALIZATION, "");
}

bool serve_parse(struct router *r, struct client *c, struct json_value *root)
{
    struct body large;
    switch (serve_take(r, c, &large)) {
    case SERVE_REFUSED:
        return false;
    case SERVE_SMALL:
        return serve_parse_taken(r, c, root);
    case SERVE_LARGE:
        break;
    }
    body_deinit(&large);
    fault_set(&r->fault, FAULT_TOO_LARGE,
              "The body has %d bytes or more, compressed or decompressed", BODY_LARGE_MIN);
    return serve_refuse(r, c);
}

void serve_body(struct router *r, struct client *c, const struct endpoint *e)
{
    struct json_value root = {0};
    struct body large = {0};
    const struct operation *o = e->operation;
    const enum serve_taken taken = serve_take(r, c, &large);
    if (taken == SERVE_REFUSED || (taken == SERVE_SMALL && !serve_parse_taken(r, c, &root)))
        return;
    if (o != NULL || serve_find(r, c, e->target, &o))
        serve_run(r, c, o, taken == SERVE_LARGE ? NULL : &root, &large);
    body_deinit(&large);
}

void serve_query(struct router *r, struct client *c, const struct endpoint *e)
{
    struct call *call = call_create(r, c, e->operation);
    call->content_type = "application/json";
    call_begin(call, NULL);
}
