/* heat.h - settings: for how long the heat of keys is remembered (engine/heat/heat.h).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_HEAT(X)                                                                           \
    X(heat_half_life_ms, 10000, 1000, 3600000,                                                     \
      "The weight of a request in the heat of its key halves in this time.")                       \
    X(heat_start_percent, 1, 0, 100,                                                               \
      "The heat of a partition's keys is measured once the partition's demand exceeds this "       \
      "percentage of its maximum within a second.")                                                \
    X(heat_recent_ms, 1000, 10, 3600000,                                                           \
      "The present demand of a partition is the mean over one to two times this time.")
/* clang-format on */

CONFIG_AREA(heat, HEAT)
