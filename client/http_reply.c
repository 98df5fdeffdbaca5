/* http_reply.c - see http_reply.h. An answer is small: what has come is read anew with each piece.
 * */
#include "client/http_reply.h"

#include <strings.h>

enum {
    LENGTH_UNKNOWN = -1,
    STATUS_PLACE = 9, /* in "HTTP/1.1 200" */
    STATUS_SIZE = 3
};

struct http_reply_head {
    size_t size;
    int status;
    int64_t length;
    bool chunked, closes;
};

void http_reply_clear(struct http_reply *r)
{
    buffer_clear(&r->raw);
    buffer_clear(&r->body);
    r->status = 0;
    r->keeps = false;
}

void http_reply_deinit(struct http_reply *r)
{
    buffer_deinit(&r->raw);
    buffer_deinit(&r->body);
}

/* The bytes up to the next CR LF; `rest` moves behind. False: it is not there. */
static bool http_reply_line(struct slice *rest, struct slice *line)
{
    const void *found = rest->size == 0 ? NULL : memmem(rest->data, rest->size, "\r\n", 2);
    if (found == NULL)
        return false;
    *line = slice_make(rest->data, (size_t)((const uint8_t *)found - rest->data));
    *rest = slice_make(rest->data + line->size + 2, rest->size - line->size - 2);
    return true;
}

static bool http_reply_is(struct slice text, const char *word)
{
    return text.size == strlen(word) && strncasecmp((const char *)text.data, word, text.size) == 0;
}

/* False: two lengths, or none that is a number. */
static bool http_reply_take_header(struct http_reply_head *head, struct slice line)
{
    struct slice value = line;
    const struct slice name = slice_cut(&value, ':');
    value = slice_trimmed(value);
    if (http_reply_is(name, "content-length")) {
        const int64_t length = slice_number(value);
        const bool again = head->length != LENGTH_UNKNOWN && head->length != length;
        head->length = length;
        return length >= 0 && !again;
    }
    if (http_reply_is(name, "transfer-encoding")) {
        head->chunked = http_reply_is(value, "chunked");
        return head->chunked;
    }
    if (http_reply_is(name, "connection") && http_reply_is(value, "close"))
        head->closes = true;
    return true;
}

static enum http_reply_state http_reply_read_head(struct slice raw, struct http_reply_head *head)
{
    struct slice rest = raw, line;
    *head = (struct http_reply_head){.length = LENGTH_UNKNOWN};
    if (!http_reply_line(&rest, &line))
        return raw.size > HTTP_REPLY_HEAD_MAX ? HTTP_REPLY_BROKEN : HTTP_REPLY_MORE;
    if (line.size < STATUS_PLACE + STATUS_SIZE || memcmp(line.data, "HTTP/1.", 7) != 0)
        return HTTP_REPLY_BROKEN;
    head->status = (int)slice_number(slice_make(line.data + STATUS_PLACE, STATUS_SIZE));
    head->closes = line.data[7] == '0';
    if (head->status < 100)
        return HTTP_REPLY_BROKEN;
    while (http_reply_line(&rest, &line)) {
        head->size = raw.size - rest.size;
        if (head->size > HTTP_REPLY_HEAD_MAX)
            return HTTP_REPLY_BROKEN;
        if (line.size == 0)
            return HTTP_REPLY_WHOLE;
        if (!http_reply_take_header(head, line))
            return HTTP_REPLY_BROKEN;
    }
    return raw.size > HTTP_REPLY_HEAD_MAX ? HTTP_REPLY_BROKEN : HTTP_REPLY_MORE;
}

/* The hexadecimal number before a `;`; -1: none, or above HTTP_REPLY_BODY_MAX. */
static int64_t http_reply_chunk_size(struct slice line)
{
    struct slice rest = line;
    const struct slice digits = slice_trimmed(slice_cut(&rest, ';'));
    int64_t size = 0;
    if (digits.size == 0)
        return -1;
    for (size_t i = 0; i < digits.size && size >= 0; i++) {
        const uint8_t c = digits.data[i] | 0x20;
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        size = digit < 0 || size > HTTP_REPLY_BODY_MAX ? -1 : size * 16 + digit;
    }
    return size > HTTP_REPLY_BODY_MAX ? -1 : size;
}

/* Appends the chunks to the body; `rest` moves behind the last one and its trailer. */
static enum http_reply_state http_reply_read_chunks(struct http_reply *r, struct slice *rest)
{
    struct slice line;
    buffer_clear(&r->body);
    while (http_reply_line(rest, &line)) {
        const int64_t size = http_reply_chunk_size(line);
        if (size < 0 || r->body.size + (size_t)size > HTTP_REPLY_BODY_MAX)
            return HTTP_REPLY_BROKEN;
        if (size == 0) {
            while (http_reply_line(rest, &line))
                if (line.size == 0)
                    return HTTP_REPLY_WHOLE;
            return HTTP_REPLY_MORE;
        }
        if (rest->size < (size_t)size + 2)
            return HTTP_REPLY_MORE;
        if (memcmp(rest->data + size, "\r\n", 2) != 0)
            return HTTP_REPLY_BROKEN;
        buffer_append(&r->body, rest->data, (size_t)size);
        *rest = slice_make(rest->data + size + 2, rest->size - (size_t)size - 2);
    }
    return HTTP_REPLY_MORE;
}

static enum http_reply_state
http_reply_read_body(struct http_reply *r, const struct http_reply_head *head, struct slice *rest)
{
    if (head->status == 204 || head->status == 304)
        return HTTP_REPLY_WHOLE;
    if (head->chunked)
        return head->length != LENGTH_UNKNOWN ? HTTP_REPLY_BROKEN : http_reply_read_chunks(r, rest);
    if (head->length == LENGTH_UNKNOWN || head->length > HTTP_REPLY_BODY_MAX)
        return HTTP_REPLY_BROKEN;
    if (rest->size < (size_t)head->length)
        return HTTP_REPLY_MORE;
    buffer_clear(&r->body);
    buffer_append(&r->body, rest->data, (size_t)head->length);
    *rest = slice_make(rest->data + head->length, rest->size - (size_t)head->length);
    return HTTP_REPLY_WHOLE;
}

enum http_reply_state http_reply_feed(struct http_reply *r, struct slice bytes)
{
    struct http_reply_head head;
    if (r->raw.size + bytes.size > HTTP_REPLY_HEAD_MAX + 2 * HTTP_REPLY_BODY_MAX)
        return HTTP_REPLY_BROKEN;
    buffer_append_slice(&r->raw, bytes);
    struct slice rest = buffer_slice(&r->raw);
    enum http_reply_state state;
    do {
        state = http_reply_read_head(rest, &head);
        if (state != HTTP_REPLY_WHOLE)
            return state;
        rest = slice_make(rest.data + head.size, rest.size - head.size);
    } while (head.status < 200); /* 1xx: the answer follows */
    state = http_reply_read_body(r, &head, &rest);
    if (state != HTTP_REPLY_WHOLE)
        return state;
    r->status = head.status;
    r->keeps = !head.closes && rest.size == 0;
    *buffer_reserve(&r->body, 1) = 0;
    return HTTP_REPLY_WHOLE;
}
