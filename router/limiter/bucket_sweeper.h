/* bucket_sweeper.h - a slow scan of the limiter's table, page by page, again and again.
 *
 * A router that starts, or has too many buckets to remember them all, does not have every bucket
 * with several shards in its cache. A bucket without requests would stay divided, and so would
 * never expire. The sweeper finds such buckets; maintenance rounds merge them
 * (bucket_maintenance.h). Each router sweeps. */
#pragma once

#include "router/limiter/bucket_cache.h"

/* Reads the next page, if it is time. */
void sweeper_run(struct router *r);
void sweeper_end(struct router *r);
