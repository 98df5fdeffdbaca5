/* Relief in virtual time: how soon nothing is refused any more that need not be, and what is split
 * for it. Loads that last, spikes that do not, hot keys beside others and alone, reads beside
 * writes; and a table above its limit, second by second. */
#include "tests/check.h"

#include "base/must.h"
#include "engine/catalog/event.h"
#include "engine/item/storage_key.h"
#include "tests/support/lab.h"

enum {
    MAXIMUM = 200, /* of a partition, write units a second */
    READS = 3 * MAXIMUM,
    PARTITIONS = 8,
    ITEMS = 512, /* of a collection */
    RELIEF_MS = 3000,
    STEP_MS = 100,
    FLOWS_MAX = 3
};

static const char TABLE[] = "orders";

struct fixture {
    struct lab lab;
    struct arena arena;
    char puts[FLOWS_MAX][ITEMS][64];
    struct flow flows[FLOWS_MAX];
    int flow_count;
    struct buffer reasons; /* of all events, one a line */
    int64_t splits;
    int64_t refusals;
    int64_t last_ms[FLOWS_MAX]; /* after the onset: the last that was refused; 0: none was */
};

static void fixture_init(struct fixture *s)
{
    struct counts c = {0};
    char text[24];
    *s = (struct fixture){0};
    lab_init(&s->lab);
    snprintf(text, sizeof text, "%d", MAXIMUM);
    lab_set(&s->lab, "partition_max_wcu", text);
    snprintf(text, sizeof text, "%d", PARTITIONS * MAXIMUM);
    lab_set(&s->lab, "on_demand_wcu", text);
    snprintf(text, sizeof text, "%d", READS);
    lab_set(&s->lab, "partition_max_rcu", text);
    lab_set(&s->lab, "on_demand_rcu", text);
    lab_set(&s->lab, "control_on_demand", "0"); /* which would split for the peak */
    lab_start(&s->lab);
    lab_pass(&s->lab, NS_PER_S);
    lab_call(&s->lab, &c, "CreateTable",
             "{\"TableName\":\"orders\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":"
             "\"HASH\"},{\"AttributeName\":\"s\",\"KeyType\":\"RANGE\"}],\"AttributeDefinitions\":["
             "{\"AttributeName\":\"k\",\"AttributeType\":\"S\"},"
             "{\"AttributeName\":\"s\",\"AttributeType\":\"S\"}],"
             "\"BillingMode\":\"PAY_PER_REQUEST\"}");
    lab_pass(&s->lab, 2 * NS_PER_S);
    assert_int_equal(c.ok, 1);
}

static void fixture_deinit(struct fixture *s)
{
    buffer_deinit(&s->reasons);
    arena_deinit(&s->arena);
    lab_deinit(&s->lab);
}

/* The `n`th name of a partition key whose hash lies in this eighth of all. */
static int key_in(int eighth, int n)
{
    for (int number = 0;; number++) {
        char text[16];
        int size = snprintf(text, sizeof text, "%d", number);
        struct attr pk = {ATTR_STRING, slice_make(text, (size_t)size)};
        if ((int)(storage_key_hash(&pk) >> 61) == eighth && n-- == 0)
            return number;
    }
}

/* Another flow: writes of the collection's items [first, first + count), in an order that does not
 * move forward. */
static struct flow *add_writes(struct fixture *s, int collection, int first, int count,
                               int64_t per_second)
{
    const int i = s->flow_count++;
    must(i < FLOWS_MAX && count <= ITEMS);
    for (int n = 0; n < count; n++)
        snprintf(s->puts[i][n], sizeof s->puts[i][n],
                 "\"Item\":{\"k\":{\"S\":\"%d\"},\"s\":{\"S\":\"%04d\"}}", collection,
                 first + n * 197 % count);
    s->flows[i] = (struct flow){.table = TABLE,
                                .operation = "PutItem",
                                .puts = s->puts[i],
                                .put_count = count,
                                .per_second = per_second - 1}; /* each stretch begins with one */
    return &s->flows[i];
}

