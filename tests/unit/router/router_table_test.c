#include "tests/check.h"

#include "base/settings/requests.h"
#include "tests/support/expect.h"

static struct fake_cluster f;

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 2);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

static const char ONE_KEY[] =
    "\"AttributeDefinitions\":[{\"AttributeName\":\"a\",\"AttributeType\":\"S\"}],"
    "\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"}]";

TEST(a_table_is_created_and_described)
{
    char request[512];
    snprintf(request, sizeof request,
             "{\"TableName\":\"new\",%s,\"ProvisionedThroughput\":{\"ReadCapacityUnits\":3,"
             "\"WriteCapacityUnits\":2},\"StreamSpecification\":{\"StreamEnabled\":false},"
             "\"DeletionProtectionEnabled\":false,\"TableClass\":\"STANDARD\",\"Tags\":[]}",
             ONE_KEY);
    static const char DESCRIPTION[] =
        "\"AttributeDefinitions\":[{\"AttributeName\":\"a\",\"AttributeType\":\"S\"}],"
        "\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"}],\"TableName\":\"new\","
        "\"TableStatus\":\"%s\",\"CreationDateTime\":1700000000.0,"
        "\"ProvisionedThroughput\":{\"NumberOfDecreasesToday\":0,\"ReadCapacityUnits\":3,"
        "\"WriteCapacityUnits\":2},%s\"TableSizeBytes\":0,\"ItemCount\":0,"
        "\"TableArn\":\"arn:aws:dynamodb:us-east-1:000000000000:table/new\","
        "\"TableId\":\"00000000-0000-0000-0000-000000000000\","
        "\"TableClassSummary\":{\"TableClass\":\"STANDARD\"},"
        "\"DeletionProtectionEnabled\":false}}";
    char format[1024], answer[1024];
    snprintf(format, sizeof format, "{\"TableDescription\":{%s", DESCRIPTION);
    snprintf(answer, sizeof answer, format, "CREATING", "");
    expect_call(&f, "CreateTable", request, 200, answer);
    snprintf(format, sizeof format, "{\"Table\":{%s", DESCRIPTION);
    snprintf(answer, sizeof answer, format, "ACTIVE",
             "\"WarmThroughput\":{\"ReadUnitsPerSecond\":3,\"WriteUnitsPerSecond\":2,"
             "\"Status\":\"ACTIVE\"},");
    expect_call(&f, "DescribeTable", "{\"TableName\":\"new\"}", 200, answer);
    expect_fault(&f, "CreateTable", request, "ResourceInUseException", "Table already exists: new");
}

TEST(an_on_demand_table_with_a_sort_key_is_described_as_such)
{
    struct fake_answer a =
        fake_call(&f, "CreateTable",
                  "{\"TableName\":\"pay\",\"BillingMode\":\"PAY_PER_REQUEST\","
                  "\"AttributeDefinitions\":[{\"AttributeName\":\"s\",\"AttributeType\":\"B\"},"
                  "{\"AttributeName\":\"p\",\"AttributeType\":\"N\"}],"
                  "\"KeySchema\":[{\"AttributeName\":\"p\",\"KeyType\":\"HASH\"},"
                  "{\"AttributeName\":\"s\",\"KeyType\":\"RANGE\"}]}");
    assert_int_equal(a.status, 200);
    static const char *const PARTS[] = {
        ("\"KeySchema\":[{\"AttributeName\":\"p\",\"KeyType\":\"HASH\"},{\"AttributeName\":\"s\","
         "\"KeyType\":\"RANGE\"}]"),
        "{\"AttributeName\":\"s\",\"AttributeType\":\"B\"}",
        "\"BillingModeSummary\":{\"BillingMode\":\"PAY_PER_REQUEST\"}", "\"ReadCapacityUnits\":0"};
    for (size_t i = 0; i < 4; i++)
        assert_non_null(memmem(a.body.data, a.body.size, PARTS[i], strlen(PARTS[i])));
}

#define THROUGHPUT "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":1,\"WriteCapacityUnits\":1}"
#define INVALID    "One or more parameter values were invalid: "

