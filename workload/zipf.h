/* zipf.h - ranks with Zipf's frequencies: rank r of 0..count-1 with a probability of (r +
 * 1)^-theta, normalised.
 *
 * Promises: exact for any count and theta > 0; two random numbers a rank, rarely more; no pow() for
 * 19 of 20 ranks (theta 1); a table of at most ZIPF_CELLS_MAX cells.
 *
 * How: ranks are cut into runs, each about a 16th longer than the ranks before it; the first runs
 * have one rank. A run is chosen by an alias table, as often as if each of its ranks had the
 * weight of the first; a rank in it evenly; and the rank is kept with its weight over the first
 * rank's. What the least weight of the run allows is kept without computing that weight.
 * Source of the alias table: Walker 1974, in the form of Vose 1991. */
#pragma once

#include "base/prng.h"

enum {
    ZIPF_CELLS_MAX = 512 /* 10^12 ranks need 420 */
};

struct zipf_cell {
    uint64_t stay;    /* of 2^64: this run, otherwise the alias */
    uint64_t first;   /* rank, from 1 */
    uint64_t length;  /* ranks in this run */
    uint64_t squeeze; /* of 2^64: kept without a look */
    uint32_t alias;
};

struct zipf {
    double theta;
    uint64_t count;
    uint32_t cells;
    struct zipf_cell *cell; /* owns */
};

/* count from 1 to 10^12, theta above 0 and up to 10. */
void zipf_init(struct zipf *z, double theta, uint64_t count);
void zipf_deinit(struct zipf *z);

uint64_t zipf_next(const struct zipf *z, struct prng *random);
