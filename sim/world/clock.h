/* clock.h - the clock of a process: it starts at any reading, and runs a little fast or slow.
 *
 * Its reading never moves back, whatever the rate is set to. Units: drift in parts per million. */
#pragma once

#include "base/instant.h"
#include "base/prng.h"

/* The reading of a correct wall clock at the start of virtual time. */
#define SIM_WALL_BASE_MS INT64_C(1700000000000)

enum {
    SIM_WALL_SKEW_MS = 500,             /* most that a wall clock is off */
    SIM_WALL_SKEW_RARE_MS = 10 * 60000, /* most that a rare wall clock is off */
    SIM_WALL_SKEW_RARE = 16             /* one wall clock in 16 is rare */
};

/* How far a process's wall clock is off. The skew stays the same for the life of the world. */
static inline int64_t sim_wall_skew_ms(uint64_t seed)
{
    struct prng p = prng_seeded(seed);
    int64_t max =
        prng_below(&p, SIM_WALL_SKEW_RARE) == 0 ? SIM_WALL_SKEW_RARE_MS : SIM_WALL_SKEW_MS;
    return prng_between(&p, -max, max);
}

struct sim_clock {
    struct instant base; /* true time at which the clock read `read` */
    struct instant read;
    int64_t drift_ppm;
};

static inline struct instant sim_clock_read(const struct sim_clock *c, struct instant now)
{
    int64_t passed = now.ns - c->base.ns;
    int64_t product, extra;
    if (__builtin_mul_overflow(passed, c->drift_ppm, &product))
        extra = (int64_t)((__int128)passed * c->drift_ppm / 1000000);
    else
        extra = product / 1000000;
    return (struct instant){c->read.ns + passed + extra};
}

/* The first true time at which the clock reads `at` or later. */
static inline struct instant sim_clock_when(const struct sim_clock *c, struct instant at)
{
    if (at.ns == INT64_MAX)
        return at;
    int64_t ahead = at.ns - c->read.ns;
    if (ahead <= 0)
        return c->base;
    int64_t product, rate_ppm = 1000000 + c->drift_ppm, passed;
    if (__builtin_mul_overflow(ahead, 1000000, &product))
        passed = (int64_t)((__int128)ahead * 1000000 / rate_ppm);
    else
        passed = product / rate_ppm;
    struct instant t = {c->base.ns + passed - 2}; /* rounding may miss by one either way */
    while (sim_clock_read(c, t).ns < at.ns)
        t.ns++;
    return t;
}

static inline void sim_clock_set_drift(struct sim_clock *c, struct instant now, int64_t drift_ppm)
{
    c->read = sim_clock_read(c, now);
    c->base = now;
    c->drift_ppm = drift_ppm;
}
