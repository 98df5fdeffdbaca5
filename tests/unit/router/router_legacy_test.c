/* router_legacy_test.c - the parameters that expressions replaced: Expected, QueryFilter, .. */
#include "tests/check.h"

#include "tests/support/expect.h"

static struct fake_cluster f;

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 2);
    fake_table(&f, "events", "who", ATTR_STRING, "ts", ATTR_NUMBER, 2);
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

static const char ITEM[] =
    "{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"5\"},\"s\":{\"S\":\"hello\"},\"b\":{\"B\":\"aGVsbG8=\"},"
    "\"t\":{\"BOOL\":true},\"ns\":{\"NS\":[\"1\",\"2\"]},\"l\":{\"L\":[{\"N\":\"1\"},{\"S\":\"x\"}]"
    "},"
    "\"z\":{\"NULL\":true}}";

static void put_item(void)
{
    char request[512];
    snprintf(request, sizeof request, "{\"TableName\":\"users\",\"Item\":%s}", ITEM);
    expect("PutItem", request, "{}");
}

#define OP(name, values) "{\"ComparisonOperator\":\"" name "\",\"AttributeValueList\":[" values "]}"

/* What holds for ITEM, and what does not. */
static const struct {
    const char *attribute;
    const char *condition;
    bool holds;
} CONDITIONS[] = {
    {"n", OP("EQ", "{\"N\":\"5.0\"}"), true},
    {"n", OP("EQ", "{\"S\":\"5\"}"), false},
    {"none", OP("EQ", "{\"S\":\"5\"}"), false},
    {"t", OP("EQ", "{\"BOOL\":true}"), true},
    {"ns", OP("EQ", "{\"NS\":[\"2\",\"1\"]}"), true},
    {"l", OP("EQ", "{\"L\":[{\"N\":\"1\"},{\"S\":\"x\"}]}"), true},
    {"n", OP("NE", "{\"N\":\"5\"}"), false},
    {"n", OP("NE", "{\"S\":\"5\"}"), true},
    {"none", OP("NE", "{\"N\":\"5\"}"), true},
    {"n", OP("LT", "{\"N\":\"6\"}"), true},
    {"n", OP("LT", "{\"N\":\"5\"}"), false},
    {"n", OP("LT", "{\"S\":\"6\"}"), false},
    {"n", OP("LE", "{\"N\":\"5\"}"), true},
    {"n", OP("GT", "{\"N\":\"5\"}"), false},
    {"n", OP("GE", "{\"N\":\"5\"}"), true},
    {"none", OP("GE", "{\"N\":\"5\"}"), false},
    {"z", OP("NOT_NULL", ""), true},
    {"none", OP("NOT_NULL", ""), false},
    {"z", OP("NULL", ""), false},
    {"none", "{\"ComparisonOperator\":\"NULL\"}", true},
    {"s", OP("CONTAINS", "{\"S\":\"ell\"}"), true},
    {"ns", OP("CONTAINS", "{\"N\":\"2\"}"), true},
    {"l", OP("CONTAINS", "{\"S\":\"x\"}"), true},
    {"l", OP("CONTAINS", "{\"N\":\"2\"}"), false},
    {"none", OP("CONTAINS", "{\"N\":\"2\"}"), false},
    {"s", OP("NOT_CONTAINS", "{\"S\":\"ell\"}"), false},
    {"s", OP("NOT_CONTAINS", "{\"S\":\"elk\"}"), true},
    {"s", OP("NOT_CONTAINS", "{\"N\":\"1\"}"), true},
    {"none", OP("NOT_CONTAINS", "{\"S\":\"x\"}"), false}, /* unlike NOT contains() */
    {"s", OP("BEGINS_WITH", "{\"S\":\"hel\"}"), true},
    {"b", OP("BEGINS_WITH", "{\"B\":\"aGVs\"}"), true},
    {"n", OP("BEGINS_WITH", "{\"S\":\"5\"}"), false},
    {"n", OP("IN", "{\"N\":\"4\"},{\"N\":\"5\"}"), true},
    {"n", OP("IN", "{\"N\":\"4\"}"), false},
    {"ns", OP("IN", "{\"N\":\"1\"}"), false},
    {"n", OP("BETWEEN", "{\"N\":\"5\"},{\"N\":\"7\"}"), true},
    {"n", OP("BETWEEN", "{\"N\":\"6\"},{\"N\":\"7\"}"), false},
    {"none", OP("BETWEEN", "{\"N\":\"6\"},{\"N\":\"7\"}"), false},
};

