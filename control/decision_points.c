/* decision_points.c - the controller's policies by name, and what all decision points share. */
#include "control/decision_points.h"

#include "base/config.h"
#include "control/controller_internal.h"

/* A decision point: its setting, and weir's own policy. */
struct point {
    enum policy_point point;
    const char *setting;
    size_t at;       /* of the name in struct config */
    const char *own; /* name of weir's own policy */
    const void *policy;
};

extern const struct weir_adaptive_policy weir_adaptive_proportional;
extern const struct weir_split_policy weir_split_limits;
extern const struct weir_demand_policy weir_demand_peak;
extern const struct weir_relocate_policy weir_relocate_least_reserved;

static const struct point points[] = {
    {POLICY_ADAPTIVE, "adaptive_policy", offsetof(struct config, adaptive_policy), "proportional",
     &weir_adaptive_proportional},
    {POLICY_SPLIT, "split_policy", offsetof(struct config, split_policy), "limits",
     &weir_split_limits},
    {POLICY_DEMAND, "demand_policy", offsetof(struct config, demand_policy), "peak",
     &weir_demand_peak},
    {POLICY_RELOCATE, "relocate_policy", offsetof(struct config, relocate_policy), "least-reserved",
     &weir_relocate_least_reserved},
};

enum {
    POINTS = sizeof points / sizeof points[0]
};

static const void *point_find(const struct config *config, const struct point *point)
{
    const struct slice name = slice_of((const char *)config + point->at);
    if (slice_is(name, point->own))
        return point->policy;
    const struct policy_entry *e = policies_find(config->policies, point->point, name);
    return policies_policy(e);
}

const void *control_policy(const struct controller *c, enum policy_point point)
{
    const void *policy = NULL;
    for (size_t i = 0; i < POINTS; i++) {
        if (points[i].point == point)
            policy = point_find(c->config, &points[i]);
    }
    must(policy != NULL); /* control_policies_check */
    return policy;
}

bool control_policy_is_own(enum policy_point point, const char *name)
{
    for (size_t i = 0; i < POINTS; i++) {
        if (points[i].point == point && strcmp(points[i].own, name) == 0)
            return true;
    }
    return false;
}

enum status control_policies_check(const struct config *config, struct buffer *error)
{
    for (size_t i = 0; i < POINTS; i++) {
        const struct point *p = &points[i];
        if (point_find(config, p) != NULL)
            continue;
        buffer_append_format(error, "%s '%s' is not known: it must be one of %s", p->setting,
                             (const char *)config + p->at, p->own);
        policies_append_names(config->policies, p->point, error);
        buffer_append_text(error, ". --policy FILE.so loads more");
        return STATUS_MALFORMED;
    }
    return STATUS_OK;
}

/* ---- around a call ---- */

int64_t control_call_begin(const struct controller *c, const void *policy)
{
    return policies_begin(c->config->policies, policy);
}

void control_call_end(const struct controller *c, const void *policy, int64_t begun_ns)
{
    policies_end(c->config->policies, policy, begun_ns);
}

void control_report_invalid(const struct controller *c, const void *policy, const char *what)
{
    policies_report_invalid(c->config->policies, policy, what);
}
