/* key_shard_moves.h - items of sharded keys go to their owner shards: driven by the leader of the
 * partition where they were (engine/key_sharding/key_sharding.h).
 *
 * A move is a transaction of two parts (engine/node/transaction/transactions.h), which this node
 * drives by requests:
 *
 *   1. It deletes the item here: the anchor's part. From then on the item is locked, and can be
 *   read. 2. It puts the item in its owner shard, at the leader there. 3. It decides. Then the
 *   anchor's leader has the other part done.
 *
 * A cell of a counter that gives up its shard (request.move.merge_cells) is added to cell 0
 * instead: step 2 is an update of the item there, whether it is there or not (cell_merge.h).
 *
 * If a step fails, the parts are dropped. If this node dies, the leaders end what was begun: the
 * anchor's leader gives up what nobody decides. Who asked for the move asks again, and finds the
 * item here, or not.
 *
 * Promises
 *   MOVE-1  An item is at one place before the move and after it, whatever crashes. The put is
 *           refused if there is an item, so a fault never overwrites one. A cell is in the sum of
 *           cells once.
 *   MOVE-2  A move costs no units, and streams are not told. Rows of local indexes go with the
 *           item. Global indexes hear of it at the new place, which may have an index to fill. An
 *           item moves only if nothing that was sent about it from its old place can come to an
 *           index later (index_feeds_let_go). While items move, no piece of an index is filled
 *           there.
 *   MOVE-3  Requests about the same item share one move. A node moves at most KEY_SHARD_MOVES_MAX
 *           items at a time, KEY_SHARD_PIECE_MOVES of a piece.
 *   MOVE-4  The answer to a piece names a place before which no item is left that is not in its
 *           owner shard, no lock on one, and no record of a move that is not done.
 *   MOVE-5  While this node drives a move, its leader does not give the move up for its age: a move
 *           ends on disks that need longer than transaction_decide_ms for its steps.
 *
 * A move's transaction has an id of 32 bits of the node's generation, which no other life of its
 * directory and no other node has, and 96 random bits. Those of routers have 128 random bits. It
 * has no token. */
#pragma once

#include <sys/queue.h>

#include "engine/node/core/identity.h"
#include "engine/node/core/internal_calls.h"
#include "engine/node/index/index_feed.h"
#include "engine/node/transaction/transactions.h"

enum {
    KEY_SHARD_MOVES_MAX = 256,    /* of a node */
    KEY_SHARD_PIECES_MAX = 16,    /* of a node */
    KEY_SHARD_PIECE_MOVES = 8,    /* of a piece, at a time */
    KEY_SHARD_PIECE_ITEMS = 100,  /* of a piece, if the request does not say */
    KEY_SHARD_PIECE_SCANS = 1000, /* items that are read for a piece */
    KEY_SHARD_PIECE_BYTES = 256 * 1024,
    KEY_SHARD_PIECE_MS = 200 /* later a piece begins no further move */
};

struct key_shard_piece;

/* Who waits for a move. */
struct key_shard_waiter {
    STAILQ_ENTRY(key_shard_waiter) place;
    uint64_t from;
    uint64_t request_id;
    struct key_shard_piece *piece; /* NULL: a request about the item */
};

STAILQ_HEAD(key_shard_waiters, key_shard_waiter);

enum key_shard_step {
    KEY_SHARD_FREE,
    KEY_SHARD_LOCKING,
    KEY_SHARD_PUTTING,
    KEY_SHARD_DECIDING
};

struct item_move {
    enum key_shard_step step;
    uint32_t partition;
    uint64_t hash; /* of the key */
    uint64_t
        /* as in struct request: its owner shard's partition must know the key */
        sharded_key_version;
    struct buffer key;    /* where the item was */
    struct buffer target; /* its owner shard; of a cell: cell 0 */
    bool merge_cells;     /* it is a cell */
    struct transaction_id id;
    struct key_shard_waiters waiters; /* owns */
};

struct key_shard_moves {
    struct node_env *env;
    struct partitions *partitions;
    const struct identity *identity;
    struct internal_calls *calls;
    struct index_maps *maps;
    uint32_t count;
    uint32_t piece_count;
    struct item_move all[KEY_SHARD_MOVES_MAX];
    LIST_HEAD(, key_shard_piece) pieces; /* owns */
};

void key_shard_moves_deinit(struct key_shard_moves *moves);
/* If the item moves already: the operation is answered when that has ended. */
bool key_shard_moves_join(struct key_shard_moves *moves, const struct operation *o,
                          struct slice key);
/* Moves the item to its owner shard by so many shards, which is elsewhere. Answers when that has
 * ended. */
void key_shard_moves_item(struct key_shard_moves *moves, const struct partition *p,
                          const struct operation *o);
/* Moves items of a piece (request.move), whose pages are in memory. Answers when that has ended. */
void key_shard_moves_piece(struct key_shard_moves *moves, const struct partition *p,
                           const struct operation *o);
void key_shard_moves_answered(struct key_shard_moves *moves,
                              const struct internal_call_answer *answer);
/* The node has stopped: answers all who wait. */
void key_shard_moves_stop(struct key_shard_moves *moves, const char *why);
