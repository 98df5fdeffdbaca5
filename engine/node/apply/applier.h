/* applier.h - applies committed entries, the node's own durable records, and snapshots.
 *
 * Entries and records have the same effect in service and in replay.
 *
 * apply.c: entries and own records. split.c: a partition becomes several. merge.c: two neighbouring
 * partitions become one. rebuild.c: a replica takes a snapshot. */
#pragma once

#include "engine/node/background/background.h"
#include "engine/node/catalog_leader/reconcile.h"
#include "engine/node/index/index_feed.h"
#include "engine/node/snapshot/snapshots.h"
#include "engine/node/stream/stream_trim.h"
#include "engine/node/transaction/transactions.h"

struct applier {
    struct node_env *env;
    struct node_log *log;
    struct partitions *partitions;
    struct identity *identity;
    struct proposals *proposals;
    struct pending_requests *pending;
    struct bucket_mirrors *buckets;
    struct raft_driver *driver;
    struct snapshots *snapshots;
    struct background *background;
    struct catalog_replica *catalog;
    struct reconciler *reconciler;
    struct index_feeds *feeds;
    struct transactions *transactions;
    struct stream_trims *stream_trims;
    struct instant propose_at; /* indexes that could not be proposed are proposed again */
};

/* Whether an entry that another node sent can be applied. */
bool applier_entry_is_valid(uint32_t group, enum log_kind kind, struct slice payload);
/* Applies the committed entries, and answers the requests that proposed them. */
void applier_apply_committed(struct applier *applier, struct partition *p);
/* Another replica has shown that the entry is committed: applies everything up to it. False: the
 * entry is not in the log here, or not durable. */
bool applier_learn_commit(struct applier *applier, struct partition *p, uint64_t index,
                          uint64_t term);
/* A durable record of the node itself. */
struct own_record {
    uint32_t group;
    uint64_t index; /* the meaning depends on the kind */
    uint64_t lsn;   /* where the record begins */
    struct slice payload;
};
enum status applier_apply_own(struct applier *applier, enum log_kind kind,
                              const struct own_record *record);
/* Before the start: replays a record of the log. STATUS_CORRUPT. */
enum status applier_replay(struct applier *applier, const struct log_record *record);

/* REQUEST_PARTITION_SPLIT, REQUEST_PARTITION_MERGE. */
void applier_run_split(struct applier *applier, const struct operation *o);
void applier_run_merge(struct applier *applier, const struct operation *o);
/* A group's indexes, its stream, and whether its items expire, change by an entry of its log: so no
 * leader misses a change. Proposes it if the partition is led here, and has room. */
void applier_propose_indexes(struct applier *applier, struct partition *p,
                             const struct partition_info *info);
/* The same for what a leader knows itself, unless it is in its log. A replica that was opened late
 * knows it from the catalog, and others of its group do not. */
void applier_propose_known_indexes(struct applier *applier, struct partition *p);
/* Proposes again what had no room. */
void applier_tick(struct applier *applier);
/* Entries that this leader has proposed change nothing. `all` false: a split took the keys of some.
 * `all` true: a freeze kept every entry from having an effect. Each component whose memory counts
 * on its proposals begins anew here. Where a term ends, node.c begins the same components anew. */
void applier_proposals_failed(struct applier *applier, struct partition *p, bool all);
/* The partition has learnt of more sharded keys. A leader has proposed its entries up to now
 * without them. */
void applier_note_key_sharding(struct partition *p);
/* At the end of a turn in which the partition was stepped: tells its children what they need. */
void applier_stepped(struct applier *applier, struct partition *p);

/* Another node offers a snapshot. */
void applier_offered(struct applier *applier, const struct snapshot_offer *offer);
/* A checkpoint is in the backing, with the snapshots that were complete. */
void applier_stored(struct applier *applier);
