#include <xxhash.h>

#include "tests/check.h"

#include "base/settings/requests.h"
#include "tests/support/expect.h"

static struct fake_cluster f;

static const char GET[] = "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}";
static const char PUT[] = "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"}}}";

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 4);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

static bool body_contains(struct fake_answer a, const char *text)
{
    return memmem(a.body.data, a.body.size, text, strlen(text)) != NULL;
}

TEST(a_table_is_fetched_once)
{
    for (int i = 0; i < 5; i++)
        expect_call(&f, "GetItem", GET, 200, "{}");
    assert_int_equal(f.requests[REQUEST_TABLE_GET], 1);
}

TEST(calls_that_need_a_table_at_once_share_one_lookup)
{
    f.hold = true;
    for (uint64_t i = 1; i <= 5; i++)
        fake_send_call(&f, i, "GetItem", GET);
    assert_int_equal(f.held_count, 1);
    fake_answer(&f, 0);
    assert_int_equal(f.held_count, 5);
    fake_answer_all(&f);
    for (uint64_t i = 1; i <= 5; i++)
        expect_answer(fake_take_answer(&f, i), 200, "{}");
    assert_int_equal(f.requests[REQUEST_TABLE_GET], 1);
}

/* The table is made between the two requests; the first one's look-up began before. */
TEST(a_lookup_that_began_earlier_reports_no_missing_table)
{
    f.hold = true;
    fake_send_call(&f, 1, "GetItem", GET);
    fake_send_call(&f, 2, "GetItem", GET);
    assert_int_equal(f.held_count, 1);
    fake_answer_code(&f, 0, REPLY_TABLE_NOT_FOUND);
    assert_int_equal(fake_take_answer(&f, 1).status, 400);
    fake_answer_all(&f);
    expect_answer(fake_take_answer(&f, 2), 200, "{}");
    assert_int_equal(f.requests[REQUEST_TABLE_GET], 2);
}

TEST(a_client_may_go_while_its_table_is_fetched)
{
    f.hold = true;
    fake_send_call(&f, 1, "GetItem", GET);
    fake_send_call(&f, 2, "GetItem", GET);
    router_close(f.router, f.now, 1);
    f.clients[1].open = false;
    fake_answer_all(&f);
    expect_answer(fake_take_answer(&f, 2), 200, "{}");
}

TEST(a_table_that_is_being_created_is_not_found_and_not_kept)
{
    f.tables[0].status = TABLE_CREATING;
    expect_fault(&f, "GetItem", GET, "ResourceNotFoundException", "Requested resource not found");
    f.tables[0].status = TABLE_ACTIVE;
    expect_call(&f, "GetItem", GET, 200, "{}");
}

TEST(an_old_map_is_replaced_and_the_request_sent_again)
{
    expect_call(&f, "PutItem", PUT, 200, "{}");
    fake_repartition(&f, &f.tables[0], 3);
    expect_call(&f, "GetItem", GET, 200, "{\"Item\":{\"id\":{\"S\":\"a\"}}}");
    assert_int_equal(f.requests[REQUEST_TABLE_GET], 2);
    expect_call(&f, "GetItem", GET, 200, "{\"Item\":{\"id\":{\"S\":\"a\"}}}");
    assert_int_equal(f.requests[REQUEST_TABLE_GET], 2);
}

TEST(a_scan_survives_a_split_between_its_partitions)
{
    char request[128];
    for (int i = 0; i < 12; i++) {
        snprintf(request, sizeof request,
                 "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"%d\"}}}", i);
        expect_call(&f, "PutItem", request, 200, "{}");
    }
    f.hold = true;
    fake_send_call(&f, 1, "Scan", "{\"TableName\":\"users\",\"Select\":\"COUNT\"}");
    fake_answer(&f, 0);
    fake_answer(&f, 0);
    fake_repartition(&f, &f.tables[0], 7);
    fake_answer_all(&f);
    expect_answer(fake_take_answer(&f, 1), 200, "{\"Count\":12,\"ScannedCount\":12}");
}

TEST(a_map_that_stays_wrong_is_fetched_with_pauses_until_the_deadline)
{
    f.fail_code = REPLY_WRONG_PARTITION;
    f.fail_count = 1000;
    fake_send_call(&f, 1, "GetItem", GET);
    fake_advance_ms(&f, config_requests(&f.config)->request_deadline_ms - 1);
    assert_int_equal(fake_take_answer(&f, 1).status, 0);
    assert_true(f.requests[REQUEST_GET] > 5);
    assert_true(f.requests[REQUEST_GET] < 60);
    fake_advance_ms(&f, 1);
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 503);
    assert_true(body_contains(a, " (nodes "));
    assert_true(body_contains(a, ") could serve the request. Nothing was done"));
    f.fail_count = 0;
    expect_call(&f, "GetItem", GET, 200, "{}");
}

