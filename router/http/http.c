/* http.c - the general parser: strict llhttp, and the rules of RFC 9112 that llhttp leaves out.
 *
 * llhttp finds the parts. http_check_lines looks at every byte outside of bodies as well, and knows
 * only lines. It refuses a lone CR or LF, and a line that begins with a blank, even where llhttp
 * accepts them. The first fault in the bytes decides: an input gets the same answer in one piece
 * and byte by byte. */
#include "router/http/http.h"

#include "base/settings/http.h"
#include "router/http/http_internal.h"

enum {
    BODY_PADDING = 64, /* a parser reads so far past a body */
    PIECES_GROWTH = 4, /* fewer copies of a large body than by doubling */
    CHUNK_LINES_FACTOR =
        8, /* bytes of chunk lines per byte of body: more than "1\r\n" and "\r\n" need */
};

void http_request_begin(struct http *h)
{
    http_head_clear(&h->head);
    h->body_size = 0;
    h->name = h->value = (struct http_span){0};
    h->fresh = false;
    h->in_request = true;
    h->head_reported = false;
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

static bool http_refuse(struct http *h, enum http_refusal why)
{
    if (h->refusal == HTTP_REFUSAL_NONE)
        h->refusal = why;
    return false;
}

/* Bounds the head by header_max, and the lines between chunks by the size of the chunks. */
static bool http_check_size(struct http *h)
{
    if (!h->head_reported)
        return ++h->header_size <= h->header_max || http_refuse(h, HTTP_REFUSAL_HEADERS);
    return ++h->chunk_lines <= h->header_max + CHUNK_LINES_FACTOR * h->body_size ||
           http_refuse(h, HTTP_REFUSAL_HEADERS);
}

/* Notes the begin and the end of the request line. Empty lines may stand before it. */
static void http_check_request_line(struct http *h, uint8_t byte)
{
    if (byte == '\n' && h->request_line == HTTP_IN_LINE)
        h->request_line = HTTP_AFTER_LINE;
    else if (byte != '\n' && byte != '\r' && h->request_line == HTTP_BEFORE_LINE)
        h->request_line = HTTP_IN_LINE;
}

static bool http_check_byte(struct http *h, uint8_t byte)
{
    const uint8_t last = h->line_last;
    const bool blank = byte == ' ' || byte == '\t';
    h->line_last = byte;
    if ((last == '\r') != (byte == '\n') || (last == '\n' && blank))
        return http_refuse(h, HTTP_REFUSAL_MALFORMED);
    if (h->request_line == HTTP_IN_LINE && last == ' ' && blank)
        return http_refuse(h, HTTP_REFUSAL_MALFORMED); /* llhttp skips any number of blanks */
    http_check_request_line(h, byte);
    return http_check_size(h);
}

/* Checks the bytes before `end` that are outside of bodies. A fault in these bytes replaces any
 * fault that llhttp or a callback found after them. */
static bool http_check_lines(struct http *h, const uint8_t *end)
{
    const enum http_refusal behind = h->refusal;
    h->refusal = HTTP_REFUSAL_NONE;
    while (h->lines_at < end) {
        if (!http_check_byte(h, *h->lines_at++)) {
            h->lines_at = end;
            return false;
        }
    }
    h->refusal = behind;
    return true;
}

/* ---- llhttp's callbacks: any result but 0 stops llhttp ---- */

static int http_on_message_begin(llhttp_t *p)
{
    http_request_begin(p->data);
    return 0;
}

/* Appends to the head's text and to `span`, the last part of the text. */
static void http_text_add(struct http *h, struct http_span *span, const char *at, size_t size)
{
    struct buffer *text = &h->head.text;
    if (span->size == 0)
        span->at = (uint32_t)text->size;
    buffer_append(text, at, size);
    span->size += (uint32_t)size;
}

static int http_on_url(llhttp_t *p, const char *at, size_t size)
{
    struct http *h = p->data;
    http_text_add(h, &h->head.target, at, size);
    h->head.lines_at = (uint32_t)h->head.text.size;
    return 0;
}

/* Lines after a chunked body say nothing about the request: only their size counts. */
static int http_on_header_field(llhttp_t *p, const char *at, size_t size)
{
    struct http *h = p->data;
    if (h->head_reported)
        h->name.size += (uint32_t)size;
    else
        http_text_add(h, &h->name, at, size);
    return 0;
}

/* Writes the colon after the name, once for each line. The value begins there. */
static void http_value_begin(struct http *h)
{
    if (h->value.at > 0)
        return;
    buffer_append_u8(&h->head.text, ':');
    h->value.at = (uint32_t)h->head.text.size;
}

static int http_on_header_value(llhttp_t *p, const char *at, size_t size)
{
    struct http *h = p->data;
    if (h->head_reported)
        return 0;
    http_value_begin(h);
    http_text_add(h, &h->value, at, size);
    return 0;
}

/* A header line is complete. */
static void http_line_take(struct http *h)
{
    struct buffer *text = &h->head.text;
    http_value_begin(h);
    const struct slice name = http_text(&h->head, h->name);
    const struct slice value = slice_trimmed(http_text(&h->head, h->value));
    http_head_take(&h->head, name, value, (size_t)(value.data - text->data));
    buffer_append_u8(text, '\n');
}

static int http_on_header_end(llhttp_t *p)
{
    struct http *h = p->data;
    if (h->name.size == 0) { /* llhttp accepts a line without a name */
        http_refuse(h, HTTP_REFUSAL_MALFORMED);
        return -1;
    }
    if (!h->head_reported)
        http_line_take(h);
    h->name = h->value = (struct http_span){0};
    return 0;
}

static int http_on_headers_complete(llhttp_t *p)
{
    struct http *h = p->data;
    h->head.method = (llhttp_method_t)p->method;
    h->head.http_1_0 = p->http_major == 1 && p->http_minor == 0;
    h->head.keep_alive = llhttp_should_keep_alive(p) != 0;
    p->upgrade = 0; /* the router speaks no other protocol */
    enum http_refusal refusal = http_head_check(&h->head);
    if (p->method == HTTP_CONNECT || p->http_major != 1)
        refusal = HTTP_REFUSAL_MALFORMED;
    if (refusal == HTTP_REFUSAL_NONE && (p->flags & F_CONTENT_LENGTH) &&
        p->content_length > h->body_max)
        refusal = HTTP_REFUSAL_BODY;
    if (refusal == HTTP_REFUSAL_NONE)
        return HPE_PAUSED;
    http_refuse(h, refusal);
    return -1;
}

static int http_on_extension(llhttp_t *p, UNUSED const char *at, size_t size)
{
    struct http *h = p->data;
    h->header_size += size;
    if (h->header_size <= h->header_max)
        return 0;
    http_refuse(h, HTTP_REFUSAL_HEADERS);
    return -1;
}

/* Makes room in `pieces`: never more than the client has announced, and a parser's padding. */
static void http_make_room(struct http *h, size_t more)
{
    const size_t size = h->pieces.size;
    size_t room = h->pieces.capacity * PIECES_GROWTH;
    const uint64_t left = h->parser.content_length + more + BODY_PADDING;
    if (size + more <= h->pieces.capacity)
        return;
    if ((h->parser.flags & F_CONTENT_LENGTH) && room > size + left)
        room = size + left;
    buffer_reserve(&h->pieces, room > size + more ? room - size : more);
}

static int http_on_body(llhttp_t *p, const char *at, size_t size)
{
    struct http *h = p->data;
    h->lines_wrong = !http_check_lines(h, (const uint8_t *)at);
    if (h->lines_wrong)
        return -1;
    h->lines_at = (const uint8_t *)at + size;
    h->body_size += size;
    if (h->body_size > h->body_max) {
        http_refuse(h, HTTP_REFUSAL_BODY);
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
    http_make_room(h, size);
    buffer_append(&h->pieces, at, size);
    h->body = buffer_slice(&h->pieces);
    return 0;
}

static int http_on_message_complete(llhttp_t *p)
{
    struct http *h = p->data;
    h->in_request = false;
    h->fresh = h->head.keep_alive;
    return HPE_PAUSED;
}

static const llhttp_settings_t SETTINGS = {
    .on_message_begin = http_on_message_begin,
    .on_url = http_on_url,
    .on_header_field = http_on_header_field,
    .on_header_value = http_on_header_value,
    .on_header_value_complete = http_on_header_end,
    .on_headers_complete = http_on_headers_complete,
    .on_chunk_extension_name = http_on_extension,
    .on_chunk_extension_value = http_on_extension,
    .on_body = http_on_body,
    .on_message_complete = http_on_message_complete,
};

/* ---- the functions of http.h ---- */

void http_init(struct http *h, const struct config *config)
{
    *h = (struct http){.header_max = (size_t)config_http(config)->http_header_max_bytes,
                       .body_max = (size_t)config_http(config)->http_body_max_bytes,
                       .fresh = true,
                       .line_last = '\n'};
    llhttp_init(&h->parser, HTTP_REQUEST, &SETTINGS);
    h->parser.data = h;
}

void http_deinit(struct http *h)
{
    buffer_deinit(&h->pieces);
    buffer_deinit(&h->head.text);
}

static enum http_event http_refused_event(struct http *h)
{
    h->fresh = false;
    http_refuse(h, HTTP_REFUSAL_MALFORMED);
    return HTTP_EVENT_REFUSED;
}

/* NULL: a callback has refused the request, or the fault has no name. */
static const char *http_fault_text(llhttp_errno_t error)
{
    static const char *const texts[] = {
        [HPE_INVALID_VERSION] = "its version is not HTTP/1.1 or HTTP/1.0",
        [HPE_INVALID_METHOD] = "its method is unknown",
        [HPE_INVALID_HEADER_TOKEN] = "a header line has an invalid byte",
        [HPE_INVALID_CONTENT_LENGTH] = "its Content-Length is not a number below 2^64",
        [HPE_UNEXPECTED_CONTENT_LENGTH] =
            "it has two Content-Length, or one beside Transfer-Encoding",
        [HPE_INVALID_TRANSFER_ENCODING] = "its Transfer-Encoding does not end with chunked",
        [HPE_INVALID_CHUNK_SIZE] = "the size of a chunk is not a hexadecimal number below 2^64",
    };
    return (size_t)error < COUNT_OF(texts) ? texts[error] : NULL;
}

static enum http_event http_event_of(struct http *h, llhttp_errno_t error)
{
    if (error == HPE_OK)
        return HTTP_EVENT_MORE;
    if (error != HPE_PAUSED) {
        const char *why = http_fault_text(error);
        if (why != NULL && !h->head.malformed)
            h->head.why = why;
        return http_refused_event(h);
    }
    llhttp_resume(&h->parser);
    if (h->in_request) {
        h->head_reported = true;
        h->due = true;
        return HTTP_EVENT_HEADERS;
    }
    http_request_end(h);
    return HTTP_EVENT_REQUEST;
}

/* The request is incomplete, and the caller drops the bytes: copies the body so far. */
static void http_keep_pieces(struct http *h)
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
    if (!h->lines_wrong && !http_check_lines(h, end)) {
        h->head.why = NULL; /* of a line behind the fault */
        return http_refused_event(h);
    }
    enum http_event event = http_event_of(h, error);
    if (event == HTTP_EVENT_MORE)
        http_keep_pieces(h);
    return event;
}

uint64_t http_body_announced(const struct http *h)
{
    if (h->plain_body > 0)
        return h->plain_body;
    return (h->parser.flags & F_CONTENT_LENGTH) ? h->parser.content_length : 0;
}

void http_drop_head(struct http *h)
{
    if (h->refusal == HTTP_REFUSAL_MALFORMED || h->refusal == HTTP_REFUSAL_HEADERS)
        http_head_clear(&h->head);
}

void http_drop_body(struct http *h)
{
    h->body = slice_make(NULL, 0);
    buffer_deinit(&h->pieces);
}
