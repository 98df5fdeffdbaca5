/* http_answer.c - the answers: header lines in front of a body that is already there. */
#include <libdeflate.h>

#include "router/gzip.h"
#include "router/http.h"

enum {
    /* A smaller body is not worth the time: it fits a few packets anyway. */
    GZIP_SIZE_MIN = 8192,
};

static struct slice reason_of(int status)
{
    switch (status) {
    case 200:
        return slice_of("200 OK");
    case 404:
        return slice_of("404 Not Found");
    case 408:
        return slice_of("408 Request Timeout");
    case 413:
        return slice_of("413 Payload Too Large");
    case 431:
        return slice_of("431 Request Header Fields Too Large");
    case 500:
        return slice_of("500 Internal Server Error");
    case 503:
        return slice_of("503 Service Unavailable");
    default:
        return slice_of("400 Bad Request");
    }
}

static void write_head(struct buffer *out, const struct http_answer *a, struct slice body,
                       bool packed)
{
    enum {
        SIZE_MAX_BUT_TYPE = 384
    };
    const struct slice type = slice_of(a->type);
    uint8_t *at = buffer_reserve(out, SIZE_MAX_BUT_TYPE + type.size);
    at = put_bytes(put_text(at, "HTTP/1.1 "), reason_of(a->status));
    at = put_text(at, "\r\nx-amzn-RequestId: ");
    at = put_bytes(at, slice_make(a->request_id, HTTP_REQUEST_ID_SIZE));
    at = put_text(at, "\r\nx-amz-crc32: ");
    at = put_decimal(at, libdeflate_crc32(0, body.data, body.size));
    at = put_bytes(put_text(at, "\r\nContent-Type: "), type);
    if (packed)
        at = put_text(at, "\r\nContent-Encoding: gzip");
    if (!a->keep_alive)
        at = put_text(at, "\r\nConnection: close");
    else if (a->http_1_0)
        at = put_text(at, "\r\nConnection: keep-alive");
    at = put_decimal(put_text(at, "\r\nContent-Length: "), body.size);
    buffer_end(out, put_text(at, "\r\n\r\n"));
}

void http_write_answer(struct buffer *out, const struct http_answer *a)
{
    struct buffer packed = {0};
    struct slice body = a->body;
    bool pack = a->gzip && body.size >= GZIP_SIZE_MIN;
    if (pack) {
        gzip_pack(&packed, body);
        body = buffer_slice(&packed);
    }
    write_head(out, a, body, pack);
    if (!a->head_only)
        buffer_append_slice(out, body);
    buffer_deinit(&packed);
}
