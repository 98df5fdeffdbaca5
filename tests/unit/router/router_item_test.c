#include "tests/check.h"

#include "router/json/value.h"
#include "tests/support/expect.h"

static struct fake_cluster f;

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 2);
    fake_table(&f, "events", "who", ATTR_STRING, "at", ATTR_NUMBER, 2);
    fake_table(&f, "blobs", "id", ATTR_STRING, "part", ATTR_BINARY, 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

static void expect(const char *operation, const char *request, int status, const char *body)
{
    expect_call(&f, operation, request, status, body);
}

static void expect_mistyped(const char *operation, const char *request, const char *message)
{
    expect_fault(&f, operation, request, "SerializationException", message);
}

#define INVALID "One or more parameter values were invalid: "
#define ONE     "1 validation error detected: "

TEST(an_item_comes_back_as_it_was_put)
{
    static const char ITEM[] =
        "{\"id\":{\"S\":\"a\\\"\\\\\\n\\u0000\xc3\xbc\"},\"n\":{\"N\":\"-12.5\"},"
        "\"b\":{\"B\":\"aGVsbG8=\"},\"t\":{\"BOOL\":true},\"u\":{\"BOOL\":false},"
        "\"z\":{\"NULL\":true},\"ss\":{\"SS\":[\"x\",\"y\"]},\"ns\":{\"NS\":[\"1\",\"2.5\"]},"
        "\"bs\":{\"BS\":[\"AA==\",\"AQI=\"]},\"l\":{\"L\":[{\"S\":\"\"},{\"L\":[]}]},"
        "\"m\":{\"M\":{\"k\":{\"N\":\"1\"},\"e\":{\"M\":{}}}}}";
    char request[1024], answer[1024];
    snprintf(request, sizeof request, "{\"TableName\":\"users\",\"Item\":%s}", ITEM);
    expect("PutItem", request, 200, "{}");
    snprintf(answer, sizeof answer, "{\"Item\":%s}", ITEM);
    expect("GetItem",
           "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\\\"\\\\\\n\\u0000\xc3\xbc\"}}}",
           200, answer);
}

TEST(a_missing_item_is_an_empty_answer)
{
    expect("GetItem", "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"no\"}}}", 200, "{}");
}

TEST(numbers_of_equal_value_are_one_key)
{
    expect("PutItem",
           "{\"TableName\":\"events\",\"Item\":{\"who\":{\"S\":\"a\"},\"at\":{\"N\":\"1.0\"},"
           "\"v\":{\"S\":\"one\"}}}",
           200, "{}");
    expect("GetItem",
           "{\"TableName\":\"events\",\"Key\":{\"who\":{\"S\":\"a\"},\"at\":{\"N\":\"10E-1\"}}}",
           200, "{\"Item\":{\"who\":{\"S\":\"a\"},\"at\":{\"N\":\"1\"},\"v\":{\"S\":\"one\"}}}");
}

TEST(capacity_is_told_to_the_unit)
{
    static const struct {
        const char *return_consumed;
        const char *answer;
    } CASES[] = {
        {"NONE", "{}"},
        {"TOTAL", "{\"ConsumedCapacity\":{\"TableName\":\"users\",\"CapacityUnits\":1.0}}"},
        {"INDEXES", "{\"ConsumedCapacity\":{\"TableName\":\"users\",\"CapacityUnits\":1.0,"
                    "\"Table\":{\"CapacityUnits\":1.0}}}"},
    };
    char request[512];
    for (size_t i = 0; i < 3; i++) {
        snprintf(request, sizeof request,
                 "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"c\"}},"
                 "\"ReturnConsumedCapacity\":\"%s\"}",
                 CASES[i].return_consumed);
        expect("PutItem", request, 200, CASES[i].answer);
    }
    expect("GetItem",
           "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"none\"}},"
           "\"ReturnConsumedCapacity\":\"TOTAL\"}",
           200, "{\"ConsumedCapacity\":{\"TableName\":\"users\",\"CapacityUnits\":0.5}}");
    expect("GetItem",
           "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"none\"}},\"ConsistentRead\":true,"
           "\"ReturnConsumedCapacity\":\"TOTAL\"}",
           200, "{\"ConsumedCapacity\":{\"TableName\":\"users\",\"CapacityUnits\":1.0}}");
}

TEST(put_and_delete_return_the_old_item_if_asked)
{
    expect("PutItem",
           "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"}},"
           "\"ReturnValues\":\"ALL_OLD\"}",
           200, "{}");
    expect("PutItem",
           "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"v\":{\"N\":\"2\"}},"
           "\"ReturnValues\":\"ALL_OLD\"}",
           200, "{\"Attributes\":{\"id\":{\"S\":\"a\"}}}");
    expect("DeleteItem",
           "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}},"
           "\"ReturnValues\":\"ALL_OLD\"}",
           200, "{\"Attributes\":{\"id\":{\"S\":\"a\"},\"v\":{\"N\":\"2\"}}}");
    expect("DeleteItem",
           "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}},"
           "\"ReturnValues\":\"ALL_OLD\"}",
           200, "{}");
    expect_invalid(&f, "PutItem",
                   "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"}},"
                   "\"ReturnValues\":\"ALL_NEW\"}",
                   "Return values set to invalid value");
}

