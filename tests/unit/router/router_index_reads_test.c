/* Indexes that are created anew, writes that they refuse, and rows of local ones. How they are
 * read: tests/cases/router/index-reads.case. */
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

#define REASON(list, reason, index) \
    "\"" list "\":[{\"reason\":\"" reason "\",\"resource\":\"" ARN "units/index/" index "\"}]"

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

static void expect_no_games_by_city(void)
{
    expect_call(&f, "Scan", "{\"TableName\":\"games\",\"IndexName\":\"by-city\"}", 200,
                "{\"Items\":[],\"Count\":0,\"ScannedCount\":0}");
}

/* The table was deleted and created anew by way of another router. */
TEST(an_index_of_a_former_table_is_not_read)
{
    create_games();
    expect_no_games_by_city();
    f.tables[0].name.size = f.tables[1].name.size = f.tables[2].name.size = 0;
    route_invalidate(f.router, slice_of("games"));
    create_games();
    struct fake_answer a =
        fake_call(&f, "Scan", "{\"TableName\":\"games\",\"IndexName\":\"by-city\"}");
    assert_int_equal(a.status, 200); /* CreateTable has forgotten the routes of the indexes, too */
    f.tables[4].id = 99;
    route_invalidate(f.router, slice_of("games/by-city"));
    a = fake_call(&f, "Scan", "{\"TableName\":\"games\",\"IndexName\":\"by-city\"}");
    assert_int_equal(a.status, 503);
    f.tables[4].id = 5;
    a = fake_call(&f, "Scan", "{\"TableName\":\"games\",\"IndexName\":\"by-city\"}");
    assert_int_equal(a.status, 200);
}

/* The index was deleted and created anew by way of another router. */
static void set_index_anew(uint32_t id, const char *name)
{
    struct index *x = &f.tables[0].index_set->at[0];
    x->table_id = f.tables[1].id = id;
    x->name = slice_of(name);
    fake_set_indexes(&f, &f.tables[0], f.tables[0].index_set);
}

TEST(a_call_with_a_former_index_retries)
{
    create_games();
    expect_no_games_by_city();
    assert_true(slice_equal(f.tables[1].name, slice_of("games/by-city")));
    /* the router knows the former index, and the table of the new one */
    set_index_anew(98, "by-city");
    route_invalidate(f.router, slice_of("games/by-city"));
    expect_no_games_by_city();
    /* it knows the former index's table alone */
    set_index_anew(99, "by-town");
    route_invalidate(f.router, slice_of("games"));
    expect_call(&f, "Scan", "{\"TableName\":\"games\"}", 200,
                "{\"Items\":[],\"Count\":0,\"ScannedCount\":0}");
    set_index_anew(99, "by-city");
    expect_no_games_by_city();
    /* it knows the index, which is gone for good */
    f.tables[1].name.size = 0;
    route_invalidate(f.router, slice_of("games/by-city"));
    set_index_anew(99, "by-town");
    expect_invalid(&f, "Scan", "{\"TableName\":\"games\",\"IndexName\":\"by-city\"}",
                   "The table does not have the specified index: by-city");
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

TEST(a_write_that_one_of_several_indexes_refuses_does_not_get_its_name)
{
    create_provisioned(&f);
    expect_throttled(put_throttled(ADMIT_OK, 0),
                     "a global index of the table lags too far behind the table's writes: try "
                     "again when the index has caught up)",
                     "");
}

TEST(a_write_that_the_only_index_refuses_gets_its_name)
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
