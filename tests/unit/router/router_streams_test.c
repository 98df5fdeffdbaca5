/* router_streams_test.c - reads of a stream's shard: its leader alone says what is trimmed. */
#include "tests/check.h"

#include "engine/message/message.h"
#include "engine/message/stream_messages.h"
#include "tests/support/expect.h"

#define SHARD_ID "shardId-00000001000000000001-00000001"
#define STREAM                                                                \
    "\"StreamArn\":\"arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/" \
    "2023-11-14T22:13:20.001\""

enum {
    DAY_MS = 24 * 3600 * 1000
};
#define CREATED_MS INT64_C(1700000000001)

static struct fake_cluster f;
static struct table *table;
static struct buffer streams;

/* The table has a stream with one shard. `closed_ms` of the shard; 0: it is open. */
static void set_shard(int64_t closed_ms)
{
    struct table_shard shard = {
        .partition = table->partitions[0].id, .epoch = 1, .closed_ms = closed_ms};
    const struct table_streams set = {.last_id = 1,
                                      .count = 1,
                                      .at = {{.id = 1,
                                              .view = STREAM_BOTH_IMAGES,
                                              .created_ms = CREATED_MS,
                                              .shard_count = 1,
                                              .shards = &shard}}};
    buffer_clear(&streams);
    table_streams_encode(&streams, &set);
    table->streams = buffer_slice(&streams);
}

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    table = fake_table(&f, "t", "k", ATTR_STRING, NULL, ATTR_STRING, 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    buffer_deinit(&streams);
    return 0;
}

FIXTURE(start, stop)

static bool body_contains(struct fake_answer a, const char *text)
{
    return memmem(a.body.data, a.body.size, text, strlen(text)) != NULL;
}

static struct fake_answer describe_stream(void)
{
    const struct fake_answer a =
        fake_call(&f, "DynamoDBStreams_20120810.DescribeStream", "{" STREAM "}");
    assert_int_equal(a.status, 200);
    return a;
}

#define BEHIND_RECORD \
    "AFTER_SEQUENCE_NUMBER\",\"SequenceNumber\":\"10000000000000000000000000020000"

static struct fake_answer get_iterator(const char *kind)
{
    char request[512];
    snprintf(request, sizeof request,
             "{" STREAM ",\"ShardId\":\"" SHARD_ID "\",\"ShardIteratorType\":\"%s\"}", kind);
    return fake_call(&f, "DynamoDBStreams_20120810.GetShardIterator", request);
}

/* The shard's leader answers what is asked. */
static struct fake_answer answer_of_leader(bool trimmed)
{
    struct reply reply = {.code = REPLY_OK, .kind = ANSWER_RECORDS};
    reply_edit_records(&reply)->trimmed = trimmed;
    assert_int_equal(f.held_count, 1);
    assert_int_equal(fake_held(&f, 0).op, REQUEST_RECORDS);
    fake_answer_with(&f, 0, &reply);
    fake_pump(&f);
    return fake_take_answer(&f, 1);
}

/* A reader that is told so begins at the oldest record. Routers whose clock is late still show it.
 * */
TEST(no_record_is_trimmed_by_the_routers_clock)
{
    set_shard(1); /* long ago */
    assert_int_equal(get_iterator("TRIM_HORIZON").status, 200);
    f.hold = true;
    get_iterator(BEHIND_RECORD);
    assert_int_equal(answer_of_leader(false).status, 200);
    get_iterator(BEHIND_RECORD);
    const struct fake_answer a = answer_of_leader(true);
    assert_int_equal(a.status, 400);
    assert_true(body_contains(a, "TrimmedDataAccess"));
}

TEST(a_shard_that_was_closed_long_ago_is_not_listed)
{
    set_shard(CREATED_MS);
    f.agreed_ms = CREATED_MS + DAY_MS;
    assert_false(body_contains(describe_stream(), SHARD_ID));
}

/* A shard that is not listed is not read: its records would be missing. */
TEST(a_shard_is_listed_by_the_clocks_of_most_nodes)
{
    set_shard(CREATED_MS - 2 * DAY_MS); /* long ago by the router's clock */
    f.agreed_ms = CREATED_MS - DAY_MS - 1;
    assert_true(body_contains(describe_stream(), SHARD_ID));
}

TEST(an_open_shard_is_listed)
{
    set_shard(0);
    assert_true(body_contains(describe_stream(), SHARD_ID));
}
