/* split_point.c - makes advice from sorted keys and weights: judges whether a split helps, and
 * tells why not. split_place.c places the split points.
 *
 * A unit of a kind weighs one over the partition's maximum of that kind: a partition runs out of
 * its maximum. Each maximum holds by itself: each child serves of each kind the lesser of need and
 * maximum. */
#include "engine/heat/split_point.h"

#include "base/settings/split.h"
#include "engine/admission/capacity.h"
#include "engine/heat/split_point_internal.h"
#include "engine/item/storage_key.h"

struct split_question split_question_of(const struct config *config, struct slice lo,
                                        struct slice hi)
{
    const int64_t percent = SPLIT_WHOLE_PPM / 100;
    return (struct split_question){
        .lo = lo,
        .hi = hi,
        .max_mcu = {[ADMIT_READ] = partition_max_mcu(config, ADMIT_READ),
                    [ADMIT_WRITE] = partition_max_mcu(config, ADMIT_WRITE)},
        .fill_ppm = config_split(config)->split_fill_percent * percent,
        .largest_ppm = config_split(config)->split_largest_percent * percent,
        .gain_ppm = config_split(config)->split_gain_percent * percent,
        .samples_min = config_split(config)->split_samples_min,
    };
}

/* ---- what the split would bring ---- */

/* A child's share of a kind. Shares are rounded so that they add up to the whole. */
static uint32_t share_of(const struct division *d, int kind, uint32_t child)
{
    const int64_t children = d->bound_count + 1, all = d->sums[d->count].mcu[kind];
    if (all == 0)
        return (uint32_t)(SPLIT_WHOLE_PPM * (child + 1) / children -
                          SPLIT_WHOLE_PPM * child / children);
    return (uint32_t)(split_ppm(d->sums[split_child_to(d, child)].mcu[kind], all) -
                      split_ppm(d->sums[split_child_from(d, child)].mcu[kind], all));
}

static int64_t need_of(const struct division *d, int kind, uint32_t child)
{
    return split_need(d, kind, split_child_from(d, child), split_child_to(d, child));
}

/* The greatest need of any kind in any child, relative to the greatest need of the parent. */
static int64_t hottest_child_ppm(const struct division *d)
{
    int64_t parent = 0, hottest = 0;
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        parent = MAX(d->need_ppm[kind], parent);
        for (uint32_t child = 0; child <= d->bound_count; child++) {
            int64_t need = need_of(d, kind, child);
            hottest = MAX(need, hottest);
        }
    }
    return parent == 0 ? SPLIT_WHOLE_PPM : split_ppm(hottest, parent);
}

static int64_t served_ppm(int64_t need_ppm)
{
    return MIN(need_ppm, SPLIT_WHOLE_PPM);
}

static int64_t served_after_ppm(const struct division *d, int kind)
{
    int64_t served = 0;
    for (uint32_t child = 0; child <= d->bound_count; child++)
        served += served_ppm(need_of(d, kind, child));
    return served;
}

/* A gain that may be noise does not count. */
static bool lets_more_be_served(const struct division *d)
{
    int64_t gain = 0, doubt = 0;
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        gain += served_after_ppm(d, kind) - served_ppm(d->need_ppm[kind]);
        doubt += SPLIT_ERRORS * d->error_ppm[kind];
    }
    return gain >= d->q->gain_ppm && gain > doubt;
}

static bool split_point_helps(const struct division *d)
{
    return d->bound_count > 0 &&
           (lets_more_be_served(d) || hottest_child_ppm(d) <= d->q->largest_ppm);
}

/* ---- why not ---- */

/* The weight of the heaviest run of points that no split may divide. The run begins at `*first`. */
static int64_t split_point_heaviest(const struct division *d, bool collections, uint32_t *first)
{
    int64_t most = 0;
    uint32_t from = 0;
    for (uint32_t i = 1; i <= d->count; i++) {
        if (i < d->count && collections && d->collections[i - 1] == d->collections[i])
            continue;
        int64_t weight = d->below[i] - d->below[from];
        if (weight > most) {
            most = weight;
            *first = from;
        }
        from = i;
    }
    return most;
}

