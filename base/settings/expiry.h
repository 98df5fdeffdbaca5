/* expiry.h - settings: how fast items are deleted whose time to live is over
 * (engine/node/ttl/expiry.h).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_EXPIRY(X)                                                                         \
    X(ttl_window_ms, 3600000, 1000, 604800000,                                                     \
      "An item is deleted within this time after its time to live, as long as expiry_items_s and " \
      "expiry_bytes_s suffice. Half of this time lies between two scans of an item.")              \
    X(expiry_items_s, 4000, 1, 1000000,                                                            \
      "A node deletes at most this many expired items per second.")                                \
    X(expiry_bytes_s, 32 * MIB, 64 * KIB, 64 * GIB,                                                \
      "A node reads at most this many bytes of items per second to find expired ones. A smaller "  \
      "item counts as 512 bytes.")                                                                 \
    X(expiry_busy_percent, 25, 1, 100,                                                             \
      "While a node serves requests, the rates of expiry are this percentage of expiry_items_s "   \
      "and expiry_bytes_s.")
/* clang-format on */

CONFIG_AREA(expiry, EXPIRY)
