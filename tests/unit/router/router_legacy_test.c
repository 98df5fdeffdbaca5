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

#define INVALID "One or more parameter values were invalid: "

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
