#include "tests/support/baseline_policies.h"

#include "lab/baselines/baselines.h"

struct policies *baseline_policies(void)
{
    static struct policies policies;
    baselines_add(&policies);
    return &policies;
}
