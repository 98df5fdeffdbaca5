/* router_limiter_test.c - the rate limiter at the router: what is written for a request, what is refused
 * from memory, how shards are made, and what leases and names of requests do. */
#include "base/settings/limiter.h"
#include "engine/limiter/bucket.h"
#include "router/limiter/limit_scope.h"
#include "router/limiter/limiter_error.h"
#include "tests/check.h"
#include "tests/support/expect.h"

enum {
    CONNECTION = 3
};

static struct fake_cluster f;

/* ---- requests ---- */

static struct fake_answer send_with_key(const char *method, const char *path, const char *body,
                                        const char *name)
{
    struct buffer b = {0};
    if (!f.clients[CONNECTION].open)
        fake_open(&f, CONNECTION);
    buffer_append_format(&b, "%s /limiter/v1/%s HTTP/1.1\r\nHost: localhost\r\n", method, path);
    if (name != NULL)
        buffer_append_format(&b, "Idempotency-Key: %s\r\n", name);
    if (body != NULL)
        buffer_append_format(&b, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                             strlen(body), body);
    else
        buffer_append_text(&b, "\r\n");
    fake_send(&f, CONNECTION, buffer_slice(&b));
    buffer_deinit(&b);
    return fake_take_answer(&f, CONNECTION);
}

static struct fake_answer send_request(const char *method, const char *path, const char *body)
{
    return send_with_key(method, path, body, NULL);
}

static bool answer_has(struct fake_answer a, const char *text)
{
    return memmem(a.body.data, a.body.size, text, strlen(text)) != NULL;
}

static void expect_reply(struct fake_answer a, int status, const char *text)
{
    if (a.status != status || !answer_has(a, text))
        print_message("%d %.*s\n", a.status, (int)a.body.size, (const char *)a.body.data);
    assert_int_equal(a.status, status);
    assert_true(answer_has(a, text));
}

static void expect_take(int status, const char *text)
{
    expect_reply(send_request("POST", "acquire",
                              "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":1}}"),
                 status, text);
}

#define LIMIT(capacity)                                                                         \
    "{\"entity\":\"e\",\"resource\":\"r\",\"limits\":[{\"name\":\"rpm\",\"capacity\":" capacity \
    ",\"refill_period_ms\":60000}]}"

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    config_edit_limiter(&f.config)->limiter_limits_ms = 3600000;
    fake_start(&f);
    fake_table(&f, "weir-limiter", "PK", ATTR_STRING, "SK", ATTR_STRING, 1);
    expect_reply(send_request("PUT", "limits", LIMIT("10")), 200, "\"level\":\"entity\"");
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

/* The text of the lease in an answer. */
static const char *lease_of(struct fake_answer a)
{
    static char text[2000];
    static const char begin[] = "\"lease\":\"";
    const uint8_t *at = memmem(a.body.data, a.body.size, begin, sizeof begin - 1);
    assert_non_null(at);
    at += sizeof begin - 1;
    const uint8_t *end = memchr(at, '"', (size_t)(a.body.data + a.body.size - at));
    snprintf(text, sizeof text, "%.*s", (int)(end - at), (const char *)at);
    return text;
}

static struct fake_answer use_lease(const char *what, const char *lease, const char *more)
{
    char body[2200];
    snprintf(body, sizeof body, "{\"lease\":\"%s\"%s}", lease, more);
    return send_request("POST", what, body);
}

/* The tokens that all shards have. */
static void expect_available(const char *tokens)
{
    char text[60];
    snprintf(text, sizeof text, "\"available\":%s}", tokens);
    expect_reply(send_request("GET", "available?entity=e&resource=r", NULL), 200, text);
}

/* Asks the shard 0 for twice as many shards, as a router does whose shards are written too often. */
static void grow_bucket(void)
{
    const struct fake_answer a = send_request("GET", "status?entity=e&resource=r", NULL);
    assert_int_equal(a.status, 200);
    for (int i = 0; i < 1100; i++) { /* the hidden limit */
        send_request("POST", "acquire",
                     "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":0.001}}");
    }
}

/* ---- tests ---- */

TEST(a_request_is_one_write_and_no_read)
{
    expect_take(200, "\"allowed\":true");
    memset(f.asked, 0, sizeof f.asked);
    expect_take(200, "\"remaining\":8.0");
    assert_int_equal(f.asked[REQUEST_UPDATE], 1);
    assert_int_equal(f.asked[REQUEST_GET], 0);
}

