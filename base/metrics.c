/* metrics.c - the tables that follow from the lists. */
#include "base/metrics.h"

#include "base/slice.h"

#define METRIC_ROW(name, kind, unit, help) {#name, METRIC_##kind, METRIC_##unit, help},
#define METRIC_TABLE(group, list, name) \
    static const struct metric group##_metrics[] = {METRICS_##list(METRIC_ROW)};

METRICS_ALL(METRIC_TABLE)

#define METRIC_GROUP(group, list, name) \
    [METRICS_OF_##list] = {name, group##_metrics, COUNT_OF(group##_metrics)},

const struct metric_group metric_groups[METRIC_GROUPS] = {METRICS_ALL(METRIC_GROUP)};

#define METRIC_FAMILY(id, type, name, help) [FAMILY_##id] = {name, METRIC_##type, help},

const struct metric_family metric_families[METRIC_FAMILY_COUNT] = {METRIC_FAMILIES(METRIC_FAMILY)};
