/* tend.h - calls of the router's own that tend buckets: twice as many shards, fewer shards, and the
 * aggregator's rounds.
 *
 * Each step is one command to one shard, and harmless if it is done twice, late or never
 * (engine/limiter/bucket.h). So several routers may tend a bucket, and any may stop. */
#pragma once

#include "router/limiter/buckets.h"

struct tend;

/* The bucket needs more shards, soon. */
void tend_grow(struct router *r, struct known_bucket *b);
/* The aggregator's round: buckets with several shards are looked at, told of what they lag behind, and
 * merged when they have been idle for long. */
void tend_look(struct router *r);
/* The bucket has twice or half as many shards now: counts it, and tells of it by an event. */
void tend_tell(struct router *r, const struct known_bucket *b, bool grown);
void tend_end_all(struct router *r);
