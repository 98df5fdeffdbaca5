/* router_update_test.c - UpdateItem: expressions, AttributeUpdates, what it returns, its faults. */
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

/* Puts users/a with these attributes: ",\"n\":{\"N\":\"1\"}". */
static void put(const char *attributes)
{
    char request[1024];
    snprintf(request, sizeof request, "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"}%s}}",
             attributes);
    expect_call(&f, "PutItem", request, 200, "{}");
}

/* An update of users/a. */
static const char *update(const char *members)
{
    static char request[4096];
    snprintf(request, sizeof request, "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}%s}",
             members);
    return request;
}

static void expect(const char *members, const char *body)
{
    expect_call(&f, "UpdateItem", update(members), 200, body);
}

static void expect_refused(const char *members, const char *message)
{
    expect_invalid(&f, "UpdateItem", update(members), message);
}

static void expect_item(const char *attributes)
{
    char answer[1024];
    snprintf(answer, sizeof answer, "{\"Item\":{\"id\":{\"S\":\"a\"}%s}}", attributes);
    expect_call(&f, "GetItem", "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}", 200,
                answer);
}

#define UPDATE ",\"UpdateExpression\":"
#define VALUES ",\"ExpressionAttributeValues\":"
#define NAMES  ",\"ExpressionAttributeNames\":"
#define RETURN ",\"ReturnValues\":"

TEST(an_update_makes_or_changes_an_item)
{
    expect(UPDATE "\"SET #n = :one ADD c :one\"" VALUES "{\":one\":{\"N\":\"1\"}}" NAMES
                  "{\"#n\":\"name\"}",
           "{}");
    expect_item(",\"c\":{\"N\":\"1\"},\"name\":{\"N\":\"1\"}");
    expect(UPDATE "\"ADD c :one REMOVE #n\"" VALUES "{\":one\":{\"N\":\"1\"}}" NAMES
                  "{\"#n\":\"name\"}",
           "{}");
    expect_item(",\"c\":{\"N\":\"2\"}");
}

TEST(an_update_without_expression_makes_an_item_of_the_key)
{
    expect("", "{}");
    expect_item("");
    put(",\"n\":{\"N\":\"1\"}");
    expect(RETURN "\"ALL_NEW\"", "{\"Attributes\":{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}}}");
    expect(",\"AttributeUpdates\":{}" RETURN "\"UPDATED_NEW\"", "{}");
    expect_item(",\"n\":{\"N\":\"1\"}");
}

TEST(an_update_that_only_removes_makes_no_item)
{
    expect(UPDATE "\"REMOVE n\"" RETURN "\"ALL_NEW\"", "{}");
    assert_int_equal(f.item_count, 0);
}

TEST(each_return_value_shows_its_part_of_the_item)
{
    static const struct {
        const char *what;
        const char *first; /* there was no item */
        const char *second;
    } CASES[] = {
        {"NONE", "{}", "{}"},
        {"ALL_OLD", "{}",
         "{\"Attributes\":{\"id\":{\"S\":\"a\"},\"m\":{\"M\":{\"x\":{\"N\":\"1\"},\"y\":{\"N\":"
         "\"2\"}}},"
         "\"k\":{\"S\":\"v\"}}}"},
        {"UPDATED_OLD", "{}", "{\"Attributes\":{\"m\":{\"M\":{\"x\":{\"N\":\"1\"}}}}}"},
        {"ALL_NEW", "{\"Attributes\":{\"id\":{\"S\":\"a\"},\"new\":{\"N\":\"7\"}}}",
         "{\"Attributes\":{\"id\":{\"S\":\"a\"},\"m\":{\"M\":{\"x\":{\"N\":\"8\"},\"y\":{\"N\":"
         "\"2\"}}},"
         "\"k\":{\"S\":\"v\"},\"new\":{\"N\":\"7\"}}}"},
        {"UPDATED_NEW", "{\"Attributes\":{\"new\":{\"N\":\"7\"}}}",
         "{\"Attributes\":{\"m\":{\"M\":{\"x\":{\"N\":\"8\"}}},\"new\":{\"N\":\"7\"}}}"},
    };
    char members[512];
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        fake_call(&f, "DeleteItem", "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}");
        snprintf(members, sizeof members,
                 UPDATE "\"SET #w = :n\"" NAMES "{\"#w\":\"new\"}" VALUES
                        "{\":n\":{\"N\":\"7\"}}" RETURN "\"%s\"",
                 CASES[i].what);
        expect(members, CASES[i].first);
        put(",\"m\":{\"M\":{\"x\":{\"N\":\"1\"},\"y\":{\"N\":\"2\"}}},\"k\":{\"S\":\"v\"}");
        snprintf(members, sizeof members,
                 UPDATE "\"SET m.x = m.x + :n, #w = :n\"" NAMES "{\"#w\":\"new\"}" VALUES
                        "{\":n\":{\"N\":\"7\"}}" RETURN "\"%s\"",
                 CASES[i].what);
        expect(members, CASES[i].second);
    }
    expect(UPDATE "\"REMOVE k\"" RETURN "\"UPDATED_NEW\"", "{}");
    expect(UPDATE "\"REMOVE k\"" RETURN "\"UPDATED_OLD\"", "{}");
}