static const struct {
    const char *members;
    const char *message;
} BAD_TABLES[] = {
    {"\"x\":1", "The parameter 'TableName' is required but was not present in the request"},
    {"\"TableName\":\"a;\"",
     "1 validation error detected: Value 'a;' at 'tableName' failed to satisfy constraint: Member "
     "must have length greater than or equal to 3"},
    {"\"TableName\":\"abc;\"",
     "3 validation errors detected: Value null at 'keySchema' failed to satisfy constraint: Member "
     "must not be null; Value 'abc;' at 'tableName' failed to satisfy constraint: Member must "
     "satisfy regular expression pattern: [a-zA-Z0-9_.-]+; Value null at 'attributeDefinitions' "
     "failed to satisfy constraint: Member must not be null"},
    {"\"TableName\":\"abc\",\"AttributeDefinitions\":[{}],\"KeySchema\":[],"
     "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":-1}",
     "5 validation errors detected: Value '[]' at 'keySchema' failed to satisfy constraint: Member "
     "must have length greater than or equal to 1; Value null at "
     "'provisionedThroughput.writeCapacityUnits' failed to satisfy constraint: Member must not be "
     "null; Value '-1' at 'provisionedThroughput.readCapacityUnits' failed to satisfy constraint: "
     "Member must have value greater than or equal to 1; Value null at "
     "'attributeDefinitions.1.member.attributeType' failed to satisfy constraint: Member must not "
     "be null; Value null at 'attributeDefinitions.1.member.attributeName' failed to satisfy "
     "constraint: Member must not be null"},
    {"\"TableName\":\"abc\",\"AttributeDefinitions\":[{\"AttributeName\":\"b\","
     "\"AttributeType\":\"SS\"}],\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"W\"}]",
     "2 validation errors detected: Value 'W' at 'keySchema.1.member.keyType' failed to satisfy "
     "constraint: Member must satisfy enum value set: [HASH, RANGE]; Value 'SS' at "
     "'attributeDefinitions.1.member.attributeType' failed to satisfy constraint: Member must "
     "satisfy enum value set: [B, N, S]"},
    {"\"TableName\":\"abc\",\"AttributeDefinitions\":[],\"KeySchema\":["
     "{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"},"
     "{\"AttributeName\":\"b\",\"KeyType\":\"RANGE\"},"
     "{\"AttributeName\":\"c\",\"KeyType\":\"RANGE\"}]",
     "1 validation error detected: Value '[KeySchemaElement(attributeName=a, keyType=HASH), "
     "KeySchemaElement(attributeName=b, keyType=RANGE), KeySchemaElement(attributeName=c, "
     "keyType=RANGE)]' at 'keySchema' failed to satisfy constraint: Member must have length less "
     "than or equal to 2"},
    {"\"TableName\":\"abc\",\"BillingMode\":\"PAY_PER_REQUEST\",\"AttributeDefinitions\":["
     "{\"AttributeName\":\"a\",\"AttributeType\":\"S\"},{\"AttributeName\":\"a\","
     "\"AttributeType\":\"N\"}],\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"}]",
     "Attribute Name is duplicated: a"},
    {"\"TableName\":\"abc\",\"AttributeDefinitions\":[],"
     "\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"}]",
     INVALID "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode "
             "is PROVISIONED"},
    {"\"TableName\":\"abc\",\"AttributeDefinitions\":[],\"BillingMode\":\"PAY_PER_REQUEST\","
     "\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"}]," THROUGHPUT,
     INVALID "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when "
             "BillingMode is PAY_PER_REQUEST"},
    {"\"TableName\":\"abc\",\"AttributeDefinitions\":[],"
     "\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"}],"
     "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":1000000000001,"
     "\"WriteCapacityUnits\":1000000000001}",
     "Given value 1000000000001 for ReadCapacityUnits is out of bounds"},
    {"\"TableName\":\"abc\",\"AttributeDefinitions\":[{\"AttributeName\":\"b\","
     "\"AttributeType\":\"S\"}],"
     "\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"}]," THROUGHPUT,
     INVALID "Some index key attributes are not defined in AttributeDefinitions. Keys: [a], "
             "AttributeDefinitions: [b]"},
    {"\"TableName\":\"abc\",\"AttributeDefinitions\":[{\"AttributeName\":\"b\","
     "\"AttributeType\":\"S\"}],\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"},"
     "{\"AttributeName\":\"b\",\"KeyType\":\"RANGE\"}]," THROUGHPUT,
     "Invalid KeySchema: Some index key attribute have no definition"},
    {"\"TableName\":\"abc\",\"AttributeDefinitions\":[{\"AttributeName\":\"a\","
     "\"AttributeType\":\"S\"},{\"AttributeName\":\"b\",\"AttributeType\":\"S\"}],"
     "\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"},"
     "{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"}]," THROUGHPUT,
     "Both the Hash Key and the Range Key element in the KeySchema have the same name"},
    {"\"TableName\":\"abc\",\"AttributeDefinitions\":[{\"AttributeName\":\"a\","
     "\"AttributeType\":\"S\"},{\"AttributeName\":\"b\",\"AttributeType\":\"S\"}],"
     "\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"RANGE\"},"
     "{\"AttributeName\":\"b\",\"KeyType\":\"HASH\"}]," THROUGHPUT,
     "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"},
    {"\"TableName\":\"abc\",\"AttributeDefinitions\":[{\"AttributeName\":\"a\","
     "\"AttributeType\":\"S\"},{\"AttributeName\":\"b\",\"AttributeType\":\"S\"}],"
     "\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"},"
     "{\"AttributeName\":\"b\",\"KeyType\":\"HASH\"}]," THROUGHPUT,
     "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"},
    {"\"TableName\":\"abc\",\"AttributeDefinitions\":[{\"AttributeName\":\"a\","
     "\"AttributeType\":\"S\"},{\"AttributeName\":\"b\",\"AttributeType\":\"S\"}],"
     "\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"}]," THROUGHPUT,
     INVALID "Number of attributes in KeySchema does not exactly match number of attributes "
             "defined in AttributeDefinitions"},
};

