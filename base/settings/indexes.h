/* indexes.h - settings: item collections, and the changes that global indexes lack
 * (engine/node/request/item_writes.c, engine/node/index/index_feed.h).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_INDEXES(X)                                                                        \
    X(collection_max_bytes, 10 * GIB, KIB, TIB,                                                    \
      "An item collection of a table that keeps collections whole holds at most this many bytes.") \
    X(index_backlog_bytes, MIB, 64 * KIB, GIB,                                                     \
      "A partition keeps at most this many bytes of changes that global indexes lack. Beyond "     \
      "that, its writes are refused until the backlog shrinks.")                                   \
    X(index_backlog_ms, 5000, 10, 3600000,                                                         \
      "A partition's writes are refused while a global index lacks a change that is older than "   \
      "this time, or while a new change would take about this time.")
/* clang-format on */

CONFIG_AREA(indexes, INDEXES)