TEST(a_value_of_the_wrong_type_is_named_as_the_service_names_it)
{
    static const struct {
        const char *request;
        const char *message;
    } CASES[] = {
        {"{\"TableName\":23}", "NUMBER_VALUE cannot be converted to String"},
        {"{\"TableName\":34.56}", "DECIMAL_VALUE cannot be converted to String"},
        {"{\"TableName\":true}", "TRUE_VALUE cannot be converted to String"},
        {"{\"TableName\":false}", "FALSE_VALUE cannot be converted to String"},
        {"{\"TableName\":[]}", "Unrecognized collection type class java.lang.String"},
        {"{\"TableName\":{}}", "Start of structure or map found where not expected"},
        {"{\"Key\":23}", "Unexpected field type"},
        {"{\"Key\":[]}", "Unrecognized collection type java.util.Map<java.lang.String, "
                         "com.amazonaws.dynamodb.v20120810.AttributeValue>"},
        {"{\"Key\":{\"a\":1}}", "Unexpected value type in payload"},
        {"{\"Key\":{\"a\":[]}}", "Unrecognized collection type class "
                                 "com.amazonaws.dynamodb.v20120810.AttributeValue"},
        {"{\"Key\":{\"a\":{\"N\":1}}}", "NUMBER_VALUE cannot be converted to String"},
        {"{\"Key\":{\"a\":{\"B\":1}}}", "only base-64-encoded strings are convertible to bytes"},
        {"{\"Key\":{\"a\":{\"B\":[]}}}", "Unrecognized collection type class java.nio.ByteBuffer"},
        {"{\"Key\":{\"a\":{\"B\":\"23456\"}}}",
         "Base64 encoded length is expected a multiple of 4 bytes but found: 5"},
        {"{\"Key\":{\"a\":{\"B\":\"=+/=\"}}}", "Invalid last non-pad Base64 character dectected"},
        {"{\"Key\":{\"a\":{\"B\":\"+/+=\"}}}", "Invalid last non-pad Base64 character dectected"},
        {"{\"Key\":{\"a\":{\"BOOL\":23}}}", "NUMBER_VALUE cannot be converted to Boolean"},
        {"{\"Key\":{\"a\":{\"BOOL\":\"23\"}}}", "Unexpected token received from parser"},
        {"{\"Key\":{\"a\":{\"SS\":\"x\"}}}", "Unexpected field type"},
        {"{\"Key\":{\"a\":{\"SS\":{}}}}", "Start of structure or map found where not expected"},
        {"{\"Key\":{\"a\":{\"SS\":[1]}}}", "NUMBER_VALUE cannot be converted to String"},
        {"{\"Key\":{\"a\":{\"L\":[1]}}}", "Unexpected value type in payload"},
        {"{\"Key\":{\"a\":{\"M\":[]}}}", "Unrecognized collection type java.util.Map<"
                                         "java.lang.String, "
                                         "com.amazonaws.dynamodb.v20120810.AttributeValue>"},
        {"{\"Key\":{\"a\":{\"M\":{\"b\":{\"BS\":[true]}}}}}",
         "only base-64-encoded strings are convertible to bytes"},
        {"{\"ConsistentRead\":[]}", "Unrecognized collection type class java.lang.Boolean"},
        {"{\"TableName\":\"users\",\"TableName\":\"other\"}", "Duplicate field 'TableName'"},
        {"[]", "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.GetItemInput"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        expect_mistyped("GetItem", CASES[i].request, CASES[i].message);
}

TEST(constraints_are_told_all_at_once)
{
    expect_invalid(&f, "GetItem", "{}",
                   "2 validation errors detected: Value null at 'key' failed to satisfy "
                   "constraint: Member must not be null; Value null at 'tableName' failed to "
                   "satisfy constraint: Member must not be null");
    expect_invalid(
        &f, "GetItem", "{\"TableName\":\"a;\",\"ReturnConsumedCapacity\":\"hi\"}",
        "4 validation errors detected: Value 'hi' at 'returnConsumedCapacity' failed to satisfy "
        "constraint: Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; Value null at "
        "'key' failed to satisfy constraint: Member must not be null; Value 'a;' at 'tableName' "
        "failed to satisfy constraint: Member must satisfy regular expression pattern: "
        "[a-zA-Z0-9_.-]+; Value 'a;' at 'tableName' failed to satisfy constraint: Member must "
        "have length greater than or equal to 3");
    expect_invalid(&f, "PutItem",
                   "{\"TableName\":\"abc\",\"Item\":{},\"ReturnItemCollectionMetrics\":\"\"}",
                   "1 validation error detected: Value '' at 'returnItemCollectionMetrics' failed "
                   "to satisfy constraint: Member must satisfy enum value set: [SIZE, NONE]");
}

TEST(types_come_before_constraints_and_those_before_values_and_those_before_tables)
{
    expect_mistyped("GetItem", "{\"TableName\":\"\",\"Key\":{\"a\":{\"S\":1}}}",
                    "NUMBER_VALUE cannot be converted to String");
    expect_invalid(&f, "GetItem", "{\"TableName\":\"\",\"Key\":{\"a\":{}}}",
                   "1 validation error detected: Value '' at 'tableName' failed to satisfy "
                   "constraint: Member must have length greater than or equal to 1");
    expect_invalid(&f, "GetItem", "{\"TableName\":\"nowhere\",\"Key\":{\"a\":{}}}",
                   "Supplied AttributeValue is empty, must contain exactly one of the supported "
                   "datatypes");
    expect("GetItem", "{\"TableName\":\"nowhere\",\"Key\":{}}", 400,
           "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException\","
           "\"message\":\"Requested resource not found\"}");
    expect_invalid(&f, "GetItem", "{\"TableName\":\"users\",\"Key\":{}}",
                   "The provided key element does not match the schema");
}

TEST(bad_values_are_refused_with_the_services_words)
{
    static const struct {
        const char *value;
        const char *message;
    } CASES[] = {
        {"{}", "Supplied AttributeValue is empty, must contain exactly one of the supported "
               "datatypes"},
        {"{\"a\":\"\"}", "Supplied AttributeValue is empty, must contain exactly one of the "
                         "supported datatypes"},
        {"{\"M\":{\"a\":{}}}", "Supplied AttributeValue is empty, must contain exactly one of the "
                               "supported datatypes"},
        {"{\"L\":[{}]}", "Supplied AttributeValue is empty, must contain exactly one of the "
                         "supported datatypes"},
        {"{\"S\":\"a\",\"N\":\"1\"}", "Supplied AttributeValue has more than one datatypes set, "
                                      "must contain exactly one of the supported datatypes"},
        {"{\"S\":\"a\",\"N\":\"b\"}",
         ONE "The parameter cannot be converted to a numeric value: b"},
        {"{\"NULL\":\"no\"}", INVALID "Null attribute value types must have the value of true"},
        {"{\"SS\":[]}", INVALID "An string set  may not be empty"},
        {"{\"NS\":[]}", INVALID "An number set  may not be empty"},
        {"{\"BS\":[]}", INVALID "Binary sets should not be empty"},
        {"{\"SS\":[\"\",\"\"]}",
         ONE INVALID "Input collection [\\\"\\\", \\\"\\\"] contains duplicates."},
        {"{\"BS\":[\"\",\"\"]}",
         ONE INVALID "Input collection [, ]of type BS contains duplicates."},
        {"{\"SS\":[\"a\",\"a\"]}",
         ONE INVALID "Input collection [\\\"a\\\", \\\"a\\\"] contains duplicates."},
        {"{\"SS\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"1\"]}",
         ONE INVALID "Input collection [\\\"1\\\", \\\"1\\\"] contains duplicates."},
        {"{\"BS\":[\"Yg==\",\"Yg==\"]}",
         ONE INVALID "Input collection [Yg==, Yg==]of type BS contains duplicates."},
        {"{\"NS\":[\"1\",\"1.0\"]}", ONE INVALID "Input collection contains duplicates."},
        {"{\"NS\":[\"1\",\"\"]}", ONE "The parameter cannot be converted to a numeric value: "},
        {"{\"NS\":[\"1\",\"b\"]}", ONE "The parameter cannot be converted to a numeric value: b"},
        {"{\"N\":\"\"}", ONE "The parameter cannot be converted to a numeric value: "},
        {"{\"N\":\"0x1\"}", ONE "The parameter cannot be converted to a numeric value: 0x1"},
        {"{\"N\":\"123456789012345678901234567890123456789\"}",
         ONE "Attempting to store more than 38 significant digits in a Number"},
        {"{\"N\":\"1e126\"}",
         ONE "Number overflow. Attempting to store a number with magnitude larger "
             "than supported range"},
        {"{\"N\":\"-1e-131\"}", ONE "Number underflow. Attempting to store a number with magnitude "
                                    "smaller than supported range"},
    };
    char request[1024];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        snprintf(request, sizeof request,
                 "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"v\":%s}}",
                 CASES[i].value);
        expect_invalid(&f, "PutItem", request, CASES[i].message);
    }
}

#define VALUES(text) text ",\"ExpressionAttributeValues\":{\":v\":%s}"
#define NOT_NUMERIC  "The parameter cannot be converted to a numeric value"
#define TOO_LARGE_NUMBER                                                                  \
    "Number overflow. Attempting to store a number with magnitude larger than supported " \
    "range"

TEST(malformed_values_have_the_words_of_the_operation)
{
    enum words {
        OLDER,
        BARE,
        PREFIXED
    };
    static const struct {
        const char *operation;
        const char *members;
        enum words words;
        bool wrapped; /* what is older names the value */
    } PLACES[] = {
        {"PutItem", "\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"v\":%s}", PREFIXED,
         0},
        {"PutItem",
         "\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"}}," VALUES(
             "\"ConditionExpression\":\"v = :v\""),
         PREFIXED, 0},
        {"UpdateItem",
         "\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}," VALUES(
             "\"UpdateExpression\":\"SET v = :v\""),
         PREFIXED, 0},
        {"DeleteItem", "\"TableName\":\"users\",\"Key\":{\"id\":%s}", PREFIXED, 0},
        {"GetItem", "\"TableName\":\"users\",\"Key\":{\"id\":%s}", BARE, 0},
        {"BatchGetItem", "\"RequestItems\":{\"users\":{\"Keys\":[{\"id\":%s}]}}", BARE, 0},
        {"Query", "\"TableName\":\"users\"," VALUES("\"KeyConditionExpression\":\"id = :v\""), BARE,
         0},
        {"Scan", "\"TableName\":\"users\"," VALUES("\"FilterExpression\":\"v = :v\""), OLDER, 1},
        {"BatchWriteItem",
         "\"RequestItems\":{\"users\":[{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"a\"},\"v\":%s}}}]"
         "}",
         OLDER, 0},
        {"TransactWriteItems",
         "\"TransactItems\":[{\"Put\":{\"TableName\":\"users\",\"Item\":{\"id\":%s}}}]", OLDER, 0},
        {"TransactGetItems",
         "\"TransactItems\":[{\"Get\":{\"TableName\":\"users\",\"Key\":{\"id\":%s}}}]", OLDER, 0},
    };
    static const struct {
        const char *value;
        const char *older, *newer;
    } FAULTS[] = {
        {"{\"N\":\"x\"}", NOT_NUMERIC ": x", NOT_NUMERIC ": x"},
        {"{\"N\":\"\"}", NOT_NUMERIC, NOT_NUMERIC ": "},
        {"{\"N\":\"1e126\"}", TOO_LARGE_NUMBER, TOO_LARGE_NUMBER},
        {"{\"SS\":[\"d\",\"b\",\"a\",\"c\",\"b\"]}",
         INVALID "Input collection [d, b, a, c, b] contains duplicates.",
         INVALID "Input collection [\\\"a\\\", \\\"b\\\", \\\"b\\\"] contains duplicates."},
        {"{\"NS\":[\"1\",\"1.0\"]}", "Input collection contains duplicates",
         INVALID "Input collection contains duplicates."},
    };
    char members[1024], request[1024], text[1024];
    for (size_t i = 0; i < COUNT_OF(PLACES) * COUNT_OF(FAULTS); i++) {
        const size_t place = i / COUNT_OF(FAULTS), value = i % COUNT_OF(FAULTS);
        const enum words words = PLACES[place].words;
        const char *at = strstr(PLACES[place].members, "%s");
        snprintf(members, sizeof members, "%.*s%s%s", (int)(at - PLACES[place].members),
                 PLACES[place].members, FAULTS[value].value, at + 2);
        assert_true(snprintf(request, sizeof request, "{%s}", members) < (int)sizeof request);
        snprintf(text, sizeof text, "%s%s%s%s", words == PREFIXED ? ONE : "",
                 PLACES[place].wrapped ? "ExpressionAttributeValues contains invalid value: " : "",
                 words == OLDER ? FAULTS[value].older : FAULTS[value].newer,
                 PLACES[place].wrapped ? " for key :v" : "");
        expect_invalid(&f, PLACES[place].operation, request, text);
    }
}

