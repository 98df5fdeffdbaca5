/* router_input_parse_test.c - large requests are read over several turns of the loop. */
#include "tests/check.h"

#include "router/core/input_parse.h"
#include "router/core/router_internal.h"
#include "tests/support/expect.h"

enum {
    NULLS = 100000, /* of an item: 200 kB, and 1.4 MB of JSON */
    ITEMS = 5
};

static struct fake_cluster f;

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, "n", ATTR_NUMBER, 1);
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

/* ---- the same answers ---- */

#define ITEM(n) "{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"" n "\"}}"
#define PUT(n)  "{\"PutRequest\":{\"Item\":" ITEM(n) "}}"

static const struct {
    const char *operation, *body;
} REQUESTS[] = {
    {"PutItem", "{\"TableName\":\"users\",\"Item\":" ITEM("1") "}"},
    {"PutItem", "{\"TableName\":\"none\",\"Item\":" ITEM("1") "}"},
    {"PutItem", "{\"TableName\":\"users\"}"},
    {"PutItem", "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\",\"N\":\"1\"}}}"},
    {"PutItem", "{\"TableName\":7}"},
    {"PutItem", "{\"TableName\""},
    {"PutItem", "[]"},
    {"GetItem", "{\"TableName\":\"users\",\"Key\":" ITEM("1") "}"},
    {"Query", "{\"TableName\":\"users\",\"KeyConditionExpression\":\"id = :a\","
              "\"ExpressionAttributeValues\":{\":a\":{\"S\":\"a\"}}}"},
    {"BatchWriteItem", "{\"RequestItems\":{\"users\":[" PUT("1") "," PUT("2") "]}}"},
    {"BatchWriteItem", "{\"RequestItems\":{\"users\":[" PUT("1") "," PUT("1") "]}}"},
    {"BatchWriteItem", "{\"RequestItems\":{\"users\":[" PUT("1") "],\"none\":[" PUT("1") "]}}"},
    {"BatchWriteItem", "{\"RequestItems\":{}}"},
    {"BatchWriteItem", "{\"RequestItems\":{\"users\":[{}]}}"},
    {"BatchGetItem", "{\"RequestItems\":{\"users\":{\"Keys\":[" ITEM("1") "," ITEM("2") "]}}}"},
    {"TransactWriteItems", "{\"TransactItems\":[{}]}"},
    {"ExecuteStatement", "{\"Statement\":\"SELECT * FROM users\"}"},
    {"BatchExecuteStatement", "{\"Statements\":[{\"Statement\":\"SELECT\"},{\"Statement\":\"SELECT"
                              " * FROM users WHERE id = 'a' AND n = 1\"}]}"},
    {"ExecuteTransaction", "{\"TransactStatements\":[{\"Statement\":\"SELECT * FROM users WHERE "
                           "id = 'a' AND n = 1\"}]}"},
    {"ExecuteTransaction", "{\"TransactStatements\":[{\"Statement\":\"SELECT\"}]}"},
};

/* Blanks make a text a large one. */
TEST(a_request_that_is_read_in_turns_gets_the_same_answer)
{
    struct buffer large = {0};
    for (size_t i = 0; i < COUNT_OF(REQUESTS); i++) {
        expect_call(&f, "PutItem", "{\"TableName\":\"users\",\"Item\":" ITEM("1") "}", 200, "{}");
        const struct fake_answer a = fake_call(&f, REQUESTS[i].operation, REQUESTS[i].body);
        char *whole = strndup((const char *)a.body.data, a.body.size);
        expect_call(&f, "PutItem", "{\"TableName\":\"users\",\"Item\":" ITEM("1") "}", 200, "{}");
        buffer_clear(&large);
        memset(buffer_reserve(&large, BODY_LARGE_MIN), ' ', BODY_LARGE_MIN);
        large.size = BODY_LARGE_MIN;
        buffer_append_text(&large, REQUESTS[i].body);
        buffer_append_u8(&large, 0);
        expect_call(&f, REQUESTS[i].operation, (const char *)large.data, a.status, whole);
        free(whole);
    }
    buffer_deinit(&large);
}

/* ---- turns ---- */

static void append_times(struct buffer *out, char c, size_t times)
{
    memset(buffer_reserve(out, times), c, times);
    out->size += times;
}

static void append_nulls(struct buffer *out)
{
    buffer_append_text(out, "{\"L\":[");
    for (int i = 0; i < NULLS; i++)
        buffer_append_text(out, i == 0 ? "{\"NULL\":true}" : ",{\"NULL\":true}");
    buffer_append_text(out, "]}");
}