TEST(an_empty_bucket_is_refused_from_the_cache_until_it_can_have_refilled)
{
    for (int i = 0; i < 10; i++)
        expect_take(200, "\"allowed\":true");
    expect_take(429, "\"limit\":\"rpm\"");
    memset(f.asked, 0, sizeof f.asked);
    for (int i = 0; i < 5; i++)
        expect_take(429, "\"reason\":\"limit\"");
    assert_int_equal(f.asked[REQUEST_UPDATE], 0);
    fake_advance_ms(&f, 6000); /* a tenth of a minute: one token */
    expect_take(200, "\"allowed\":true");
    expect_take(429, "\"retry_after_ms\"");
}

TEST(refusals_from_the_cache_are_reported_with_the_next_write)
{
    for (int i = 0; i < 10; i++)
        expect_take(200, "\"allowed\":true");
    for (int i = 0; i < 7; i++)
        expect_take(429, "\"reason\":\"limit\"");
    fake_advance_ms(&f, 6100);
    expect_take(200, "\"allowed\":true");
    expect_reply(send_request("GET", "status?entity=e&resource=r", NULL), 200, "\"requests\":18");
}

TEST(a_refusal_tells_when_to_try_again)
{
    for (int i = 0; i < 10; i++)
        expect_take(200, "\"allowed\":true");
    const struct fake_answer a = send_request(
        "POST", "acquire", "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":2}}");
    assert_int_equal(a.status, 429);
    assert_true(slice_is(fake_header(a, "Retry-After"), "12"));
    assert_true(slice_is(fake_header(a, "RateLimit-Policy"), "\"rpm\";q=10;w=60"));
    assert_true(slice_is(fake_header(a, "RateLimit"), "\"rpm\";r=0;t=60"));
}

TEST(a_request_that_no_bucket_can_give_is_refused_as_wrong)
{
    expect_reply(send_request("POST", "acquire",
                              "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":11}}"),
                 400, "its capacity is 10");
    expect_reply(send_request("POST", "acquire",
                              "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"tpm\":1}}"),
                 400, "has no limit 'tpm'");
    expect_reply(send_request("POST", "acquire",
                              "{\"entity\":\"x\",\"resource\":\"r\",\"consume\":{\"rpm\":1}}"),
                 404, "no_limits");
}

TEST(a_request_with_a_token_counts_once)
{
    static const char BODY[] = "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":4}}";
    (void)state;
    expect_reply(send_with_key("POST", "acquire", BODY, "n1"), 200, "\"allowed\":true");
    expect_reply(send_with_key("POST", "acquire", BODY, "n1"), 200, "\"allowed\":true");
    expect_available("6.0");
    expect_reply(send_with_key("POST", "acquire", BODY, "n2"), 200, "\"allowed\":true");
    expect_available("2.0");
}

TEST(a_lease_gives_back_what_it_took_once)
{
    struct fake_answer a =
        send_request("POST", "acquire",
                     "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":5},"
                     "\"lease_ms\":60000}");
    char first[2000], second[2000];
    snprintf(first, sizeof first, "%s", lease_of(a));
    a = use_lease("adjust", first, ",\"adjust\":{\"rpm\":-2}");
    snprintf(second, sizeof second, "%s", lease_of(a));
    expect_available("7.0");
    expect_reply(use_lease("adjust", first, ",\"adjust\":{\"rpm\":-2}"), 200, "\"done\":true");
    expect_available("7.0");
    expect_reply(use_lease("release", second, ",\"release\":{\"rpm\":4}"), 400, "holds only 3");
    expect_reply(use_lease("rollback", second, ""), 200, "\"done\":true");
    expect_reply(use_lease("rollback", second, ""), 200, "\"done\":true");
    expect_available("10.0");
}

TEST(a_lease_may_make_debt)
{
    const struct fake_answer a =
        send_request("POST", "acquire",
                     "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":1},"
                     "\"lease_ms\":60000}");
    expect_reply(use_lease("adjust", lease_of(a), ",\"adjust\":{\"rpm\":20}"), 200,
                 "\"done\":true");
    expect_available("-11.0");
    expect_take(429, "\"reason\":\"limit\"");
}

#define MILLION_MILLION "1000000000000"

