/* prng.h - seeded pseudo-random numbers that replay on every machine.
 * Source: xoshiro256** with splitmix64 seeding, Blackman and Vigna, 2018. */
#pragma once

#include <stdint.h>

struct prng {
    uint64_t state[4];
};

static inline struct prng prng_seeded(uint64_t seed)
{
    struct prng p;
    for (int i = 0; i < 4; i++) {
        seed += UINT64_C(0x9E3779B97F4A7C15);
        uint64_t z = seed;
        z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
        p.state[i] = z ^ (z >> 31);
    }
    return p;
}

static inline uint64_t prng_rotate(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static inline uint64_t prng_next(struct prng *p)
{
    uint64_t *s = p->state;
    uint64_t result = prng_rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = prng_rotate(s[3], 45);
    return result;
}

/* Uniform in [0, bound), bound > 0; the bias is below 2^-64 * bound. */
static inline uint64_t prng_below(struct prng *p, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)prng_next(p) * bound) >> 64);
}

/* Uniform in [low, high], both ends included. */
static inline int64_t prng_between(struct prng *p, int64_t low, int64_t high)
{
    return low + (int64_t)prng_below(p, (uint64_t)(high - low) + 1);
}

/* Uniform in [0, 1): for workloads, never for admission. */
static inline double prng_unit(struct prng *p)
{
    return (double)(prng_next(p) >> 11) * 0x1.0p-53;
}
