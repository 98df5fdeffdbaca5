/* applier.h - what a committed entry does to a replica, and a durable record of the node's own to
 * the node, in service and in replay alike; and what snapshots do to a replica.
 *
 * apply.c: entries and own records. split.c: a partition cut into several. merge.c: two partitions
 * that adjoin become one. rebuild.c: a replica that takes a snapshot. */
#ifndef WEIR_ENGINE_NODE_APPLIER_H
#define WEIR_ENGINE_NODE_APPLIER_H

#include "engine/node/background.h"
#include "engine/node/settling.h"
#include "engine/node/snapshots.h"

struct applier {
    struct node_env *env;
    struct node_log *log;
    struct partitions *partitions;
    struct identity *identity;
    struct proposals *proposals;
    struct waiters *waiters;
    struct buckets *buckets;
    struct groups *groups;
    struct snapshots *snapshots;
    struct background *background;
    struct catalog_replica *catalog;
    struct settling *settling;
};

/* Whether an entry that another node sent can be applied. */
bool applier_entry_is_sound(uint32_t group, enum log_kind kind, struct slice payload);
/* What is committed takes effect; whoever asked for it is answered. */
void applier_apply_committed(struct applier *applier, struct partition *p);
/* A record of the node's own that is durable. */
struct own_record {
    uint32_t group;
    uint64_t index; /* what it means depends on the kind */
    uint64_t lsn;   /* where it begins */
    struct slice payload;
};
enum status applier_apply_own(struct applier *applier, enum log_kind kind,
                              const struct own_record *record);
/* Before the start: a record of the log. STATUS_CORRUPT. */
enum status applier_replay(struct applier *applier, const struct log_record *record);

/* REQUEST_PARTITION_SPLIT, REQUEST_PARTITION_MERGE. */
void applier_run_split(struct applier *applier, const struct operation *o);
void applier_run_merge(struct applier *applier, const struct operation *o);
/* At the end of a turn in which the partition was stepped: what its children have to know. */
void applier_stepped(struct applier *applier, struct partition *p);

/* Another node offers a snapshot. */
void applier_offered(struct applier *applier, const struct snapshot_offer *offer);
/* A checkpoint is in the backing, and snapshots that were whole. */
void applier_stored(struct applier *applier);

#endif
