/* patrol.h - the aggregator's slow walk through the limiter's table, page by page, again and again.
 *
 * A router that starts, or has too many buckets to remember them all, does not know of every bucket with
 * several shards. One that nobody asks for any more would stay divided, and so would never expire. The walk
 * finds such buckets; the aggregator's rounds do the rest (tend.h). Each router walks. */
#pragma once

#include "router/limiter/buckets.h"

/* Reads the next page, if it is time. */
void patrol_look(struct router *r);
void patrol_end(struct router *r);
