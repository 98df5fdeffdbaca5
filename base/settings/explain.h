/* explain.h - settings: decision records (router/records/).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_EXPLAIN(X)                                                                        \
    X(explain_bytes, 8 * MIB, 0, GIB,                                                              \
      "A router keeps decision records in this many bytes: why requests were refused or slow "     \
      "(weir explain). 0: it keeps none. Otherwise at least 65,536.")                              \
    X(explain_slow_ms, 100, 1, 600000, "A request that takes this time leaves a decision record.")
/* clang-format on */

CONFIG_AREA(explain, EXPLAIN)
