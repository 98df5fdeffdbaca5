/* request_parts_test.c - what a router tells of an answered request, and the records made of it. */
#include "tests/check.h"

#include "cmd/request_parts.h"
#include "tests/support/fake_cluster.h"
#include "workload/trace_reader.h"

static struct fake_cluster f;
static struct request_parts parts;
static struct buffer lines; /* lines of all records so far */

static void answered(void *context, const struct router_answer *a)
{
    struct router_answer left = *a;
    struct router_part part;
    struct trace_record r;
    struct buffer key = {0};
    (void)context;
    while (router_answer_next(&left, &part)) {
        request_parts_take(&parts, &part, &r, &key, &lines);
        trace_append_line(&lines, 0, &r, buffer_slice(&key), NULL);
    }
    buffer_deinit(&key);
}

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    f.answered = answered;
    request_parts_init(&parts);
    buffer_clear(&lines);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 4);
    fake_table(&f, "events", "who", ATTR_STRING, "n", ATTR_NUMBER, 2);
    fake_table(&f, "blobs", "b", ATTR_BINARY, NULL, 0, 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    request_parts_deinit(&parts);
    buffer_deinit(&lines);
    return 0;
}

FIXTURE(start, stop)

/* The request is recorded as these lines, and each is a line of a trace. */
static void expect_lines(const char *operation, const char *body, const char *expected)
{
    struct trace_reader reader = {.format = TRACE_WEIR};
    struct trace_record r;
    enum trace_line what;
    struct buffer error = {0};
    buffer_clear(&lines);
    fake_call(&f, operation, body);
    buffer_append_u8(&lines, 0);
    assert_string_equal((const char *)lines.data, expected);
    struct slice rest = slice_of(expected);
    while (rest.size > 0)
        assert_int_equal(trace_reader_line(&reader, slice_cut(&rest, '\n'), &what, &r, &error),
                         STATUS_OK);
}

TEST(items_have_their_kind_key_size_and_outcome)
{
    expect_lines("PutItem", "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a b\"}}}",
                 "table 0 users\n0 0 0 u ka%20b 5 a\n");
    expect_lines("GetItem", "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a b\"}}}",
                 "0 0 0 r ka%20b 5 a\n");
    expect_lines("GetItem",
                 "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"none\"}},"
                 "\"ConsistentRead\":true}",
                 "0 0 0 R knone 0 a\n");
    expect_lines(
        "PutItem",
        "{\"TableName\":\"events\",\"Item\":{\"who\":{\"S\":\"x\"},\"n\":{\"N\":\"-1.50\"}}}",
        "table 1 events\n0 1 0 u kx%00-1.5 9 a\n");
    expect_lines("PutItem", "{\"TableName\":\"blobs\",\"Item\":{\"b\":{\"B\":\"AP8=\"}}}",
                 "table 2 blobs\n0 2 0 u k%00%ff 3 a\n");
    expect_lines("DeleteItem", "{\"TableName\":\"blobs\",\"Key\":{\"b\":{\"B\":\"AP8=\"}}}",
                 "0 2 0 d k%00%ff 3 a\n");
}

TEST(a_write_of_unknown_size_has_what_it_paid_for)
{
    expect_lines("UpdateItem", "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"u\"}}}",
                 "table 0 users\n0 0 0 u ku 1024 a\n");
    expect_lines("UpdateItem",
                 "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"u\"}},"
                 "\"ReturnValues\":\"ALL_NEW\"}",
                 "0 0 0 u ku 3 a\n");
    expect_lines("UpdateItem", "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"u\"}}}",
                 "0 0 0 u ku 3 a\n");
    expect_lines("DeleteItem",
                 "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"u\"}},"
                 "\"ReturnValues\":\"ALL_OLD\"}",
                 "0 0 0 d ku 3 a\n");
}