TEST(bad_tables_are_refused_with_the_services_words)
{
    char request[1024];
    for (size_t i = 0; i < sizeof BAD_TABLES / sizeof BAD_TABLES[0]; i++) {
        snprintf(request, sizeof request, "{%s}", BAD_TABLES[i].members);
        expect_invalid(&f, "CreateTable", request, BAD_TABLES[i].message);
    }
    assert_int_equal(f.table_count, 1);
}

TEST(settings_weir_does_not_have_are_refused)
{
    static const struct {
        const char *members;
        const char *message;
    } CASES[] = {
        {"\"StreamSpecification\":{\"StreamEnabled\":true}",
         INVALID "Table is being created with a stream enabled, UpdateViewType is required"},
        {"\"StreamSpecification\":{\"StreamEnabled\":false,\"StreamViewType\":\"KEYS_ONLY\"}",
         INVALID "Table is being created with a stream disabled, UpdateViewType should not be "
                 "specified"},
        {"\"GlobalSecondaryIndexes\":[]", INVALID "List of GlobalSecondaryIndexes is empty"},
        {"\"LocalSecondaryIndexes\":[]", INVALID "List of LocalSecondaryIndexes is empty"},
        {"\"ResourcePolicy\":\"{}\"", "ResourcePolicy is not supported by weir yet"},
    };
    char request[1024];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        snprintf(request, sizeof request, "{\"TableName\":\"abc\",%s," THROUGHPUT ",%s}", ONE_KEY,
                 CASES[i].members);
        expect_invalid(&f, "CreateTable", request, CASES[i].message);
    }
}

TEST(tables_are_listed_page_by_page)
{
    fake_table(&f, "zoo", "id", ATTR_STRING, NULL, 0, 1);
    fake_table(&f, "abc", "id", ATTR_STRING, NULL, 0, 1);
    expect_call(&f, "ListTables", "{\"ExclusiveStartTableName\":null,\"hi\":\"yo\"}", 200,
                "{\"TableNames\":[\"abc\",\"users\",\"zoo\"]}");
    expect_call(&f, "ListTables", "{\"Limit\":2}", 200,
                "{\"TableNames\":[\"abc\",\"users\"],\"LastEvaluatedTableName\":\"users\"}");
    expect_call(&f, "ListTables", "{\"Limit\":2,\"ExclusiveStartTableName\":\"users\"}", 200,
                "{\"TableNames\":[\"zoo\"]}");
    expect_call(&f, "ListTables", "{\"Limit\":3}", 200,
                "{\"TableNames\":[\"abc\",\"users\",\"zoo\"]}");
    expect_call(&f, "ListTables", "{\"Limit\":2.9}", 200,
                "{\"TableNames\":[\"abc\",\"users\"],\"LastEvaluatedTableName\":\"users\"}");
    expect_invalid(&f, "ListTables", "{\"Limit\":-0.9}", /* as Java cuts off */
                   "1 validation error detected: Value '0' at 'limit' failed to satisfy "
                   "constraint: Member must have value greater than or equal to 1");
    expect_invalid(&f, "ListTables", "{\"Limit\":101}",
                   "1 validation error detected: Value '101' at 'limit' failed to satisfy "
                   "constraint: Member must have value less than or equal to 100");
}

