/* bucket_maintenance.h - the router's own calls that keep buckets in shape: growth, merging, and
 * rounds that find what is to be done.
 *
 * Each step is one command to one shard, and harmless if it is done twice, late or never
 * (engine/limiter/bucket.h). So several routers may maintain a bucket, and any may stop.
 * limiter_refresh 0 ends the rounds. */
#pragma once

#include "router/limiter/bucket_cache.h"

struct bucket_maintenance;

/* The bucket needs more shards, soon. */
void maintenance_grow(struct router *r, struct cached_bucket *b);
/* A round: buckets with several shards are checked. Shards that lag get the shard map and the
 * limits; a bucket that has been idle for long is merged. */
void maintenance_run(struct router *r);
/* The bucket has twice or half as many shards now: counts it, and reports it by an event. */
void maintenance_report(struct router *r, const struct cached_bucket *b, bool grown);
void maintenance_end_all(struct router *r);
