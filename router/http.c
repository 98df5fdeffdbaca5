/* http.c - the general parser: llhttp, strict, and what RFC 9112 demands besides.
 *
 * llhttp finds the parts. Every byte that is no part of a body comes by check_lines as well, which
 * knows nothing of HTTP but lines: a lone CR or LF, or a line that begins with a blank, is refused
 * whatever llhttp makes of it. Which comes first in the bytes decides: an input is answered the
 * same in one piece and byte by byte. */
#include "router/http.h"

#include "base/must.h"
#include "router/http_internal.h"

enum {
    CHUNK_LINES_FACTOR =
        8, /* bytes between chunks for a byte in them: more than "1\r\n" and "\r\n" */
};

static void head_clear(struct http_head *head)
{
    memset(head, 0, offsetof(struct http_head, target));
    head->target[0] = head->host[0] = head->path[0] = '\0';
    head->origin[0] = head->bearer[0] = '\0';
}

void http_request_begin(struct http *h)
{
    head_clear(&h->head);
    h->body_size = 0;
    h->field_size = 0;
    h->value_size = 0;
    h->value_cut = false;
    h->fresh = false;
    h->in_request = true;
    h->head_told = false;
    h->discarding = false;
}

void http_request_end(struct http *h)
{
    h->in_request = false;
    h->header_size = 0;
    h->chunk_lines = 0;
    h->line_last = '\n';
    h->request_line = HTTP_BEFORE_LINE;
}

/* ---- lines ---- */

static bool refuse(struct http *h, enum http_refusal why)
{
    if (h->refusal == HTTP_REFUSAL_NONE)
        h->refusal = why;
    return false;
}

/* What is between chunks is bounded by what is in them. */
static bool check_size(struct http *h)
{
    if (!h->head_told)
        return ++h->header_size <= h->header_max || refuse(h, HTTP_REFUSAL_HEADERS);
    return ++h->chunk_lines <= h->header_max + CHUNK_LINES_FACTOR * h->body_size ||
           refuse(h, HTTP_REFUSAL_HEADERS);
}

/* Where the request line begins and ends; empty lines may stand before it. */
static void check_request_line(struct http *h, uint8_t byte)
{
    if (byte == '\n' && h->request_line == HTTP_IN_LINE)
        h->request_line = HTTP_AFTER_LINE;
    else if (byte != '\n' && byte != '\r' && h->request_line == HTTP_BEFORE_LINE)
        h->request_line = HTTP_IN_LINE;
}

static bool check_byte(struct http *h, uint8_t byte)
{
    const uint8_t last = h->line_last;
    const bool blank = byte == ' ' || byte == '\t';
    h->line_last = byte;
    if ((last == '\r') != (byte == '\n') || (last == '\n' && blank))
        return refuse(h, HTTP_REFUSAL_MALFORMED);
    if (h->request_line == HTTP_IN_LINE && last == ' ' && blank)
        return refuse(h, HTTP_REFUSAL_MALFORMED); /* llhttp skips any number */
    check_request_line(h, byte);
    return check_size(h);
}

/* The bytes before `end` that no callback has taken for a body. What is wrong with them is so
 * before whatever llhttp or a callback found behind them. */
static bool check_lines(struct http *h, const uint8_t *end)
{
    const enum http_refusal behind = h->refusal;
    h->refusal = HTTP_REFUSAL_NONE;
    while (h->lines_at < end) {
        if (!check_byte(h, *h->lines_at++)) {
            h->lines_at = end;
            return false;
        }
    }
    h->refusal = behind;
    return true;
}

/* ---- llhttp's callbacks: anything but 0 stops it ---- */

static struct http *http_of(llhttp_t *p)
{
    return p->data;
}

static int on_message_begin(llhttp_t *p)
{
    http_request_begin(http_of(p));
    return 0;
}

static int on_url(llhttp_t *p, const char *at, size_t size)
{
    http_head_take_path(&http_of(p)->head, slice_make(at, size));
    return 0;
}

static int on_header_field(llhttp_t *p, const char *at, size_t size)
{
    struct http *h = http_of(p);
    /* A name too long is none that is looked for: its size alone says so. */
    size_t room = h->field_size < sizeof h->field ? sizeof h->field - h->field_size : 0;
    memcpy(h->field + (sizeof h->field - room), at, size < room ? size : room);
    h->field_size = size <= room ? h->field_size + (uint32_t)size : sizeof h->field + 1;
    return 0;
}

static int on_header_value(llhttp_t *p, const char *at, size_t size)
{
    struct http *h = http_of(p);
    size_t room = sizeof h->value - h->value_size, part = size < room ? size : room;
    memcpy(h->value + h->value_size, at, part);
    h->value_size += (uint32_t)part;
    h->value_cut |= part < size;
    return 0;
}

/* A line is complete. Those after a chunked body say nothing about the request. */
static int on_header_end(llhttp_t *p)
{
    struct http *h = http_of(p);
    struct slice field = slice_make(h->field, h->field_size);
    struct slice value = slice_make(h->value, h->value_size);
    if (h->field_size == 0) { /* llhttp takes a line without a name */
        refuse(h, HTTP_REFUSAL_MALFORMED);
        return -1;
    }
    if (!h->head_told && h->field_size <= sizeof h->field && http_head_take(&h->head, field, value))
        h->head.malformed |= h->value_cut;
    h->value_cut = false;
    h->field_size = 0;
    h->value_size = 0;
    return 0;
}

