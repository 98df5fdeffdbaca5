/* The region and account that ARNs name: of the options, or of what the request is signed for. */
#include "tests/check.h"

#include <stdio.h>

#include "router/http/region.h"
#include "tests/support/fake_cluster.h"

#define SCHEME "AWS4-HMAC-SHA256 "
#define REST   ", SignedHeaders=host;x-amz-date, Signature=00"
#define SIZE32 "abcdefghijklmnopqrstuvwxyz-01234"

static struct fake_cluster f;

static int init(void **state)
{
    (void)state;
    fake_init(&f);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

/* ---- the header ---- */

TEST(a_credential_scope_has_a_region)
{
    static const char *const CASES[][2] = {
        {SCHEME "Credential=KEY/20260101/eu-west-1/dynamodb/aws4_request" REST, "eu-west-1"},
        {SCHEME "Credential=KEY/20260101/eu-west-1/dynamodb/aws4_request", "eu-west-1"},
        {SCHEME "Credential=K/1/local/dynamodb/aws4_request,SignedHeaders=h,Signature=0", "local"},
        {SCHEME " SignedHeaders=h ,\tCredential=K/1/r/dynamodb/aws4_request", "r"},
        {SCHEME "Credential=a/b//c/1/r/dynamodb/aws4_request", "r"},
        {SCHEME "Credential=//r/dynamodb/aws4_request", "r"},
        {SCHEME "Credential=K/1/" SIZE32 "/dynamodb/aws4_request" REST, SIZE32},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++)
        assert_slice_is(region_of_authorization(slice_of(CASES[i][0])), CASES[i][1]);
}

static const char *const HOSTILE[] = {
    "",
    " ",
    "Bearer 0123456789abcdef",
    "AWS4-HMAC-SHA256",
    SCHEME,
    SCHEME ",,,",
    SCHEME "Credential=",
    SCHEME "Credential=,Credential=K/1/r/dynamodb/aws4_request", /* the first one counts */
    SCHEME "Credential=K/1/x",
    SCHEME "Credential=r/dynamodb/aws4_request",
    SCHEME "Credential=1/r/dynamodb/aws4_request",
    SCHEME "Credential=K/1//dynamodb/aws4_request",
    SCHEME "Credential=K/1/r/dynamodb/aws4_request/",
    SCHEME "Credential=K/1/r/dynamodb/aws4_reques",
    SCHEME "Credential=K/1/r/s3/aws4_request",
    SCHEME "Credential=K/1/r dynamodb/aws4_request",
    SCHEME "credential=K/1/r/dynamodb/aws4_request",
    SCHEME "XCredential=K/1/r/dynamodb/aws4_request",
    SCHEME "Credential=K/1/EU-west-1/dynamodb/aws4_request",
    SCHEME "Credential=K/1/a:b/dynamodb/aws4_request",
    SCHEME "Credential=K/1/a\"b/dynamodb/aws4_request",
    SCHEME "Credential=K/1/a\\b/dynamodb/aws4_request",
    SCHEME "Credential=K/1/%s/dynamodb/aws4_request",
    SCHEME "Credential=K/1/\xC3\xA9/dynamodb/aws4_request",
    SCHEME "Credential=K/1/" SIZE32 "5/dynamodb/aws4_request",
    "AWS4-ECDSA-P256-SHA256 Credential=K/1/dynamodb/aws4_request",
    "aws4-hmac-sha256 Credential=K/1/r/dynamodb/aws4_request",
    "Credential=K/1/r/dynamodb/aws4_request",
};

TEST(a_header_without_a_valid_region_has_none)
{
    for (size_t i = 0; i < COUNT_OF(HOSTILE); i++)
        assert_int_equal(region_of_authorization(slice_of(HOSTILE[i])).size, 0);
    assert_int_equal(region_of_authorization(slice_make(NULL, 0)).size, 0);
}

/* ---- the router ---- */

static void start(void)
{
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 1);
    fake_open(&f, 1);
}

/* Sends DescribeTable with the lines, each before CR LF. `piece`: bytes that come at once. */
static void describe(const char *lines, size_t piece)
{
    static const char BODY[] = "{\"TableName\":\"users\"}";
    struct buffer b = {0};
    buffer_append_format(&b,
                         "POST / HTTP/1.1\r\nHost: h\r\n%s"
                         "X-Amz-Target: DynamoDB_20120810.DescribeTable\r\n"
                         "Content-Type: application/x-amz-json-1.0\r\nContent-Length: %zu\r\n\r\n"
                         "%s",
                         lines, sizeof BODY - 1, BODY);
    for (size_t at = 0; at < b.size; at += piece)
        fake_send(&f, 1, slice_make(b.data + at, b.size - at < piece ? b.size - at : piece));
    buffer_deinit(&b);
}

static void expect_arn(const char *lines, const char *region, const char *account)
{
    char arn[160];
    snprintf(arn, sizeof arn, "\"TableArn\":\"arn:aws:dynamodb:%s:%s:table/users\"", region,
             account);
    for (size_t piece = 1; piece < 4096; piece *= 4) { /* in pieces llhttp reads the head */
        describe(lines, piece);
        const struct fake_answer a = fake_take_answer(&f, 1);
        assert_int_equal(a.status, 200);
        assert_non_null(memmem(a.body.data, a.body.size, arn, strlen(arn)));
    }
}

#define SIGNED(region) \
    "Authorization: " SCHEME "Credential=K/20260101/" region "/dynamodb/aws4_request" REST "\r\n"

TEST_WITH(arns_have_the_region_that_a_request_is_signed_for, init, stop)
{
    start();
    expect_arn(SIGNED("eu-west-1"), "eu-west-1", "000000000000");
    expect_arn(SIGNED("ap-south-2"), "ap-south-2", "000000000000");
    expect_arn("", "us-east-1", "000000000000"); /* not that of the connection's last request */
    expect_arn("authorization:\t" SCHEME "Credential=K/1/local/dynamodb/aws4_request \r\n", "local",
               "000000000000");
}

TEST_WITH(arns_of_requests_without_a_valid_region_have_the_default, init, stop)
{
    char lines[256];
    start();
    for (size_t i = 0; i < COUNT_OF(HOSTILE); i++) {
        snprintf(lines, sizeof lines, "Authorization: %s\r\n", HOSTILE[i]);
        expect_arn(lines, "us-east-1", "000000000000");
    }
}

TEST_WITH(the_options_win_over_the_credential_scope, init, stop)
{
    f.region = "eu-central-1";
    f.account = "123456789012";
    start();
    expect_arn(SIGNED("eu-west-1"), "eu-central-1", "123456789012");
    expect_arn("", "eu-central-1", "123456789012");
}