static void expect_condition(const char *operation, const char *expected, bool holds)
{
    char request[1024];
    snprintf(request, sizeof request, "{\"TableName\":\"users\",\"%s\":%s,%s}",
             strcmp(operation, "PutItem") == 0 ? "Item" : "Key",
             strcmp(operation, "PutItem") == 0 ? ITEM : "{\"id\":{\"S\":\"a\"}}", expected);
    if (holds)
        expect(operation, request, "{}");
    else
        expect_fault(&f, operation, request, "ConditionalCheckFailedException",
                     "The conditional request failed");
}

TEST(each_operator_holds_as_expected_and_as_filter)
{
    char text[512];
    put_item();
    for (size_t i = 0; i < COUNT_OF(CONDITIONS); i++) {
        snprintf(text, sizeof text, "\"Expected\":{\"%s\":%s}", CONDITIONS[i].attribute,
                 CONDITIONS[i].condition);
        expect_condition("PutItem", text, CONDITIONS[i].holds);
        snprintf(text, sizeof text,
                 "{\"TableName\":\"users\",\"Select\":\"COUNT\",\"ScanFilter\":{\"%s\":%s}}",
                 CONDITIONS[i].attribute, CONDITIONS[i].condition);
        expect("Scan", text,
               CONDITIONS[i].holds ? "{\"Count\":1,\"ScannedCount\":1}"
                                   : "{\"Count\":0,\"ScannedCount\":1}");
    }
}

TEST(value_and_exists_are_conditions_too)
{
    expect_condition("DeleteItem", "\"Expected\":{\"id\":{\"Exists\":false}}", true);
    expect_condition("DeleteItem", "\"Expected\":{\"n\":{\"Value\":{\"N\":\"5\"}}}", false);
    put_item();
    expect_condition("PutItem", "\"Expected\":{\"id\":{\"Exists\":false}}", false);
    expect_condition("PutItem", "\"Expected\":{\"n\":{\"Value\":{\"N\":\"5\"}}}", true);
    expect_condition("PutItem", "\"Expected\":{\"n\":{\"Exists\":true,\"Value\":{\"N\":\"6\"}}}",
                     false);
    expect_condition("PutItem",
                     "\"Expected\":{\"n\":{\"ComparisonOperator\":\"GT\",\"Value\":{\"N\":\"4\"}}}",
                     true);
    expect_condition("PutItem", "\"Expected\":{}", true);
}

TEST(a_conditional_operator_joins_conditions)
{
    static const char BOTH[] =
        "\"Expected\":{\"n\":{\"Value\":{\"N\":\"5\"}},\"s\":{\"Value\":{\"S\":"
        "\"%s\"}}}%s";
    char text[256];
    put_item();
    snprintf(text, sizeof text, BOTH, "hello", "");
    expect_condition("PutItem", text, true);
    snprintf(text, sizeof text, BOTH, "no", "");
    expect_condition("PutItem", text, false);
    snprintf(text, sizeof text, BOTH, "no", ",\"ConditionalOperator\":\"AND\"");
    expect_condition("PutItem", text, false);
    snprintf(text, sizeof text, BOTH, "no", ",\"ConditionalOperator\":\"OR\"");
    expect_condition("PutItem", text, true);
}

#define INVALID "One or more parameter values were invalid: "

