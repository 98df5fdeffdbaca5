#include "tests/check.h"

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
    fake_table(&f, "names", "k", ATTR_STRING, "s", ATTR_STRING, 4);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 4);
    char item[128];
    for (int i = -2; i <= 7; i++) {
        snprintf(item, sizeof item, "{\"who\":{\"S\":\"a\"},\"ts\":{\"N\":\"%d\"}}", i);
        put("events", item);
    }
    put("events", "{\"who\":{\"S\":\"b\"},\"ts\":{\"N\":\"1\"}}");
    static const char *const NAMES[] = {"al", "alb", "albert", "am", "b", "\xc3\xa4"};
    for (size_t i = 0; i < 6; i++) {
        snprintf(item, sizeof item, "{\"k\":{\"S\":\"x\"},\"s\":{\"S\":\"%s\"}}", NAMES[i]);
        put("names", item);
    }
    for (int i = 0; i < 20; i++) {
        snprintf(item, sizeof item, "{\"id\":{\"S\":\"u%d\"}}", i);
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

/* Everything between "Items":[ and ],"Count", sort keys only: "1 2 3". */
static void keys_of(struct fake_answer a, const char *key, char *out, size_t room)
{
    char pattern[16];
    snprintf(pattern, sizeof pattern, "\"%s\":{\"", key);
    char *text = strndup((const char *)a.body.data, a.body.size);
    char *end = strstr(text, "],\"Count\"");
    out[0] = '\0';
    for (char *at = text; (at = strstr(at, pattern)) != NULL && at < end;) {
        at += strlen(pattern) + 4; /* N":" or S":" */
        size_t size = strcspn(at, "\"");
        size_t used = strlen(out);
        snprintf(out + used, room - used, "%s%.*s", used > 0 ? " " : "", (int)size, at);
    }
    free(text);
}

static void expect_keys(const char *request, const char *key, const char *keys)
{
    char got[512];
    struct fake_answer a = fake_call(&f, "Query", request);
    if (a.status != 200)
        fail_msg("%.*s", (int)a.body.size, (const char *)a.body.data);
    keys_of(a, key, got, sizeof got);
    assert_string_equal(got, keys);
}

TEST(each_operator_selects_its_range_in_both_directions)
{
    static const struct {
        const char *condition;
        const char *values;
        const char *keys;
        const char *reversed;
    } CASES[] = {
        {"who = :w", "", "-2 -1 0 1 2 3 4 5 6 7", "7 6 5 4 3 2 1 0 -1 -2"},
        {"who = :w AND ts = :a", ",\":a\":{\"N\":\"3.0\"}", "3", "3"},
        {"who = :w AND ts < :a", ",\":a\":{\"N\":\"0\"}", "-2 -1", "-1 -2"},
        {"who = :w AND ts <= :a", ",\":a\":{\"N\":\"0\"}", "-2 -1 0", "0 -1 -2"},
        {"who = :w AND ts > :a", ",\":a\":{\"N\":\"5\"}", "6 7", "7 6"},
        {"who = :w AND ts >= :a", ",\":a\":{\"N\":\"5\"}", "5 6 7", "7 6 5"},
        {"who = :w AND ts BETWEEN :a AND :b", ",\":a\":{\"N\":\"-1\"},\":b\":{\"N\":\"1\"}",
         "-1 0 1", "1 0 -1"},
        {"(who = :w) and (:a > ts)", ",\":a\":{\"N\":\"0\"}", "-2 -1", "-1 -2"},
        {"ts between :a and :b and who = :w", ",\":a\":{\"N\":\"2\"},\":b\":{\"N\":\"2\"}", "2",
         "2"},
    };
    char request[512];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        for (int reverse = 0; reverse < 2; reverse++) {
            snprintf(request, sizeof request,
                     "{\"TableName\":\"events\",\"KeyConditionExpression\":\"%s\","
                     "\"ScanIndexForward\":%s,"
                     "\"ExpressionAttributeValues\":{\":w\":{\"S\":\"a\"}%s}}",
                     CASES[i].condition, reverse ? "false" : "true", CASES[i].values);
            expect_keys(request, "ts", reverse ? CASES[i].reversed : CASES[i].keys);
        }
    }
}

