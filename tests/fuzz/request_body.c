/* request_body.c - bodies of well-formed DynamoDB requests into a router with a fake cluster:
 * JSON, shapes, values, key conditions, every operation.
 *
 * The first byte names the operation, the rest is the body. Whatever it holds, there is one whole
 * answer and nothing behind it: 200 with a JSON object or, for a change of tags, nothing; or 400
 * with the service's words for what is wrong. No node fails here and no budget is short, so neither
 * 500 nor 503 can be right. Seeds: tests/fuzz/seeds/request_body. */
#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"
#include "base/settings/requests.h"
#include "router/json/json.h"
#include "tests/support/fake_cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const operations[] = {
    "CreateTable",
    "DescribeTable",
    "ListTables",
    "UpdateTable",
    "DeleteTable",
    "PutItem",
    "GetItem",
    "DeleteItem",
    "BatchGetItem",
    "BatchWriteItem",
    "Query",
    "Scan",
    "UpdateItem",
    "Nothing",
    "TagResource",
    "UntagResource",
    "ListTagsOfResource",
    "DescribeTimeToLive",
    "UpdateTimeToLive",
    "UpdateContinuousBackups",
    "GetResourcePolicy",
    "DescribeContributorInsights",
    "ListBackups",
    "DescribeGlobalTable",
    "DescribeLimits",
    "DescribeEndpoints",
    "DescribeContinuousBackups",
    "ListContributorInsights",
    "DescribeKinesisStreamingDestination",
    "DescribeTableReplicaAutoScaling",
    "ListExports",
    "ListImports",
    "ListGlobalTables",
    "DescribeGlobalTableSettings",
    "ExecuteStatement",
    "BatchExecuteStatement",
};

enum {
    OPERATIONS = sizeof operations / sizeof operations[0]
};

/* A table with two global indexes, one of them by several attributes. */
#define GAMES                                                                                 \
    "{\"TableName\":\"games\",\"BillingMode\":\"PAY_PER_REQUEST\",\"AttributeDefinitions\":[" \
    "{\"AttributeName\":\"p\",\"AttributeType\":\"S\"},"                                      \
    "{\"AttributeName\":\"a\",\"AttributeType\":\"S\"},"                                      \
    "{\"AttributeName\":\"n\",\"AttributeType\":\"N\"}],"                                     \
    "\"KeySchema\":[{\"AttributeName\":\"p\",\"KeyType\":\"HASH\"}],"                         \
    "\"GlobalSecondaryIndexes\":["                                                            \
    "{\"IndexName\":\"one\",\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"}],"  \
    "\"Projection\":{\"ProjectionType\":\"KEYS_ONLY\"}},"                                     \
    "{\"IndexName\":\"two\",\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"},"   \
    "{\"AttributeName\":\"n\",\"KeyType\":\"HASH\"},"                                         \
    "{\"AttributeName\":\"p\",\"KeyType\":\"RANGE\"}],"                                       \
    "\"Projection\":{\"ProjectionType\":\"ALL\"}}]}"

/* The body, if the head is whole and tells its size. */
static struct slice body_of(struct slice received)
{
    static const char end[] = "\r\n\r\n", name[] = "\r\nContent-Length: ";
    const uint8_t *at = memmem(received.data, received.size, end, sizeof end - 1);
    must(at != NULL);
    const uint8_t *length =
        memmem(received.data, (size_t)(at - received.data), name, sizeof name - 1);
    must(length != NULL);
    struct slice body = {at + sizeof end - 1, 0};
    body.size = received.size - (size_t)(body.data - received.data);
    must(strtoull((const char *)length + sizeof name - 1, NULL, 10) == body.size);
    return body;
}

static void must_be_an_answer(struct slice received, bool may_be_empty)
{
    bool ok = slice_starts_with(received, slice_of("HTTP/1.1 200 "));
    must(ok || slice_starts_with(received, slice_of("HTTP/1.1 400 ")));
    struct json_value root;
    struct slice body = body_of(received);
    if (ok && may_be_empty && body.size == 0)
        return;
    struct json_parser *parser = json_parser_create();
    struct buffer padded = {0};
    buffer_append_slice(&padded, body);
    memset(buffer_reserve(&padded, JSON_PADDING), 0, JSON_PADDING);
    must(json_parse(parser, slice_make(padded.data, body.size), &root) == STATUS_OK);
    must(root.type == JSON_OBJECT);
    struct json_cursor members = json_members(&root);
    struct slice name;
    struct json_value value;
    bool typed = false;
    while (json_next_member(&members, &name, &value))
        typed |= slice_is(name, "__type") && value.type == JSON_STRING;
    must(ok ? !typed : typed);
    json_parser_destroy(parser);
    buffer_deinit(&padded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const char *operation = operations[data[0] % OPERATIONS];
    struct slice body = slice_make(data + 1, size - 1);
    struct buffer request = {0};
    buffer_append_format(
        &request,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-amz-json-1.0\r\n"
        "X-Amz-Target: DynamoDB_20120810.%s\r\nContent-Length: %zu\r\n\r\n",
        operation, body.size);
    buffer_append_slice(&request, body);
    struct fake_cluster f;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 2);
    fake_table(&f, "events", "who", ATTR_STRING, "n", ATTR_NUMBER, 3)->whole_collections = true;
    must(fake_call(&f, "CreateTable", GAMES).status == 200);
    fake_send(&f, 1, buffer_slice(&request));
    fake_advance_ms(&f, config_requests(&f.config)->request_deadline_ms);
    bool tags = strstr(operation, "agResource") != NULL; /* Tag.. and Untag.. */
    must_be_an_answer(buffer_slice(&f.clients[1].received), tags);
    fake_deinit(&f);
    buffer_deinit(&request);
    return 0;
}