TEST(wrong_expectations_are_refused)
{
    static const struct {
        const char *expected;
        const char *message;
    } CASES[] = {
        {"{}", INVALID "Value must be provided when Exists is null for Attribute: a"},
        {"{\"Exists\":true}",
         INVALID "Value must be provided when Exists is true for Attribute: a"},
        {"{\"Exists\":false,\"Value\":{\"S\":\"a\"}}",
         INVALID "Value cannot be used when Exists is false for Attribute: a"},
        {"{\"Value\":{\"S\":\"a\"},\"AttributeValueList\":[]}",
         INVALID "Value and AttributeValueList cannot be used together for Attribute: a"},
        {"{\"AttributeValueList\":[]}",
         INVALID "AttributeValueList can only be used with a ComparisonOperator for Attribute: a"},
        {"{\"ComparisonOperator\":\"EQ\",\"Exists\":false}",
         INVALID "Exists and ComparisonOperator cannot be used together for Attribute: a"},
        {"{\"ComparisonOperator\":\"EQ\"}",
         INVALID "Value or AttributeValueList must be used with ComparisonOperator: EQ for "
                 "Attribute: a"},
        {OP("EQ", "{\"S\":\"a\"},{\"S\":\"b\"}"),
         INVALID "Invalid number of argument(s) for the EQ ComparisonOperator"},
        {OP("IN", ""), INVALID "Invalid number of argument(s) for the IN ComparisonOperator"},
        {OP("BETWEEN", "{\"S\":\"a\"}"),
         INVALID "Invalid number of argument(s) for the BETWEEN ComparisonOperator"},
        {OP("NULL", "{\"S\":\"a\"}"),
         INVALID "Invalid number of argument(s) for the NULL ComparisonOperator"},
        {OP("IN", "{\"S\":\"a\"},{\"N\":\"1\"}"),
         INVALID "AttributeValues inside AttributeValueList must be of same type"},
        {OP("LT", "{\"SS\":[\"a\"]}"),
         INVALID "ComparisonOperator LT is not valid for SS AttributeValue type"},
        {OP("BEGINS_WITH", "{\"N\":\"1\"}"),
         INVALID "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type"},
        {OP("CONTAINS", "{\"L\":[]}"),
         INVALID "ComparisonOperator CONTAINS is not valid for L AttributeValue type"},
        {OP("BETWEEN", "{\"N\":\"2\"},{\"N\":\"1\"}"),
         "The BETWEEN condition was provided a range where the lower bound is greater than the "
         "upper bound"},
        {OP("EQ", "{\"N\":\"x\"}"),
         "1 validation error detected: The parameter cannot be converted to a numeric value: x"},
        {OP("XX", ""),
         "1 validation error detected: Value 'XX' at 'expected.a.member.comparisonOperator' failed "
         "to satisfy constraint: Member must satisfy enum value set: [IN, NULL, BETWEEN, LT, "
         "NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS]"},
    };
    char request[512];
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        snprintf(request, sizeof request,
                 "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}},\"Expected\":{\"a\":%s}}",
                 CASES[i].expected);
        expect_invalid(&f, "DeleteItem", request, CASES[i].message);
    }
}

static void expect_mixed(const char *operation, const char *members, const char *old,
                         const char *new)
{
    char request[1024], message[512];
    snprintf(request, sizeof request, "{\"TableName\":\"users\",%s}", members);
    snprintf(message, sizeof message,
             "Can not use both expression and non-expression parameters in the same request: "
             "Non-expression parameters: {%s} Expression parameters: {%s}",
             old, new);
    expect_invalid(&f, operation, request, message);
}

