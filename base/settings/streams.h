/* streams.h - settings: how long records of streams are kept
 * (engine/node/background/stream_sweep.h).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_STREAMS(X)                                                                        \
    X(stream_retention_ms, 86400000, 1000, 604800000,                                              \
      "Stream records are kept for this time. Then they are trimmed.")                             \
    X(stream_max_bytes, 10 * GIB, 64 * KIB, TIB,                                                   \
      "A partition keeps at most about this many bytes of stream records. The oldest are trimmed " \
      "first.")
/* clang-format on */

CONFIG_AREA(streams, STREAMS)