static void split_point_refuse_for(const struct division *d, enum split_verdict verdict,
                                   uint32_t first, int64_t weight, struct split_advice *out)
{
    must(first < d->count);
    struct slice key = split_whole_key(d, d->points[first].key);
    if (verdict == SPLIT_REFUSED_COLLECTION)
        key.size = storage_key_collection_size(key);
    out->verdict = verdict;
    out->key = key;
    out->key_share_ppm = (uint32_t)split_ppm(weight, d->below[d->count]);
}

static void split_point_explain(const struct division *d, struct split_advice *out)
{
    uint32_t first = 0;
    int64_t half = d->below[d->count] / 2;
    int64_t key = split_point_heaviest(d, false, &first);
    if (key > half) {
        split_point_refuse_for(d, SPLIT_REFUSED_POPULAR_KEY, first, key, out);
        return;
    }
    int64_t collection = d->collections != NULL ? split_point_heaviest(d, true, &first) : 0;
    if (collection > half)
        split_point_refuse_for(d, SPLIT_REFUSED_COLLECTION, first, collection, out);
    else
        out->verdict = SPLIT_REFUSED_NO_BENEFIT;
}

/* ---- direction ---- */

/* The direction of the kinds that make up at least half of the demand. */
static enum sketch_direction direction_of(const struct heat *h, const struct division *d)
{
    int64_t moving = 0, unknown = 0, all = d->need_ppm[ADMIT_READ] + d->need_ppm[ADMIT_WRITE];
    enum sketch_direction way = SKETCH_STAYS;
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        enum sketch_direction k = heat_direction(h, (enum admit_kind)kind);
        unknown += k == SKETCH_UNKNOWN ? d->need_ppm[kind] : 0;
        if (k != SKETCH_FORWARD && k != SKETCH_BACKWARD)
            continue;
        moving += d->need_ppm[kind];
        way = k;
    }
    if (2 * unknown > all)
        return SKETCH_UNKNOWN;
    return 2 * moving >= all ? way : SKETCH_STAYS;
}

/* ---- all together ---- */

static void split_point_measure(struct heat *h, struct instant now, struct division *d)
{
    for (int k = 0; k < SPLIT_KINDS; k++) {
        enum admit_kind kind = (enum admit_kind)k;
        d->need_ppm[k] = split_ppm(heat_rate_now(h, now, kind), d->q->max_mcu[k]);
        d->lasting_ppm[k] = split_ppm(heat_rate(h, now, kind), d->q->max_mcu[k]);
        d->error_ppm[k] = split_ppm(heat_error(h, now, kind), d->q->max_mcu[k]);
    }
}

static void split_point_weigh(struct division *d)
{
    d->below = arena_alloc(d->arena, (d->count + 1) * sizeof d->below[0]);
    d->sums = arena_alloc(d->arena, (d->count + 1) * sizeof d->sums[0]);
    d->below[0] = 0;
    d->sums[0] = (struct split_sum){0};
    for (uint32_t i = 0; i < d->count; i++) {
        const int64_t *mcu = d->points[i].mcu;
        d->below[i + 1] = d->below[i] +
                          mcu[ADMIT_READ] * (d->q->max_mcu[ADMIT_WRITE] / MCU_PER_UNIT) +
                          mcu[ADMIT_WRITE] * (d->q->max_mcu[ADMIT_READ] / MCU_PER_UNIT);
        must(d->below[i + 1] >= d->below[i]); /* no overflow */
        for (int kind = 0; kind < SPLIT_KINDS; kind++)
            d->sums[i + 1].mcu[kind] = d->sums[i].mcu[kind] + mcu[kind];
    }
}

/* Numbers the item collections, in order. */
static void number_collections(struct division *d)
{
    const size_t size_max = d->shared + SKETCH_KEY_MAX;
    uint8_t *key = arena_alloc(d->arena, size_max), *last = arena_alloc(d->arena, size_max);
    struct slice of_last = {NULL, 0};
    d->collections = arena_alloc(d->arena, (d->count + 1) * sizeof d->collections[0]);
    for (uint32_t i = 0; i < d->count; i++) {
        struct slice rest = d->points[i].key, whole = slice_make(key, d->shared + rest.size);
        memcpy(key, d->q->lo.data, d->shared);
        memcpy(key + d->shared, rest.data, rest.size);
        whole.size = storage_key_collection_size(whole);
        bool same = i > 0 && slice_equal(whole, of_last);
        d->collections[i] = i == 0 ? 0 : d->collections[i - 1] + !same;
        of_last = whole;
        uint8_t *other = last;
        last = key;
        key = other;
    }
}

