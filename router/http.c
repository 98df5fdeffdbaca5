#include "router/http.h"

#include <limits.h>
#include <strings.h>

#include "base/must.h"

/* ---- header lines ---- */

static void copy_text(char *to, size_t room, const char *from, size_t size)
{
    if (size >= room)
        size = room - 1;
    memcpy(to, from, size);
    to[size] = '\0';
}

/* The media type without its parameters. */
static enum http_content_type type_of(const char *value)
{
    static const char AMZ_JSON[] = "application/x-amz-json-1.0", JSON[] = "application/json";
    if (strcmp(value, AMZ_JSON) == 0) /* as nearly all write it */
        return HTTP_TYPE_AMZ_JSON;
    size_t size = strcspn(value, "; \t");
    if (size == sizeof AMZ_JSON - 1 && strncasecmp(value, AMZ_JSON, size) == 0)
        return HTTP_TYPE_AMZ_JSON;
    if (size == sizeof JSON - 1 && strncasecmp(value, JSON, size) == 0)
        return HTTP_TYPE_JSON;
    return HTTP_TYPE_OTHER;
}

static uint32_t attempt_of(const char *value)
{
    const char *at = strstr(value, "attempt=");
    uint32_t attempt = 0;
    if (at == NULL)
        return 0;
    for (at += strlen("attempt="); *at >= '0' && *at <= '9' && attempt < 1000; at++)
        attempt = attempt * 10 + (uint32_t)(*at - '0');
    return attempt;
}

static void on_target(struct http *h)
{
    copy_text(h->head.target, sizeof h->head.target, h->value, h->value_size);
}

static void on_host(struct http *h)
{
    copy_text(h->head.host, sizeof h->head.host, h->value, h->value_size);
}

static void on_type(struct http *h)
{
    h->head.type = type_of(h->value);
}

static void on_coding(struct http *h)
{
    if (strcasecmp(h->value, "gzip") == 0)
        h->head.gzip_body = true;
    else if (h->value_size > 0 && strcasecmp(h->value, "identity") != 0)
        h->head.unknown_coding = true;
}

static void on_accept(struct http *h)
{
    const char *gzip = strcasestr(h->value, "gzip");
    h->head.accepts_gzip = gzip != NULL && strncmp(gzip + 4, ";q=0", 4) != 0;
}

static void on_expect(struct http *h)
{
    h->head.expects_continue = strcasecmp(h->value, "100-continue") == 0;
}

static void on_attempt(struct http *h)
{
    h->head.attempt = attempt_of(h->value);
}

typedef void header_take(struct http *h);

/* Whether a header's name is `field`, which is in lower case; most names differ at their ends. */
static bool is_field(const char *field, const char *name, size_t size)
{
    return (name[size - 1] | 0x20) == field[size - 1] && strncasecmp(field, name, size) == 0;
}

/* What to do with a header line's value; NULL: nothing. */
static header_take *taker_of(const char *field, size_t size)
{
    static const struct {
        const char *field;
        size_t size;
        header_take *take;
    } FIELDS[] = {
#define FIELD(text, take) {text, sizeof text - 1, take}
        FIELD("x-amz-target", on_target),     FIELD("host", on_host),
        FIELD("content-type", on_type),       FIELD("content-encoding", on_coding),
        FIELD("accept-encoding", on_accept),  FIELD("expect", on_expect),
        FIELD("amz-sdk-request", on_attempt),
#undef FIELD
    };
    for (size_t i = 0; i < sizeof FIELDS / sizeof FIELDS[0]; i++) {
        if (FIELDS[i].size == size && is_field(FIELDS[i].field, field, size))
            return FIELDS[i].take;
    }
    return NULL;
}

/* A line is complete. Those after a chunked body say nothing about the request. */
static void header_end(struct http *h)
{
    h->value_seen = false;
    h->value[h->value_size] = '\0';
    header_take *take = h->head_told ? NULL : taker_of(h->field, h->field_size);
    if (take != NULL)
        take(h);
    h->field_size = 0;
    h->value_size = 0;
}

/* ---- http-parser's callbacks: anything but 0 stops it ---- */

static struct http *http_of(http_parser *p)
{
    return p->data;
}

static int header_grows(struct http *h, size_t size)
{
    h->header_size += size;
    if (h->header_size <= h->header_max)
        return 0;
    h->refusal = HTTP_REFUSAL_HEADERS;
    return 1;
}

static void request_begin(struct http *h)
{
    memset(&h->head, 0, offsetof(struct http_head, target));
    h->head.target[0] = h->head.host[0] = h->head.path[0] = '\0';
    h->header_size = 0;
    h->body_size = 0;
    h->field_size = 0;
    h->value_size = 0;
    h->value_seen = false;
    h->fresh = false;
    h->in_request = true;
    h->head_told = false;
    h->discarding = false;
}

static int on_message_begin(http_parser *p)
{
    request_begin(http_of(p));
    return 0;
}

static int on_url(http_parser *p, const char *at, size_t size)
{
    struct http *h = http_of(p);
    size_t held = strlen(h->head.path);
    copy_text(h->head.path + held, sizeof h->head.path - held, at, size);
    return header_grows(h, size);
}

