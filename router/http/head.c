/* head.c - the header lines that the router reads, and the lines that it refuses.
 *
 * Both parsers give every line to http_head_take: a line means the same to both. */
#include "router/http/http_internal.h"
#include "router/http/region.h"

/* The next element of a list, trimmed. `rest` moves past the `end` of the element. */
static struct slice head_next(struct slice *rest, char end)
{
    return slice_trimmed(slice_cut(rest, (uint8_t)end));
}

void http_head_clear(struct http_head *head)
{
    if (head->text.capacity > HTTP_TEXT_KEPT_MAX)
        buffer_deinit(&head->text);
    memset(head, 0, offsetof(struct http_head, text));
    buffer_clear(&head->text);
}

/* The first fault is told. */
static void head_refuse(struct http_head *head, const char *why)
{
    if (!head->malformed)
        head->why = why;
    head->malformed = true;
}

/* A value that is too long makes the head malformed (HTTP-6). */
static void head_bound(struct http_head *head, struct slice value, size_t bound, const char *why)
{
    if (value.size >= bound)
        head_refuse(head, why);
}

_Static_assert(HTTP_HOST_MAX == 256 && HTTP_ORIGIN_MAX == 256 && HTTP_TARGET_MAX == 96,
               "the texts below have these bounds");

static void head_once(struct http_head *head, enum http_once line, const char *why)
{
    if ((head->once & line) != 0)
        head_refuse(head, why);
    head->once |= line;
}

/* ---- lines ---- */

/* The characters of RFC 3986's host and port. */
static bool head_host_valid(struct slice value)
{
    static const uint8_t VALID[256] = {
        ['a' ... 'z'] = 1, ['A' ... 'Z'] = 1, ['0' ... '9'] = 1, ['-'] = 1, ['.'] = 1, ['_'] = 1,
        ['~'] = 1,         ['%'] = 1,         ['!'] = 1,         ['$'] = 1, ['&'] = 1, ['\''] = 1,
        ['('] = 1,         [')'] = 1,         ['*'] = 1,         ['+'] = 1, [','] = 1, [';'] = 1,
        ['='] = 1,         [':'] = 1,         ['['] = 1,         [']'] = 1,
    };
    uint8_t all = 1;
    for (size_t i = 0; i < value.size; i++)
        all &= VALID[value.data[i]];
    return all != 0;
}

static void head_take_host(struct http_head *head, struct slice value)
{
    head_once(head, HTTP_ONCE_HOST, "it has more than one Host");
    if (!head_host_valid(value))
        head_refuse(head, "its Host has a character that no host has");
    head_bound(head, value, HTTP_HOST_MAX, "its Host has more than 255 bytes");
}

/* The media type without its parameters. */
static void head_take_type(struct http_head *head, struct slice value)
{
    head_once(head, HTTP_ONCE_TYPE, "it has more than one Content-Type");
    if (slice_is(value, "application/x-amz-json-1.0")) { /* as nearly all clients write it */
        head->type = HTTP_TYPE_AMZ_JSON;
        return;
    }
    struct slice rest = value, type = head_next(&rest, ';');
    head->type = http_is(type, "application/x-amz-json-1.0") ? HTTP_TYPE_AMZ_JSON
                 : http_is(type, "application/json")         ? HTTP_TYPE_JSON
                                                             : HTTP_TYPE_OTHER;
}

static void head_take_coding(struct http_head *head, struct slice value)
{
    while (value.size > 0) {
        struct slice name = head_next(&value, ',');
        if (name.size == 0 || http_is(name, "identity"))
            continue;
        head->unknown_coding |= head->body_coding != CODING_IDENTITY; /* packed twice */
        if (http_is(name, "gzip") || http_is(name, "x-gzip"))
            head->body_coding = CODING_GZIP;
        else if (http_is(name, "deflate"))
            head->body_coding = CODING_DEFLATE;
        else
            head->unknown_coding = true;
    }
}

/* A weight such as 0, 1 or 0.375, in thousandths. -1: the text is no weight. */
static int head_weight(struct slice text)
{
    int weight = 0, unit = 1000;
    if (text.size == 0 || text.size > 5 || (text.size > 1 && text.data[1] != '.'))
        return -1;
    for (size_t i = 0; i < text.size; i++) {
        if (i == 1)
            continue;
        if (text.data[i] < '0' || text.data[i] > '9')
            return -1;
        weight += (text.data[i] - '0') * unit;
        unit /= 10;
    }
    return weight <= 1000 ? weight : -1;
}

/* The weight in name;q=0.5, in thousandths: 1000 if there is none, 0 if it is malformed. */
static int head_weight_of(struct slice parameters)
{
    int weight = 1000;
    while (parameters.size > 0) {
        struct slice value = head_next(&parameters, ';'), name = head_next(&value, '=');
        if (http_is(name, "q"))
            weight = head_weight(slice_trimmed(value));
    }
    return MAX(weight, 0);
}