TEST(only_malformed_values_stand_without_their_names)
{
    expect_invalid(&f, "Query",
                   "{\"TableName\":\"users\",\"KeyConditionExpression\":\"id = :v\","
                   "\"ExpressionAttributeValues\":{\":v\":{\"SS\":[]}}}",
                   "ExpressionAttributeValues contains invalid value: " INVALID
                   "An string set  may not be empty for key :v");
}

/* `levels` lists, one inside the other. */
static char *nested(int levels)
{
    struct buffer b = {0};
    buffer_append_text(&b, "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"v\":");
    for (int i = 0; i < levels; i++)
        buffer_append_text(&b, "{\"L\":[");
    buffer_append_text(&b, "{\"S\":\"x\"}");
    for (int i = 0; i < levels; i++)
        buffer_append_text(&b, "]}");
    buffer_append_text(&b, "}}");
    buffer_append_u8(&b, 0);
    return (char *)b.data;
}

TEST(thirty_one_levels_nest_around_a_value_and_no_more)
{
    char *text = nested(31);
    expect("PutItem", text, 200, "{}");
    free(text);
    for (int levels = 32; levels < 64; levels += 31) {
        text = nested(levels);
        expect_invalid(&f, "PutItem", text, levels < 62 ? VALUE_TOO_DEEP : VALUE_FAR_TOO_DEEP);
        free(text);
    }
    text = nested(5000);
    expect("PutItem", text, 400,
           "{\"__type\":\"com.amazon.coral.service#SerializationException\"}");
    free(text);
}

