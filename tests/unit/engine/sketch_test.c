/* The sketch alone: the error it tells is the error it makes. */
#include "engine/heat/sketch.h"

#include <string.h>

#include "tests/check.h"

enum {
    SEEDS = 60,
    UNIT_MCU = 1000
};

static int64_t weight_below(const struct sketch *s, const char *key)
{
    struct sketch_item items[SKETCH_ENTRIES];
    int64_t sum = 0;
    uint32_t count = sketch_items(s, items);
    for (uint32_t i = 0; i < count; i++)
        sum += slice_compare(items[i].key, slice_of(key)) < 0 ? items[i].mcu : 0;
    return sum;
}

/* By turns in one collection and in another: levels whose keys agree in their heads, and others. */
static void turns(struct sketch *s, struct prng *p, int64_t cost_mcu, int count, int64_t *below,
                  const char *bound)
{
    char key[32];
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof key, "%s%06d", i / 300 % 2 ? "bbbbbbbbbbbb" : "aaaaaaaaaaaa",
                 (int)prng_below(p, 1000000));
        *below += slice_compare(slice_of(key), slice_of(bound)) < 0 ? cost_mcu : 0;
        sketch_add(s, slice_of(key), cost_mcu);
    }
}

static void assert_error_is_reported(int64_t cost_mcu, int count)
{
    static struct sketch s;
    static const char bound[] = "aaaaaaaaaaaa500000";
    double made = 0, reported = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct prng p = prng_seeded(seed);
        int64_t truth = 0;
        sketch_init(&s, UNIT_MCU, seed);
        turns(&s, &p, cost_mcu, count, &truth, bound);
        double wrong = (double)(weight_below(&s, bound) - truth);
        made += wrong * wrong;
        reported += (double)sketch_error(&s) * (double)sketch_error(&s);
    }
    printf("%d of %lld mcu: error made over error told, squared: %.3f\n", count,
           (long long)cost_mcu, made / reported);
    assert_true(made <= reported);
    assert_true(reported > 0);
}

TEST(the_reported_error_is_no_less_than_the_error_made) /* SKETCH-2 */
{
    assert_error_is_reported(1000, 10000);  /* counted */
    assert_error_is_reported(1000, 100000); /* the unit has grown */
    assert_error_is_reported(100, 3000);    /* sampled, and little forgotten */
    assert_error_is_reported(37000, 3000);  /* many units at once */
}

TEST(a_few_keys_are_known_exactly) /* SKETCH-4 */
{
    static struct sketch s;
    sketch_init(&s, UNIT_MCU, 1);
    for (int i = 0; i < 100; i++)
        assert_true(sketch_add(&s, slice_of(i % 4 ? "a" : "b"), UNIT_MCU));
    assert_int_equal(weight_below(&s, "b"), 75 * UNIT_MCU);
    assert_int_equal(weight_below(&s, "c"), 100 * UNIT_MCU);
    assert_int_equal(sketch_error(&s), 0);
    sketch_decay(&s); /* forgets nothing */
    assert_int_equal(weight_below(&s, "b"), 75 * UNIT_MCU / 2);
    assert_int_equal(sketch_error(&s), 0);
}

TEST(keys_that_agree_in_what_is_kept_count_as_one) /* SKETCH-1 */
{
    static struct sketch s;
    struct sketch_item items[SKETCH_ENTRIES];
    uint8_t a[SKETCH_KEY_MAX + 2], b[SKETCH_KEY_MAX + 1];
    memset(a, 'x', sizeof a);
    memset(b, 'x', sizeof b);
    b[SKETCH_KEY_MAX] = 'y';
    sketch_init(&s, UNIT_MCU, 1);
    sketch_add(&s, slice_make(a, sizeof a), UNIT_MCU);
    sketch_add(&s, slice_make(b, sizeof b), UNIT_MCU);
    int64_t sum = 0;
    uint32_t count = sketch_items(&s, items);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(items[i].key.size, SKETCH_KEY_MAX);
        assert_true(slice_equal(items[i].key, items[0].key));
        sum += items[i].mcu;
    }
    assert_int_equal(sum, 2 * UNIT_MCU);
}
