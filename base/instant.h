/* instant.h - points and spans of monotonic time. Time is always an argument; only host/ asks a
 * clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

struct duration {
    int64_t ns;
};

struct instant {
    int64_t ns; /* since an arbitrary start that does not change while a process lives */
};

#define INSTANT_NEVER ((struct instant){INT64_MAX})

static inline struct duration duration_ms(int64_t ms)
{
    return (struct duration){ms * NS_PER_MS};
}

static inline struct instant instant_add(struct instant t, struct duration d)
{
    int64_t sum;
    return (struct instant){__builtin_add_overflow(t.ns, d.ns, &sum) ? INT64_MAX : sum};
}

static inline struct instant instant_add_ms(struct instant t, int64_t ms)
{
    return instant_add(t, duration_ms(ms));
}

/* How long a piece of work waits for its processor in all, and how much of that is still to come: 0
 * where the work begins now. Simulated processors know the rest ahead. */
struct waiting {
    struct duration all;
    struct duration ahead;
};

/* later - earlier */
static inline struct duration instant_since(struct instant later, struct instant earlier)
{
    return (struct duration){later.ns - earlier.ns};
}

static inline bool instant_before(struct instant a, struct instant b)
{
    return a.ns < b.ns;
}

static inline struct instant instant_earlier(struct instant a, struct instant b)
{
    return a.ns < b.ns ? a : b;
}

static inline struct instant instant_later(struct instant a, struct instant b)
{
    return a.ns < b.ns ? b : a;
}
