/* Where a partition is split, and when it is not. */
#include "base/limits.h"
#include "base/settings/heat.h"
#include "engine/heat/split_point.h"
#include "engine/item/storage_key.h"
#include "engine/key_sharding/key_sharding.h"
#include "tests/check.h"

enum {
    TABLE_ID = 9,
    SECONDS = 12,
    SAMPLES_MIN = 256 /* the default */
};

static const struct slice lo = {(const uint8_t *)"\0\0\0\x09", 4};
static const struct slice hi = {(const uint8_t *)"\0\0\0\x0A", 4};

struct scene {
    struct config config;
    struct heat heat;
    struct arena arena;
    struct instant now;
    struct buffer key;
    struct prng prng;
    struct split_question question;
    struct split_advice advice;
};

static void scene_init(struct scene *s)
{
    *s = (struct scene){.now = {5 * NS_PER_S}, .prng = prng_seeded(1)};
    config_init(&s->config, PROFILE_AWS);
    config_edit_heat(&s->config)->heat_start_percent = 0;
    s->question = split_question_of(&s->config, lo, hi);
    heat_init(&s->heat, lo, hi, 1, &s->config);
}

static void scene_deinit(struct scene *s)
{
    heat_deinit(&s->heat);
    arena_deinit(&s->arena);
    buffer_deinit(&s->key);
}

static struct slice item(struct scene *s, const char *partition, uint64_t sort)
{
    char text[24];
    struct attr p = {.type = ATTR_STRING, .body = slice_of(partition)};
    snprintf(text, sizeof text, "%06llu", (unsigned long long)sort);
    struct attr k = {.type = ATTR_STRING, .body = slice_of(text)};
    buffer_clear(&s->key);
    storage_key_append(&s->key, TABLE_ID, &p, &k);
    return buffer_slice(&s->key);
}

static void add(struct scene *s, enum admit_kind kind, struct slice key)
{
    heat_add(&s->heat, s->now, kind, key, kind == ADMIT_READ ? 3000 : 1000);
}

static enum split_verdict ask(struct scene *s)
{
    split_advise(&s->heat, s->now, &s->question, &s->arena, &s->advice);
    return s->advice.verdict;
}

/* At `per_mille` of the maximum, 1,000 requests a second each of which is a thousandth. */
#define LOAD(s, per_mille, kind, key)                                                      \
    for (int ms_ = 0; ms_ < SECONDS * 1000; ms_++) {                                       \
        (s)->now.ns += NS_PER_MS;                                                          \
        for (int n_ = ms_ * (per_mille) / 1000; n_ < (ms_ + 1) * (per_mille) / 1000; n_++) \
            add((s), (kind), (key));                                                       \
    }

static void assert_points_are_valid(const struct scene *s)
{
    const struct split_advice *a = &s->advice;
    for (uint32_t i = 0; i < a->point_count; i++) {
        assert_true(slice_compare(a->points[i], i == 0 ? s->question.lo : a->points[i - 1]) > 0);
        assert_true(slice_compare(a->points[i], s->question.hi) < 0);
    }
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i <= a->point_count; i++)
            sum += a->share_ppm[kind][i];
        assert_int_equal(sum, SPLIT_WHOLE_PPM);
    }
}

TEST(nothing_is_said_of_a_partition_that_was_hardly_used)
{
    struct scene s;
    scene_init(&s);
    assert_int_equal(ask(&s), SPLIT_REFUSED_FEW_SAMPLES);
    for (uint64_t i = 0; i < SAMPLES_MIN - 1; i++)
        add(&s, ADMIT_WRITE, item(&s, "p", i));
    assert_int_equal(ask(&s), SPLIT_REFUSED_FEW_SAMPLES);
    assert_int_equal(s.advice.samples, SAMPLES_MIN - 1);
    scene_deinit(&s);
}

/* An item of a shard of a partition key, whose sort keys ascend. */
static struct slice sharded(struct scene *s, uint32_t shard, uint64_t sort)
{
    const struct slice key = item(s, "p", sort);
    key_shard_put(s->key.data, key_shard_bare_hash(key), shard);
    return key;
}

