/* hedge.c - budgets and running percentiles of clients that hedge. */
#include "workload/hedge.h"

#include <string.h>

#include "base/instant.h"
#include "base/must.h"
#include "workload/text_fields.h"

enum {
    PPM = 1000000,
    BUDGET_REQUESTS = 100, /* a client saves up the budget of so many requests, and one hedge */
    KNOWN_MAX = 2000,      /* then the older latencies count half */
    MIN_BITS = 10          /* of the first bucket */
};

static const char hedge_expected[] =
    "must be none, TIME[:FRACTION] or pNN[:FRACTION]: a time from 1us to 60s or a percentile from "
    "p1 to p99 of the latency, and a fraction above 0 up to 1";

/* ---- texts ---- */

static bool parse_after(struct hedge_options *o, const char *field)
{
    int64_t percent;
    if (field[0] != 'p')
        return field_parse_duration(field, &o->after_ns) && o->after_ns >= NS_PER_US &&
               o->after_ns <= 60 * NS_PER_S;
    if (!field_parse_integer(field + 1, 1, 99, &percent))
        return false;
    o->percent = (int32_t)percent;
    return true;
}

const char *hedge_parse(void *member, const char *text)
{
    struct hedge_options *o = member;
    char field[TEXT_FIELD_SIZE_MAX];
    double fraction = 0.05;
    *o = (struct hedge_options){0};
    if (strcmp(text, "none") == 0)
        return NULL;
    if (!text_field(&text, field) || !parse_after(o, field))
        return hedge_expected;
    if (text != NULL && (!field_parse_real(text, &fraction) || !(fraction >= 1e-6) || fraction > 1))
        return hedge_expected;
    o->budget_ppm = (int64_t)(fraction * PPM + 0.5);
    o->on = true;
    return NULL;
}

/* ---- latencies: eight buckets for each power of two ---- */

static uint32_t bucket_of(int64_t latency_ns)
{
    if (latency_ns < 1 << MIN_BITS)
        return 0;
    uint32_t bits = 63 - (uint32_t)__builtin_clzll((uint64_t)latency_ns);
    uint32_t step = (uint32_t)(latency_ns >> (bits - 3)) & (HEDGE_STEPS - 1);
    uint32_t bucket = (bits - MIN_BITS) * HEDGE_STEPS + step;
    return bucket < HEDGE_BUCKETS ? bucket : HEDGE_BUCKETS - 1;
}

/* The least latency of the next bucket. */
static int64_t bucket_end_ns(uint32_t bucket)
{
    uint32_t next = bucket + 1;
    int64_t octave = INT64_C(1) << (MIN_BITS + next / HEDGE_STEPS);
    return octave + octave / HEDGE_STEPS * (int64_t)(next % HEDGE_STEPS);
}

static int64_t percentile_ns(const struct hedge *h, int32_t percent)
{
    const uint64_t target = ((uint64_t)h->known * (uint64_t)percent + 99) / 100;
    uint64_t sum = 0;
    uint32_t bucket = 0;
    for (; bucket < HEDGE_BUCKETS - 1; bucket++) {
        sum += h->latencies[bucket];
        if (sum >= target)
            break;
    }
    return bucket_end_ns(bucket);
}

static void halve_latencies(struct hedge *h)
{
    h->known = 0;
    for (uint32_t i = 0; i < HEDGE_BUCKETS; i++) {
        h->latencies[i] /= 2;
        h->known += h->latencies[i];
    }
}

void hedge_learn(struct hedge *h, int64_t latency_ns)
{
    must(latency_ns >= 0);
    if (h->known >= KNOWN_MAX)
        halve_latencies(h);
    h->latencies[bucket_of(latency_ns)]++;
    h->known++;
}

/* ---- decisions ---- */

int64_t hedge_begin(struct hedge *h, const struct hedge_options *o)
{
    const int64_t max = PPM + BUDGET_REQUESTS * o->budget_ppm;
    h->budget_ppm += o->budget_ppm;
    h->budget_ppm = MIN(h->budget_ppm, max);
    if (o->percent == 0)
        return o->after_ns;
    return h->known < HEDGE_MIN_KNOWN ? -1 : percentile_ns(h, o->percent);
}

bool hedge_take(struct hedge *h)
{
    if (h->budget_ppm < PPM)
        return false;
    h->budget_ppm -= PPM;
    return true;
}
