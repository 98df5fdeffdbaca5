/* share.h - divides a table's throughput among its partitions.
 *
 * Source: DynamoDB, USENIX ATC 2022, section 4.1: provisioned throughput is divided equally. It is
 * divided again whenever the throughput or the number of partitions changes. */
#pragma once

#include <stdint.h>

struct config;

/* The share of partition `index` of `partitions` in `total_units` per second, in mcu. The shares
 * add up to the total exactly: if there is a remainder, the first partitions get 1 mcu more. */
int64_t share_equal_mcu(int64_t total_units, uint32_t partitions, uint32_t index);

/* The number of partitions of a new table: the fewest that can serve the throughput within the
 * partition maxima, max(ceil(wcu / partition_max_wcu), ceil(rcu / partition_max_rcu), 1). */
uint32_t share_partitions_initial(const struct config *config, int64_t rcu, int64_t wcu);
/* The same with the partition maxima as arguments, above 0. */
uint32_t share_partitions_within(int64_t rcu_max, int64_t wcu_max, int64_t rcu, int64_t wcu);