TEST(expressions_do_not_mix_with_older_parameters)
{
    expect_mixed("PutItem",
                 "\"Item\":{\"a\":{}},\"Expected\":{\"a\":{}},\"ConditionExpression\":\"\","
                 "\"ExpressionAttributeNames\":{}",
                 "Expected", "ConditionExpression");
    expect_mixed("DeleteItem",
                 "\"Key\":{\"a\":{}},\"Expected\":{\"a\":{}},\"ConditionalOperator\":\"OR\","
                 "\"ConditionExpression\":\"\"",
                 "Expected, ConditionalOperator", "ConditionExpression");
    expect_mixed("UpdateItem",
                 "\"Key\":{\"a\":{}},\"Expected\":{\"a\":{}},\"AttributeUpdates\":{},"
                 "\"ConditionExpression\":\"\",\"UpdateExpression\":\"\"",
                 "AttributeUpdates, Expected", "UpdateExpression, ConditionExpression");
    expect_mixed("GetItem",
                 "\"Key\":{\"a\":{}},\"AttributesToGet\":[\"a\"],\"ProjectionExpression\":\"\"",
                 "AttributesToGet", "ProjectionExpression");
    expect_mixed("Query",
                 "\"AttributesToGet\":[\"a\"],\"QueryFilter\":{},\"ConditionalOperator\":\"OR\","
                 "\"KeyConditions\":{},\"ProjectionExpression\":\"\",\"FilterExpression\":\"\","
                 "\"KeyConditionExpression\":\"\"",
                 "AttributesToGet, QueryFilter, ConditionalOperator, KeyConditions",
                 "ProjectionExpression, FilterExpression, KeyConditionExpression");
    expect_mixed("Query", "\"QueryFilter\":{},\"KeyConditions\":{},\"ProjectionExpression\":\"\"",
                 "QueryFilter", "ProjectionExpression");
    expect_mixed("Scan", "\"ScanFilter\":{},\"FilterExpression\":\"\"", "ScanFilter",
                 "FilterExpression");
}

TEST(tables_of_a_batch_do_not_mix_expressions_and_older_parameters)
{
    expect_invalid(&f, "BatchGetItem",
                   "{\"RequestItems\":{\"users\":{\"Keys\":[{\"id\":{\"S\":\"a\"}}],"
                   "\"AttributesToGet\":[\"a\"]},\"events\":{\"Keys\":[{\"who\":{\"S\":\"a\"},"
                   "\"ts\":{\"N\":\"1\"}}],\"ProjectionExpression\":\"a\"}}}",
                   "Can not use both expression and non-expression parameters in the same request: "
                   "Non-expression parameters: {AttributesToGet} Expression parameters: "
                   "{ProjectionExpression}");
}

TEST(a_conditional_operator_needs_two_conditions)
{
    expect_invalid(&f, "Scan", "{\"TableName\":\"users\",\"ConditionalOperator\":\"OR\"}",
                   "ConditionalOperator cannot be used without Filter or Expected");
    expect_invalid(&f, "Scan",
                   "{\"TableName\":\"users\",\"ConditionalOperator\":\"OR\",\"ScanFilter\":{\"a\":{"
                   "\"ComparisonOperator\":\"NULL\"}}}",
                   "ConditionalOperator can only be used when Filter or Expected has two or more "
                   "elements");
}

