/* admission.h - settings: how partitions and nodes admit requests: maxima, and the depth of
 * buckets (engine/admission/).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_ADMISSION_BUCKETS(X)                                                              \
    X(partition_max_wcu, 1000, 1, 1000000,                                                         \
      "A partition serves at most this many write units per second.")                              \
    X(partition_max_rcu, 3000, 1, 1000000,                                                         \
      "A partition serves at most this many read units per second.")                               \
    X(burst_max_s, 300, 0, 86400,                                                                  \
      "A partition saves at most this many seconds of unused allocation as burst.")                \
    X(debt_max_s, 300, 1, 86400, "The debt of a bucket is at most this many seconds of its rate.") \
    X(cap_depth_ms, 1000, 1, 3600000,                                                              \
      "A partition saves at most this time of its maximum throughput.")                            \
    X(allocation_depth_ms, 1000, 1, 3600000,                                                       \
      "A partition saves at most this time of its allocation, before it saves burst.")             \
    X(node_depth_ms, 200, 1, 60000,                                                                \
      "A node saves at most this time of its throughput. Bursts share it in rounds of this "       \
      "length.")
#define SETTINGS_ADMISSION_NODE(X)                                                                 \
    X(node_wcu, 40000, 1, 100000000, "A node serves at most this many write units per second.")    \
    X(node_rcu, 120000, 1, 100000000, "A node serves at most this many read units per second.")
#define SETTINGS_ADMISSION(X)                                                                      \
    SETTINGS_ADMISSION_BUCKETS(X)                                                                  \
    SETTINGS_ADMISSION_NODE(X)
/* clang-format on */

CONFIG_AREA(admission, ADMISSION)