TEST(begins_with_takes_a_prefix_and_nothing_beside_it)
{
    static const struct {
        const char *prefix;
        const char *keys;
    } CASES[] = {{"al", "al alb albert"},
                 {"alb", "alb albert"},
                 {"b", "b"},
                 {"z", ""},
                 {"\xc3", "\xc3\xa4"}};
    char request[512];
    for (size_t i = 0; i < 4; i++) {
        snprintf(request, sizeof request,
                 "{\"TableName\":\"names\",\"KeyConditionExpression\":\"#k = :k AND "
                 "begins_with(s, :p)\",\"ExpressionAttributeNames\":{\"#k\":\"k\"},"
                 "\"ExpressionAttributeValues\":{\":k\":{\"S\":\"x\"},\":p\":{\"S\":\"%s\"}}}",
                 CASES[i].prefix);
        expect_keys(request, "s", CASES[i].keys);
    }
}

/* Reads all pages of `limit` items; returns how many items, and that none came twice. */
static int page_through(const char *operation, const char *request_start, int limit, bool *dups)
{
    char request[1024], last[256] = "", seen[64][64];
    int count = 0;
    *dups = false;
    for (int page = 0; page < 50; page++) {
        snprintf(request, sizeof request, "%s,\"Limit\":%d%s%s}", request_start, limit,
                 last[0] == '\0' ? "" : ",\"ExclusiveStartKey\":", last);
        struct fake_answer a = fake_call(&f, operation, request);
        if (a.status != 200)
            fail_msg("%s: %.*s", request, (int)a.body.size, (const char *)a.body.data);
        char *text = strndup((const char *)a.body.data, a.body.size);
        char *items = strstr(text, "\"Items\":[") + 9, *end = strstr(text, "],\"Count\"");
        while (items < end) {
            char *item_end = strstr(items, "}}") + 2;
            snprintf(seen[count], sizeof seen[0], "%.*s", (int)(item_end - items), items);
            for (int i = 0; i < count; i++)
                *dups = *dups || strcmp(seen[i], seen[count]) == 0;
            count++;
            items = item_end + 1;
        }
        char *key = strstr(text, "\"LastEvaluatedKey\":");
        if (key != NULL)
            snprintf(last, sizeof last, "%.*s", (int)(strrchr(text, '}') - (key + 19)), key + 19);
        free(text);
        if (key == NULL)
            return count;
    }
    fail_msg("the pages do not end");
    return -1;
}

TEST(pages_join_to_the_whole_in_both_directions)
{
    static const char *const REQUESTS[] = {
        "{\"TableName\":\"events\",\"KeyConditionExpression\":\"who = :w\","
        "\"ExpressionAttributeValues\":{\":w\":{\"S\":\"a\"}}",
        "{\"TableName\":\"events\",\"KeyConditionExpression\":\"who = :w\","
        "\"ScanIndexForward\":false,"
        "\"ExpressionAttributeValues\":{\":w\":{\"S\":\"a\"}}"};
    bool dups;
    for (int limit = 1; limit <= 11; limit++) {
        for (int i = 0; i < 2; i++) {
            assert_int_equal(page_through("Query", REQUESTS[i], limit, &dups), 10);
            assert_false(dups);
        }
    }
}

TEST(scans_cross_partitions_and_their_pages_join)
{
    bool dups;
    for (int limit = 1; limit <= 21; limit += 3) {
        assert_int_equal(page_through("Scan", "{\"TableName\":\"users\"", limit, &dups), 20);
        assert_false(dups);
    }
    assert_true(f.asked[REQUEST_RANGE] > 4);
}

TEST(segments_of_a_scan_join_to_the_whole)
{
    char request[256];
    bool dups;
    for (int segments = 1; segments <= 7; segments++) {
        int count = 0;
        for (int segment = 0; segment < segments; segment++) {
            snprintf(request, sizeof request,
                     "{\"TableName\":\"users\",\"Segment\":%d,\"TotalSegments\":%d", segment,
                     segments);
            count += page_through("Scan", request, 3, &dups);
            assert_false(dups);
        }
        assert_int_equal(count, 20);
    }
}

