/* Global indexes: how they are defined, described and changed. */
#include "tests/check.h"

#include "tests/support/router_indexes.h"

#define INVALID "One or more parameter values were invalid: "

static struct fake_cluster f;

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

/* ---- definitions ---- */

static void refused(const char *defined, const char *indexes, const char *more, const char *text)
{
    char body[2048];
    snprintf(body, sizeof body,
             "{\"__type\":\"com.amazon.coral.validate#ValidationException\",\"message\":\"%s\"}",
             text);
    expect_answer(create_table(&f, "abc", defined, indexes, more), 400, body);
}

TEST(what_is_wrong_with_an_index_is_told)
{
    static const struct {
        const char *indexes;
        const char *text;
    } CASES[] = {
        {INDEX("by-x", KEY("x", "HASH"), "," ALL),
         INVALID "Some index key attributes are not defined in AttributeDefinitions. Keys: [x], "
                 "AttributeDefinitions: [p, a]"},
        {INDEX("by-a", A_HASH "," A_HASH, "," ALL),
         "Both the Hash Key and the Range Key element in the KeySchema have the same name"},
        {INDEX("by-a", A_HASH "," KEY("p", "RANGE") "," KEY("a", "RANGE"), "," ALL),
         "The KeySchema contains multiple key attributes with the same name"},
        {INDEX("by-a", KEY("a", "RANGE"), "," ALL),
         "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"},
        {INDEX("by-a", A_HASH, ",\"Projection\":{}"), INVALID "Unknown ProjectionType: null"},
        {INDEX("by-a", A_HASH,
               ",\"Projection\":{\"ProjectionType\":\"ALL\",\"NonKeyAttributes\":[\"x\"]}"),
         INVALID "ProjectionType is ALL, but NonKeyAttributes is specified"},
        {INDEX("by-a", A_HASH,
               ",\"Projection\":{\"ProjectionType\":\"INCLUDE\",\"NonKeyAttributes\":[\"x\",\"x\"]"
               "}"),
         INVALID "Duplicate element in NonKeyAttributes: x"},
        {INDEX("by-a", A_HASH, "," ALL "," UNITS("1", "1")),
         INVALID "ProvisionedThroughput should not be specified for index: by-a when BillingMode "
                 "is PAY_PER_REQUEST"},
        {INDEX("by-a", A_HASH, "," ALL ",\"OnDemandThroughput\":{\"MaxReadRequestUnits\":0}"),
         INVALID "Requested MaxReadRequestUnits for OnDemandThroughput for index : by-a is outside "
                 "of valid range"},
        {INDEX("by-a", A_HASH, "," ALL ",\"WarmThroughput\":{\"ReadUnitsPerSecond\":1}"),
         INVALID "Requested ReadUnitsPerSecond for WarmThroughput for index by-a is lower than "
                 "initial throughput for OnDemand"},
        {INDEX("by-a", A_HASH, "," ALL) "," INDEX("by-a", A_HASH, "," ALL),
         INVALID "Duplicate index name: by-a"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        refused(DEFINED_A, CASES[i].indexes, ON_DEMAND, CASES[i].text);
    refused(DEFINED_A, INDEX("by-a", A_HASH, "," ALL), PROVISIONED,
            INVALID "ProvisionedThroughput is not specified for index: by-a");
    refused(DEFINED_A "," DEFINE("b", "S"), INDEX("by-a", A_HASH, "," ALL), ON_DEMAND,
            INVALID "Some AttributeDefinitions are not used. AttributeDefinitions: [p, a, b], keys "
                    "used: [p, a]");
}

TEST(a_table_has_at_most_20_global_indexes_with_100_projected_names)
{
    struct buffer indexes = {0};
    for (int i = 0; i < 21; i++)
        buffer_append_format(&indexes, "%s" INDEX("by-%02d", A_HASH, "," ALL), i > 0 ? "," : "", i);
    buffer_append_u8(&indexes, 0);
    refused(DEFINED_A, (const char *)indexes.data, ON_DEMAND,
            INVALID "GlobalSecondaryIndex count exceeds the per-table limit of 20");
    buffer_clear(&indexes);
    for (int i = 0; i < 6; i++) {
        buffer_append_format(&indexes,
                             "%s{\"IndexName\":\"by-%d\",\"KeySchema\":[" A_HASH "],\"Projection\":"
                             "{\"ProjectionType\":\"INCLUDE\",\"NonKeyAttributes\":[",
                             i > 0 ? "," : "", i);
        for (int j = 0; j < 17; j++)
            buffer_append_format(&indexes, "%s\"n%d\"", j > 0 ? "," : "", j);
        buffer_append_text(&indexes, "]}}");
    }
    buffer_append_u8(&indexes, 0);
    refused(DEFINED_A, (const char *)indexes.data, ON_DEMAND,
            INVALID "The number of projected attributes of all indexes is 102, and may be 100");
    buffer_deinit(&indexes);
}

#define DEFINED_8                                                                                \
    "," DEFINE("a", "S") "," DEFINE("b", "N") "," DEFINE("c", "S") "," DEFINE(                   \
        "d", "B") "," DEFINE("e", "S") "," DEFINE("f", "N") "," DEFINE("g", "S") "," DEFINE("h", \
                                                                                            "B")

TEST(keys_have_up_to_four_attributes_each)
{
    refused("," DEFINE("a", "S") "," DEFINE("b", "S"),
            INDEX("by-a", A_HASH "," KEY("b", "RANGE") "," KEY("p", "HASH"), "," ALL), ON_DEMAND,
            INVALID "All HASH key attributes must precede RANGE key attributes in the KeySchema");
    refused(DEFINED_8,
            INDEX("by-5",
                  A_HASH "," KEY("b", "HASH") "," KEY("c", "HASH") "," KEY("d", "HASH") "," KEY(
                      "e", "HASH"),
                  "," ALL),
            ON_DEMAND,
            INVALID "The KeySchema exceeds the maximum allowed number of HASH key attributes");
    refused(DEFINED_8,
            INDEX("by-5",
                  A_HASH "," KEY("b", "RANGE") "," KEY("c", "RANGE") "," KEY("d", "RANGE") "," KEY(
                      "e", "RANGE") "," KEY("f", "RANGE"),
                  "," ALL),
            ON_DEMAND,
            INVALID "The KeySchema exceeds the maximum allowed number of RANGE key attributes");
    struct fake_answer a = create_table(
        &f, "wide", DEFINED_8,
        INDEX("by-8",
              A_HASH "," KEY("b", "HASH") "," KEY("c", "HASH") "," KEY("d", "HASH") "," KEY(
                  "e", "RANGE") "," KEY("f", "RANGE") "," KEY("g", "RANGE") "," KEY("h", "RANGE"),
              "," ALL),
        ON_DEMAND);
    assert_int_equal(a.status, 200);
}

/* ---- descriptions ---- */

static struct fake_answer describe(const char *table)
{
    char request[128];
    snprintf(request, sizeof request, "{\"TableName\":\"%s\"}", table);
    return fake_call(&f, "DescribeTable", request);
}

TEST(a_table_describes_its_indexes)
{
    create_provisioned(&f);
    static const char FIRST[] =
        "\"GlobalSecondaryIndexes\":[{\"IndexName\":\"by-a\",\"KeySchema\":[" A_HASH "],"
        "\"Projection\":{\"ProjectionType\":\"ALL\"},\"IndexStatus\":\"ACTIVE\","
        "\"ProvisionedThroughput\":{\"NumberOfDecreasesToday\":0,\"ReadCapacityUnits\":3,"
        "\"WriteCapacityUnits\":2},\"IndexSizeBytes\":0,\"ItemCount\":0,"
        "\"IndexArn\":\"" ARN "units/index/by-a\",\"WarmThroughput\":{";
    static const char SECOND[] = "{\"IndexName\":\"by-b\",\"KeySchema\":[" KEY("b", "HASH") "," KEY(
        "a",
        "RANGE") "],"
                 "\"Projection\":{\"ProjectionType\":\"KEYS_ONLY\"},\"IndexStatus\":\"ACTIVE\","
                 "\"ProvisionedThroughput\":{\"NumberOfDecreasesToday\":0,\"ReadCapacityUnits\":7,"
                 "\"WriteCapacityUnits\":6}";
    expect_within(describe("units"), FIRST);
    expect_within(describe("units"), SECOND);
    expect_within(describe("units"), "\"AttributeDefinitions\":[" DEFINE("p", "S") "," DEFINE(
                                         "a", "S") "," DEFINE("b", "N") "]");
    expect_within(fake_call(&f, "ListTables", "{}"), "\"TableNames\":[\"units\"]");
    struct fake_answer a = fake_call(&f, "DeleteTable", "{\"TableName\":\"units\"}");
    expect_absent(a, "GlobalSecondaryIndexes");
    assert_int_equal(describe("units").status, 400);
}

TEST(a_table_is_not_deleted_while_an_index_changes)
{
    create_provisioned(&f);
    f.tables[1].status = TABLE_UPDATING;
    struct fake_answer a = fake_call(&f, "DeleteTable", "{\"TableName\":\"units\"}");
    static const char TEXT[] = "Attempt to change a resource which is still in use: Cannot delete "
                               "table while indexes are being created, updated, or deleted.";
    assert_int_equal(a.status, 400);
    assert_non_null(memmem(a.body.data, a.body.size, TEXT, strlen(TEXT)));
    assert_non_null(memmem(a.body.data, a.body.size, "#ResourceInUseException", 23));
    f.tables[1].status = TABLE_ACTIVE;
    assert_int_equal(fake_call(&f, "DeleteTable", "{\"TableName\":\"units\"}").status, 200);
}

TEST(a_new_table_is_creating_until_its_indexes_are_there)
{
    f.hold_indexes = true;
    create_table(&f, "slow", DEFINED_A, INDEX("by-a", A_HASH, "," ALL), ON_DEMAND);
    fake_advance_ms(&f, 6000); /* so long the answer is held at most */
    expect_within(fake_take_answer(&f, 1), "\"TableStatus\":\"CREATING\"");
    expect_within(describe("slow"), "\"TableStatus\":\"CREATING\"");
    expect_within(describe("slow"), "\"IndexStatus\":\"CREATING\"");
    expect_fault(&f, "UpdateTable",
                 "{\"TableName\":\"slow\",\"BillingMode\":\"PROVISIONED\"," PROVISIONED "}",
                 "ResourceInUseException",
                 "Attempt to change a resource which is still in use: Table is being created: "
                 "slow");
    expect_invalid(&f, "Scan", "{\"TableName\":\"slow\",\"IndexName\":\"by-a\"}",
                   "The table does not have the specified index: by-a");
}

/* The answer of CreateTable is held while an index of the table is being created. */
TEST(the_answer_waits_for_the_indexes)
{
    struct buffer request = {0};
    f.hold_indexes = true;
    fake_open(&f, 1);
    fake_request_text(
        &request, "CreateTable",
        slice_of("{\"TableName\":\"slow\",\"KeySchema\":[" KEY(
            "p", "HASH") "],"
                         "\"AttributeDefinitions\":[" DEFINE("p", "S") DEFINED_A
                 "],"
                 "\"GlobalSecondaryIndexes\":[" INDEX("by-a", A_HASH, "," ALL) "]," ON_DEMAND "}"));
    fake_send(&f, 1, buffer_slice(&request));
    fake_advance_ms(&f, 1000);
    assert_int_equal(fake_take_answer(&f, 1).status, 0);
    f.tables[1].status = TABLE_ACTIVE;
    fake_advance_ms(&f, 1000);
    assert_int_equal(fake_take_answer(&f, 1).status, 200);
    buffer_deinit(&request);
}

/* ---- changes ---- */

TEST(the_throughput_of_indexes_is_updated)
{
    create_provisioned(&f);
    struct fake_answer a = fake_call(&f, "UpdateTable",
                                     "{\"TableName\":\"units\",\"AttributeDefinitions\":[" DEFINE(
                                         "zz", "S") "],"
                                                    "\"GlobalSecondaryIndexUpdates\":[" UPDATE(
                                                        "by-b", "," UNITS("9", "8")) "]}");
    expect_within(a, "\"TableStatus\":\"ACTIVE\"");
    expect_within(a, "\"IndexStatus\":\"UPDATING\",\"ProvisionedThroughput\":{"
                     "\"NumberOfDecreasesToday\":0,\"ReadCapacityUnits\":7,"
                     "\"WriteCapacityUnits\":6}");
    expect_within(describe("units"), "\"ReadCapacityUnits\":9,\"WriteCapacityUnits\":8}");
    expect_within(describe("units"), "\"ReadCapacityUnits\":3,\"WriteCapacityUnits\":2}");
    assert_int_equal(f.asked[REQUEST_TABLE_UPDATE], 1);
    /* table and index at once */
    a = fake_call(
        &f, "UpdateTable",
        "{\"TableName\":\"units\"," UNITS("6", "6") ",\"GlobalSecondaryIndexUpdates\":[" UPDATE(
            "by-a", "," UNITS("4", "4")) "]}");
    expect_within(a, "\"TableStatus\":\"UPDATING\"");
    expect_within(describe("units"), "\"ReadCapacityUnits\":6,\"WriteCapacityUnits\":6}");
    expect_within(describe("units"), "\"ReadCapacityUnits\":4,\"WriteCapacityUnits\":4}");
    assert_int_equal(f.asked[REQUEST_TABLE_UPDATE], 2);
}

TEST(what_is_wrong_with_an_update_is_told)
{
    create_provisioned(&f);
    create_table(&f, "free", DEFINED_A, INDEX("by-a", A_HASH, "," ALL), ON_DEMAND);
    static const struct {
        const char *request;
        const char *text;
    } CASES[] = {
        {UPDATES("units", "{}"),
         INVALID "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                 "GlobalSecondaryIndexUpdate.Delete must not be null"},
        {UPDATES("units",
                 "{\"Update\":{\"IndexName\":\"by-a\"},\"Delete\":{\"IndexName\":\"by-b\"}}"),
         INVALID "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate "
                 "object"},
        {UPDATES("units",
                 "{\"Create\":{\"IndexName\":\"by-b\",\"Projection\":{},\"KeySchema\":[]}}"),
         "1 validation error detected: Value '[]' at "
         "'globalSecondaryIndexUpdates.1.member.create.keySchema' failed to satisfy constraint: "
         "Member must have length greater than or equal to 1"},
        {UPDATES("units", "{\"Delete\":{\"IndexName\":\"by-a\"}},"
                          "{\"Update\":{\"IndexName\":\"by-a\"}}"),
         INVALID "Only one global secondary index update per index is allowed simultaneously. "
                 "Index: by-a"},
        {UPDATES("units", UPDATE("by-a", "," UNITS("1", "1")) "," UPDATE("by-a", "")),
         INVALID "Only one global secondary index update per index is allowed simultaneously. "
                 "Index: by-a"},
        {UPDATES("units", UPDATE("by-a", "")),
         INVALID "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: by-a"},
        {UPDATES("units", UPDATE("by-a", "," UNITS("3", "2"))),
         "The provisioned throughput for the index by-a will not change. The requested value "
         "equals the current value. Current ReadCapacityUnits provisioned for index by-a: 3. "
         "Requested ReadCapacityUnits: 3. Current WriteCapacityUnits provisioned for index by-a: "
         "2. Requested WriteCapacityUnits: 2. Refer to the Amazon DynamoDB Developer Guide for "
         "current limits and how to request higher limits."},
        {UPDATES("units", UPDATE("by-a", ",\"OnDemandThroughput\":{\"MaxReadRequestUnits\":9}")),
         INVALID "MaxReadRequestUnits for OnDemandThroughput for index : by-a cannot be specified "
                 "when the table BillingMode is PROVISIONED"},
        {UPDATES("units", UPDATE("by-a", ",\"WarmThroughput\":{}")),
         INVALID "WarmThroughput must have at least one of ReadUnitsPerSecond or "
                 "WriteUnitsPerSecond specified for index: by-a"},
        {UPDATES("free", UPDATE("by-a", "," UNITS("1", "1"))),
         INVALID "The only Updates for index: by-a when TableThroughputMode is PAY_PER_REQUEST can "
                 "be to OnDemandThroughput, WarmThroughput"},
        {UPDATES("free", UPDATE("by-a", "")),
         INVALID "The only Updates for index: by-a when TableThroughputMode is PAY_PER_REQUEST can "
                 "be to OnDemandThroughput, WarmThroughput"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        expect_invalid(&f, "UpdateTable", CASES[i].request, CASES[i].text);
    expect_fault(&f, "UpdateTable", UPDATES("units", UPDATE("none", "," UNITS("1", "1"))),
                 "ResourceNotFoundException",
                 "Requested resource not found: Index none for table units");
    f.tables[1].status = TABLE_UPDATING;
    expect_fault(&f, "UpdateTable", UPDATES("units", UPDATE("by-a", "," UNITS("1", "1"))),
                 "ResourceInUseException",
                 "Attempt to change a resource which is still in use: Index is being updated. "
                 "Table: units Index: by-a");
    assert_int_equal(f.asked[REQUEST_TABLE_UPDATE], 0);
}

TEST(the_billing_mode_changes_with_all_indexes)
{
    create_provisioned(&f);
    struct fake_answer a =
        fake_call(&f, "UpdateTable",
                  "{\"TableName\":\"units\"," ON_DEMAND ",\"GlobalSecondaryIndexUpdates\":[" UPDATE(
                      "by-a", ",\"OnDemandThroughput\":{\"MaxReadRequestUnits\":90}") "]}");
    assert_int_equal(a.status, 200);
    for (int i = 0; i < 3; i++)
        assert_int_equal(f.tables[i].billing, BILLING_ON_DEMAND);
    assert_int_equal(f.tables[1].maximum[ADMIT_READ], 90);
    expect_within(describe("units"), "\"OnDemandThroughput\":{\"MaxReadRequestUnits\":90,"
                                     "\"MaxWriteRequestUnits\":-1}");
    expect_invalid(&f, "UpdateTable",
                   "{\"TableName\":\"units\",\"BillingMode\":\"PROVISIONED\"," PROVISIONED "}",
                   INVALID "ProvisionedThroughput must be specified for index: by-a,by-b");
    expect_invalid(&f, "UpdateTable",
                   "{\"TableName\":\"units\",\"BillingMode\":\"PROVISIONED\"," PROVISIONED
                   ",\"GlobalSecondaryIndexUpdates\":[" UPDATE("by-a", "," UNITS("1", "1")) "]}",
                   INVALID "ProvisionedThroughput must be specified for index: by-b");
    a = fake_call(&f, "UpdateTable",
                  "{\"TableName\":\"units\",\"BillingMode\":\"PROVISIONED\"," PROVISIONED
                  ",\"GlobalSecondaryIndexUpdates\":[" UPDATE(
                      "by-a", "," UNITS("1", "2")) "," UPDATE("by-b", "," UNITS("3", "4")) "]}");
    assert_int_equal(a.status, 200);
    for (int i = 0; i < 3; i++)
        assert_int_equal(f.tables[i].billing, BILLING_PROVISIONED);
    assert_int_equal(f.tables[2].rcu * 10 + f.tables[2].wcu, 34);
    expect_invalid(&f, "UpdateTable",
                   "{\"TableName\":\"units\"," ON_DEMAND
                   ",\"GlobalSecondaryIndexUpdates\":[" UPDATE("by-a", "," UNITS("1", "1")) "]}",
                   INVALID "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for "
                           "index: by-a when BillingMode is PAY_PER_REQUEST");
}
