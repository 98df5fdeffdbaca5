/* key_shard_mover.h - has the items of sharded keys moved to their shards, where the catalog is
 * led.
 *
 * A key whose number of shards has changed keeps the former numbers until all its items are in
 * their owner shards (engine/key_sharding/key_sharding.h). The mover goes over each former shard,
 * from its beginning to its end, across partitions, one piece at a time: it asks the partition's
 * leader to move the next items (key_shard_moves.h). It remembers a key, not a partition: splits
 * and moves change nothing. A new leader of the catalog begins again: items that are in their owner
 * shards stay where they are.
 *
 *   MOVER-1  A key that shrinks is read twice: its former numbers are forgotten only after all
 *            shards that it gives up were found empty, from beginning to end.
 *   MOVER-2  The cells of a counter that grows do not move. Its former numbers are forgotten after
 *            key_sharding_keep_ms: until then a repeated request finds the cell that it chose. The
 *            cells that a counter gives up are added to its cells 0 (key_shard_moves.h), and
 *            verified:
 *            MOVER-1.
 *   MOVER-4  How many shards a key had is forgotten after key_sharding_keep_ms, too: until then the
 *            token of a transaction is asked for where it may be known.
 *   MOVER-3  In T seconds, nodes are asked to move at most (T + 1) * key_sharding_moves_s items. */
#pragma once

#include <sys/queue.h>

#include "base/token_bucket.h"
#include "engine/node/catalog_leader/catalog_replica.h"
#include "engine/node/core/internal_calls.h"

struct key_shard_move;

struct key_shard_mover {
    struct node_env *env;
    struct internal_calls *calls;
    struct catalog_replica *catalog;
    LIST_HEAD(, key_shard_move) all; /* owns */
    uint32_t count;                  /* of keys whose items are moved */
    uint32_t last_number;
    bool more;     /* other keys wait */
    uint64_t seen; /* a hash of the registries at the last check */
    struct token_bucket moves;
    struct instant at;  /* when it looks next */
    struct buffer text; /* lent by a decision */
};

void key_shard_mover_deinit(struct key_shard_mover *mover);
/* The catalog is not led here any more. */
void key_shard_mover_end(struct key_shard_mover *mover);
struct instant key_shard_mover_deadline(const struct key_shard_mover *mover);
void key_shard_mover_tick(struct key_shard_mover *mover);
void key_shard_mover_answered(struct key_shard_mover *mover,
                              const struct internal_call_answer *answer);
/* True: all items of a key are in their owner shards. The decision (CATALOG_KEY_SHARDS) tells the
 * catalog. It lends until the next call. Call again. What the catalog does not take is said
 * again. */
bool key_shard_mover_next(struct key_shard_mover *mover, struct decision *out);
