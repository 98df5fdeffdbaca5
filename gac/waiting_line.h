/* waiting_line.h - places in line of requests that a router refused for one limit.
 *
 * Each refused request alone would be let in with the next tokens. If all were told that time, all
 * but one would come in vain. So a request is told a place behind those that were told before and
 * have not come yet.
 *
 * An example: of three requests, the one refused at 0 s is told a place at 0.1 s, the one refused
 * at 0.02 s a place at 0.35 s, the one refused at 0.05 s a place at 0.6 s.
 *
 * A place is no reservation: whoever comes finds the tokens that are there. Newcomers take some of
 * them, so the line moves at WAITING_LINE_PART of the rate. Of n clients that ask for more than
 * there is, one attempt in 1 + WAITING_LINE_PART is then refused (docs/decisions/0044).
 *
 * Invariants
 *   LINE-1  who is told a place while no other place is ahead is told the least time.
 *   LINE-2  the same request that comes too soon keeps its place.
 *   LINE-3  no place is later than WAITING_LINE_MAX_S from now, unless the least time is.
 * Not here: the least time (client.h), which requests are the same (router/core/limit.c). */
#pragma once

#include "base/instant.h"

enum {
    WAITING_LINE_PLACES =
        64, /* that are kept: without one, a request that comes too soon goes to the end */
    WAITING_LINE_PART_NUMERATOR = 2, /* of the rate: what those in line get */
    WAITING_LINE_PART_DENOMINATOR = 5,
    WAITING_LINE_MAX_S = 30
};

struct waiting_line_place {
    uint64_t request;
    struct instant at;
};

struct waiting_line {
    struct instant end;      /* the last place */
    struct instant given_at; /* when it was given */
    uint32_t count;
    struct waiting_line_place
        places[WAITING_LINE_PLACES]; /* of requests that have not come yet, in no order */
};

/* The time until the request's place. `min`: without others. `cost`: the time in which its
 * tokens come. */
struct duration waiting_line_wait(struct waiting_line *l, struct instant now, uint64_t request,
                                  struct duration min, struct duration cost);
