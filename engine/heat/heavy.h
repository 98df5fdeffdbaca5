/* heavy.h - the partition keys that most of a partition's heat is for.
 *
 * Where a partition key's items lie in shards (engine/key_sharding/key_sharding.h), each shard is a
 * key of its own here: its storage keys begin with other bytes. */
#pragma once

#include "engine/heat/heat.h"

enum {
    HEAVY_KEYS_MAX = 4
};

struct heavy_key {
    struct slice key; /* what its storage keys begin with: table id, hash, partition key */
    int64_t mcu;      /* per second: its share of heat_rate_now */
};

/* The partition keys that are asked for at least `mcu_min` per second, the heaviest first; returns
 * how many. `lo`: where the range begins that the heat is of. Keys lend from the arena. A partition
 * key that does not fit into SKETCH_KEY_MAX bytes is never named. */
uint32_t heat_heavy_keys(struct heat *h, struct instant now, enum admit_kind kind, struct slice lo,
                         int64_t mcu_min, struct arena *arena,
                         struct heavy_key out[HEAVY_KEYS_MAX]);
