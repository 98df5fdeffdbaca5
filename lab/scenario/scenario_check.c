/* scenario_check.c - see scenario_check.h. */
#include "lab/scenario/scenario_check.h"

#include "control/decision_points.h"
#include "engine/admission/policy_choice.h"
#include "gac/grant_policy.h"
#include "lab/scenario/scenario_fault.h"
#include "lab/scenario/scenario_table.h"

/* The setting that a fault names; the longest name, as some begin as others do. */
static const struct document_node *setting_at_fault(const struct document *d, struct slice fault)
{
    const struct document_node *settings = document_nearest(d, "cluster.settings"),
                               *found = settings;
    if (settings->kind != DOCUMENT_MAP)
        return settings;
    for (const struct document_node *m = settings->first; m != NULL; m = m->next) {
        if (memmem(fault.data, fault.size, m->key.data, m->key.size) != NULL &&
            (found == settings || m->key.size > found->key.size))
            found = m;
    }
    return found;
}

static bool check_settings(struct reading *r, const struct scenario *s)
{
    const struct config *c = &s->cluster.config;
    struct buffer error = {0};
    const bool good = config_check(c, &error) == STATUS_OK &&
                      admission_policies_check(c, &error) == STATUS_OK &&
                      control_policies_check(c, &error) == STATUS_OK &&
                      table_policy_check(c, &error) == STATUS_OK;
    if (!good)
        reading_fail(r, setting_at_fault(r->document, buffer_slice(&error)), "settings: %.*s",
                     TEXT_OF(error));
    buffer_deinit(&error);
    return good;
}

/* A time of a list's element must be before the end of the run. */
static bool check_before_end(struct reading *r, const struct scenario *s, const char *list,
                             uint32_t place, const char *member, int64_t time_ns)
{
    return time_ns < s->duration_ns ||
           reading_fail(r, document_nearest(r->document, "%s.%u.%s", list, place + 1, member),
                        "%s is %gs, but must be before the end of the run at %gs", member,
                        (double)time_ns / 1e9, (double)s->duration_ns / 1e9);
}

/* What is later than the end never happens. A run that something outside the file has cut short may
 * have it: its duration has no line. */
static bool check_times(struct reading *r, const struct scenario *s)
{
    if (s->warm_ns >= s->duration_ns)
        return reading_fail(r, document_nearest(r->document, "warm"),
                            "warm is %gs, but must be shorter than duration, which is %gs",
                            (double)s->warm_ns / 1e9, (double)s->duration_ns / 1e9);
    if (document_nearest(r->document, "duration")->line == 0)
        return true;
    for (uint32_t i = 0; i < s->fault_count; i++) {
        if (!check_before_end(r, s, "faults", i, "at", s->faults[i].at_ns))
            return false;
    }
    for (uint32_t i = 0; i < s->expectation_count; i++) {
        if (!check_before_end(r, s, "expect", i, "from", s->expectations[i].from_ns))
            return false;
    }
    return true;
}

/* Whether an account of other tenants is the tenant of the workload. */
static bool is_account(const struct scenario *s, const char *tenant)
{
    for (uint32_t i = 0; i < s->tenant_count; i++) {
        if (s->tenants[i].parent != NULL && strcmp(s->tenants[i].parent, tenant) == 0)
            return true;
    }
    return false;
}

static bool check_workload(struct reading *r, const struct scenario *s, uint32_t place)
{
    const struct scenario_workload *w = &s->workloads[place];
    if (is_account(s, w->tenant))
        return reading_fail(r, document_nearest(r->document, "workloads.%u.tenant", place + 1),
                            "workload %s: tenant %s is the account of others, and has no workload "
                            "of its own",
                            w->name, w->tenant);
    return !w->hedge.on || s->cluster.routers > 1 ||
           reading_fail(r, document_nearest(r->document, "workloads.%u.hedge", place + 1),
                        "hedge of workload %s needs another router, but cluster.routers is %lld",
                        w->name, (long long)s->cluster.routers);
}

static bool check_workloads(struct reading *r, const struct scenario *s)
{
    bool limiter = false;
    for (uint32_t i = 0; i < s->workload_count; i++) {
        if (!check_workload(r, s, i))
            return false;
        limiter |= s->workloads[i].limiter != NULL;
    }
    return limiter || s->limit_count == 0 ||
           reading_fail(r, document_nearest(r->document, "limits"),
                        "there are limits, but no workload has `limiter`");
}

/* NULL names no policy, and is not unknown. */
static bool policy_is_unknown(const struct scenario *s, const char *name)
{
    return name != NULL && NAME_PLACE(name, s->policies, s->policy_count) == s->policy_count;
}

static bool check_policies(struct reading *r, const struct scenario *s, uint32_t place)
{
    const struct scenario_expectation *e = &s->expectations[place];
    const bool first = policy_is_unknown(s, e->policy);
    if (!first && !policy_is_unknown(s, e->versus))
        return true;
    return reading_fail(
        r, document_nearest(r->document, "expect.%u.%s", place + 1, first ? "policy" : "versus"),
        "there is no policy `%s`", first ? e->policy : e->versus);
}

bool scenario_check(struct reading *r, const struct scenario *s)
{
    bool good = check_settings(r, s) && check_times(r, s) && check_workloads(r, s);
    for (uint32_t i = 0; good && i < s->table_count; i++)
        good = scenario_table_check(r, s, i);
    for (uint32_t i = 0; good && i < s->fault_count; i++)
        good = scenario_fault_check(r, s, &s->faults[i]);
    for (uint32_t i = 0; good && i < s->expectation_count; i++)
        good = check_policies(r, s, i);
    return good;
}
