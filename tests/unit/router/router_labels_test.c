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

#define ARN      "arn:aws:dynamodb:eu-west-1:123456789012:table/users"
#define RESOURCE "\"ResourceArn\":\"" ARN "\""
#define NEW_TABLE                                                                   \
    "\"TableName\":\"new\",\"BillingMode\":\"PAY_PER_REQUEST\","                    \
    "\"AttributeDefinitions\":[{\"AttributeName\":\"a\",\"AttributeType\":\"S\"}]," \
    "\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"}]"

static void expect_tags(const char *resource, const char *tags)
{
    char request[256], answer[1024];
    snprintf(request, sizeof request, "{\"ResourceArn\":\"%s\"}", resource);
    snprintf(answer, sizeof answer, "{\"Tags\":[%s]}", tags);
    expect_call(&f, "ListTagsOfResource", request, 200, answer);
}

TEST(tags_are_set_and_listed_and_removed)
{
    expect_tags(ARN, "");
    expect_call(&f, "TagResource",
                "{" RESOURCE ",\"Tags\":[{\"Key\":\"team\",\"Value\":\"blue\"},"
                "{\"Key\":\"cost\",\"Value\":\"\"}]}",
                200, "");
    expect_tags(ARN, "{\"Key\":\"cost\",\"Value\":\"\"},{\"Key\":\"team\",\"Value\":\"blue\"}");
    expect_call(&f, "TagResource", "{" RESOURCE ",\"Tags\":[{\"Key\":\"team\",\"Value\":\"red\"}]}",
                200, "");
    expect_call(&f, "UntagResource", "{" RESOURCE ",\"TagKeys\":[\"cost\",\"unknown\"]}", 200, "");
    expect_tags(ARN, "{\"Key\":\"team\",\"Value\":\"red\"}");
}

TEST(tags_of_a_new_table_are_kept)
{
    struct fake_answer a = fake_call(&f, "CreateTable",
                                     "{" NEW_TABLE ",\"Tags\":[{\"Key\":\"b\",\"Value\":\"2\"},"
                                     "{\"Key\":\"weir:gac\",\"Value\":\"off\"},"
                                     "{\"Key\":\"a\",\"Value\":\"1\"}]}");
    assert_int_equal(a.status, 200);
    expect_tags("arn:aws:dynamodb:us-east-1:000000000000:table/new",
                "{\"Key\":\"a\",\"Value\":\"1\"},{\"Key\":\"b\",\"Value\":\"2\"},"
                "{\"Key\":\"weir:gac\",\"Value\":\"off\"}");
}

#define BAD "One or more parameter values were invalid: "

TEST(tags_that_cannot_be_are_refused)
{
    static const struct {
        const char *operation;
        const char *members;
        const char *message;
    } CASES[] = {
        {"TagResource", "\"Tags\":[]", "Atleast one Tag needs to be provided as Input."},
        {"UntagResource", "\"TagKeys\":[]", "Atleast one Tag Key needs to be provided as Input."},
        {"TagResource",
         "\"Tags\":[{\"Key\":\"a\",\"Value\":\"1\"},{\"Key\":\"a\",\"Value\":\"2\"}]",
         "Duplicate Tag Keys provided as input: Duplicate Tag Key found a"},
        {"TagResource", "\"Tags\":[{\"Key\":\"a!\",\"Value\":\"1\"}]",
         "The Tag Key provided is invalid, Key: a!"},
        {"TagResource", "\"Tags\":[{\"Key\":\"a\",\"Value\":\"<>\"}]",
         "The Tag Value provided is invalid, Value: <>"},
        {"TagResource", "\"Tags\":[{\"Key\":\"aws:a\",\"Value\":\"1\"}]",
         "Tag Key cannot be prefixed with aws:, Key: aws:a"},
        {"TagResource", "\"Tags\":[{\"Key\":\"weir:gac\",\"Value\":\"off\"}]",
         "The tag weir:gac can only be given to CreateTable, and stays"},
        {"UntagResource", "\"TagKeys\":[\"weir:gac\"]",
         "The tag weir:gac can only be given to CreateTable, and stays"},
        {"TagResource", "\"Tags\":[{\"Key\":\"weir:gca\",\"Value\":\"off\"}]",
         "The tag weir:gca is not known: of the tags that begin with weir: there are weir:gac, "
         "weir:weight and weir:key-sharding"},
        {"UntagResource", "\"TagKeys\":[\"weir:weight\"]",
         "The tag weir:weight can only be given to CreateTable, and stays"},
        {"TagResource", "\"Tags\":[{\"Key\":\"\",\"Value\":\"1\"}]",
         "1 validation error detected: Value '' at 'tags.1.member.key' failed to satisfy "
         "constraint: Member must have length greater than or equal to 1"},
    };
    char request[512];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        snprintf(request, sizeof request, "{" RESOURCE ",%s}", CASES[i].members);
        expect_invalid(&f, CASES[i].operation, request, CASES[i].message);
    }
    expect_tags(ARN, "");
}