static void expect_part(const char *operation, const char *request, const char *part)
{
    struct fake_answer a = fake_call(&f, operation, request);
    if (memmem(a.body.data, a.body.size, part, strlen(part)) == NULL)
        fail_msg("%s not in %.*s", part, (int)a.body.size, (const char *)a.body.data);
}

TEST(throughput_and_billing_are_updated)
{
    static const char SAME[] = "{\"TableName\":\"users\",\"ProvisionedThroughput\":{"
                               "\"ReadCapacityUnits\":10,\"WriteCapacityUnits\":5}}";
    expect_invalid(
        &f, "UpdateTable", SAME,
        "The provisioned throughput for the table will not change. The requested value "
        "equals the current value. Current ReadCapacityUnits provisioned for the table: "
        "10. Requested ReadCapacityUnits: 10. Current WriteCapacityUnits provisioned for "
        "the table: 5. Requested WriteCapacityUnits: 5. Refer to the Amazon DynamoDB "
        "Developer Guide for current limits and how to request higher limits.");
    struct fake_answer a = fake_call(&f, "UpdateTable",
                                     "{\"TableName\":\"users\",\"ProvisionedThroughput\":{"
                                     "\"ReadCapacityUnits\":20,\"WriteCapacityUnits\":5}}");
    assert_int_equal(a.status, 200);
    assert_non_null(memmem(a.body.data, a.body.size, "\"TableStatus\":\"UPDATING\"", 24));
    assert_non_null(memmem(a.body.data, a.body.size, "\"ReadCapacityUnits\":10", 22)); /* yet */
    assert_int_equal(f.tables[0].rcu, 20);
    assert_int_equal(fake_call(&f, "UpdateTable",
                               "{\"TableName\":\"users\",\"BillingMode\":\"PAY_PER_REQUEST\"}")
                         .status,
                     200);
    assert_int_equal(f.tables[0].billing, BILLING_ON_DEMAND);
    expect_invalid(&f, "UpdateTable", SAME,
                   INVALID "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when "
                           "BillingMode is PAY_PER_REQUEST");
    expect_invalid(&f, "UpdateTable", "{\"TableName\":\"users\",\"BillingMode\":\"PROVISIONED\"}",
                   INVALID "ProvisionedThroughput must be specified when BillingMode is "
                           "PROVISIONED");
    expect_invalid(&f, "UpdateTable", "{\"TableName\":\"users\"}",
                   "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
                   "GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, "
                   "MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, "
                   "DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is "
                   "required");
    expect_part("DescribeTable", "{\"TableName\":\"users\"}",
                "\"LastUpdateToPayPerRequestDateTime\":1700000000.0");
    fake_call(&f, "UpdateTable",
              "{\"TableName\":\"users\",\"BillingMode\":\"PROVISIONED\"," THROUGHPUT "}");
    expect_part("DescribeTable", "{\"TableName\":\"users\"}",
                "\"BillingModeSummary\":{\"BillingMode\":\"PROVISIONED\","
                "\"LastUpdateToPayPerRequestDateTime\":1700000000.0}");
    expect_invalid(&f, "UpdateTable",
                   "{\"TableName\":\"users\",\"GlobalSecondaryIndexUpdates\":[]}",
                   INVALID "List of GlobalSecondaryIndexUpdates is empty");
}

