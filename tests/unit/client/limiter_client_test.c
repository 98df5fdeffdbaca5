/* limiter_client_test.c - what the rate limiter's client makes of bytes that come from a server. */
#include "client/http_reply.h"
#include "client/json_scan.h"
#include "client/limiter_answer.h"
#include "client/wire.h"
#include "tests/check.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- JSON ---- */

/* A copy with one more byte. */
static char *copy_text(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    assert_non_null(copy);
    memcpy(copy, text, strlen(text) + 1);
    return copy;
}

static bool is_skipped(const char *text)
{
    char *copy = copy_text(text);
    struct json_scan s = json_scan_of(copy, strlen(text));
    json_scan_skip(&s);
    json_scan_finish(&s);
    free(copy);
    return !s.failed;
}

TEST(any_value_is_skipped)
{
    static const char *const values[] = {
        "0",
        "-1.5e+7",
        "1E5",
        "true",
        "false",
        " null ",
        "\"a\"",
        "[]",
        "{}",
        "[1]",
        "[1 , 2,[3,{}]]",
        "{\"a\":[{\"b\":null}],\"c\":0}",
        "\"\\u00e4\\ud83d\\ude00\\n\"",
        "12345678901234567890123",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(values); i++)
        if (!is_skipped(values[i]))
            fail_msg("refused: %s", values[i]);
}

TEST(what_is_no_json_fails)
{
    static const char *const values[] = {
        "",
        " ",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "tru",
        "nul",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\n\"",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "[",
        "[1",
        "[1,]",
        "[1 2]",
        "{",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "{\"a\":1,}",
        "1 2",
        "[1}",
        "[,1]",
        "{\"a\":1]",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(values); i++)
        if (is_skipped(values[i]))
            fail_msg("taken: %s", values[i]);
    char deep[4 * JSON_SCAN_DEPTH_MAX + 1] = "";
    memset(deep, '[', 2 * JSON_SCAN_DEPTH_MAX);
    memset(deep + 2 * JSON_SCAN_DEPTH_MAX, ']', 2 * JSON_SCAN_DEPTH_MAX);
    assert_false(is_skipped(deep));
}

TEST(numbers_are_read_to_the_thousandth)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {
        {"0", 0},
        {"1", 1000},
        {"-1", -1000},
        {"0.5", 500},
        {"-0.001", -1},
        {"12.34", 12340},
        {"7.120", 7120},
        {"1000000000000.999", INT64_C(1000000000000999)},
        {"999999999999999", INT64_C(999999999999999000)},
        {"1000000000000000", INT64_C(999999999999999000)},
        {"-3162145132800000.5", INT64_C(-999999999999999500)},
        {"9223372036854775808", INT64_C(999999999999999000)},
        {"0.0019", 1},
    };
    static const char *const bad[] = {"1e3", "\"1\"", "+1", "1.", "00"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        char *copy = copy_text(good[i].text);
        struct json_scan s = json_scan_of(copy, strlen(copy));
        assert_int_equal(json_scan_thousandths(&s), good[i].value);
        json_scan_finish(&s);
        assert_false(s.failed);
        free(copy);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char *copy = copy_text(bad[i]);
        struct json_scan s = json_scan_of(copy, strlen(copy));
        json_scan_thousandths(&s);
        json_scan_finish(&s);
        if (!s.failed)
            fail_msg("taken: %s", bad[i]);
        free(copy);
    }
}

TEST(texts_are_unescaped)
{
    char *copy = copy_text("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e4\\u20ac\\ud83d\\ude00z\"");
    struct json_scan s = json_scan_of(copy, strlen(copy));
    assert_string_equal(json_scan_text(&s),
                        "a\"\\/\b\f\n\r\tA\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z");
    json_scan_finish(&s);
    assert_false(s.failed);
    free(copy);
}

/* ---- answers ---- */

static bool answer_of(const char *text, char **copy, struct limiter_answer *out)
{
    *copy = copy_text(text);
    return limiter_answer_read(*copy, strlen(text), out);
}

