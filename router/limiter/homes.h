/* homes.h - requests that are sent again: was this one done before, at whichever shard?
 *
 * A charge with a token is done at the shard that its `home` chooses: home modulo the number of shards. That
 * shard knows the token then (engine/transaction). When the bucket has grown or was merged since, the request
 * that is sent again has another shard. So the shards that other numbers of shards choose are asked first.
 * For a lease the home is the shard that was charged first.
 *
 * Invariants
 *   HOME-1  What a home was asked in vain does not come there later: a shard refuses a charge that has its
 *           home elsewhere, and any charge of a sender that knows of fewer changes than the shard
 *           (LIMITER_NOT_OWNER); a merged one refuses all. */
#pragma once

#include "router/limiter/session.h"

/* Where the charge's token belongs now. */
uint32_t homes_own(const struct charge *g, const struct known_bucket *b);
/* True: it must be asked first, and that was begun. It ends with work->known, or with work->charged if the
 * charge was done before, or nobody knows. `short_of`: no shard shall be charged, because there are too few
 * tokens: the own home is asked, too. */
bool homes_ask(struct call *c, bool short_of);
/* A shard has refused the charge because it is late. That shard need not be the one where it was done in time.
 * True: the homes are asked. */
bool homes_ask_late(struct call *c);
/* Steps of the session. */
void homes_took(struct call *c, const struct reply *r);
bool homes_end(struct call *c);
