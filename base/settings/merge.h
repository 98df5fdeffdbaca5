/* merge.h - settings: merges of cold partitions (control/merge.c).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_MERGE(X)                                                                          \
    X(merge_cold_ms, 3600000, 1000, 604800000,                                                     \
      "Two neighbouring partitions are merged once both have been cold for this time.")            \
    X(merge_fill_percent, 20, 1, 98,                                                               \
      "Two partitions are cold while their demand together is at most this percentage of a "       \
      "partition's maximum.")                                                                      \
    X(merge_backoff_ms, 60000, 0, 86400000,                                                        \
      "After a failed merge of two partitions, the next attempt waits for this time.")             \
    X(merge_freeze_ms, 1000, 10, 60000,                                                            \
      "A merge of two partitions is given up if the upper partition's replicas do not all stop "   \
      "serving within this time.")
/* clang-format on */

CONFIG_AREA(merge, MERGE)