/* Each shard's load only moves forward, that of both does not. */
TEST(two_shards_of_a_key_get_a_partition_each)
{
    struct scene s;
    scene_init(&s);
    sharded(&s, 0, 0);
    struct buffer first = {0}, second = {0};
    buffer_append_slice(&first, buffer_slice(&s.key));
    buffer_append_slice(&second, sharded(&s, 5, 0));
    const bool ascends = slice_compare(buffer_slice(&first), buffer_slice(&second)) < 0;
    LOAD(&s, 1400, ADMIT_WRITE, sharded(&s, n_ % 2 == 0 ? 0 : 5, (uint64_t)n_));
    assert_int_equal(ask(&s), SPLIT_ADVISED);
    assert_int_equal(s.advice.point_count, 1);
    assert_in_range(s.advice.share_ppm[ADMIT_WRITE][0], 450000, 550000);
    /* What is written from now on lies on both sides. */
    assert_true(slice_compare(sharded(&s, ascends ? 0 : 5, 999999), s.advice.points[0]) < 0);
    assert_true(slice_compare(sharded(&s, ascends ? 5 : 0, 999999), s.advice.points[0]) >= 0);
    buffer_deinit(&first);
    buffer_deinit(&second);
    scene_deinit(&s);
}

TEST(the_split_is_the_shortest_key_that_divides)
{
    struct scene s;
    scene_init(&s);
    LOAD(&s, 1200, ADMIT_WRITE, item(&s, "p", prng_below(&s.prng, 2) ? 1234 : 777777));
    assert_int_equal(ask(&s), SPLIT_ADVISED);
    assert_int_equal(s.advice.point_count, 1);
    assert_points_are_valid(&s);
    item(&s, "p", 777777);
    s.key.size -= 7; /* five digits and the terminator: "001234" and "777777" differ at once */
    assert_true(slice_equal(s.advice.points[0], buffer_slice(&s.key)));
    assert_in_range(s.advice.share_ppm[ADMIT_WRITE][0], 480000, 520000);
    assert_int_equal(s.advice.share_ppm[ADMIT_READ][0], SPLIT_WHOLE_PPM / 2); /* none seen */
    scene_deinit(&s);
}

/* Reads of the lower third, writes of the upper two: weights are over the maxima. */
TEST(reads_and_writes_weigh_by_their_maxima)
{
    struct scene s;
    scene_init(&s);
    LOAD(&s, 500, ADMIT_READ, item(&s, "p", prng_below(&s.prng, 1000)));
    LOAD(&s, 1000, ADMIT_WRITE, item(&s, "p", 1000 + prng_below(&s.prng, 2000)));
    s.question.children = 2;
    assert_int_equal(ask(&s), SPLIT_ADVISED);
    /* the reads are older by a half-life: 0.5 of them against 1.0 .. of writes */
    assert_int_equal(s.advice.share_ppm[ADMIT_READ][0], SPLIT_WHOLE_PPM);
    assert_in_range(s.advice.share_ppm[ADMIT_WRITE][0], 250000, 450000);
    scene_deinit(&s);
}

TEST(as_many_children_as_the_rate_needs)
{
    struct scene s;
    scene_init(&s);
    LOAD(&s, 3000, ADMIT_WRITE, item(&s, "p", prng_below(&s.prng, 100000)));
    assert_int_equal(ask(&s), SPLIT_ADVISED);
    assert_int_equal(s.advice.point_count, 3); /* 3.0 / 0.8 */
    assert_points_are_valid(&s);
    for (int i = 0; i < 4; i++)
        assert_in_range(s.advice.share_ppm[ADMIT_WRITE][i], 235000, 265000);
    s.question.children = 16;
    assert_int_equal(ask(&s), SPLIT_ADVISED);
    assert_int_equal(s.advice.point_count, 15);
    assert_points_are_valid(&s);
    for (int i = 0; i < 16; i++)
        assert_in_range(s.advice.share_ppm[ADMIT_WRITE][i], 50000, 75000);
    scene_deinit(&s);
}

