/* router_limiter_test.c - the rate limiter at the router: requests that wait, and the table of its
 * items. What it answers: tests/cases/router/limiter.case. */
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

static struct fake_answer send_request(const char *method, const char *path, const char *body)
{
    struct buffer b = {0};
    if (!f.clients[CONNECTION].open)
        fake_open(&f, CONNECTION);
    buffer_append_format(&b, "%s /limiter/v1/%s HTTP/1.1\r\nHost: localhost\r\n", method, path);
    if (body != NULL)
        buffer_append_format(&b, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                             strlen(body), body);
    else
        buffer_append_text(&b, "\r\n");
    fake_send(&f, CONNECTION, buffer_slice(&b));
    buffer_deinit(&b);
    return fake_take_answer(&f, CONNECTION);
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

/* The tokens that all shards have. */
static void expect_available(const char *tokens)
{
    char text[60];
    snprintf(text, sizeof text, "\"available\":%s}", tokens);
    expect_reply(send_request("GET", "available?entity=e&resource=r", NULL), 200, text);
}

/* Asks the shard 0 for twice as many shards, as a router does whose shards are written too often.
 * */
static void grow_bucket(void)
{
    const struct fake_answer a = send_request("GET", "status?entity=e&resource=r", NULL);
    assert_int_equal(a.status, 200);
    for (int i = 0; i < 1100; i++) { /* the hidden limit */
        send_request("POST", "acquire",
                     "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":0.001}}");
    }
}

/* ---- requests that wait ---- */

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
    memset(f.requests, 0, sizeof f.requests);
    send_rollback(lease);
    fake_advance_ms(&f, 2800);
    assert_int_equal(f.clients[CONNECTION].received.size, 0);
    assert_in_range(f.requests[REQUEST_UPDATE], 20, 200); /* rarer and rarer */
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

/* Another request has the router find the table while the first one learns that it is ready. */
TEST_WITH(a_definition_is_stored_although_the_table_was_found_meanwhile, start_without_table, stop)
{
    f.hold = true;
    send_put(CONNECTION);
    fake_answer(&f, 0); /* there is no table */
    struct table *t = fake_table(&f, "weir-limiter", "PK", ATTR_STRING, "SK", ATTR_STRING, 1);
    t->ttl = TTL_ENABLED;
    t->ttl_attribute = slice_of(strdup("ttl"));
    send_take(CONNECTION + 1);
    while (f.held_count > 1)
        fake_answer(&f, 1);
    f.hold = false;
    while (f.held_count > 0)
        fake_answer(&f, 0);
    fake_advance_ms(&f, 1000);
    expect_put(CONNECTION);
    expect_take(200, "\"allowed\":true");
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

/* What the transaction before it has left may be gone: other routers charge the same shards. */
TEST(a_charge_of_several_shards_reads_them_first_each_time)
{
    static const char LARGE[] = "{\"entity\":\"e\",\"resource\":\"r\",\"consume\":{\"rpm\":40}}";
    expect_reply(send_request("PUT", "limits", LIMIT("128")), 200, "");
    expect_take(200, "\"allowed\":true");
    divide_bucket(4);
    fake_advance_ms(&f, 120000);
    expect_reply(send_request("GET", "status?entity=e&resource=r", NULL), 200, "\"shards\":4");
    expect_reply(send_request("POST", "acquire", LARGE), 200, "\"allowed\":true");
    const int64_t reads = f.requests[REQUEST_GET];
    expect_reply(send_request("POST", "acquire", LARGE), 200, "\"remaining\":48.0");
    assert_int_equal(f.requests[REQUEST_GET], reads + 4);
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