/* policy_none.c - never throttles. Charges nothing, so that no debt remains when another policy
 * takes over. */
#include "engine/admission/admission_internal.h"

static void none_decide(const struct admission_case *c, int64_t cost_mcu,
                        struct admit_verdict *verdict)
{
    (void)c;
    (void)cost_mcu;
    verdict->reason = ADMIT_OK;
}

static void none_settle(const struct admission_case *c, const struct admit_verdict *verdict,
                        int64_t extra_mcu)
{
    (void)c;
    (void)verdict;
    (void)extra_mcu;
}

const struct admission_policy admission_policy_none = {
    .name = "none", .saves = false, .decide = none_decide, .settle = none_settle};
