/* answer.c - writes answers: header lines, then the body. */
#include <libdeflate.h>
#include <stdio.h>
#include <time.h>

#include "router/http/http.h"

static struct slice answer_reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } REASONS[] = {{204, "204 No Content"},
                   {403, "403 Forbidden"},
                   {404, "404 Not Found"},
                   {405, "405 Method Not Allowed"},
                   {409, "409 Conflict"},
                   {415, "415 Unsupported Media Type"},
                   {429, "429 Too Many Requests"},
                   {408, "408 Request Timeout"},
                   {413, "413 Payload Too Large"},
                   {414, "414 URI Too Long"},
                   {500, "500 Internal Server Error"},
                   {501, "501 Not Implemented"},
                   {503, "503 Service Unavailable"}};
    if (status == 200)
        return slice_of("200 OK");
    for (size_t i = 0; i < COUNT_OF(REASONS); i++) {
        if (REASONS[i].status == status)
            return slice_of(REASONS[i].reason);
    }
    return slice_of("400 Bad Request");
}

/* Tells a browser which page may read the answer, and which requests the page may send. */
static void answer_write_cors(struct buffer *out, const struct http_answer *a)
{
    buffer_append_format(out,
                         "\r\nAccess-Control-Allow-Origin: %.*s\r\nVary: Origin"
                         "\r\nAccess-Control-Expose-Headers: x-amzn-RequestId, x-amz-crc32, "
                         "x-amzn-ErrorType, x-weir-throttled-by, x-weir-partition, "
                         "x-weir-retry-after-ms, x-weir-explain, x-amz-retry-after, *",
                         TEXT_OF(a->origin));
    if (a->preflight)
        buffer_append_text(out, "\r\nAccess-Control-Allow-Methods: POST"
                                "\r\nAccess-Control-Allow-Headers: authorization, content-type, "
                                "content-encoding, x-amz-target, x-amz-date, x-amz-security-token, "
                                "x-amz-content-sha256, x-amz-user-agent, x-amz-api-version, "
                                "amz-sdk-invocation-id, amz-sdk-request, *"
                                "\r\nAccess-Control-Max-Age: 600");
}

/* SDKs read x-amz-retry-after (milliseconds) only in errors. */
static void answer_write_throttle(struct buffer *out, const struct http_throttle *t, bool failed)
{
    buffer_append_format(out, "\r\nx-weir-throttled-by: %s", t->by);
    if (t->partition != 0)
        buffer_append_format(out, "\r\nx-weir-partition: %u", t->partition);
    if (t->wait_ms == 0)
        return;
    buffer_append_format(out, "\r\nx-weir-retry-after-ms: %lld", (long long)t->wait_ms);
    if (failed)
        buffer_append_format(out, "\r\nx-amz-retry-after: %lld", (long long)t->wait_ms);
}

static uint32_t answer_crc(const struct http_answer *a, struct slice body)
{
    uint32_t crc = libdeflate_crc32(0, body.data, body.size);
    for (uint32_t i = 0; a->parts != NULL && i < a->parts->count; i++)
        crc = libdeflate_crc32(crc, a->parts->at[i].data, a->parts->at[i].size);
    return crc;
}

static void answer_write_head(struct buffer *out, const struct http_answer *a, struct slice body,
                              enum content_coding coding)
{
    enum {
        SIZE_MAX_BUT_TYPE = 448
    };
    const struct slice type = slice_of(a->type);
    uint8_t *at = buffer_reserve(out, SIZE_MAX_BUT_TYPE + type.size);
    at = put_bytes(put_text(at, "HTTP/1.1 "), answer_reason_of(a->status));
    at = put_text(at, "\r\nServer: weir\r\nDate: ");
    at = put_bytes(at, slice_make(a->date, HTTP_DATE_SIZE));
    at = put_text(at, "\r\nx-amzn-RequestId: ");
    at = put_bytes(at, slice_make(a->request_id, HTTP_REQUEST_ID_SIZE));
    at = put_text(at, "\r\nx-amz-crc32: ");
    at = put_decimal(at, answer_crc(a, body));
    at = put_bytes(put_text(at, "\r\nContent-Type: "), type);
    if (coding != CODING_IDENTITY)
        at = put_text(at, coding == CODING_GZIP ? "\r\nContent-Encoding: gzip"
                                                : "\r\nContent-Encoding: deflate");
    if (!a->keep_alive)
        at = put_text(at, "\r\nConnection: close");
    else if (a->http_1_0)
        at = put_text(at, "\r\nConnection: keep-alive");
    if (a->origin.size > 0 || a->throttle != NULL || a->lines.size > 0) {
        buffer_end(out, at);
        buffer_append_slice(out, a->lines);
        if (a->throttle != NULL)
            answer_write_throttle(out, a->throttle, a->status != 200);
        if (a->origin.size > 0)
            answer_write_cors(out, a);
        at = buffer_reserve(out, SIZE_MAX_BUT_TYPE);
    }
    if (a->status != 204) /* RFC 9110 8.6 */
        at = put_decimal(put_text(at, "\r\nContent-Length: "),
                         body.size + (a->parts != NULL ? a->parts->size : 0));
    buffer_end(out, put_text(at, "\r\n\r\n"));
}

void http_date(int64_t wall_s, char out[HTTP_DATE_SIZE])
{
    static const char DAYS[] = "SunMonTueWedThuFriSat";
    static const char MONTHS[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char text[64];
    struct tm t = {0};
    time_t s = (time_t)wall_s;
    must(gmtime_r(&s, &t) != NULL);
    snprintf(text, sizeof text, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT", DAYS + t.tm_wday * 3,
             t.tm_mday, MONTHS + t.tm_mon * 3, (t.tm_year + 1900) % 10000, t.tm_hour, t.tm_min,
             t.tm_sec);
    must(strlen(text) == HTTP_DATE_SIZE);
    memcpy(out, text, HTTP_DATE_SIZE);
}

void http_write_answer(struct buffer *out, const struct http_answer *a)
{
    struct buffer packed = {0};
    struct slice body = a->body;
    enum content_coding coding = http_packs(body.size) ? a->coding : CODING_IDENTITY;
    if (coding != CODING_IDENTITY) {
        coding_pack(&packed, coding, body);
        body = buffer_slice(&packed);
    }
    answer_write_head(out, a, body, coding);
    if (!a->head_only)
        buffer_append_slice(out, body);
    buffer_deinit(&packed);
}
