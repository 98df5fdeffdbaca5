/* shipped.h - the scenarios that come with weir, as texts in the program (scenarios/). */
#pragma once

#include "base/slice.h"

struct lab_shipped {
    const char *name; /* of the file, without its number and .yaml */
    struct slice text;
};

/* In the order of the files. */
extern const struct lab_shipped lab_shipped[];
extern const size_t lab_shipped_count;

/* The classic policies, as a YAML list: scenarios/parts/baselines.yaml. */
extern const struct slice lab_baselines;

/* scenarios/parts/replay.yaml: the cluster in which `weir lab replay` replays. */
extern const struct slice lab_replay;

/* NULL: no scenario has this name. */
const struct lab_shipped *lab_shipped_find(const char *name);