static void put_item_of(size_t value_size, int status, const char *body)
{
    struct buffer b = {0};
    buffer_append_text(&b,
                       "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"v\":{\"S\":\"");
    memset(buffer_reserve(&b, value_size), 'x', value_size);
    b.size += value_size;
    buffer_append_text(&b, "\"}}}");
    buffer_append_u8(&b, 0);
    expect("PutItem", (const char *)b.data, status, body);
    buffer_deinit(&b);
}

TEST(an_item_has_at_most_400_kib)
{
    /* id: 2 + 1, v: 1 */
    put_item_of(409600 - 4, 200, "{}");
    put_item_of(409600 - 3, 400,
                "{\"__type\":\"com.amazon.coral.validate#ValidationException\",\"message\":\"Item "
                "size has exceeded the maximum allowed size\"}");
}

TEST(keys_must_fit_the_schema)
{
    static const char MISMATCH[] = "The provided key element does not match the schema";
    static const char *const KEYS[] = {"{}",
                                       "{\"b\":{\"S\":\"a\"}}",
                                       "{\"id\":{\"S\":\"a\"},\"b\":{\"S\":\"a\"}}",
                                       "{\"id\":{\"B\":\"abcd\"}}",
                                       "{\"id\":{\"N\":\"1\"}}",
                                       "{\"id\":{\"NULL\":true}}",
                                       "{\"id\":{\"M\":{}}}"};
    char request[512];
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        snprintf(request, sizeof request, "{\"TableName\":\"users\",\"Key\":%s}", KEYS[i]);
        expect_invalid(&f, "GetItem", request, MISMATCH);
        expect_invalid(&f, "DeleteItem", request, MISMATCH);
    }
    expect_invalid(&f, "GetItem", "{\"TableName\":\"events\",\"Key\":{\"who\":{\"S\":\"a\"}}}",
                   MISMATCH);
    expect_invalid(&f, "GetItem", "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"\"}}}",
                   "One or more parameter values are not valid. The AttributeValue for a key "
                   "attribute cannot contain an empty string value. Key: id");
    expect_invalid(&f, "GetItem",
                   "{\"TableName\":\"blobs\",\"Key\":{\"id\":{\"S\":\"a\"},\"part\":{\"B\":\"\"}}}",
                   "One or more parameter values are not valid. The AttributeValue for a key "
                   "attribute cannot contain an empty binary value. Key: part");
    expect_invalid(&f, "PutItem", "{\"TableName\":\"users\",\"Item\":{\"x\":{\"S\":\"a\"}}}",
                   INVALID "Missing the key id in the item");
    expect_invalid(&f, "PutItem", "{\"TableName\":\"users\",\"Item\":{\"id\":{\"N\":\"1\"}}}",
                   INVALID "Type mismatch for key id expected: S actual: N");
}

