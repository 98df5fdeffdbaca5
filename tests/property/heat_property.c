/* Where a partition is split, judged by load that has not come yet; and when it is not split.
 *
 * The oracle knows the distribution that requests are drawn from, so it knows exactly what an
 * endless fresh draw would put on either side of a split, and the best split there is between keys
 * that cannot be divided. A perfect observer of n requests misses the middle by 0.80/sqrt(n) of
 * everything on average: the median of a sample. Where requests weigh differently n is Kish's,
 * (sum w)^2 / sum w^2.
 *
 * SEEDS=1000 build/fast/tests/property --filter heat_property is the long form. */
#include <math.h>

#include "base/must.h"
#include "base/settings/heat.h"
#include "engine/heat/split_point.h"
#include "engine/item/storage_key.h"
#include "tests/check.h"
#include "tests/support/split_verdicts.h"

enum {
    KEYS = 4000,
    KEY_SIZE = 64,
    TRIALS = 20,    /* of each load, under tools/test */
    EVALUATED = 20, /* fewer trials say nothing about a mean */
    JITTER = 32,    /* writers that run side by side */
    TABLE_ID = 7,
};

#define FLOOR 0.80

enum load {
    UNIFORM,
    ZIPF_099,
    ZIPF_120,
    HOT_RANGE,
    LOADS
};

static const char *const load_names[LOADS] = {"uniform", "zipf 0.99", "zipf 1.2", "hot range"};
static const int64_t max_mcu[SPLIT_KINDS] = {3000 * MCU_PER_UNIT, 1000 * MCU_PER_UNIT};

struct key {
    uint8_t bytes[KEY_SIZE];
    uint32_t size;
    double mass;
};

struct fixture {
    struct prng *prng;
    struct key keys[KEYS]; /* in order */
    double below[KEYS + 1];
    struct config config;
    struct heat heat;
    struct arena arena;
    struct instant now;
    struct slice lo, hi;
    uint8_t bounds[8];
    double weight, weight_squared; /* of what was asked for, over the maxima */
};

static struct {
    double ratios[LOADS][100000];
    uint32_t counts[LOADS];
    uint32_t refused[LOADS];
    uint32_t popular, popular_alone, popular_named, popular_wrong, sequential, sequential_seen,
        advised, useless;
} figures;

/* ---- loads ---- */

static struct slice key_slice(const struct key *k)
{
    return slice_make(k->bytes, k->size);
}

static int by_key(const void *a, const void *b)
{
    return slice_compare(key_slice(a), key_slice(b));
}

static void make_key(struct key *k, const char *partition, int64_t sort)
{
    char text[32];
    struct buffer b = {0};
    struct attr p = {.type = ATTR_STRING, .body = slice_of(partition)};
    snprintf(text, sizeof text, "%012lld", (long long)sort);
    struct attr s = {.type = ATTR_STRING, .body = slice_of(text)};
    storage_key_append(&b, TABLE_ID, &p, &s);
    must(b.size <= KEY_SIZE);
    memcpy(k->bytes, b.data, b.size);
    k->size = (uint32_t)b.size;
    buffer_deinit(&b);
}

static void fixture_init(struct fixture *w, struct prng *p)
{
    static const uint8_t bounds[8] = {0, 0, 0, TABLE_ID, 0, 0, 0, TABLE_ID + 1};
    *w = (struct fixture){.prng = p, .now = {(int64_t)prng_below(p, 1000) * NS_PER_S}};
    memcpy(w->bounds, bounds, sizeof bounds);
    w->lo = slice_make(w->bounds, 4);
    w->hi = slice_make(w->bounds + 4, 4);
    config_init(&w->config, PROFILE_AWS);
    config_edit_heat(&w->config)->heat_start_percent = 0;
    heat_init(&w->heat, w->lo, w->hi, prng_next(p), &w->config);
}

static void fixture_deinit(struct fixture *w)
{
    heat_deinit(&w->heat);
    arena_deinit(&w->arena);
}

static double weight_of_rank(enum load load, int rank, int hot_first, int hot_count)
{
    if (load == ZIPF_099 || load == ZIPF_120)
        return pow(rank + 1, load == ZIPF_099 ? -0.99 : -1.2);
    if (load == HOT_RANGE)
        return rank >= hot_first && rank < hot_first + hot_count ? 0.9 / hot_count : 0.1 / KEYS;
    return 1.0;
}

