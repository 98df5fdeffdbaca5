/* share.h - a table's throughput divided over its partitions.
 *
 * Source: DynamoDB, USENIX ATC 2022, section 4.1: provisioned throughput is divided equally, and
 * again whenever the throughput or the number of partitions changes. */
#ifndef WEIR_ENGINE_ADMISSION_SHARE_H
#define WEIR_ENGINE_ADMISSION_SHARE_H

#include "base/config.h"

/* What partition `index` of `partitions` gets of `total_units` per second, in mcu. The shares add
 * up to the total exactly: where it does not divide, the first partitions get 1 mcu more. */
int64_t share_equal_mcu(int64_t total_units, uint32_t partitions, uint32_t index);

/* Partitions of a new table: as few as can serve the throughput within the partition maxima,
 * max(ceil(wcu / partition_max_wcu), ceil(rcu / partition_max_rcu)), and at least one. */
uint32_t share_partitions_initial(const struct config *config, int64_t rcu, int64_t wcu);

#endif
