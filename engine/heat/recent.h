/* recent.h - which partition keys were asked for most in the last seconds, by the rule of Misra and
 * Gries.
 *
 * Time is cut into stretches. What counts is the present stretch and the whole one before it. When
 * the present one already has more than the whole one before, and not by chance, a load has begun:
 * then what was before is forgotten, so that a new load is seen in full. Partition keys are told
 * apart by their hashes in storage keys.
 *
 * Promises
 *   RECENT-1  What is counted of a key was asked for it. At most `lost_mcu` is missing.
 *   RECENT-2  lost_mcu is at most a part in RECENT_KEYS + 1 of everything; beside one key that has
 *             nearly everything it is at most a part in RECENT_KEYS of the rest.
 * Every function is O(RECENT_KEYS), allocates nothing, asks no clock and draws no random number.
 *
 * Source: J. Misra and D. Gries, "Finding repeated elements", 1982. */
#pragma once

#include "base/instant.h"

enum {
    RECENT_KEYS = 8
};

/* A key's count is what its `above` is above lost_mcu. The place is free if that is nothing. */
struct recent_stretch {
    uint64_t hashes[RECENT_KEYS];
    int64_t above[RECENT_KEYS];
    int64_t lost_mcu;
    int64_t sum_mcu; /* of all keys */
};

/* All zero: nothing was asked for yet. */
struct recent {
    struct instant from; /* of the present stretch; 0: none has begun */
    int64_t step_mcu;    /* a stretch with more is the begin of a load */
    struct recent_stretch now, last;
    bool has_last;
};

/* Cost > 0. `stretch_ns`: always the same. */
void recent_add(struct recent *r, struct instant now, int64_t stretch_ns, uint64_t hash,
                int64_t mcu);

/* The time that is counted. Less than a stretch: too little is known. */
int64_t recent_took_ns(struct recent *r, struct instant now, int64_t stretch_ns);
/* What was asked for in that time: of all keys; of a key at least, and at most. */
int64_t recent_sum(const struct recent *r);
int64_t recent_min(const struct recent *r, uint64_t hash);
int64_t recent_max(const struct recent *r, uint64_t hash);
