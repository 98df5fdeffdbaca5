/* Indexes: how they are read, what they take as keys, what they cost, and when they throttle. */
#include "tests/check.h"

#include "router/core/table_routes.h"
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

/* ---- reads ---- */

/* Table "games": p; index "by-city" of city and then score, index "by-many" of (city, n) and then
 * (score, title), keys only. */
static void create_games(void)
{
    struct fake_answer a = create_table(
        &f, "games",
        "," DEFINE("city", "S") "," DEFINE("n", "N") "," DEFINE("score", "N") "," DEFINE("title",
                                                                                         "S"),
        INDEX("by-city", KEY("city", "HASH") "," KEY("score", "RANGE"),
              ",\"Projection\":{\"ProjectionType\":\"INCLUDE\",\"NonKeyAttributes\":[\"x\"]"
              "}") "," INDEX("by-many",
                             KEY("city", "HASH") "," KEY("n", "HASH") "," KEY(
                                 "score", "RANGE") "," KEY("title", "RANGE"),
                             ",\"Projection\":{\"ProjectionType\":\"KEYS_ONLY\"}"),
        ON_DEMAND);
    assert_int_equal(a.status, 200);
}

static void put_game(int i, const char *more)
{
    char request[512];
    snprintf(request, sizeof request,
             "{\"TableName\":\"games\",\"Item\":{\"p\":{\"S\":\"g%d\"},\"x\":{\"S\":\"x\"},"
             "\"y\":{\"S\":\"y\"},%s}}",
             i, more);
    expect_call(&f, "PutItem", request, 200, "{}");
}

static void put_games(void)
{
    char more[256];
    create_games();
    for (int i = 0; i < 12; i++) {
        snprintf(more, sizeof more,
                 "\"city\":{\"S\":\"%s\"},\"n\":{\"N\":\"%d\"},\"score\":{\"N\":\"%d\"},"
                 "\"title\":{\"S\":\"t%d\"}",
                 i % 2 ? "oslo" : "rome", i % 3, i / 4, i);
        put_game(i, more);
    }
    put_game(12, "\"city\":{\"S\":\"rome\"}");
}

/* The numbers of the games found: "0 4 8". */
static void games_of(struct fake_answer a, char *out, size_t room)
{
    char *text = strndup((const char *)a.body.data, a.body.size);
    char *end = strstr(text, "],\"Count\"");
    if (a.status != 200 || end == NULL)
        fail_msg("%s", text);
    out[0] = '\0';
    for (char *at = text; (at = strstr(at, "\"p\":{\"S\":\"g")) != NULL && at < end; at++) {
        const size_t used = strlen(out);
        snprintf(out + used, room - used, "%s%d", used > 0 ? " " : "", atoi(at + 11));
    }
    free(text);
}

static void expect_games(const char *index, const char *condition, const char *values,
                         const char *more, const char *games)
{
    char request[1024], got[256];
    snprintf(request, sizeof request,
             "{\"TableName\":\"games\",\"IndexName\":\"%s\",\"KeyConditionExpression\":\"%s\","
             "\"ExpressionAttributeValues\":{%s}%s}",
             index, condition, values, more);
    games_of(fake_call(&f, "Query", request), got, sizeof got);
    assert_string_equal(got, games);
}

#define ROME ":c\":{\"S\":\"rome\"}"

