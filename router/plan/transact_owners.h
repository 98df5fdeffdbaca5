/* transact_owners.h - transactions on items of sharded keys: their parts are at the items' owners,
 * and the items have left their previous owners before anything is admitted or prepared.
 *
 * A transaction chooses owners once for all its parts. If a registry of sharded keys changes before
 * it is prepared, its parts get REPLY_STALE_MAP. */
#pragma once

#include "engine/transaction/transaction.h"
#include "router/core/items.h"

/* Finds the owner shard of each item of the call's plan. False: one is a counter, which is
 * refused. */
bool transact_find_owners(struct call *c);

/* Sends REQUEST_KEY_SHARD_MOVE for each item that may be at a previous owner; the index is the
 * item's. False: there is none. */
bool transact_leave_previous(struct call *c);

/* Asks for the client's token wherever else the first item, which has it, was in its owner shard of
 * late: the transaction may have been done before. REPLY_ABORTED: it was not done there. False:
 * there is no other owner shard. */
bool transact_query_tokens(struct call *c, const uint8_t token[TRANSACTION_TOKEN_SIZE],
                           uint64_t digest);

/* The version of the item's sharded key; 0: its key is not sharded. */
uint64_t transact_sharded_key_version(const struct call *c, const struct item_request *q);

/* The subrequest of an item may have met a newer registry: then the plan has it from now on.
 * Returns whether it has. */
bool transact_take_route(struct call *c, const struct subrequest *s);
