/* What a table only tells again: tags, table class, and the key it names for encryption. */
#include "tests/check.h"

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

#define NEW_TABLE                                                                   \
    "\"TableName\":\"new\",\"BillingMode\":\"PAY_PER_REQUEST\","                    \
    "\"AttributeDefinitions\":[{\"AttributeName\":\"a\",\"AttributeType\":\"S\"}]," \
    "\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"}]"

/* ---- class and encryption ---- */

static bool answer_has(struct fake_answer a, const char *text)
{
    return a.status == 200 && memmem(a.body.data, a.body.size, text, strlen(text)) != NULL;
}

static bool described_with(const char *text)
{
    return answer_has(fake_call(&f, "DescribeTable", "{\"TableName\":\"users\"}"), text);
}

TEST(a_change_of_class_is_told_and_touches_nothing_else)
{
    assert_false(described_with("TableClassSummary"));
    struct table before = f.tables[0];
    assert_true(answer_has(fake_call(&f, "UpdateTable",
                                     "{\"TableName\":\"users\","
                                     "\"TableClass\":\"STANDARD_INFREQUENT_ACCESS\"}"),
                           "\"TableClass\":\"STANDARD_INFREQUENT_ACCESS\""));
    assert_true(
        described_with("\"TableClassSummary\":{\"TableClass\":\"STANDARD_INFREQUENT_ACCESS\"}"));
    assert_true(f.tables[0].version == before.version && f.tables[0].rcu == before.rcu);
    assert_int_equal(f.tables[0].billing, before.billing);
    assert_int_equal(
        fake_call(&f, "UpdateTable", "{\"TableName\":\"users\",\"TableClass\":\"STANDARD\"}")
            .status,
        200);
    assert_true(described_with("\"TableClass\":\"STANDARD\""));
    expect_invalid(&f, "UpdateTable", "{\"TableName\":\"users\",\"TableClass\":\"GLACIER\"}",
                   "Invalid table-class parameter provided. Please try again with a valid "
                   "table-class value: [STANDARD, STANDARD_INFREQUENT_ACCESS].");
}

TEST(encryption_is_told_as_the_service_tells_it)
{
    static const struct {
        const char *asked;
        const char *key; /* NULL: no description */
    } CASES[] = {
        {"\"Enabled\":true", "alias/aws/dynamodb"},
        {"\"Enabled\":true,\"SSEType\":\"KMS\",\"KMSMasterKeyId\":\"alias/mine\"", "alias/mine"},
        {"\"Enabled\":true,\"SSEType\":\"KMS\",\"KMSMasterKeyId\":\"1234\"", "key/1234"},
        {"\"Enabled\":false", NULL},
    };
    char request[512], expected[512];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        snprintf(request, sizeof request, "{\"TableName\":\"users\",\"SSESpecification\":{%s}}",
                 CASES[i].asked);
        assert_int_equal(fake_call(&f, "UpdateTable", request).status, 200);
        snprintf(expected, sizeof expected,
                 "\"SSEDescription\":{\"Status\":\"ENABLED\",\"SSEType\":\"KMS\","
                 "\"KMSMasterKeyArn\":\"arn:aws:kms:us-east-1:000000000000:%s\"}",
                 CASES[i].key == NULL ? "" : CASES[i].key);
        assert_int_equal(described_with(expected), CASES[i].key != NULL);
        assert_int_equal(described_with("SSEDescription"), CASES[i].key != NULL);
    }
    assert_true(answer_has(fake_call(&f, "CreateTable",
                                     "{" NEW_TABLE ",\"SSESpecification\":{\"Enabled\":true,"
                                     "\"SSEType\":\"KMS\","
                                     "\"KMSMasterKeyId\":\"arn:aws:kms:x:1:key/9\"}}"),
                           "\"KMSMasterKeyArn\":\"arn:aws:kms:x:1:key/9\""));
}

TEST(a_protected_table_is_described_and_not_deleted)
{
    assert_true(described_with("\"DeletionProtectionEnabled\":false"));
    assert_true(
        answer_has(fake_call(&f, "UpdateTable",
                             "{\"TableName\":\"users\",\"DeletionProtectionEnabled\":true}"),
                   "\"DeletionProtectionEnabled\":true"));
    assert_true(described_with("\"DeletionProtectionEnabled\":true"));
    expect_invalid(&f, "DeleteTable", "{\"TableName\":\"users\"}", "protected");
    assert_int_equal(fake_call(&f, "UpdateTable",
                               "{\"TableName\":\"users\",\"DeletionProtectionEnabled\":false}")
                         .status,
                     200);
    assert_int_equal(fake_call(&f, "DeleteTable", "{\"TableName\":\"users\"}").status, 200);
    assert_true(answer_has(
        fake_call(&f, "CreateTable", "{" NEW_TABLE ",\"DeletionProtectionEnabled\":true}"),
        "\"DeletionProtectionEnabled\":true"));
    expect_invalid(&f, "DeleteTable", "{\"TableName\":\"new\"}", "protected");
}
