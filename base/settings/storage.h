/* storage.h - settings: log, memtable, checkpoints and LMDB (engine/store/,
 * engine/node/replica/checkpoints.h).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_STORAGE(X)                                                                        \
    X(log_segment_bytes, 16 * MIB, 8 * MIB, GIB, "A log segment has this size.")                   \
    X(log_writes, 2, 1, 4, "At most this many writes of the log are in flight at once.")           \
    X(log_max_bytes, 512 * MIB, 16 * MIB, TIB,                                                     \
      "Writes wait for a checkpoint when the log has this many bytes.")                            \
    X(memtable_max_bytes, 64 * MIB, 64 * KIB, 16 * GIB,                                            \
      "A memtable of this size starts a checkpoint.")                                              \
    X(checkpoint_ms, 10000, 10, 3600000,                                                           \
      "While there are writes, a checkpoint starts at least once in this time.")                   \
    X(erase_bytes_s, 8 * MIB, 64 * KIB, 64 * GIB,                                                  \
      "A node erases at most this many bytes of moved partitions per second.")                     \
    X(map_initial_bytes, 256 * MIB, MIB, 64 * TIB,                                                 \
      "The LMDB map has this size at the first start. It doubles when it is full.")                \
    X(map_max_bytes, 16 * TIB, MIB, 64 * TIB,                                                      \
      "The LMDB map never grows beyond this size, at least map_initial_bytes. Writes that add "    \
      "data are refused before the last tenth. The reserve of a map below 20 MiB is 2 MiB, at "    \
      "most a quarter. A lower ulimit -f replaces this size.")                                     \
    X(resident_max_bytes, 4 * GIB, 0, 64 * TIB,                                                    \
      "A node with at most this many bytes of data reads on the loop thread.")                     \
    X(bucket_save_ms, 1000, 10, 3600000,                                                           \
      "A node saves the state of the buckets that have changed at this interval.")                 \
    X(inflight_max_bytes, 256 * MIB, MIB, 64 * GIB,                                                \
      "A node has at most this many bytes of writes in flight to the log.")
/* clang-format on */

CONFIG_AREA(storage, STORAGE)
