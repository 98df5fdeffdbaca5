/* heat.h - settings: for how long the heat of keys is remembered (engine/heat/heat.h).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_HEAT(X)                                                                           \
    X(heat_half_life_ms, 10000, 1000, 3600000,                                                     \
      "A request counts half as much for the heat of its key after this time.")                    \
    X(heat_start_percent, 1, 0, 100,                                                               \
      "The keys of a partition are watched once it was asked for more than this percentage of "    \
      "its maximum within a second.")                                                              \
    X(heat_recent_ms, 1000, 10, 3600000,                                                           \
      "What a partition is asked for now is the mean over one to two times this time.")
/* clang-format on */

CONFIG_AREA(heat, HEAT)
