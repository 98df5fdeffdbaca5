/* What a partition's keys are asked for, one fact at a time. */
#include "base/settings/heat.h"
#include "engine/heat/heat.h"
#include "engine/item/storage_key.h"
#include "tests/check.h"

enum {
    TABLE_ID = 9
};

#define HALF_LIFE_NS (10 * NS_PER_S) /* the default */

static const struct slice lo = {(const uint8_t *)"\0\0\0\x09", 4};
static const struct slice hi = {(const uint8_t *)"\0\0\0\x0A", 4};

struct scene {
    struct config config;
    struct heat heat;
    struct arena arena;
    struct instant now;
    struct buffer key;
    struct prng prng;
};

static void scene_init(struct scene *s)
{
    *s = (struct scene){.now = {5 * NS_PER_S}, .prng = prng_seeded(1)};
    config_init(&s->config, PROFILE_AWS);
    config_edit_heat(&s->config)->heat_start_percent = 0;
    heat_init(&s->heat, lo, hi, 1, &s->config);
}

static void scene_deinit(struct scene *s)
{
    heat_deinit(&s->heat);
    arena_deinit(&s->arena);
    buffer_deinit(&s->key);
}

/* The name comes right behind the table's id: names in order are keys in order. */
static struct slice name(struct scene *s, const char *text)
{
    buffer_clear(&s->key);
    buffer_append_slice(&s->key, lo);
    buffer_append_text(&s->key, text);
    return buffer_slice(&s->key);
}

static struct slice numbered(struct scene *s, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%010llu", (unsigned long long)number);
    return name(s, text);
}

static void add_many(struct scene *s, enum admit_kind kind, int count, int64_t cost_mcu,
                     int64_t step_ns)
{
    for (int i = 0; i < count; i++) {
        heat_add(&s->heat, s->now, kind, numbered(s, prng_below(&s->prng, 1000)), cost_mcu);
        s->now.ns += step_ns;
    }
}

TEST(a_steady_rate_is_reported_as_it_is)
{
    struct scene s;
    scene_init(&s);
    assert_int_equal(heat_rate(&s.heat, s.now, ADMIT_WRITE), 0);
    for (int second = 0; second < 65; second++) {
        add_many(&s, ADMIT_WRITE, 500, 2000, 2 * NS_PER_MS);
        add_many(&s, ADMIT_READ, 1, 500, 0);
        assert_in_range(heat_rate(&s.heat, s.now, ADMIT_WRITE), 999000, 1001000);
    }
    assert_in_range(heat_rate(&s.heat, s.now, ADMIT_READ), 450, 550);
    scene_deinit(&s);
}

TEST(a_half_life_later_all_counts_half) /* METER-2 */
{
    struct scene s;
    scene_init(&s);
    add_many(&s, ADMIT_WRITE, 5000, 1000, NS_PER_MS);
    assert_int_equal(heat_samples(&s.heat, s.now, ADMIT_WRITE), 5000);
    struct heat_point *points;
    for (int64_t left = 5000; left > 2; left /= 2) {
        int64_t sum = 0;
        assert_int_equal(heat_samples(&s.heat, s.now, ADMIT_WRITE), left);
        uint32_t count = heat_points(&s.heat, s.now, &s.arena, &points);
        for (uint32_t i = 0; i < count; i++)
            sum += points[i].mcu[ADMIT_WRITE];
        if (left > 500)
            assert_in_range(sum, left * 1000 - left * 20, left * 1000 + left * 20);
        s.now.ns += HALF_LIFE_NS;
    }
    scene_deinit(&s);
}

TEST(a_rest_is_not_counted_into_the_rate_that_follows)
{
    struct scene s;
    scene_init(&s);
    add_many(&s, ADMIT_WRITE, 2000, 1000, NS_PER_MS);
    s.now.ns += 3600 * NS_PER_S;
    add_many(&s, ADMIT_WRITE, 2000, 1000, NS_PER_MS);
    assert_in_range(heat_rate(&s.heat, s.now, ADMIT_WRITE), 990000, 1010000);
    scene_deinit(&s);
}