TEST(keys_have_their_limits)
{
    char long_text[2050], request[4096];
    memset(long_text, 'k', sizeof long_text);
    snprintf(request, sizeof request, "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"%.*s\"}}}",
             2049, long_text);
    expect_invalid(&f, "GetItem", request,
                   INVALID "Size of hashkey has exceeded the maximum size limit of2048 bytes");
    snprintf(request, sizeof request, "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"%.*s\"}}}",
             2048, long_text);
    expect("GetItem", request, 200, "{}");
    memset(long_text, 'A', sizeof long_text);
    snprintf(request, sizeof request,
             "{\"TableName\":\"blobs\",\"Key\":{\"id\":{\"S\":\"a\"},\"part\":{\"B\":\"%.*s\"}}}",
             1368, long_text);
    expect_invalid(&f, "GetItem", request,
                   INVALID "Aggregated size of all range keys has exceeded the size limit of 1024 "
                           "bytes");
}

TEST(an_operation_that_weir_does_not_have_is_refused_by_name)
{
    expect("CreateBackup", "{}", 400,
           "{\"__type\":\"com.amazon.coral.service#UnknownOperationException\",\"message\":"
           "\"CreateBackup is not supported by weir yet\"}");
}

TEST(an_unknown_operation_and_a_body_that_is_not_json_have_no_message)
{
    expect("DoWhatIWant", "{}", 400,
           "{\"__type\":\"com.amazon.coral.service#UnknownOperationException\"}");
    expect("GetItem", "{\"TableName\":", 400,
           "{\"__type\":\"com.amazon.coral.service#SerializationException\"}");
    expect("GetItem", "", 400, "{\"__type\":\"com.amazon.coral.service#SerializationException\"}");
    expect("GetItem", "{\"TableName\":\"\xff\"}", 400,
           "{\"__type\":\"com.amazon.coral.service#SerializationException\"}");
}

