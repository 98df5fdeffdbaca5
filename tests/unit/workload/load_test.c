/* load_test.c - the parts of the load generator that need no server. */
#include "tests/check.h"

#include "base/instant.h"
#include "workload/client_response.h"
#include "workload/load_options.h"
#include "workload/load_request.h"
#include "workload/load_result.h"

/* ---- options ---- */

static struct load_options options;

static enum command_line_result parse(struct buffer *error, int count, const char *const *arguments)
{
    char *argv[16] = {(char[]){"load"}};
    for (int i = 0; i < count; i++)
        argv[i + 1] = strdup(arguments[i]);
    buffer_clear(error);
    enum command_line_result result = load_options_parse(&options, count + 1, argv, NULL, error);
    for (int i = 0; i < count; i++)
        free(argv[i + 1]);
    return result;
}

#define PARSE(error, ...)                                                \
    parse(error, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), \
          (const char *[]){__VA_ARGS__})

TEST(workloads_inherit_what_stands_outside_of_them)
{
    struct buffer error = {0};
    assert_int_equal(PARSE(&error, "--workload", "base:rate=3k", "--workload",
                           "hot:rate=5000,distribution=single:x,start=2s,table=other", "--keys",
                           "500", "--table=shared", "--read-ratio", "0.5"),
                     COMMAND_LINE_TAKEN);
    assert_int_equal(options.workload_count, 2);
    const struct load_workload_options *base = &options.workloads[0], *hot = &options.workloads[1];
    assert_string_equal(base->name, "base");
    assert_string_equal(base->table, "shared");
    assert_string_equal(hot->table, "other");
    assert_true(base->traffic.rate.rates[0] == 3000 && hot->traffic.rate.rates[0] == 5000);
    assert_true(base->traffic.keys.count == 500 && hot->traffic.keys.count == 500);
    assert_int_equal(hot->traffic.keys.kind, LOAD_KEYS_SINGLE);
    assert_int_equal(hot->traffic.start_ns, 2 * NS_PER_S);
    assert_true(hot->traffic.mix.fraction[TRAFFIC_READ] == 0.5);
    assert_int_equal(options.url_count, 1);
    assert_int_equal(options.urls[0].port, 8000);
    assert_int_equal(PARSE(&error, "--wcu", "50", "--workload", "a:table=one,rcu=7", "--workload",
                           "b:table=two,on-demand"),
                     COMMAND_LINE_TAKEN);
    base = &options.workloads[0], hot = &options.workloads[1];
    assert_true(base->wcu == 50 && base->rcu == 7 && !base->on_demand);
    assert_true(hot->wcu == 50 && hot->rcu == 1000 && hot->on_demand);
    buffer_deinit(&error);
}

