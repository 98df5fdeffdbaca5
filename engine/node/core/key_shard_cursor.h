/* key_shard_cursor.h - the items of a range, or rows of a local index, that are in one shard of
 * their keys (engine/key_sharding/key_sharding.h).
 *
 * A collection of another shard is skipped by one seek, and its shard is computed once. */
#pragma once

#include "engine/node/core/owned_keys.h"

enum {
    SHARD_SKIPS_MAX = 64 /* collections that a cursor skips */
};

struct key_shard_cursor {
    struct items_cursor items;
    struct store *store;
    struct slice lo;
    struct slice hi;
    bool reverse;
    bool all; /* of all shards */
    uint32_t shard;
    uint32_t skips;    /* that are left */
    struct buffer in;  /* owns; the collection of the last item */
    struct buffer out; /* owns; behind the collection that was skipped last */
};

/* As items_seek. `all`: the shard does not count. */
void key_shard_seek(const struct partition *p, struct store *store, struct slice lo,
                    struct slice hi, bool reverse, bool all, uint32_t shard,
                    struct key_shard_cursor *out);
/* As items_next. STATUS_PENDING: it has skipped as much as it may. What follows lies past `out`,
 * which is no key: as past the key of an item, in the direction of the cursor. */
enum status key_shard_next(struct key_shard_cursor *c, struct slice *key, struct slice *item);
void key_shard_cursor_deinit(struct key_shard_cursor *c);
