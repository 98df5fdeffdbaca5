/* traffic_test.c - mixes, sizes, and the requests of a described workload. */
#include "tests/check.h"

#include <math.h>

#include "base/instant.h"
#include "workload/traffic.h"

static struct traffic_mix mix_of(const char *text)
{
    struct traffic_mix m;
    assert_null(traffic_mix_parse(&m, text));
    return m;
}

TEST(ycsb_letters_have_the_mixes_of_the_core_workloads)
{
    static const struct {
        char letter;
        double read, update, insert, scan, rmw;
        enum load_keys_kind keys;
    } cases[] = {{'A', 0.5, 0.5, 0, 0, 0, LOAD_KEYS_SCRAMBLED_ZIPF},
                 {'B', 0.95, 0.05, 0, 0, 0, LOAD_KEYS_SCRAMBLED_ZIPF},
                 {'C', 1, 0, 0, 0, 0, LOAD_KEYS_SCRAMBLED_ZIPF},
                 {'D', 0.95, 0, 0.05, 0, 0, LOAD_KEYS_LATEST},
                 {'E', 0, 0, 0.05, 0.95, 0, LOAD_KEYS_SCRAMBLED_ZIPF},
                 {'f', 0.5, 0, 0, 0, 0.5, LOAD_KEYS_SCRAMBLED_ZIPF}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct traffic_mix m, same;
        struct load_keys k = {.count = 10};
        struct item_sizes s;
        char text[] = "ycsb:A";
        text[5] = cases[i].letter;
        assert_true(ycsb_workload(cases[i].letter, &m, &k, &s));
        same = mix_of(text);
        assert_memory_equal(m.fraction, same.fraction, sizeof m.fraction);
        assert_true(m.fraction[TRAFFIC_READ] == cases[i].read);
        assert_true(m.fraction[TRAFFIC_UPDATE] == cases[i].update);
        assert_true(m.fraction[TRAFFIC_INSERT] == cases[i].insert);
        assert_true(m.fraction[TRAFFIC_SCAN] == cases[i].scan);
        assert_true(m.fraction[TRAFFIC_READ_MODIFY_WRITE] == cases[i].rmw);
        assert_int_equal(m.scan_length_max, 100);
        assert_int_equal(k.kind, cases[i].keys);
        assert_true(k.theta == 0.99 && k.count == 10);
        assert_true(s.min == 1000 && s.max == 1000);
    }
}

TEST(kinds_come_as_often_as_their_fractions)
{
    enum {
        DRAWS = 200000
    };
    struct traffic_mix m =
        mix_of("read:0.4:update:0.25:insert:0.1:scan:0.05:read-modify-write:0.15:delete:0.05");
    struct prng random = prng_seeded(1);
    int64_t counts[TRAFFIC_KINDS] = {0};
    for (int i = 0; i < DRAWS; i++)
        counts[traffic_mix_kind(&m, &random)]++;
    for (int kind = 0; kind < TRAFFIC_KINDS; kind++) {
        double expected = m.fraction[kind] * DRAWS;
        assert_true(fabs((double)counts[kind] - expected) < 5 * sqrt(expected));
    }
    struct traffic_mix thirds = mix_of("read:0.333333333:delete:0.666666667");
    for (int i = 0; i < DRAWS; i++) {
        enum traffic_kind kind = traffic_mix_kind(&thirds, &random);
        assert_true(kind == TRAFFIC_READ || kind == TRAFFIC_DELETE);
    }
}

