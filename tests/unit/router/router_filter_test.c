/* router_filter_test.c - filters, projections and pages of Query, Scan, GetItem and BatchGetItem. */
#include "tests/check.h"

#include "router/json/json.h"
#include "tests/support/expect.h"

static struct fake_cluster f;

static void put(const char *table, const char *item)
{
    char request[512];
    snprintf(request, sizeof request, "{\"TableName\":\"%s\",\"Item\":%s}", table, item);
    expect_call(&f, "PutItem", request, 200, "{}");
}

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "events", "who", ATTR_STRING, "ts", ATTR_NUMBER, 4);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 4);
    fake_table(&f, "blobs", "n", ATTR_NUMBER, "b", ATTR_BINARY, 4);
    char item[128];
    for (int i = 0; i < 10; i++) {
        snprintf(item, sizeof item,
                 "{\"who\":{\"S\":\"a\"},\"ts\":{\"N\":\"%d\"},\"odd\":{\"BOOL\":%s}}", i,
                 i % 2 == 1 ? "true" : "false");
        put("events", item);
        snprintf(item, sizeof item, "{\"id\":{\"S\":\"u%d\"},\"n\":{\"N\":\"%d\"}}", i, i % 3);
        put("users", item);
    }
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

static struct json_value parse(struct json_parser *parser, struct fake_answer a)
{
    static struct buffer text;
    struct json_value root;
    assert_int_equal(a.status, 200);
    buffer_clear(&text);
    buffer_append_slice(&text, a.body);
    memset(buffer_reserve(&text, JSON_PADDING), 0, JSON_PADDING);
    assert_int_equal(json_parse(parser, buffer_slice(&text), &root), STATUS_OK);
    return root;
}

/* Scans `table` in pages of `limit`, with a filter that passes items whose `attribute` is 1, and
 * returns how many passed. The start key of a page is sent as the page before gave it. */
static int64_t scan_pages(const char *table, const char *attribute, int limit, int64_t *scanned)
{
    struct json_parser *parser = json_parser_create();
    char start_key[256] = "", request[1024];
    int64_t passed = 0;
    *scanned = 0;
    for (;;) {
        snprintf(request, sizeof request,
                 "{\"TableName\":\"%s\",\"FilterExpression\":\"#a = :one\",\"Limit\":%d,"
                 "\"ExpressionAttributeNames\":{\"#a\":\"%s\"},"
                 "\"ExpressionAttributeValues\":{\":one\":{\"N\":\"1\"}}%s}",
                 table, limit, attribute, start_key);
        struct fake_answer a = fake_call(&f, "Scan", request);
        const char *last = memmem(a.body.data, a.body.size, "\"LastEvaluatedKey\":", 19);
        struct json_value root = parse(parser, a), count = json_find(&root, "Count"),
                          seen = json_find(&root, "ScannedCount");
        passed += json_integer(&count);
        *scanned += json_integer(&seen);
        if (last == NULL)
            break;
        assert_int_equal(json_integer(&seen), limit);
        last += strlen("\"LastEvaluatedKey\":");
        snprintf(start_key, sizeof start_key, ",\"ExclusiveStartKey\":%.*s",
                 (int)(a.body.data + a.body.size - 1 - (const uint8_t *)last), last);
    }
    json_parser_destroy(parser);
    return passed;
}

TEST(pages_of_any_size_scan_every_item_once)
{
    int64_t scanned;
    for (int limit = 1; limit <= 11; limit++) {
        assert_int_equal(scan_pages("users", "n", limit, &scanned), 3);
        assert_int_equal(scanned, 10);
    }
}

TEST(the_last_key_of_a_page_is_exact_for_all_types)
{
    static const char *const KEYS[] = {"-12.5", "0", "3E-7", "12345678901234567890", "1E+20"};
    static const char *const BYTES[] = {"AA==", "AAA=", "AAEC", "/w==", "//8A"};
    char item[256];
    for (size_t i = 0; i < COUNT_OF(KEYS); i++) {
        for (size_t j = 0; j < COUNT_OF(BYTES); j++) {
            snprintf(item, sizeof item,
                     "{\"n\":{\"N\":\"%s\"},\"b\":{\"B\":\"%s\"},\"v\":{\"N\":\"%zu\"}}", KEYS[i],
                     BYTES[j], (i + j) % 2);
            put("blobs", item);
        }
    }
    int64_t scanned;
    for (int limit = 1; limit <= 4; limit++) {
        assert_int_equal(scan_pages("blobs", "v", limit, &scanned), 12);
        assert_int_equal(scanned, 25);
    }
    expect(
        "Query",
        "{\"TableName\":\"blobs\",\"KeyConditionExpression\":\"n = :n\",\"Limit\":2,"
        "\"FilterExpression\":\"v = :v\",\"ExpressionAttributeValues\":{\":n\":{\"N\":\"-12.50\"}"
        ",\":v\":{\"N\":\"7\"}}}",
        "{\"Items\":[],\"Count\":0,\"ScannedCount\":2,\"LastEvaluatedKey\":{\"n\":{\"N\":\"-12.5\"}"
        ",\"b\":{\"B\":\"AAA=\"}}}");
}

TEST(a_page_that_is_throttled_ends_with_what_was_scanned)
{
    f.fail_code = REPLY_THROTTLED;
    f.fail_reason = ADMIT_REFUSED_ALLOCATION;
    f.fail_count = 1;
    f.fail_after = 1;
    struct fake_answer a = fake_call(
        &f, "Scan", "{\"TableName\":\"users\",\"FilterExpression\":\"attribute_exists(nothing)\"}");
    assert_int_equal(a.status, 200);
    assert_true(slice_starts_with(a.body, slice_of("{\"Items\":[],\"Count\":0,\"ScannedCount\":")));
    assert_non_null(memmem(a.body.data, a.body.size, "\"LastEvaluatedKey\":{\"id\":", 25));
}

TEST(what_a_batch_did_not_get_comes_back_with_its_projection)
{
    static const char REQUEST[] =
        "{\"RequestItems\":{\"users\":{\"Keys\":[{\"id\":{\"S\":\"u1\"}},{\"id\":{\"S\":\"u2\"}}],"
        "\"ConsistentRead\":true,\"ProjectionExpression\":\"#n\","
        "\"ExpressionAttributeNames\":{\"#n\":\"n\"}}}}";
    expect("BatchGetItem", REQUEST,
           "{\"Responses\":{\"users\":[{\"n\":{\"N\":\"1\"}},{\"n\":{\"N\":\"2\"}}]},"
           "\"UnprocessedKeys\":{}}");
    f.fail_code = REPLY_THROTTLED;
    f.fail_reason = ADMIT_REFUSED_ALLOCATION;
    f.fail_count = 1;
    f.fail_after = 1;
    expect("BatchGetItem", REQUEST,
           "{\"Responses\":{\"users\":[{\"n\":{\"N\":\"1\"}}]},\"UnprocessedKeys\":{\"users\":{"
           "\"Keys\":[{\"id\":{\"S\":\"u2\"}}],\"ConsistentRead\":true,"
           "\"ProjectionExpression\":\"#n\",\"ExpressionAttributeNames\":{\"#n\":\"n\"}}}}");
}
