/* router_sharded_query_test.c - Query and Scan of sharded keys: what is asked of which shard. What
 * the client gets: tests/cases/router/sharded-keys.case. Random pages:
 * tests/property/router_sharded_property.c. */
#include "tests/check.h"
#include "tests/support/expect.h"
#include "tests/support/sharded_keys.h"

enum {
    ITEMS = 20
};

static struct fake_cluster f;
static struct table *table;

#define VALUES  "\"ExpressionAttributeValues\":{\":k\":{\"S\":\"hot\"}}"
#define HEAD    "{\"TableName\":\"tab\",\"KeyConditionExpression\":\"k=:k\"," VALUES
#define ALL_HOT "00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19"

static void put(const char *key, const char *sort)
{
    char request[200];
    snprintf(request, sizeof request,
             "{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"%s\"},\"s\":{\"S\":\"%s\"}}}", key,
             sort);
    expect_call(&f, "PutItem", request, 200, "{}");
}

static void grow(uint64_t version, uint32_t shards, uint32_t count, const uint32_t *before)
{
    struct sharded_key k = sharded_key_named(table, "hot", version, shards, count, before);
    k.widest = shards > 2 ? shards : 2; /* a key with one shard had two of late */
    fake_shard_keys(&f, table, &(struct key_sharding){version, 1, &k});
}

