/* item_placement.h - requests about single items of sharded keys: sent to the item's owner shard,
 * after the item has left its previous owners.
 *
 * The operation makes its request as if no key were sharded. Before the request is sent, and when
 * its table's registry of sharded keys has changed, placement_resolve finds the shards anew. While
 * the item may be at previous owners, the subrequest first sends REQUEST_KEY_SHARD_MOVE to each,
 * oldest first. Only then it sends the request itself. A read of such an item is strong.
 *
 *   SHARDS-1  A request that was made for one version of the registry is not sent with another one,
 *             unless its shards were found anew.
 *   SHARDS-2  No registry is used that is older than one used before for the same request.
 *
 * An operation may send REQUEST_KEY_SHARD_MOVE itself, with the item's key and no end: then the
 * subrequest ends when the item has left all previous owners.
 *
 * Counters (counters.h) have no owner shard. An addition goes to a cell; reads are of all cells
 * (counter_reads.h); all else is refused: s->invalid. So are reads of one that shrinks: s->busy. A
 * counter that has one cell again is an ordinary item, but additions ask for their tokens where
 * that may be known. An addition that meets a cell to which another is being added waits.
 *
 * Not here: ranges (plan/ranges.h). Ranges and parts of transactions have chosen their shards
 * themselves. If the registry changes, they end with REPLY_STALE_MAP, and s->route is the new one.
 * */
#pragma once

#include "router/core/subrequest.h"

/* In the call's arena. */
struct placement {
    struct request original; /* as the operation made it, with the key of shard 0 */
    struct slice owner_key;  /* the key in the owner shard */
    uint32_t shards;
    uint32_t previous[KEY_SHARDS_MAX]; /* shards that the item must leave first */
    uint32_t previous_count;
    uint32_t left; /* so many of them were left */
    /* An update of a counter: `owner_key` is in the cell that its token chooses. Previous cells are
     * not left, but asked whether they know the token. */
    bool counter;
    bool locked; /* a transaction had the item when a previous owner was asked last, or the cell */
};

/* Finds the item's shards by s->route. Sets what the request tells of the registry. */
void placement_resolve(struct subrequest *s);
/* Makes s->request what is to be sent next. False: all was done. */
bool placement_next(struct subrequest *s);
/* Whether a previous owner is being asked. */
bool placement_moves(const struct subrequest *s);
/* A previous owner was left. */
void placement_left(struct subrequest *s);
/* The request as the operation made it. */
const struct request *placement_original(const struct subrequest *s);
/* The final reply: s->request is again as the operation made it. Returns what the operation is
 * told. */
struct reply placement_end(struct subrequest *s, const struct reply *reply);

/* Whether the request was made for shards that the operation itself has chosen. */
bool placement_is_fixed(const struct request *q);

/* The storage key with the hash of another shard of its sharded key. */
struct slice sharded_key_in(struct arena *arena, const struct sharded_key *k, struct slice key,
                            uint32_t shard);
