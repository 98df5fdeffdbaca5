/* serve.c - unpacks and parses a body, and checks it against the operation's input. */
#include "router/operations/serve.h"

#include "base/settings/http.h"
#include "router/operations/reading.h"

enum {
    UNPACKED_FREE = 1 << 20, /* any body may unpack to so many bytes: enough for the largest item */
    UNPACKED_RATIO_MAX = 64, /* a larger body to so many times its size; JSON reaches about 10 */
};

static size_t body_unpacked_max(const struct router *r, size_t packed)
{
    size_t by_ratio = packed * UNPACKED_RATIO_MAX;
    size_t most = by_ratio > UNPACKED_FREE ? by_ratio : UNPACKED_FREE;
    size_t body_max = (size_t)config_http(r->config)->http_body_max_bytes;
    return most < body_max ? most : body_max;
}

/* A small body may unpack to a large one: the scratch buffer counts in held_bytes from now on. */
static bool body_unpack(struct router *r, struct client *c)
{
    const struct http_head *head = &c->http.head;
    size_t most = body_unpacked_max(r, c->http.body.size);
    switch (coding_unpack(&r->scratch, head->body_coding, c->http.body, most)) {
    case STATUS_OK:
        break;
    case STATUS_TOO_LARGE:
        return endpoints_refuse(r, c, FAULT_TOO_LARGE,
                                most < (size_t)config_http(r->config)->http_body_max_bytes
                                    ? "The body unpacks to more than 1 MiB and 64 times its size"
                                    : "The body unpacks to more than http_body_max_bytes");
    default:
        return endpoints_refuse(r, c, FAULT_SERIALIZATION,
                                head->body_coding == CODING_GZIP
                                    ? "The body is not gzip"
                                    : "The body is not deflate (zlib)");
    }
    router_account(r, &r->scratch_accounted, r->scratch.capacity);
    if (client_make_room(r, 0))
        return true;
    r->counters.refused_memory++;
    return endpoints_refuse(r, c, FAULT_UNAVAILABLE,
                            "The unpacked body does not fit in the router's memory budget "
                            "(http_memory_max_bytes); please try again");
}

/* A body that came in pieces has a buffer of its own, which changes places with the scratch buffer. */
static void body_move(struct router *r, struct client *c)
{
    struct buffer *pieces = &c->http.pieces;
    if (pieces->size == 0) {
        buffer_append_slice(&r->scratch, c->http.body);
        return;
    }
    const struct buffer scratch = r->scratch;
    r->scratch = *pieces;
    *pieces = scratch;
    c->http.body = slice_make(NULL, 0);
}

/* Takes the body, unpacked and padded, to the scratch buffer. */
static bool body_take(struct router *r, struct client *c)
{
    const struct http_head *head = &c->http.head;
    buffer_clear(&r->scratch);
    if (head->unknown_coding)
        return endpoints_refuse(r, c, FAULT_SERIALIZATION,
                                "Content-Encoding must be gzip, deflate or identity");
    if (head->body_coding == CODING_IDENTITY)
        body_move(r, c);
    else if (!body_unpack(r, c))
        return false;
    memset(buffer_reserve(&r->scratch, JSON_PADDING), 0, JSON_PADDING);
    return true;
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

/* Runs the operation. `root` is the JSON of the body in the scratch buffer; NULL: it is parsed in a
 * later turn. */
static void serve_run(struct router *r, struct client *c, const struct operation *o,
                      const struct json_value *root)
{
    const struct http_head *head = &c->http.head;
    r->counters.requests++;
    if (head->attempt > 1)
        r->counters.client_retries++;
    if (r->scratch.size == 0) {
        endpoints_refuse(r, c, FAULT_SERIALIZATION, "");
        return;
    }
    struct json_value members[SHAPE_MEMBERS_MAX];
    struct call *call = call_create(r, c, o);
    call->content_type = endpoints_answer_type(c);
    if (root == NULL) {
        reading_begin(call);
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
    return body_take(r, c) && serve_parse_taken(r, c, root);
}

void serve_body(struct router *r, struct client *c, const struct endpoint *e)
{
    struct json_value root = {0};
    const struct operation *o = e->operation;
    if (!body_take(r, c))
        return;
    const bool large = r->scratch.size >= READING_TEXT_MIN;
    if (!large && !serve_parse_taken(r, c, &root))
        return;
    if (o != NULL || serve_find(r, c, e->target, &o))
        serve_run(r, c, o, large ? NULL : &root);
}

void serve_query(struct router *r, struct client *c, const struct endpoint *e)
{
    struct call *call = call_create(r, c, e->operation);
    call->content_type = "application/json";
    call_begin(call, NULL);
}
