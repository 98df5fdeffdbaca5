/* Throughput over time, in the simulated world: dilution (scenario 9), spikes (4) and tables on
 * demand (11), each with the mechanism on and off. Rates are small, so that hours are cheap; what
 * must come out is computed from the buckets, not measured. */
#include "tests/check.h"

#include "engine/admission/share.h"
#include "engine/item/storage_key.h"
#include "tests/support/lab.h"

enum {
    SLOTS = 64, /* of the hash space, one key in each: demand that is spread evenly */
    TABLE = 1
};

struct fixture {
    struct lab lab;
    struct arena arena;
    char puts[SLOTS][64];
};

static void put_of(int key, char put[64])
{
    snprintf(put, 64, "\"Item\":{\"k\":{\"S\":\"%d\"}}", key);
}

static uint64_t hash_of(int key)
{
    char text[16];
    snprintf(text, sizeof text, "%d", key);
    const struct attr a = {.type = ATTR_STRING, .body = slice_of(text)};
    return storage_key_hash(&a);
}

static void fixture_init(struct fixture *s)
{
    bool taken[SLOTS] = {false};
    *s = (struct fixture){0};
    for (int key = 0, found = 0; found < SLOTS; key++) {
        int slot = (int)(hash_of(key) / (UINT64_MAX / SLOTS + 1));
        if (taken[slot])
            continue;
        taken[slot] = true;
        /* in an order that visits all parts of the space in turn */
        put_of(key, s->puts[(slot % 8) * 8 + slot / 8]);
        found++;
    }
    lab_init(&s->lab);
}

static void fixture_start(struct fixture *s)
{
    lab_start(&s->lab);
    lab_pass(&s->lab, NS_PER_S);
}

static void fixture_end(struct fixture *s)
{
    arena_deinit(&s->arena);
    lab_deinit(&s->lab);
}

static void create(struct fixture *s, const char *throughput)
{
    char body[512];
    struct counts c = {0};
    snprintf(body, sizeof body,
             "{\"TableName\":\"orders\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":"
             "\"HASH\"}],\"AttributeDefinitions\":[{\"AttributeName\":\"k\",\"AttributeType\":"
             "\"S\"}],%s}",
             throughput);
    lab_call(&s->lab, &c, "CreateTable", body);
    lab_pass(&s->lab, 2 * NS_PER_S);
    assert_int_equal(c.ok, 1);
}

static struct table orders(struct fixture *s)
{
    arena_reset(&s->arena);
    return lab_table_of(&s->lab, "orders", &s->arena);
}

/* Of keys in the table's partition `index`. */
static void find_puts(struct fixture *s, uint32_t index, char puts[SLOTS][64])
{
    struct table t = orders(s);
    struct buffer key = {0};
    for (int i = 0, found = 0; found < SLOTS; i++) {
        buffer_clear(&key);
        storage_key_append_hash(&key, t.id, hash_of(i));
        if (table_partition_of(&t, buffer_slice(&key)) == &t.partitions[index])
            put_of(i, puts[found++]);
    }
    buffer_deinit(&key);
}

static struct flow flow_of(struct fixture *s, int64_t per_second)
{
    return (struct flow){.table = "orders",
                         .operation = "PutItem",
                         .puts = s->puts,
                         .put_count = SLOTS,
                         .per_second = per_second};
}

static int64_t refused(const struct flow *f)
{
    assert_int_equal(f->counts.failed, 0);
    return f->counts.throttled + f->counts.key_range;
}

/* Runs the flow; requests refused. */
static int64_t run(struct fixture *s, struct flow *f, int64_t seconds)
{
    f->counts = (struct counts){0};
    lab_run_flows(&s->lab, f, 1, seconds * NS_PER_S);
    lab_pass(&s->lab, 10 * NS_PER_MS); /* the last answers */
    return refused(f);
}

static int64_t per_thousand(int64_t part, int64_t all)
{
    return part * 1000 / all;
}

/* ---- scenario 9: dilution ---- */

enum {
    UNITS = 100, /* of the table; nine tenths are asked for, of that nine tenths in one half */
    HOT = 81,
    COLD = 9,
    HALF = UNITS / 2,
    ITEM_BYTES = 50000
};

/* More than a partition may hold; a half of it is not. */
static void fill(struct fixture *s)
{
    static char body[ITEM_BYTES + 200];
    struct counts c = {0};
    for (int i = 0; i < 24; i++) {
        int size = snprintf(body, sizeof body, "{\"TableName\":\"orders\",%.*s,\"v\":{\"S\":\"",
                            (int)strlen(s->puts[i]) - 1, s->puts[i]);
        memset(body + size, 'x', ITEM_BYTES);
        memcpy(body + size + ITEM_BYTES, "\"}}}", sizeof "\"}}}");
        lab_call(&s->lab, &c, "PutItem", body);
        lab_pass(&s->lab, NS_PER_S); /* 49 units each, of 100 */
    }
    assert_int_equal(c.ok, 24);
}

