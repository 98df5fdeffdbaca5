/* split_point_internal.h - what split_point.c and split_place.c share. */
#pragma once

#include "engine/heat/split_point.h"

enum {
    SPLIT_ERRORS = 3 /* standard deviations; a smaller estimate may be noise */
};

/* A key, or a collection that must stay whole, that fills a child by itself. */
struct split_single {
    uint32_t from, to; /* its points: [from, to) */
    struct slice lo;   /* the range that holds nothing else */
    struct slice hi;
};

struct split_sum {
    int64_t mcu[SPLIT_KINDS];
};

/* A partition's heat, and how it would be divided. */
struct division {
    const struct split_question *q;
    struct arena *arena;
    uint32_t shared;
    const struct heat_point *points;
    uint32_t count;
    struct split_sum *sums;           /* [count + 1]: sums of the points before */
    int64_t *below;                   /* [count + 1]: the same; both kinds, each over its maximum */
    int64_t need_ppm[SPLIT_KINDS];    /* demand now, of the partition maximum */
    int64_t lasting_ppm[SPLIT_KINDS]; /* mean demand over all the time with heat */
    int64_t error_ppm[SPLIT_KINDS];   /* of an interval's need, one standard deviation */
    uint32_t *collections; /* [count]: equal within a collection; NULL: splits may divide it */
    struct split_single singles[SPLIT_POINTS_MAX];
    uint32_t single_count;
    struct slice bounds[SPLIT_POINTS_MAX];
    uint32_t bound_points[SPLIT_POINTS_MAX]; /* the first point of each child but the lowest */
    uint32_t bound_count;
};

static inline int64_t split_ppm(int64_t part, int64_t whole)
{
    return whole == 0 ? 0 : (int64_t)((__int128)part * SPLIT_WHOLE_PPM / whole);
}

/* The demand for the points [from, to), of the partition maximum. */
static inline int64_t split_need(const struct division *d, int kind, uint32_t from, uint32_t to)
{
    must(from <= to);
    must(to <= d->count);
    int64_t all = d->sums[d->count].mcu[kind];
    int64_t part = d->sums[to].mcu[kind] - d->sums[from].mcu[kind];
    return all == 0 ? 0 : (int64_t)((__int128)d->need_ppm[kind] * part / all);
}

static inline uint32_t split_child_from(const struct division *d, uint32_t child)
{
    return child == 0 ? 0 : d->bound_points[child - 1];
}

static inline uint32_t split_child_to(const struct division *d, uint32_t child)
{
    return child == d->bound_count ? d->count : d->bound_points[child];
}

/* The whole storage key: a point keeps only the rest of it. */
struct slice split_whole_key(const struct division *d, struct slice rest);

/* Puts the bounds of the children into `d`: as many equal parts as the question wants, or as the
 * rate needs. */
void split_place(struct division *d);
