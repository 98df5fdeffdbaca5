/* router_statement_test.c - statements against a fake cluster: which requests they become, and
 * pages that go on although the table was split. */
#include "tests/check.h"

#include "tests/support/expect.h"

static struct fake_cluster f;

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "t", "p", ATTR_STRING, "s", ATTR_NUMBER, 4);
    for (int i = 0; i < 12; i++) {
        char item[160];
        snprintf(item, sizeof item,
                 "{\"Statement\":\"INSERT INTO t VALUE {'p': 'p%d', 's': %d, 'v': %d}\"}", i % 3, i,
                 i);
        expect_call(&f, "ExecuteStatement", item, 200, "{\"Items\":[]}");
    }
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FILE_FIXTURE(start, stop)

static void forget_requests(void)
{
    memset(f.asked, 0, sizeof f.asked);
}

static void expect_statement(const char *text, const char *more, const char *body)
{
    struct buffer b = {0};
    buffer_append_format(&b, "{\"Statement\":\"%s\"%s}", text, more);
    buffer_append_u8(&b, 0);
    forget_requests();
    expect_call(&f, "ExecuteStatement", (const char *)b.data, 200, body);
    buffer_deinit(&b);
}

TEST(a_statement_asks_as_the_operation_would_that_it_stands_for)
{
    expect_statement("SELECT v FROM t WHERE p = 'p1' AND s = 4", "",
                     "{\"Items\":[{\"v\":{\"N\":\"4\"}}]}");
    assert_int_equal(f.asked[REQUEST_GET], 1);
    assert_int_equal(f.asked[REQUEST_RANGE], 0);
    expect_statement("SELECT v FROM t WHERE p = 'p1' AND s > 4 AND v <> 7", "",
                     "{\"Items\":[{\"v\":{\"N\":\"10\"}}]}");
    assert_int_equal(f.asked[REQUEST_RANGE], 1);
    expect_statement("SELECT v FROM t WHERE p IN ['p2', 'p1'] AND s < 3", "",
                     "{\"Items\":[{\"v\":{\"N\":\"1\"}},{\"v\":{\"N\":\"2\"}}]}");
    assert_int_equal(f.asked[REQUEST_RANGE], 2);
    expect_statement("SELECT v FROM t WHERE v = 5", "", "{\"Items\":[{\"v\":{\"N\":\"5\"}}]}");
    assert_int_equal(f.asked[REQUEST_RANGE], 4); /* each partition */
    expect_statement("UPDATE t SET v = v + 100 WHERE p = 'p0' AND s = 0 RETURNING MODIFIED NEW *",
                     "", "{\"Items\":[{\"v\":{\"N\":\"100\"}}]}");
    assert_int_equal(f.asked[REQUEST_UPDATE], 1);
    expect_statement(
        "DELETE FROM t WHERE p = 'p0' AND s = 0 RETURNING ALL OLD *", "",
        "{\"Items\":[{\"p\":{\"S\":\"p0\"},\"s\":{\"N\":\"0\"},\"v\":{\"N\":\"100\"}}]}");
    assert_int_equal(f.asked[REQUEST_DELETE], 1);
    expect_statement("INSERT INTO t VALUE {'p': 'p0', 's': 0, 'v': 0}", "", "{\"Items\":[]}");
    assert_int_equal(f.asked[REQUEST_PUT], 1);
}

TEST(a_statement_that_is_refused_asks_nobody)
{
    forget_requests();
    expect_invalid(&f, "ExecuteStatement", "{\"Statement\":\"UPDATE t SET v = 1 WHERE p = 'p0'\"}",
                   "Where clause does not contain a mandatory equality on all key attributes");
    expect_invalid(&f, "ExecuteStatement", "{\"Statement\":\"SELECT * FROM t WHERE p = 1\"}",
                   "Key attribute's data type should match its data type in table's schema: Key p");
    expect_fault(&f, "ExecuteStatement", "{\"Statement\":\"SELECT * FROM none\"}",
                 "ResourceNotFoundException", "Requested resource not found");
    assert_int_equal(f.asked[REQUEST_UPDATE] + f.asked[REQUEST_RANGE] + f.asked[REQUEST_GET], 0);
}

