/* index_feed_pace.h - how many changes of a feed may wait for an index that holds the feed up.
 *
 * An index that refuses rows takes as many as it can. So what was done in the last window tells its
 * rate, and as many changes may wait as are done in the time that a change may wait. Without
 * refusals nothing is known: few changes are done because few are written.
 * A feed whose neighbours send nothing for a moment is served faster. If its queue grew as much at
 * once, it would be too long when they are back, and take nothing until it is short again. So the
 * room for changes moves by a part of what is done. While an index is away for a moment (it has no
 * leader), its feed goes on at the rate that the index had, for half of the wait.
 *
 * Promises
 *   PACE-1  While an index refuses rows, a feed takes as many changes as the index does, a fifth
 *           more or less: once few enough wait, and after the split of a partition or for a new
 *           leader from the first moment on.
 *
 * Time is an argument and must not move back.
 * Not here: how long a change may wait: a part of index_backlog_ms (index_feed.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/instant.h"

struct index_feed_pace {
    int64_t window_ns;
    int64_t wait_ns;            /* so long a change may wait */
    bool held;                  /* an index refuses rows */
    bool first;                 /* no window with changes that were done has ended since */
    bool goes_on;               /* a change was done since the last refusal */
    struct instant begun;       /* of the present window */
    struct instant until;       /* the refused row is sent again then */
    struct instant answered_at; /* of the index until then; or counted as if */
    struct instant kept_until;  /* `target` counts if the index refuses rows again before */
    bool was_away;              /* the index, in the present window */
    uint32_t done;              /* in the present window */
    uint32_t target;            /* the room at the last window's rate */
    uint32_t room;
};

/* A feed that was `held` up before begins with so many changes. */
void index_feed_pace_begin(struct index_feed_pace *p, struct instant now, struct duration window,
                           struct duration wait, bool held, uint32_t changes);
/* An index refused a row, which is sent again at `until`. */
void index_feed_pace_refused(struct index_feed_pace *p, struct instant now, struct instant until);
/* The indexes have a change. */
void index_feed_pace_done(struct index_feed_pace *p, struct instant now);
/* Whether an index has refused a row lately. */
bool index_feed_pace_holds(struct index_feed_pace *p, struct instant now);
/* The most changes that may wait. UINT32_MAX: no index holds the feed up. */
uint32_t index_feed_pace_room(struct index_feed_pace *p, struct instant now);