TEST(key_conditions_select_a_range)
{
    char request[512];
    for (int i = 0; i < 6; i++) {
        snprintf(request, sizeof request,
                 "{\"TableName\":\"events\",\"Item\":{\"who\":{\"S\":\"a\"},\"ts\":{\"N\":\"%d\"},"
                 "\"odd\":{\"N\":\"%d\"}}}",
                 i, i % 2);
        expect("PutItem", request, "{}");
    }
    static const struct {
        const char *sort;
        const char *counts;
    } CASES[] = {
        {OP("EQ", "{\"N\":\"3\"}"), "{\"Count\":1,\"ScannedCount\":1}"},
        {OP("LT", "{\"N\":\"3\"}"), "{\"Count\":1,\"ScannedCount\":3}"},
        {OP("LE", "{\"N\":\"3\"}"), "{\"Count\":2,\"ScannedCount\":4}"},
        {OP("GT", "{\"N\":\"3\"}"), "{\"Count\":1,\"ScannedCount\":2}"},
        {OP("GE", "{\"N\":\"3\"}"), "{\"Count\":2,\"ScannedCount\":3}"},
        {OP("BETWEEN", "{\"N\":\"1\"},{\"N\":\"3\"}"), "{\"Count\":2,\"ScannedCount\":3}"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        snprintf(request, sizeof request,
                 "{\"TableName\":\"events\",\"Select\":\"COUNT\",\"KeyConditions\":{\"who\":%s,"
                 "\"ts\":%s},\"QueryFilter\":{\"odd\":%s}}",
                 OP("EQ", "{\"S\":\"a\"}"), CASES[i].sort, OP("EQ", "{\"N\":\"1\"}"));
        expect("Query", request, CASES[i].counts);
    }
    expect("Query",
           "{\"TableName\":\"events\",\"AttributesToGet\":[\"odd\",\"none\"],\"KeyConditions\":{"
           "\"who\":" OP("EQ", "{\"S\":\"a\"}") "},\"Limit\":1}",
           "{\"Items\":[{\"odd\":{\"N\":\"0\"}}],\"Count\":1,\"ScannedCount\":1,"
           "\"LastEvaluatedKey\":{\"who\":{\"S\":\"a\"},\"ts\":{\"N\":\"0\"}}}");
    expect("Query",
           "{\"TableName\":\"events\",\"Select\":\"COUNT\",\"KeyConditions\":{"
           "\"who\":" OP("EQ",
                         "{\"S\":\"a\"}") "},\"FilterExpression\":\"odd = :o\","
                                          "\"ExpressionAttributeValues\":{\":o\":{\"N\":\"1\"}}}",
           "{\"Count\":3,\"ScannedCount\":6}");
}

TEST(wrong_key_conditions_are_refused)
{
    static const struct {
        const char *conditions;
        const char *message;
    } CASES[] = {
        {"{}", "Conditions can be of length 1 or 2 only"},
        {"{\"a\":" OP("NULL", "") ",\"b\":" OP("NULL", "") ",\"c\":" OP("NULL", "") "}",
         "Conditions can be of length 1 or 2 only"},
        {"{\"who\":" OP("EQ", "") "}",
         INVALID "Invalid number of argument(s) for the EQ ComparisonOperator"},
        {"{\"who\":{}}",
         "1 validation error detected: Value null at "
         "'keyConditions.who.member.comparisonOperator' failed to satisfy constraint: Member must "
         "not be null"},
        {"{\"who\":" OP("CONTAINS", "{\"S\":\"a\"}") "}",
         "Attempted conditional constraint is not an indexable operation"},
        {"{\"who\":" OP("EQ", "{\"S\":\"a\"}") ",\"ts\":" OP("NULL", "") "}",
         "Attempted conditional constraint is not an indexable operation"},
        {"{\"who\":" OP("LT", "{\"S\":\"a\"}") "}", "Query key condition not supported"},
        {"{\"who\":" OP("EQ", "{\"N\":\"1\"}") "}",
         INVALID "Condition parameter type does not match schema type"},
        {"{\"ts\":" OP("EQ", "{\"N\":\"1\"}") "}",
         "Query condition missed key schema element: who"},
        {"{\"who\":" OP("EQ", "{\"S\":\"a\"}") ",\"x\":" OP("EQ", "{\"S\":\"a\"}") "}",
         "Query condition missed key schema element: ts"},
    };
    char request[512];
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        snprintf(request, sizeof request, "{\"TableName\":\"events\",\"KeyConditions\":%s}",
                 CASES[i].conditions);
        expect_invalid(&f, "Query", request, CASES[i].message);
    }
    expect_invalid(&f, "Query",
                   "{\"TableName\":\"events\",\"KeyConditions\":{\"who\":" OP(
                       "EQ", "{\"S\":\"a\"}") "},\"QueryFilter\":{\"ts\":" OP("NULL", "") "}}",
                   "QueryFilter can only contain non-primary key attributes: Primary key "
                   "attribute: ts");
}