/* Of a list: what stands before and after the number of an element, and after its nulls. */
struct list {
    const char *operation, *begin, *before, *between, *after, *end;
    int turns; /* until it is sent */
};

static const struct list LISTS[] = {
    {"BatchWriteItem", "{\"RequestItems\":{\"users\":[",
     "{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"", "\"},\"v\":", "}}}", "]}}",
     0},
    {"BatchExecuteStatement", "{\"Statements\":[",
     "{\"Statement\":\"INSERT INTO users VALUE {'id':'b','n':", ",'v':?}\",\"Parameters\":[", "]}",
     "]}", 0},
};

/* The same of transactions, which the double of a node does not know: they end in what it holds.
 * Values take the turns of a list. Then all parts are read in one turn, or statements with their
 * trees in three. Then requests are made of three statements in a turn, and three parts are
 * digested. */
static const struct list TRANSACTIONS[] = {
    {"TransactWriteItems", "{\"TransactItems\":[",
     "{\"Put\":{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"c\"},\"n\":{\"N\":\"",
     "\"},\"v\":", "}}}", "]}", 2 + ITEMS + 1 + 1 + 1},
    {"ExecuteTransaction", "{\"TransactStatements\":[",
     "{\"Statement\":\"INSERT INTO users VALUE {'id':'d','n':", ",'v':?}\",\"Parameters\":[", "]}",
     "]}", 2 + ITEMS + 1 + 1 + 2 + 1},
};

static void append_list(struct buffer *out, const struct list *list)
{
    buffer_append_text(out, list->begin);
    for (int i = 0; i < ITEMS; i++) {
        buffer_append_format(out, "%s%s%d%s", i == 0 ? "" : ",", list->before, i, list->between);
        append_nulls(out);
        buffer_append_text(out, list->after);
    }
    buffer_append_text(out, list->end);
    buffer_append_u8(out, 0);
}

TEST(a_list_is_read_in_many_turns_and_others_are_served_meanwhile)
{
    struct buffer b = {0};
    for (size_t i = 0; i < COUNT_OF(LISTS); i++) {
        int turns = 1;
        buffer_clear(&b);
        append_list(&b, &LISTS[i]);
        f.stands = true;
        fake_send_call(&f, 2, LISTS[i].operation, (const char *)b.data);
        for (; f.clients[2].received.size == 0 && turns < 20; turns++) {
            expect_call(&f, "ListTables", "{}", 200, "{\"TableNames\":[\"users\"]}");
            fake_turn(&f);
        }
        f.stands = false;
        fake_pump(&f);
        const struct fake_answer a = fake_take_answer(&f, 2);
        assert_int_equal(a.status, 200);
        /* taking the text, checking it; an element in a turn; what begins with them */
        assert_in_range(turns, 2 + ITEMS + 1, 2 + ITEMS + 5);
    }
    buffer_deinit(&b);
}

TEST(a_transaction_is_read_in_many_turns_and_others_are_served_meanwhile)
{
    struct buffer b = {0};
    for (size_t i = 0; i < COUNT_OF(TRANSACTIONS); i++) {
        int turns = 1;
        buffer_clear(&b);
        append_list(&b, &TRANSACTIONS[i]);
        expect_call(&f, "PutItem", REQUESTS[0].body, 200, "{}"); /* the router knows the table */
        f.stands = f.hold = true;
        fake_send_call(&f, 2, TRANSACTIONS[i].operation, (const char *)b.data);
        for (; f.held_count == 0 && turns < 30; turns++) {
            assert_int_equal(fake_call(&f, "DescribeEndpoints", "{}").status, 200);
            fake_turn(&f);
        }
        assert_int_equal(f.held_count, 1);
        assert_int_equal(fake_held(&f, 0).op, REQUEST_TRANSACT);
        assert_int_equal(turns, TRANSACTIONS[i].turns);
        f.stands = f.hold = false;
        fake_answer_code(&f, 0, REPLY_OK);
        assert_int_equal(fake_take_answer(&f, 2).status, 200);
    }
    buffer_deinit(&b);
}