TEST(an_update_has_a_condition)
{
    static const char COMPARE_AND_SET[] =
        UPDATE "\"SET v = :new\",\"ConditionExpression\":\"v = :old\"" VALUES
               "{\":new\":{\"N\":\"%d\"},\":old\":{\"N\":\"%d\"}}"
               ",\"ReturnValuesOnConditionCheckFailure\":\"ALL_OLD\"";
    char members[512];
    put(",\"v\":{\"N\":\"1\"}");
    snprintf(members, sizeof members, COMPARE_AND_SET, 2, 1);
    expect(members, "{}");
    expect_call(&f, "UpdateItem", update(members), 400,
                "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException\","
                "\"message\":\"The conditional request failed\",\"Item\":{\"id\":{\"S\":\"a\"},"
                "\"v\":{\"N\":\"2\"}}}");
    expect_item(",\"v\":{\"N\":\"2\"}");
}

TEST(key_attributes_do_not_change)
{
    static const char TEXT[] = "One or more parameter values were invalid: Cannot update attribute "
                               "%s. This attribute is part of the key";
    static const struct {
        const char *members;
        const char *name;
    } CASES[] = {
        {UPDATE "\"SET ts = :v\"" VALUES "{\":v\":{\"N\":\"1\"}}", "ts"},
        {UPDATE "\"REMOVE who.x\"", "who"},
        {UPDATE "\"SET x = ts.y, ts = :v\"" VALUES "{\":v\":{\"N\":\"1\"}}", "ts"},
        {",\"AttributeUpdates\":{\"who\":{\"Action\":\"DELETE\"}}", "who"},
    };
    char request[512], message[256];
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        snprintf(
            request, sizeof request,
            "{\"TableName\":\"events\",\"Key\":{\"who\":{\"S\":\"a\"},\"ts\":{\"N\":\"1\"}}%s}",
            CASES[i].members);
        snprintf(message, sizeof message, TEXT, CASES[i].name);
        expect_invalid(&f, "UpdateItem", request, message);
    }
    expect_refused(UPDATE "\"SET v = if_not_exists(w, id.x)\"",
                   "Key attributes must be scalars; list random access '[]' and map lookup '.' are "
                   "not allowed: Key: id");
    expect_invalid(&f, "UpdateItem",
                   "{\"TableName\":\"users\",\"Key\":{\"x\":{\"S\":\"a\"}},"
                   "\"UpdateExpression\":\"REMOVE id\"}",
                   "The provided key element does not match the schema");
}