/* Some changes the service takes only alone. */
TEST(changes_that_must_be_alone_are_refused_together)
{
    static const struct {
        const char *members;
        const char *message;
    } CASES[] = {
        {"\"SSESpecification\":{\"Enabled\":true},\"DeletionProtectionEnabled\":true",
         "Server-Side Encryption modification must be the only operation in the request"},
        {"\"TableClass\":\"STANDARD\",\"DeletionProtectionEnabled\":true",
         "TableClass modification must be the only operation in the request"},
        {"\"DeletionProtectionEnabled\":true," THROUGHPUT,
         "DeletionProtection modification must be the only operation in the request"},
        {"\"WarmThroughput\":{\"ReadUnitsPerSecond\":9000}," THROUGHPUT,
         "WarmThroughput must be the only operation in the request"},
        {"\"OnDemandThroughput\":{\"MaxReadRequestUnits\":9}," THROUGHPUT,
         "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request"},
        {"\"StreamSpecification\":{\"StreamEnabled\":false}," THROUGHPUT,
         "You cannot modify stream status while updating table IOPS"},
        {"\"StreamSpecification\":{\"StreamEnabled\":true}",
         "If stream is being enabled then UpdateViewType is required"},
        {"\"StreamSpecification\":{\"StreamEnabled\":false,\"StreamViewType\":\"KEYS_ONLY\"}",
         "If stream is being disabled, then UpdateViewType must not be specified"},
    };
    char request[512], message[256];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        snprintf(request, sizeof request, "{\"TableName\":\"users\",%s}", CASES[i].members);
        snprintf(message, sizeof message, INVALID "%s", CASES[i].message);
        expect_invalid(&f, "UpdateTable", request, message);
    }
}

#define PAY "\"BillingMode\":\"PAY_PER_REQUEST\""

/* What the service says, as others have seen it. */
TEST(throughput_that_cannot_be_had_is_refused_at_creation)
{
    static const struct {
        const char *members;
        const char *message;
    } CASES[] = {
        {THROUGHPUT ",\"OnDemandThroughput\":{\"MaxReadRequestUnits\":9}",
         INVALID "MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table "
                 "BillingMode is PROVISIONED"},
        {PAY ",\"OnDemandThroughput\":{\"MaxWriteRequestUnits\":0}",
         INVALID "Requested MaxWriteRequestUnits for OnDemandThroughput for table is outside of "
                 "valid range"},
        {PAY ",\"OnDemandThroughput\":{\"MaxReadRequestUnits\":-1}",
         INVALID "Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of "
                 "valid range"},
        {PAY ",\"OnDemandThroughput\":{\"MaxReadRequestUnits\":1000000000001}",
         "Given value 1000000000001 for MaxReadRequestUnits is out of bounds"},
        {PAY ",\"WarmThroughput\":{}",
         INVALID "WarmThroughput must have ReadUnitsPerSecond, WriteUnitsPerSecond or both"},
        {PAY ",\"WarmThroughput\":{\"ReadUnitsPerSecond\":11999}",
         INVALID "Requested ReadUnitsPerSecond for WarmThroughput for table is lower than initial "
                 "throughput for OnDemand"},
        {PAY ",\"WarmThroughput\":{\"WriteUnitsPerSecond\":0}",
         "1 validation error detected: Value '0' at 'warmThroughput.writeUnitsPerSecond' failed "
         "to satisfy constraint: Member must have value greater than or equal to 1"},
        {"\"ProvisionedThroughput\":{\"ReadCapacityUnits\":1,\"WriteCapacityUnits\":5},"
         "\"WarmThroughput\":{\"WriteUnitsPerSecond\":4}",
         INVALID "Requested WriteUnitsPerSecond for WarmThroughput for table is lower than "
                 "WriteCapacityUnits of ProvisionedThroughput"},
    };
    char request[1024];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        snprintf(request, sizeof request, "{\"TableName\":\"abc\",%s,%s}", ONE_KEY,
                 CASES[i].members);
        expect_invalid(&f, "CreateTable", request, CASES[i].message);
    }
}

TEST(a_maximum_is_set_kept_and_taken_away)
{
    expect_part("UpdateTable",
                "{\"TableName\":\"users\"," PAY
                ",\"OnDemandThroughput\":{\"MaxReadRequestUnits\":70}}",
                "\"OnDemandThroughput\":{\"MaxReadRequestUnits\":70,\"MaxWriteRequestUnits\":-1}");
    expect_part("UpdateTable",
                "{\"TableName\":\"users\",\"OnDemandThroughput\":{\"MaxWriteRequestUnits\":60}}",
                "\"OnDemandThroughput\":{\"MaxReadRequestUnits\":70,\"MaxWriteRequestUnits\":60}");
    expect_invalid(&f, "UpdateTable",
                   "{\"TableName\":\"users\",\"BillingMode\":\"PROVISIONED\"," THROUGHPUT
                   ",\"OnDemandThroughput\":{\"MaxWriteRequestUnits\":60}}",
                   INVALID "MaxWriteRequestUnits for OnDemandThroughput cannot be specified when "
                           "the table BillingMode is PROVISIONED");
    fake_call(&f, "UpdateTable",
              "{\"TableName\":\"users\",\"OnDemandThroughput\":{\"MaxReadRequestUnits\":-1,"
              "\"MaxWriteRequestUnits\":-1}}");
    struct fake_answer a = fake_call(&f, "DescribeTable", "{\"TableName\":\"users\"}");
    assert_null(memmem(a.body.data, a.body.size, "OnDemandThroughput", 18));
}

