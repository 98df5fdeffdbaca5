/* router_turns_test.c - large answers are written and sent over several turns of the loop. */
#include "tests/check.h"

#include "base/settings/http.h"

#include "tests/support/expect.h"

enum {
    ITEMS = 8,
    NULLS = 150000, /* of an item: 300 kB, and 2.1 MB of JSON */
    ITEM_JSON = NULLS * 14,
    PIECE_MAX = 128 * 1024 + 1024, /* what a client is given that takes nothing */
};

static struct fake_cluster f;

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, "n", ATTR_NUMBER, 1);
    struct buffer b = {0};
    for (int i = 0; i < ITEMS; i++) {
        buffer_clear(&b);
        buffer_append_format(&b,
                             "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},"
                             "\"n\":{\"N\":\"%d\"},\"v\":{\"L\":[",
                             i);
        for (int n = 0; n < NULLS; n++)
            buffer_append_text(&b, n == 0 ? "{\"NULL\":true}" : ",{\"NULL\":true}");
        buffer_append_text(&b, "]}}}");
        buffer_append_u8(&b, 0);
        expect_call(&f, "PutItem", (char *)b.data, 200, "{}");
    }
    buffer_deinit(&b);
    fake_open(&f, 2);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

#define KEY(n)       "{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"" n "\"}}"
#define GET(n)       "{\"Get\":{\"TableName\":\"users\",\"Key\":" KEY(n) "}}"
#define STATEMENT(n) "{\"Statement\":\"SELECT * FROM users WHERE id = 'a' AND n = " n "\"}"

/* Requests whose answers have the items 0 to 2, at least. */
static const struct {
    const char *operation, *body;
    int items;
} LARGE[] = {
    {"Query",
     "{\"TableName\":\"users\",\"KeyConditionExpression\":\"id = :a\","
     "\"ExpressionAttributeValues\":{\":a\":{\"S\":\"a\"}}}",
     4},
    {"Query",
     "{\"TableName\":\"users\",\"KeyConditionExpression\":\"id = :a\",\"ScanIndexForward\":false,"
     "\"ExpressionAttributeValues\":{\":a\":{\"S\":\"a\"}}}",
     4},
    {"Scan", "{\"TableName\":\"users\"}", 4},
    {"ExecuteStatement", "{\"Statement\":\"SELECT * FROM users\"}", 4},
    {"BatchGetItem",
     "{\"RequestItems\":{\"users\":{\"Keys\":[" KEY("0") "," KEY("1") "," KEY("2") "]}}}", 3},
    {"TransactGetItems", "{\"TransactItems\":[" GET("0") "," GET("1") "," GET("2") "]}", 3},
    {"BatchExecuteStatement",
     "{\"Statements\":[" STATEMENT("0") "," STATEMENT("1") "," STATEMENT("2") "]}", 3},
    {"ExecuteTransaction",
     "{\"TransactStatements\":[" STATEMENT("0") "," STATEMENT("1") "," STATEMENT("2") "]}", 3},
};

TEST(an_answer_is_written_in_many_turns_and_others_are_served_meanwhile)
{
    for (size_t i = 0; i < COUNT_OF(LARGE); i++) {
        int turns = 1;
        f.stands = true;
        fake_send_call(&f, 2, LARGE[i].operation, LARGE[i].body);
        for (; f.clients[2].received.size == 0 && turns < 20; turns++) {
            expect_call(&f, "ListTables", "{}", 200, "{\"TableNames\":[\"users\"]}");
            fake_turn(&f);
        }
        f.stands = false;
        fake_pump(&f);
        const struct fake_answer a = fake_take_answer(&f, 2);
        assert_int_equal(a.status, 200);
        assert_in_range(a.body.size, (size_t)LARGE[i].items * ITEM_JSON,
                        (size_t)(LARGE[i].items + 1) * ITEM_JSON);
        /* An item is more than a turn's share (CALL-2). */
        assert_int_equal(turns, LARGE[i].items);
    }
}