static struct flow *add_reads(struct fixture *s, int collection, int first, int count,
                              int64_t per_second)
{
    struct flow *f = add_writes(s, collection, first, count, per_second);
    const int i = s->flow_count - 1;
    for (int n = 0; n < count; n++)
        snprintf(s->puts[i][n], sizeof s->puts[i][n],
                 "\"Key\":{\"k\":{\"S\":\"%d\"},\"s\":{\"S\":\"%04d\"}},\"ConsistentRead\":true",
                 collection, first + n * 197 % count);
    f->operation = "GetItem";
    return f;
}

static void read_events(struct fixture *s)
{
    struct request r = {.id = 1, .op = REQUEST_EVENTS};
    struct lab *l = &s->lab;
    s->splits = s->refusals = 0;
    buffer_clear(&s->reasons);
    for (uint32_t node = 1; node <= l->world.plan.nodes; node++) {
        buffer_clear(&l->body);
        node_process_request(l->world.nodes[node], &r, &l->body);
        struct reader records = {buffer_slice(&l->body), false};
        while (records.left.size > 0) {
            struct reader record = {reader_sized(&records), false};
            struct event e;
            assert_int_equal(event_decode(&record, &e), STATUS_OK);
            s->splits += e.kind == EVENT_SPLIT;
            s->refusals += e.kind == EVENT_SPLIT_REFUSED;
            buffer_append_slice(&s->reasons, e.reason);
            buffer_append_u8(&s->reasons, '\n');
        }
    }
}

static bool is_reported(const struct fixture *s, const char *text)
{
    return memmem(s->reasons.data, s->reasons.size, text, strlen(text)) != NULL;
}

static int64_t refused_of(const struct flow *f)
{
    return f->counts.key_range + f->counts.throttled;
}

/* Runs the flows, then reads the events; what was counted is of the last `counted` seconds. */
static void run(struct fixture *s, int64_t seconds, int64_t counted)
{
    memset(s->last_ms, 0, sizeof s->last_ms);
    for (int64_t ms = STEP_MS; ms <= seconds * 1000; ms += STEP_MS) {
        int64_t before[FLOWS_MAX];
        for (int i = 0; i < s->flow_count; i++)
            before[i] = refused_of(&s->flows[i]);
        lab_run_flows(&s->lab, s->flows, s->flow_count, STEP_MS * NS_PER_MS);
        for (int i = 0; i < s->flow_count; i++) {
            if (refused_of(&s->flows[i]) > before[i])
                s->last_ms[i] = ms;
            assert_int_equal(s->flows[i].counts.failed, 0);
            if (ms == (seconds - counted) * 1000)
                s->flows[i].counts = (struct counts){0};
        }
    }
    read_events(s);
    printf("    %lld splits, %lld not, last refusals after %lld, %lld and %lld ms\n%.*s",
           (long long)s->splits, (long long)s->refusals, (long long)s->last_ms[0],
           (long long)s->last_ms[1], (long long)s->last_ms[2], (int)s->reasons.size,
           (const char *)s->reasons.data);
}

static uint32_t partitions(struct fixture *s)
{
    arena_reset(&s->arena);
    return lab_table_of(&s->lab, TABLE, &s->arena).partition_count;
}

/* ---- loads that last ---- */