TEST(a_set_may_hold_an_empty_string)
{
    expect("PutItem",
           "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"ss\":{\"SS\":[\"\",\"x\"]},"
           "\"bs\":{\"BS\":[\"\"]}}}",
           200, "{}");
    expect("GetItem", "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}", 200,
           "{\"Item\":{\"id\":{\"S\":\"a\"},\"ss\":{\"SS\":[\"\",\"x\"]},\"bs\":{\"BS\":[\"\"]}}}");
}

TEST(an_attribute_named_twice_is_refused)
{
    expect_mistyped("PutItem",
                    "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"v\":{\"S\":\"1\"},"
                    "\"v\":{\"S\":\"2\"}}}",
                    "Duplicate attribute name in a map");
}

TEST(an_empty_attribute_name_is_refused_at_any_depth)
{
    expect_invalid(&f, "PutItem",
                   "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"\":{\"S\":\"v\"}}}",
                   INVALID "Empty attribute name");
    expect_invalid(&f, "PutItem",
                   "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"m\":{\"L\":[{\"M\":{"
                   "\"\":{\"S\":\"v\"}}}]}}}",
                   INVALID "Empty attribute name");
    expect_invalid(&f, "GetItem", "{\"TableName\":\"users\",\"Key\":{\"\":{\"S\":\"a\"}}}",
                   INVALID "Empty attribute name");
}
