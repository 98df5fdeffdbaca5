/* router_body_test.c - large bodies are unpacked and parsed by the host, one at a time. */
#include "tests/check.h"

#include "base/settings/http.h"
#include "router/core/body.h"
#include "router/core/router_internal.h"
#include "router/http/gzip.h"
#include "tests/support/expect.h"

enum {
    OTHER = 1,
    CLIENT = 2,
    SECOND = 3
};

static struct fake_cluster f;
static struct buffer large, packed; /* a ListTables with blanks before it, and the same in gzip */

static void begin(void)
{
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, ATTR_STRING, 1);
    for (uint64_t c = OTHER; c <= SECOND; c++)
        fake_open(&f, c);
    f.hold_parse = true;
}

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    begin();
    buffer_clear(&large);
    memset(buffer_reserve(&large, BODY_LARGE_MIN), ' ', BODY_LARGE_MIN);
    large.size = BODY_LARGE_MIN;
    buffer_append_text(&large, "{\"Limit\":1}");
    buffer_clear(&packed);
    coding_pack(&packed, CODING_GZIP, buffer_slice(&large));
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    buffer_deinit(&large);
    buffer_deinit(&packed);
    return 0;
}

FIXTURE(start, stop)

static void send_body(uint64_t client, const char *coding, struct slice body)
{
    struct buffer b = {0};
    buffer_append_format(
        &b,
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
        "X-Amz-Target: DynamoDB_20120810.ListTables\r\n"
        "Content-Encoding: %s\r\nContent-Length: %zu\r\n\r\n",
        coding, body.size);
    buffer_append_slice(&b, body);
    fake_send(&f, client, buffer_slice(&b));
    buffer_deinit(&b);
}

static void expect_listed(uint64_t client)
{
    const struct fake_answer a = fake_take_answer(&f, client);
    assert_int_equal(a.status, 200);
    assert_slice_is(a.body, "{\"TableNames\":[\"users\"]}");
}

/* The other client is served; the host has a text of a client that is not answered yet. */
static void expect_waiting(uint64_t client)
{
    assert_non_null(f.parse.parse);
    assert_int_equal(f.clients[client].received.size, 0);
    expect_call(&f, "ListTables", "{}", 200, "{\"TableNames\":[\"users\"]}");
}

static void leave(uint64_t client)
{
    router_close(f.router, f.now, client);
    f.clients[client].open = false;
}

static void parse(void)
{
    fake_parse(&f);
    fake_pump(&f);
}

TEST(others_are_served_while_the_host_parses_a_large_body)
{
    send_body(CLIENT, "identity", buffer_slice(&large));
    expect_waiting(CLIENT);
    parse();
    expect_listed(CLIENT);
}

TEST(a_small_body_that_unpacks_to_a_large_text_is_unpacked_by_the_host)
{
    assert_true(packed.size < BODY_LARGE_MIN / 64);
    send_body(CLIENT, "gzip", buffer_slice(&packed));
    expect_waiting(CLIENT);
    assert_true(f.router->scratch.size < BODY_LARGE_MIN);
    parse();
    expect_listed(CLIENT);
}

/* Stored, not compressed: a packed body that is larger than its text. */
TEST(a_large_packed_body_is_unpacked_by_the_host)
{
    struct buffer b = {0};
    while (b.size < BODY_LARGE_MIN)
        coding_pack(&b, CODING_GZIP, slice_of(" "));
    coding_pack(&b, CODING_GZIP, slice_of("{\"Limit\":1}"));
    send_body(CLIENT, "gzip", buffer_slice(&b));
    expect_waiting(CLIENT);
    parse();
    expect_listed(CLIENT);
    buffer_deinit(&b);
}

TEST(the_host_has_one_text_at_a_time_and_they_take_turns)
{
    send_body(CLIENT, "identity", buffer_slice(&large));
    send_body(SECOND, "gzip", buffer_slice(&packed));
    expect_waiting(CLIENT);
    parse();
    expect_listed(CLIENT);
    expect_waiting(SECOND);
    parse();
    expect_listed(SECOND);
}

