/* move_messages.h - requests that have items of sharded keys moved to their shards: in the room of
 * struct request. */
#pragma once

#include "engine/message/message.h"

/* SHARD_MOVE: the answer is a range without items: `count` were moved of `scanned`, `last` is
 * where to go on, `more`: not at `hi` */
struct request_move {
    struct slice key;   /* of an item, or where to begin; names the shard */
    struct slice hi;    /* where to end; empty: only the item `key` */
    uint32_t shards;    /* owner shards are chosen by this number */
    uint32_t items_max; /* to move; 0: one piece */
    bool merge_cells;   /* a piece of a counter: cells of shards that it gives up are added
                           to those of shard 0 */
};
MESSAGE_FAMILY(request, move)