/* What is charged without a lease that can be read again could never be given back. */
TEST(a_lease_never_holds_more_than_can_be_read_again)
{
    struct fake_answer a =
        send_request("POST", "acquire",
                     "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":1},"
                     "\"lease_ms\":60000}");
    char lease[2000];
    snprintf(lease, sizeof lease, "%s", lease_of(a));
    expect_reply(use_lease("adjust", lease, ",\"adjust\":{\"rpm\":" MILLION_MILLION "}"), 400,
                 "no room");
    expect_available("9.0");
    a = use_lease("adjust", lease, ",\"adjust\":{\"rpm\":999999999999}");
    expect_reply(a, 200, "\"done\":true");
    snprintf(lease, sizeof lease, "%s", lease_of(a));
    expect_reply(use_lease("rollback", lease, ""), 200, "\"done\":true");
    expect_available("10.0");
}

TEST(a_member_that_is_given_twice_is_refused)
{
    expect_reply(
        send_request(
            "POST", "acquire",
            "{\"entity\":\"e\",\"entity\":\"f\",\"resource\":\"r\",\"consume\":{\"rpm\":1}}"),
        400, "given twice");
    expect_reply(
        send_request(
            "PUT", "limits",
            "{\"entity\":\"e\",\"resource\":\"r\",\"limits\":[{\"name\":\"rpm\",\"capacity\":1,"
            "\"capacity\":2,\"refill_period_ms\":60000}]}"),
        400, "given twice");
    expect_available("10.0");
}

/* A quota that hardly refills: 10^12 tokens, one a year. */
TEST(times_have_at_most_15_digits)
{
    expect_reply(send_request("PUT", "limits",
                              "{\"entity\":\"q\",\"resource\":\"r\",\"limits\":[{\"name\":\"rpm\","
                              "\"capacity\":" MILLION_MILLION
                              ",\"refill_amount\":1,\"refill_period_ms\":31622400000}]}"),
                 200, "\"level\":\"entity\"");
    const struct fake_answer a = send_request(
        "POST", "acquire",
        "{\"entity\":\"q\",\"resource\":\"r\",\"consume\":{\"rpm\":" MILLION_MILLION "}}");
    expect_reply(a, 200, "\"reset_ms\":999999999999999}");
    assert_slice_is(fake_header(a, "RateLimit"), "\"rpm\";r=0;t=1000000000000");
    expect_reply(send_request("GET", "time-until?entity=q&resource=r&rpm=" MILLION_MILLION, NULL),
                 200, "\"wait_ms\":999999999999999}");
}

TEST(a_lease_that_has_expired_is_refused)
{
    const struct fake_answer a =
        send_request("POST", "acquire",
                     "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":1},"
                     "\"lease_ms\":1000}");
    char lease[2000];
    snprintf(lease, sizeof lease, "%s", lease_of(a));
    fake_advance_ms(&f, 1001);
    expect_reply(use_lease("rollback", lease, ""), 409, "lease_over");
    lease[10] = lease[10] == 'A' ? 'B' : 'A';
    expect_reply(use_lease("rollback", lease, ""), 400, "\"field\":\"lease\"");
}

TEST(a_bucket_whose_shard_is_written_too_often_gets_more_shards)
{
    expect_reply(send_request("PUT", "limits", LIMIT("100")), 200, "\"level\":\"entity\"");
    expect_take(200, "\"allowed\":true");
    fake_advance_ms(&f, 2000);
    grow_bucket();
    expect_reply(send_request("GET", "status?entity=e&resource=r", NULL), 200, "\"shards\":2");
    for (int i = 0; i < 4; i++)
        expect_take(200, "\"allowed\":true");
    expect_reply(send_request("GET", "status?entity=e&resource=r", NULL), 200,
                 "{\"shard\":1,\"there\":true,\"share_of\":2");
}

TEST(growth_makes_no_tokens)
{
    int admitted = 0;
    (void)state;
    expect_reply(send_request("PUT", "limits", LIMIT("100")), 200, "\"level\":\"entity\"");
    expect_take(200, "\"allowed\":true");
    fake_advance_ms(&f, 2000);
    grow_bucket();
    fake_advance_ms(&f, 5000); /* it is full again */
    struct fake_answer a;
    do {
        a = send_request("POST", "acquire",
                         "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":1}}");
        admitted += a.status == 200;
    } while (a.status == 200);
    expect_reply(a, 429, "\"reason\":\"limit\"");
    assert_int_equal(admitted, 100);
}

