/* deadlines.c - how long a run waits for what must happen after the faults. */
#include "sim/check/deadlines.h"

#include "base/settings/gac.h"
#include "base/settings/indexes.h"
#include "sim/check/gac_watch.h"

enum {
    CALM_S = 30,
    INDEXES_S = 60,
    UNITS_OF_KIB = 4,
    LIMITED_UNITS = 50,  /* per key: ten times one write and two reads */
    INDEXED_UNITS = 150, /* the same, with two local indexes */
};

int64_t deadline_indexes_ns(const struct plan *p)
{
    const int64_t kib = p->nodes * config_indexes(&p->config)->index_backlog_bytes / KIB;
    const int64_t units = p->workload.index_units;
    return (INDEXES_S + (units > 0 ? UNITS_OF_KIB * kib / units : 0)) * NS_PER_S;
}

int64_t deadline_calm_ns(const struct plan *p)
{
    const struct workload *w = &p->workload;
    int64_t ns = CALM_S * NS_PER_S;
    if (gac_has_periods(&p->config))
        ns += 2 * (int64_t)w->keys * w->tables * config_gac(&p->config)->gac_period_ms * NS_PER_MS;
    if (p->limits || w->indexed) /* rows of indexes cost, too */
        ns += (w->indexed ? INDEXED_UNITS : LIMITED_UNITS) * (int64_t)w->keys * w->tables *
              NS_PER_S / w->units;
    if (w->index_units > 0)
        ns += deadline_indexes_ns(p) + INDEXED_UNITS * (int64_t)w->keys * NS_PER_S / w->index_units;
    return ns;
}
