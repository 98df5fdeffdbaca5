/* partition.h - a replica of a partition on this node: its range, its buckets, its counters. */
#ifndef WEIR_ENGINE_PARTITION_H
#define WEIR_ENGINE_PARTITION_H

#include "engine/catalog/table.h"
#include "engine/message.h"

struct partition {
    struct partition_info info; /* slices borrow from `bytes` */
    struct buffer bytes;        /* partition_info_encode, as it is stored */
    uint64_t index;             /* of the last log entry proposed for the group */
    struct admission admission;
    struct partition_stats stats;
    int64_t item_count;
    int64_t item_bytes;
    int64_t reported_count; /* what the catalog was told last */
    int64_t reported_bytes;
    bool closing; /* a LOG_PARTITION_CLOSE is on its way */
};

struct partition *partition_create(const struct partition_info *info);
void partition_destroy(struct partition *p);

/* Takes over range, epoch and rates. */
void partition_set(struct partition *p, const struct partition_info *info);

/* Whether a storage key lies in the range. */
bool partition_holds(const struct partition *p, struct slice key);

/* Counts a decision. */
void partition_count(struct partition *p, enum admit_kind kind, const struct admit_verdict *v,
                     int64_t cost_mcu);

#endif