TEST(warm_throughput_grows_and_says_when_it_is_there)
{
    expect_part("UpdateTable",
                "{\"TableName\":\"users\",\"WarmThroughput\":{\"WriteUnitsPerSecond\":2000}}",
                "\"WarmThroughput\":{\"ReadUnitsPerSecond\":10,\"WriteUnitsPerSecond\":2000,"
                "\"Status\":\"ACTIVE\"}"); /* two partitions of 1,000 */
    expect_part("UpdateTable",
                "{\"TableName\":\"users\",\"WarmThroughput\":{\"WriteUnitsPerSecond\":2001}}",
                "\"WriteUnitsPerSecond\":2000,\"Status\":\"UPDATING\"}");
    expect_invalid(&f, "UpdateTable",
                   "{\"TableName\":\"users\",\"WarmThroughput\":{\"WriteUnitsPerSecond\":2000}}",
                   INVALID "Requested WriteUnitsPerSecond for WarmThroughput for table is lower "
                           "than current WarmThroughput, decreasing WarmThroughput is not "
                           "supported");
    assert_int_equal(fake_call(&f, "UpdateTable",
                               "{\"TableName\":\"users\",\"WarmThroughput\":{"
                               "\"WriteUnitsPerSecond\":2001}}")
                         .status,
                     200); /* once more, the same */
}

static bool shows(struct fake_answer a, const char *text)
{
    return memmem(a.body.data, a.body.size, text, strlen(text)) != NULL;
}

TEST(a_deleted_table_is_gone_once_that_is_answered)
{
    f.hold_changes = true;
    assert_int_equal(fake_call(&f, "DeleteTable", "{\"TableName\":\"users\"}").status, 0);
    fake_advance_ms(&f, 300);
    assert_int_equal(fake_take_answer(&f, 1).status, 0);
    f.tables[0].name.size = 0;
    fake_advance_ms(&f, 100);
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 200);
    assert_true(shows(a, "\"TableStatus\":\"DELETING\""));
    assert_false(shows(a, "KeySchema") || shows(a, "AttributeDefinitions"));
    assert_false(shows(a, "CreationDateTime"));
    expect_fault(&f, "DescribeTable", "{\"TableName\":\"users\"}", "ResourceNotFoundException",
                 "Requested resource not found: Table: users not found");
}

TEST(a_stream_that_is_not_there_cannot_be_disabled)
{
    expect_invalid(&f, "UpdateTable",
                   "{\"TableName\":\"users\",\"StreamSpecification\":{\"StreamEnabled\":false}}",
                   "Table has no stream to disable: TableName: users");
}

TEST(a_created_table_is_active_once_that_is_answered)
{
    char request[512];
    f.hold_changes = true;
    snprintf(request, sizeof request,
             "{\"TableName\":\"new\",\"BillingMode\":\"PAY_PER_REQUEST\",%s}", ONE_KEY);
    assert_int_equal(fake_call(&f, "CreateTable", request).status, 0);
    fake_advance_ms(&f, 300);
    assert_int_equal(fake_take_answer(&f, 1).status, 0);
    f.tables[f.table_count - 1].status = TABLE_ACTIVE;
    fake_advance_ms(&f, 100);
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 200);
    assert_true(shows(a, "\"TableStatus\":\"CREATING\""));
}

TEST(a_change_that_takes_long_is_answered_before_it_has_happened)
{
    f.hold_changes = true;
    assert_int_equal(fake_call(&f, "DeleteTable", "{\"TableName\":\"users\"}").status, 0);
    fake_advance_ms(&f, 4900);
    assert_int_equal(fake_take_answer(&f, 1).status, 0);
    fake_advance_ms(&f, 200);
    assert_int_equal(fake_take_answer(&f, 1).status, 200);
    stop(NULL);
    fake_init(&f);
    config_edit_requests(&f.config)->table_change_delay_ms = 1;
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 2);
    f.hold_changes = true;
    assert_int_equal(fake_call(&f, "DeleteTable", "{\"TableName\":\"users\"}").status, 200);
}

