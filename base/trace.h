/* trace.h - the last things that happened to a machine, and a hash of everything that ever did.
 *
 * Two runs from the same seed must end with the same hash: that is how a replay proves itself. The
 * last events are for people, when something has gone wrong. What kinds there are, and what subject
 * and value mean, is the machine's to say. */
#ifndef WEIR_BASE_TRACE_H
#define WEIR_BASE_TRACE_H

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
    uint64_t count;                          /* ever */
    uint64_t hash;                           /* of all, in order */
};

void trace_add(struct trace *t, struct instant at, uint32_t kind, uint32_t subject, int64_t value);

/* The event `back` before the last one; NULL if it is not kept any more, or never was. */
const struct trace_event *trace_last(const struct trace *t, uint64_t back);

#endif
