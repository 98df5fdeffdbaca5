/* partition.h - a replica of a partition on this node: its range, its part in the replication
 * group, its buckets, its counters. The catalog, group 0, is one too; nobody reads or writes it by
 * key. */
#ifndef WEIR_ENGINE_PARTITION_H
#define WEIR_ENGINE_PARTITION_H

#include "engine/catalog/table.h"
#include "engine/heat/heat.h"
#include "engine/message.h"

struct inflight;

struct partition {
    struct partition_info info;   /* slices borrow from `bytes` */
    struct buffer bytes;          /* partition_info_encode, as it is stored */
    struct raft *raft;            /* owns */
    uint64_t since_lsn;           /* the group's records before it are of an earlier life */
    bool no_state;                /* a snapshot is being installed: nothing can be read */
    struct raft_base *installing; /* owns; received whole, on its way to the backing; or NULL */
    uint64_t hold;                /* entries after it stay for whoever gets a snapshot; 0: none */
    bool closing;                 /* a LOG_PARTITION_CLOSE is on its way */
    bool stored;                  /* its row says what is true now */
    bool dirty;                   /* in the node's list of replicas that were stepped */
    bool writing;                 /* in its list of those with records that are not durable */
    struct partition *next_dirty;
    struct partition *next_writing;
    uint64_t logged_lsn;    /* end of its last record */
    uint64_t led;           /* raft_leading as it was seen last */
    struct inflight *first; /* proposals of that term that are not applied, oldest first */
    struct inflight *last;
    int32_t reads_first; /* deferred until leadership is confirmed; -1: none */
    int32_t reads_last;
    struct admission admission;
    struct heat heat; /* while it is led here */
    struct partition_stats stats;
    int64_t item_count;
    int64_t item_bytes;
    int64_t reported_count; /* what the catalog was told last; -1: nothing yet */
    int64_t reported_bytes;
};

struct partition *partition_create(const struct partition_info *info, uint32_t node);
void partition_destroy(struct partition *p);

/* Takes over range, epoch, rates and intended members; of the heat, what lies in the range. */
void partition_set(struct partition *p, const struct partition_info *info);

/* Whether a storage key lies in the range. */
bool partition_holds(const struct partition *p, struct slice key);

/* Counts a decision. */
void partition_count(struct partition *p, enum admit_kind kind, const struct admit_verdict *v,
                     int64_t cost_mcu);

#endif
