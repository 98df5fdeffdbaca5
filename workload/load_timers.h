/* load_timers.h - requests that begin or go on later: a heap by time, of a fixed size. */
#pragma once

#include "workload/load_request.h"

enum load_timer_kind {
    LOAD_TIMER_CLIENT,  /* a client of a closed loop has thought; no request */
    LOAD_TIMER_ATTEMPT, /* the next attempt of the request asks for its permit */
};

struct load_timer {
    int64_t at_ns;
    uint64_t order; /* of those at the same time, the first one that came */
    enum load_timer_kind kind;
    struct load_request request;
};

struct load_timers {
    struct load_timer *heap; /* owns */
    int64_t count, capacity;
    uint64_t order;
};

void load_timers_init(struct load_timers *t, int64_t capacity);
void load_timers_deinit(struct load_timers *t);

/* `request` may be NULL. There must be room. */
void load_timers_add(struct load_timers *t, int64_t at_ns, enum load_timer_kind kind,
                     const struct load_request *request);
/* The earliest one, if it is due at now_ns. */
bool load_timers_take(struct load_timers *t, int64_t now_ns, struct load_timer *out);
/* INT64_MAX: none. */
int64_t load_timers_deadline(const struct load_timers *t);
