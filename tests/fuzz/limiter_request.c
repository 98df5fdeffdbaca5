/* limiter_request.c - requests below /limiter/v1 into a router with a fake cluster.
 *
 * The first byte names the endpoint, the rest is the body, or the query. Whatever it holds, there
 * is one answer with a status that docs/limiter-api.yaml has, and a body that is JSON, or none.
 * Seeds: tests/fuzz/seeds/limiter_request. */
#include <stdlib.h>

#include "base/must.h"
#include "base/settings/requests.h"
#include "router/json/json.h"
#include "tests/support/fake_cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const char *method;
    const char *path;
} ENDPOINTS[] = {
    {"POST", "acquire"},    {"POST", "consume"},  {"POST", "adjust"},   {"POST", "release"},
    {"POST", "commit"},     {"POST", "rollback"}, {"PUT", "limits"},    {"PUT", "entities"},
    {"POST", "reset"},      {"GET", "check"},     {"GET", "available"}, {"GET", "time-until"},
    {"GET", "capacity"},    {"GET", "limits"},    {"DELETE", "limits"}, {"GET", "entities"},
    {"DELETE", "entities"}, {"GET", "status"},    {"GET", "top"}};

enum {
    ENDPOINTS_COUNT = sizeof ENDPOINTS / sizeof ENDPOINTS[0]
};

#define LIMITS                                                                  \
    "{\"limits\":[{\"name\":\"rpm\",\"capacity\":5,\"refill_period_ms\":1000}," \
    "{\"name\":\"tpm\",\"capacity\":100,\"refill_amount\":7,\"refill_period_ms\":60000}]}"

static void send(struct fake_cluster *f, const char *method, const char *path, struct slice text)
{
    const bool query = method[0] != 'P';
    struct buffer b = {0};
    buffer_append_format(&b, "%s /limiter/v1/%s", method, path);
    if (query) {
        buffer_append_u8(&b, '?');
        for (size_t i = 0; i < text.size; i++) { /* what a target may hold */
            if (text.data[i] > ' ' && text.data[i] < 0x7f && text.data[i] != '#')
                buffer_append_u8(&b, text.data[i]);
        }
    }
    buffer_append_text(&b, " HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\n");
    if (!query)
        buffer_append_format(&b, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                             text.size);
    buffer_append_text(&b, "\r\n");
    if (!query)
        buffer_append_slice(&b, text);
    fake_send(f, 1, buffer_slice(&b));
    buffer_deinit(&b);
    fake_advance_ms(f, config_requests(&f->config)->request_deadline_ms);
}

static void must_be_an_answer(struct fake_answer a)
{
    static const int STATUSES[] = {200, 204, 400, 403, 404, 409, 414, 429, 431};
    struct buffer padded = {0};
    struct json_value root;
    bool known = false;
    for (size_t i = 0; i < sizeof STATUSES / sizeof STATUSES[0]; i++)
        known |= a.status == STATUSES[i];
    must(known);
    if (a.body.size == 0)
        return;
    struct json_parser *parser = json_parser_create();
    buffer_append_slice(&padded, a.body);
    memset(buffer_reserve(&padded, JSON_PADDING), 0, JSON_PADDING);
    must(json_parse(parser, slice_make(padded.data, a.body.size), &root) == STATUS_OK);
    must(root.type == JSON_OBJECT);
    json_parser_destroy(parser);
    buffer_deinit(&padded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct fake_cluster f;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "weir-limiter", "PK", ATTR_STRING, "SK", ATTR_STRING, 2);
    fake_open(&f, 1);
    send(&f, "PUT", "limits", slice_of(LIMITS));
    must(fake_take_answer(&f, 1).status == 200);
    const size_t at = data[0] % ENDPOINTS_COUNT;
    send(&f, ENDPOINTS[at].method, ENDPOINTS[at].path, slice_make(data + 1, size - 1));
    must_be_an_answer(fake_take_answer(&f, 1));
    fake_deinit(&f);
    return 0;
}
