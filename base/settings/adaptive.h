/* adaptive.h - settings: adaptive capacity (control/adaptive.c).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_ADAPTIVE(X)                                                                       \
    X(adaptive_after_ms, 1000, 0, 3600000,                                                         \
      "A partition that is throttled for this time is allocated more.")                            \
    X(adaptive_every_ms, 1000, 10, 3600000,                                                        \
      "Allocations are changed at most once in this time.")                                        \
    X(adaptive_window_ms, 5000, 100, 15000,                                                        \
      "The demand of a partition is the mean over this time.")                                     \
    X(adaptive_calm_ms, 2000, 10, 15000,                                                           \
      "A partition is no longer throttled after this time without refusals.")                      \
    X(adaptive_step_percent, 110, 1, 200,                                                          \
      "Each raise gives a throttled partition this percentage of the throughput that it lacks.")   \
    X(adaptive_margin_percent, 1, 0, 50,                                                           \
      "Allocations do not change while the table is within this percentage of its limit.")         \
    X(adaptive_decay_percent, 20, 1, 100,                                                          \
      "Each decay takes this percentage of an unused boost from a partition.")                     \
    X(adaptive_decay_ms, 10000, 100, 3600000, "An unused boost decays once in this time.")         \
    X(adaptive_used_percent, 80, 0, 100,                                                           \
      "A boost is used while the partition consumes this percentage of its allocation.")
/* clang-format on */

CONFIG_AREA(adaptive, ADAPTIVE)