/* Each shard has 0.6 tokens: a transaction of both would cost four writes. */
TEST(a_small_request_waits_for_one_shard_and_gathers_no_fractions)
{
    expect_reply(send_request("PUT", "limits", LIMIT("100")), 200, "\"level\":\"entity\"");
    expect_take(200, "\"allowed\":true");
    fake_advance_ms(&f, 60000);
    grow_bucket();
    fake_advance_ms(&f, 60000);
    for (int i = 0; i < 98; i++)
        expect_take(200, "\"allowed\":true");
    for (int i = 0; i < 2; i++)
        expect_reply(
            send_request("POST", "acquire",
                         "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":0.4}}"),
            200, "\"allowed\":true");
    memset(f.asked, 0, sizeof f.asked);
    expect_take(429, "\"reason\":\"limit\"");
    assert_int_equal(f.asked[REQUEST_TRANSACT], 0);
    assert_int_equal(f.asked[REQUEST_UPDATE], 0);
    fake_advance_ms(&f, 600); /* half a token for each */
    expect_take(200, "\"allowed\":true");
    assert_int_equal(f.asked[REQUEST_UPDATE], 1);
}

TEST(a_request_larger_than_a_share_waits_for_no_single_shard)
{
    expect_reply(send_request("PUT", "limits", LIMIT("100")), 200, "\"level\":\"entity\"");
    expect_take(200, "\"allowed\":true");
    fake_advance_ms(&f, 60000);
    grow_bucket();
    f.hold = true;
    if (!f.clients[CONNECTION].open)
        fake_open(&f, CONNECTION);
    fake_send_text(&f, CONNECTION,
                   "POST /limiter/v1/acquire HTTP/1.1\r\nHost: h\r\nContent-Type: "
                   "application/json\r\nContent-Length: 54\r\n\r\n"
                   "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":80}}    ");
    while (f.held_count > 0 && fake_held(&f, 0).op != REQUEST_TRANSACT)
        fake_answer(&f, 0);
    assert_int_equal(f.held_count, 1); /* both shards, all or none */
}

TEST(while_the_store_is_unavailable_requests_are_allowed_if_they_say_so)
{
    expect_take(200, "\"allowed\":true");
    f.fail_code = REPLY_UNKNOWN;
    f.fail_count = 2;
    expect_reply(send_request("POST", "acquire",
                              "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":1},"
                              "\"on_unavailable\":\"allow\"}"),
                 200, "\"reason\":\"unavailable\"");
    expect_take(503, "\"code\":\"unavailable\"");
}

TEST(limits_of_which_nobody_knows_whether_they_are_set_are_unavailable)
{
    f.fail_code = REPLY_UNKNOWN;
    f.fail_count = 2;
    expect_reply(send_request("PUT", "limits", LIMIT("100")), 503, "\"code\":\"unavailable\"");
}

TEST(each_fault_has_a_status_that_the_document_of_the_limiter_has)
{
    static const int documented[] = {400, 403, 404, 405, 408, 409, 413, 414, 503};
    for (enum fault_kind kind = FAULT_NONE + 1; kind <= FAULT_FORBIDDEN; kind++) {
        const struct fault fault = {.kind = kind};
        size_t i = 0;
        while (i < COUNT_OF(documented) && documented[i] != limiter_error_status(&fault))
            i++;
        assert_true(i < COUNT_OF(documented));
    }
}

static void send_rollback(const char *lease)
{
    struct buffer b = {0};
    buffer_append_format(&b,
                         "POST /limiter/v1/rollback HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                         "application/json\r\nContent-Length: %zu\r\n\r\n{\"lease\":\"%s\"}",
                         strlen(lease) + 12, lease);
    fake_send(&f, CONNECTION, buffer_slice(&b));
    buffer_deinit(&b);
}

/* CHARGE-2: a rollback that is refused keeps its tokens from everybody. */
TEST(a_request_waits_for_those_that_have_the_bucket_until_its_deadline)
{
    const char *lease = lease_of(send_request(
        "POST", "acquire",
        "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":4},\"lease_ms\":60000}"));
    f.fail_code = REPLY_LOCKED;
    f.fail_count = 1000000;
    memset(f.asked, 0, sizeof f.asked);
    send_rollback(lease);
    fake_advance_ms(&f, 2800);
    assert_int_equal(f.clients[CONNECTION].received.size, 0);
    assert_in_range(f.asked[REQUEST_UPDATE], 20, 200); /* rarer and rarer */
    f.fail_count = 0;
    fake_advance_ms(&f, 150);
    expect_reply(fake_take_answer(&f, CONNECTION), 200, "\"done\":true");
    expect_available("10.0");
    f.fail_count = 1000000;
    send_rollback(lease);
    fake_advance_ms(&f, 3000);
    assert_non_null(memmem(f.clients[CONNECTION].received.data, f.clients[CONNECTION].received.size,
                           "Retry-After: 1", 14));
    expect_reply(fake_take_answer(&f, CONNECTION), 503, "busy with other requests for 3000 ms");
}