TEST(a_heavy_key_takes_its_child_and_the_others_share_the_rest)
{
    struct scene s;
    scene_init(&s);
    s.question.children = 4;
    LOAD(&s, 1500, ADMIT_WRITE,
         item(&s, "p", prng_below(&s.prng, 10) < 4 ? 0 : 1 + prng_below(&s.prng, 100000)));
    assert_int_equal(ask(&s), SPLIT_ADVISED);
    assert_in_range(s.advice.share_ppm[ADMIT_WRITE][0], 380000, 420000);
    for (int i = 1; i < 4; i++)
        assert_in_range(s.advice.share_ppm[ADMIT_WRITE][i], 180000, 220000);
    scene_deinit(&s);
}

TEST(a_key_that_carries_the_heat_is_named_instead)
{
    struct scene s;
    scene_init(&s);
    LOAD(&s, 900, ADMIT_WRITE,
         item(&s, "p", prng_below(&s.prng, 10) < 9 ? 5 : prng_below(&s.prng, 100000)));
    assert_int_equal(ask(&s), SPLIT_REFUSED_POPULAR_KEY); /* under the maximum, but most of it */
    assert_true(slice_equal(s.advice.key, item(&s, "p", 5)));
    assert_in_range(s.advice.key_share_ppm, 880000, 920000);
    scene_deinit(&s);
}

/* Whether the child holds the item of "p". */
static bool child_holds(struct scene *s, uint32_t child, uint64_t sort)
{
    const struct split_advice *a = &s->advice;
    struct slice key = item(s, "p", sort);
    return (child == 0 || slice_compare(a->points[child - 1], key) <= 0) &&
           (child == a->point_count || slice_compare(key, a->points[child]) < 0);
}

/* Items a second of the key and of its neighbours on either side, in that order; each second. */
static void load_key(struct scene *s, int key, int below, int above)
{
    int all = key + below + above;
    for (int i = 0; i < SECONDS * all; i++) {
        int r = (int)prng_below(&s->prng, (uint64_t)all);
        uint64_t at = 50000;
        if (r >= key)
            at =
                r < key + below ? prng_below(&s->prng, 50000) : 50001 + prng_below(&s->prng, 50000);
        s->now.ns += NS_PER_S / all;
        add(s, ADMIT_WRITE, item(s, "p", at));
    }
}

TEST(a_key_over_the_maximum_is_split_out_alone_if_its_neighbours_gain)
{
    struct scene s;
    scene_init(&s);
    load_key(&s, 1200, 500, 200);
    assert_int_equal(ask(&s), SPLIT_ADVISED);
    assert_points_are_valid(&s);
    assert_int_equal(s.advice.point_count, 2);
    assert_true(child_holds(&s, 1, 50000));
    assert_false(child_holds(&s, 1, 49999) ||
                 child_holds(&s, 1, 50001)); /* nothing else is there */
    assert_true(slice_equal(s.advice.key, item(&s, "p", 50000)));
    assert_int_equal(s.advice.key_served_mcu[ADMIT_WRITE], 1000000);
    assert_int_equal(s.advice.served_before_mcu[ADMIT_WRITE], 1000000);
    assert_in_range(s.advice.served_after_mcu[ADMIT_WRITE], 1650000, 1750000);
    scene_deinit(&s);
    scene_init(&s);
    load_key(&s, 900, 0,
             700); /* nobody on one side: one split; below the maximum, but not with them */
    assert_int_equal(ask(&s), SPLIT_ADVISED);
    assert_int_equal(s.advice.point_count, 1);
    assert_true(child_holds(&s, 0, 50000));
    assert_false(child_holds(&s, 0, 50001));
    scene_deinit(&s);
}