/* Every partition has a replica on nodes 1, 2 and 3. */
static void replicate(void)
{
    for (uint32_t i = 0; i < f.tables[0].partition_count; i++) {
        struct partition_info *p = &f.tables[0].partitions[i];
        p->member_count = 3;
        for (uint32_t node = 1; node <= 3; node++)
            p->members[node - 1] = raft_member_id(node, 1, 0);
    }
}

TEST(the_nodes_that_do_not_answer_are_named)
{
    replicate();
    f.down = 1U << 2 | 1U << 3;
    f.fail_code = REPLY_NOT_LEADER; /* node 1 knows no leader */
    f.fail_count = 1000;
    fake_send_call(&f, 1, "PutItem", PUT);
    fake_advance_ms(&f, config_requests(&f.config)->request_deadline_ms);
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 503);
    assert_true(body_contains(a,
                              "(nodes 1, 2, 3) could serve the request: nodes 2, 3 do not answer. "
                              "Nothing was written"));
    f.down = 1U << 1 | 1U << 3;
    f.fail_count = 0;
    fake_send_call(&f, 1, "PutItem", PUT);
    fake_advance_ms(&f, 1000);
    expect_answer(fake_take_answer(&f, 1), 200, "{}");
    f.down |= 1U << 2;
    fake_send_call(&f, 1, "GetItem", GET);
    fake_advance_ms(&f, config_requests(&f.config)->request_deadline_ms);
    a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 503);
    assert_true(
        body_contains(a, "could serve the request: nodes 1, 2, 3 do not answer. Nothing was done"));
}

/* No pause, whatever is asked: the clock stands still here. */
TEST(a_partition_that_was_split_sends_for_the_new_map_at_once)
{
    expect_call(&f, "GetItem", GET, 200, "{}");
    int64_t lookups = f.requests[REQUEST_TABLE_GET];
    fake_repartition(&f, &f.tables[0], 7);
    f.fail_code = REPLY_STALE_MAP;
    f.fail_count = 1;
    expect_call(&f, "PutItem", PUT, 200, "{}");
    assert_int_equal(f.requests[REQUEST_TABLE_GET], lookups + 1);
    fake_repartition(&f, &f.tables[0], 3);
    f.fail_count = 1;
    fake_send_call(&f, 1, "Scan", "{\"TableName\":\"users\",\"Select\":\"COUNT\"}");
    assert_int_equal(fake_take_answer(&f, 1).status, 200);
}

TEST(a_map_that_becomes_right_within_the_deadline_serves_the_request)
{
    f.fail_code = REPLY_WRONG_PARTITION;
    f.fail_count = 6;
    fake_send_call(&f, 1, "PutItem", PUT);
    fake_advance_ms(&f, 1000);
    expect_answer(fake_take_answer(&f, 1), 200, "{}");
}

TEST(a_deleted_table_is_not_found_once_its_nodes_refuse)
{
    expect_call(&f, "GetItem", GET, 200, "{}");
    f.table_count = 0;
    f.fail_code = REPLY_WRONG_PARTITION;
    f.fail_count = 1;
    expect_fault(&f, "GetItem", GET, "ResourceNotFoundException", "Requested resource not found");
    f.table_count = 1;
}

TEST(a_request_to_a_catalog_that_moved_is_retried)
{
    f.hold = true;
    fake_send_call(&f, 1, "ListTables", "{}");
    fake_answer_code(&f, 0, REPLY_NOT_LEADER);
    assert_int_equal(f.held_count, 0);
    fake_advance_ms(&f, 10);
    assert_int_equal(f.held_count, 1);
    assert_int_equal(f.held[0].node, 2);
    fake_answer(&f, 0); /* it names the leader */
    assert_int_equal(f.held_count, 1);
    assert_int_equal(f.held[0].node, 1);
    fake_answer(&f, 0);
    expect_answer(fake_take_answer(&f, 1), 200, "{\"TableNames\":[\"users\"]}");
}

