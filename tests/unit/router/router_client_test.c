/* What a router does with clients: those that do not read, those that are too many, those that are
 * web pages, and those of the admin listener. */
#include "tests/check.h"

#include "base/buffer.h"
#include "base/settings/http.h"
#include "tests/support/fake_cluster.h"

static struct fake_cluster f;

enum {
    UNSENT_MARK = 64 * 1024, /* router/client.c */
};

static int prepare(void **state)
{
    (void)state;
    fake_init(&f);
    return 0;
}

static void start(void)
{
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 1);
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(prepare, stop)

static void put_large_item(size_t size)
{
    struct buffer put = {0};
    buffer_append_text(&put,
                       "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"v\":{\"S\":\"");
    memset(buffer_reserve(&put, size), 'x', size);
    put.size += size;
    buffer_append_text(&put, "\"}}}");
    buffer_append_u8(&put, 0);
    assert_int_equal(fake_call(&f, "PutItem", (char *)put.data).status, 200);
    buffer_deinit(&put);
}

/* `count` GetItems of that item. */
static struct buffer pipelined_gets(int count)
{
    struct buffer b = {0};
    for (int i = 0; i < count; i++)
        fake_request_text(&b, "GetItem",
                          slice_of("{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}"));
    return b;
}

static int64_t held_bytes(uint64_t connection)
{
    fake_open(&f, connection);
    fake_send_text(&f, connection, "GET /weir/partitions HTTP/1.1\r\nHost: h\r\n\r\n");
    struct fake_answer a = fake_take_answer(&f, connection);
    const char *at = memmem(a.body.data, a.body.size, "\"held_bytes\":", 13);
    assert_int_equal(a.status, 200);
    assert_non_null(at);
    return strtoll(at + 13, NULL, 10);
}

TEST(a_client_that_does_not_read_gets_no_further_answers_until_it_does)
{
    start();
    put_large_item(100000);
    fake_open(&f, 2);
    f.clients[2].unread = true;
    const int64_t asked = f.asked[REQUEST_GET];
    struct buffer gets = pipelined_gets(40);
    fake_send(&f, 2, buffer_slice(&gets));
    assert_int_equal(f.asked[REQUEST_GET] - asked, 1);
    assert_in_range(f.clients[2].unsent, 100000, 101000);
    fake_read(&f, 2, UNSENT_MARK + 1);
    assert_int_equal(f.asked[REQUEST_GET] - asked, 1);
    fake_read(&f, 2, UNSENT_MARK);
    assert_int_equal(f.asked[REQUEST_GET] - asked, 2);
    f.clients[2].unread = false;
    fake_read(&f, 2, 0);
    assert_int_equal(f.asked[REQUEST_GET] - asked, 40);
    for (int i = 0; i < 40; i++)
        assert_int_equal(fake_take_answer(&f, 2).status, 200);
    buffer_deinit(&gets);
}

