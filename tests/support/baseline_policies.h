/* baseline_policies.h - the baselines (lab/baselines), for configurations of tests. */
#pragma once

#include "base/policies.h"

/* Shared by all tests of the program. */
struct policies *baseline_policies(void);
