/* split.h - settings: splits for throughput (control/split_policy.c, engine/heat/split_point.h).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_SPLIT(X)                                                                          \
    X(split_percent, 80, 2, 100,                                                                   \
      "A partition above this percentage of its maximum throughput for split_window_ms is split.") \
    X(split_fill_percent, 77, 1, 99,                                                               \
      "A split makes the smallest number of pieces with a load of at most this percentage of a "   \
      "partition's maximum.")                                                                      \
    X(split_by_load, 1, 0, 1,                                                                      \
      "1: a partition that reaches a limit is split where its load divides, if that helps. 0: it " \
      "is always split in the middle of its range of hashes. With 0, popular keys and sequential " \
      "loads cause endless splits: use it only for comparison.")                                   \
    X(split_window_ms, 10000, 100, 15000,                                                          \
      "The mean consumption over this time is compared with split_percent.")                       \
    X(split_hold_ms, 2500, 10, 3600000,                                                            \
      "A load above a partition's maximum is a reason for a split once it has lasted this time.")  \
    X(split_hold_factor, 3, 1, 10,                                                                 \
      "After a futile split, the table's next load must last this many times as long before a "    \
      "split. 1: no longer.")                                                                      \
    X(split_delay_ms, 0, 0, 86400000,                                                              \
      "A split for a load waits until the reason for it has lasted this time.")                    \
    X(split_hold_reset_ms, 100, 1, 60000,                                                          \
      "A load above a partition's maximum has ended after about this time below the maximum.")     \
    X(split_gap_tolerance_ms, 1000, 0, 60000,                                                      \
      "A gap of this time does not end a load above the maximum if the load makes up for it.")     \
    X(split_gain_percent, 5, 1, 100,                                                               \
      "A split for a load above the maximum must increase the served load by at least this "       \
      "percentage of the maximum.")                                                                \
    X(split_largest_percent, 80, 1, 100,                                                           \
      "After a split for a load below the maximum, no piece may have more than this percentage "   \
      "of the load.")                                                                              \
    X(split_samples_min, 256, 1, 1000000,                                                          \
      "A partition is split for its throughput after this many observed requests.")                \
    X(split_backoff_ms, 60000, 0, 86400000,                                                        \
      "After advice against a split, a partition is evaluated again after this time.")             \
    X(split_retry_ms, 1000, 10, 3600000,                                                           \
      "A failed evaluation or split of a partition is retried after this time.")
/* clang-format on */

CONFIG_AREA(split, SPLIT)
