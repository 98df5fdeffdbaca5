/* histogram.h - counts of values, in constant memory.
 *
 * Log-linear: values below 2^7 have a bucket each, every power of two above has 2^7 buckets. So a
 * percentile is never reported too low, and at most 1/128 (0.79 %) too high. Integers only: merging
 * is exact, in any order, and equal records give equal reports on every machine.
 * Source: HdrHistogram's bucketing, Gil Tene. */
#pragma once

#include <stdint.h>

enum {
    HISTOGRAM_SUB_BITS = 7,
    HISTOGRAM_SUB_COUNT = 1 << HISTOGRAM_SUB_BITS,
    /* One row for the values below 2^7, one for each of the powers 2^7 .. 2^62. */
    HISTOGRAM_BUCKETS = (1 + 63 - HISTOGRAM_SUB_BITS) * HISTOGRAM_SUB_COUNT,
    /* Percentiles are given in thousandths of a percent: p99.999 is 99999. */
    HISTOGRAM_WHOLE = 100000,
};

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t count;
    int64_t min; /* exact; 0 while empty */
    int64_t max; /* exact; 0 while empty */
    unsigned __int128 sum;
};

void histogram_init(struct histogram *h);

/* value >= 0, in the owner's unit. */
void histogram_record(struct histogram *h, int64_t value);
void histogram_record_many(struct histogram *h, int64_t value, uint64_t times);
/* Adds all records of `other`. */
void histogram_add(struct histogram *h, const struct histogram *other);

/* The least reportable value that at least `per_100000` of 100,000 records do not exceed; 0 gives
 * the minimum, 100000 the maximum, both exact. 0 while empty. */
int64_t histogram_percentile(const struct histogram *h, uint32_t per_100000);

/* Rounded down; 0 while empty. */
int64_t histogram_mean(const struct histogram *h);
