/* until.h - sequential stopping: seeds are added until the results are precise.
 *
 * After 5 seeds of every policy, and then after a third more each time, an interim analysis
 * compares the half widths of the 95 % intervals with the means. All policies have the same seeds
 * in each analysis, so their differences stay paired. docs/measures.md says what repeated analyses
 * cost.
 *
 * Not here: the schedule of the analyses and the rule (lab/measure/statistics.h). */
#pragma once

#include "base/slice.h"

enum {
    LAB_UNTIL_SEEDS = 50 /* at most, unless the command says another number */
};

struct lab_until {
    int64_t ppm;           /* half width of an interval, of its mean; 0: all seeds are run */
    struct slice measures; /* names with commas between them, of all policies; borrows; empty: the
                              values of the expectations */
};