TEST(an_answer_has_its_limits_and_lease)
{
    char *copy;
    struct limiter_answer a;
    (void)state;
    assert_true(answer_of(
        "{\"allowed\":true,\"limits\":[{\"entity\":\"ann\",\"name\":\"rpm\",\"capacity\":10.5,"
        "\"remaining\":-0.25,\"reset_ms\":61000,\"later\":[1]},{\"name\":\"tpm\",\"entity\":\"b\"}]"
        ","
        "\"lease\":\"abc\",\"expires_ms\":1795399233833,\"new\":{\"x\":1}}",
        &copy, &a));
    assert_int_equal(a.answer.balance_count, 2);
    assert_string_equal(a.answer.balances[0].entity, "ann");
    assert_string_equal(a.answer.balances[0].name, "rpm");
    assert_int_equal(a.answer.balances[0].capacity_mtok, 10500);
    assert_int_equal(a.answer.balances[0].remaining_mtok, -250);
    assert_int_equal(a.answer.balances[0].reset_ms, 61000);
    assert_string_equal(a.lease, "abc");
    assert_int_equal(a.expires_ms, 1795399233833);
    assert_null(a.answer.reason);
    assert_null(a.code);
    free(copy);
    assert_true(
        answer_of("{\"allowed\":false,\"reason\":\"limit\",\"limit\":\"rpm\",\"retry_after_ms\":7,"
                  "\"limits\":[]}",
                  &copy, &a));
    assert_string_equal(a.answer.reason, "limit");
    assert_string_equal(a.answer.limit, "rpm");
    assert_int_equal(a.answer.retry_after_ms, 7);
    assert_null(a.lease);
    free(copy);
    assert_true(
        answer_of("{\"error\":{\"code\":\"lease_over\",\"message\":\"it is over\"}}", &copy, &a));
    assert_string_equal(a.code, "lease_over");
    assert_string_equal(a.message, "it is over");
    free(copy);
}

TEST(too_many_limits_are_left_out)
{
    struct buffer text = {0};
    struct limiter_answer a;
    char *copy;
    (void)state;
    buffer_append_text(&text, "{\"limits\":[");
    for (int i = 0; i < LIMITER_ANSWER_BALANCES_MAX + 2; i++)
        buffer_append_format(&text, "%s{\"entity\":\"a\",\"name\":\"n%d\"}", i == 0 ? "" : ",", i);
    buffer_append_text(&text, "]}");
    buffer_append_u8(&text, 0);
    assert_true(answer_of((const char *)text.data, &copy, &a));
    assert_int_equal(a.answer.balance_count, LIMITER_ANSWER_BALANCES_MAX);
    free(copy);
    buffer_deinit(&text);
}

TEST(other_answers_are_refused)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{",
        "{\"limits\":{}}",
        "{\"limits\":[{}]}",
        "{\"limits\":[{\"name\":\"a\"}]}",
        "{\"limits\":[1]}",
        "{\"lease\":1}",
        "{\"error\":\"a\"}",
        "{} {}",
        "<html></html>",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char *copy;
        struct limiter_answer a;
        if (answer_of(texts[i], &copy, &a))
            fail_msg("taken: %s", texts[i]);
        free(copy);
    }
}

TEST(statuses_have_one_meaning)
{
    assert_int_equal(limiter_answer_status(200, NULL), WEIR_LIMITER_OK);
    assert_int_equal(limiter_answer_status(429, NULL), WEIR_LIMITER_REFUSED);
    assert_int_equal(limiter_answer_status(404, "no_limits"), WEIR_LIMITER_NO_LIMITS);
    assert_int_equal(limiter_answer_status(404, NULL), WEIR_LIMITER_INVALID);
    assert_int_equal(limiter_answer_status(409, "lease_used"), WEIR_LIMITER_LEASE);
    assert_int_equal(limiter_answer_status(409, "lease_over"), WEIR_LIMITER_LEASE);
    assert_int_equal(limiter_answer_status(409, "token_mismatch"), WEIR_LIMITER_INVALID);
    assert_int_equal(limiter_answer_status(400, "invalid"), WEIR_LIMITER_INVALID);
    assert_int_equal(limiter_answer_status(302, NULL), WEIR_LIMITER_UNAVAILABLE);
    assert_int_equal(limiter_answer_status(503, "unavailable"), WEIR_LIMITER_UNAVAILABLE);
}

/* ---- HTTP ---- */

/* Feeds the text whole, and byte by byte: both must end the same. */
static enum http_reply_state feed_reply(const char *text, struct http_reply *r)
{
    enum http_reply_state whole = http_reply_feed(r, slice_of(text)), state = HTTP_REPLY_MORE;
    const int status = r->status;
    const size_t size = r->body.size;
    http_reply_clear(r);
    for (size_t i = 0; i < strlen(text) && state == HTTP_REPLY_MORE; i++)
        state = http_reply_feed(r, slice_make(text + i, 1));
    assert_int_equal(state, whole);
    if (state == HTTP_REPLY_WHOLE) {
        assert_int_equal(r->status, status);
        assert_int_equal(r->body.size, size);
    }
    return state;
}