static int on_headers_complete(llhttp_t *p)
{
    struct http *h = http_of(p);
    h->head.method = (llhttp_method_t)p->method;
    h->head.http_1_0 = p->http_major == 1 && p->http_minor == 0;
    h->head.keep_alive = llhttp_should_keep_alive(p) != 0;
    p->upgrade = 0; /* offers to speak another protocol are not taken */
    enum http_refusal refusal = http_head_check(&h->head);
    if (p->method == HTTP_CONNECT || p->http_major != 1)
        refusal = HTTP_REFUSAL_MALFORMED;
    if (refusal == HTTP_REFUSAL_NONE && (p->flags & F_CONTENT_LENGTH) &&
        p->content_length > h->body_max)
        refusal = HTTP_REFUSAL_BODY;
    if (refusal == HTTP_REFUSAL_NONE)
        return HPE_PAUSED;
    refuse(h, refusal);
    return -1;
}

static int on_extension(llhttp_t *p, const char *at, size_t size)
{
    struct http *h = http_of(p);
    (void)at;
    h->header_size += size;
    if (h->header_size <= h->header_max)
        return 0;
    refuse(h, HTTP_REFUSAL_HEADERS);
    return -1;
}

static int on_body(llhttp_t *p, const char *at, size_t size)
{
    struct http *h = http_of(p);
    h->lines_wrong = !check_lines(h, (const uint8_t *)at);
    if (h->lines_wrong)
        return -1;
    h->lines_at = (const uint8_t *)at + size;
    h->body_size += size;
    if (h->body_size > h->body_max) {
        refuse(h, HTTP_REFUSAL_BODY);
        return -1;
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

static int on_message_complete(llhttp_t *p)
{
    struct http *h = http_of(p);
    h->in_request = false;
    h->fresh = h->head.keep_alive;
    return HPE_PAUSED;
}

static const llhttp_settings_t SETTINGS = {
    .on_message_begin = on_message_begin,
    .on_url = on_url,
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_end,
    .on_headers_complete = on_headers_complete,
    .on_chunk_extension_name = on_extension,
    .on_chunk_extension_value = on_extension,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* ---- */

void http_init(struct http *h, const struct config *config)
{
    *h = (struct http){.header_max = (size_t)config->http_header_max_bytes,
                       .body_max = (size_t)config->http_body_max_bytes,
                       .fresh = true,
                       .line_last = '\n'};
    llhttp_init(&h->parser, HTTP_REQUEST, &SETTINGS);
    h->parser.data = h;
}

void http_deinit(struct http *h)
{
    buffer_deinit(&h->pieces);
}

static enum http_event refused(struct http *h)
{
    h->fresh = false;
    refuse(h, HTTP_REFUSAL_MALFORMED);
    return HTTP_EVENT_REFUSED;
}

static enum http_event http_event_of(struct http *h, llhttp_errno_t error)
{
    if (error == HPE_OK)
        return HTTP_EVENT_MORE;
    if (error != HPE_PAUSED)
        return refused(h);
    llhttp_resume(&h->parser);
    if (h->in_request) {
        h->head_told = true;
        h->due = true;
        return HTTP_EVENT_HEADERS;
    }
    http_request_end(h);
    return HTTP_EVENT_REQUEST;
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
    *taken = 0;
    if (bytes.size == 0 && !h->due)
        return HTTP_EVENT_MORE;
    h->due = false;
    if (h->plain_body > 0)
        return http_plain_ends(h, bytes, taken);
    if (http_plain_begins(h, bytes, taken))
        return HTTP_EVENT_HEADERS;
    h->lines_at = bytes.data;
    llhttp_errno_t error = llhttp_execute(&h->parser, (const char *)bytes.data, bytes.size);
    const uint8_t *end = bytes.data + bytes.size;
    if (error != HPE_OK)
        end = (const uint8_t *)llhttp_get_error_pos(&h->parser);
    *taken = (size_t)(end - bytes.data);
    if (!h->lines_wrong && !check_lines(h, end))
        return refused(h);
    enum http_event event = http_event_of(h, error);
    if (event == HTTP_EVENT_MORE)
        keep_pieces(h);
    return event;
}

uint64_t http_body_announced(const struct http *h)
{
    if (h->plain_body > 0)
        return h->plain_body;
    return (h->parser.flags & F_CONTENT_LENGTH) ? h->parser.content_length : 0;
}

void http_discard_body(struct http *h)
{
    h->discarding = true;
}

void http_drop_head(struct http *h)
{
    if (h->refusal == HTTP_REFUSAL_MALFORMED || h->refusal == HTTP_REFUSAL_HEADERS)
        head_clear(&h->head);
}

void http_drop_body(struct http *h)
{
    h->body = slice_make(NULL, 0);
    buffer_deinit(&h->pieces);
}