TEST(a_table_is_deleted_and_then_busy)
{
    f.hold_changes = true;
    fake_call(&f, "DeleteTable", "{\"TableName\":\"users\"}");
    fake_advance_ms(&f, 5100);
    assert_int_equal(fake_take_answer(&f, 1).status, 200);
    expect_fault(&f, "DeleteTable", "{\"TableName\":\"users\"}", "ResourceInUseException",
                 "Attempt to change a resource which is still in use: Table is being deleted: "
                 "users");
}

/* A request that was on its way gets the same answer as a later one, and does not wait. */
TEST(data_of_a_table_that_is_being_deleted_is_not_found)
{
    static const char GET[] = "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}";
    assert_int_equal(fake_call(&f, "GetItem", GET).status, 200); /* the router knows the table */
    f.hold_changes = true;
    f.tables[0].status = TABLE_DELETING;
    f.fail_code = REPLY_WRONG_PARTITION;
    f.fail_count = 1;
    expect_fault(&f, "GetItem", GET, "ResourceNotFoundException", "Requested resource not found");
    expect_fault(&f, "GetItem", GET, "ResourceNotFoundException", "Requested resource not found");
    expect_fault(
        &f, "UpdateTable", "{\"TableName\":\"users\",\"BillingMode\":\"PAY_PER_REQUEST\"}",
        "ResourceInUseException",
        "Attempt to change a resource which is still in use: Table is being deleted: users");
}

TEST(unknown_tables_are_not_found)
{
    static const char *const OPERATIONS[] = {"DescribeTable", "DeleteTable"};
    for (size_t i = 0; i < 2; i++)
        expect_fault(&f, OPERATIONS[i], "{\"TableName\":\"nowhere\"}", "ResourceNotFoundException",
                     "Requested resource not found: Table: nowhere not found");
    expect_fault(
        &f, "UpdateTable", "{\"TableName\":\"nowhere\",\"BillingMode\":\"PAY_PER_REQUEST\"}",
        "ResourceNotFoundException", "Requested resource not found: Table: nowhere not found");
}

TEST(limits_and_endpoints_are_told)
{
    expect_call(&f, "DescribeLimits", "{}", 200,
                "{\"AccountMaxReadCapacityUnits\":360000,\"AccountMaxWriteCapacityUnits\":120000,"
                "\"TableMaxReadCapacityUnits\":40000,\"TableMaxWriteCapacityUnits\":40000}");
    expect_call(&f, "DescribeEndpoints", "{}", 200,
                "{\"Endpoints\":[{\"Address\":\"localhost:8000\",\"CachePeriodInMinutes\":1440}]}");
}

TEST(the_partitions_page_shows_every_partition_and_one_table_if_asked)
{
    fake_table(&f, "zoo", "id", ATTR_STRING, NULL, 0, 1);
    fake_open(&f, 2);
    fake_send_text(&f, 2, "GET /weir/partitions HTTP/1.1\r\nHost: h\r\n\r\n");
    struct fake_answer a = fake_take_answer(&f, 2);
    assert_int_equal(a.status, 200);
    static const char FIRST[] = "\"table\":\"users\",\"partition\":1,\"node\":2,"
                                "\"role\":\"leader\",\"voters\":1,\"caught_up\":1,"
                                "\"bytes\":12345,\"splitting\":false,"
                                "\"start_hash\":\"0000000000000000\","
                                "\"end_hash\":\"8000000000000000\",\"read\":{\"allocated\":0.0,"
                                "\"consumed\":0.0,\"admitted\":0,\"burst\":0,\"throttled\":{"
                                "\"key-range\":7,";
    assert_non_null(memmem(a.body.data, a.body.size, FIRST, sizeof FIRST - 1));
    assert_non_null(memmem(a.body.data, a.body.size, "\"table\":\"zoo\"", 13));
    static const char STORES[] = "\"stores\":[{\"node\":1,";
    static const char SECOND[] =
        "{\"node\":2,\"used_bytes\":9002,\"total_bytes\":20000,\"growth_left_bytes\":8000,"
        "\"refused_full\":3,\"refused_waiting\":4},";
    assert_non_null(memmem(a.body.data, a.body.size, STORES, sizeof STORES - 1));
    assert_non_null(memmem(a.body.data, a.body.size, SECOND, sizeof SECOND - 1));
    fake_send_text(&f, 2, "GET /weir/partitions?table=z%6fo HTTP/1.1\r\nHost: h\r\n\r\n");
    a = fake_take_answer(&f, 2);
    assert_null(memmem(a.body.data, a.body.size, "users", 5));
    assert_non_null(memmem(a.body.data, a.body.size, "\"table\":\"zoo\"", 13));
}

