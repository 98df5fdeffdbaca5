/* heavy_test.c - which partition keys most of a partition's heat is for. */
#include "engine/heat/heavy.h"

#include "base/prng.h"
#include "base/settings/heat.h"
#include "engine/item/storage_key.h"
#include "tests/check.h"

enum {
    TABLE = 7,
    UNIT = 1000 /* mcu */
};

struct scene {
    struct config config;
    struct heat heat;
    struct instant now;
    struct prng prng;
    struct buffer lo, hi, key, prefix;
    struct arena arena;
    uint32_t count;
    struct heavy_key heavy[HEAVY_KEYS_MAX];
};

static void scene_open(struct scene *s)
{
    *s = (struct scene){.now = {NS_PER_S}, .prng = prng_seeded(5)};
    config_init(&s->config, PROFILE_AWS);
    config_edit_heat(&s->config)->heat_start_percent = 0;
    buffer_append_be32(&s->lo, TABLE);
    buffer_append_be32(&s->hi, TABLE + 1);
    heat_init(&s->heat, buffer_slice(&s->lo), buffer_slice(&s->hi), 9, &s->config);
}

static void scene_close(struct scene *s)
{
    heat_deinit(&s->heat);
    arena_deinit(&s->arena);
    buffer_deinit(&s->lo);
    buffer_deinit(&s->hi);
    buffer_deinit(&s->key);
    buffer_deinit(&s->prefix);
}

static struct slice prefix_of(struct scene *s, const char *partition)
{
    const struct attr a = {.type = ATTR_STRING, .body = slice_of(partition)};
    buffer_clear(&s->prefix);
    storage_key_append_collection(&s->prefix, TABLE, &a);
    return buffer_slice(&s->prefix);
}

/* A write of a new item of the partition key. */
static void scene_write(struct scene *s, const char *partition)
{
    char text[24];
    snprintf(text, sizeof text, "%020llu", (unsigned long long)prng_next(&s->prng));
    const struct attr a = {.type = ATTR_STRING, .body = slice_of(partition)};
    const struct attr b = {.type = ATTR_STRING, .body = slice_of(text)};
    buffer_clear(&s->key);
    storage_key_append(&s->key, TABLE, &a, &b);
    heat_add(&s->heat, s->now, ADMIT_WRITE, buffer_slice(&s->key), UNIT);
}

static void scene_find(struct scene *s, int64_t least_units)
{
    arena_reset(&s->arena);
    s->count = heat_heavy_keys(&s->heat, s->now, ADMIT_WRITE, buffer_slice(&s->lo),
                               least_units * UNIT, &s->arena, s->heavy);
}

static void assert_heavy(struct scene *s, uint32_t i, const char *partition, int64_t units)
{
    assert_true(i < s->count);
    assert_true(slice_equal(s->heavy[i].key, prefix_of(s, partition)));
    assert_in_range(s->heavy[i].mcu, units * 93 * UNIT / 100, units * 107 * UNIT / 100);
}

/* Seconds of 2,000 writes: a half for "hot", a fifth for "warm", the rest for a thousand others. */
static void scene_run(struct scene *s, int seconds)
{
    char text[24];
    for (int i = 0; i < seconds * 2000; i++) {
        snprintf(text, sizeof text, "k%d", (int)prng_below(&s->prng, 1000));
        scene_write(s, i % 10 < 5 ? "hot" : i % 10 < 7 ? "warm" : text);
        s->now.ns += NS_PER_S / 2000;
    }
}

TEST(the_heaviest_keys_are_named_with_their_rates)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    scene_find(&s, 1);
    assert_int_equal(s.count, 0);
    scene_run(&s, 20);
    scene_find(&s, 300);
    assert_int_equal(s.count, 2);
    assert_heavy(&s, 0, "hot", 1000);
    assert_heavy(&s, 1, "warm", 400);
    scene_find(&s, 600);
    assert_int_equal(s.count, 1);
    scene_find(&s, 2500);
    assert_int_equal(s.count, 0);
    scene_find(&s, 0);
    assert_int_equal(s.count, HEAVY_KEYS_MAX);
    assert_heavy(&s, 1, "warm", 400);
    s.now.ns += 60 * NS_PER_S;
    scene_find(&s, 300);
    assert_int_equal(s.count, 0);
    scene_close(&s);
}

