/* overload.h - settings: when nodes and routers refuse requests that have waited for too long
 * (engine/admission/overload.h).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_OVERLOAD(X)                                                                       \
    X(overload_target_ms, 150, 1, 60000,                                                           \
      "A node or router is overloaded while requests wait longer than this time for its "          \
      "processor. Then it refuses requests that are not within a limit.")                          \
    X(overload_interval_ms, 200, 1, 600000,                                                        \
      "Overload begins when every request has waited longer than the target for this time. It "    \
      "ends when no request has for this time.")                                                   \
    X(overload_limit_ms, 750, 1, 600000,                                                           \
      "During overload, requests within a limit are refused, too, if they have waited longer "     \
      "than this time.")
/* clang-format on */

CONFIG_AREA(overload, OVERLOAD)