TEST(memory_is_bounded_whatever_the_keys_and_given_back_when_cold)
{
    struct scene s;
    char text[6000];
    scene_init(&s);
    assert_int_equal(heat_memory(&s.heat), 0);
    for (int i = 0; i < 40000; i++) {
        size_t size = (size_t)prng_below(&s.prng, sizeof text - 1);
        memset(text, 'a' + (int)prng_below(&s.prng, 26), size);
        text[size] = 0;
        heat_add(&s.heat, s.now, prng_below(&s.prng, 2) ? ADMIT_READ : ADMIT_WRITE, name(&s, text),
                 prng_between(&s.prng, 1, 400000000));
        s.now.ns += NS_PER_MS;
    }
    assert_in_range(heat_memory(&s.heat), 2 * sizeof(struct sketch), HEAT_MEMORY_MAX);
    assert_true(heat_cool(&s.heat, s.now));
    s.now.ns += 30 * HALF_LIFE_NS;
    assert_false(heat_cool(&s.heat, s.now));
    assert_int_equal(heat_memory(&s.heat), 0);
    assert_int_equal(heat_rate(&s.heat, s.now, ADMIT_READ), 0);
    scene_deinit(&s);
}

TEST(the_same_calls_give_the_same_answers) /* HEAT-3, SKETCH-3 */
{
    struct scene a, b;
    struct heat_point *x, *y;
    scene_init(&a);
    scene_init(&b);
    add_many(&a, ADMIT_READ, 300000, 700, 100000);
    add_many(&b, ADMIT_READ, 300000, 700, 100000);
    uint32_t count = heat_points(&a.heat, a.now, &a.arena, &x);
    assert_int_equal(count, heat_points(&b.heat, b.now, &b.arena, &y));
    for (uint32_t i = 0; i < count; i++) {
        assert_true(slice_equal(x[i].key, y[i].key));
        assert_int_equal(x[i].mcu[ADMIT_READ], y[i].mcu[ADMIT_READ]);
    }
    scene_deinit(&a);
    scene_deinit(&b);
}

/* Of keys of which every other one costs 100 times as much: weights are by cost, at any rate:
 * SKETCH-2. */
TEST(weights_are_by_cost_without_bias)
{
    for (int round = 0; round < 3; round++) { /* counted; coarser and coarser samples */
        struct scene s;
        struct heat_point *points;
        int64_t even = 0, odd = 0;
        scene_init(&s);
        for (int i = 0; i < 10000 << (3 * round); i++) {
            uint64_t key = prng_below(&s.prng, 1000);
            heat_add(&s.heat, s.now, ADMIT_WRITE, numbered(&s, key), key % 2 ? 1000 : 30000);
        }
        uint32_t count = heat_points(&s.heat, s.now, &s.arena, &points);
        for (uint32_t i = 0; i < count; i++)
            *(points[i].key.data[points[i].key.size - 1] % 2 ? &odd : &even) +=
                points[i].mcu[ADMIT_WRITE];
        assert_in_range(even * 100 / (odd + even), 95, 98); /* 96.8 */
        scene_deinit(&s);
    }
}

/* A key's rate as the points say, and the error that is possible in 997 of 1000 cases. */
struct heavy {
    struct slice key; /* without the shared bytes */
    int64_t rate_mcu;
    int64_t error_mcu;
};

/* The heaviest keys, heaviest first. Keys whose weight may be zero are left out. */
static uint32_t heaviest(struct scene *s, enum admit_kind kind, struct heavy *out, uint32_t max)
{
    struct heat_point *points;
    const uint32_t count = heat_points(&s->heat, s->now, &s->arena, &points);
    const int64_t rate = heat_rate(&s->heat, s->now, kind);
    const int64_t error = 3 * heat_error(&s->heat, s->now, kind);
    int64_t total = 0;
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        total += points[i].mcu[kind];
    for (; total > 0 && found < max; found++) {
        struct heat_point *most = points;
        for (uint32_t i = 1; i < count; i++)
            most = points[i].mcu[kind] > most->mcu[kind] ? &points[i] : most;
        int64_t of_key = (int64_t)((__int128)most->mcu[kind] * rate / total);
        if (of_key <= error)
            break;
        out[found] = (struct heavy){most->key, of_key, error};
        most->mcu[kind] = 0;
    }
    return found;
}

