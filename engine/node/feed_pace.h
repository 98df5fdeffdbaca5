/* feed_pace.h - how long a new change of a feed would wait for an index that holds the feed up.
 *
 * An index that refuses rows takes as many as it can. Then the items that were done in the last window,
 * and those that are left, tell how long one more will wait. Without refusals nothing is known: few items
 * are done because few are written.
 *
 * Promises
 *   PACE-1  While an index refuses rows, a feed takes as many items as the index does: after a window, and
 *           after the split of a partition or for a new leader from the first moment on.
 *
 * Time is an argument and must not move back. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/instant.h"

struct feed_pace {
    int64_t window_ns;
    struct instant begun;      /* of the present window */
    struct instant held_until; /* for so long the last refusal counts */
    uint32_t done;             /* items, in the present window */
    uint32_t done_before;      /* in the window before */
    bool has_before;           /* there was one */
    uint32_t loaded; /* items that the feed began with, if it was held up then; else UINT32_MAX */
};

/* A feed that was `held` up before begins with so many items. */
void feed_pace_begin(struct feed_pace *p, struct instant now, struct duration window, bool held,
                     uint32_t items);
/* An index refused a row. */
void feed_pace_refused(struct feed_pace *p, struct instant now);
/* The indexes have an item. */
void feed_pace_done(struct feed_pace *p, struct instant now);
/* How long the last of so many items will wait. 0: no index holds the feed up, as far as is known. */
struct duration feed_pace_wait(struct feed_pace *p, struct instant now, uint32_t items);