/* Six items that are more than a third of a turn's share each. */
TEST(a_large_batch_is_sent_in_turns)
{
    enum {
        BATCH = 6,
        STRING_BYTES = 390000,
        A_TURN = 3
    };
    struct buffer b = {0};
    size_t sent = 0, most = 0;
    buffer_append_text(&b, "{\"RequestItems\":{\"users\":[");
    for (int i = 0; i < BATCH; i++) {
        buffer_append_format(&b,
                             "%s{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"a\"},"
                             "\"n\":{\"N\":\"%d\"},\"v\":{\"S\":\"",
                             i == 0 ? "" : ",", i);
        append_times(&b, 'a', STRING_BYTES);
        buffer_append_text(&b, "\"}}}}");
    }
    buffer_append_text(&b, "]}}");
    buffer_append_u8(&b, 0);
    expect_call(&f, "PutItem", REQUESTS[0].body, 200, "{}"); /* the router knows the table */
    f.stands = f.hold = true;
    fake_send_call(&f, 2, "BatchWriteItem", (const char *)b.data);
    for (int turns = 0; turns < 20; turns++) {
        most = f.held_count - sent > most ? f.held_count - sent : most;
        sent = f.held_count;
        fake_turn(&f);
    }
    assert_int_equal(sent, BATCH);
    assert_int_equal(most, A_TURN);
    f.stands = f.hold = false;
    fake_answer_all(&f);
    assert_int_equal(fake_take_answer(&f, 2).status, 200);
    buffer_deinit(&b);
}

/* Long keys: 150 kB of storage keys, which would be made in each of nine turns. */
TEST(the_keys_of_a_batch_that_is_sent_in_turns_are_found_once)
{
    enum {
        BATCH = 25,
        STRING_BYTES = 390000,
        PARTITION_KEY_TEXT = 2728, /* base64 of 2,046 bytes */
        SORT_KEY_TEXT = 1363       /* and one more character: 1,023 bytes */
    };
    struct buffer b = {0};
    fake_table(&f, "blobs", "id", ATTR_BINARY, "n", ATTR_BINARY, 1);
    expect_call(
        &f, "PutItem",
        "{\"TableName\":\"blobs\",\"Item\":{\"id\":{\"B\":\"AAAA\"},\"n\":{\"B\":\"AAAA\"}}}", 200,
        "{}"); /* the router knows the table */
    buffer_append_text(&b, "{\"RequestItems\":{\"blobs\":[");
    for (int i = 0; i < BATCH; i++) {
        buffer_append_format(&b, "%s{\"PutRequest\":{\"Item\":{\"id\":{\"B\":\"",
                             i == 0 ? "" : ",");
        append_times(&b, 'A', PARTITION_KEY_TEXT);
        buffer_append_text(&b, "\"},\"n\":{\"B\":\"");
        append_times(&b, 'A', SORT_KEY_TEXT);
        buffer_append_format(&b, "%c\"},\"v\":{\"S\":\"", 'A' + i);
        append_times(&b, 'a', STRING_BYTES);
        buffer_append_text(&b, "\"}}}}");
    }
    buffer_append_text(&b, "]}}");
    buffer_append_u8(&b, 0);
    f.stands = f.hold = true;
    fake_send_call(&f, 2, "BatchWriteItem", (const char *)b.data);
    while (f.held_count == 0)
        fake_turn(&f);
    assert_in_range(f.held_count, 1, BATCH / 2);
    size_t left = BATCH - f.held_count;
    fake_answer(&f, 0); /* the router accounts what the call holds */
    const size_t held_bytes = f.router->held_bytes;
    for (size_t before = f.held_count; left > 0; before = f.held_count) {
        fake_turn(&f);
        left -= f.held_count - before;
    }
    fake_answer(&f, 0);
    assert_true(f.router->held_bytes < held_bytes + 100 * KIB);
    f.stands = f.hold = false;
    fake_answer_all(&f);
    assert_int_equal(fake_take_answer(&f, 2).status, 200);
    buffer_deinit(&b);
}

TEST(a_client_that_leaves_ends_what_is_read_for_it)
{
    struct buffer b = {0};
    append_list(&b, &LISTS[0]);
    for (int turns = 0; turns < 5; turns++) {
        f.stands = true;
        if (!f.clients[2].open)
            fake_open(&f, 2);
        fake_send_call(&f, 2, LISTS[0].operation, (const char *)b.data);
        for (int i = 0; i < turns; i++)
            fake_turn(&f);
        router_close(f.router, f.now, 2);
        f.clients[2].open = false;
        f.stands = false;
        fake_pump(&f);
        expect_call(&f, "ListTables", "{}", 200, "{\"TableNames\":[\"users\"]}");
    }
    buffer_deinit(&b);
}