TEST(a_query_reads_rows_in_the_order_of_the_index)
{
    put_games();
    expect_games("by-city", "city = :c", "\"" ROME, "", "0 2 4 6 10 8");
    expect_games("by-city", "city = :c", "\"" ROME, ",\"ScanIndexForward\":false", "8 10 6 4 2 0");
    expect_games("by-city", "city = :c AND score = :s", "\"" ROME ",\":s\":{\"N\":\"1\"}", "",
                 "4 6");
    expect_games("by-city", "city = :c AND score > :s", "\"" ROME ",\":s\":{\"N\":\"0\"}", "",
                 "4 6 10 8");
    expect_games("by-city", "city = :c AND score BETWEEN :s AND :t",
                 "\"" ROME ",\":s\":{\"N\":\"0\"},\":t\":{\"N\":\"1\"}", "", "0 2 4 6");
    struct fake_answer a =
        fake_call(&f, "Query",
                  "{\"TableName\":\"games\",\"IndexName\":\"by-city\",\"KeyConditions\":{\"city\":{"
                  "\"ComparisonOperator\":\"EQ\",\"AttributeValueList\":[{\"S\":\"oslo\"}]}},"
                  "\"Limit\":1}");
    expect_answer(a, 200,
                  "{\"Items\":[{\"p\":{\"S\":\"g1\"},\"x\":{\"S\":\"x\"},\"city\":{\"S\":\"oslo\"},"
                  "\"score\":{\"N\":\"0\"}}],\"Count\":1,\"ScannedCount\":1,\"LastEvaluatedKey\":{"
                  "\"p\":{\"S\":\"g1\"},\"city\":{\"S\":\"oslo\"},\"score\":{\"N\":\"0\"}}}");
}

#define MANY "city = :c AND n = :n"
#define ZERO ",\":n\":{\"N\":\"0\"}"

#define UNEQUAL_SCORE                                                                            \
    "RANGE key attributes score must have equality conditions specified in the query because a " \
    "condition is present on key attribute title"