static struct slice unshared(const struct scene *s, struct slice key)
{
    return slice_make(key.data + s->heat.shared, key.size - s->heat.shared);
}

TEST(cheap_requests_are_sampled_without_bias)
{
    struct scene s;
    scene_init(&s);
    for (int i = 0; i < 1000000; i++)
        heat_add(&s.heat, s.now, ADMIT_READ, name(&s, i % 4 ? "often" : "rarely"), 1);
    struct heavy top[2];
    assert_int_equal(heaviest(&s, ADMIT_READ, top, 2), 2);
    assert_in_range(top[0].rate_mcu, 735000, 765000);
    assert_in_range(top[1].rate_mcu, 235000, 265000);
    scene_deinit(&s);
}

TEST(heavy_keys_are_found_with_their_rate_and_its_error)
{
    struct scene s;
    struct heavy top[3];
    scene_init(&s);
    assert_int_equal(heaviest(&s, ADMIT_WRITE, top, 3), 0);
    for (int i = 0; i < 30000; i++) {
        uint64_t u = prng_below(&s.prng, 100);
        uint64_t key = u < 20 ? 777 : u < 30 ? 111 : prng_below(&s.prng, 100000);
        heat_add(&s.heat, s.now, ADMIT_WRITE, numbered(&s, key), 1000);
        s.now.ns += NS_PER_MS / 2;
    }
    assert_true(heaviest(&s, ADMIT_WRITE, top, 3) >= 2);
    assert_true(slice_equal(top[0].key, unshared(&s, numbered(&s, 777))));
    assert_true(slice_equal(top[1].key, unshared(&s, numbered(&s, 111))));
    for (int i = 0; i < 2; i++) {
        int64_t truth = i == 0 ? 400000 : 200000, wrong = top[i].rate_mcu - truth;
        assert_true(top[i].key.size < SKETCH_KEY_MAX);
        assert_true((wrong < 0 ? -wrong : wrong) <= top[i].error_mcu + 10000); /* the draw's own */
        assert_true(top[i].error_mcu < 60000);                                 /* of 2 million */
    }
    scene_deinit(&s);
}

TEST(a_key_longer_than_is_kept_is_cut_off)
{
    struct scene s;
    struct heavy top;
    char text[1001];
    memset(text, 'x', 1000);
    text[1000] = 0;
    scene_init(&s);
    for (int i = 0; i < 5000; i++)
        heat_add(&s.heat, s.now, ADMIT_READ, name(&s, text), 500);
    assert_int_equal(heaviest(&s, ADMIT_READ, &top, 1), 1);
    assert_int_equal(top.key.size, SKETCH_KEY_MAX);
    assert_true(slice_starts_with(unshared(&s, name(&s, text)), top.key));
    scene_deinit(&s);
}

static void move(struct scene *s, int64_t from, int64_t step, int count)
{
    for (int i = 0; i < count; i++)
        heat_add(&s->heat, s->now, ADMIT_WRITE,
                 numbered(s, (uint64_t)(from + i * step + prng_between(&s->prng, 0, 20))), 1000);
}