struct relief {
    int64_t settled; /* refused of a thousand, at the end */
    int64_t last_s;  /* the last second in which anything was refused */
};

static struct relief dilute(const char *adaptive)
{
    struct fixture s;
    struct relief r = {0};
    fixture_init(&s);
    lab_set(&s.lab, "control_adaptive", adaptive);
    lab_set(&s.lab, "burst_max_s", "0");
    lab_set(&s.lab, "partition_max_bytes", "1MiB");
    fixture_start(&s);
    create(&s, "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":10,\"WriteCapacityUnits\":100}");
    assert_int_equal(orders(&s).partition_count, 1);
    struct flow whole = flow_of(&s, HOT + COLD);
    assert_int_equal(run(&s, &whole, 10), 0);
    fill(&s);
    lab_pass(&s.lab, 20 * NS_PER_S);
    struct table t = orders(&s);
    assert_int_equal(t.partition_count, 2);
    assert_int_equal(lab_events_of(&s.lab, EVENT_SPLIT), 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(t.partitions[i].rate_mcu[ADMIT_WRITE], HALF * MCU_PER_UNIT);
    char hot[SLOTS][64], cold[SLOTS][64];
    struct flow flows[] = {flow_of(&s, HOT), flow_of(&s, COLD)};
    find_puts(&s, 0, hot);
    find_puts(&s, 1, cold);
    flows[0].puts = hot;
    flows[1].puts = cold;
    for (int second = 0; second < 60; second++) {
        if (second == 30)
            flows[0].counts = flows[1].counts = (struct counts){0};
        int64_t was = refused(&flows[0]) + refused(&flows[1]);
        lab_run_flows(&s.lab, flows, 2, NS_PER_S);
        if (refused(&flows[0]) + refused(&flows[1]) > was)
            r.last_s = second;
    }
    int64_t all = refused(&flows[0]) + refused(&flows[1]);
    r.settled = per_thousand(all, all + flows[0].counts.ok + flows[1].counts.ok);
    assert_int_equal(refused(&flows[1]), 0); /* the cold half has enough */
    fixture_end(&s);
    printf("    adaptive %s: %lld of 1000 refused after 30 s, the last in second %lld\n", adaptive,
           (long long)r.settled, (long long)r.last_s);
    return r;
}

/* Halves of 50 and 81 asked for: 31 of 90 are refused, which is 344 of 1000; counted over 30 s, in
 * which the bucket may be full or empty at either end: 50 of 2,700. Adaptive capacity begins after
 * adaptive_after_ms, seen at most a report and two evaluations late, and gives all that is lacking.
 * Each of the four times is counted in whole seconds. The first write of each of the 24 large
 * items costs 49 units, which the limit has to bear: 12 s of it.
 */
TEST(a_split_for_size_halves_what_the_parents_keys_may_use)
{
    int64_t exact = per_thousand(HOT - HALF, HOT + COLD), edge = per_thousand(HALF, 30 * 90);
    struct relief off = dilute("0"), on = dilute("1");
    assert_in_range(off.settled, exact - edge, exact + edge);
    assert_int_equal(off.last_s, 59);
    assert_int_equal(on.settled, 0);
    assert_in_range(on.last_s, 1, 2 + 2 + 12 + 5);
}

/* ---- scenario 4: spikes ---- */

enum {
    SHARE = 2, /* of the partition that gets the spike */
    SPIKE = 5 * SHARE,
    IDLE_S = 300
};

struct spike {
    int64_t first_refusal_ms; /* -1: none in 30 s */
    int64_t settled;          /* refused of a thousand, in the minute after that */
    int64_t admitted;         /* per second, then */
    int64_t relieved_s;       /* after the first refusal: the last second with one */
};

/* The flow, until something is refused and for so long after it. */
static struct spike spike(struct fixture *s, struct flow *f, int64_t seconds)
{
    struct spike r = {.first_refusal_ms = -1};
    int64_t began = s->lab.world.scheduler.now.ns;
    f->counts = (struct counts){0};
    while (refused(f) == 0 && s->lab.world.scheduler.now.ns - began < 100 * NS_PER_S)
        lab_run_flows(&s->lab, f, 1, NS_PER_S / SPIKE);
    if (refused(f) > 0)
        r.first_refusal_ms = (s->lab.world.scheduler.now.ns - began) / NS_PER_MS;
    for (int second = 1; second <= seconds; second++) {
        if (run(s, f, 1) > 0)
            r.relieved_s = second;
    }
    r.settled = per_thousand(run(s, f, 60), (int64_t)SPIKE * 60);
    r.admitted = f->counts.ok / 60;
    printf("    first refusal after %lld ms, the last %lld s later; in the end %lld of 1000, "
           "%lld/s admitted\n",
           (long long)r.first_refusal_ms, (long long)r.relieved_s, (long long)r.settled,
           (long long)r.admitted);
    return r;
}

/* The whole table is asked for five times what it has. */
static struct spike spike_at_table(const char *burst_max_s)
{
    struct fixture s;
    fixture_init(&s);
    lab_set(&s.lab, "burst_max_s", burst_max_s);
    fixture_start(&s);
    create(&s, "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":10,\"WriteCapacityUnits\":2}");
    lab_pass(&s.lab, (IDLE_S + 5) * NS_PER_S);
    struct flow f = flow_of(&s, SPIKE);
    struct spike r = spike(&s, &f, 60);
    assert_int_equal(lab_events_of(&s.lab, EVENT_ALLOCATION_RAISED), 0); /* it is at its limit */
    fixture_end(&s);
    return r;
}

/* 300 s of 2 in the burst bucket and one second of it in the allocation, spent at 10 - 2: after
 * (300 + 1) * 2 / 8 = 75.25 s; without burst after a quarter of a second. There is a request every
 * 100 ms: the one before or after, and its answer is seen one later. */
TEST(a_spike_lasts_75_s_from_a_full_bucket_and_no_time_without_burst)
{
    struct spike on = spike_at_table("300"), off = spike_at_table("0");
    assert_in_range(on.first_refusal_ms, 75250 - 100, 75250 + 200);
    assert_in_range(off.first_refusal_ms, 250 - 100, 250 + 200);
    assert_int_equal(on.settled, 800);
    assert_int_equal(off.settled, 800);
    assert_int_equal(on.admitted, SHARE);
}

/* One partition of six is asked for five times its share; the table has that to spare. */
static struct spike spike_at_partition(const char *adaptive)
{
    struct fixture s;
    fixture_init(&s);
    lab_set(&s.lab, "control_adaptive", adaptive);
    lab_set(&s.lab, "partition_max_wcu", "20");
    fixture_start(&s);
    create(&s, "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":10,\"WriteCapacityUnits\":12},"
               "\"WarmThroughput\":{\"WriteUnitsPerSecond\":120}");
    struct table t = orders(&s);
    assert_int_equal(t.partition_count, 6);
    assert_int_equal(t.partitions[3].rate_mcu[ADMIT_WRITE], SHARE * MCU_PER_UNIT);
    lab_pass(&s.lab, (IDLE_S + 5) * NS_PER_S);
    char puts[SLOTS][64];
    struct flow f = flow_of(&s, SPIKE);
    find_puts(&s, 3, puts);
    f.puts = puts;
    struct spike r = spike(&s, &f, adaptive[0] == '1' ? 1700 : 60); /* half an hour */
    assert_int_equal(lab_events_of(&s.lab, EVENT_ALLOCATION_RAISED) > 0, adaptive[0] == '1');
    fixture_end(&s);
    return r;
}

/* After the burst the lack is 8, which the table leaves: it is given at once, after
 * adaptive_after_ms, seen at most a report and two evaluations late. */
TEST(after_the_burst_capacity_adapts_to_a_spike_within_the_tables_limit)
{
    struct spike on = spike_at_partition("1"), off = spike_at_partition("0");
    assert_in_range(on.first_refusal_ms, 75250 - 100, 75250 + 200);
    assert_in_range(off.first_refusal_ms, 75250 - 100, 75250 + 200);
    assert_int_equal(on.settled, 0);
    assert_in_range(on.relieved_s, 1, 1 + 2 + 1);
    assert_int_equal(off.settled, 800);
}

/* ---- scenario 11: on demand ---- */

enum {
    MAXIMUM = 20, /* of a partition */
    INITIAL = 4 * MAXIMUM,
    PEAK = INITIAL / 2, /* the previous one of a new table */
    STEP_S = 90,
    HALF_HOUR_S = 1800
};

static void start_on_demand(struct fixture *s, const char *on)
{
    fixture_init(s);
    lab_set(&s->lab, "partition_max_wcu", "20");
    lab_set(&s->lab, "on_demand_wcu", "80");
    lab_set(&s->lab, "on_demand_rcu", "80");
    lab_set(&s->lab, "control_on_demand", on);
    lab_set(&s->lab, "control_split", on);
    fixture_start(s);
    create(s, "\"BillingMode\":\"PAY_PER_REQUEST\"");
    assert_int_equal(orders(s).partition_count, 4);
}

/* A new peak every half hour, a fortieth of it in between: peaks are kept. */
TEST(a_table_on_demand_that_doubles_every_half_hour_is_never_throttled)
{
    struct fixture s;
    start_on_demand(&s, "1");
    for (int64_t rate = PEAK; rate <= 8 * PEAK; rate *= 2) {
        struct flow f = flow_of(&s, rate);
        int64_t throttled = run(&s, &f, STEP_S);
        f.per_second = rate / 40;
        throttled += run(&s, &f, HALF_HOUR_S - STEP_S);
        struct table t = orders(&s);
        printf("    %lld/s: %lld throttled; ready for %lld/s, %u partitions\n", (long long)rate,
               (long long)throttled, (long long)t.warm[ADMIT_WRITE], t.partition_count);
        assert_int_equal(throttled, 0);
        assert_true(t.warm[ADMIT_WRITE] >= 2 * rate);
        assert_true(t.partition_count * MAXIMUM >= t.warm[ADMIT_WRITE]);
    }
    fixture_end(&s);
}

TEST(without_peaks_and_splits_a_doubled_table_is_throttled_for_ever)
{
    struct fixture s;
    start_on_demand(&s, "0");
    struct flow f = flow_of(&s, PEAK);
    assert_int_equal(run(&s, &f, 10), 0);
    f.per_second = 2 * PEAK;
    assert_int_equal(run(&s, &f, 10), 0);
    for (f.per_second = 4 * PEAK; f.per_second <= 8 * PEAK; f.per_second *= 2) {
        run(&s, &f, 5);
        int64_t throttled = per_thousand(run(&s, &f, 30), f.per_second * 30);
        printf("    %lld/s: %lld of 1000 throttled\n", (long long)f.per_second,
               (long long)throttled);
        /* 80 of them are served; a second's worth of tokens at either end */
        int64_t exact = 1000 - per_thousand(INITIAL, f.per_second);
        assert_in_range(throttled, exact - 1000 / 30, exact + 1000 / 30);
    }
    assert_int_equal(orders(&s).partition_count, 4);
    fixture_end(&s);
}

/* Four times the previous peak. Half of it is served at once. A partition is split after a second
 * of refusals, or when the peak was seen, two windows of 10 s later at most; and again, when the
 * rest of the demand was seen: 20 s more. Ten splits take a second each, one after the other. */
TEST(a_fourfold_jump_is_throttled_only_until_the_splits_are_done)
{
    struct fixture s;
    int64_t split_s = 0, throttled_s = -1, throttled = 0, served = 0;
    start_on_demand(&s, "1");
    struct flow f = flow_of(&s, PEAK);
    assert_int_equal(run(&s, &f, 20), 0);
    uint32_t partitions = orders(&s).partition_count;
    assert_int_equal(partitions, 4);
    f.per_second = 4 * PEAK;
    for (int second = 0; second < STEP_S; second++) {
        int64_t more = run(&s, &f, 1);
        throttled += more;
        throttled_s = more > 0 ? second : throttled_s;
        served += second <= throttled_s ? f.counts.ok : 0;
        uint32_t now = orders(&s).partition_count;
        split_s = now != partitions ? second : split_s;
        partitions = now;
    }
    printf(
        "    %lld throttled, %lld/s served meanwhile, the last in second %lld; the last split in "
        "second %lld; %u partitions\n",
        (long long)throttled, (long long)(served / (throttled_s + 1)), (long long)throttled_s,
        (long long)split_s, partitions);
    assert_true(throttled > 0);
    assert_true(throttled <= (4 * PEAK - INITIAL) * (throttled_s + 1));
    assert_true(served >= INITIAL * throttled_s);
    assert_true(throttled_s <= split_s);
    assert_true(split_s <= 20 + 20 + 10);
    fixture_end(&s);
}

/* A hundred writes a second of each node, of which 60 are reserved for another table: a peak of 50
 * is served, but the table is not made ready for more. */
TEST(a_peak_that_nodes_cannot_reserve_is_reported_and_changes_nothing)
{
    struct fixture s;
    fixture_init(&s);
    lab_set(&s.lab, "node_wcu", "100");
    lab_set(&s.lab, "on_demand_wcu", "80");
    fixture_start(&s);
    create(&s, "\"BillingMode\":\"PAY_PER_REQUEST\"");
    lab_create_table(&s.lab, "other", 10, 60);
    struct flow f = flow_of(&s, 50);
    assert_int_equal(run(&s, &f, 3 * 10), 0);
    assert_int_equal(lab_events_of(&s.lab, EVENT_NO_CAPACITY), 1);
    assert_int_equal(lab_events_of(&s.lab, EVENT_PEAK), 0);
    assert_int_equal(orders(&s).warm[ADMIT_WRITE], 80);
    assert_true(orders(&s).reserved[ADMIT_WRITE] <= 40); /* what it began with, at most */
    fixture_end(&s);
}
