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

#define THROUGHPUT "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":1,\"WriteCapacityUnits\":1}"
#define INVALID    "One or more parameter values were invalid: "

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

#define PAY "\"BillingMode\":\"PAY_PER_REQUEST\""

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