TEST(an_update_that_does_not_fit_the_item_is_refused_with_the_services_words)
{
    static const char OPERAND[] = "An operand in the update expression has an incorrect data type";
    static const char PATH[] =
        "The document path provided in the update expression is invalid for update";
    static const char MISSING[] =
        "The provided expression refers to an attribute that does not exist in the item";
    static const struct {
        const char *update;
        const char *message;
    } CASES[] = {
        {"SET x = gone", MISSING},
        {"SET x = gone + :n", MISSING},
        {"SET x = list_append(gone, :l)", MISSING},
        {"SET x = s + :n", OPERAND},
        {"SET x = list_append(s, :l)", OPERAND},
        {"ADD s :n", OPERAND},
        {"ADD ns :ss", OPERAND},
        {"DELETE ns :ss", OPERAND},
        {"SET gone.x = :n", PATH},
        {"SET s.x = :n", PATH},
        {"SET l.x = :n", PATH},
        {"SET m[0] = :n", PATH},
        {"REMOVE gone.x", PATH},
    };
    char members[512];
    put(",\"s\":{\"S\":\"x\"},\"ns\":{\"NS\":[\"1\"]},\"l\":{\"L\":[]},\"m\":{\"M\":{}}");
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        size_t used = (size_t)snprintf(members, sizeof members, UPDATE "\"%s\"", CASES[i].update);
        static const char *const ALL[][2] = {
            {":n", "{\"N\":\"1\"}"}, {":l", "{\"L\":[]}"}, {":ss", "{\"SS\":[\"1\"]}"}};
        for (size_t j = 0; j < COUNT_OF(ALL); j++) {
            if (strstr(CASES[i].update, ALL[j][0]) != NULL)
                snprintf(members + used, sizeof members - used, VALUES "{\"%s\":%s}", ALL[j][0],
                         ALL[j][1]);
        }
        expect_refused(members, CASES[i].message);
    }
    expect_refused(",\"AttributeUpdates\":{\"s\":{\"Action\":\"ADD\",\"Value\":{\"N\":\"1\"}}}",
                   "Type mismatch for attribute to update");
    expect_refused(UPDATE "\"SET x = :a + :a\"" VALUES "{\":a\":{\"N\":\"9.9E125\"}}",
                   "Number overflow. Attempting to store a number with magnitude larger than "
                   "supported range");
    expect_item(",\"s\":{\"S\":\"x\"},\"ns\":{\"NS\":[\"1\"]},\"l\":{\"L\":[]},\"m\":{\"M\":{}}");
}

TEST(an_updated_item_has_at_most_400_kib)
{
    struct buffer b = {0};
    for (int more = 0; more < 2; more++) { /* id: 2 + 1, v: 1 + its size, w: 1 + 1 */
        size_t size = 409600 - 6 + (size_t)more;
        buffer_clear(&b);
        buffer_append_text(&b,
                           "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}},"
                           "\"UpdateExpression\":\"SET v = :v, w = :w\","
                           "\"ExpressionAttributeValues\":{\":w\":{\"S\":\"w\"},\":v\":{\"S\":\"");
        memset(buffer_reserve(&b, size), 'x', size);
        b.size += size;
        buffer_append_text(&b, "\"}}}");
        buffer_append_u8(&b, 0);
        if (more == 0)
            expect_call(&f, "UpdateItem", (const char *)b.data, 200, "{}");
        else
            expect_invalid(&f, "UpdateItem", (const char *)b.data,
                           "Item size to update has exceeded the maximum allowed size");
    }
    buffer_deinit(&b);
}