/* Hot ranges lie in the sort keys of one collection; other keys are collections of their own. */
static void draw_keys(struct fixture *w, enum load load)
{
    int hot_count = (int)prng_between(w->prng, KEYS / 50, KEYS / 5);
    int hot_first = (int)prng_between(w->prng, 0, KEYS - hot_count);
    uint64_t salt = prng_next(w->prng);
    double sum = 0;
    for (int i = 0; i < KEYS; i++) {
        char partition[40];
        snprintf(partition, sizeof partition, "%llx/%d", (unsigned long long)(salt >> 32), i);
        make_key(&w->keys[i], load == HOT_RANGE ? "all" : partition, load == HOT_RANGE ? i : 0);
        sum += w->keys[i].mass = weight_of_rank(load, i, hot_first, hot_count);
    }
    qsort(w->keys, KEYS, sizeof w->keys[0], by_key);
    for (int i = 0; i < KEYS; i++)
        w->below[i + 1] = w->below[i] + w->keys[i].mass / sum;
}

static const struct key *draw(struct fixture *w)
{
    double u = prng_unit(w->prng) * w->below[KEYS];
    int low = 0, high = KEYS - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (w->below[middle + 1] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return &w->keys[low];
}

static void add_cost(struct fixture *w, enum admit_kind kind, struct slice key, int64_t cost_mcu)
{
    double weight = (double)cost_mcu / (double)max_mcu[kind];
    heat_add(&w->heat, w->now, kind, key, cost_mcu);
    w->weight += weight;
    w->weight_squared += weight * weight;
}

/* `seconds` of reads and writes at `rate` of either maximum, from the distribution. */
static void run_load(struct fixture *w, double seconds, double rate)
{
    const int reads_in_10 = (int)prng_between(w->prng, 0, 10);
    const int64_t costs[ADMIT_KINDS] = {500 * prng_between(w->prng, 1, 4),
                                        1000 * prng_between(w->prng, 1, 3)};
    struct instant end = {w->now.ns + (int64_t)(seconds * 1e9)};
    while (w->now.ns < end.ns) {
        enum admit_kind kind =
            prng_below(w->prng, 10) < (uint64_t)reads_in_10 ? ADMIT_READ : ADMIT_WRITE;
        add_cost(w, kind, key_slice(draw(w)), costs[kind]);
        w->now.ns += (int64_t)((double)costs[kind] / ((double)max_mcu[kind] * rate) * 1e9);
    }
}

static struct split_advice advise(struct fixture *w, uint32_t children)
{
    struct split_question q = split_question_of(&w->config, w->lo, w->hi);
    q.children = children;
    struct split_advice a;
    split_advise(&w->heat, w->now, &q, &w->arena, &a);
    return a;
}

/* ---- the oracle ---- */

static double below_point(const struct fixture *w, struct slice point)
{
    int i = 0;
    while (i < KEYS && slice_compare(key_slice(&w->keys[i]), point) < 0)
        i++;
    return w->below[i];
}

static double best_imbalance(const struct fixture *w)
{
    double best = 1;
    for (int i = 1; i < KEYS; i++)
        best = fmin(best, fabs(2 * w->below[i] - 1));
    return best;
}

static void count_advice(const struct fixture *w, const struct split_advice *a)
{
    double below = below_point(w, a->points[0]);
    figures.advised++;
    figures.useless += fmax(below, 1 - below) > 0.9;
}

static void one_trial(struct prng *p)
{
    static struct fixture w;
    for (enum load load = 0; load < LOADS; load++) {
        fixture_init(&w, p);
        draw_keys(&w, load);
        run_load(&w, 2 + 18 * prng_unit(p), 0.8 + 1.7 * prng_unit(p));
        struct split_advice a = advise(&w, 2);
        if (a.verdict == SPLIT_ADVISED) {
            double imbalance = fabs(2 * below_point(&w, a.points[0]) - 1) - best_imbalance(&w);
            double n = w.weight * w.weight / w.weight_squared;
            figures.ratios[load][figures.counts[load]++] = imbalance / (FLOOR / sqrt(n));
            count_advice(&w, &a);
        } else {
            printf("%s refused: %s\n", load_names[load], split_verdict_name(a.verdict));
            figures.refused[load]++;
        }
        fixture_deinit(&w);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

TEST(splits_divide_future_load_as_well_as_a_perfect_observer_could)
{
    memset(&figures, 0, sizeof figures);
    check_seeds(TRIALS, one_trial);
    for (enum load load = 0; load < LOADS; load++) {
        uint32_t count = figures.counts[load];
        double sum = 0, *r = figures.ratios[load];
        qsort(r, count, sizeof *r, by_value);
        for (uint32_t i = 0; i < count; i++)
            sum += r[i];
        double mean = sum / fmax(count, 1), p99 = r[count == 0 ? 0 : (count - 1) * 99 / 100];
        printf(
            "%-10s %u trials: imbalance beyond the best split, over 0.80/sqrt(n): mean %.2f, p99 "
            "%.2f, refused %u\n",
            load_names[load], count, mean, p99, figures.refused[load]);
        if (count + figures.refused[load] < EVALUATED)
            continue;
        assert_true(mean <= 1.5);
        assert_true(p99 <= 5);
        assert_true(figures.refused[load] * 100 <= count);
    }
    printf("%u splits advised, %u useless\n", figures.advised, figures.useless);
    assert_true(figures.useless * 1000 <= figures.advised);
}

/* ---- refusals ---- */

/* Whether the key is alone in its child, as far as keys are known. */
static bool is_alone(const struct fixture *w, const struct split_advice *a, const struct key *key)
{
    uint32_t child = 0, inside = 0;
    while (child < a->point_count && slice_compare(a->points[child], key_slice(key)) <= 0)
        child++;
    for (int i = 0; i < KEYS; i++) {
        struct slice k = key_slice(&w->keys[i]);
        inside += (child == 0 || slice_compare(a->points[child - 1], k) <= 0) &&
                  (child == a->point_count || slice_compare(k, a->points[child]) < 0);
    }
    return inside == 1;
}

/* One key over the maximum, beside nothing or up to as much of everything else. Neighbours on one
 * side that ask for less than the least gain stay with the key. */
static void one_popular_key(struct prng *p)
{
    static struct fixture w;
    fixture_init(&w, p);
    draw_keys(&w, UNIFORM);
    const int place = (int)prng_below(p, KEYS);
    const struct key *popular = &w.keys[place];
    enum admit_kind kind = prng_below(p, 2) ? ADMIT_READ : ADMIT_WRITE;
    double over = 1 + 4 * prng_unit(p), others = prng_below(p, 3) ? prng_unit(p) : 0;
    double left = others * place / KEYS, right = others - left;
    int64_t cost = kind == ADMIT_READ ? 500 : 1000;
    int64_t step = (int64_t)((double)cost / (double)max_mcu[kind] / (over + others) * 1e9);
    struct instant end = {w.now.ns + prng_between(p, 3, 20) * NS_PER_S};
    for (; w.now.ns < end.ns; w.now.ns += step) {
        bool hot = prng_unit(p) < over / (over + others);
        add_cost(&w, kind, key_slice(hot ? popular : draw(&w)), cost);
    }
    struct split_advice a = advise(&w, 0);
    bool named = slice_equal(a.key, key_slice(popular));
    bool sure = fmin(left, right) > 0.08, none = fmax(left, right) < 0.03;
    figures.popular++;
    figures.popular_alone += a.verdict == SPLIT_ADVISED;
    figures.popular_named += a.verdict == SPLIT_REFUSED_POPULAR_KEY;
    figures.popular_wrong += !named || (sure && !is_alone(&w, &a, popular)) ||
                             (none && a.verdict != SPLIT_REFUSED_POPULAR_KEY);
    fixture_deinit(&w);
}

/* Inserts in order, by writers that run side by side. */
static void moving_forward(struct prng *p)
{
    static struct fixture w;
    fixture_init(&w, p);
    double rate = 0.8 + 2 * prng_unit(p);
    int64_t sort = prng_between(p, 0, 1000000), gap = prng_between(p, 1, 1000);
    int64_t step = (int64_t)(1e6 / rate);
    bool backward = prng_below(p, 4) == 0;
    struct instant end = {w.now.ns + prng_between(p, 2, 20) * NS_PER_S};
    for (; w.now.ns < end.ns; w.now.ns += step) {
        struct key k;
        sort += gap;
        int64_t at = sort + gap * prng_between(p, 0, JITTER);
        make_key(&k, "log", backward ? 999999999 - at : at);
        add_cost(&w, ADMIT_WRITE, key_slice(&k), 1000);
    }
    struct split_advice a = advise(&w, 0);
    figures.sequential++;
    figures.sequential_seen += a.verdict == SPLIT_REFUSED_SEQUENTIAL;
    fixture_deinit(&w);
}

TEST(a_key_over_the_maximum_is_alone_or_left_in_peace)
{
    memset(&figures, 0, sizeof figures);
    check_seeds(TRIALS, one_popular_key);
    printf("%u popular keys: %u split out, %u left, %u wrongly\n", figures.popular,
           figures.popular_alone, figures.popular_named, figures.popular_wrong);
    assert_true(figures.popular_wrong * 100 <= figures.popular);
}

TEST(a_moving_frontier_is_never_split_behind)
{
    memset(&figures, 0, sizeof figures);
    check_seeds(TRIALS, moving_forward);
    printf("moving frontiers refused: %u of %u\n", figures.sequential_seen, figures.sequential);
    assert_true(figures.sequential_seen * 100 >= figures.sequential * 99);
}