static void head_take_accept(struct http_head *head, struct slice value)
{
    static const char *const NAMES[HTTP_ACCEPTED] = {"identity", "gzip", "deflate", "*"};
    while (value.size > 0) {
        struct slice rest = head_next(&value, ','), name = head_next(&rest, ';');
        if (http_is(name, "x-gzip"))
            name = slice_of("gzip");
        for (int i = 0; i < HTTP_ACCEPTED; i++) {
            if (http_is(name, NAMES[i]))
                head->accepted[i] = (uint16_t)(1 + head_weight_of(rest));
        }
    }
}

static void head_take_attempt(struct http_head *head, struct slice value)
{
    static const char NAME[] = "attempt=";
    const uint8_t *end = value.data + value.size;
    const uint8_t *at =
        value.size == 0 ? NULL : memmem(value.data, value.size, NAME, sizeof NAME - 1);
    head->attempt = 0;
    if (at == NULL)
        return;
    for (at += sizeof NAME - 1; at < end && *at >= '0' && *at <= '9' && head->attempt < 1000; at++)
        head->attempt = head->attempt * 10 + (uint32_t)(*at - '0');
}

static void head_take_authorization(struct http_head *head, struct slice value)
{
    (void)value; /* head_find_region and http_bearer read it */
    head_once(head, HTTP_ONCE_AUTHORIZATION, "it has more than one Authorization");
}

/* Several lines are one list. The router knows only `chunked`. */
static void head_take_transfer(struct http_head *head, struct slice value)
{
    do {
        struct slice name = head_next(&value, ',');
        if (head->chunked)
            head_refuse(head, "its Transfer-Encoding names a coding after chunked");
        if (http_is(name, "chunked"))
            head->chunked = true;
        else
            head->other_coding = true;
    } while (value.size > 0);
}

static void head_take_target(struct http_head *head, struct slice value)
{
    head_once(head, HTTP_ONCE_TARGET, "it has more than one X-Amz-Target");
    head_bound(head, value, HTTP_TARGET_MAX, "its X-Amz-Target has more than 95 bytes");
}

static void head_take_origin(struct http_head *head, struct slice value)
{
    head_once(head, HTTP_ONCE_ORIGIN, "it has more than one Origin");
    head_bound(head, value, HTTP_ORIGIN_MAX, "its Origin has more than 255 bytes");
}

static void head_take_length(struct http_head *head, struct slice value)
{
    (void)value; /* the parsers read it */
    head_once(head, HTTP_ONCE_LENGTH, "it has more than one Content-Length");
}

static void head_take_site(struct http_head *head, struct slice value)
{
    head->cross_site |= http_is(value, "cross-site");
}

static void head_take_expect(struct http_head *head, struct slice value)
{
    head->expects_continue = http_is(value, "100-continue");
}

typedef void head_taker(struct http_head *head, struct slice value);

static head_taker *head_taker_of(struct slice name)
{
#define FIELD(text, take)    \
    if (http_is(name, text)) \
    return take
    switch (name.size) {
    case 4:
        FIELD("host", head_take_host);
        break;
    case 6:
        FIELD("expect", head_take_expect);
        FIELD("origin", head_take_origin);
        break;
    case 12:
        FIELD("x-amz-target", head_take_target);
        FIELD("content-type", head_take_type);
        break;
    case 13:
        FIELD("authorization", head_take_authorization);
        break;
    case 14:
        FIELD("content-length", head_take_length);
        FIELD("sec-fetch-site", head_take_site);
        break;
    case 15:
        FIELD("accept-encoding", head_take_accept);
        FIELD("amz-sdk-request", head_take_attempt);
        break;
    case 16:
        FIELD("content-encoding", head_take_coding);
        break;
    case 17:
        FIELD("transfer-encoding", head_take_transfer);
        break;
    default:
        break;
    }
#undef FIELD
    return NULL;
}

/* `at`: the position of the Authorization header's value in the head's text. */
static void head_find_region(struct http_head *head, struct slice value, size_t at)
{
    const struct slice region = region_of_authorization(value);
    if (region.size > 0)
        at += (size_t)(region.data - value.data);
    head->region = (struct http_span){(uint32_t)at, (uint32_t)region.size};
}

bool http_head_take(struct http_head *head, struct slice name, struct slice value, size_t at)
{
    head_taker *take = head_taker_of(name);
    if (take == NULL)
        return false;
    take(head, value);
    if (take == head_take_target)
        head->amz_target = (struct http_span){(uint32_t)at, (uint32_t)value.size};
    if (take == head_take_host)
        head->host = (struct http_span){(uint32_t)at, (uint32_t)value.size};
    if (take == head_take_authorization)
        head_find_region(head, value, at);
    return true;
}

