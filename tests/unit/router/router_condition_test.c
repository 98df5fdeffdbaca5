#include "tests/check.h"

#include "tests/support/expect.h"

static struct fake_cluster f;

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 2);
    fake_table(&f, "events", "who", ATTR_STRING, "at", ATTR_NUMBER, 2);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

static void expect(const char *operation, const char *request, const char *body)
{
    expect_call(&f, operation, request, 200, body);
}

static void expect_failed(const char *operation, const char *request)
{
    expect_fault(&f, operation, request, "ConditionalCheckFailedException",
                 "The conditional request failed");
}

TEST(a_put_with_a_condition_that_fails_changes_nothing)
{
    static const char FIRST[] =
        "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}},"
        "\"ConditionExpression\":\"attribute_not_exists(id)\"}";
    static const char SECOND[] =
        "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"2\"}},"
        "\"ConditionExpression\":\"n = "
        ":old\",\"ExpressionAttributeValues\":{\":old\":{\"N\":\"%d\"}}}";
    char request[512];
    expect("PutItem", FIRST, "{}");
    expect_failed("PutItem", FIRST);
    snprintf(request, sizeof request, SECOND, 7);
    expect_failed("PutItem", request);
    expect("GetItem", "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}",
           "{\"Item\":{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}}}");
    snprintf(request, sizeof request, SECOND, 1);
    expect("PutItem", request, "{}");
    expect("GetItem", "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}",
           "{\"Item\":{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"2\"}}}");
}

TEST(a_delete_sees_names_and_values_in_its_condition)
{
    static const char DELETE[] =
        "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}},\"ReturnValues\":\"ALL_OLD\","
        "\"ConditionExpression\":\"#l[1].#s = :v AND size(#l) > :n\","
        "\"ExpressionAttributeNames\":{\"#l\":\"list\",\"#s\":\"size\"},"
        "\"ExpressionAttributeValues\":{\":v\":{\"S\":\"%s\"},\":n\":{\"N\":\"1\"}}}";
    static const char ITEM[] = "{\"id\":{\"S\":\"a\"},\"list\":{\"L\":[{\"S\":\"x\"},{\"M\":{"
                               "\"size\":{\"S\":\"big\"}}}]}}";
    char request[1024], answer[512];
    snprintf(request, sizeof request, DELETE, "big");
    expect_failed("DeleteItem", request);
    snprintf(request, sizeof request, "{\"TableName\":\"users\",\"Item\":%s}", ITEM);
    expect("PutItem", request, "{}");
    snprintf(request, sizeof request, DELETE, "small");
    expect_failed("DeleteItem", request);
    assert_int_equal(f.item_count, 1);
    snprintf(request, sizeof request, DELETE, "big");
    snprintf(answer, sizeof answer, "{\"Attributes\":%s}", ITEM);
    expect("DeleteItem", request, answer);
    assert_int_equal(f.item_count, 0);
}

TEST(a_failed_condition_shows_the_item_if_asked)
{
    static const char PUT[] =
        "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"}},"
        "\"ConditionExpression\":\"attribute_exists(v)\",\"ReturnValuesOnConditionCheckFailure\":"
        "\"%s\"}";
    static const char FAULT[] =
        "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException\","
        "\"message\":\"The conditional request failed\"%s}";
    char request[512], answer[512];
    snprintf(request, sizeof request, PUT, "ALL_OLD");
    snprintf(answer, sizeof answer, FAULT, "");
    expect_call(&f, "PutItem", request, 400, answer);
    expect("PutItem",
           "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}}}", "{}");
    snprintf(answer, sizeof answer, FAULT, ",\"Item\":{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}}");
    expect_call(&f, "PutItem", request, 400, answer);
    snprintf(request, sizeof request, PUT, "NONE");
    snprintf(answer, sizeof answer, FAULT, "");
    expect_call(&f, "PutItem", request, 400, answer);
    snprintf(request, sizeof request, PUT, "ALL_NEW");
    expect_invalid(&f, "PutItem", request,
                   "1 validation error detected: Value 'ALL_NEW' at "
                   "'returnValuesOnConditionCheckFailure' failed to satisfy constraint: Member "
                   "must satisfy enum value set: [ALL_OLD, NONE]");
}

TEST(an_expression_is_checked_before_the_table_is_looked_up)
{
    expect_invalid(
        &f, "PutItem", "{\"TableName\":\"nowhere\",\"Item\":{},\"ConditionExpression\":\"a\"}",
        "Invalid ConditionExpression: Syntax error; token: \\\"<EOF>\\\", near: \\\"a\\\"");
    expect_invalid(
        &f, "PutItem",
        "{\"TableName\":\"nowhere\",\"Item\":{},\"ConditionExpression\":\"size(size(a)) = b\"}",
        "Invalid ConditionExpression: Incorrect operand type for operator or function; "
        "operator or function: size, operand type: N");
    expect_fault(&f, "PutItem",
                 "{\"TableName\":\"nowhere\",\"Item\":{},\"ConditionExpression\":\"a = b\"}",
                 "ResourceNotFoundException", "Requested resource not found");
}

TEST(a_failed_condition_gives_the_tables_capacity_no_answer)
{
    expect_failed(
        "DeleteItem",
        "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}},"
        "\"ReturnConsumedCapacity\":\"TOTAL\",\"ConditionExpression\":\"attribute_exists(id)\"}");
    expect("DeleteItem",
           "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}},"
           "\"ReturnConsumedCapacity\":\"TOTAL\",\"ConditionExpression\":\"attribute_not_exists(id)"
           "\"}",
           "{\"ConsumedCapacity\":{\"TableName\":\"users\",\"CapacityUnits\":1.0}}");
}

/* A value of 300,000 bytes in each of eight comparisons. */
TEST(a_program_of_large_values_is_refused)
{
    struct buffer b = {0};
    buffer_append_text(&b, "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}},"
                           "\"ConditionExpression\":\"a = :v OR b = :v OR c = :v OR d = :v OR e = "
                           ":v OR f = :v OR g = :v OR h = :v\",\"ExpressionAttributeValues\":{"
                           "\":v\":{\"S\":\"");
    memset(buffer_reserve(&b, 300000), 'x', 300000);
    b.size += 300000;
    buffer_append_text(&b, "\"}}}");
    buffer_append_u8(&b, 0);
    expect_invalid(&f, "DeleteItem", (const char *)b.data,
                   "The values of an expression have more than 2097152 bytes");
    buffer_deinit(&b);
}
