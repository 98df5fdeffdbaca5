/* known_costs.c - refuses scans and reads of large items where items may be absent. */
#include "lab/clients/known_costs.h"

enum {
    READ_UNIT_BYTES = 4096 /* a read of an absent item costs as much as one of this size */
};

static bool known_costs_of_mix(struct reading *r, const struct document_node *at,
                               const struct scenario_workload *w, const char *fidelity)
{
    const struct traffic_options *o = &w->traffic;
    if (o->mix.fraction[TRAFFIC_SCAN] > 0)
        return reading_fail(r, at,
                            "the fidelity %s does not know what a scan costs: its tables lack most "
                            "of the keys that workload %s has. The fidelity admission knows it",
                            fidelity, w->name);
    if (o->mix.fraction[TRAFFIC_READ] > 0 && o->sizes.max > READ_UNIT_BYTES)
        return reading_fail(r, at,
                            "the fidelity %s does not know what a read of more than %d bytes "
                            "costs: the item may be absent. Workload %s reads up to %lld bytes. "
                            "The fidelity admission knows it",
                            fidelity, READ_UNIT_BYTES, w->name, (long long)o->sizes.max);
    return true;
}

bool known_costs_check(struct reading *r, const struct scenario *s, const char *fidelity)
{
    for (uint32_t i = 0; i < s->workload_count; i++) {
        const struct scenario_workload *w = &s->workloads[i];
        const struct document_node *at = document_nearest(r->document, "workloads.%u.mix", i + 1);
        if (w->trace_count == 0 && w->limiter == NULL && !known_costs_of_mix(r, at, w, fidelity))
            return false;
    }
    return true;
}