TEST(attributes_to_get_are_a_projection)
{
    put_item();
    expect("GetItem",
           "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}},\"AttributesToGet\":[\"n\","
           "\"none\"]}",
           "{\"Item\":{\"n\":{\"N\":\"5\"}}}");
    expect_invalid(&f, "GetItem",
                   "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}},\"AttributesToGet\":["
                   "\"n\",\"m\",\"n\"]}",
                   INVALID "Duplicate value in attribute name: n");
    expect_invalid(
        &f, "GetItem",
        "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}},\"AttributesToGet\":[]}",
        "1 validation error detected: Value '[]' at 'attributesToGet' failed to satisfy "
        "constraint: Member must have length greater than or equal to 1");
    expect_invalid(&f, "Scan",
                   "{\"TableName\":\"users\",\"AttributesToGet\":[\"n\"],\"Select\":\"COUNT\"}",
                   "Cannot specify the AttributesToGet when choosing to get only the Count");
    f.fail_code = REPLY_THROTTLED;
    f.fail_reason = ADMIT_REFUSED_ALLOCATION;
    f.fail_count = 1;
    f.fail_after = 1;
    expect("BatchGetItem",
           "{\"RequestItems\":{\"users\":{\"Keys\":[{\"id\":{\"S\":\"a\"}},{\"id\":{\"S\":\"b\"}}],"
           "\"AttributesToGet\":[\"n\",\"t\"]}}}",
           "{\"Responses\":{\"users\":[{\"n\":{\"N\":\"5\"},\"t\":{\"BOOL\":true}}]},"
           "\"UnprocessedKeys\":{\"users\":{\"Keys\":[{\"id\":{\"S\":\"b\"}}],\"AttributesToGet\":["
           "\"n\",\"t\"]}}}");
}

TEST(names_given_twice_or_empty_are_refused)
{
    expect_fault(&f, "Scan",
                 "{\"TableName\":\"users\",\"ScanFilter\":{\"a\":" OP("NULL", "") ",\"b\":" OP(
                     "NULL", "") ",\"a\":" OP("NULL", "") "}}",
                 "SerializationException", "Duplicate field 'a'");
    expect_invalid(&f, "Scan", "{\"TableName\":\"users\",\"ScanFilter\":{\"\":" OP("NULL", "") "}}",
                   INVALID "Empty attribute name");
}

/* An older parameter has no text that bounds it: the program must stay within its limits. */
TEST(conditions_on_hundreds_of_attributes_are_refused)
{
    struct buffer b = {0};
    for (int count = 150; count <= 151; count++) {
        buffer_clear(&b);
        buffer_append_text(&b, "{\"TableName\":\"users\",\"ScanFilter\":{");
        for (int i = 0; i < count; i++)
            buffer_append_format(&b, "%s\"a%d\":{\"ComparisonOperator\":\"NULL\"}",
                                 i > 0 ? "," : "", i);
        buffer_append_text(&b, "}}");
        buffer_append_u8(&b, 0);
        if (count == 150)
            expect("Scan", (const char *)b.data, "{\"Items\":[],\"Count\":0,\"ScannedCount\":0}");
        else
            expect_invalid(&f, "Scan", (const char *)b.data,
                           "A parameter has conditions on too many attributes");
    }
    buffer_deinit(&b);
}

TEST(updates_of_hundreds_of_attributes_are_refused)
{
    struct buffer b = {0};
    for (int count = 300; count <= 301; count++) {
        buffer_clear(&b);
        buffer_append_text(&b, "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}},"
                               "\"AttributeUpdates\":{");
        for (int i = 0; i < count; i++)
            buffer_append_format(&b, "%s\"a%d\":{\"Action\":\"DELETE\"}", i > 0 ? "," : "", i);
        buffer_append_text(&b, "}}");
        buffer_append_u8(&b, 0);
        if (count == 300)
            expect("UpdateItem", (const char *)b.data, "{}");
        else
            expect_invalid(&f, "UpdateItem", (const char *)b.data,
                           "AttributeUpdates has more than 300 attributes");
    }
    buffer_deinit(&b);
}
