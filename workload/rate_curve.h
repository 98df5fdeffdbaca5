/* rate_curve.h - requests per second over time, and the arrivals that follow such a curve.
 *
 * A curve is made of straight pieces, so that its integral can be inverted exactly. Time counts
 * from the beginning of the workload.
 * Arrivals: `constant` puts the n-th request (from 0) where the integral of the rate is n;
 * `poisson` where it is the sum of n + 1 exponential variates of mean 1 (a Poisson process of that
 * rate).
 * Not here: a clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"

enum {
    RATE_STEPS_MAX = 64
};

enum rate_curve_kind {
    RATE_CONSTANT,
    RATE_RAMP,    /* from rates[0] to rates[1] in span_ns, then rates[1] */
    RATE_STEPS,   /* rates[i], each for span_ns; the last one stays */
    RATE_SPIKE,   /* rates[0]; rates[1] from from_ns for span_ns (a flash crowd) */
    RATE_DIURNAL, /* rates[0] on average, peak / trough = ratio, one period in span_ns */
    RATE_ON_OFF,  /* rates[0] for span_ns, then 0 for off_ns, again and again */
};

struct rate_curve {
    enum rate_curve_kind kind;
    int count;
    double rates[RATE_STEPS_MAX];
    int64_t from_ns, span_ns, off_ns;
    double ratio;
    double noise;  /* DIURNAL: sigma of the rate's logarithm */
    uint64_t seed; /* of the noise; traffic_init sets it if it is 0 */
};

/* "1000", "ramp:FROM:TO:SPAN_S", "steps:R1:R2:...:EVERY_S", "spike:BASE:PEAK:FROM_S:FOR_S",
 * "diurnal:MEAN:RATIO:PERIOD_S[:NOISE]" (begins at the trough), "on-off:RATE:ON_S:OFF_S". Rates up
 * to 10M, also 2.5k. Returns NULL, or the fault as a static text. */
const char *rate_curve_parse(void *curve, const char *text); /* struct rate_curve */
/* The fault of a text that begins as no curve does. */
extern const char rate_curve_expected[];

/* Requests per second; t_ns >= 0. */
double rate_curve_at(const struct rate_curve *c, int64_t t_ns);
/* How many requests are expected in [from_ns, to_ns). */
double rate_curve_requests(const struct rate_curve *c, int64_t from_ns, int64_t to_ns);
/* The highest rate of the curve. With noise: without the noise. */
double rate_curve_peak(const struct rate_curve *c);

enum arrival_kind {
    ARRIVAL_POISSON,
    ARRIVAL_CONSTANT
};

extern const char *const arrival_names[]; /* "poisson", "constant"; ended by NULL */

/* A straight piece: `from_rate` at from_ns changes evenly to `to_rate` at to_ns. */
struct rate_piece {
    int64_t from_ns, to_ns; /* INT64_MAX: endless, then the two rates are equal */
    double from_rate, to_rate;
};

struct arrivals {
    enum arrival_kind kind;
    struct rate_piece piece; /* the current one */
    double requests;         /* of the current piece, up to the last arrival */
    bool begun;
};

void arrivals_init(struct arrivals *a, enum arrival_kind kind);
/* When the next request is due; INT64_MAX: never, or not before until_ns, and the arrivals are
 * over. The curve must be the same at every call. */
int64_t arrivals_next(struct arrivals *a, const struct rate_curve *c, struct prng *random,
                      int64_t until_ns);