TEST(a_partition_inside_a_collection_names_it)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    heat_deinit(&s.heat);
    buffer_set(&s.lo, prefix_of(&s, "hot"));
    buffer_set(&s.hi, prefix_of(&s, "hot"));
    buffer_append_text(&s.lo, "0");
    buffer_append_text(&s.hi, "9");
    heat_init(&s.heat, buffer_slice(&s.lo), buffer_slice(&s.hi), 9, &s.config);
    for (int i = 0; i < 5000; i++) {
        do {
            char text[24];
            snprintf(text, sizeof text, "%d", 1 + (int)prng_below(&s.prng, 8));
            const struct attr a = {.type = ATTR_STRING, .body = slice_of("hot")};
            const struct attr b = {.type = ATTR_STRING, .body = slice_of(text)};
            buffer_clear(&s.key);
            storage_key_append(&s.key, TABLE, &a, &b);
        } while (slice_compare(buffer_slice(&s.key), buffer_slice(&s.hi)) >= 0);
        heat_add(&s.heat, s.now, ADMIT_WRITE, buffer_slice(&s.key), UNIT);
        s.now.ns += NS_PER_S / 500;
    }
    scene_find(&s, 100);
    assert_int_equal(s.count, 1);
    assert_heavy(&s, 0, "hot", 500);
    scene_close(&s);
}

TEST(a_key_that_the_sketch_cuts_off_is_not_named)
{
    struct scene s;
    char text[701] = {0};
    (void)state;
    scene_open(&s);
    memset(text, 'x', sizeof text - 1);
    for (int i = 0; i < 2000; i++) {
        scene_write(&s, text);
        scene_write(&s, "hot");
        s.now.ns += NS_PER_MS;
    }
    scene_find(&s, 100);
    assert_int_equal(s.count, 1);
    assert_heavy(&s, 0, "hot", 1000);
    scene_close(&s);
}

/* Seconds of `hot` writes of one key and `others` writes of a thousand. */
static void scene_mix(struct scene *s, const char *key, int seconds, int hot, int others)
{
    char text[24];
    for (int i = 0; i < seconds * (hot + others); i++) {
        snprintf(text, sizeof text, "k%d", (int)prng_below(&s->prng, 1000));
        scene_write(s, (int)prng_below(&s->prng, (uint64_t)(hot + others)) < hot ? key : text);
        s->now.ns += NS_PER_S / (hot + others);
    }
}

TEST(a_key_that_turns_hot_in_a_busy_partition_is_seen_in_full)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    scene_mix(&s, "hot", 60, 0, 800);
    scene_mix(&s, "hot", 2, 2200, 800);
    scene_find(&s, 400);
    assert_int_equal(s.count, 1);
    assert_heavy(&s, 0, "hot", 2200);
    scene_close(&s);
}

TEST(a_key_that_was_hot_is_not_blamed_for_the_next_one)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    scene_mix(&s, "old", 60, 700, 100);
    scene_mix(&s, "new", 2, 3000, 100);
    scene_find(&s, 100);
    assert_int_equal(s.count, 1);
    assert_heavy(&s, 0, "new", 3000);
    scene_close(&s);
}

TEST(chance_does_not_move_a_key_that_is_steady)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    scene_mix(&s, "hot", 20, 500, 500);
    for (int i = 0; i < 60; i++) {
        scene_mix(&s, "hot", 1, 500, 500);
        scene_find(&s, 300);
        assert_int_equal(s.count, 1);
        assert_heavy(&s, 0, "hot", 500);
    }
    scene_close(&s);
}