static int on_header_field(http_parser *p, const char *at, size_t size)
{
    struct http *h = http_of(p);
    if (h->value_seen)
        header_end(h);
    /* One too long is none of ours: its size alone must say so. */
    size_t room = HTTP_FIELD_MAX - h->field_size;
    size_t part = size < room ? size : room;
    memcpy(h->field + h->field_size, at, part);
    h->field_size += (uint32_t)part;
    return header_grows(h, size);
}

static int on_header_value(http_parser *p, const char *at, size_t size)
{
    struct http *h = http_of(p);
    h->value_seen = true;
    if (h->value_size < HTTP_VALUE_MAX - 1) {
        size_t room = HTTP_VALUE_MAX - 1 - h->value_size;
        size_t part = size < room ? size : room;
        memcpy(h->value + h->value_size, at, part);
        h->value_size += (uint32_t)part;
    }
    return header_grows(h, size);
}

static int on_headers_complete(http_parser *p)
{
    struct http *h = http_of(p);
    if (h->value_seen)
        header_end(h);
    h->head.method = (enum http_method)p->method;
    h->head.http_1_0 = p->http_major == 1 && p->http_minor == 0;
    h->head.keep_alive = http_should_keep_alive(p) != 0;
    if (p->method == HTTP_CONNECT || p->http_major != 1) {
        h->refusal = HTTP_REFUSAL_MALFORMED;
        return -1;
    }
    p->upgrade = 0; /* offers to speak another protocol are not taken */
    if (p->content_length != ULLONG_MAX && p->content_length > h->body_max) {
        h->refusal = HTTP_REFUSAL_BODY;
        return -1;
    }
    http_parser_pause(p, 1);
    return 0;
}

static int on_body(http_parser *p, const char *at, size_t size)
{
    struct http *h = http_of(p);
    h->body_size += size;
    if (h->body_size > h->body_max) {
        h->refusal = HTTP_REFUSAL_BODY;
        return 1;
    }
    if (h->discarding)
        return 0;
    if (h->body.size == 0 && h->pieces.size == 0) {
        h->body = slice_make(at, size);
        return 0;
    }
    if (h->pieces.size == 0)
        buffer_append_slice(&h->pieces, h->body);
    buffer_append(&h->pieces, at, size);
    h->body = buffer_slice(&h->pieces);
    return 0;
}

static int on_message_complete(http_parser *p)
{
    struct http *h = http_of(p);
    h->in_request = false;
    h->fresh = h->head.keep_alive;
    http_parser_pause(p, 1);
    return 0;
}

/* ---- plain requests ----
 *
 * "POST / HTTP/1.1", header lines without anything unusual, a body of one length, and all of it in
 * the bytes at hand. Whatever is not recognised as such, and all that is wrong, goes to
 * http-parser, which sees every byte of it: it alone decides what is refused. */

static bool is(struct slice s, const char *text)
{
    return s.size == strlen(text) && is_field(text, (const char *)s.data, s.size);
}

static bool all_name(struct slice s)
{
    bool all = s.size > 0;
    for (size_t i = 0; i < s.size; i++) {
        uint8_t c = s.data[i], letter = c | 0x20;
        all &= (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9') || c == '-';
    }
    return all;
}

/* Eight bytes at a time: `bad` gets the high bit of each byte below ' ' and of each 0x7F. */
static bool all_printable(struct slice s)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones * 0x80;
    uint64_t bad = 0;
    size_t i = 0;
    for (uint64_t word; s.size - i >= sizeof word; i += sizeof word) {
        memcpy(&word, s.data + i, sizeof word);
        uint64_t delete = word ^ ones * 0x7F;
        bad |= ((word - ones * ' ') & ~word) | ((delete - ones) & ~delete);
    }
    bool all = (bad & highs) == 0;
    for (; i < s.size; i++)
        all &= s.data[i] >= ' ' && s.data[i] != 0x7F;
    return all;
}

static bool plain_length(struct slice value, uint64_t *length)
{
    enum {
        DIGITS_MAX = 9
    };
    if (*length > 0 || value.size > DIGITS_MAX)
        return false;
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return false;
        *length = *length * 10 + (uint64_t)(value.data[i] - '0');
    }
    return *length > 0;
}

static bool plain_line(struct http *h, struct slice line, uint64_t *length)
{
    const uint8_t *colon = memchr(line.data, ':', line.size), *end = line.data + line.size;
    if (colon == NULL)
        return false;
    struct slice name = slice_make(line.data, (size_t)(colon - line.data));
    const uint8_t *text = colon + 1;
    while (text < end && *text == ' ')
        text++;
    struct slice value = slice_make(text, (size_t)(end - text));
    if (value.size == 0 || end[-1] == ' ' || !all_printable(value))
        return false;
    header_take *take = taker_of((const char *)name.data, name.size);
    if (take != NULL) {
        copy_text(h->value, sizeof h->value, (const char *)value.data, value.size);
        h->value_size = (uint32_t)(value.size < HTTP_VALUE_MAX ? value.size : HTTP_VALUE_MAX - 1);
        take(h);
        return true;
    }
    if (is(name, "content-length"))
        return plain_length(value, length);
    if (is(name, "connection"))
        return is(value, "keep-alive");
    return all_name(name) && !is(name, "transfer-encoding") && !is(name, "upgrade") &&
           !is(name, "proxy-connection");
}

