#include "tests/support/baseline_policies.h"

#include "lab/adversaries/adversaries.h"
#include "lab/baselines/baselines.h"

struct policies *baseline_policies(void)
{
    static struct policies policies;
    baselines_add(&policies);
    adversaries_add(&policies);
    return &policies;
}
