/* lab_recordings.h - the recordings that `weir lab replay` replays. */
#pragma once

#include <stdbool.h>

#include "workload/trace_merge.h"

/* What recordings tell of themselves. */
struct recorded {
    int64_t end_ns;
    int64_t outcomes[TRACE_OUTCOMES];
    int64_t requests;
};

/* Recordings that are replayed. */
struct recordings {
    const char *paths[TRACE_MERGE_MAX]; /* owns; absolute */
    uint32_t count;
    struct buffer list; /* the paths as a list of YAML */
};

/* Takes the words before the scenario. The first word is a recording of any kind. The last of
 * several is the scenario, unless it is a recording: then `scenario` is NULL. False: the fault was
 * printed. recordings_deinit frees, in all cases. */
bool recordings_take(struct recordings *r, const char *const *words, int count,
                     const char **scenario);
void recordings_deinit(struct recordings *r);

/* Reads all of them. False: the fault was printed. */
bool recordings_scan(const struct recordings *all, struct recorded *out);
/* A line about what was recorded. */
void recorded_print(const struct recordings *all, const struct recorded *r);
