/* idempotency_lookup.h - was a request that is sent again done before, at any of the shards that
 * may own its token?
 *
 * A charge with a token is done at the token's owner shard: `owner_key` modulo the number of
 * shards. That shard knows the token then (engine/transaction). When the bucket has grown or was
 * merged since, the token has another owner. So its former owners are asked first: the shards that
 * other numbers of shards choose. For a lease `owner_key` is the shard that was charged first.
 *
 * Invariants
 *   OWNER-1  A token that a former owner does not know never comes there later: a shard refuses a
 *            charge whose token another shard owns, and any charge of a sender with an older shard
 *            map (LIMITER_NOT_OWNER); a sealed shard refuses all. */
#pragma once

#include "router/limiter/limiter_call.h"

/* The shard that owns the charge's token now. */
uint32_t idempotency_owner_shard(const struct charge *g, const struct cached_bucket *b);
/* True: shards must be asked first, and that was begun. It ends with handlers->plan, or with
 * handlers->charge_ended if the charge was done before, or if that is not known. `tokens_short`: no
 * shard shall be charged, because there are too few tokens: the owner is asked, too. */
bool idempotency_lookup_begin(struct call *c, bool tokens_short);
/* A shard has refused the charge because it has expired. Another shard may have done it in time.
 * True: all owners are asked. */
bool idempotency_lookup_expired(struct call *c);
/* Steps of the limiter call. */
void idempotency_lookup_reply(struct call *c, const struct reply *r);
bool idempotency_lookup_finish(struct call *c);