TEST(a_key_over_the_maximum_stays_where_nothing_is_gained)
{
    static const int neighbours[] = {0, 10, 40};
    for (size_t i = 0; i < sizeof neighbours / sizeof neighbours[0]; i++) {
        struct scene s;
        scene_init(&s);
        load_key(&s, 1200, neighbours[i], 0);
        assert_int_equal(ask(&s), SPLIT_REFUSED_POPULAR_KEY);
        assert_true(slice_equal(s.advice.key, item(&s, "p", 50000)));
        s.question.gain_ppm = 5000;
        assert_int_equal(ask(&s), neighbours[i] < 40 ? SPLIT_REFUSED_POPULAR_KEY : SPLIT_ADVISED);
        scene_deinit(&s);
    }
}

/* The neighbours of before are forgotten but slowly; that they would gain is not believed. */
TEST(neighbours_that_have_gone_gain_nothing)
{
    struct scene s;
    scene_init(&s);
    load_key(&s, 0, 60, 60);
    for (int ms = 0; ms < 2500; ms++) {
        s.now.ns += NS_PER_MS;
        add(&s, ADMIT_WRITE, item(&s, "p", 50000));
        add(&s, ADMIT_WRITE, item(&s, "p", 50000));
    }
    s.question.gain_ppm = 100000;
    assert_int_equal(ask(&s), SPLIT_REFUSED_POPULAR_KEY);
    scene_deinit(&s);
}

/* Two hot keys, each alone, and what is between them is divided as it needs. */
TEST(several_hot_keys_are_split_out_at_once)
{
    struct scene s;
    scene_init(&s);
    for (int i = 0; i < SECONDS * 4000; i++) {
        int r = (int)prng_below(&s.prng, 4000);
        uint64_t at = r < 1100   ? 20000
                      : r < 2100 ? 80000
                      : r < 3700 ? 20001 + prng_below(&s.prng, 59999)
                                 : 80001 + prng_below(&s.prng, 10000);
        s.now.ns += NS_PER_S / 4000;
        add(&s, ADMIT_WRITE, item(&s, "p", at));
    }
    assert_int_equal(ask(&s), SPLIT_ADVISED);
    assert_points_are_valid(&s);
    assert_int_equal(s.advice.point_count, 5); /* key, three of 533, key, 300 */
    assert_true(child_holds(&s, 0, 20000) && !child_holds(&s, 0, 20001));
    assert_true(child_holds(&s, 4, 80000) && !child_holds(&s, 4, 80001));
    assert_false(child_holds(&s, 4, 79999));
    scene_deinit(&s);
}

/* Where a range read begins is no item: nothing can be alone with it. */
TEST(the_beginning_of_a_range_is_not_split_out)
{
    struct scene s;
    scene_init(&s);
    for (int i = 0; i < SECONDS * 1500; i++) {
        s.now.ns += NS_PER_S / 1500;
        struct slice key = item(&s, "p", i % 5 ? 50000 : prng_below(&s.prng, 50000));
        key.size -= i % 5 ? 4 : 0;
        add(&s, ADMIT_WRITE, key);
    }
    if (ask(&s) == SPLIT_ADVISED) /* the neighbours may gain, once; there are no splits around it */
        assert_true(s.advice.point_count == 1);
    scene_deinit(&s);
}

TEST(collections_stay_whole_where_they_must)
{
    struct scene s;
    char names[8][8];
    scene_init(&s);
    for (int i = 0; i < 8; i++)
        snprintf(names[i], sizeof names[i], "p%d", i);
    LOAD(&s, 1200, ADMIT_WRITE,
         item(&s, names[prng_below(&s.prng, 8)], prng_below(&s.prng, 100000)));
    s.question.whole_collections = true;
    assert_int_equal(ask(&s), SPLIT_ADVISED);
    for (int i = 0; i < 8; i++) {
        bool below = slice_compare(item(&s, names[i], 0), s.advice.points[0]) < 0;
        assert_int_equal(slice_compare(item(&s, names[i], 99999), s.advice.points[0]) < 0, below);
    }
    assert_in_range(s.advice.share_ppm[ADMIT_WRITE][0], 450000, 550000);
    scene_deinit(&s);
}

