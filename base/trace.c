/* trace.c - a ring of events, and a hash over all of them. */
#include "base/trace.h"

#include <stddef.h>
#define XXH_INLINE_ALL /* of a known, small size */
#include <xxhash.h>

_Static_assert((TRACE_EVENTS & (TRACE_EVENTS - 1)) == 0, "the ring is indexed by a mask");
_Static_assert(sizeof(struct trace_event) == 24, "no padding: the hash covers it as it is");

void trace_add(struct trace *t, struct instant at, uint32_t kind, uint32_t subject, int64_t value)
{
    struct trace_event *e = &t->events[t->count++ & (TRACE_EVENTS - 1)];
    *e = (struct trace_event){at, kind, subject, value};
    t->hash = XXH3_64bits_withSeed(e, sizeof *e, t->hash);
}

const struct trace_event *trace_last(const struct trace *t, uint64_t back)
{
    if (back >= t->count || back >= TRACE_EVENTS)
        return NULL;
    return &t->events[(t->count - 1 - back) & (TRACE_EVENTS - 1)];
}