/* The token in an answer. Empty: there is none. */
static void token_of(struct fake_answer a, char *out, size_t room)
{
    static const char name[] = "\"NextToken\":\"";
    const char *at = memmem(a.body.data, a.body.size, name, sizeof name - 1);
    out[0] = '\0';
    if (at == NULL)
        return;
    at += sizeof name - 1;
    snprintf(out, room, "%.*s", (int)strcspn(at, "\""), at);
}

/* Counts items by their values. */
static int values_in(struct fake_answer a)
{
    int count = 0;
    for (size_t i = 0; i + 4 < a.body.size; i++)
        count += memcmp(a.body.data + i, "{\"v\":", 5) == 0;
    return count;
}

/* Reads all pages; between two of them the table is cut anew. */
static int values_of_pages(const char *where, int limit)
{
    char token[512] = "", request[1024], next[600] = "";
    int values = 0;
    uint32_t partitions = 1;
    do {
        snprintf(request, sizeof request, "{\"Statement\":\"SELECT v FROM t %s\",\"Limit\":%d%s}",
                 where, limit, next);
        const struct fake_answer a = fake_call(&f, "ExecuteStatement", request);
        assert_int_equal(a.status, 200);
        values += values_in(a);
        token_of(a, token, sizeof token);
        snprintf(next, sizeof next, ",\"NextToken\":\"%s\"", token);
        fake_repartition(&f, &f.tables[0], 1 + partitions++ % 8);
    } while (token[0] != '\0' && values < 100);
    return values;
}

TEST(a_token_goes_on_after_a_split)
{
    for (int limit = 1; limit < 6; limit++) {
        assert_int_equal(values_of_pages("", limit), 12);
        assert_int_equal(values_of_pages("WHERE p = 'p1'", limit), 4);
        assert_int_equal(values_of_pages("WHERE p IN ['p0', 'p2'] ORDER BY p DESC, s", limit), 8);
    }
}

TEST(a_batch_tells_of_each_statement_what_became_of_it)
{
    f.fail_code = REPLY_CORRUPT;
    f.fail_count = 1;
    f.fail_after = 1;
    expect_call(
        &f, "BatchExecuteStatement",
        "{\"Statements\":[{\"Statement\":\"SELECT v FROM t WHERE p = 'p1' AND s = 1\"},"
        "{\"Statement\":\"SELECT v FROM t WHERE p = 'p2' AND s = 2\"},"
        "{\"Statement\":\"SELECT v FROM none WHERE p = 'p2' AND s = 2\"},"
        "{\"Statement\":\"SELECT v FROM t WHERE p = 'p1' AND s = 4\"}]}",
        200,
        "{\"Responses\":[{\"TableName\":\"t\",\"Item\":{\"v\":{\"N\":\"1\"}}},{\"Error\":{\"Code\":"
        "\"InternalServerError\",\"Message\":\"The stored item is damaged\"},\"TableName\":\"t\"},"
        "{\"Error\":{\"Code\":\"ResourceNotFound\",\"Message\":\"Requested resource not found\"}},{"
        "\"TableName\":\"t\",\"Item\":{\"v\":{\"N\":\"4\"}}}]}");
    f.fail_code = REPLY_OK;
    f.fail_after = 0;
}

TEST(a_statement_that_is_throttled_is_told_so)
{
    f.fail_code = REPLY_THROTTLED;
    f.fail_reason = ADMIT_REFUSED_KEY_RANGE;
    f.fail_count = 100;
    struct fake_answer a = fake_call(&f, "ExecuteStatement",
                                     "{\"Statement\":\"DELETE FROM t WHERE p = 'x' AND s = 1\"}");
    assert_int_equal(a.status, 400);
    assert_non_null(memmem(a.body.data, a.body.size, "ProvisionedThroughputExceededException", 38));
    assert_slice_is(fake_header(a, "x-weir-throttled-by"), "key-range");
    a = fake_call(&f, "BatchExecuteStatement",
                  "{\"Statements\":[{\"Statement\":\"DELETE FROM t WHERE p = 'x' AND s = 1\"}]}");
    assert_int_equal(a.status, 200);
    static const char begin[] =
        "{\"Responses\":[{\"Error\":{\"Code\":\"ProvisionedThroughputExceeded\"";
    assert_true(slice_starts_with(a.body, slice_of(begin)));
    assert_slice_is(fake_header(a, "x-weir-throttled-by"), "key-range");
    f.fail_code = REPLY_OK;
    f.fail_count = 0;
}
