/* histogram.c - the bucket of a value, and percentiles. */
#include "base/histogram.h"

#include <string.h>

#include "base/must.h"

void histogram_init(struct histogram *h)
{
    memset(h, 0, sizeof *h);
}

static uint32_t bucket_of(int64_t value)
{
    uint64_t v = (uint64_t)value;
    if (v < HISTOGRAM_SUB_COUNT)
        return (uint32_t)v;
    uint32_t power = 63 - (uint32_t)__builtin_clzll(v);
    uint32_t shift = power - HISTOGRAM_SUB_BITS;
    return (shift + 1) * HISTOGRAM_SUB_COUNT + (uint32_t)((v >> shift) - HISTOGRAM_SUB_COUNT);
}

/* The greatest value of the bucket. */
static int64_t bucket_max(uint32_t bucket)
{
    if (bucket < HISTOGRAM_SUB_COUNT)
        return bucket;
    uint32_t shift = bucket / HISTOGRAM_SUB_COUNT - 1;
    uint64_t sub = bucket % HISTOGRAM_SUB_COUNT + HISTOGRAM_SUB_COUNT;
    return (int64_t)(((sub + 1) << shift) - 1);
}

void histogram_record(struct histogram *h, int64_t value)
{
    histogram_record_many(h, value, 1);
}

void histogram_record_many(struct histogram *h, int64_t value, uint64_t times)
{
    must(value >= 0);
    if (times == 0)
        return;
    h->min = h->count == 0 || value < h->min ? value : h->min;
    h->max = value > h->max ? value : h->max;
    h->counts[bucket_of(value)] += times;
    h->count += times;
    h->sum += (unsigned __int128)(uint64_t)value * times;
}

void histogram_add(struct histogram *h, const struct histogram *other)
{
    if (other->count == 0)
        return;
    h->min = h->count == 0 || other->min < h->min ? other->min : h->min;
    h->max = other->max > h->max ? other->max : h->max;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        h->counts[i] += other->counts[i];
    h->count += other->count;
    h->sum += other->sum;
}

int64_t histogram_percentile(const struct histogram *h, uint32_t per_100000)
{
    must(per_100000 <= HISTOGRAM_WHOLE);
    unsigned __int128 share = (unsigned __int128)h->count * per_100000;
    uint64_t rank = (uint64_t)((share + HISTOGRAM_WHOLE - 1) / HISTOGRAM_WHOLE);
    if (rank == 0)
        return h->min;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->counts[i];
        if (seen >= rank) {
            int64_t max = bucket_max(i);
            return max < h->max ? max : h->max;
        }
    }
    return h->max;
}

int64_t histogram_mean(const struct histogram *h)
{
    return h->count == 0 ? 0 : (int64_t)(h->sum / h->count);
}