/* The machine stood still: the answer was there before the router's clock was looked at. */
TEST(an_answer_that_is_read_after_the_deadline_is_not_taken)
{
    f.hold = true;
    fake_send_call(&f, 1, "PutItem", PUT);
    fake_answer(&f, 0); /* the table */
    f.now = instant_add_ms(f.now, config_requests(&f.config)->request_deadline_ms);
    fake_answer(&f, 0);
    assert_int_equal(fake_take_answer(&f, 1).status, 500);
    assert_int_equal(f.requests[REQUEST_PUT], 1);
}

TEST(a_write_without_an_answer_has_an_unknown_outcome_and_is_not_repeated)
{
    f.hold = true;
    fake_send_call(&f, 1, "PutItem", PUT);
    fake_answer(&f, 0); /* the table */
    char expected[32];
    snprintf(expected, sizeof expected, "sent to node %u)", f.held[0].node);
    fake_advance_ms(&f, config_requests(&f.config)->request_deadline_ms);
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 500);
    assert_true(body_contains(a, "It is not known whether the write was done (partition "));
    assert_true(body_contains(a, expected));
    assert_int_equal(f.requests[REQUEST_PUT], 1);
    fake_answer_all(&f); /* too late for anybody */
    assert_int_equal(f.clients[1].received.size, 0);
    fake_send_call(&f, 2, "PutItem", PUT);
    router_node_lost(f.router, f.now, f.held[0].node);
    fake_pump(&f);
    assert_int_equal(fake_take_answer(&f, 2).status, 500);
    assert_int_equal(f.requests[REQUEST_PUT], 2);
}

TEST(a_read_whose_node_went_away_is_tried_once_more)
{
    expect_call(&f, "PutItem", PUT, 200, "{}");
    f.hold = true;
    fake_send_call(&f, 1, "GetItem", GET);
    router_node_lost(f.router, f.now, f.held[0].node);
    fake_pump(&f);
    assert_int_equal(fake_take_answer(&f, 1).status, 0);
    fake_advance_ms(&f, 50);
    assert_int_equal(f.held_count, 2); /* the old one and a lookup of the table */
    fake_answer(&f, 0);
    fake_answer(&f, 0);
    fake_advance_ms(&f, 500);
    fake_answer_all(&f);
    fake_advance_ms(&f, 500);
    fake_answer_all(&f);
    expect_answer(fake_take_answer(&f, 1), 200, "{\"Item\":{\"id\":{\"S\":\"a\"}}}");
    assert_int_equal(f.requests[REQUEST_GET], 2);
}

