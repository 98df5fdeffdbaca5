/* shard_moves.h - items of sharded keys go to their homes: driven by the leader of the partition
 * where they were (engine/key_sharding/key_sharding.h).
 *
 * A move is a transaction of two parts (transactions.h), which this node drives by requests:
 *
 *   1. It deletes the item here: the anchor's part. From then on the item is locked, and can be read.
 *   2. It puts the item at its home, at the leader there.
 *   3. It decides. Then the anchor's leader has the other part done.
 *
 * A cell of a counter that gives up its shard (request.move.fold) is added to cell 0 instead: step 2 is
 * an update of the item there, whether it is there or not (shard_fold.h).
 *
 * If a step fails, the parts are dropped. If this node dies, the leaders end what was begun: the anchor's
 * leader gives up what nobody decides. Who asked for the move asks again, and finds the item here, or
 * not.
 *
 * Promises
 *   MOVE-1  An item is at one place before the move and after it, whatever crashes. The put is refused
 *           if there is an item, so a fault never overwrites one. A cell is in the sum of cells once.
 *   MOVE-2  A move costs no units, and streams are not told. Rows of local indexes go with the item.
 *           Global indexes hear of it at the new place, which may have an index to fill. An item
 *           moves only if nothing that was sent about it from its old place can come to an index later
 *           (index_feeds_let_go). While items move, no piece of an index is filled there.
 *   MOVE-3  Requests about the same item share one move. A node moves at most SHARD_MOVES_MAX items at
 *           a time, SHARD_PIECE_MOVES of a piece.
 *   MOVE-4  The answer to a piece names a place before which no item is left that is not at home, no lock
 *           on one, and no record of a move that is not done.
 *   MOVE-5  While this node drives a move, its leader does not give the move up for its age: a move
 *           ends on disks that need longer than transaction_decide_ms for its steps.
 *
 * A move's transaction has an id of 32 bits of the node's generation, which no other life of its directory
 * and no other node has, and 96 random bits. Those of routers have 128 random bits. It has no token. */
#pragma once

#include <sys/queue.h>

#include "engine/node/identity.h"
#include "engine/node/index_feed.h"
#include "engine/node/internal_calls.h"
#include "engine/node/transactions.h"

enum {
    SHARD_MOVES_MAX = 256,    /* of a node */
    SHARD_PIECES_MAX = 16,    /* of a node */
    SHARD_PIECE_MOVES = 8,    /* of a piece, at a time */
    SHARD_PIECE_ITEMS = 100,  /* of a piece, if the request does not say */
    SHARD_PIECE_SCANS = 1000, /* items that are read for a piece */
    SHARD_PIECE_BYTES = 256 * 1024,
    SHARD_PIECE_MS = 200 /* later a piece begins no further move */
};

struct shard_piece;

/* Who waits for a move. */
struct shard_asker {
    STAILQ_ENTRY(shard_asker) place;
    uint64_t from;
    uint64_t request_id;
    struct shard_piece *piece; /* NULL: a request about the item */
};

STAILQ_HEAD(shard_askers, shard_asker);

enum shard_step {
    SHARD_FREE,
    SHARD_LOCKING,
    SHARD_PUTTING,
    SHARD_DECIDING
};

struct item_move {
    enum shard_step step;
    uint32_t partition;
    uint64_t hash;                /* of the key */
    uint64_t sharded_key_version; /* as in struct request: its home's partition must know the key */
    struct buffer key;            /* where the item was */
    struct buffer target;         /* its home; of a cell: cell 0 */
    bool fold;                    /* it is a cell */
    struct transaction_id id;
    struct shard_askers askers; /* owns */
};

struct shard_moves {
    struct node_env *env;
    struct partitions *partitions;
    const struct identity *identity;
    struct internal_calls *calls;
    struct index_maps *maps;
    uint32_t count;
    uint32_t piece_count;
    struct item_move all[SHARD_MOVES_MAX];
    LIST_HEAD(, shard_piece) pieces; /* owns */
};

void shard_moves_deinit(struct shard_moves *moves);
/* If the item moves already: the operation is answered when that has ended. */
bool shard_moves_join(struct shard_moves *moves, const struct operation *o, struct slice key);
/* Moves the item to its home by so many shards, which is elsewhere. Answers when that has ended. */
void shard_moves_item(struct shard_moves *moves, const struct partition *p,
                      const struct operation *o);
/* Moves items of a piece (request.move), whose pages are in memory. Answers when that has ended. */
void shard_moves_piece(struct shard_moves *moves, const struct partition *p,
                       const struct operation *o);
void shard_moves_answered(struct shard_moves *moves, const struct internal_call_answer *answer);
/* The node has stopped: answers all who wait. */
void shard_moves_stop(struct shard_moves *moves, const char *why);
