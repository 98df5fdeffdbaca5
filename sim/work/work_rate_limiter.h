/* work_rate_limiter.h - clients of the rate limiter: they take tokens of a few buckets, and give
 * some back.
 *
 * Two buckets of entities have a parent that is charged too; one stands alone. Each has a limit
 * that refills fast and one that refills in hours. Requests with a key and uses of leases are sent
 * again, at any router, until they are answered; so each counts once. Some clients write to the
 * items, as any client may, so that the shards are short of write units and the buckets grow.
 *   What was taken never exceeds what there was (sim/check/limiter_ledger_check.h). At last, when
 *   nobody takes any more: each bucket has one shard. Its items have counted exactly what the
 *   clients know. A parent has counted what its entities have. Each bucket gets full, and can be
 *   emptied at once. */
#pragma once

#include "sim/work/work_clients.h"

/* They set the limits first. At last the buckets are looked at. */
struct work_clients *work_rate_limiter_create(const struct work_clients_options *options);

/* The name of the limiter's table. */
extern const char work_rate_limiter_table[];
/* The partition key of some shard of some bucket; `draw` chooses. */
void work_rate_limiter_key(uint64_t draw, char out[64]);

/* No client but the first is at work. */
bool work_rate_limiter_are_quiet(const struct work_clients *all);
/* How long it takes at most after that until all are done. */
struct duration work_rate_limiter_time(const struct work_clients *all);