TEST(a_collection_that_carries_the_heat_is_split_inside_or_named)
{
    struct scene s;
    struct buffer prefix = {0};
    struct attr p = {.type = ATTR_STRING, .body = slice_of("hot")};
    scene_init(&s);
    LOAD(&s, 1200, ADMIT_WRITE,
         item(&s, prng_below(&s.prng, 20) ? "hot" : "cold", prng_below(&s.prng, 100000)));
    storage_key_append_collection(&prefix, TABLE_ID, &p);
    assert_int_equal(ask(&s), SPLIT_ADVISED);
    assert_true(slice_starts_with(s.advice.points[0], buffer_slice(&prefix)));
    s.question.whole_collections = true;
    s.question.gain_ppm = 100000; /* the others are 60 of 1,000 */
    assert_int_equal(ask(&s), SPLIT_REFUSED_COLLECTION);
    assert_true(slice_equal(s.advice.key, buffer_slice(&prefix)));
    assert_in_range(s.advice.key_share_ppm, 930000, 970000);
    buffer_deinit(&prefix);
    scene_deinit(&s);
}

/* As fill and trigger are apart by what noise can do, the pieces of a steady load are not split
 * again; nor are there more than it needs. */
TEST(as_few_pieces_as_stay_below_the_trigger)
{
    static const struct {
        int load, pieces;
    } cases[] = {{850, 2}, {1500, 2}, {1600, 3}, {2100, 3}, {2400, 4}, {3000, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scene s;
        scene_init(&s);
        LOAD(&s, cases[i].load, ADMIT_WRITE, item(&s, "p", prng_below(&s.prng, 100000)));
        assert_int_equal(ask(&s), SPLIT_ADVISED);
        assert_int_equal(s.advice.point_count + 1, cases[i].pieces);
        for (uint32_t j = 0; j <= s.advice.point_count; j++)
            assert_true(s.advice.share_ppm[ADMIT_WRITE][j] / 1000 * (uint32_t)cases[i].load <
                        800 * 1000);
        scene_deinit(&s);
    }
}

/* Reads on one side, writes on the other, or both everywhere: no piece of one decision is above the
 * fill in either. */
TEST(one_decision_fits_reads_and_writes)
{
    for (int mixed = 0; mixed < 2; mixed++) {
        struct scene s;
        scene_init(&s);
        for (int i = 0; i < SECONDS * 1500; i++) {
            s.now.ns += NS_PER_S / 1500;
            add(&s, ADMIT_READ, item(&s, "p", prng_below(&s.prng, mixed ? 20000 : 10000)));
            add(&s, ADMIT_WRITE,
                item(&s, "p",
                     mixed ? prng_below(&s.prng, 20000) : 10000 + prng_below(&s.prng, 10000)));
        }
        assert_int_equal(ask(&s), SPLIT_ADVISED);
        assert_points_are_valid(&s);
        assert_int_equal(s.advice.point_count + 1, mixed ? 2 : 4);
        for (int kind = 0; kind < SPLIT_KINDS; kind++)
            for (uint32_t i = 0; i <= s.advice.point_count; i++)
                assert_true(s.advice.share_ppm[kind][i] * 3 / 2 <= s.question.fill_ppm);
        assert_in_range(s.advice.served_after_mcu[ADMIT_READ], 4400000, 4600000);
        s.question.children = 2; /* half reads, half writes: nothing would be lighter */
        assert_int_equal(ask(&s), mixed ? SPLIT_ADVISED : SPLIT_REFUSED_NO_BENEFIT);
        scene_deinit(&s);
    }
}

TEST(inserts_in_order_are_refused_upwards_and_downwards)
{
    struct scene s;
    uint64_t next = 1000;
    scene_init(&s);
    LOAD(&s, 1200, ADMIT_WRITE, item(&s, "log", next++));
    assert_int_equal(ask(&s), SPLIT_REFUSED_SEQUENTIAL);
    scene_deinit(&s);
    scene_init(&s);
    next = 900000;
    LOAD(&s, 1200, ADMIT_WRITE, item(&s, "log", next--));
    assert_int_equal(ask(&s), SPLIT_REFUSED_SEQUENTIAL);
    scene_deinit(&s);
}

/* ---- as bytes ---- */

static struct split_advice advice_of(enum split_verdict verdict)
{
    struct split_advice a = {.verdict = verdict, .samples = 12345};
    if (verdict == SPLIT_REFUSED_POPULAR_KEY || verdict == SPLIT_REFUSED_COLLECTION) {
        a.key = slice_of("key");
        a.key_share_ppm = 700000;
    }
    if (verdict != SPLIT_ADVISED)
        return a;
    a.point_count = 2;
    a.points[0] = slice_of("b");
    a.points[1] = slice_of("bc");
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        a.share_ppm[kind][0] = 200000;
        a.share_ppm[kind][1] = 300000;
        a.share_ppm[kind][2] = 500000;
        a.served_before_mcu[kind] = 1000 + kind;
        a.served_after_mcu[kind] = 2000 + kind;
        a.key_served_mcu[kind] = 500 + kind;
    }
    a.key = slice_of("b");
    a.key_share_ppm = 200000;
    return a;
}

