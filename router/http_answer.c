/* http_answer.c - the answers: header lines in front of a body that is already there. */
#include <zlib.h>

#include "router/gzip.h"
#include "router/http.h"

enum {
    /* A smaller body is not worth the time: it fits a few packets anyway. */
    GZIP_SIZE_MIN = 8192,
};

static const char *reason_of(int status)
{
    switch (status) {
    case 200:
        return "200 OK";
    case 404:
        return "404 Not Found";
    case 408:
        return "408 Request Timeout";
    case 413:
        return "413 Payload Too Large";
    case 431:
        return "431 Request Header Fields Too Large";
    case 500:
        return "500 Internal Server Error";
    case 503:
        return "503 Service Unavailable";
    default:
        return "400 Bad Request";
    }
}

#define APPEND(out, text) buffer_append(out, text, sizeof text - 1)

static void write_head(struct buffer *out, const struct http_answer *a, struct slice body,
                       bool packed)
{
    APPEND(out, "HTTP/1.1 ");
    buffer_append_text(out, reason_of(a->status));
    APPEND(out, "\r\nx-amzn-RequestId: ");
    buffer_append(out, a->request_id, HTTP_REQUEST_ID_SIZE);
    APPEND(out, "\r\nx-amz-crc32: ");
    buffer_append_decimal(out, crc32_z(0, body.data, body.size));
    APPEND(out, "\r\nContent-Type: ");
    buffer_append_text(out, a->type);
    if (packed)
        APPEND(out, "\r\nContent-Encoding: gzip");
    if (!a->keep_alive)
        APPEND(out, "\r\nConnection: close");
    else if (a->http_1_0)
        APPEND(out, "\r\nConnection: keep-alive");
    APPEND(out, "\r\nContent-Length: ");
    buffer_append_decimal(out, body.size);
    APPEND(out, "\r\n\r\n");
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