static int64_t rate_of(const struct division *d, int kind, int64_t part_ppm)
{
    return (int64_t)((__int128)d->q->max_mcu[kind] * part_ppm / SPLIT_WHOLE_PPM);
}

/* Tells the heaviest key that is split out, and what is served of it. */
static void advise_single(const struct division *d, struct split_advice *out)
{
    const struct split_single *best = NULL;
    int64_t most = 0;
    for (uint32_t i = 0; i < d->single_count; i++) {
        const struct split_single *single = &d->singles[i];
        int64_t weight = d->below[single->to] - d->below[single->from];
        if (weight <= most)
            continue;
        most = weight;
        best = single;
    }
    if (best == NULL)
        return;
    out->key = best->lo;
    out->key_share_ppm = (uint32_t)split_ppm(most, d->below[d->count]);
    for (int kind = 0; kind < SPLIT_KINDS; kind++)
        out->key_served_mcu[kind] =
            rate_of(d, kind, served_ppm(split_need(d, kind, best->from, best->to)));
}

/* What split_advice_decode demands: the catalog refuses other advice. */
static void advice_check(const struct split_advice *a)
{
    must(a->point_count > 0);
    must(a->point_count <= SPLIT_POINTS_MAX);
    must(a->key_share_ppm <= SPLIT_WHOLE_PPM);
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        uint64_t sum = 0;
        for (uint32_t child = 0; child <= a->point_count; child++)
            sum += a->share_ppm[kind][child];
        must(sum == SPLIT_WHOLE_PPM);
        must(a->served_before_mcu[kind] >= 0);
        must(a->served_after_mcu[kind] >= 0);
        must(a->key_served_mcu[kind] >= 0);
    }
}

static void advise_split(const struct division *d, struct split_advice *out)
{
    out->verdict = SPLIT_ADVISED;
    out->point_count = d->bound_count;
    memcpy(out->points, d->bounds, sizeof out->points);
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        for (uint32_t child = 0; child <= d->bound_count; child++)
            out->share_ppm[kind][child] = share_of(d, kind, child);
        out->served_before_mcu[kind] = rate_of(d, kind, served_ppm(d->need_ppm[kind]));
        out->served_after_mcu[kind] = rate_of(d, kind, served_after_ppm(d, kind));
    }
    advise_single(d, out);
    advice_check(out);
}

void split_advise(struct heat *h, struct instant now, const struct split_question *q,
                  struct arena *arena, struct split_advice *out)
{
    struct division d = {.q = q, .arena = arena, .shared = h->shared};
    struct heat_point *points;
    must(q->max_mcu[ADMIT_READ] >= MCU_PER_UNIT);
    must(q->max_mcu[ADMIT_WRITE] >= MCU_PER_UNIT);
    must(q->children <= SPLIT_POINTS_MAX + 1);
    must(q->fill_ppm > 0);
    must(q->lo.size >= h->shared); /* split_whole_key takes the shared bytes from there */
    d.count = heat_points(h, now, arena, &points);
    d.points = points;
    split_point_measure(h, now, &d);
    split_point_weigh(&d);
    if (q->whole_collections)
        number_collections(&d);
    *out = (struct split_advice){.verdict = SPLIT_REFUSED_FEW_SAMPLES};
    out->samples = heat_samples(h, now, ADMIT_READ) + heat_samples(h, now, ADMIT_WRITE);
    enum sketch_direction way = direction_of(h, &d);
    if (out->samples < q->samples_min || way == SKETCH_UNKNOWN || d.below[d.count] == 0)
        return;
    if (way != SKETCH_STAYS) {
        out->verdict = SPLIT_REFUSED_SEQUENTIAL;
        return;
    }
    split_place(&d);
    if (split_point_helps(&d))
        advise_split(&d, out);
    else
        split_point_explain(&d, out);
}