static bool plain_head(struct http *h, struct slice bytes, size_t *taken)
{
    static const char START[] = "POST / HTTP/1.1\r\n";
    const uint8_t *at = bytes.data + sizeof START - 1, *end = bytes.data + bytes.size, *feed;
    uint64_t length = 0;
    if (bytes.size < sizeof START - 1 || memcmp(bytes.data, START, sizeof START - 1) != 0)
        return false;
    request_begin(h);
    while ((feed = memchr(at, '\n', (size_t)(end - at))) != NULL && feed - at > 1) {
        if (feed[-1] != '\r' || !plain_line(h, slice_make(at, (size_t)(feed - 1 - at)), &length))
            return false;
        at = feed + 1;
    }
    if (feed == NULL || feed - at != 1 || *at != '\r')
        return false;
    *taken = (size_t)(feed + 1 - bytes.data);
    if (length == 0 || length > h->body_max || length > bytes.size - *taken ||
        *taken > h->header_max)
        return false;
    h->head.method = HTTP_POST;
    h->head.keep_alive = true;
    memcpy(h->head.path, "/", sizeof "/");
    h->head_told = true;
    h->plain_body = length;
    return true;
}

static bool plain_begins(struct http *h, struct slice bytes, size_t *taken)
{
    if (!h->fresh)
        return false;
    if (plain_head(h, bytes, taken))
        return true;
    h->fresh = true;
    h->in_request = false;
    return false;
}

static enum http_event plain_ends(struct http *h, struct slice bytes, size_t *taken)
{
    must(bytes.size >= h->plain_body);
    *taken = h->plain_body;
    h->body_size = h->plain_body;
    if (!h->discarding)
        h->body = slice_make(bytes.data, h->plain_body);
    h->plain_body = 0;
    h->fresh = true;
    h->in_request = false;
    return HTTP_EVENT_REQUEST;
}

/* ---- */

void http_init(struct http *h, const struct config *config)
{
    *h = (struct http){.header_max = (size_t)config->http_header_max_bytes,
                       .body_max = (size_t)config->http_body_max_bytes,
                       .fresh = true};
    http_parser_init(&h->parser, HTTP_REQUEST);
    h->parser.data = h;
}

void http_deinit(struct http *h)
{
    buffer_deinit(&h->pieces);
}

static enum http_event http_event_of(struct http *h)
{
    enum http_errno error = HTTP_PARSER_ERRNO(&h->parser);
    if (error == HPE_PAUSED) {
        http_parser_pause(&h->parser, 0);
        if (!h->in_request)
            return HTTP_EVENT_REQUEST;
        h->head_told = true;
        return HTTP_EVENT_HEADERS;
    }
    if (error == HPE_OK)
        return HTTP_EVENT_MORE;
    h->fresh = false;
    if (h->refusal == HTTP_REFUSAL_NONE)
        h->refusal = error == HPE_HEADER_OVERFLOW ? HTTP_REFUSAL_HEADERS : HTTP_REFUSAL_MALFORMED;
    return HTTP_EVENT_REFUSED;
}

/* The bytes go away, the request is not whole: what came of its body must stay. */
static void keep_pieces(struct http *h)
{
    if (h->body.size > 0 && h->pieces.size == 0) {
        buffer_append_slice(&h->pieces, h->body);
        h->body = buffer_slice(&h->pieces);
    }
}

enum http_event http_receive(struct http *h, struct slice bytes, size_t *taken)
{
    static const http_parser_settings SETTINGS = {
        .on_message_begin = on_message_begin,
        .on_url = on_url,
        .on_header_field = on_header_field,
        .on_header_value = on_header_value,
        .on_headers_complete = on_headers_complete,
        .on_body = on_body,
        .on_message_complete = on_message_complete,
    };
    *taken = 0;
    if (bytes.size == 0)
        return HTTP_EVENT_MORE; /* http-parser takes this for the end of the stream */
    if (h->plain_body > 0)
        return plain_ends(h, bytes, taken);
    if (plain_begins(h, bytes, taken))
        return HTTP_EVENT_HEADERS;
    *taken = http_parser_execute(&h->parser, &SETTINGS, (const char *)bytes.data, bytes.size);
    enum http_event event = http_event_of(h);
    if (event == HTTP_EVENT_MORE)
        keep_pieces(h);
    return event;
}

uint64_t http_body_announced(const struct http *h)
{
    if (h->plain_body > 0)
        return h->plain_body;
    bool known = h->parser.content_length != ULLONG_MAX && !(h->parser.flags & F_CHUNKED);
    return known ? h->parser.content_length : 0;
}

void http_discard_body(struct http *h)
{
    h->discarding = true;
}

void http_drop_body(struct http *h)
{
    h->body = slice_make(NULL, 0);
    buffer_deinit(&h->pieces);
}
