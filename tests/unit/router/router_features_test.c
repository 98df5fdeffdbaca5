/* Time to live while it changes, and iterators of streams that expire. */
#include "tests/check.h"

#include "router/operations/shard_iterator.h"
#include "tests/support/expect.h"

static struct fake_cluster f;

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 2);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

#define USERS    "{\"TableName\":\"users\"}"
#define USERS_ON "{\"TableName\":\"users\","
#define ARN      "arn:aws:dynamodb:us-east-1:000000000000:table/"
#define TTL(enabled, name) \
    "\"TimeToLiveSpecification\":{\"Enabled\":" enabled ",\"AttributeName\":\"" name "\"}}"
#define TTL_DESCRIBED(members) "{\"TimeToLiveDescription\":{" members "}}"

TEST(time_to_live_that_changes_is_reported)
{
    static const char *const NAMES[] = {[TTL_ENABLING] = "ENABLING", [TTL_DISABLING] = "DISABLING"};
    static const enum table_ttl STATES[] = {TTL_ENABLING, TTL_DISABLING};
    char answer[128];
    f.hold_changes = true;
    expect_call(&f, "UpdateTimeToLive", USERS_ON TTL("true", "a"), 200,
                "{\"TimeToLiveSpecification\":{\"AttributeName\":\"a\",\"Enabled\":true}}");
    for (int i = 0; i < 2; i++) {
        f.tables[0].ttl = STATES[i];
        snprintf(answer, sizeof answer,
                 TTL_DESCRIBED("\"AttributeName\":\"a\",\"TimeToLiveStatus\":\"%s\""),
                 NAMES[STATES[i]]);
        expect_call(&f, "DescribeTimeToLive", USERS, 200, answer);
    }
}

/* What GetRecords answers to an iterator of that time, of a stream that there is not. */
static void expect_records(int64_t made_ms, bool damaged, const char *type, const char *message)
{
    struct buffer b = {0};
    const struct shard_iterator i = {.arn = slice_of(ARN "users/stream/2026-11-26T00:00:00.000"),
                                     .partition = 1,
                                     .epoch = 1,
                                     .made_ms = made_ms};
    buffer_append_text(&b, "{\"ShardIterator\":\"");
    shard_iterator_append(&b, &i);
    if (damaged)
        b.data[b.size - 2] ^= 1;
    buffer_append_text(&b, "\"}");
    buffer_append_u8(&b, 0);
    expect_fault(&f, "DynamoDBStreams_20120810.GetRecords", (const char *)b.data, type, message);
    buffer_deinit(&b);
}

TEST(an_iterator_of_a_shard_expires_after_15_minutes)
{
    const int64_t now_ms = INT64_C(1700000000123);
    expect_records(now_ms - SHARD_ITERATOR_MS - 1, false, "ExpiredIteratorException",
                   "Iterator expired. The iterator was created more than 15 minutes ago.");
    expect_records(now_ms - SHARD_ITERATOR_MS, false, "ResourceNotFoundException",
                   "Requested resource not found: Stream: " ARN
                   "users/stream/2026-11-26T00:00:00.000 not found");
    expect_records(now_ms, true, "ValidationException", "Invalid ShardIterator");
}