static void send_take(uint64_t connection)
{
    if (!f.clients[connection].open)
        fake_open(&f, connection);
    fake_send_text(&f, connection,
                   "POST /limiter/v1/acquire HTTP/1.1\r\nHost: h\r\nContent-Type: "
                   "application/json\r\nContent-Length: 49\r\n\r\n"
                   "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":1}}");
}

/* Four requests of an entity with a parent: each charge is a transaction. Nothing else is held. */
static void start_transactions(uint64_t first, uint64_t end)
{
    expect_reply(send_request("PUT", "entities", "{\"entity\":\"e\",\"parent\":\"p\"}"), 200, "");
    expect_reply(
        send_request(
            "PUT", "limits",
            "{\"entity\":\"p\",\"resource\":\"r\",\"limits\":[{\"name\":\"rpm\",\"capacity\":10,"
            "\"refill_period_ms\":60000}]}"),
        200, "\"level\":\"entity\"");
    f.hold = true;
    for (uint64_t c = first; c < end; c++) {
        send_take(c);
        for (size_t i = 0; i < f.held_count;) {
            if (fake_held(&f, i).op == REQUEST_TRANSACT)
                i++;
            else
                fake_answer(&f, i);
        }
    }
}

/* TXQUEUE-1, TXQUEUE-2: otherwise all but one were refused, and came again and again. */
TEST(transactions_at_a_busy_parent_follow_each_other)
{
    enum {
        FIRST = CONNECTION + 1,
        END = FIRST + 4
    };
    start_transactions(FIRST, END);
    for (uint64_t c = FIRST; c < END; c++) {
        assert_int_equal(f.held_count, 1);
        assert_int_equal(f.clients[c].received.size, 0);
        fake_answer_code(&f, 0, REPLY_UNKNOWN);
        expect_reply(fake_take_answer(&f, c), 503, "unavailable");
        fake_advance_ms(&f, 1);
    }
    assert_int_equal(f.held_count, 0);
}

TEST(a_request_that_ends_releases_its_shards)
{
    start_transactions(CONNECTION + 1, CONNECTION + 3);
    fake_advance_ms(&f, 3100); /* their deadlines */
    for (uint64_t c = CONNECTION + 1; c < CONNECTION + 3; c++)
        expect_reply(fake_take_answer(&f, c), 503, "unavailable");
    const size_t before = f.held_count;
    send_take(CONNECTION + 1);
    assert_int_equal(f.held_count, before + 1);
}

TEST(a_change_of_limits_keeps_what_was_taken)
{
    for (int i = 0; i < 6; i++)
        expect_take(200, "\"allowed\":true");
    expect_reply(send_request("PUT", "limits", LIMIT("3")), 200, "\"capacity\":3.0");
    expect_available("3.0");
    expect_reply(send_request("PUT", "limits", LIMIT("20")), 200, "\"capacity\":20.0");
    expect_available("3.0");
    expect_reply(send_request("DELETE", "limits?entity=e&resource=r", NULL), 200, "\"limits\":[]");
    expect_take(404, "no_limits");
}

TEST(a_proxy_gets_204_or_403)
{
    for (int i = 0; i < 10; i++)
        assert_int_equal(send_request("GET", "check?entity=e&resource=r&rpm=1", NULL).status, 204);
    const struct fake_answer a = send_request("GET", "check?entity=e&resource=r&rpm=1", NULL);
    assert_int_equal(a.status, 403);
    assert_true(slice_is(fake_header(a, "Retry-After"), "6"));
}