TEST(replies_with_a_length_or_in_chunks_are_read)
{
    static const struct {
        const char *text, *body;
        int status;
        bool keeps;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "{}", 200, true},
        {"HTTP/1.1 200 OK\r\ncontent-length:2\r\nConnection: close\r\n\r\n{}", "{}", 200, false},
        {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "", 200, false},
        {"HTTP/1.1 204 No Content\r\n\r\n", "", 204, true},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 x\r\nContent-Length: 1\r\n\r\na", "a", 429,
         true},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: "
         "chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n",
         "abc0123456789", 200, true},
        {"HTTP/1.1 503\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\nA: b\r\n\r\n", "", 503, true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct http_reply r = {0};
        assert_int_equal(feed_reply(cases[i].text, &r), HTTP_REPLY_WHOLE);
        assert_int_equal(r.status, cases[i].status);
        assert_slice_is(buffer_slice(&r.body), cases[i].body);
        assert_int_equal(r.body.data[r.body.size], 0);
        assert_int_equal(r.keeps, cases[i].keeps);
        http_reply_deinit(&r);
    }
}

TEST(half_a_reply_is_none)
{
    static const char *const texts[] = {
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct http_reply r = {0};
        assert_int_equal(feed_reply(texts[i], &r), HTTP_REPLY_MORE);
        http_reply_deinit(&r);
    }
}

TEST(broken_replies_are_refused)
{
    static const char *const texts[] = {
        "\r\n",
        "SSH-2.0-x\r\n",
        "HTTP/2 200\r\n",
        "HTTP/1.1 20\r\n",
        "HTTP/1.1 099 x\r\n\r\n",
        "HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct http_reply r = {0};
        if (feed_reply(texts[i], &r) != HTTP_REPLY_BROKEN)
            fail_msg("taken: %s", texts[i]);
        http_reply_deinit(&r);
    }
}

TEST(what_follows_a_reply_ends_the_connection)
{
    struct http_reply r = {0};
    (void)state;
    assert_int_equal(
        http_reply_feed(&r, slice_of("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200")),
        HTTP_REPLY_WHOLE);
    assert_slice_is(buffer_slice(&r.body), "a");
    assert_false(r.keeps);
    http_reply_deinit(&r);
}

TEST(a_head_without_end_is_refused)
{
    struct http_reply r = {0};
    enum http_reply_state fed_so_far = http_reply_feed(&r, slice_of("HTTP/1.1 200 OK\r\nA: "));
    size_t size = 0;
    (void)state;
    for (; fed_so_far == HTTP_REPLY_MORE; size++)
        fed_so_far = http_reply_feed(&r, slice_of("aaaaaaaa"));
    assert_int_equal(fed_so_far, HTTP_REPLY_BROKEN);
    assert_true(size * 8 < HTTP_REPLY_HEAD_MAX + 64);
    http_reply_deinit(&r);
}

/* ---- addresses ---- */

/* In place of the C library's: a machine without a resolver. */
int getaddrinfo(const char *restrict name, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict found)
{
    (void)name, (void)service, (void)hints, (void)found;
    return EAI_NONAME;
}

TEST(localhost_needs_no_resolver)
{
    const int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* it does not listen */
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    assert_int_equal(bind(bound, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(bound, (struct sockaddr *)&address, &size), 0);
    char port[8], refused[64];
    snprintf(port, sizeof port, "%d", ntohs(address.sin_port));
    snprintf(refused, sizeof refused, "cannot connect to localhost:%s: Connection refused", port);
    const char *const expected[][2] = {
        {"localhost", refused},
        {"nowhere", "cannot look up the host name nowhere: Name or service not known"},
    };
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        struct wire w = {.host = expected[i][0], .port = port, .fd = -1};
        struct http_reply reply = {0};
        struct buffer error = {0};
        assert_int_equal(wire_exchange(&w, slice_of("GET / HTTP/1.1\r\n\r\n"),
                                       wire_now_ms() + 30000, &reply, &error),
                         WIRE_FAILED);
        assert_slice_is(buffer_slice(&error), expected[i][1]);
        buffer_deinit(&error);
        http_reply_deinit(&reply);
    }
    close(bound);
}