TEST(advice_survives_its_bytes_and_no_part_of_them_decodes)
{
    struct buffer bytes = {0}, again = {0};
    for (enum split_verdict v = 0; v < SPLIT_VERDICTS; v++) {
        struct split_advice a = advice_of(v), b;
        buffer_clear(&bytes);
        buffer_clear(&again);
        split_advice_encode(&bytes, &a);
        assert_int_equal(split_advice_decode(buffer_slice(&bytes), &b), STATUS_OK);
        split_advice_encode(&again, &b);
        assert_true(slice_equal(buffer_slice(&bytes), buffer_slice(&again)));
        assert_int_equal(b.samples, 12345);
        assert_int_equal(b.point_count, a.point_count);
        assert_true(strlen(split_verdict_name(v)) > 0);
        for (size_t size = 0; size < bytes.size; size++)
            assert_int_equal(split_advice_decode(slice_make(bytes.data, size), &b),
                             STATUS_MALFORMED);
        buffer_append_u8(&bytes, 0);
        assert_int_equal(split_advice_decode(buffer_slice(&bytes), &b), STATUS_MALFORMED);
    }
    buffer_deinit(&bytes);
    buffer_deinit(&again);
}

static void assert_malformed(const struct split_advice *a)
{
    struct buffer bytes = {0};
    struct split_advice b;
    split_advice_encode(&bytes, a);
    assert_int_equal(split_advice_decode(buffer_slice(&bytes), &b), STATUS_MALFORMED);
    buffer_deinit(&bytes);
}

TEST(advice_that_makes_no_sense_does_not_decode)
{
    struct split_advice a = advice_of(SPLIT_ADVISED);
    a.points[1] = slice_of("b"); /* not ascending */
    assert_malformed(&a);
    a.points[1] = slice_of("a");
    assert_malformed(&a);
    a = advice_of(SPLIT_ADVISED);
    a.points[0] = slice_of("");
    assert_malformed(&a);
    a = advice_of(SPLIT_ADVISED);
    a.point_count = 0;
    assert_malformed(&a);
    a = advice_of(SPLIT_ADVISED);
    a.share_ppm[ADMIT_WRITE][1]--; /* not whole */
    assert_malformed(&a);
    a.share_ppm[ADMIT_WRITE][0] = UINT32_MAX;
    assert_malformed(&a);
    a = advice_of(SPLIT_ADVISED);
    a.served_after_mcu[ADMIT_WRITE] = -1;
    assert_malformed(&a);
    a = advice_of(SPLIT_REFUSED_POPULAR_KEY);
    a.key_share_ppm = SPLIT_WHOLE_PPM + 1;
    assert_malformed(&a);
    a = advice_of(SPLIT_REFUSED_COLLECTION);
    a.key = slice_of("");
    assert_malformed(&a);
    a = advice_of(SPLIT_REFUSED_NO_BENEFIT);
    a.samples = -1;
    assert_malformed(&a);
    a = advice_of(SPLIT_REFUSED_NO_BENEFIT);
    a.verdict = SPLIT_VERDICTS;
    assert_malformed(&a);
}