TEST(a_weight_is_a_whole_number_up_to_100)
{
    static const char *const wrong[] = {"",   "0",     "101", "-1",
                                        "1 ", "three", "1.5", "99999999999999999999"};
    char request[512], message[256];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(request, sizeof request,
                 "{" NEW_TABLE ",\"Tags\":[{\"Key\":\"weir:weight\",\"Value\":\"%s\"}]}", wrong[i]);
        snprintf(message, sizeof message,
                 "The tag weir:weight is '%s' and must be a whole number from 1 to 100", wrong[i]);
        expect_invalid(&f, "CreateTable", request, message);
    }
    struct fake_answer a =
        fake_call(&f, "CreateTable",
                  "{" NEW_TABLE ",\"Tags\":[{\"Key\":\"weir:weight\",\"Value\":\"100\"}]}");
    assert_int_equal(a.status, 200);
    expect_tags("arn:aws:dynamodb:us-east-1:000000000000:table/new",
                "{\"Key\":\"weir:weight\",\"Value\":\"100\"}");
}

TEST(what_asks_for_shards_is_a_word_or_a_number_from_2_to_128)
{
    static const char *const wrong[] = {"", "1", "129", "-2", "2 ", "Auto", "on", "1.5", "0200"};
    static const char *const right[] = {"auto", "counter", "off", "2", "128"};
    static const char FORMAT[] =
        "The tag weir:key-sharding is '%s' and may only be 'auto', 'counter', "
        "'off', or a whole number from 2 to 128";
    static const char TAGS[] = "{%s,\"Tags\":[{\"Key\":\"weir:key-sharding\",\"Value\":\"%s\"}]}";
    char request[512], message[256];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(message, sizeof message, FORMAT, wrong[i]);
        snprintf(request, sizeof request, TAGS, NEW_TABLE, wrong[i]);
        expect_invalid(&f, "CreateTable", request, message);
        snprintf(request, sizeof request, TAGS, RESOURCE, wrong[i]);
        expect_invalid(&f, "TagResource", request, message);
    }
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        snprintf(request, sizeof request, TAGS, RESOURCE, right[i]);
        expect_call(&f, "TagResource", request, 200, "");
    }
    expect_call(&f, "UntagResource", "{" RESOURCE ",\"TagKeys\":[\"weir:key-sharding\"]}", 200, "");
    expect_tags(ARN, "");
}

TEST(the_tag_for_shards_may_have_its_old_name)
{
    expect_call(&f, "TagResource",
                "{" RESOURCE ",\"Tags\":[{\"Key\":\"weir:salting\",\"Value\":\"auto\"}]}", 200, "");
    expect_tags(ARN, "{\"Key\":\"weir:salting\",\"Value\":\"auto\"}");
    expect_invalid(
        &f, "TagResource", "{" RESOURCE ",\"Tags\":[{\"Key\":\"weir:salting\",\"Value\":\"1\"}]}",
        "The tag weir:salting is '1' and may only be 'auto', 'counter', 'off', or a whole "
        "number from 2 to 128");
    expect_call(&f, "UntagResource", "{" RESOURCE ",\"TagKeys\":[\"weir:salting\"]}", 200, "");
    expect_tags(ARN, "");
}

/* Fifty in a request are taken, fifty-one are not; a key may have 128 characters, here of three
 * bytes. */
TEST(limits_of_tags_hold)
{
    struct buffer request = {0};
    for (int count = 50; count <= 51; count++) {
        buffer_clear(&request);
        buffer_append_format(&request, "{" RESOURCE ",\"Tags\":[");
        for (int i = 0; i < count; i++)
            buffer_append_format(&request, "%s{\"Key\":\"%d\",\"Value\":\"\"}", i == 0 ? "" : ",",
                                 i);
        buffer_append_format(&request, "]}");
        buffer_append_u8(&request, 0);
        if (count == 50)
            expect_call(&f, "TagResource", (const char *)request.data, 200, "");
        else
            expect_invalid(&f, "TagResource", (const char *)request.data,
                           "Number of Tags exceed the current limit for the provided ResourceArn");
    }
    for (int size = 128; size <= 129; size++) {
        buffer_clear(&request);
        buffer_append_format(&request, "{" RESOURCE ",\"TagKeys\":[\"");
        for (int i = 0; i < size; i++)
            buffer_append_format(&request, "\u20ac");
        buffer_append_format(&request, "\"]}");
        buffer_append_u8(&request, 0);
        assert_int_equal(fake_call(&f, "UntagResource", (const char *)request.data).status,
                         size == 128 ? 200 : 400);
    }
    buffer_deinit(&request);
}

