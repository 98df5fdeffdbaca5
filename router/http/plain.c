/* plain.c - reads plain requests directly (docs/decisions/0012).
 *
 * A plain request is "POST / HTTP/1.1", usual header lines and a body of a given length, all in the
 * bytes at hand. This file refuses nothing: llhttp reads all other requests, malformed ones too,
 * from their first byte. */
#include "router/http/http_internal.h"

static bool plain_name(struct slice s)
{
    bool all = s.size > 0;
    for (size_t i = 0; i < s.size; i++) {
        uint8_t c = s.data[i], letter = c | 0x20;
        all &= (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9') || c == '-';
    }
    return all;
}

/* Whether all bytes are printable: at least ' ', and not 0x7F. Looks at eight bytes at a time:
 * `bad` gets the high bit of each byte that is not printable. */
static bool plain_printable(struct slice s)
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
    const int64_t number = slice_number(value);
    if (*length > 0 || number <= 0)
        return false;
    *length = (uint64_t)number;
    return true;
}

/* `start`: the first byte of the request. The head's text will be a copy that begins there. */
static bool plain_line(struct http *h, const uint8_t *start, struct slice line, uint64_t *length)
{
    const uint8_t *colon = memchr(line.data, ':', line.size), *end = line.data + line.size;
    if (colon == NULL)
        return false;
    struct slice name = slice_make(line.data, (size_t)(colon - line.data));
    const uint8_t *text = colon + 1;
    while (text < end && *text == ' ')
        text++;
    struct slice value = slice_make(text, (size_t)(end - text));
    if (value.size == 0 || end[-1] == ' ' || !plain_printable(value))
        return false;
    if (http_head_take(&h->head, name, value, (size_t)(text - start)))
        return !h->head.malformed && !h->head.chunked && !h->head.other_coding &&
               (!http_is(name, "content-length") || plain_length(value, length));
    if (http_is(name, "connection"))
        return http_is(value, "keep-alive");
    return plain_name(name) && !http_is(name, "upgrade") && !http_is(name, "proxy-connection");
}

static bool plain_head(struct http *h, struct slice bytes, size_t *taken)
{
    static const char START[] = "POST / HTTP/1.1\r\n";
    const uint8_t *at = bytes.data + sizeof START - 1, *end = bytes.data + bytes.size, *feed;
    uint64_t length = 0;
    if (bytes.size < sizeof START - 1 || memcmp(bytes.data, START, sizeof START - 1) != 0)
        return false;
    http_request_begin(h);
    while ((feed = memchr(at, '\n', (size_t)(end - at))) != NULL && feed - at > 1) {
        if (feed[-1] != '\r' || (size_t)(feed - bytes.data) > h->header_max ||
            !plain_line(h, bytes.data, slice_make(at, (size_t)(feed - 1 - at)), &length))
            return false;
        at = feed + 1;
    }
    if (feed == NULL || feed - at != 1 || *at != '\r')
        return false;
    *taken = (size_t)(feed + 1 - bytes.data);
    if (length == 0 || length > h->body_max || length > bytes.size - *taken ||
        *taken > h->header_max || !(h->head.once & HTTP_ONCE_HOST))
        return false;
    h->head.method = HTTP_POST;
    h->head.keep_alive = true;
    h->head.target = h->head.path = (struct http_span){sizeof "POST " - 1, 1};
    h->head.lines_at = sizeof START - 1;
    buffer_append(&h->head.text, bytes.data, *taken);
    h->head_reported = true;
    h->plain_body = length;
    return true;
}

bool http_plain_begins(struct http *h, struct slice bytes, size_t *taken)
{
    if (!h->fresh)
        return false;
    if (plain_head(h, bytes, taken))
        return true;
    h->fresh = true;
    h->in_request = false;
    return false;
}

enum http_event http_plain_ends(struct http *h, struct slice bytes, size_t *taken)
{
    must(bytes.size >= h->plain_body);
    *taken = h->plain_body;
    h->body_size = h->plain_body;
    if (!h->discarding)
        h->body = slice_make(bytes.data, h->plain_body);
    h->plain_body = 0;
    h->fresh = true;
    http_request_end(h);
    return HTTP_EVENT_REQUEST;
}