TEST(a_lasting_load_is_relieved_in_time_by_one_split_of_as_many_pieces_as_it_needs)
{
    static const struct {
        int percent;
        uint32_t pieces;
    } cases[] = {{150, 2}, {210, 3}, {240, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture s;
        fixture_init(&s);
        add_writes(&s, key_in(3, 0), 0, ITEMS, MAXIMUM * cases[i].percent / 100);
        run(&s, 40, 10);
        assert_int_equal(s.splits, 1);
        assert_int_equal(partitions(&s), PARTITIONS - 1 + cases[i].pieces);
        assert_in_range(s.last_ms[0], 500, RELIEF_MS);
        assert_int_equal(refused_of(&s.flows[0]), 0);
        fixture_deinit(&s);
    }
}

TEST(a_load_between_trigger_and_maximum_is_split_before_anything_is_refused)
{
    struct fixture s;
    fixture_init(&s);
    add_writes(&s, key_in(3, 0), 0, ITEMS, MAXIMUM * 85 / 100);
    run(&s, 8, 1);
    assert_int_equal(s.splits, 0);
    run(&s, 32, 10);
    assert_int_equal(s.splits, 1);
    assert_int_equal(partitions(&s), PARTITIONS + 1);
    assert_int_equal(s.last_ms[0], 0);
    fixture_deinit(&s);
}

TEST(reads_on_one_side_and_writes_on_the_other_are_relieved_by_one_split)
{
    struct fixture s;
    fixture_init(&s);
    add_reads(&s, key_in(3, 0), 0, ITEMS / 2, READS * 3 / 2);
    add_writes(&s, key_in(3, 0), ITEMS / 2, ITEMS / 2, MAXIMUM * 3 / 2);
    run(&s, 40, 10);
    assert_int_equal(s.splits, 1);
    assert_int_equal(partitions(&s), PARTITIONS + 3);
    for (int i = 0; i < 2; i++) {
        assert_in_range(s.last_ms[i], 500, RELIEF_MS);
        assert_int_equal(refused_of(&s.flows[i]), 0);
    }
    fixture_deinit(&s);
}

/* ---- spikes ---- */

TEST(spikes_of_two_seconds_are_no_reason_for_a_split)
{
    struct fixture s;
    fixture_init(&s);
    for (int place = 0; place < 6; place++) {
        s.flow_count = 0;
        add_writes(&s, key_in(place, 0), 0, ITEMS, 4 * MAXIMUM);
        run(&s, 2, 1);
        assert_true(s.last_ms[0] > 0);
        lab_pass(&s.lab, 3 * NS_PER_S);
    }
    lab_pass(&s.lab, 20 * NS_PER_S);
    read_events(&s);
    assert_int_equal(s.splits + s.refusals, 0);
    assert_int_equal(partitions(&s), PARTITIONS);
    fixture_deinit(&s);
}

/* ---- hot keys ---- */

/* The neighbours lie on both sides of the key, in the same collection. */
TEST(a_key_above_the_maximum_is_split_out_and_its_neighbours_get_their_demand)
{
    struct fixture s;
    fixture_init(&s);
    int collection = key_in(3, 0);
    add_writes(&s, collection, ITEMS / 2, 1, MAXIMUM * 12 / 10);
    add_writes(&s, collection, 0, ITEMS / 2, MAXIMUM * 7 / 10);
    add_writes(&s, collection, ITEMS / 2 + 1, ITEMS / 2 - 1, MAXIMUM * 7 / 10);
    run(&s, 30, 10);
    assert_int_equal(s.splits, 1);
    assert_int_equal(partitions(&s), PARTITIONS + 2);
    assert_in_range(s.flows[0].counts.ok, 10 * MAXIMUM * 99 / 100, 10 * MAXIMUM);
    for (int i = 1; i < 3; i++) {
        assert_in_range(s.last_ms[i], 500, RELIEF_MS);
        assert_int_equal(refused_of(&s.flows[i]), 0);
    }
    assert_true(is_reported(&s, "; gains an estimated 2"));
    assert_true(is_reported(&s, ": 200 of k=\"1\", s=\"0256\" and 2"));
    assert_true(
        is_reported(&s, " of its neighbours are served instead of 200 in total; split at "));
    assert_true(is_reported(&s, "split at k=\"1\", s=\"0256\" and behind it"));
    assert_true(s.refusals >= 1 &&
                is_reported(&s, "100 % of the load is for one item")); /* alone */
    fixture_deinit(&s);
}

TEST(a_key_above_the_maximum_with_nothing_beside_it_stays)
{
    struct fixture s;
    fixture_init(&s);
    int collection = key_in(3, 0);
    add_writes(&s, collection, ITEMS / 2, 1, MAXIMUM * 12 / 10);
    add_writes(&s, collection, 0, ITEMS, 4);
    run(&s, 20, 10);
    assert_int_equal(s.splits, 0);
    assert_int_equal(partitions(&s), PARTITIONS);
    assert_true(s.refusals >= 1);
    assert_true(is_reported(&s, "% of the load is for one item"));
    assert_true(is_reported(&s, "Spread it over several keys"));
    fixture_deinit(&s);
}

/* ---- a table above its limit ---- */

enum {
    LIMIT = 200,
    HALF_MINUTE = 30
};

/* Two partitions, nine tenths of the load in one; served by second. */
static void skew(struct fixture *s, int64_t requested, int64_t served[2 * HALF_MINUTE])
{
    struct counts c = {0};
    *s = (struct fixture){0};
    lab_init(&s->lab);
    lab_set(&s->lab, "partition_max_wcu", "1000");
    lab_set(&s->lab, "control_split", "1");
    lab_start(&s->lab);
    lab_pass(&s->lab, NS_PER_S);
    lab_call(&s->lab, &c, "CreateTable",
             "{\"TableName\":\"orders\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":"
             "\"HASH\"},{\"AttributeName\":\"s\",\"KeyType\":\"RANGE\"}],\"AttributeDefinitions\":["
             "{\"AttributeName\":\"k\",\"AttributeType\":\"S\"},"
             "{\"AttributeName\":\"s\",\"AttributeType\":\"S\"}],"
             "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":10,\"WriteCapacityUnits\":200},"
             "\"WarmThroughput\":{\"WriteUnitsPerSecond\":2000}}");
    lab_pass(&s->lab, 3 * NS_PER_S);
    assert_int_equal(partitions(s), 2);
    add_writes(s, key_in(1, 0), 0, ITEMS, requested * 9 / 10);
    add_writes(s, key_in(6, 0), 0, ITEMS, requested / 10);
    for (int second = 0; second < 2 * HALF_MINUTE; second++) {
        int64_t ok = s->flows[0].counts.ok + s->flows[1].counts.ok;
        int64_t refused = refused_of(&s->flows[0]) + refused_of(&s->flows[1]);
        lab_run_flows(&s->lab, s->flows, 2, NS_PER_S);
        served[second] = s->flows[0].counts.ok + s->flows[1].counts.ok - ok;
        refused = refused_of(&s->flows[0]) + refused_of(&s->flows[1]) - refused;
        s->last_ms[0] = refused > 0 ? (second + 1) * 1000 : s->last_ms[0];
    }
    read_events(s);
}

TEST(a_skewed_table_within_its_limit_is_relieved_within_ten_seconds)
{
    struct fixture s;
    int64_t served[2 * HALF_MINUTE];
    skew(&s, LIMIT * 9 / 10, served);
    printf("    90/10, 180 of 200: last refusal in second %lld\n", (long long)s.last_ms[0] / 1000);
    assert_in_range(s.last_ms[0], 1000, 10000);
    fixture_deinit(&s);
}

TEST(a_table_with_a_demand_of_twice_its_limit_gets_the_limit_every_second)
{
    struct fixture s;
    int64_t served[2 * HALF_MINUTE], min = INT64_MAX, max = 0, sum = 0;
    skew(&s, 2 * LIMIT, served);
    for (int second = HALF_MINUTE; second < 2 * HALF_MINUTE; second++) {
        min = served[second] < min ? served[second] : min;
        max = served[second] > max ? served[second] : max;
        sum += served[second];
    }
    printf("    90/10, 400 of 200: %lld to %lld a second, mean %lld.%02lld\n", (long long)min,
           (long long)max, (long long)(sum / HALF_MINUTE),
           (long long)(sum * 100 / HALF_MINUTE % 100));
    assert_in_range(min, LIMIT * 98 / 100, LIMIT * 102 / 100);
    assert_in_range(max, LIMIT * 98 / 100, LIMIT * 102 / 100);
    assert_in_range(sum, HALF_MINUTE * LIMIT * 99 / 100, HALF_MINUTE * LIMIT * 101 / 100);
    fixture_deinit(&s);
}