TEST(throttles_carry_their_reason_and_the_arn)
{
    static const struct {
        enum admit_reason reason;
        enum table_billing billing;
        const char *type;
        const char *member;
        const char *read;
        const char *write;
    } CASES[] = {
        {ADMIT_REFUSED_KEY_RANGE, BILLING_PROVISIONED, "#ProvisionedThroughputExceededException",
         "\"ThrottlingReasons\"", "TableReadKeyRangeThroughputExceeded",
         "TableWriteKeyRangeThroughputExceeded"},
        {ADMIT_REFUSED_ALLOCATION, BILLING_PROVISIONED, "#ProvisionedThroughputExceededException",
         "\"ThrottlingReasons\"", "TableReadProvisionedThroughputExceeded",
         "TableWriteProvisionedThroughputExceeded"},
        {ADMIT_REFUSED_NODE, BILLING_PROVISIONED, "#ProvisionedThroughputExceededException",
         "\"ThrottlingReasons\"", "TableReadProvisionedThroughputExceeded",
         "TableWriteProvisionedThroughputExceeded"},
        {ADMIT_REFUSED_KEY_RANGE, BILLING_ON_DEMAND, "#ThrottlingException",
         "\"throttlingReasons\"", "TableReadKeyRangeThroughputExceeded",
         "TableWriteKeyRangeThroughputExceeded"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        stop(NULL);
        start(NULL);
        f.tables[0].billing = CASES[i].billing;
        f.fail_code = REPLY_THROTTLED;
        f.fail_reason = CASES[i].reason;
        f.fail_count = 2;
        char reason[256];
        struct fake_answer a = fake_call(&f, "GetItem", GET);
        assert_int_equal(a.status, 400);
        assert_int_equal(fake_header(a, "x-amzn-RequestId").size, 52);
        assert_true(body_contains(a, CASES[i].type));
        snprintf(reason, sizeof reason,
                 "%s:[{\"reason\":\"%s\",\"resource\":"
                 "\"arn:aws:dynamodb:us-east-1:000000000000:table/users\"}]",
                 CASES[i].member, CASES[i].read);
        assert_true(body_contains(a, reason));
        a = fake_call(&f, "PutItem", PUT);
        assert_true(body_contains(a, CASES[i].write));
    }
}

TEST(a_setting_makes_key_ranges_of_provisioned_tables_throttling_exceptions)
{
    config_edit_requests(&f.config)->key_range_as_throttling_exception = 1;
    f.fail_code = REPLY_THROTTLED;
    f.fail_reason = ADMIT_REFUSED_KEY_RANGE;
    f.fail_count = 1;
    struct fake_answer a = fake_call(&f, "PutItem", PUT);
    assert_true(body_contains(a, "#ThrottlingException"));
    assert_true(body_contains(a, "\"throttlingReasons\":[{\"reason\":"
                                 "\"TableWriteKeyRangeThroughputExceeded\""));
    f.fail_reason = ADMIT_REFUSED_ALLOCATION;
    f.fail_count = 1;
    assert_true(
        body_contains(fake_call(&f, "PutItem", PUT), "#ProvisionedThroughputExceededException"));
}

static bool header_is(struct fake_answer a, const char *name, const char *value)
{
    return slice_is(fake_header(a, name), value);
}

TEST(every_client_can_see_what_throttled_and_when_to_come_again)
{
    f.fail_code = REPLY_THROTTLED;
    f.fail_reason = ADMIT_REFUSED_KEY_RANGE;
    f.fail_wait_us = 11001;
    f.fail_count = 1;
    struct fake_answer a = fake_call(&f, "PutItem", PUT);
    char partition[16];
    struct slice named = fake_header(a, "x-weir-partition");
    assert_in_range(named.size, 1, 8);
    snprintf(partition, sizeof partition, "%.*s", (int)named.size, (const char *)named.data);
    assert_true(header_is(a, "x-weir-throttled-by", "key-range"));
    assert_true(header_is(a, "x-weir-retry-after-ms", "12"));
    assert_true(header_is(a, "x-amz-retry-after", "12"));
    char text[256];
    snprintf(text, sizeof text,
             "Spread the requests over more partition key values. (key-range: partition %s is at "
             "its maximum of 1000 write units per second; try again in 12 ms)",
             partition);
    assert_true(body_contains(a, text));
    assert_false(body_contains(a, "Consider increasing"));
    f.fail_reason = ADMIT_REFUSED_ALLOCATION;
    f.fail_wait_us = 0;
    f.fail_count = 1;
    a = fake_call(&f, "GetItem", GET);
    assert_true(header_is(a, "x-weir-throttled-by", "allocation"));
    assert_int_equal(fake_header(a, "x-amz-retry-after").size, 0);
    assert_true(body_contains(a, "UpdateTable API. (allocation: partition "));
    a = fake_call(&f, "GetItem", GET); /* the call's memory may be the last one's */
    assert_int_equal(a.status, 200);
    assert_int_equal(fake_header(a, "x-weir-throttled-by").size, 0);
}

TEST(a_request_that_never_passes_gets_no_retry_time)
{
    f.fail_code = REPLY_THROTTLED;
    f.fail_reason = ADMIT_REFUSED_ALLOCATION;
    f.fail_wait_us = INT64_MAX / 1000;
    f.fail_count = 1;
    struct fake_answer a = fake_call(&f, "PutItem", PUT);
    assert_true(header_is(a, "x-weir-throttled-by", "allocation"));
    assert_int_equal(fake_header(a, "x-weir-retry-after-ms").size, 0);
    assert_int_equal(fake_header(a, "x-amz-retry-after").size, 0);
    assert_false(body_contains(a, "try again"));
    f.fail_wait_us = 0;
}

TEST(refusals_of_nodes_have_their_status)
{
    static const struct {
        enum reply_code code;
        int status;
        const char *text;
    } CASES[] = {
        {REPLY_OVERLOADED, 503, "ServiceUnavailable"},
        {REPLY_FULL, 503, "storage is full"},
        {REPLY_STOPPED, 500, "disk has failed"},
        {REPLY_CORRUPT, 500, "damaged"},
        {REPLY_UNKNOWN, 500, "InternalServerError"},
        {REPLY_MALFORMED, 500, "InternalServerError"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        f.fail_code = CASES[i].code;
        f.fail_count = 1;
        struct fake_answer a = fake_call(&f, "PutItem", PUT);
        assert_int_equal(a.status, CASES[i].status);
        assert_true(body_contains(a, CASES[i].text));
    }
}

TEST(a_page_that_was_throttled_midway_ends_there)
{
    char request[128];
    for (int i = 0; i < 12; i++) {
        snprintf(request, sizeof request,
                 "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"%d\"}}}", i);
        expect_call(&f, "PutItem", request, 200, "{}");
    }
    f.fail_code = REPLY_THROTTLED;
    f.fail_reason = ADMIT_REFUSED_ALLOCATION;
    f.fail_count = 1;
    f.fail_after = 2;
    struct fake_answer a = fake_call(&f, "Scan", "{\"TableName\":\"users\",\"Select\":\"COUNT\"}");
    assert_int_equal(a.status, 200);
    assert_true(body_contains(a, "LastEvaluatedKey"));
    assert_true(header_is(a, "x-weir-throttled-by", "allocation"));
    assert_int_equal(fake_header(a, "x-amz-retry-after").size, 0);
    f.fail_count = 1;
    f.fail_after = 0;
    a = fake_call(&f, "Scan", "{\"TableName\":\"users\",\"Select\":\"COUNT\"}");
    assert_int_equal(a.status, 400);
}

TEST(replies_nobody_waits_for_are_ignored)
{
    struct reply r = {.id = 0};
    router_reply(f.router, f.now, 1, &r);
    r.id = UINT64_MAX;
    router_reply(f.router, f.now, 1, &r);
    f.hold = true;
    fake_send_call(&f, 1, "ListTables", "{}");
    r.id = UINT64_C(1) << 32;
    router_reply(f.router, f.now, 2, &r); /* from another node than was asked */
    fake_pump(&f);
    assert_int_equal(f.clients[1].received.size, 0);
    fake_answer_all(&f);
    expect_answer(fake_take_answer(&f, 1), 200, "{\"TableNames\":[\"users\"]}");
}

/* Nobody may read a map where a node has put a page of names. */
TEST(an_answer_to_another_kind_of_request_is_an_error)
{
    f.hold = true;
    fake_send_call(&f, 1, "ListTables", "{}");
    fake_answer_with(&f, 0,
                     &(struct reply){.kind = ANSWER_TABLE, .table.bytes = slice_of("a map")});
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 500);
    assert_true(body_contains(a, "the node's answer is to another kind of request"));
}

/* An item whose checksum holds, and whose first name is longer than the item. */
static void append_damaged_item(struct buffer *out)
{
    struct item_writer w;
    const size_t at = out->size;
    item_begin(&w, out);
    item_name(&w, slice_of("id"));
    item_string(&w, slice_of("a"));
    item_end(&w);
    out->data[at + 16] = 0xff;
    uint64_t checksum = XXH3_64bits(out->data + at + 8, out->size - at - 8);
    memcpy(out->data + at, &checksum, sizeof checksum);
    assert_true(item_checksum_holds(slice_make(out->data + at, out->size - at)));
}

static void expect_damage(const char *operation, const char *body, const struct reply *r)
{
    f.hold = true;
    fake_send_call(&f, 1, operation, body);
    assert_int_equal(f.held_count, 1);
    fake_answer_with(&f, 0, r);
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 500);
    assert_true(body_contains(a, "the node's answer has a damaged item"));
    f.hold = false;
}