/* Answers that need no node are given within one event: they stop at the mark too. */
TEST(answers_that_need_no_node_stop_at_the_mark)
{
    start();
    fake_open(&f, 2);
    f.clients[2].unread = true;
    struct buffer b = {0};
    for (int i = 0; i < 5000; i++)
        buffer_append_text(&b, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    fake_send(&f, 2, buffer_slice(&b));
    assert_in_range(f.clients[2].unsent, UNSENT_MARK, UNSENT_MARK + 2000);
    f.clients[2].unread = false;
    fake_read(&f, 2, 0);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(fake_take_answer(&f, 2).status, 200);
    buffer_deinit(&b);
}

TEST(what_is_unsent_counts_as_held)
{
    start();
    put_large_item(100000);
    fake_open(&f, 2);
    f.clients[2].unread = true;
    const int64_t before = held_bytes(3);
    struct buffer gets = pipelined_gets(1);
    fake_send(&f, 2, buffer_slice(&gets));
    assert_in_range(held_bytes(4) - before, 100000, 102000);
    fake_read(&f, 2, 0);
    assert_in_range(held_bytes(5) - before, 0, 3000);
    buffer_deinit(&gets);
}

TEST(a_client_that_takes_nothing_for_too_long_is_closed)
{
    start();
    put_large_item(100000);
    fake_open(&f, 2);
    f.clients[2].unread = true;
    struct buffer gets = pipelined_gets(2);
    fake_send(&f, 2, buffer_slice(&gets));
    fake_advance_ms(&f, config_http(&f.config)->http_unread_ms - 1);
    assert_false(f.clients[2].closed);
    fake_read(&f, 2, 90000); /* it goes on, slowly */
    fake_advance_ms(&f, config_http(&f.config)->http_unread_ms - 1);
    assert_false(f.clients[2].closed);
    fake_advance_ms(&f, 1);
    assert_true(f.clients[2].aborted);
    buffer_deinit(&gets);
}

/* The connection ends when everything is sent; until then it is watched. */
TEST(a_client_that_is_being_closed_is_watched_until_it_has_taken_all)
{
    start();
    put_large_item(100000);
    fake_open(&f, 2);
    f.clients[2].unread = true;
    const int64_t before = held_bytes(3);
    fake_send_text(&f, 2,
                   "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
                   "X-Amz-Target: DynamoDB_20120810.GetItem\r\nConnection: close\r\n"
                   "Content-Length: 47\r\n\r\n"
                   "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}   }");
    assert_true(f.clients[2].closed);
    assert_in_range(held_bytes(4) - before, 100000, 102000);
    fake_advance_ms(&f, config_http(&f.config)->http_unread_ms);
    assert_true(f.clients[2].aborted);
    assert_in_range(held_bytes(5) - before, 0, 3000);
}

TEST(where_memory_is_short_clients_that_do_not_read_go_first)
{
    config_edit_http(&f.config)->http_memory_max_bytes = MIB;
    start();
    put_large_item(100000);
    struct buffer gets = pipelined_gets(1);
    for (uint64_t c = 2; c <= 12; c++) {
        fake_open(&f, c);
        f.clients[c].unread = true;
        fake_send(&f, c, buffer_slice(&gets));
        fake_advance_ms(&f, 1);
    }
    fake_open(&f, 20);
    fake_send(&f, 20, buffer_slice(&gets)); /* all of them may only be slow */
    struct fake_answer a = fake_take_answer(&f, 20);
    assert_int_equal(a.status, 503);
    assert_non_null(memmem(a.body.data, a.body.size, "http_memory_max_bytes", 21));
    assert_false(f.clients[20].closed);
    fake_advance_ms(&f, 1000);
    fake_send(&f, 20, buffer_slice(&gets));
    assert_int_equal(fake_take_answer(&f, 20).status, 200);
    assert_true(f.clients[2].aborted); /* the one that has read nothing for longest */
    assert_false(f.clients[12].closed);
    buffer_deinit(&gets);
}

/* A refusal says that nothing was done: it is not said of a write that was. */
TEST(a_write_that_was_done_is_answered_as_done_however_little_memory_there_is)
{
    config_edit_http(&f.config)->http_memory_max_bytes = MIB;
    start();
    put_large_item(300000);
    f.hold = true;
    fake_open(&f, 2);
    struct buffer b = {0};
    fake_request_text(&b, "PutItem",
                      slice_of("{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"}},"
                               "\"ReturnValues\":\"ALL_OLD\"}"));
    fake_send(&f, 2, buffer_slice(&b));
    /* Meanwhile others take all the memory. */
    fake_open(&f, 3);
    fake_send_text(&f, 3,
                   "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
                   "X-Amz-Target: DynamoDB_20120810.ListTables\r\nContent-Length: 1000000\r\n\r\n");
    static uint8_t blanks[900000];
    memset(blanks, ' ', sizeof blanks);
    fake_send(&f, 3, slice_make(blanks, sizeof blanks));
    fake_answer_all(&f);
    assert_int_equal(fake_take_answer(&f, 2).status, 200);
    buffer_deinit(&b);
}

TEST(beyond_the_connection_limit_a_client_is_told_so)
{
    config_edit_http(&f.config)->connections_max = 1;
    start();
    fake_open(&f, 1);
    fake_open(&f, 2);
    struct fake_answer a = fake_take_answer(&f, 2);
    assert_int_equal(a.status, 503);
    assert_slice_is(fake_header(a, "Connection"), "close");
    assert_non_null(memmem(a.body.data, a.body.size, "connections_max", 15));
    assert_true(f.clients[2].closed);
    fake_open_admin(&f, 3); /* not counted */
    assert_false(f.clients[3].closed);
}

