/* router_explain_test.c - requests that are refused or slow leave a record that explains them. */
#include "tests/check.h"

#include "base/settings/choices.h"
#include "base/settings/explain.h"
#include "router/core/request_id.h"
#include "router/core/router_internal.h"
#include "router/records/records.h"
#include "tests/support/expect.h"

static struct fake_cluster f;

static const char PUT[] = "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"some\"}}}";
static const char TRANSACT[] = "{\"TransactItems\":[{\"Put\":{\"TableName\":\"users\","
                               "\"Item\":{\"id\":{\"S\":\"some\"}}}}]}";

static void start_with(int64_t bytes, enum show_keys show)
{
    fake_init(&f);
    config_edit_explain(&f.config)->explain_bytes = bytes;
    config_edit_choices(&f.config)->show_keys = show;
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 1);
    fake_start(&f);
    fake_call(&f, "PutItem", PUT);
}

static int start(UNUSED void **state)
{
    start_with(1024 * 1024, SHOW_KEYS_FULL);
    return 0;
}

static int stop(UNUSED void **state)
{
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

static void refuse_next(enum reply_code code, enum admit_reason reason)
{
    f.fail_code = code;
    f.fail_reason = reason;
    f.fail_wait_us = 3000;
    f.fail_count = 1;
}

static struct fake_answer get(const char *path)
{
    char text[300];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
    fake_send_text(&f, 1, text);
    return fake_take_answer(&f, 1);
}

static bool has(struct slice text, const char *part)
{
    return memmem(text.data, text.size, part, strlen(part)) != NULL;
}

/* The page that the answer names, as text or as JSON. */
static struct fake_answer follow(struct fake_answer refused, const char *as)
{
    char path[200];
    const struct slice page = fake_header(refused, "x-weir-explain");
    snprintf(path, sizeof path, "%.*s?as=%s", TEXT_OF(page), as);
    return get(path);
}

TEST(each_reason_is_explained_with_the_reason_of_the_answer)
{
    for (enum admit_reason reason = ADMIT_REFUSED_KEY_RANGE; reason <= ADMIT_REFUSED_MEMBER;
         reason++) {
        char expected[100];
        refuse_next(REPLY_THROTTLED, reason);
        const struct fake_answer refused = fake_call(&f, "PutItem", PUT);
        assert_int_equal(refused.status, 400);
        const struct slice by = fake_header(refused, "x-weir-throttled-by");
        snprintf(expected, sizeof expected, "\"outcome\":\"refused\",\"reason\":\"%.*s\"",
                 TEXT_OF(by));
        const struct fake_answer json = follow(refused, "json");
        assert_int_equal(json.status, 200);
        assert_true(has(json.body, expected));
        assert_true(has(json.body, "\"verdict\":\"REFUSED\""));
        assert_true(has(json.body, "\"wait_us\":3000"));
        assert_true(has(json.body, "\"key\":\"id=\\\"some\\\"\""));
    }
}

TEST(the_text_has_what_refused_when_it_would_pass_and_what_helps)
{
    refuse_next(REPLY_THROTTLED, ADMIT_REFUSED_KEY_RANGE);
    const struct fake_answer text = follow(fake_call(&f, "PutItem", PUT), "text");
    assert_true(
        slice_starts_with(text.body, slice_of("REFUSED    key-range, partition 1 of users")));
    assert_true(has(text.body, "PutItem on users, key id=\"some\""));
    assert_true(has(text.body, "would pass at"));
    assert_true(has(text.body, "  now  retry after 3 ms"));
    assert_true(has(text.body, "  no   more WCU do not help"));
    size_t column = 0;
    for (size_t i = 0; i < text.body.size; i++) {
        column = text.body.data[i] == '\n' ? 0 : column + 1;
        assert_true(column <= 80);
    }
}

TEST(an_overloaded_node_and_a_locked_item_are_explained)
{
    refuse_next(REPLY_OVERLOADED, ADMIT_REFUSED_OVERLOAD);
    struct fake_answer refused = fake_call(&f, "PutItem", PUT);
    assert_int_equal(refused.status, 503);
    assert_true(has(follow(refused, "json").body, "\"outcome\":\"overloaded\""));
    refuse_next(REPLY_LOCKED, ADMIT_OK);
    refused = fake_call(&f, "TransactWriteItems", TRANSACT);
    assert_int_equal(refused.status, 400);
    assert_true(has(follow(refused, "json").body, "\"reason\":\"conflict\""));
}

TEST(a_transaction_that_a_condition_has_cancelled_leaves_no_record)
{
    const uint64_t before = records_count(f.router->records).full;
    refuse_next(REPLY_CONDITION_FAILED, ADMIT_OK);
    const struct fake_answer cancelled = fake_call(&f, "TransactWriteItems", TRANSACT);
    assert_int_equal(cancelled.status, 400);
    assert_int_equal(fake_header(cancelled, "x-weir-explain").size, 0);
    assert_int_equal(records_count(f.router->records).full, before);
}

TEST(a_part_of_a_batch_that_was_refused_is_explained_although_the_batch_succeeds)
{
    refuse_next(REPLY_THROTTLED, ADMIT_REFUSED_ALLOCATION);
    const struct fake_answer done = fake_call(
        &f, "BatchWriteItem",
        "{\"RequestItems\":{\"users\":[{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"a\"}}}},"
        "{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"b\"}}}}]}}");
    assert_int_equal(done.status, 200);
    const struct fake_answer json = follow(done, "json");
    assert_true(has(json.body, "\"reason\":\"allocation\""));
    assert_true(has(json.body, "\"parts\":2,\"parts_refused\":1"));
}

TEST(a_slow_request_is_recorded_and_a_quick_one_is_not)
{
    const uint64_t before = records_count(f.router->records).full;
    fake_call(&f, "PutItem", PUT);
    assert_int_equal(records_count(f.router->records).full, before);
    f.hold = true;
    fake_send_call(&f, 1, "PutItem", PUT);
    fake_advance_ms(&f, 150);
    fake_answer_all(&f);
    fake_pump(&f);
    assert_int_equal(fake_take_answer(&f, 1).status, 200);
    assert_int_equal(records_count(f.router->records).full, before + 1);
    f.hold = false;
    assert_true(has(get("/weir/explain?slow=1").body, "\"decided\":150000"));
}

/* Its last steps cost nothing, and have no item. */
TEST(a_slow_transaction_of_two_partitions_is_recorded)
{
    fake_table(&f, "parts", "id", ATTR_STRING, NULL, 0, 4);
    f.hold = true;
    fake_send_call(&f, 1, "TransactWriteItems",
                   "{\"TransactItems\":[{\"Put\":{\"TableName\":\"parts\","
                   "\"Item\":{\"id\":{\"S\":\"a\"}}}},{\"Put\":{\"TableName\":\"parts\","
                   "\"Item\":{\"id\":{\"S\":\"b\"}}}}]}");
    fake_advance_ms(&f, 150);
    for (int i = 0; i < 10; i++) {
        fake_answer_all(&f);
        fake_pump(&f);
    }
    assert_true(fake_take_answer(&f, 1).status != 0);
    f.hold = false;
    const struct fake_answer json = get("/weir/explain?slow=1");
    assert_true(has(json.body, "\"operation\":\"TransactWriteItems\""));
}

TEST(attempts_of_the_same_call_are_shown)
{
    static const char INVOCATION[] = "amz-sdk-invocation-id: 0a1b2c3d-4e5f-4a1b-8c9d-000000000001";
    struct buffer request = {0};
    for (int attempt = 1; attempt <= 2; attempt++) {
        char lines[200];
        buffer_clear(&request);
        snprintf(lines, sizeof lines, "%s\r\namz-sdk-request: attempt=%d; max=3\r\n", INVOCATION,
                 attempt);
        fake_request_text(&request, "PutItem", slice_of(PUT));
        const uint8_t *end = memchr(request.data, '\n', request.size);
        struct buffer with = {0};
        buffer_append(&with, request.data, (size_t)(end + 1 - request.data));
        buffer_append_text(&with, lines);
        buffer_append(&with, end + 1, request.size - (size_t)(end + 1 - request.data));
        refuse_next(REPLY_THROTTLED, ADMIT_REFUSED_KEY_RANGE);
        fake_send(&f, 1, buffer_slice(&with));
        buffer_deinit(&with);
        fake_advance_ms(&f, 40);
        const struct fake_answer json = follow(fake_take_answer(&f, 1), "json");
        assert_true(has(json.body, attempt == 1 ? "\"attempts\":[]" : "\"attempt\":1,\"outcome\""));
    }
    buffer_deinit(&request);
}

TEST(lists_are_filtered)
{
    refuse_next(REPLY_THROTTLED, ADMIT_REFUSED_KEY_RANGE);
    fake_call(&f, "PutItem", PUT);
    refuse_next(REPLY_THROTTLED, ADMIT_REFUSED_ALLOCATION);
    fake_call(&f, "PutItem", PUT);
    assert_true(has(get("/weir/explain?reason=key-range&as=text").body, "refused, key-range"));
    assert_false(has(get("/weir/explain?reason=key-range&as=text").body, "allocation"));
    assert_false(has(get("/weir/explain?last=1&as=text").body, "key-range"));
    assert_true(has(get("/weir/explain?table=others&as=text").body, "no such record"));
    assert_true(has(get("/weir/explain?key=ome&table=users").body, "\"table\":\"users\""));
    assert_int_equal(get("/weir/explain?last=0").status, 400);
    assert_int_equal(get("/weir/explain?last=1001").status, 400);
    assert_int_equal(get("/weir/explain?slow=2").status, 400);
    assert_int_equal(get("/weir/explain?since=x").status, 400);
    assert_int_equal(get("/weir/explain?since=9000000000000000000").status, 400);
    assert_int_equal(get("/weir/explain?as=html").status, 400);
}

TEST(an_id_without_a_record_has_its_own_error)
{
    struct prng prng = prng_seeded(4);
    char id[HTTP_REQUEST_ID_SIZE], path[200];
    struct request_id_parts parts = {.router = 1, .wall_ms = FAKE_WALL_MS};
    request_id_write(&prng, &parts, id);
    snprintf(path, sizeof path, "/weir/explain/%.52s", id);
    assert_true(has(get(path).body, "left no record"));
    parts.router = 2;
    request_id_write(&prng, &parts, id);
    snprintf(path, sizeof path, "/weir/explain/%.52s", id);
    assert_true(has(get(path).body, "of router 2"));
    parts = (struct request_id_parts){.router = 1, .wall_ms = FAKE_WALL_MS + 60 * 1000};
    request_id_write(&prng, &parts, id);
    snprintf(path, sizeof path, "/weir/explain/%.52s", id);
    assert_true(has(get(path).body, "has not come yet"));
    assert_int_equal(get("/weir/explain/abc").status, 400);
}

TEST(keys_are_shown_as_show_keys_sets)
{
    fake_deinit(&f);
    start_with(1024 * 1024, SHOW_KEYS_HASH);
    refuse_next(REPLY_THROTTLED, ADMIT_REFUSED_KEY_RANGE);
    struct fake_answer json = follow(fake_call(&f, "PutItem", PUT), "json");
    assert_true(has(json.body, "\"key\":\"hash "));
    assert_false(has(json.body, "some"));
    assert_true(has(get("/weir/explain").body, "\"key\":\"hash "));
    fake_deinit(&f);
    start_with(1024 * 1024, SHOW_KEYS_OWN);
    refuse_next(REPLY_THROTTLED, ADMIT_REFUSED_KEY_RANGE);
    json = follow(fake_call(&f, "PutItem", PUT), "json");
    assert_true(has(json.body, "some"));
    assert_false(has(get("/weir/explain").body, "some"));
}

TEST(a_router_without_records_has_an_error_for_it)
{
    fake_deinit(&f);
    start_with(0, SHOW_KEYS_FULL);
    refuse_next(REPLY_THROTTLED, ADMIT_REFUSED_KEY_RANGE);
    const struct fake_answer refused = fake_call(&f, "PutItem", PUT);
    assert_int_equal(fake_header(refused, "x-weir-explain").size, 0);
    assert_true(has(get("/weir/explain").body, "explain_bytes is 0"));
}