TEST(a_damaged_item_in_an_answer_is_an_error)
{
    struct buffer item = {0}, page = {0};
    static const char query[] = "{\"TableName\":\"users\",\"KeyConditionExpression\":\"id=:a\","
                                "\"ExpressionAttributeValues\":{\":a\":{\"S\":\"a\"}}}";
    static const char put[] = "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"}},"
                              "\"ReturnValues\":\"ALL_OLD\"}";
    expect_call(&f, "GetItem", GET, 200, "{}");
    append_damaged_item(&item);
    buffer_append_u32(&page, (uint32_t)item.size);
    buffer_append_slice(&page, buffer_slice(&item));
    struct reply one = {.kind = ANSWER_ITEM, .item = {.bytes = buffer_slice(&item), .found = true}};
    expect_damage("GetItem", GET, &one);
    expect_damage("PutItem", put, &one);
    one.item.bytes = slice_make(item.data, 3);
    expect_damage("GetItem", GET, &one);
    struct reply many = {.kind = ANSWER_RANGE,
                         .range = {.items = buffer_slice(&page), .count = 1, .scanned = 1}};
    expect_damage("Query", query, &many);
    many.range.items = slice_make(page.data, page.size - 1);
    expect_damage("Query", query, &many);
    buffer_deinit(&item);
    buffer_deinit(&page);
}
