/* router_body_test.c - what cases of large bodies (http_cases_test.c) cannot say: which memory is
 * used, and how a router ends. */
#include "tests/check.h"

#include "router/core/body.h"
#include "router/core/router_internal.h"
#include "router/http/gzip.h"
#include "tests/support/fake_cluster.h"

static struct fake_cluster f;
static struct buffer packed; /* a ListTables with blanks before it, in gzip */

static int start(void **state)
{
    struct buffer large = {0};
    (void)state;
    fake_init(&f);
    fake_start(&f);
    fake_open(&f, 1);
    fake_open(&f, 2);
    f.hold_parse = true;
    memset(buffer_reserve(&large, BODY_LARGE_MIN), ' ', BODY_LARGE_MIN);
    large.size = BODY_LARGE_MIN;
    buffer_append_text(&large, "{\"Limit\":1}");
    buffer_clear(&packed);
    coding_pack(&packed, CODING_GZIP, buffer_slice(&large));
    buffer_deinit(&large);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    buffer_deinit(&packed);
    return 0;
}

FIXTURE(start, stop)

static void send_packed(uint64_t client)
{
    struct buffer b = {0};
    buffer_append_format(
        &b,
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
        "X-Amz-Target: DynamoDB_20120810.ListTables\r\n"
        "Content-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
        packed.size);
    buffer_append_slice(&b, buffer_slice(&packed));
    fake_send(&f, client, buffer_slice(&b));
    buffer_deinit(&b);
}

TEST(a_router_that_ends_has_not_unpacked_what_the_host_has)
{
    assert_true(packed.size < BODY_LARGE_MIN / 64);
    send_packed(1);
    send_packed(2);
    assert_non_null(f.parse.parse);
    assert_true(f.router->scratch.size < BODY_LARGE_MIN);
}

/* Of the host's thread the end is waited for; then the router ends. */
TEST(a_router_ends_with_a_body_that_is_parsed_for_nobody)
{
    send_packed(1);
    f.parse.parse(f.parse.text);
    router_close(f.router, f.now, 1);
    f.clients[1].open = false;
}
