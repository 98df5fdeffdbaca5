/* trace.h - the latest events of a machine, and a hash of all its events.
 *
 * Two runs from the same seed must end with the same hash, which proves the replay. The latest
 * events are for people, after a failure. The machine defines the kinds, subjects and values. */
#pragma once

#include "base/instant.h"

enum {
    TRACE_EVENTS = 256 /* kept; a power of two */
};

struct trace_event {
    struct instant at;
    uint32_t kind;
    uint32_t subject;
    int64_t value;
};

struct trace {
    struct trace_event events[TRACE_EVENTS]; /* a ring */
    uint64_t count;                          /* in all */
    uint64_t hash;                           /* of all events, in order */
};

void trace_add(struct trace *t, struct instant at, uint32_t kind, uint32_t subject, int64_t value);

/* The event `back` places before the last. NULL: not kept any more, or no such event. */
const struct trace_event *trace_last(const struct trace *t, uint64_t back);
