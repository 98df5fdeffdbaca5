/* counter_totals.h - the kept total of a counter: a copy of the last sum, so that an eventual read
 * costs one item again.
 *
 * The copy is an item at a place that no read of the table goes to: with the hash of shard
 * KEY_SHARDS_MAX. It has one attribute more: when its sum was made, by the clock of the router that
 * made it. An eventual read takes a copy that is not older than counter_total_ms. Otherwise it sums
 * the cells, and keeps the sum. A newer copy is not replaced by an older one. Nothing rests on the
 * copy: it may be missing, or late. */
#pragma once

#include "router/core/router_internal.h"

struct call;
struct sharded_key;
struct subrequest;

/* Whether totals are kept, and the request may be answered by one. */
bool counter_total_serves(const struct router *r, const struct request *get);

/* Makes the request one for the copy of the counter with this key. */
void counter_total_request(struct subrequest *s, const struct sharded_key *k, struct slice key);
/* The counter, in the call's arena, if the copy is fresh. Empty: it is not, or there is none. */
struct slice counter_total_take(struct call *c, const struct reply *reply);

/* Makes the request one that keeps the sum. */
void counter_total_keep(struct subrequest *s, const struct sharded_key *k, struct slice key,
                        struct slice sum);