/* ---- the request line ---- */

/* The position of "://"; text.size: there is none. */
static size_t head_scheme_end(struct slice text)
{
    const uint8_t *at = text.size == 0 ? NULL : memmem(text.data, text.size, "://", 3);
    return at == NULL ? text.size : (size_t)(at - text.data);
}

/* Finds path and query. The path of http://host/path is /path: clients of a proxy send this form
 * (RFC 9112 3.2.2). Its empty path is /, taken from "://". False: its host is none. */
static bool head_split_target(struct http_head *head)
{
    struct slice text = http_text(head, head->target);
    size_t path = 0, query = 0;
    size_t scheme = text.size > 0 && text.data[0] == '/' ? text.size : head_scheme_end(text);
    if (scheme < text.size) {
        path = scheme + 3;
        while (path < text.size && text.data[path] != '/' && text.data[path] != '?')
            path++;
        query = path;
        head->authority = (struct http_span){head->target.at + (uint32_t)scheme + 3,
                                             (uint32_t)(path - scheme - 3)};
    }
    while (query < text.size && text.data[query] != '?')
        query++;
    head->path = (struct http_span){head->target.at + (uint32_t)path, (uint32_t)(query - path)};
    if (scheme < text.size && query == path)
        head->path = (struct http_span){head->target.at + (uint32_t)scheme + 1, 1};
    if (query < text.size)
        head->query = (struct http_span){head->target.at + (uint32_t)query + 1,
                                         (uint32_t)(text.size - query - 1)};
    return scheme == text.size ||
           (head->authority.size > 0 && head_host_valid(http_text(head, head->authority)));
}

enum http_refusal http_head_check(struct http_head *head)
{
    if (!head->http_1_0 && !(head->once & HTTP_ONCE_HOST))
        head_refuse(head, "it has no Host");
    if ((head->chunked || head->other_coding) &&
        (head->http_1_0 || !head->chunked || (head->once & HTTP_ONCE_LENGTH)))
        head_refuse(
            head,
            "its Transfer-Encoding is not chunked, or is in HTTP/1.0, or beside Content-Length");
    if (head->malformed)
        return HTTP_REFUSAL_MALFORMED;
    if (head->other_coding)
        return HTTP_REFUSAL_CODING;
    if (!head_split_target(head)) {
        head->why = "its target has no valid host";
        return HTTP_REFUSAL_MALFORMED;
    }
    return head->target.size >= HTTP_PATH_MAX ? HTTP_REFUSAL_TARGET : HTTP_REFUSAL_NONE;
}

/* ---- lookup ---- */

/* Takes the next header line off `rest`. A name is as it was sent. False: there is none. */
static bool http_next_line(struct slice *rest, struct slice *name, struct slice *value)
{
    *value = head_next(rest, '\n');
    const bool found = value->size > 0;
    *name = head_next(value, ':');
    *value = slice_trimmed(*value);
    return found;
}

struct slice http_find(const struct http_head *head, const char *name)
{
    const struct buffer *text = &head->text;
    struct slice rest = slice_make(text->data + head->lines_at, text->size - head->lines_at);
    struct slice field, value;
    while (http_next_line(&rest, &field, &value)) {
        if (http_is(field, name))
            return value;
    }
    return slice_make(NULL, 0);
}

struct slice http_bearer(const struct http_head *head)
{
    static const char SCHEME[] = "Bearer ";
    const size_t size = sizeof SCHEME - 1;
    struct slice value = http_find(head, "authorization");
    if (value.size <= size || strncasecmp((const char *)value.data, SCHEME, size) != 0)
        return slice_make(NULL, 0);
    return slice_make(value.data + size, value.size - size);
}

/* ---- the coding of an answer ---- */

/* Thousandths. A coding that is not named has the weight of `*`; without `*`, `missing`. */
static int head_accepted_weight(const struct http_head *head, enum http_accepted coding,
                                int missing)
{
    if (head->accepted[coding] > 0)
        return head->accepted[coding] - 1;
    return head->accepted[HTTP_ACCEPTED_ANY] > 0 ? head->accepted[HTTP_ACCEPTED_ANY] - 1 : missing;
}

enum content_coding http_accepted_coding(const struct http_head *head)
{
    int gzip = head_accepted_weight(head, HTTP_ACCEPTED_GZIP, 0);
    int deflate = head_accepted_weight(head, HTTP_ACCEPTED_DEFLATE, 0);
    int best = gzip >= deflate ? gzip : deflate;
    if (best == 0 || head->accepted[HTTP_ACCEPTED_IDENTITY] > best + 1)
        return CODING_IDENTITY;
    return gzip >= deflate ? CODING_GZIP : CODING_DEFLATE;
}