TEST(a_large_body_that_is_refused_gets_the_answer_of_a_small_one)
{
    static const char tail[] = "x";
    struct buffer b = {0};
    buffer_append_slice(&b, buffer_slice(&large));
    buffer_append_text(&b, tail); /* no JSON */
    send_body(CLIENT, "identity", buffer_slice(&b));
    parse();
    struct fake_answer a = fake_take_answer(&f, CLIENT);
    assert_int_equal(a.status, 400);
    assert_slice_is(a.body, "{\"__type\":\"com.amazon.coral.service#SerializationException\"}");
    buffer_clear(&b);
    buffer_append_slice(&b, buffer_slice(&packed));
    b.data[b.size - 8] ^= 1; /* the checksum */
    send_body(CLIENT, "gzip", buffer_slice(&b));
    parse();
    a = fake_take_answer(&f, CLIENT);
    assert_int_equal(a.status, 400);
    assert_non_null(memmem(a.body.data, a.body.size, "The body is not gzip", 20));
    buffer_deinit(&b);
    send_body(CLIENT, "identity", buffer_slice(&large));
    parse();
    expect_listed(CLIENT);
}

/* What the host has must stay, and counts until the host has done with it. */
TEST(a_client_may_leave_while_the_host_has_its_body)
{
    send_body(CLIENT, "identity", buffer_slice(&large));
    send_body(SECOND, "identity", buffer_slice(&large));
    const size_t held = f.router->held_bytes;
    leave(SECOND);
    assert_true(f.router->held_bytes + BODY_LARGE_MIN <= held);
    leave(CLIENT);
    assert_true(f.router->held_bytes >= BODY_LARGE_MIN);
    expect_waiting(OTHER);
    parse();
    assert_true(f.router->held_bytes < BODY_LARGE_MIN);
    assert_null(f.parse.parse);
    fake_open(&f, CLIENT);
    send_body(CLIENT, "identity", buffer_slice(&large));
    parse();
    expect_listed(CLIENT);
}

TEST(a_router_ends_with_bodies_that_are_not_parsed)
{
    send_body(CLIENT, "identity", buffer_slice(&large));
    send_body(SECOND, "gzip", buffer_slice(&packed));
    assert_non_null(f.parse.parse);
}

/* Of the host's thread the end is waited for; then the router ends. */
TEST(a_router_ends_with_a_body_that_is_parsed_for_nobody)
{
    send_body(CLIENT, "gzip", buffer_slice(&packed));
    f.parse.parse(f.parse.text);
    leave(CLIENT);
}

/* Two bytes of text are sixteen of the tape. */
TEST(what_a_body_takes_when_it_is_parsed_counts)
{
    enum {
        NUMBERS = 300000
    };
    struct buffer b = {0};
    fake_deinit(&f);
    fake_init(&f);
    config_edit_http(&f.config)->http_memory_max_bytes = 3 * MIB;
    begin();
    buffer_append_text(&b, "[0");
    for (int i = 0; i < NUMBERS; i++)
        buffer_append_text(&b, ",1");
    buffer_append_text(&b, "]");
    send_body(CLIENT, "identity", buffer_slice(&b));
    parse();
    struct fake_answer a = fake_take_answer(&f, CLIENT);
    assert_int_equal(a.status, 503);
    assert_non_null(memmem(a.body.data, a.body.size, "http_memory_max_bytes", 21));
    assert_true(f.router->held_bytes < MIB);
    send_body(CLIENT, "identity", buffer_slice(&large));
    parse();
    expect_listed(CLIENT);
    buffer_deinit(&b);
}

/* No request of the rate limiter needs so much. */
TEST(a_large_body_for_the_rate_limiter_is_refused)
{
    struct buffer b = {0};
    buffer_append_format(&b,
                         "POST /limiter/v1/acquire HTTP/1.1\r\nHost: h\r\n"
                         "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                         large.size);
    buffer_append_slice(&b, buffer_slice(&large));
    fake_send(&f, CLIENT, buffer_slice(&b));
    struct fake_answer a = fake_take_answer(&f, CLIENT);
    assert_int_equal(a.status, 413);
    assert_non_null(memmem(a.body.data, a.body.size, "262144 bytes", 12));
    assert_null(f.parse.parse);
    buffer_deinit(&b);
}