TEST(the_idlest_client_makes_room_for_a_new_one)
{
    config_edit_http(&f.config)->connections_max = 2;
    start();
    fake_open(&f, 1);
    fake_send_text(&f, 1, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    fake_advance_ms(&f, 600);
    fake_open(&f, 2); /* it never sends anything */
    fake_advance_ms(&f, 399);
    fake_open(&f, 3);
    assert_int_equal(fake_take_answer(&f, 3).status, 503); /* nobody has been idle for long */
    fake_advance_ms(&f, 1);
    fake_open(&f, 4);
    assert_true(f.clients[1].closed);
    assert_false(f.clients[2].closed);
    fake_advance_ms(&f, 600);
    fake_open(&f, 5);
    assert_true(f.clients[2].closed);
    assert_false(f.clients[4].closed);
    assert_false(f.clients[5].closed);
}

TEST(a_client_that_never_sends_is_closed_after_the_time_of_a_request)
{
    start();
    fake_open(&f, 1);
    fake_advance_ms(&f, config_http(&f.config)->http_request_ms - 1);
    assert_false(f.clients[1].closed);
    fake_advance_ms(&f, 1);
    assert_true(f.clients[1].closed);
}

/* Begins a request of a body of `size` bytes, and stops one byte before its end. */
static void send_unfinished(uint64_t connection, size_t size)
{
    struct buffer b = {0};
    buffer_append_format(
        &b,
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
        "X-Amz-Target: DynamoDB_20120810.ListTables\r\nContent-Length: %zu\r\n\r\n",
        size);
    memset(buffer_reserve(&b, size - 1), ' ', size - 1);
    b.size += size - 1;
    fake_open(&f, connection);
    fake_send(&f, connection, buffer_slice(&b));
    buffer_deinit(&b);
}

TEST(the_largest_unfinished_request_goes_first_when_memory_is_short)
{
    config_edit_http(&f.config)->http_body_max_bytes = 16 * MIB;
    config_edit_http(&f.config)->http_memory_max_bytes = 4 * MIB;
    start();
    send_unfinished(1, 500 * KIB);
    send_unfinished(2, 2000 * KIB);
    send_unfinished(3, 500 * KIB);
    fake_advance_ms(&f, 1000);
    send_unfinished(4, 1100 * KIB);
    fake_send_text(&f, 4, "}");
    assert_int_equal(fake_take_answer(&f, 4).status, 400); /* whole, and no JSON */
    fake_send_text(&f, 2, "}");
    assert_int_equal(fake_take_answer(&f, 2).status, 503); /* dropped, and told at its end */
    fake_send_text(&f, 2, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(fake_take_answer(&f, 2).status, 200); /* its connection goes on */
    send_unfinished(5, 2000 * KIB);                        /* young, so it stays */
    send_unfinished(6, 1100 * KIB);                        /* larger than the old ones */
    assert_false(f.clients[1].closed);
    fake_send_text(&f, 6, "}");
    assert_int_equal(fake_take_answer(&f, 6).status, 503);
    fake_send_text(&f, 3, "}");
    assert_int_equal(fake_take_answer(&f, 3).status, 400);
}

/* Its head alone is more memory than may be: dropping the body again would not end. */
TEST(a_body_is_dropped_once)
{
    config_edit_http(&f.config)->http_header_max_bytes = MIB;
    config_edit_http(&f.config)->http_body_max_bytes = 16 * MIB;
    config_edit_http(&f.config)->http_memory_max_bytes = MIB;
    start();
    struct buffer b = {0};
    buffer_append_text(&b, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 400000\r\nX-Long: ");
    memset(buffer_reserve(&b, 600 * KIB), 'x', 600 * KIB);
    b.size += 600 * KIB;
    buffer_append_text(&b, "\r\n\r\n[");
    fake_open(&f, 1);
    fake_send(&f, 1, buffer_slice(&b));
    fake_advance_ms(&f, 1000);
    buffer_clear(&b);
    buffer_append_text(&b, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    fake_open(&f, 2);
    for (int i = 0; i < 20; i++) {
        buffer_append_format(&b, "10000\r\n%065536d\r\n", 0);
        fake_send(&f, 2, buffer_slice(&b));
        buffer_clear(&b);
    }
    fake_send_text(&f, 2, "0\r\n\r\n");
    assert_int_equal(fake_take_answer(&f, 2).status, 503);
    buffer_deinit(&b);
}

/* ---- what every answer carries ---- */

TEST(every_answer_has_a_date_and_a_server)
{
    start();
    fake_open(&f, 1);
    static const char *const REQUESTS[] = {"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
                                           "GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\n",
                                           "nonsense\r\n\r\n"};
    for (size_t i = 0; i < 3; i++) {
        fake_send_text(&f, 1, REQUESTS[i]);
        struct fake_answer a = fake_take_answer(&f, 1);
        assert_slice_is(fake_header(a, "Date"), "Tue, 14 Nov 2023 22:13:20 GMT");
        assert_slice_is(fake_header(a, "Server"), "weir");
    }
    fake_advance_ms(&f, 876); /* the clock began at .123 */
    fake_open(&f, 2);
    fake_send_text(&f, 2, REQUESTS[0]);
    assert_slice_is(fake_header(fake_take_answer(&f, 2), "Date"), "Tue, 14 Nov 2023 22:13:20 GMT");
    fake_advance_ms(&f, 1);
    fake_send_text(&f, 2, REQUESTS[0]);
    assert_slice_is(fake_header(fake_take_answer(&f, 2), "Date"), "Tue, 14 Nov 2023 22:13:21 GMT");
}

TEST(an_error_text_is_not_cut_at_a_nul)
{
    start();
    struct fake_answer a = fake_call(&f, "DescribeTable", "{\"TableName\":\"fuzz\\u0000more\"}");
    assert_int_equal(a.status, 400);
    assert_non_null(memmem(a.body.data, a.body.size, "fuzz\\u0000more' at", 18));
}

TEST(what_is_too_long_is_refused_and_not_cut)
{
    start();
    static const struct {
        const char *format;
        int size, status;
    } CASES[] = {
        {"GET /%0*d HTTP/1.1\r\nHost: h\r\n\r\n", 2046, 404},
        {"GET /%0*d HTTP/1.1\r\nHost: h\r\n\r\n", 2047, 414},
        {"GET / HTTP/1.1\r\nHost: %0*d\r\n\r\n", 255, 200},
        {"GET / HTTP/1.1\r\nHost: %0*d\r\n\r\n", 256, 400},
        {"GET / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: %0*d\r\n\r\n", 95, 200},
        {"GET / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: %0*d\r\n\r\n", 96, 400},
        {"GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: %0*d\r\n\r\n", 2000, 200},
        {"GET / HTTP/1.1\r\nHost: h\r\nX-Other: %0*d\r\n\r\n", 2000, 200},
        {"GET / HTTP/1.1\r\nHost: h\r\nX-Other: %0*d\r\n\r\n", 17000, 400},
    };
    for (uint64_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct buffer b = {0};
        buffer_append_format(&b, CASES[i].format, CASES[i].size, 0);
        fake_open(&f, i + 1);
        fake_send(&f, i + 1, buffer_slice(&b));
        assert_int_equal(fake_take_answer(&f, i + 1).status, CASES[i].status);
        buffer_deinit(&b);
    }
}

/* ---- web pages ---- */

static struct fake_answer ask_from(const char *origin, const char *method)
{
    char text[512];
    if (f.clients[9].open)
        router_close(f.router, f.now, 9);
    f.clients[9].open = false;
    fake_open(&f, 9);
    snprintf(text, sizeof text,
             "%s / HTTP/1.1\r\nHost: h\r\nOrigin: %s\r\n"
             "Access-Control-Request-Method: POST\r\n\r\n",
             method, origin);
    fake_send_text(&f, 9, text);
    return fake_take_answer(&f, 9);
}

static bool allows(const char *origin)
{
    struct fake_answer a = ask_from(origin, "OPTIONS");
    bool allowed = fake_header(a, "Access-Control-Allow-Origin").size > 0;
    assert_int_equal(a.status, allowed ? 200 : 403);
    if (allowed) {
        assert_slice_is(fake_header(a, "Access-Control-Allow-Origin"), origin);
        assert_slice_is(fake_header(a, "Access-Control-Allow-Methods"), "POST");
        assert_slice_is(fake_header(a, "Vary"), "Origin");
        assert_int_equal(a.body.size, 0);
    }
    return allowed;
}

TEST(on_loopback_pages_of_this_machine_may_use_the_endpoint)
{
    f.on_loopback = true;
    start();
    assert_true(allows("http://localhost"));
    assert_true(allows("http://localhost:3000"));
    assert_true(allows("https://localhost:3000"));
    assert_true(allows("http://127.0.0.1:8080"));
    assert_true(allows("http://[::1]:8080"));
    assert_false(allows("http://example.org"));
    assert_false(allows("http://localhost.example.org"));
    assert_false(allows("http://127.0.0.1.example.org"));
    assert_false(allows("http://127.0.0.1:80.example.org"));
    assert_false(allows("http://localhost:80a"));
    assert_false(allows("ftp://localhost"));
    assert_false(allows("null"));
    struct fake_answer a = ask_from("http://localhost:3000", "GET");
    assert_int_equal(a.status, 200);
    assert_slice_is(fake_header(a, "Access-Control-Allow-Origin"), "http://localhost:3000");
    assert_true(fake_header(a, "Access-Control-Expose-Headers").size > 0);
    assert_int_equal(fake_header(a, "Access-Control-Allow-Methods").size, 0);
    a = ask_from("http://example.org", "GET");
    assert_int_equal(a.status, 403);
    assert_int_equal(fake_header(a, "Access-Control-Allow-Origin").size, 0);
}

static void set_origins(const char *value)
{
    struct buffer error = {0};
    assert_int_equal(config_set(&f.config, slice_of("cors_origins"), slice_of(value), &error),
                     STATUS_OK);
    buffer_deinit(&error);
}

TEST(beyond_loopback_only_pages_that_are_named_may)
{
    start();
    assert_false(allows("http://localhost:3000"));
    set_origins("https://a.example, https://b.example:444");
    assert_true(allows("https://a.example"));
    assert_true(allows("https://b.example:444"));
    assert_false(allows("https://b.example"));
    assert_false(allows("http://localhost"));
    set_origins("none");
    assert_false(allows("https://a.example"));
}

TEST(where_all_pages_may_the_answer_names_none)
{
    static const char *const METHODS[] = {"GET", "OPTIONS"};
    start();
    set_origins("*");
    for (size_t i = 0; i < COUNT_OF(METHODS); i++) {
        const struct fake_answer a = ask_from("https://c.example", METHODS[i]);
        assert_int_equal(a.status, 200);
        assert_slice_is(fake_header(a, "Access-Control-Allow-Origin"), "*");
    }
}

/* ---- the admin listener ---- */

static int ask_admin(uint64_t connection, const char *head)
{
    char text[1024];
    snprintf(text, sizeof text, "%s\r\nHost: h\r\n\r\n", head);
    if (!f.clients[connection].open)
        fake_open_admin(&f, connection);
    fake_send_text(&f, connection, text);
    return fake_take_answer(&f, connection).status;
}

#define DRAIN "POST /weir/drain?node=9 HTTP/1.1\r\nContent-Length: 0"
#define JSON  "\r\nContent-Type: application/json"

/* 400: it was taken, and there is no node 9. */
TEST(what_changes_the_cluster_is_taken_by_the_admin_listener_alone)
{
    f.on_loopback = true;
    start();
    assert_int_equal(ask_admin(2, DRAIN JSON), 400);
    assert_int_equal(ask_admin(2, DRAIN), 403);
    assert_int_equal(ask_admin(2, DRAIN "\r\nContent-Type: text/plain"), 403);
    assert_int_equal(ask_admin(2, DRAIN JSON "\r\nOrigin: http://localhost:3000"), 403);
    assert_int_equal(ask_admin(2, "GET /weir/gac HTTP/1.1"), 200);
    assert_int_equal(ask_admin(2, "GET /weir/gac HTTP/1.1\r\nOrigin: http://localhost"), 403);
    assert_int_equal(ask_admin(2, "POST / HTTP/1.1" JSON), 404);
    assert_int_equal(ask_admin(2, "OPTIONS /weir/drain HTTP/1.1\r\nOrigin: http://localhost"), 403);
    fake_open(&f, 3); /* the public one */
    assert_int_equal(ask_admin(3, DRAIN JSON), 403);
    assert_int_equal(ask_admin(3, "POST /weir/split HTTP/1.1\r\nContent-Length: 0" JSON), 403);
    assert_int_equal(ask_admin(3, "GET /weir/gac HTTP/1.1"), 200);
    fake_send_text(&f, 3, "POST /weir/drain?node=1 HTTP/1.1\r\nHost: h\r\n\r\n");
    struct fake_answer a = fake_take_answer(&f, 3);
    assert_non_null(memmem(a.body.data, a.body.size, "admin listener", 14));
    assert_int_equal(f.asked[REQUEST_DECIDE], 0);
}

#define SPLIT "POST /weir/split HTTP/1.1\r\nHost: h" JSON

/* Each member has constraints of its own: none is passed over, none is told twice. */
TEST(a_split_is_refused_for_each_member_that_is_missing_or_wrong)
{
    static const struct {
        const char *body;
        const char *says;
    } CASES[] = {
        {"{}",
         "2 validation errors detected: Value null at 'tableName' failed to satisfy constraint: "
         "Member must not be null; Value null at 'partition' failed to satisfy constraint: "
         "Member must not be null\""},
        {"{\"TableName\":\"users\"}", "\"1 validation error detected: Value null at 'partition' "},
        {"{\"TableName\":\"users\",\"Partition\":0}",
         "\"1 validation error detected: Value '0' at 'partition' failed to satisfy constraint: "
         "Member must have value greater than or equal to 1\""},
        {"{\"TableName\":\"users\",\"Partition\":\"1\"}", "SerializationException"},
        {"{\"TableName\":\"users\",\"Partition\":1,\"SplitPoint\":7}", "SerializationException"},
        {"{\"TableName\":\"users\",\"Partition\":1,\"SplitPoint\":\"7\"}",
         "SplitPoint is not base64"},
        {"{\"TableName\":\"users\",\"Partition\":1,\"Cut\":7}", "SerializationException"},
        {"{\"TableName\":\"users\",\"Partition\":1,\"Cut\":\"7\"}", "SplitPoint is not base64"},
    };
    start();
    fake_open_admin(&f, 2);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text, SPLIT "\r\nContent-Length: %zu\r\n\r\n%s",
                 strlen(CASES[i].body), CASES[i].body);
        fake_send_text(&f, 2, text);
        const struct fake_answer a = fake_take_answer(&f, 2);
        assert_int_equal(a.status, 400);
        if (memmem(a.body.data, a.body.size, CASES[i].says, strlen(CASES[i].says)) == NULL)
            fail_msg("%s: %.*s", CASES[i].body, (int)a.body.size, (const char *)a.body.data);
    }
}

TEST(a_drain_whose_undo_is_not_1_is_refused)
{
    start();
    assert_int_equal(ask_admin(2, "POST /weir/drain?node=1&undo=true HTTP/1.1\r\n"
                                  "Content-Length: 0" JSON),
                     400);
    assert_int_equal(f.asked[REQUEST_DECIDE], 0);
}

TEST(an_admin_request_carries_the_token_where_one_is_set)
{
    f.admin_token = "0123456789abcdef";
    start();
    assert_int_equal(ask_admin(2, DRAIN JSON), 403);
    assert_int_equal(ask_admin(2, DRAIN JSON "\r\nAuthorization: Bearer 0123456789abcdeX"), 403);
    assert_int_equal(ask_admin(2, DRAIN JSON "\r\nAuthorization: Bearer 0123456789abcdef0"), 403);
    assert_int_equal(ask_admin(2, DRAIN JSON "\r\nAuthorization: Bearer 0123456789abcde"), 403);
    assert_int_equal(ask_admin(2, DRAIN JSON "\r\nAuthorization: Basic 0123456789abcdef"), 403);
    assert_int_equal(ask_admin(2, DRAIN JSON "\r\nAuthorization: Bearer 0123456789abcdef"), 400);
    assert_int_equal(ask_admin(2, DRAIN JSON), 403); /* the token was the last request's */
}