/* The same items in the same order, whether the turns are cut or not. */
TEST(a_page_that_was_cut_into_turns_has_each_item_once)
{
    const struct fake_answer a = fake_call(&f, LARGE[0].operation, LARGE[0].body);
    const char *at = (const char *)a.body.data;
    for (int i = 0; i < LARGE[0].items; i++) {
        char key[32];
        const int size = snprintf(key, sizeof key, "\"n\":{\"N\":\"%d\"}", i);
        at = memmem(at, a.body.size - (size_t)(at - (const char *)a.body.data), key, (size_t)size);
        assert_non_null(at);
    }
    static const char END[] = "],\"Count\":4,\"ScannedCount\":4,";
    assert_non_null(memmem(a.body.data, a.body.size, END, sizeof END - 1));
}

TEST(a_client_that_leaves_ends_what_is_written_for_it)
{
    f.stands = true;
    fake_send_call(&f, 2, LARGE[0].operation, LARGE[0].body);
    router_close(f.router, f.now, 2);
    f.clients[2].open = false;
    f.stands = false;
    fake_pump(&f);
    expect_call(&f, "ListTables", "{}", 200, "{\"TableNames\":[\"users\"]}");
}

/* ---- sending ---- */

TEST(a_large_body_is_given_to_the_host_as_the_client_takes_it)
{
    f.clients[2].unread = true;
    fake_send_call(&f, 2, LARGE[0].operation, LARGE[0].body);
    assert_in_range(f.clients[2].unsent, 64 * 1024, PIECE_MAX);
    size_t most = 0;
    for (int i = 0; i < 200 && f.clients[2].received.size < 4 * ITEM_JSON; i++) {
        fake_read(&f, 2, f.clients[2].unsent / 2);
        most = f.clients[2].unsent > most ? f.clients[2].unsent : most;
    }
    assert_in_range(most, 64 * 1024, PIECE_MAX);
    f.clients[2].unread = false;
    fake_read(&f, 2, 0);
    assert_int_equal(fake_take_answer(&f, 2).status, 200);
}

TEST(the_next_request_waits_for_the_whole_body_and_the_close_too)
{
    f.clients[2].unread = true;
    fake_send_call(&f, 2, LARGE[0].operation, LARGE[0].body);
    fake_send_text(&f, 2, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    const size_t given = f.clients[2].received.size;
    assert_true(given <= PIECE_MAX);
    fake_read(&f, 2, 0);
    assert_false(f.clients[2].closed);
    f.clients[2].unread = false;
    fake_read(&f, 2, 0);
    assert_true(f.clients[2].closed);
    assert_true(fake_take_answer(&f, 2).body.size > 4 * ITEM_JSON);
    assert_int_equal(fake_take_answer(&f, 2).status, 200);
}

TEST(a_client_that_takes_no_more_of_a_large_body_is_closed)
{
    f.clients[2].unread = true;
    fake_send_call(&f, 2, LARGE[0].operation, LARGE[0].body);
    fake_advance_ms(&f, config_http(&f.config)->http_unread_ms);
    assert_true(f.clients[2].aborted);
}

/* Packing is done in one go. */
TEST(a_large_body_is_not_packed)
{
    struct buffer request = {0};
    buffer_append_format(
        &request,
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
        "X-Amz-Target: DynamoDB_20120810.Query\r\nAccept-Encoding: gzip\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        strlen(LARGE[0].body), LARGE[0].body);
    fake_send(&f, 2, buffer_slice(&request));
    const struct fake_answer a = fake_take_answer(&f, 2);
    assert_int_equal(a.status, 200);
    assert_int_equal(fake_header(a, "Content-Encoding").size, 0);
    assert_true(a.body.size > 4 * ITEM_JSON);
    buffer_deinit(&request);
}
