/* request_body.c - bodies of well-formed DynamoDB requests into a router with a cluster of paper:
 * JSON, shapes, values, key conditions, every operation.
 *
 * The first byte names the operation, the rest is the body. Whatever it holds, there is one answer,
 * with a status the service has. Seeds: tests/fuzz/seeds/request_body. */
#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"
#include "tests/support/fake_cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const operations[] = {
    "CreateTable", "DescribeTable", "ListTables", "UpdateTable",  "DeleteTable",
    "PutItem",     "GetItem",       "DeleteItem", "BatchGetItem", "BatchWriteItem",
    "Query",       "Scan",          "UpdateItem", "Nothing",
};

enum {
    OPERATIONS = sizeof operations / sizeof operations[0]
};

static void must_be_an_answer(struct slice received)
{
    static const char *const starts[] = {"HTTP/1.1 200 ", "HTTP/1.1 400 ", "HTTP/1.1 413 ",
                                         "HTTP/1.1 500 ", "HTTP/1.1 503 "};
    bool known = false;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        known |= slice_starts_with(received, slice_of(starts[i]));
    must(known);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct slice body = slice_make(data + 1, size - 1);
    struct buffer request = {0};
    buffer_append_format(
        &request,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-amz-json-1.0\r\n"
        "X-Amz-Target: DynamoDB_20120810.%s\r\nContent-Length: %zu\r\n\r\n",
        operations[data[0] % OPERATIONS], body.size);
    buffer_append_slice(&request, body);
    struct fake_cluster f;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 2);
    fake_table(&f, "events", "who", ATTR_STRING, "n", ATTR_NUMBER, 3)->whole_collections = true;
    fake_open(&f, 1);
    fake_send(&f, 1, buffer_slice(&request));
    fake_advance_ms(&f, f.config.request_deadline_ms);
    must_be_an_answer(buffer_slice(&f.clients[1].received));
    fake_deinit(&f);
    buffer_deinit(&request);
    return 0;
}
