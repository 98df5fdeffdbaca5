/* hedge.h - when a client sends a second attempt of a request whose first one is still out.
 *
 * A client is an SDK client object, as in retry.h: its requests share one state of bounded size.
 * Only requests that may be done twice are hedged: the caller passes reads alone. A request has at
 * most one hedge. Time is an argument, nothing is allocated: the same calls give the same answers.
 *
 *   hedge_begin   when a first attempt is sent: after how long may it be hedged?
 *   hedge_take    that time is over and the first attempt is out: is there budget for a hedge?
 *   hedge_learn   how long a first attempt took
 *
 * Invariants
 *   HEDGE-1  A client sends at most FRACTION hedges for each of its first attempts.
 *
 * Source: Dean and Barroso, The Tail at Scale, Communications of the ACM 56(2), 2013: a client
 * sends the second request when the first one has been out for longer than the 95th percentile of
 * the expected latency. This adds about 5 % of load. The budget keeps that bound when latencies
 * rise.
 *
 * Not here: sending, and the choice of the router. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    HEDGE_OCTAVES = 25, /* 2^10 ns (1 us) to 2^35 ns (34 s) */
    HEDGE_STEPS = 8,    /* of an octave */
    HEDGE_BUCKETS = HEDGE_OCTAVES * HEDGE_STEPS,
    HEDGE_MIN_KNOWN = 100, /* latencies, before a percentile of them counts */
};

struct hedge_options {
    bool on;
    int64_t after_ns;   /* if `percent` is 0 */
    int32_t percent;    /* hedge after this percentile of the latency; 0: after `after_ns` */
    int64_t budget_ppm; /* hedges for a million first attempts */
};

/* "none", "TIME[:FRACTION]" or "pNN[:FRACTION]". Returns NULL, or the fault as a static text. */
const char *hedge_parse(void *options, const char *text); /* struct hedge_options */

/* A client. Starts zeroed. */
struct hedge {
    int64_t budget_ppm; /* a hedge takes a million */
    uint32_t known;     /* the sum of `latencies`; old ones count less and less */
    uint16_t latencies[HEDGE_BUCKETS];
};

/* A first attempt is sent. Returns the time after which it may be hedged. Below 0: it is not
 * hedged, because too little is known of the latency. */
int64_t hedge_begin(struct hedge *h, const struct hedge_options *o);
/* Whether the client may send a hedge now. It is counted as sent. */
bool hedge_take(struct hedge *h);
/* A first attempt was answered well after `latency_ns`, or was out so long when its hedge was. */
void hedge_learn(struct hedge *h, int64_t latency_ns);