TEST(bad_requests_name_the_field)
{
    expect_reply(send_request("POST", "acquire", "{\"resource\":\"r\",\"consume\":{\"rpm\":1}}"),
                 400, "\"field\":\"entity\"");
    expect_reply(send_request("POST", "acquire",
                              "{\"entity\":\"a#b\",\"resource\":\"r\",\"consume\":{\"rpm\":1}}"),
                 400, "\"field\":\"entity\"");
    expect_reply(send_request("POST", "acquire",
                              "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":-1}}"),
                 400, "\"field\":\"consume\"");
    expect_reply(send_request("POST", "acquire",
                              "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":0.0001}}"),
                 400, "at most 3 decimals");
    expect_reply(send_request("POST", "acquire", "[]"), 400, "must be a JSON object");
    expect_reply(send_request("PUT", "limits", "{\"limits\":[{\"name\":\"wcu\",\"capacity\":1}]}"),
                 400, "weir's own");
    expect_reply(send_request("POST", "limits", "{}"), 405, "method_not_allowed");
    expect_reply(send_request("GET", "nothing", NULL), 404, "not_found");
    expect_reply(send_request("GET", "check?entity=e&resource=r", NULL), 400, "names no limit");
}

/* ---- the first definitions ---- */

static int start_without_table(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    return 0;
}

static void send_put(uint64_t connection)
{
    struct buffer b = {0};
    if (!f.clients[connection].open)
        fake_open(&f, connection);
    buffer_append_format(&b,
                         "PUT /limiter/v1/limits HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                         "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                         strlen(LIMIT("10")), LIMIT("10"));
    fake_send(&f, connection, buffer_slice(&b));
    buffer_deinit(&b);
}

static void expect_put(uint64_t connection)
{
    expect_reply(fake_take_answer(&f, connection), 200, "\"level\":\"entity\"");
}

TEST_WITH(first_definitions_that_come_at_once_wait_for_the_table, start_without_table, stop)
{
    enum {
        FIRST = CONNECTION + 1,
        END = FIRST + 30
    };
    f.hold_changes = true;
    for (uint64_t c = FIRST; c < END; c++)
        send_put(c);
    fake_advance_ms(&f, 1000);
    for (uint64_t c = FIRST; c < END; c++)
        assert_int_equal(f.clients[c].received.size, 0);
    expect_take(404, "No limits were ever set");
    expect_reply(send_request("GET", "limits?entity=e&resource=r", NULL), 404, "no_limits");
    expect_reply(send_request("DELETE", "limits?entity=e&resource=r", NULL), 200, "\"limits\":[]");
    assert_int_equal(f.table_count, 1);
    f.hold_changes = false;
    f.tables[0].status = TABLE_ACTIVE;
    fake_advance_ms(&f, 1000);
    for (uint64_t c = FIRST; c < END; c++)
        expect_put(c);
    assert_int_equal(f.tables[0].ttl, TTL_ENABLED);
    expect_take(200, "\"allowed\":true");
}

TEST_WITH(a_definition_waits_until_a_deleted_table_is_gone_and_makes_it_anew, start_without_table,
          stop)
{
    fake_table(&f, "weir-limiter", "PK", ATTR_STRING, "SK", ATTR_STRING, 1)->status =
        TABLE_DELETING;
    send_put(CONNECTION);
    fake_advance_ms(&f, 1000);
    assert_int_equal(f.clients[CONNECTION].received.size, 0);
    f.tables[0].name.size = 0;
    fake_advance_ms(&f, 1000);
    expect_put(CONNECTION);
    expect_take(200, "\"allowed\":true");
}

TEST_WITH(a_definition_goes_on_when_another_has_had_the_items_expire, start_without_table, stop)
{
    f.hold = true;
    send_put(CONNECTION);
    fake_answer(&f, 0); /* there is no table */
    struct table *t = fake_table(&f, "weir-limiter", "PK", ATTR_STRING, "SK", ATTR_STRING, 1);
    fake_answer(&f, 0); /* it was made meanwhile, and its items do not expire */
    assert_int_equal(fake_held(&f, 0).op, REQUEST_TABLE_UPDATE);
    t->ttl = TTL_ENABLED;
    t->ttl_attribute = slice_of(strdup("ttl"));
    f.hold = false;
    fake_answer_code(&f, 0, REPLY_TABLE_INVALID);
    fake_advance_ms(&f, 1000);
    expect_put(CONNECTION);
}