TEST(updates_are_checked_in_the_services_order)
{
    static const struct {
        const char *members;
        const char *message;
    } CASES[] = {
        {NAMES "{}", "ExpressionAttributeNames can only be specified when using expressions"},
        {VALUES "{}",
         "ExpressionAttributeValues can only be specified when using expressions: UpdateExpression "
         "and ConditionExpression are null"},
        {UPDATE "\"\"" NAMES "{}", "ExpressionAttributeNames must not be empty"},
        {UPDATE "\"\",\"ConditionExpression\":\"\"",
         "Invalid UpdateExpression: The expression can not be empty;"},
        {UPDATE "\"REMOVE a\",\"ConditionExpression\":\"\"",
         "Invalid ConditionExpression: The expression can not be empty;"},
        {UPDATE "\"REMOVE a\"" NAMES "{\"#a\":\"a\"}",
         "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a}"},
        {",\"AttributeUpdates\":{\"a\":{\"Value\":{}}},\"Expected\":{\"a\":{}}",
         "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"},
        {",\"AttributeUpdates\":{\"a\":{}},\"Expected\":{\"a\":{}}",
         "One or more parameter values were invalid: Only DELETE action is allowed when no "
         "attribute value is specified"},
        {",\"AttributeUpdates\":{\"a\":{\"Action\":\"DELETE\",\"Value\":{\"N\":\"1\"}}}",
         "One or more parameter values were invalid: DELETE action with value is not supported for "
         "the type N"},
        {",\"AttributeUpdates\":{\"a\":{\"Action\":\"ADD\",\"Value\":{\"S\":\"1\"}}}",
         "One or more parameter values were invalid: ADD action is not supported for the type S"},
        {",\"AttributeUpdates\":{\"a\":{\"Action\":\"DELETE\"}},\"Expected\":{\"a\":{}}",
         "One or more parameter values were invalid: Value must be provided when Exists is null "
         "for Attribute: a"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++)
        expect_refused(CASES[i].members, CASES[i].message);
    assert_int_equal(f.item_count, 0);
}

TEST(attribute_updates_put_delete_and_add)
{
    put(",\"n\":{\"N\":\"1\"},\"ss\":{\"SS\":[\"a\",\"b\"]},\"l\":{\"L\":[{\"N\":\"1\"}]},"
        "\"x\":{\"S\":\"x\"}");
    expect(",\"AttributeUpdates\":{\"n\":{\"Action\":\"ADD\",\"Value\":{\"N\":\"-3\"}},"
           "\"ss\":{\"Action\":\"DELETE\",\"Value\":{\"SS\":[\"b\",\"c\"]}},"
           "\"l\":{\"Action\":\"ADD\",\"Value\":{\"L\":[{\"S\":\"y\"}]}},"
           "\"x\":{\"Action\":\"DELETE\"},\"new\":{\"Value\":{\"BOOL\":true}},"
           "\"k\":{\"Action\":\"ADD\",\"Value\":{\"L\":[{\"S\":\"z\"}]}},"
           "\"gone\":{\"Action\":\"DELETE\",\"Value\":{\"NS\":[\"1\"]}}}",
           "{}");
    expect_item(",\"n\":{\"N\":\"-2\"},\"ss\":{\"SS\":[\"a\"]},\"l\":{\"L\":[{\"N\":\"1\"},{\"S\":"
                "\"y\"}]},\"k\":{\"L\":[{\"S\":\"z\"}]},\"new\":{\"BOOL\":true}");
    expect_fault(&f, "UpdateItem",
                 update(",\"AttributeUpdates\":{\"a\":{\"Action\":\"DELETE\"},\"b\":{\"Action\":"
                        "\"DELETE\"},\"a\":{\"Action\":\"DELETE\"}}"),
                 "SerializationException", "Duplicate field 'a'");
}

TEST(an_update_tells_its_capacity)
{
    struct buffer b = {0};
    buffer_append_format(&b, UPDATE "\"SET v = :v\"" VALUES "{\":v\":{\"S\":\"%01500d\"}}", 0);
    buffer_append_text(&b, ",\"ReturnConsumedCapacity\":\"TOTAL\"");
    buffer_append_u8(&b, 0);
    expect((const char *)b.data,
           "{\"ConsumedCapacity\":{\"TableName\":\"users\",\"CapacityUnits\":2.0}}");
    buffer_deinit(&b);
    expect(UPDATE "\"REMOVE v\",\"ReturnConsumedCapacity\":\"TOTAL\"",
           "{\"ConsumedCapacity\":{\"TableName\":\"users\",\"CapacityUnits\":2.0}}");
    expect(UPDATE "\"REMOVE v\",\"ReturnConsumedCapacity\":\"TOTAL\"",
           "{\"ConsumedCapacity\":{\"TableName\":\"users\",\"CapacityUnits\":1.0}}");
}
