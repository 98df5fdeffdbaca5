/* counter_reads.h - a GET of a counter's item: all its cells are read at the same time, and added
 * up (counters.h).
 *
 * The operation makes one request, and gets one reply. If the number of cells has changed
 * meanwhile, all are read again. A counter that shrinks is not read: s->busy. The cells are not
 * read at one moment: a sum has every addition that was acknowledged before the read began, and
 * none that began after it ended. */
#pragma once

#include "router/core/subrequest.h"

struct counter_read;

/* Whether the subrequest is a GET of a counter's item: then it and those of the other cells were
 * started. */
bool counter_read_begins(struct subrequest *s);
/* Sets what the request tells of the registry, as placement_resolve does. */
void counter_read_place(struct subrequest *s);
/* Takes the final reply for a cell. True: it was the last one, and `sum` is the reply to the
 * operation. It lends from the call's arena. */
bool counter_read_takes(struct subrequest *s, const struct reply *reply, struct reply *sum);