/* An answer shows names and values, and is JSON all the same. */
TEST(a_parameter_that_is_not_utf8_is_refused_by_its_number)
{
    expect_reply(send_request("GET", "limits?namespace=a&%ff=b", NULL), 400,
                 "The parameter number 2 is not UTF-8");
    expect_reply(send_request("GET", "limits?namespace=%ff", NULL), 400,
                 "The parameter number 1 is not UTF-8");
    expect_reply(send_request("GET", "limits?entity=%c3%a4%23", NULL), 400, "not '\xc3\xa4#'");
}

/* ---- keys of the table, which any client may write ---- */

TEST(a_key_names_a_bucket_only_if_a_request_could_name_it)
{
    static const char *const OTHERS[] = {"",
                                         "default/ENTITY#e",
                                         "default/BUCKET#e#r",
                                         "/BUCKET#e#r#0",
                                         "a name/BUCKET#e#r#0",
                                         "default/BUCKET##r#0",
                                         "default/BUCKET#e##0",
                                         "default/BUCKET#\xff#r#0",
                                         "default/BUCKET#e#\n#0"};
    char text[LIMITER_NAMESPACE_MAX + LIMITER_ENTITY_MAX + 64];
    struct bucket_name name;
    assert_true(bucket_name_of_key(slice_of("default/BUCKET#e/f#r#0"), &name));
    assert_true(slice_is(name.name_space, "default"));
    assert_true(slice_is(name.entity, "e/f"));
    assert_true(slice_is(name.resource, "r"));
    for (size_t i = 0; i < COUNT_OF(OTHERS); i++)
        assert_false(bucket_name_of_key(slice_of(OTHERS[i]), &name));
    for (int longer = 0; longer <= 1; longer++) {
        snprintf(text, sizeof text, "%0*d/BUCKET#e#r#0", LIMITER_NAMESPACE_MAX + longer, 7);
        assert_true(bucket_name_of_key(slice_of(text), &name) == (longer == 0));
        snprintf(text, sizeof text, "default/BUCKET#%0*d#r#0", LIMITER_ENTITY_MAX + longer, 7);
        assert_true(bucket_name_of_key(slice_of(text), &name) == (longer == 0));
    }
}

/* The item of shard 0 of entity e divides into `shards`, as if the bucket had grown for long. */
static void divide_bucket(uint32_t shards)
{
    for (size_t i = 0; i < f.item_count; i++) {
        struct limiter_bucket b;
        struct attr key;
        struct slice item = buffer_slice(&f.items[i].item);
        while (limiter_bucket_decode(item, &b) && item_find(item, slice_of("PK"), &key) &&
               slice_is(key.body, "default/BUCKET#e#r#0") && b.shard_map.count < shards) {
            const struct limiter_command grow = {
                .verb = LIMITER_GROW, .sender_map = b.shard_map, .limits = b.limits, .mwcu = 1000};
            struct buffer next = {0};
            assert_int_equal(limiter_apply(&grow, item, true, b.write_balance.at_ms + 1000, &next),
                             LIMITER_DONE);
            buffer_deinit(&f.items[i].item);
            f.items[i].item = next;
            item = buffer_slice(&f.items[i].item);
        }
    }
}

/* A charge of 96 shards has no part left for the parent, whose limit must hold all the same. */
TEST(no_request_is_let_in_without_a_charge_of_the_parent)
{
    expect_reply(send_request("PUT", "limits", LIMIT("128")), 200, "");
    expect_take(200, "\"allowed\":true");
    divide_bucket(128);
    fake_advance_ms(&f, 120000);
    expect_reply(send_request("GET", "status?entity=e&resource=r", NULL), 200, "\"shards\":128");
    expect_reply(send_request("PUT", "limits",
                              "{\"entity\":\"p\",\"resource\":\"r\",\"limits\":[{\"name\":\"rpm\","
                              "\"capacity\":1000,\"refill_period_ms\":60000}]}"),
                 200, "");
    expect_reply(send_request("PUT", "entities", "{\"entity\":\"e\",\"parent\":\"p\"}"), 200, "");
    f.hold = true;
    fake_send_text(&f, CONNECTION,
                   "POST /limiter/v1/acquire HTTP/1.1\r\nHost: h\r\nContent-Type: "
                   "application/json\r\nContent-Length: 50\r\n\r\n"
                   "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":96}}");
    while (f.held_count > 0 && fake_held(&f, 0).op != REQUEST_TRANSACT)
        fake_answer(&f, 0);
    assert_int_equal(f.held_count, 0);
    expect_reply(fake_take_answer(&f, CONNECTION), 429, "\"entity\":\"p\"");
}