TEST(keys_of_several_attributes_are_matched_from_the_left)
{
    put_games();
    expect_games("by-many", MANY, "\"" ROME ZERO, "", "0 6");
    expect_games("by-many", "score = :s AND " MANY, "\"" ROME ZERO ",\":s\":{\"N\":\"1\"}", "",
                 "6");
    expect_games("by-many", MANY " AND score = :s AND begins_with(title, :t)",
                 "\"" ROME ZERO ",\":s\":{\"N\":\"0\"},\":t\":{\"S\":\"t\"}", "", "0");
    static const struct {
        const char *condition;
        const char *text;
    } CASES[] = {
        {"city = :c", "Query condition missed key schema element: n"},
        {"n = :n", "Query condition missed key schema element: city"},
        {"city = :c AND n > :n", "Query key condition not supported"},
        {MANY " AND title = :t", UNEQUAL_SCORE},
        {MANY " AND score > :n AND title = :t", UNEQUAL_SCORE},
        {MANY " AND score > :n AND title > :t", UNEQUAL_SCORE},
        {MANY " AND score = :n AND y = :t", "Query condition missed key schema element: title"},
        {MANY " AND score = :n AND title = :t AND y = :t", "Query key condition not supported"},
        {MANY " AND score = :t", INVALID "Condition parameter type does not match schema type"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char request[1024];
        snprintf(request, sizeof request,
                 "{\"TableName\":\"games\",\"IndexName\":\"by-many\",\"KeyConditionExpression\":"
                 "\"%s\",\"ExpressionAttributeValues\":{%s%s%s}}",
                 CASES[i].condition, strstr(CASES[i].condition, ":c") ? "\"" ROME "," : "",
                 strstr(CASES[i].condition, ":n") ? "\":n\":{\"N\":\"0\"}," : "",
                 strstr(CASES[i].condition, ":t") ? "\":t\":{\"S\":\"t\"}" : "");
        char *end = strstr(request, ",}}");
        if (end != NULL)
            memmove(end, end + 1, strlen(end));
        expect_invalid(&f, "Query", request, CASES[i].text);
    }
    expect_invalid(&f, "Query",
                   "{\"TableName\":\"games\",\"IndexName\":\"by-city\",\"KeyConditionExpression\":"
                   "\"city = :c AND score = :c AND n = :c\",\"ExpressionAttributeValues\":{\"" ROME
                   "}}",
                   "Conditions can be of length 1 or 2 only");
}

/* Reads pages of one item until there is no LastEvaluatedKey. */
static void read_pages(const char *operation, const char *members, char *out, size_t room)
{
    char request[2048], start[512] = "", page[64];
    out[0] = '\0';
    for (int pages = 0; pages < 30; pages++) {
        snprintf(request, sizeof request, "{\"TableName\":\"games\",\"Limit\":1,%s%s}", members,
                 start);
        struct fake_answer a = fake_call(&f, operation, request);
        games_of(a, page, sizeof page);
        const size_t used = strlen(out);
        snprintf(out + used, room - used, "%s%s", used > 0 && page[0] != '\0' ? " " : "", page);
        const char *last = memmem(a.body.data, a.body.size,
                                  "\"LastEvaluatedKey\":", strlen("\"LastEvaluatedKey\":"));
        if (last == NULL)
            return;
        last += strlen("\"LastEvaluatedKey\":");
        snprintf(start, sizeof start, ",\"ExclusiveStartKey\":%.*s",
                 (int)((const char *)a.body.data + a.body.size - 1 - last), last);
    }
    fail_msg("the pages of %s do not end", operation);
}

TEST(pages_go_on_after_the_last_key)
{
    char got[256];
    put_games();
    read_pages("Query",
               "\"IndexName\":\"by-city\",\"KeyConditionExpression\":\"city = :c\","
               "\"ExpressionAttributeValues\":{\"" ROME "}",
               got, sizeof got);
    assert_string_equal(got, "0 2 4 6 10 8");
    read_pages("Query",
               "\"IndexName\":\"by-many\",\"KeyConditionExpression\":\"" MANY "\","
               "\"ScanIndexForward\":false,\"ExpressionAttributeValues\":{\"" ROME ZERO "}",
               got, sizeof got);
    assert_string_equal(got, "6 0");
    static const char QUERY[] =
        "{\"TableName\":\"games\",\"IndexName\":\"by-city\",\"KeyConditionExpression\":\"city = "
        ":c\",\"ExpressionAttributeValues\":{\"" ROME "},\"ExclusiveStartKey\":%s}";
    static const struct {
        const char *start;
        const char *text;
    } CASES[] = {
        {"{\"p\":{\"S\":\"g\"},\"city\":{\"S\":\"rome\"}}", "The provided starting key is invalid"},
        {"{\"p\":{\"S\":\"g\"},\"city\":{\"S\":\"rome\"},\"score\":{\"S\":\"1\"}}",
         "The provided key element does not match the schema"},
        {"{\"p\":{\"S\":\"g\"},\"city\":{\"S\":\"oslo\"},\"score\":{\"N\":\"1\"}}",
         "The provided starting key is outside query boundaries based on provided conditions"},
        {"{\"p\":{\"S\":\"g\"},\"city\":{\"S\":\"rome\"},\"score\":{\"N\":\"1\"},\"x\":{\"S\":"
         "\"x\"}}",
         "The provided starting key is invalid"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char request[1024];
        snprintf(request, sizeof request, QUERY, CASES[i].start);
        expect_invalid(&f, "Query", request, CASES[i].text);
    }
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* "8 0 4" becomes "0 4 8". */
static void sort_games(char *games)
{
    int list[64], count = 0;
    const size_t room = strlen(games) + 1;
    for (char *at = games; *(at += strspn(at, " ")) != '\0'; at += strcspn(at, " "))
        list[count++] = atoi(at);
    qsort(list, (size_t)count, sizeof list[0], compare_ints);
    games[0] = '\0';
    for (int i = 0; i < count; i++) {
        const size_t used = strlen(games);
        snprintf(games + used, room - used, "%s%d", i > 0 ? " " : "", list[i]);
    }
}

TEST(a_scan_reads_all_rows_in_segments_too)
{
    char got[512], part[256];
    put_games();
    read_pages("Scan", "\"IndexName\":\"by-many\"", got, sizeof got);
    sort_games(got);
    assert_string_equal(got, "0 1 2 3 4 5 6 7 8 9 10 11");
    got[0] = '\0';
    for (int i = 0; i < 3; i++) {
        char members[128];
        snprintf(members, sizeof members,
                 "\"IndexName\":\"by-city\",\"TotalSegments\":3,\"Segment\":%d", i);
        read_pages("Scan", members, part, sizeof part);
        const size_t used = strlen(got);
        snprintf(got + used, sizeof got - used, " %s", part);
    }
    sort_games(got);
    assert_string_equal(got, "0 1 2 3 4 5 6 7 8 9 10 11");
}

TEST(what_a_global_index_cannot_do_is_told)
{
    put_games();
    static const struct {
        const char *more;
        const char *text;
    } CASES[] = {
        {"\"ConsistentRead\":true",
         "Consistent reads are not supported on global secondary indexes"},
        {"\"Select\":\"ALL_ATTRIBUTES\"",
         INVALID "Select type ALL_ATTRIBUTES is not supported for global secondary index by-city "
                 "because its projection type is not ALL"},
        {"\"ProjectionExpression\":\"p, y.a, x, title, y.b\"",
         INVALID "Global secondary index by-city does not project [y, title]"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char request[512];
        snprintf(request, sizeof request, "{\"TableName\":\"games\",\"IndexName\":\"by-city\",%s}",
                 CASES[i].more);
        expect_invalid(&f, "Scan", request, CASES[i].text);
    }
    /* a filter sees what is not projected as absent */
    expect_games("by-city", "city = :c", "\"" ROME,
                 ",\"FilterExpression\":\"attribute_not_exists(y)\"", "0 2 4 6 10 8");
    expect_games("by-city", "city = :c", "\"" ROME, ",\"FilterExpression\":\"attribute_exists(y)\"",
                 "");
    expect_invalid(&f, "Query",
                   "{\"TableName\":\"games\",\"IndexName\":\"by-city\",\"KeyConditionExpression\":"
                   "\"city = :c\",\"FilterExpression\":\"score = :c\","
                   "\"ExpressionAttributeValues\":{\"" ROME "}}",
                   "Filter Expression can only contain non-primary key attributes: Primary key "
                   "attribute: score");
}

/* The table was deleted and created anew by way of another router. */
TEST(an_index_of_a_former_table_is_not_read)
{
    put_games();
    expect_games("by-city", "city = :c", "\"" ROME, ",\"Limit\":1", "0");
    f.tables[0].name.size = f.tables[1].name.size = f.tables[2].name.size = 0;
    route_forget(f.router, slice_of("games"));
    create_games();
    struct fake_answer a =
        fake_call(&f, "Scan", "{\"TableName\":\"games\",\"IndexName\":\"by-city\"}");
    assert_int_equal(a.status, 200); /* CreateTable has forgotten the routes of the indexes, too */
    f.tables[4].id = 99;
    route_forget(f.router, slice_of("games/by-city"));
    a = fake_call(&f, "Scan", "{\"TableName\":\"games\",\"IndexName\":\"by-city\"}");
    assert_int_equal(a.status, 503);
    f.tables[4].id = 5;
    a = fake_call(&f, "Scan", "{\"TableName\":\"games\",\"IndexName\":\"by-city\"}");
    assert_int_equal(a.status, 200);
}

static void expect_no_games_by_city(void)
{
    expect_call(&f, "Scan", "{\"TableName\":\"games\",\"IndexName\":\"by-city\"}", 200,
                "{\"Items\":[],\"Count\":0,\"ScannedCount\":0}");
}

/* The index was deleted and created anew by way of another router. */
static void set_index_anew(uint32_t id, const char *name)
{
    struct index *x = &f.tables[0].index_set->at[0];
    x->table_id = f.tables[1].id = id;
    x->name = slice_of(name);
    fake_set_indexes(&f, &f.tables[0], f.tables[0].index_set);
}

TEST(who_knows_a_former_index_asks_anew)
{
    create_games();
    expect_no_games_by_city();
    assert_true(slice_equal(f.tables[1].name, slice_of("games/by-city")));
    /* the router knows the former index, and the table of the new one */
    set_index_anew(98, "by-city");
    route_forget(f.router, slice_of("games/by-city"));
    expect_no_games_by_city();
    /* it knows the former index's table alone */
    set_index_anew(99, "by-town");
    route_forget(f.router, slice_of("games"));
    expect_call(&f, "Scan", "{\"TableName\":\"games\"}", 200,
                "{\"Items\":[],\"Count\":0,\"ScannedCount\":0}");
    set_index_anew(99, "by-city");
    expect_no_games_by_city();
    /* it knows the index, which is gone for good */
    f.tables[1].name.size = 0;
    route_forget(f.router, slice_of("games/by-city"));
    set_index_anew(99, "by-town");
    expect_invalid(&f, "Scan", "{\"TableName\":\"games\",\"IndexName\":\"by-city\"}",
                   "The table does not have the specified index: by-city");
}

/* ---- writes ---- */

TEST(values_that_cannot_be_keys_are_refused)
{
    char request[8192], large[2100];
    create_games();
    expect_invalid(
        &f, "PutItem",
        "{\"TableName\":\"games\",\"Item\":{\"p\":{\"S\":\"a\"},\"city\":{\"N\":\"1\"}}}",
        INVALID "Type mismatch for Index Key city Expected: S Actual: N IndexName: "
                "by-city");
    expect_invalid(
        &f, "PutItem",
        "{\"TableName\":\"games\",\"Item\":{\"p\":{\"S\":\"a\"},\"title\":{\"S\":\"\"}}}",
        "One or more parameter values are not valid. A value specified for a secondary "
        "index key is not supported. The AttributeValue for a key attribute cannot "
        "contain an empty string value. IndexName: by-many, IndexKey: title");
    memset(large, 'x', sizeof large);
    static const char PUT[] =
        "{\"TableName\":\"games\",\"Item\":{\"p\":{\"S\":\"a\"},\"%s\":{\"S\":"
        "\"%.*s\"},\"%s\":{\"N\":\"1234567\"}}}";
    snprintf(request, sizeof request, PUT, "city", 2048, large, "score");
    expect_call(&f, "PutItem", request, 200, "{}");
    snprintf(request, sizeof request, PUT, "city", 2048, large, "n");
    expect_invalid(&f, "PutItem", request,
                   INVALID "Size of hashkey has exceeded the maximum size limit of2048 bytes");
    snprintf(request, sizeof request, PUT, "title", 1024, large, "n");
    expect_call(&f, "PutItem", request, 200, "{}");
    snprintf(request, sizeof request, PUT, "title", 1024, large, "score");
    expect_invalid(&f, "PutItem", request,
                   INVALID "Aggregated size of all range keys has exceeded the size limit of 1024 "
                           "bytes");
    expect_invalid(&f, "UpdateItem",
                   "{\"TableName\":\"games\",\"Key\":{\"p\":{\"S\":\"a\"}},\"UpdateExpression\":"
                   "\"SET n = :v\",\"ExpressionAttributeValues\":{\":v\":{\"S\":\"x\"}}}",
                   INVALID
                   "Type mismatch for Index Key n Expected: N Actual: S IndexName: by-many");
}

TEST(capacity_is_told_by_index)
{
    create_games();
    expect_call(&f, "PutItem",
                "{\"TableName\":\"games\",\"ReturnConsumedCapacity\":\"INDEXES\",\"Item\":{\"p\":{"
                "\"S\":\"a\"},\"city\":{\"S\":\"rome\"},\"score\":{\"N\":\"1\"}}}",
                200,
                "{\"ConsumedCapacity\":{\"TableName\":\"games\",\"CapacityUnits\":2.0,\"Table\":{"
                "\"CapacityUnits\":1.0},\"GlobalSecondaryIndexes\":{\"by-city\":{\"CapacityUnits\":"
                "1.0}}}}");
    expect_call(&f, "Scan",
                "{\"TableName\":\"games\",\"ReturnConsumedCapacity\":\"INDEXES\",\"IndexName\":"
                "\"by-city\",\"Select\":\"COUNT\"}",
                200,
                "{\"Count\":1,\"ScannedCount\":1,\"ConsumedCapacity\":{\"TableName\":\"games\","
                "\"CapacityUnits\":1.0,\"Table\":{\"CapacityUnits\":0.0},"
                "\"GlobalSecondaryIndexes\":{\"by-city\":{\"CapacityUnits\":1.0}}}}");
    expect_call(&f, "Query",
                "{\"TableName\":\"games\",\"ReturnConsumedCapacity\":\"TOTAL\",\"IndexName\":"
                "\"by-city\",\"Select\":\"COUNT\",\"KeyConditionExpression\":\"city = :c\","
                "\"ExpressionAttributeValues\":{\"" ROME "}}",
                200,
                "{\"Count\":1,\"ScannedCount\":1,\"ConsumedCapacity\":{\"TableName\":\"games\","
                "\"CapacityUnits\":0.5}}");
}

/* ---- throttling ---- */

static void expect_throttled(struct fake_answer a, const char *type, const char *reasons)
{
    char *text = strndup((const char *)a.body.data, a.body.size);
    assert_int_equal(a.status, 400);
    if (strstr(text, type) == NULL || strstr(text, reasons) == NULL)
        fail_msg("%s or %s is not in %s", type, reasons, text);
    free(text);
}

#define REASON(list, reason, index) \
    "\"" list "\":[{\"reason\":\"" reason "\",\"resource\":\"" ARN "units/index/" index "\"}]"

TEST(reads_are_throttled_by_the_index)
{
    create_provisioned(&f);
    fake_call(&f, "Scan", "{\"TableName\":\"units\",\"IndexName\":\"by-a\"}");
    f.fail_code = REPLY_THROTTLED;
    f.fail_reason = ADMIT_REFUSED_ALLOCATION;
    f.fail_count = 1;
    expect_throttled(fake_call(&f, "Scan", "{\"TableName\":\"units\",\"IndexName\":\"by-a\"}"),
                     "ProvisionedThroughputExceededException",
                     REASON("ThrottlingReasons", "IndexReadProvisionedThroughputExceeded", "by-a"));
    f.fail_reason = ADMIT_REFUSED_KEY_RANGE;
    f.fail_count = 1;
    expect_throttled(fake_call(&f, "Scan", "{\"TableName\":\"units\",\"IndexName\":\"by-a\"}"),
                     "ProvisionedThroughputExceededException",
                     REASON("ThrottlingReasons", "IndexReadKeyRangeThroughputExceeded", "by-a"));
}

static struct fake_answer put_throttled(enum admit_reason cause, uint32_t index)
{
    struct buffer request = {0};
    struct reply refusal = {
        .code = REPLY_THROTTLED,
        .kind = ANSWER_ITEM,
        .verdict = {.reason = ADMIT_REFUSED_INDEX, .index = index, .cause = cause, .member = 7}};
    fake_call(&f, "GetItem", "{\"TableName\":\"units\",\"Key\":{\"p\":{\"S\":\"a\"}}}");
    f.hold = true;
    fake_request_text(&request, "PutItem",
                      slice_of("{\"TableName\":\"units\",\"Item\":{\"p\":{\"S\":\"a\"}}}"));
    fake_send(&f, 1, buffer_slice(&request));
    f.hold = false;
    assert_int_equal(f.held_count, 1);
    fake_answer_with(&f, 0, &refusal);
    buffer_deinit(&request);
    return fake_take_answer(&f, 1);
}

TEST(writes_are_throttled_by_the_index_that_refused)
{
    create_provisioned(&f);
    expect_throttled(put_throttled(ADMIT_REFUSED_KEY_RANGE, 2),
                     "index by-a cannot take more writes (key-range at its partition 7): spread "
                     "the items over more values of the index's partition key)",
                     REASON("ThrottlingReasons", "IndexWriteKeyRangeThroughputExceeded", "by-a"));
    expect_throttled(
        put_throttled(ADMIT_REFUSED_ALLOCATION, 3), "ProvisionedThroughputExceededException",
        REASON("ThrottlingReasons", "IndexWriteProvisionedThroughputExceeded", "by-b"));
    expect_throttled(
        put_throttled(ADMIT_OK, 3),
        "index by-b lags too far behind the table's writes: try again when the index has caught "
        "up)",
        REASON("ThrottlingReasons", "IndexWriteProvisionedThroughputExceeded", "by-b"));
    fake_call(&f, "UpdateTable",
              "{\"TableName\":\"units\"," ON_DEMAND ",\"GlobalSecondaryIndexUpdates\":[" UPDATE(
                  "by-a", ",\"OnDemandThroughput\":{\"MaxWriteRequestUnits\":90}") "]}");
    expect_throttled(
        put_throttled(ADMIT_REFUSED_ALLOCATION, 2), "ThrottlingException",
        REASON("throttlingReasons", "IndexWriteMaxOnDemandThroughputExceeded", "by-a"));
    expect_throttled(
        put_throttled(ADMIT_REFUSED_ALLOCATION, 3), "ThrottlingException",
        REASON("throttlingReasons", "IndexWriteProvisionedThroughputExceeded", "by-b"));
}

TEST(a_write_that_one_of_several_indexes_refuses_is_not_told_which)
{
    create_provisioned(&f);
    expect_throttled(put_throttled(ADMIT_OK, 0),
                     "a global index of the table lags too far behind the table's writes: try "
                     "again when the index has caught up)",
                     "");
}

TEST(a_write_that_the_only_index_refuses_is_told_its_name)
{
    struct fake_answer a = create_table(
        &f, "units", DEFINED_A, INDEX("by-a", A_HASH, "," ALL "," UNITS("3", "2")), PROVISIONED);
    assert_int_equal(a.status, 200);
    expect_throttled(
        put_throttled(ADMIT_OK, 0),
        "index by-a lags too far behind the table's writes: try again when the index has caught "
        "up)",
        REASON("ThrottlingReasons", "IndexWriteProvisionedThroughputExceeded", "by-a"));
}

TEST(insights_of_an_index_are_off)
{
    create_provisioned(&f);
    expect_call(&f, "DescribeContributorInsights",
                "{\"TableName\":\"units\",\"IndexName\":\"by-a\"}", 200,
                "{\"TableName\":\"units\",\"IndexName\":\"by-a\",\"ContributorInsightsStatus\":"
                "\"DISABLED\"}");
}

/* ---- local indexes ---- */

#define NOTE(l)                                                                     \
    "{\"TableName\":\"notes\",\"Item\":{\"h\":{\"S\":\"a\"},\"r\":{\"S\":\"b\"}," l \
    "\"x\":{\"S\":\"x\"}}}"
#define SORT "\"l\":{\"S\":\"c\"},"

/* The row is read at one moment, its item at a later one. */
TEST(an_item_that_lost_its_row_since_is_not_shown)
{
    static const char TABLE[] =
        "{\"TableName\":\"notes\",\"BillingMode\":\"PAY_PER_REQUEST\",\"AttributeDefinitions\":["
        "{\"AttributeName\":\"h\",\"AttributeType\":\"S\"},"
        "{\"AttributeName\":\"r\",\"AttributeType\":\"S\"},"
        "{\"AttributeName\":\"l\",\"AttributeType\":\"S\"}],\"KeySchema\":["
        "{\"AttributeName\":\"h\",\"KeyType\":\"HASH\"},"
        "{\"AttributeName\":\"r\",\"KeyType\":\"RANGE\"}],\"LocalSecondaryIndexes\":["
        "{\"IndexName\":\"by-l\",\"Projection\":{\"ProjectionType\":\"KEYS_ONLY\"},\"KeySchema\":["
        "{\"AttributeName\":\"h\",\"KeyType\":\"HASH\"},"
        "{\"AttributeName\":\"l\",\"KeyType\":\"RANGE\"}]}]}";
    static const char QUERY[] =
        "{\"TableName\":\"notes\",\"IndexName\":\"by-l\",\"Select\":\"ALL_ATTRIBUTES\","
        "\"KeyConditionExpression\":\"h = :h AND l = :l\",\"ExpressionAttributeValues\":{"
        "\":h\":{\"S\":\"a\"},\":l\":{\"S\":\"c\"}},\"ConsistentRead\":true}";
    assert_int_equal(fake_call(&f, "CreateTable", TABLE).status, 200);
    fake_open(&f, 2);
    for (int loses = 0; loses <= 1; loses++) {
        expect_call(&f, "PutItem", NOTE(SORT), 200, "{}");
        f.hold = true;
        fake_call(&f, "Query", QUERY);
        fake_answer(&f, 0);
        assert_int_equal(f.held_count, 1);
        assert_int_equal(fake_held(&f, 0).op, REQUEST_GET);
        fake_send_call(&f, 2, "PutItem", loses ? NOTE("") : NOTE(SORT));
        fake_answer(&f, 1);
        assert_int_equal(fake_take_answer(&f, 2).status, 200);
        fake_answer(&f, 0);
        const struct fake_answer a = fake_take_answer(&f, 1);
        (loses ? expect_absent : expect_within)(a, "\"x\":{\"S\":\"x\"}");
        f.hold = false;
    }
}