TEST(a_resource_that_is_no_table_is_refused)
{
    static const char NO_ARN[] = BAD "ARNs must start with 'arn:': ",
                      OTHER[] = BAD "Provided Arn is not a DynamoDB resource arn: ",
                      INDEX[] = BAD "Invalid resource arn provided, only table or stream is "
                                    "accepted. Provided resource arn: ",
                      NAME[] = "Invalid TableArn: Invalid ResourceArn provided as input ";
    static const struct {
        const char *arn;
        const char *message;
    } NAMES[] = {
        {"users", NO_ARN},
        {"arn:aws:dynamodb:us-east-1:000000000000:table/", NAME},
        {"arn:aws:dynamodb:us-east-1:000000000000:table/users/index/i", INDEX},
        {"arn:aws:dynamodb:us-east-1:000000000000:table/u~ers", NAME},
        {"arn:aws:s3:us-east-1:000000000000:table/users", OTHER},
        {"arn:aws:dynamodb:us-east-1:table/users", OTHER},
        {"arn", NO_ARN},
    };
    char request[256], message[256];
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        snprintf(request, sizeof request, "{\"ResourceArn\":\"%s\"}", NAMES[i].arn);
        snprintf(message, sizeof message, "%s%s", NAMES[i].message, NAMES[i].arn);
        expect_invalid(&f, "ListTagsOfResource", request, message);
        expect_invalid(&f, "GetResourcePolicy", request, message);
    }
    static const char GONE[] = "Requested resource not found: ResourceArn: "
                               "arn:aws:dynamodb:us-east-1:000000000000:table/gone not found";
    static const char RESOURCE_GONE[] =
        "\"ResourceArn\":\"arn:aws:dynamodb:us-east-1:000000000000:table/gone\"";
    snprintf(request, sizeof request, "{%s}", RESOURCE_GONE);
    expect_fault(&f, "ListTagsOfResource", request, "ResourceNotFoundException", GONE);
    snprintf(request, sizeof request, "{%s,\"TagKeys\":[\"a\"]}", RESOURCE_GONE);
    expect_fault(&f, "UntagResource", request, "ResourceNotFoundException", GONE);
    expect_invalid(&f, "ListTagsOfResource", "{" RESOURCE ",\"NextToken\":\"x\"}",
                   "Invalid NextToken");
}

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

TEST(encryption_that_contradicts_itself_is_refused)
{
    static const struct {
        const char *asked;
        const char *message;
    } CASES[] = {
        {"\"Enabled\":false,\"KMSMasterKeyId\":\"a\"",
         BAD "KMSMasterKeyId can not be specified if Enabled is false"},
        {"\"SSEType\":\"KMS\"", BAD "SSEType can not be specified if Enabled is false"},
        {"\"Enabled\":true,\"KMSMasterKeyId\":\"a\"",
         BAD "SSEType KMS is required if KMSMasterKeyId is specified"},
        {"\"Enabled\":false", BAD "Table is already encrypted by default"},
        {"\"Enabled\":true,\"SSEType\":\"AES256\"", BAD "SSEType AES256 is not supported"},
        {"\"Enabled\":true,\"SSEType\":\"KMS\",\"KMSMasterKeyId\":\"\"",
         BAD "KMSMasterKeyId has 0 bytes, and may have 1 to 2048"},
    };
    char request[512];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        snprintf(request, sizeof request, "{\"TableName\":\"users\",\"SSESpecification\":{%s}}",
                 CASES[i].asked);
        expect_invalid(&f, "UpdateTable", request, CASES[i].message);
    }
    static const char KEY[] = "{\"TableName\":\"users\",\"SSESpecification\":{\"Enabled\":true}}";
    assert_int_equal(fake_call(&f, "UpdateTable", KEY).status, 200);
    expect_invalid(&f, "UpdateTable", KEY,
                   BAD "Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId "
                       "parameter if you want to change Master Key");
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
