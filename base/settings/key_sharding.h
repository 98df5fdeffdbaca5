/* key_sharding.h - settings: the shards of sharded keys, and how their items move
 * (engine/key_sharding/).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_KEY_SHARDING(X)                                                                   \
    X(key_sharding_shard_units, 800, 1, 1000000,                                                   \
      "A hot key of a table with the tag weir:key-sharding gets a shard per this many write "      \
      "units per second.")                                                                         \
    X(key_sharding_counter_shards, 10, 2, 128,                                                     \
      "A hot counter gets this many shards at first.")                                             \
    X(counter_total_ms, 0, 0, 3600000,                                                             \
      "An eventual GetItem of a sharded counter may return a sum of this age, and then costs one " \
      "item. 0: it adds up the cells.")                                                            \
    X(key_sharding_keep_ms, 600000, 1000, 86400000,                                                \
      "For this time after a change of a key's shards, a repeated request is recognized where it " \
      "was done.")                                                                                 \
    X(key_sharding_moves_s, 2000, 1, 1000000,                                                      \
      "While keys get more or fewer shards, the cluster moves at most this many items per "        \
      "second.")                                                                                   \
    X(sharded_keys_max, 100000, 0, 1000000, "A cluster has at most this many sharded keys.")
/* clang-format on */

CONFIG_AREA(key_sharding, KEY_SHARDING)
