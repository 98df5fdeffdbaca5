/* at_home.h - requests about single items of sharded keys: sent to the item's home, after the item
 * has left its former homes.
 *
 * The operation makes its request as if no key were sharded. Before the request is sent, and when
 * its table's registry of sharded keys has changed, at_home_place finds the shards anew. While the
 * item may be at former homes, the subrequest first sends REQUEST_SHARD_MOVE to each, oldest first.
 * Only then it sends the request itself. A read of such an item is strong.
 *
 *   SHARDS-1  A request that was made for one version of the registry is not sent with another one,
 *             unless its shards were found anew.
 *   SHARDS-2  No registry is used that is older than one used before for the same request.
 *
 * An operation may send REQUEST_SHARD_MOVE itself, with the item's key and no end: then the subrequest
 * ends when the item has left all former homes.
 *
 * Counters (counters.h) have no home. An addition goes to a cell; reads are of all cells
 * (counter_reads.h); all else is refused: s->invalid. So are reads of one that shrinks: s->busy. A counter that has one cell again is an ordinary
 * item, but additions ask for their tokens where that may be known. An addition that meets a cell to which
 * another is being added waits.
 *
 * Not here: ranges (plan/ranges.h). Ranges and parts of transactions have chosen their shards
 * themselves. If the registry changes, they end with REPLY_STALE_MAP, and s->route is the new one. */
#pragma once

#include "router/subrequest.h"

/* In the call's arena. */
struct at_home {
    struct request original; /* as the operation made it, with the key of shard 0 */
    struct slice home;       /* the key at home */
    uint32_t shards;
    uint32_t former[SHARDS_MAX]; /* shards that the item must leave first */
    uint32_t former_count;
    uint32_t left; /* so many of them were left */
    bool counter;  /* an update of a counter: `home` is in the cell that its token chooses. Former
                      cells are not left, but asked whether they know the token */
    bool locked;   /* a transaction had the item when a former home was asked last, or the cell */
};

/* Finds the item's shards by s->route. Sets what the request tells of the registry. */
void at_home_place(struct subrequest *s);
/* Makes s->request what is to be sent next. False: all was done. */
bool at_home_next(struct subrequest *s);
/* Whether a former home is being asked. */
bool at_home_moves(const struct subrequest *s);
/* A former home was left. */
void at_home_left(struct subrequest *s);
/* The request as the operation made it. */
const struct request *at_home_asked(const struct subrequest *s);
/* The final reply: s->request is again as the operation made it. Returns what the operation is told. */
struct reply at_home_end(struct subrequest *s, const struct reply *reply);

/* Whether the request was made for shards that the operation itself has chosen. */
bool at_home_is_fixed(const struct request *q);

/* The storage key with the hash of another shard of its sharded key. */
struct slice sharded_key_in(struct arena *arena, const struct sharded_key *k, struct slice key,
                            uint32_t shard);