TEST(an_attribute_name_of_64_kb_is_refused)
{
    struct buffer b = {0};
    buffer_append_format(&b,
                         "{\"TableName\":\"users\",\"KeyConditionExpression\":\"#n = :i\","
                         "\"ExpressionAttributeNames\":{\"#n\":\"%065536d\"},"
                         "\"ExpressionAttributeValues\":{\":i\":{\"S\":\"none\"}}}",
                         0);
    buffer_append_u8(&b, 0);
    expect_invalid(&f, "Query", (char *)b.data,
                   "ExpressionAttributeNames contains invalid value: Attribute name is too large, "
                   "must be less than 65536 bytes for key #n");
    buffer_deinit(&b);
}

TEST(a_page_ends_after_one_megabyte)
{
    struct buffer b = {0};
    for (int i = 0; i < 4; i++) {
        buffer_clear(&b);
        buffer_append_format(&b,
                             "{\"TableName\":\"events\",\"Item\":{\"who\":{\"S\":\"big\"},"
                             "\"ts\":{\"N\":\"%d\"},\"v\":{\"S\":\"%0400000d\"}}}",
                             i, i);
        buffer_append_u8(&b, 0);
        expect_call(&f, "PutItem", (char *)b.data, 200, "{}");
    }
    buffer_deinit(&b);
    struct fake_answer a = fake_call(
        &f, "Query",
        "{\"TableName\":\"events\",\"KeyConditionExpression\":\"who = :w\",\"Select\":\"COUNT\","
        "\"ExpressionAttributeValues\":{\":w\":{\"S\":\"big\"}},"
        "\"ReturnConsumedCapacity\":\"TOTAL\"}");
    /* 3 * 400,010 and some bytes, in 4 KiB halves. */
    expect_answer(a, 200,
                  "{\"Count\":3,\"ScannedCount\":3,\"LastEvaluatedKey\":{\"who\":{\"S\":\"big\"},"
                  "\"ts\":{\"N\":\"2\"}},\"ConsumedCapacity\":{\"TableName\":\"events\","
                  "\"CapacityUnits\":146.5}}");
}

TEST(segments_are_checked)
{
    static const struct {
        const char *members;
        const char *message;
    } CASES[] = {
        {"\"Segment\":0", "The TotalSegments parameter is required but was not present in the "
                          "request when Segment parameter is present"},
        {"\"TotalSegments\":1", "The Segment parameter is required but was not present in the "
                                "request when parameter TotalSegments is present"},
        {"\"Segment\":2,\"TotalSegments\":2",
         "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
         "Segment: 2 is not less than TotalSegments: 2"},
        {"\"Segment\":-1,\"TotalSegments\":1000001",
         "2 validation errors detected: Value '1000001' at 'totalSegments' failed to satisfy "
         "constraint: Member must have value less than or equal to 1000000; Value '-1' at "
         "'segment' failed to satisfy constraint: Member must have value greater than or equal to "
         "0"},
        {"\"ExclusiveStartKey\":{\"x\":{\"S\":\"a\"}}",
         "The provided starting key is invalid: The provided key element does not match the "
         "schema"},
    };
    char request[512];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        snprintf(request, sizeof request, "{\"TableName\":\"users\",%s}", CASES[i].members);
        expect_invalid(&f, "Scan", request, CASES[i].message);
    }
    int refused = 0;
    for (int segment = 0; segment < 2; segment++) {
        snprintf(request, sizeof request,
                 "{\"TableName\":\"users\",\"Segment\":%d,\"TotalSegments\":2,"
                 "\"ExclusiveStartKey\":{\"id\":{\"S\":\"u1\"}}}",
                 segment);
        struct fake_answer a = fake_call(&f, "Scan", request);
        refused += a.status == 400 && memmem(a.body.data, a.body.size, "correct Segment", 15);
    }
    assert_int_equal(refused, 1);
}