TEST(a_refused_request_has_the_size_that_is_known)
{
    static const char GET[] = "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}";
    static const char OTHER[] = "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"b\"}}}";
    fake_call(
        &f, "PutItem",
        "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"v\":{\"S\":\"0123456\"}}}");
    f.fail_code = REPLY_THROTTLED;
    f.fail_reason = ADMIT_REFUSED_ALLOCATION;
    f.fail_count = 1;
    expect_lines("GetItem", GET, "0 0 0 r ka 11 t\n");
    expect_lines("GetItem", GET, "0 0 0 r ka 11 a\n");
    f.fail_count = 1;
    expect_lines("GetItem", OTHER, "0 0 0 r kb 11 t\n"); /* the mean of the table's reads */
    f.fail_count = 1;
    expect_lines("PutItem", "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"b\"}}}",
                 "0 0 0 u kb 3 t\n");
    expect_lines("PutItem",
                 "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"b\"}},"
                 "\"ConditionExpression\":\"attribute_exists(id)\"}",
                 "0 0 0 u kb 3 a\n"); /* it does not hold, and was charged */
    f.fail_code = REPLY_FULL;
    f.fail_count = 1;
    expect_lines("PutItem", "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"b\"}}}",
                 "0 0 0 u kb 3 f\n");
}

TEST(each_item_of_a_batch_is_a_record)
{
    expect_lines("BatchWriteItem",
                 "{\"RequestItems\":{\"users\":[{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"a\"}}}},"
                 "{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"b\"}}}}]}}",
                 "table 0 users\n0 0 0 u kb 3 a\n0 0 0 u ka 3 a\n");
    f.fail_code = REPLY_THROTTLED;
    f.fail_reason = ADMIT_REFUSED_ALLOCATION;
    f.fail_count = 1;
    expect_lines("BatchGetItem",
                 "{\"RequestItems\":{\"users\":{\"Keys\":[{\"id\":{\"S\":\"a\"}},"
                 "{\"id\":{\"S\":\"b\"}}]}}}",
                 "0 0 0 r kb 3 a\n0 0 0 r ka 3 t\n");
}

TEST(a_part_that_fails_has_an_outcome_of_its_own)
{
    fake_call(&f, "GetItem", "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}");
    f.hold = true;
    buffer_clear(&lines);
    fake_call(&f, "BatchGetItem",
              "{\"RequestItems\":{\"users\":{\"Keys\":[{\"id\":{\"S\":\"a\"}},"
              "{\"id\":{\"S\":\"b\"}}]}}}");
    assert_int_equal(f.held_count, 2);
    assert_int_equal(lines.size, 0);
    fake_answer_code(&f, 0, REPLY_CORRUPT);
    assert_int_equal(lines.size, 0);
    fake_answer(&f, 0);
    buffer_append_u8(&lines, 0);
    assert_string_equal((const char *)lines.data, "0 0 0 r kb 0 a\n0 0 0 r ka 0 f\n");
}

TEST(ranges_have_the_items_that_were_read)
{
    static const char QUERY[] = "{\"TableName\":\"events\",\"KeyConditionExpression\":\"who = :w\","
                                "\"ExpressionAttributeValues\":{\":w\":{\"S\":\"x\"}}}";
    fake_call(&f, "PutItem",
              "{\"TableName\":\"events\",\"Item\":{\"who\":{\"S\":\"x\"},\"n\":{\"N\":\"1\"}}}");
    fake_call(&f, "PutItem",
              "{\"TableName\":\"events\",\"Item\":{\"who\":{\"S\":\"x\"},\"n\":{\"N\":\"2\"}}}");
    expect_lines("Query", QUERY, "0 0 0 s kx 7 a 2\n");
    f.fail_code = REPLY_THROTTLED;
    f.fail_reason = ADMIT_REFUSED_ALLOCATION;
    f.fail_count = 1;
    expect_lines("Query", QUERY, "0 0 0 s kx 7 t 2\n");
    expect_lines("Scan", "{\"TableName\":\"blobs\",\"ConsistentRead\":true}",
                 "table 1 blobs\n0 1 0 S kscan-0000000000000000 0 a 1\n");
}

/* Catalog requests, and what is refused before an item is asked for. */
TEST(other_requests_are_not_recorded)
{
    expect_lines("ListTables", "{}", "");
    expect_lines("DescribeTable", "{\"TableName\":\"users\"}", "");
    expect_lines("GetItem", "{\"TableName\":\"users\",\"Key\":{\"no\":{\"S\":\"a\"}}}", "");
    expect_lines("GetItem", "{\"TableName\":\"nobody\",\"Key\":{\"id\":{\"S\":\"a\"}}}", "");
}
