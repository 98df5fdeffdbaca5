#include "engine/admission/policy_internal.h"
void admission_absorb(struct admission *into, const struct admission *from,
                      const struct config *config, const struct admission_rates *rates,
                      struct instant now);
void admission_absorb(struct admission *into, const struct admission *from,
                      const struct config *config, const struct admission_rates *rates,
                      struct instant now)
{
    const struct admission_policy *policy = into->policy;
    struct admission_balances b[ADMIT_KINDS];
    for (enum admit_kind k = 0; k < ADMIT_KINDS; k++) {
        b[k] = admission_balances(into, k, now);
        struct admission_balances o = admission_balances(from, k, now);
        b[k].cap_mcu += o.cap_mcu;
        b[k].allocation_mcu += o.allocation_mcu;
        b[k].burst_mcu += o.burst_mcu;
    }
    admission_init(into, policy, config, rates, now);
    for (enum admit_kind k = 0; k < ADMIT_KINDS; k++)
        admission_restore(into, k, now, &b[k]);
}