static int64_t middle_of(const char *text, double *mean, double *below_100)
{
    enum {
        DRAWS = 100001
    };
    static int32_t draws[DRAWS];
    struct item_sizes s;
    struct prng random = prng_seeded(2);
    int64_t low = 0, high = 409600;
    assert_null(item_sizes_parse(&s, text));
    *mean = *below_100 = 0;
    for (int i = 0; i < DRAWS; i++) {
        draws[i] = item_sizes_next(&s, &random);
        assert_in_range(draws[i], s.min, s.max);
        *mean += draws[i] / (double)DRAWS;
        *below_100 += (draws[i] < 100) / (double)DRAWS;
    }
    while (low < high) { /* the least size that half of the draws do not exceed */
        int64_t middle = (low + high) / 2, count = 0;
        for (int i = 0; i < DRAWS; i++)
            count += draws[i] <= middle;
        if (count > DRAWS / 2)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

TEST(sizes_are_spread_as_described)
{
    double mean, below;
    assert_int_equal(middle_of("900", &mean, &below), 900);
    assert_in_range(middle_of("uniform:100:4000", &mean, &below), 2050 - 40, 2050 + 40);
    assert_true(fabs(mean - 2050) < 5 * 3901 / sqrt(12.0 * 100001));
    /* The paper's median, and its share below 100 bytes. The mean of a log-normal lies far
     * above. */
    assert_in_range(middle_of("twitter", &mean, &below), 225, 235);
    assert_true(fabs(below - 0.24) < 0.01);
    assert_true(fabs(mean / (230 * exp(1.18 * 1.18 / 2)) - 1) < 0.05);
    assert_in_range(middle_of("twitter:1000", &mean, &below), 975, 1025);
}

TEST(malformed_mixes_sizes_and_clients_are_refused)
{
    static const char *const mixes[] = {"",
                                        "ycsb",
                                        "ycsb:G",
                                        "ycsb:AB",
                                        "read",
                                        "read:0.5",
                                        "read:1:write:0",
                                        "read:0.7:update:0.7",
                                        "read:2:update:-1",
                                        "read:1:eventual:2",
                                        "scan:1:scan-length:0",
                                        "scan:1:scan-length:1.5",
                                        "read:1:"},
                             *const sizes[] = {"",    "0",         "409601",      "1.5",
                                               "x",   "uniform",   "uniform:5",   "uniform:9:5",
                                               "1:2", "twitter:0", "twitter:1:2", "uniform:1:2:3",
                                               "nan"},
                             *const clients[] = {"",         "closed",       "closed:0:1",
                                                 "closed:5", "closed:5:-1",  "closed:5:1:normal",
                                                 "open:5:1", "closed:1.5:1", "closed:5:1:"};
    struct traffic_mix m;
    struct item_sizes s;
    struct traffic_clients c;
    for (size_t i = 0; i < COUNT_OF(mixes); i++)
        if (traffic_mix_parse(&m, mixes[i]) == NULL)
            fail_msg("`%s` was taken", mixes[i]);
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        if (item_sizes_parse(&s, sizes[i]) == NULL)
            fail_msg("`%s` was taken", sizes[i]);
    for (size_t i = 0; i < COUNT_OF(clients); i++)
        if (traffic_clients_parse(&c, clients[i]) == NULL)
            fail_msg("`%s` was taken", clients[i]);
}

/* ---- traffic ---- */

static struct traffic_options described(void)
{
    struct traffic_options o = traffic_defaults();
    o.start_ns = 7 * NS_PER_S;
    o.end_ns = 17 * NS_PER_S;
    assert_null(rate_curve_parse(&o.rate, "diurnal:1000:4.3:5:0.2"));
    assert_null(load_keys_parse(&o.keys, "zipf:0.9"));
    assert_null(traffic_mix_parse(&o.mix, "read:0.6:update:0.2:scan:0.2:eventual:0.3"));
    assert_null(item_sizes_parse(&o.sizes, "uniform:50:500"));
    return o;
}

TEST(the_same_seed_gives_the_same_requests) /* TRAFFIC-1 */
{
    struct traffic_options o = described();
    struct traffic a, b, other;
    struct traffic_request x = {0}, y = {0}, z = {0};
    int64_t last_ns = o.start_ns, count = 0, differing = 0;
    traffic_init(&a, &o, 1);
    traffic_init(&b, &o, 1);
    traffic_init(&other, &o, 2);
    while (traffic_next(&a, &x)) {
        assert_true(traffic_next(&b, &y));
        assert_memory_equal(&x, &y, sizeof x);
        if (traffic_next(&other, &z))
            differing += z.at_ns != x.at_ns && z.key != x.key;
        assert_int_equal(x.number, count++);
        assert_true(x.at_ns >= last_ns && x.at_ns < o.end_ns);
        last_ns = x.at_ns;
    }
    assert_false(traffic_next(&b, &y));
    assert_false(traffic_next(&a, &x));
    assert_true(count > 8000 && differing > count / 2);
    traffic_deinit(&a);
    traffic_deinit(&b);
    traffic_deinit(&other);
}

/* Common random numbers: what is changed in one part leaves the others as they are. */
TEST(each_part_has_random_numbers_of_its_own) /* TRAFFIC-2 */
{
    struct traffic_options plain = described(), other = plain;
    struct traffic a, b;
    struct traffic_request x = {0}, y = {0};
    enum {
        MIX,
        SIZES,
        KEYS,
        ARRIVALS,
        CHANGES
    };
    for (int change = 0; change < CHANGES; change++) {
        other = plain;
        if (change == MIX)
            other.mix = mix_of("read-modify-write:0.5:delete:0.1:read:0.4");
        if (change == SIZES)
            assert_null(item_sizes_parse(&other.sizes, "twitter"));
        if (change == KEYS)
            assert_null(load_keys_parse(&other.keys, "uniform"));
        if (change == ARRIVALS)
            other.arrivals = ARRIVAL_CONSTANT;
        traffic_init(&a, &plain, 5);
        traffic_init(&b, &other, 5);
        for (int i = 0; i < 5000; i++) {
            assert_true(traffic_next(&a, &x) && traffic_next(&b, &y));
            assert_true(change == ARRIVALS || x.at_ns == y.at_ns);
            assert_true(change == KEYS || x.key == y.key);
            assert_true(change == SIZES || x.size_bytes == y.size_bytes);
            assert_true(change == MIX || (x.kind == y.kind && x.consistent == y.consistent &&
                                          x.scan_length == y.scan_length));
        }
        traffic_deinit(&a);
        traffic_deinit(&b);
    }
}

TEST(requests_are_consistent_and_as_long_as_in_the_mix)
{
    struct traffic_options o = described();
    struct traffic t;
    struct traffic_request r;
    int64_t reads = 0, eventual = 0, scans = 0, items = 0;
    o.mix.scan_length_max = 9;
    traffic_init(&t, &o, 3);
    while (traffic_next(&t, &r)) {
        bool is_read = !traffic_kind_writes(r.kind);
        assert_true(is_read || r.consistent);
        assert_in_range(r.scan_length, 1, r.kind == TRAFFIC_SCAN ? 9 : 1);
        assert_in_range(r.size_bytes, 50, 500);
        reads += is_read;
        eventual += !r.consistent;
        scans += r.kind == TRAFFIC_SCAN;
        items += r.kind == TRAFFIC_SCAN ? r.scan_length : 0;
    }
    assert_true(fabs((double)eventual / (double)reads - 0.3) < 0.03);
    assert_true(fabs((double)items / (double)scans - 5) < 0.3);
    traffic_deinit(&t);
}

TEST(a_closed_loop_makes_requests_on_demand_and_thinks)
{
    struct traffic_options o = described();
    struct traffic t;
    struct traffic_request r;
    double sum = 0;
    assert_null(traffic_clients_parse(&o.clients, "closed:20:50:exponential"));
    assert_int_equal(o.clients.count, 20);
    traffic_init(&t, &o, 4);
    for (uint64_t i = 0; i < 20000; i++) {
        traffic_make(&t, o.start_ns + 5, &r);
        assert_int_equal(r.number, i);
        assert_int_equal(r.at_ns, TRAFFIC_NO_TIME);
        assert_true(r.key < o.keys.count);
        sum += (double)traffic_think_ns(&t);
    }
    assert_true(fabs(sum / 20000 / 50e6 - 1) < 5 / sqrt(20000));
    traffic_deinit(&t);
    assert_null(traffic_clients_parse(&o.clients, "closed:1:2.5"));
    traffic_init(&t, &o, 4);
    assert_int_equal(traffic_think_ns(&t), 2500000);
    traffic_deinit(&t);
}

TEST(inserts_are_new_keys_and_latest_follows_them)
{
    struct traffic_options o = described();
    struct traffic t;
    struct traffic_request r;
    uint64_t next = 100;
    o.keys.count = 100;
    assert_true(ycsb_workload('D', &o.mix, &o.keys, &o.sizes));
    traffic_init(&t, &o, 6);
    while (traffic_next(&t, &r)) {
        if (r.kind == TRAFFIC_INSERT)
            assert_int_equal(r.key, next++);
        else
            assert_true(r.key < next && r.key + 100 >= next);
    }
    assert_true(next > 400);
    traffic_deinit(&t);
}

/* ---- a source ---- */

struct listed {
    int64_t count;
};

static bool listed_next(void *context, struct traffic_request *out)
{
    struct listed *l = context;
    *out = (struct traffic_request){.at_ns = l->count * NS_PER_S, .key = (uint64_t)l->count * 3};
    return l->count++ < 100;
}

TEST(a_source_takes_the_place_of_the_description)
{
    struct listed l = {0};
    struct traffic_options o = described();
    struct traffic t;
    struct traffic_request r;
    o.source = (struct traffic_source){.next = listed_next, .context = &l, .speed = 2};
    traffic_init(&t, &o, 1);
    for (int64_t i = 0; i < 20; i++) { /* 10 s at twice the speed */
        assert_true(traffic_next(&t, &r));
        assert_int_equal(r.at_ns, o.start_ns + i * NS_PER_S / 2);
        assert_int_equal(r.key, i * 3);
        assert_int_equal(r.number, i);
    }
    assert_false(traffic_next(&t, &r));
    traffic_deinit(&t);
}
