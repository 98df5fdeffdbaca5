/* transact_homes.h - transactions on items of salted keys: their parts are at the items' homes, and the
 * items have left their former homes before anything is admitted or prepared.
 *
 * A transaction chooses homes once for all its parts. If a registry of salted keys changes before it is
 * prepared, its parts get REPLY_STALE_MAP. */
#pragma once

#include "router/plan/items.h"

/* Finds the home of each item of the call's plan. False: one is a counter, which is refused. */
bool transact_find_homes(struct call *c);

/* Sends REQUEST_SHARD_MOVE for each item that may be at a former home; the index is the item's. False:
 * there is none. */
bool transact_leave_former(struct call *c);

/* The version of the item's salted key; 0: its key is not salted. */
uint64_t transact_salted(const struct call *c, const struct item_request *q);

/* The subrequest of an item may have met a newer registry: then the plan has it from now on. Returns
 * whether it has. */
bool transact_take_route(struct call *c, const struct subrequest *s);
