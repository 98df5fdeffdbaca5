/* limiter.h - settings: the rate limiter at routers (router/limiter/).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_LIMITER(X)                                                                        \
    X(limiter_buckets_max, 100000, 1, 10000000,                                                    \
      "A router caches at most this many buckets of the rate limiter.")                            \
    X(limiter_limits_ms, 5000, 1, 3600000,                                                         \
      "A router reads the limits of a bucket again after this time.")                              \
    X(limiter_deadline_ms, 3000, 10, 60000,                                                        \
      "A request to the rate limiter is answered as unavailable if the store does not answer "     \
      "within this time.")                                                                         \
    X(limiter_refresh, 1, 0, 1,                                                                    \
      "1: the router refreshes the shards of the rate limiter\'s buckets, and merges idle ones. "  \
      "0: never.")                                                                                 \
    X(limiter_refresh_ms, 2000, 10, 3600000,                                                       \
      "The router refreshes buckets of the rate limiter with several shards at this interval.")    \
    X(limiter_merge_ms, 900000, 1000, 86400000,                                                    \
      "The shards of a bucket are halved if it needs fewer, and if their number has not changed "  \
      "for this time.")
/* clang-format on */

CONFIG_AREA(limiter, LIMITER)
