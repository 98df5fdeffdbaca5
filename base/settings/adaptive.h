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
      "What a partition is asked for is the mean over this time.")                                 \
    X(adaptive_calm_ms, 2000, 10, 15000,                                                           \
      "A partition that is not refused anything for this time is not throttled any more.")         \
    X(adaptive_step_percent, 110, 1, 200,                                                          \
      "A throttled partition is given this percentage of what it lacks each time.")                \
    X(adaptive_margin_percent, 1, 0, 50,                                                           \
      "Allocations stay as they are while the table is within this percentage of its limit.")      \
    X(adaptive_decay_percent, 20, 1, 100,                                                          \
      "A partition loses this percentage of a boost that it does not use, each time.")             \
    X(adaptive_decay_ms, 10000, 100, 3600000,                                                      \
      "A boost that is not used is lowered once in this time.")                                    \
    X(adaptive_used_percent, 80, 0, 100,                                                           \
      "A boost is used while the partition consumes this percentage of its allocation.")
/* clang-format on */

CONFIG_AREA(adaptive, ADAPTIVE)