static struct fake_answer page(const char *path)
{
    char text[256];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
    if (!f.clients[2].open)
        fake_open(&f, 2);
    fake_send_text(&f, 2, text);
    return fake_take_answer(&f, 2);
}

static void expect_page_refused(struct fake_answer a, int status, const char *says)
{
    assert_int_equal(a.status, status);
    assert_non_null(memmem(a.body.data, a.body.size, says, strlen(says)));
}

TEST(the_partitions_page_tells_what_it_cannot_show)
{
    expect_page_refused(page("/weir/partitions?table=none"), 400, "Table: none not found");
    expect_page_refused(page("/weir/partitions?table="), 400,
                        "table: the name of a table is expected, not ''");
    f.hold = true;
    page("/weir/partitions");
    fake_answer(&f, 0); /* the list of the tables */
    assert_int_equal(f.held_count, 1);
    f.down = UINT32_MAX;
    fake_answer_code(&f, 0, REPLY_NOT_LEADER);
    fake_advance_ms(&f, config_requests(&f.config)->request_deadline_ms);
    expect_page_refused(fake_take_answer(&f, 2), 503, "ServiceUnavailable");
}

/* What is being merged, and in which step; nothing of other partitions. */
TEST(the_partitions_page_tells_what_is_being_merged)
{
    static const struct {
        enum merge_step step;
        const char *text;
    } cases[] = {
        {MERGE_NONE, "\"splitting\":false,\"start_hash\":\"80"},
        {MERGE_FREEZE, "\"splitting\":false,\"merge\":\"freeze\",\"start_hash\":\"80"},
        {MERGE_THAW, "\"splitting\":false,\"merge\":\"thaw\",\"start_hash\":\"80"},
        {MERGE_ABSORB, "\"splitting\":false,\"merge\":\"absorb\",\"start_hash\":\"80"},
    };
    static const char LOWER[] = "\"splitting\":false,\"start_hash\":\"00";
    struct table *t = fake_table(&f, "zoo", "id", ATTR_STRING, NULL, 0, 2);
    fake_open(&f, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        t->partitions[1].merge = cases[i].step;
        t->partitions[1].merge_with = t->partitions[0].id;
        fake_send_text(&f, 2, "GET /weir/partitions?table=zoo HTTP/1.1\r\nHost: h\r\n\r\n");
        struct slice body = fake_take_answer(&f, 2).body;
        assert_non_null(memmem(body.data, body.size, cases[i].text, strlen(cases[i].text)));
        assert_non_null(memmem(body.data, body.size, LOWER, sizeof LOWER - 1));
    }
}

TEST(pages_refuse_parameters_they_do_not_know_and_are_listed)
{
    static const struct {
        const char *path;
        int status;
        const char *says;
    } CASES[] = {
        {"/weir/partitions?mytable=x&table=users", 400, "Unknown parameter 'mytable'"},
        {"/weir/partitions?tabel=users", 400, "Unknown parameter 'tabel': this path takes table"},
        {"/weir/partitions?table=users&table=x", 400, "'table' is given twice"},
        {"/weir/partitions?&table=users#tabel=x", 200, "\"table\":\"users\""},
        {"/weir/gac?x", 400, "Unknown parameter 'x': this path takes none"},
        {"/weir/events?after=x", 400, "after: the number of an event is expected, not 'x'"},
        {"/weir/events?before=3", 400, "Unknown parameter 'before'"},
        {"/weir", 200, "/weir/events"},
        {"/weir/", 200, "/weir/partitions"},
        {"/metrics", 404, "There is nothing at this path"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct fake_answer a = page(CASES[i].path);
        assert_int_equal(a.status, CASES[i].status);
        assert_non_null(memmem(a.body.data, a.body.size, CASES[i].says, strlen(CASES[i].says)));
    }
}