static int start(void **state)
{
    char sort[8];
    (void)state;
    fake_init(&f);
    fake_start(&f);
    table = fake_table(&f, "tab", "k", ATTR_STRING, "s", ATTR_STRING, 4);
    grow(1, 5, 0, NULL);
    for (int i = 0; i < ITEMS; i++) {
        snprintf(sort, sizeof sort, "%02d", i);
        put("hot", sort);
        put(i % 2 == 0 ? "a" : "b", sort);
    }
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

/* The sort keys of the answer's items: "00 01". */
static const char *sorts_of(struct fake_answer a)
{
    static char out[800];
    const char *at = (const char *)a.body.data, *end = at + a.body.size;
    const char *stop = memmem(at, a.body.size, "\"LastEvaluatedKey\"", 18);
    if (stop == NULL)
        stop = end;
    out[0] = '\0';
    if (a.status != 200)
        fail_msg("%.*s", TEXT_OF(a.body));
    while ((at = memmem(at, (size_t)(stop - at), "\"s\":{\"S\":\"", 10)) != NULL) {
        at += 10;
        const size_t used = strlen(out);
        snprintf(out + used, sizeof out - used, "%s%.2s", used > 0 ? " " : "", at);
    }
    return out;
}

/* ---- tests ---- */

TEST(all_shards_are_read_at_the_same_time)
{
    uint32_t seen = 0;
    f.hold = true;
    fake_send_call(&f, 2, "Query", HEAD "}");
    assert_int_equal(f.held_count, 5);
    for (size_t i = 0; i < 5; i++) {
        const struct request q = fake_held(&f, i);
        assert_int_equal(q.op, REQUEST_RANGE);
        assert_int_equal(q.key_sharding_version, 1);
        assert_int_equal(q.sharded_key_version, 1);
        assert_false(q.range.consistent);
        seen |= 1U << q.range.shard;
    }
    assert_int_equal(seen, 31);
    fake_answer_all(&f);
    assert_string_equal(sorts_of(fake_take_answer(&f, 2)), ALL_HOT);
}

TEST(a_shard_that_cannot_be_read_fails_the_query)
{
    f.hold = true;
    fake_send_call(&f, 2, "Query", HEAD "}");
    fake_answer_code(&f, 3, REPLY_CORRUPT);
    fake_answer_all(&f);
    assert_int_equal(fake_take_answer(&f, 2).status, 500);
}

/* Items go from shard 0 to others, and from the first five to the last. */
TEST(while_items_move_younger_shards_are_read_later_and_no_further) /* RANGES-1 */
{
    uint64_t shards;
    grow(2, 7, 2, (const uint32_t[]){1, 5});
    f.hold = true;
    fake_send_call(&f, 2, "Query", HEAD ",\"Limit\":4}");
    for (int i = 0; i < 5; i++)
        fake_answer(&f, 0); /* the refusals of the old registry */
    while (f.held_count > 0 && fake_held(&f, 0).op != REQUEST_RANGE)
        fake_answer(&f, 0);
    assert_int_equal(f.held_count, 1);
    assert_int_equal(fake_held(&f, 0).range.shard, 0);
    assert_true(fake_held(&f, 0).range.consistent);
    assert_int_equal(fake_held(&f, 0).sharded_key_version, 2);
    fake_answer(&f, 0);
    assert_int_equal(f.held_count, 4); /* shard 0 was read to its end */
    for (shards = 0; f.held_count > 0 && fake_held(&f, 0).range.shard < 5; fake_answer(&f, 0))
        shards |= 1U << fake_held(&f, 0).range.shard;
    assert_int_equal(shards, 30);
    assert_int_equal(f.held_count, 2);
    assert_true(fake_held(&f, 0).range.shard >= 5);
    assert_true(fake_held(&f, 0).range.consistent);
    /* Each of the others has more: the younger ones are read as far as the least of them. */
    assert_true(slice_compare(fake_held(&f, 0).range.hi, fake_held(&f, 0).range.lo) > 0);
    fake_answer_all(&f);
    assert_string_equal(sorts_of(fake_take_answer(&f, 2)), "00 01 02 03");
}

TEST(a_key_that_grows_while_it_is_read_is_read_on_by_the_new_registry)
{
    f.hold = true;
    fake_send_call(&f, 2, "Query", HEAD "}");
    assert_int_equal(f.held_count, 5);
    grow(2, 9, 1, (const uint32_t[]){5});
    f.hold = false;
    fake_answer_all(&f);
    assert_string_equal(sorts_of(fake_take_answer(&f, 2)), ALL_HOT);
}

/* It had more shards of late. */
TEST(a_key_with_one_shard_left_is_read_on_where_it_was)
{
    char forward[ITEMS * 3 + 1], backward[ITEMS * 3 + 1];
    (void)state;
    stop(NULL);
    fake_init(&f);
    fake_start(&f);
    table = fake_table(&f, "tab", "k", ATTR_STRING, "s", ATTR_STRING, 4);
    grow(1, 1, 0, NULL);
    for (int i = 0; i < ITEMS; i++) {
        char sort[8];
        snprintf(sort, sizeof sort, "%02d", i);
        snprintf(forward + 3 * i, 4, "%02d ", i);
        snprintf(backward + 3 * i, 4, "%02d ", ITEMS - 1 - i);
        put("hot", sort);
    }
    forward[ITEMS * 3 - 1] = backward[ITEMS * 3 - 1] = '\0';
    f.range_items_max = 3;
    for (int way = 0; way < 2; way++) {
        f.hold = true;
        fake_send_call(&f, 2, "Query", way == 0 ? HEAD "}" : HEAD ",\"ScanIndexForward\":false}");
        fake_answer(&f, 0);
        assert_int_equal(f.held_count, 1);
        assert_int_equal(fake_held(&f, 0).op, REQUEST_RANGE);
        grow(2 + (uint64_t)way, 1, 0, NULL);
        f.hold = false;
        fake_answer_all(&f);
        assert_string_equal(sorts_of(fake_take_answer(&f, 2)), way == 0 ? forward : backward);
    }
}

static const char INDEXED[] =
    "{\"TableName\":\"tab\",\"BillingMode\":\"PAY_PER_REQUEST\","
    "\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":\"HASH\"},"
    "{\"AttributeName\":\"s\",\"KeyType\":\"RANGE\"}],\"AttributeDefinitions\":["
    "{\"AttributeName\":\"k\",\"AttributeType\":\"S\"},"
    "{\"AttributeName\":\"s\",\"AttributeType\":\"S\"},"
    "{\"AttributeName\":\"v\",\"AttributeType\":\"S\"}],"
    "\"LocalSecondaryIndexes\":[{\"IndexName\":\"by-v\",\"KeySchema\":["
    "{\"AttributeName\":\"k\",\"KeyType\":\"HASH\"},"
    "{\"AttributeName\":\"v\",\"KeyType\":\"RANGE\"}],"
    "\"Projection\":{\"ProjectionType\":\"KEYS_ONLY\"}}]}";

static void put_indexed(int sort, int other)
{
    char request[200];
    snprintf(request, sizeof request,
             "{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"hot\"},\"s\":{\"S\":\"%02d\"},"
             "\"v\":{\"S\":\"%02d\"}}}",
             sort, other);
    expect_call(&f, "PutItem", request, 200, "{}");
}

TEST(an_item_that_moves_on_in_an_index_while_that_is_read_is_taken_once) /* RANGES-4 */
{
    (void)state;
    stop(NULL);
    fake_init(&f);
    fake_start(&f);
    assert_int_equal(fake_call(&f, "CreateTable", INDEXED).status, 200);
    table = &f.tables[0];
    grow(1, 2, 0, NULL);
    for (int i = 0; i < 6; i++)
        put_indexed(i, i);
    f.range_items_max = 1;
    f.hold = true;
    fake_send_call(&f, 2, "Query", HEAD ",\"IndexName\":\"by-v\"}");
    assert_int_equal(f.held_count, 2);
    fake_answer(&f, 0);
    fake_answer(&f, 0); /* both shards have answered: the first item is taken */
    f.hold = false;
    put_indexed(0, 99);
    fake_answer_all(&f);
    assert_string_equal(sorts_of(fake_take_answer(&f, 2)), "00 01 02 03 04 05");
}

/* A faulty node must not keep the router busy for ever. */
TEST(a_node_that_has_more_but_does_not_go_on_is_at_fault)
{
    const struct reply more = {.code = REPLY_OK, .kind = ANSWER_RANGE, .range.more = true};
    f.hold = true;
    fake_send_call(&f, 2, "Query", HEAD "}");
    while (f.held_count > 0)
        fake_answer_with(&f, 0, &more);
    assert_int_equal(fake_take_answer(&f, 2).status, 500);
    fake_send_call(&f, 3, "Scan", "{\"TableName\":\"tab\"}");
    while (f.held_count > 0)
        fake_answer_with(&f, 0, &more);
    assert_int_equal(fake_take_answer(&f, 3).status, 500);
}