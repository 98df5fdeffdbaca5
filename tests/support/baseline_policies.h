/* baseline_policies.h - the baselines (lab/baselines) and the adversaries (lab/adversaries), for
 * configurations of tests. */
#pragma once

#include "base/policies.h"

/* Shared by all tests of the program. */
struct policies *baseline_policies(void);