TEST(the_direction_is_that_of_the_frontier)
{
    struct scene s;
    scene_init(&s);
    assert_int_equal(heat_direction(&s.heat, ADMIT_WRITE), SKETCH_UNKNOWN);
    move(&s, 1000, 1, 100);
    assert_int_equal(heat_direction(&s.heat, ADMIT_WRITE), SKETCH_UNKNOWN);
    move(&s, 1100, 1, 2000);
    assert_int_equal(heat_direction(&s.heat, ADMIT_WRITE), SKETCH_FORWARD);
    add_many(&s, ADMIT_WRITE, 40000, 1000, 0);
    assert_int_equal(heat_direction(&s.heat, ADMIT_WRITE), SKETCH_STAYS);
    scene_deinit(&s);
    scene_init(&s);
    move(&s, 100000, -1, 2000);
    assert_int_equal(heat_direction(&s.heat, ADMIT_WRITE), SKETCH_BACKWARD);
    scene_deinit(&s);
}

/* A frontier that takes thousands of requests to move on: the long windows see it. */
TEST(a_slow_frontier_is_seen_too)
{
    struct scene s;
    scene_init(&s);
    for (int i = 0; i < 40000; i++)
        heat_add(&s.heat, s.now, ADMIT_WRITE, numbered(&s, (uint64_t)i + prng_below(&s.prng, 3000)),
                 1000);
    assert_int_equal(heat_direction(&s.heat, ADMIT_WRITE), SKETCH_FORWARD);
    scene_deinit(&s);
}

TEST(a_heat_that_jumps_once_does_not_move)
{
    struct scene s;
    scene_init(&s);
    for (int i = 0; i < 20000; i++)
        heat_add(&s.heat, s.now, ADMIT_WRITE,
                 numbered(&s, (i < 10000 ? 0 : 5000) + prng_below(&s.prng, 1000)), 1000);
    assert_int_equal(heat_direction(&s.heat, ADMIT_WRITE), SKETCH_STAYS);
    scene_deinit(&s);
}

TEST(a_load_that_begins_is_seen_in_full_and_a_steady_one_without_noise)
{
    struct scene s;
    scene_init(&s);
    add_many(&s, ADMIT_WRITE, 3000, 1000, 10 * NS_PER_MS); /* 100 a second */
    add_many(&s, ADMIT_WRITE, 3000, 1000, NS_PER_MS);      /* 1,000 */
    assert_in_range(heat_rate(&s.heat, s.now, ADMIT_WRITE), 100000, 400000);
    assert_in_range(heat_rate_now(&s.heat, s.now, ADMIT_WRITE), 990000, 1010000);
    add_many(&s, ADMIT_WRITE, 3000, 1000, 10 * NS_PER_MS);
    assert_in_range(heat_rate_now(&s.heat, s.now, ADMIT_WRITE), 95000, 150000); /* it has ended */
    add_many(&s, ADMIT_WRITE, 300000, 1000, NS_PER_MS);
    add_many(&s, ADMIT_WRITE, 1050, 1000, NS_PER_MS * 100 / 105); /* by chance */
    assert_int_equal(heat_rate_now(&s.heat, s.now, ADMIT_WRITE),
                     heat_rate(&s.heat, s.now, ADMIT_WRITE));
    scene_deinit(&s);
}

/* One write unit of a thousand in a second is a thousandth of the maximum; reads count apart. */
TEST(a_partition_with_little_demand_has_no_heat)
{
    struct scene s;
    scene_init(&s);
    config_edit_heat(&s.config)->heat_start_percent = 1;
    heat_deinit(&s.heat);
    assert_false(heat_is_init(&s.heat));
    heat_init(&s.heat, lo, hi, 1, &s.config);
    add_many(&s, ADMIT_WRITE, 100, 1000, NS_PER_S / 10); /* 10 units a second */
    assert_int_equal(heat_memory(&s.heat), 0);
    assert_int_equal(heat_samples(&s.heat, s.now, ADMIT_WRITE), 0);
    add_many(&s, ADMIT_WRITE, 100, 1000, NS_PER_S / 100); /* 100 units a second */
    assert_in_range(heat_samples(&s.heat, s.now, ADMIT_WRITE), 85, 100);
    assert_int_equal(heat_samples(&s.heat, s.now, ADMIT_READ), 0);
    assert_in_range(heat_rate_now(&s.heat, s.now, ADMIT_WRITE), 85000, 100000);
    scene_deinit(&s);
}