TEST(a_wrong_option_is_named_with_its_value_and_what_it_may_be)
{
    struct buffer error = {0};
    static const struct {
        const char *arguments[2];
        const char *text;
    } cases[] = {
        {{"--rate", "-5"},
         "`--rate` takes requests per second above 0 and up to 10M, such as 500 or 2.5k, or max, "
         "or "
         "closed:CLIENTS:THINK_MS[:exponential], or a curve: ramp:FROM:TO:SPAN_S, "
         "steps:R1:R2:...:EVERY_S, spike:BASE:PEAK:FROM_S:FOR_S, "
         "diurnal:MEAN:RATIO:PERIOD_S[:NOISE], on-off:RATE:ON_S:OFF_S, not `-5`"},
        {{"--nonsense", "1"}, "unknown option `--nonsense`"},
        {{"--url", "https://x:1"}, "`--url` takes http://HOST:PORT, not `https://x:1`"},
        {{"--tabel", "orders"}, "unknown option `--tabel` (did you mean `--table`?)"},
        {{"--consistent", "--rate"}, "`--rate` needs a value: R"},
        {{"--read-ratio", "1.5"}, "`--read-ratio` takes a number from 0 to 1, not `1.5`"},
        {{"--workload", "a:speed=1"}, "workload a: there is no option `speed`"},
        {{"--workload", "a:rate=x"},
         "workload a: `rate` takes requests per second above 0 and up to 10M, such as 500 or 2.5k, "
         "or max, or closed:CLIENTS:THINK_MS[:exponential], or a curve: ramp:FROM:TO:SPAN_S, "
         "steps:R1:R2:...:EVERY_S, spike:BASE:PEAK:FROM_S:FOR_S, "
         "diurnal:MEAN:RATIO:PERIOD_S[:NOISE], on-off:RATE:ON_S:OFF_S, not `x`"},
        {{"--rate", "ramp:5:10"},
         "`--rate` takes ramp:FROM:TO:SPAN_S with rates up to 10M and seconds above 0, such as "
         "ramp:100:2k:60, not `ramp:5:10`"},
        {{"--ycsb", "G"}, "`--ycsb` takes one letter, A to F, not `G`"},
        {{"--workload", "a:ycsb=A,read-ratio=1"},
         "workload a: mix: it includes read-ratio and delete-ratio: omit these"},
        {{"--workload", "a:replay=x,replay-speed=0"}, "workload a: replay-speed must be above 0"},
        {{"--item-bytes", "uniform:500:100"},
         "`--item-bytes` takes bytes up to 409600, such as 900, or uniform:MIN:MAX, or "
         "twitter[:MEDIAN] (a heavy tail), not `uniform:500:100`"},
        {{"--duration", "5 parsecs"},
         "`--duration` takes a time above 0, such as 30s, 500ms, 2m or 1h, not `5 parsecs`"},
        {{"--consistent", "table"}, "unexpected argument `table`"},
        {{"--filter", "attribute_exists(a)"},
         "workload main: filter: only Queries have a filter: add queries"},
        {{"--condition", "a = \"b\""},
         "`--condition` takes an expression of up to 4096 bytes without quotes, backslashes and "
         "control characters, not `a = \"b\"`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(parse(&error, 2, cases[i].arguments), COMMAND_LINE_WRONG);
        assert_slice_is(buffer_slice(&error), cases[i].text);
    }
    assert_int_equal(PARSE(&error, "--rate"), COMMAND_LINE_WRONG);
    assert_int_equal(PARSE(&error, "--workload", "a", "--workload", "a"), COMMAND_LINE_WRONG);
    buffer_deinit(&error);
}

/* ---- requests ---- */

TEST(a_request_announces_its_length_and_an_item_has_the_requested_size)
{
    struct buffer error = {0}, bytes = {0};
    assert_int_equal(PARSE(&error, "--item-bytes", "uniform:50:3000"), COMMAND_LINE_TAKEN);
    const struct load_workload_options *w = &options.workloads[0];
    struct load_template t;
    load_template_init(&t, w, &options.urls[0], false);
    for (int32_t size = 50; size <= 3000; size += 59) {
        struct load_request r = {.key = 7, .number = 255, .item_bytes = size};
        buffer_clear(&bytes);
        load_request_write(&t, &r, &bytes);
        buffer_append_u8(&bytes, 0);
        const char *text = (const char *)bytes.data, *body = strstr(text, "\r\n\r\n") + 4;
        unsigned long length = strtoul(strstr(text, "Content-Length: ") + 16, NULL, 10);
        assert_int_equal(length, strlen(body));
        assert_non_null(strstr(body, "\"pk\":{\"S\":\"key-0000000007\"}"));
        assert_non_null(strstr(body, "\"v\":{\"S\":\"00000000000000ff\"}"));
        const char *data = strstr(body, "\"data\":{\"S\":\"");
        size_t filling = data ? strcspn(data + 13, "\"") : 0;
        size_t item = 2 + 14 + 1 + 16 + (data ? 4 + filling : 0);
        assert_int_equal(item, size);
    }
    load_template_deinit(&t);
    buffer_deinit(&bytes);
    buffer_deinit(&error);
}

TEST(further_members_are_a_part_of_the_items_size)
{
    struct buffer error = {0}, bytes = {0};
    assert_int_equal(PARSE(&error, "--item-bytes", "100"), COMMAND_LINE_TAKEN);
    struct load_template t;
    load_template_init(&t, &options.workloads[0], &options.urls[0], false);
    const struct load_request r = {
        .item_bytes = 100, .more = slice_of(",\"kind\":{\"S\":\"abc\"}"), .more_bytes = 4 + 3};
    load_request_write(&t, &r, &bytes);
    buffer_append_u8(&bytes, 0);
    const char *text = (const char *)bytes.data, *body = strstr(text, "\r\n\r\n") + 4;
    assert_int_equal(strtoul(strstr(text, "Content-Length: ") + 16, NULL, 10), strlen(body));
    assert_non_null(strstr(body, "\"},\"kind\":{\"S\":\"abc\"},\"data\":{\"S\":\""));
    const size_t filling = strcspn(strstr(body, "\"data\":{\"S\":\"") + 13, "\"");
    assert_int_equal(2 + 14 + 1 + 16 + 7 + 4 + filling, 100);
    load_template_deinit(&t);
    buffer_deinit(&bytes);
    buffer_deinit(&error);
}

static void check_body(struct load_request r, const char *expected)
{
    struct buffer bytes = {0};
    struct load_template t;
    load_template_init(&t, &options.workloads[0], &options.urls[0], false);
    load_request_write(&t, &r, &bytes);
    buffer_append_u8(&bytes, 0);
    const char *text = (const char *)bytes.data, *body = strstr(text, "\r\n\r\n") + 4;
    assert_int_equal(strtoul(strstr(text, "Content-Length: ") + 16, NULL, 10), strlen(body));
    assert_string_equal(body, expected);
    load_template_deinit(&t);
    buffer_deinit(&bytes);
}

TEST(a_transaction_puts_items_of_different_keys)
{
    struct buffer error = {0};
    assert_int_equal(PARSE(&error, "--transact", "3", "--keys", "9", "--item-bytes", "33",
                           "--distribution", "sequential"),
                     COMMAND_LINE_TAKEN);
#define PUT(key)                                                                          \
    "{\"Put\":{\"TableName\":\"load\",\"Item\":{\"pk\":{\"S\":\"key-000000000" key "\"}," \
    "\"v\":{\"S\":\"0000000000000001\"}}}}"
    check_body((struct load_request){.kind = LOAD_TRANSACT, .key = 7, .number = 1},
               "{\"TransactItems\":[" PUT("7") "," PUT("1") "," PUT("4") "]}");
#undef PUT
    assert_int_equal(PARSE(&error, "--transact", "10", "--keys", "9"), COMMAND_LINE_WRONG);
    assert_int_equal(PARSE(&error, "--transact", "2", "--increments"), COMMAND_LINE_WRONG);
    buffer_deinit(&error);
}

TEST(writes_have_the_condition_and_queries_the_filter)
{
    struct buffer error = {0};
    assert_int_equal(PARSE(&error, "--condition", "attribute_not_exists(pk) or v < data"),
                     COMMAND_LINE_TAKEN);
    check_body((struct load_request){.key = 7, .kind = LOAD_DELETE},
               "{\"TableName\":\"load\",\"Key\":{\"pk\":{\"S\":\"key-0000000007\"}},"
               "\"ConditionExpression\":\"attribute_not_exists(pk) or v < data\"}");
    check_body((struct load_request){.key = 7, .number = 1, .item_bytes = 40},
               "{\"TableName\":\"load\",\"Item\":{\"pk\":{\"S\":\"key-0000000007\"},\"v\":{\"S\":"
               "\"0000000000000001\"},\"data\":{\"S\":\"sno\"}},"
               "\"ConditionExpression\":\"attribute_not_exists(pk) or v < data\"}");
    check_body((struct load_request){.key = 7, .kind = LOAD_ADD},
               "{\"TableName\":\"load\",\"Key\":{\"pk\":{\"S\":\"key-0000000007\"}},"
               "\"UpdateExpression\":\"ADD v "
               ":one\",\"ExpressionAttributeValues\":{\":one\":{\"N\":\"1\"}},"
               "\"ConditionExpression\":\"attribute_not_exists(pk) or v < data\"}");
    assert_int_equal(PARSE(&error, "--queries", "--filter", "attribute_exists(gone)", "--sort-key",
                           "sk", "--distribution", "collection:acme"),
                     COMMAND_LINE_TAKEN);
    check_body((struct load_request){.key = 7, .kind = LOAD_QUERY},
               "{\"TableName\":\"load\",\"KeyConditionExpression\":\"#p = :p\","
               "\"ExpressionAttributeNames\":{\"#p\":\"pk\"},"
               "\"ExpressionAttributeValues\":{\":p\":{\"S\":\"acme\"}},"
               "\"FilterExpression\":\"attribute_exists(gone)\"}");
    assert_int_equal(PARSE(&error, "--queries", "--history", "h.jsonl"), COMMAND_LINE_WRONG);
    assert_slice_is(buffer_slice(&error), "workload main: queries: a history has reads of single "
                                          "items: omit queries, scans and traces, or --history");
    buffer_deinit(&error);
}

/* Sharded counters refuse ReturnValues. */
TEST(additions_request_the_sum_only_where_a_history_is_checked)
{
    struct buffer error = {0};
    assert_int_equal(PARSE(&error, "--increments"), COMMAND_LINE_TAKEN);
    check_body((struct load_request){.key = 7, .kind = LOAD_ADD},
               "{\"TableName\":\"load\",\"Key\":{\"pk\":{\"S\":\"key-0000000007\"}},"
               "\"UpdateExpression\":\"ADD v :one\",\"ExpressionAttributeValues\":{\":one\":{"
               "\"N\":\"1\"}}}");
    assert_int_equal(PARSE(&error, "--increments", "--history", "h.jsonl"), COMMAND_LINE_TAKEN);
    check_body((struct load_request){.key = 7, .kind = LOAD_ADD},
               "{\"TableName\":\"load\",\"Key\":{\"pk\":{\"S\":\"key-0000000007\"}},"
               "\"UpdateExpression\":\"ADD v :one\",\"ExpressionAttributeValues\":{\":one\":{"
               "\"N\":\"1\"}},\"ReturnValues\":\"UPDATED_NEW\"}");
    buffer_deinit(&error);
}

TEST(items_of_a_collection_share_their_partition_key)
{
    struct buffer error = {0}, bytes = {0};
    assert_int_equal(PARSE(&error, "--distribution", "collection:acme"), COMMAND_LINE_WRONG);
    assert_int_equal(
        PARSE(&error, "--distribution", "collection:acme", "--sort-key", "sk", "--read-ratio", "1"),
        COMMAND_LINE_TAKEN);
    struct load_template t;
    load_template_init(&t, &options.workloads[0], &options.urls[0], false);
    struct load_request r = {.key = 7, .kind = LOAD_GET};
    load_request_write(&t, &r, &bytes);
    buffer_append_u8(&bytes, 0);
    const char *text = (const char *)bytes.data, *body = strstr(text, "\r\n\r\n") + 4;
    assert_string_equal(body, "{\"TableName\":\"load\",\"Key\":{\"pk\":{\"S\":\"acme\"},"
                              "\"sk\":{\"S\":\"key-0000000007\"}}}");
    assert_int_equal(load_item_bytes_min(&options.workloads[0]), 2 + 4 + 2 + 14 + 1 + 16);
    load_template_deinit(&t);
    buffer_deinit(&bytes);
    buffer_deinit(&error);
}

TEST(ycsb_letters_set_the_mix_and_options_beside_them_count)
{
    struct buffer error = {0};
    assert_int_equal(PARSE(&error, "--distribution", "uniform", "--ycsb", "e", "--workload",
                           "a:rate=closed:7:20:exponential,retry=standard-2026:2", "--workload",
                           "b:ycsb=D,item-bytes=twitter,consistent"),
                     COMMAND_LINE_TAKEN);
    const struct load_workload_options *a = &options.workloads[0], *b = &options.workloads[1];
    assert_true(a->traffic.mix.fraction[TRAFFIC_SCAN] == 0.95 && a->traffic.mix.eventual == 1);
    assert_int_equal(a->traffic.keys.kind, LOAD_KEYS_UNIFORM);
    assert_int_equal(a->traffic.sizes.max, 1000);
    assert_true(a->traffic.clients.count == 7 && a->traffic.clients.exponential);
    assert_string_equal(a->retry.policy->name, "standard-2026");
    assert_int_equal(a->retry.attempts_max, 2);
    assert_int_equal(b->traffic.keys.kind, LOAD_KEYS_LATEST);
    assert_int_equal(b->traffic.sizes.kind, ITEM_SIZES_TWITTER);
    assert_true(b->traffic.mix.fraction[TRAFFIC_INSERT] == 0.05 && b->traffic.mix.eventual == 0);
    assert_null(b->retry.policy);
    check_body((struct load_request){.key = 7, .kind = LOAD_SCAN, .scan_length = 12},
               "{\"TableName\":\"load\",\"ExclusiveStartKey\":{\"pk\":{\"S\":\"key-0000000007\"}},"
               "\"Limit\":12}");
    check_body(
        (struct load_request){.key = 7, .kind = LOAD_SCAN, .scan_length = 1, .consistent = true},
        "{\"TableName\":\"load\",\"ExclusiveStartKey\":{\"pk\":{\"S\":\"key-0000000007\"}},"
        "\"ConsistentRead\":true,\"Limit\":1}");
    check_body((struct load_request){.key = 7, .kind = LOAD_GET, .consistent = true},
               "{\"TableName\":\"load\",\"Key\":{\"pk\":{\"S\":\"key-0000000007\"}},"
               "\"ConsistentRead\":true}");
    buffer_deinit(&error);
}

/* ---- answers ---- */

struct answers {
    int count;
    int statuses[8];
    struct buffer bodies;
};

static void on_answer(void *context, int http_status, struct slice body)
{
    struct answers *a = context;
    a->statuses[a->count++] = http_status;
    buffer_append_slice(&a->bodies, body);
    buffer_append_u8(&a->bodies, '\n');
}

TEST(answers_cut_anywhere_are_read_the_same)
{
    static const char stream[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
                                 "HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nabc"
                                 "HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n"
                                 "2\r\nde\r\n0\r\n\r\n";
    struct slice all = slice_of(stream);
    for (size_t cut = 0; cut <= all.size; cut++) {
        struct answers a = {0};
        struct client_response r = {0};
        client_response_init(&r, false, on_answer, &a);
        if (cut > 0)
            assert_int_equal(client_response_feed(&r, slice_make(all.data, cut)), STATUS_OK);
        if (cut < all.size)
            assert_int_equal(client_response_feed(&r, slice_make(all.data + cut, all.size - cut)),
                             STATUS_OK);
        assert_int_equal(a.count, 3);
        assert_int_equal(a.statuses[1], 400);
        assert_slice_is(buffer_slice(&a.bodies), "\nabc\nde\n");
        client_response_deinit(&r);
        buffer_deinit(&a.bodies);
    }
}

TEST(a_refusal_has_the_time_to_try_again)
{
    static const struct {
        const char *headers;
        int64_t ms;
    } cases[] = {{"", -1},
                 {"X-Amz-Retry-After: 1500\r\n", 1500},
                 {"x-amz-retry-after: 0\r\nx-amz-retry-later: 7\r\n", 0},
                 {"x-amz-retry-after: soon\r\n", -1},
                 {"x-amz-retry-after: -5\r\n", -1},
                 {"x-amz-retry-after: 99999999999999999999\r\n", -1},
                 {"x-amz-retry-after-all: 3\r\n", -1}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[256];
        snprintf(text, sizeof text, "HTTP/1.1 400 Bad Request\r\n%sContent-Length: 0\r\n\r\n",
                 cases[i].headers);
        for (size_t piece = 1; piece <= strlen(text); piece += 3) {
            struct answers a = {0};
            struct client_response r = {0};
            client_response_init(&r, true, on_answer, &a);
            for (size_t at = 0; at < strlen(text); at += piece) {
                size_t size = strlen(text) - at < piece ? strlen(text) - at : piece;
                assert_int_equal(client_response_feed(&r, slice_make(text + at, size)), STATUS_OK);
            }
            assert_int_equal(a.count, 1);
            if (r.retry_after_ms != cases[i].ms)
                fail_msg("%s: %lld ms", cases[i].headers, (long long)r.retry_after_ms);
            client_response_deinit(&r);
            buffer_deinit(&a.bodies);
        }
    }
}

TEST(what_is_not_http_is_refused)
{
    struct answers a = {0};
    struct client_response r = {0};
    client_response_init(&r, false, on_answer, &a);
    assert_int_equal(client_response_feed(&r, slice_of("SSH-2.0-OpenSSH\r\n\r\n")),
                     STATUS_MALFORMED);
    client_response_deinit(&r);
}

static struct load_verdict verdict_of(int http_status, const char *text)
{
    struct json_parser *parser = json_parser_create();
    struct json_value answer = {0};
    struct load_verdict v;
    struct buffer body = {0};
    buffer_append_text(&body, text);
    buffer_reserve(&body, JSON_PADDING);
    if (json_parse(parser, buffer_slice(&body), &answer) != STATUS_OK)
        answer = (struct json_value){0};
    load_verdict_of(http_status, &answer, &v);
    json_parser_destroy(parser);
    buffer_deinit(&body);
    return v;
}

TEST(a_throttling_error_is_a_refusal_with_its_reasons)
{
    static const char body[] =
        "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException\","
        "\"message\":\"...\",\"ThrottlingReasons\":[{\"reason\":\"TableWriteKeyRangeThroughput"
        "Exceeded\",\"resource\":\"arn:a\"},{\"resource\":\"arn:b\",\"reason\" : \"Other<b>\"}]}";
    struct load_verdict v = verdict_of(400, body);
    assert_int_equal(v.outcome, LOAD_REFUSED);
    assert_int_equal(v.reason_count, 2);
    assert_string_equal(v.reasons[0], "TableWriteKeyRangeThroughputExceeded");
    assert_string_equal(v.reasons[1], "Other_b_");
    assert_false(v.applied_unknown);
    v = verdict_of(400, "{\"__type\":\"ValidationException\"}");
    assert_int_equal(v.outcome, LOAD_FAILED);
    assert_string_equal(v.error, "ValidationException");
    v = verdict_of(502, "<html>");
    assert_int_equal(v.outcome, LOAD_FAILED);
    assert_string_equal(v.error, "http-502");
    assert_true(v.applied_unknown);
    v = verdict_of(200, "{}");
    assert_int_equal(v.outcome, LOAD_ADMITTED);
}

TEST(the_first_failure_has_the_services_message)
{
    static struct load_result r;
    struct load_options o = {.url_count = 1};
    struct buffer text = {0}, json = {0};
    struct load_workload_result all = {&o.workloads[0], &r};
    load_result_init(&r);
    struct load_verdict v = verdict_of(500, "<html>");
    load_result_count(&r, &v, false, 100, 1000);
    v = verdict_of(400, "{\"__type\":\"com.amazon.coral.validate#ValidationException\","
                        "\"message\":\"The key pk\\nis missing\"}");
    load_result_count(&r, &v, false, 100, 1000);
    v = verdict_of(400, "{\"__type\":\"Other\",\"Message\":\"later\"}");
    assert_string_equal(v.message, "later");
    load_result_count(&r, &v, false, 100, 1000);
    load_summary(&all, 1, &text);
    buffer_append_u8(&text, 0);
    assert_non_null(
        strstr((const char *)text.data, "\n    the first one: The key pk?is missing\n"));
    load_json(&o, &all, 1, 0, &json);
    buffer_append_u8(&json, 0);
    assert_non_null(strstr((const char *)json.data, "\"first_failure\":\"The key pk?is missing\""));
    v = verdict_of(400, "{\"__type\":\"ThrottlingException\",\"message\":\"slow down\"}");
    assert_string_equal(v.message, "");
    buffer_deinit(&text);
    buffer_deinit(&json);
    load_result_deinit(&r);
}

TEST(labels_from_outside_cannot_fill_memory)
{
    static struct load_result r;
    load_result_init(&r);
    for (int i = 0; i < 1000; i++) {
        struct load_verdict v = {.outcome = LOAD_FAILED};
        snprintf(v.error, sizeof v.error, "Error%d", i);
        load_result_count(&r, &v, false, 100, 1000);
    }
    assert_int_equal(r.errors.used, LOAD_LABELS_MAX);
    assert_string_equal(r.errors.entries[LOAD_LABELS_MAX - 1].text, "other");
    int64_t sum = 0;
    for (int i = 0; i < r.errors.used; i++)
        sum += r.errors.entries[i].count;
    assert_int_equal(sum, 1000);
    load_result_deinit(&r);
}
