/* buckets.h - the buckets of the replicas here: begun, told to other replicas, kept over a restart.
 *
 * A partition's buckets are its leader's; followers have mirrors of them (buckets.c). */
#ifndef WEIR_ENGINE_NODE_BUCKETS_H
#define WEIR_ENGINE_NODE_BUCKETS_H

#include "engine/node/partitions.h"
#include "engine/node/peers.h"
#include "engine/node/proposals.h"

struct buckets {
    struct node_env *env;
    struct node_log *log;
    struct partitions *partitions;
    struct throughput *throughput;
    struct proposals *proposals;
    struct peers *peers;
    struct table_share **shares; /* owns; of tables whose replicas here share */
    uint32_t shares_count;
    LIST_HEAD(, mirror) untold; /* mirrors of buckets that are to be told */
    struct instant mirror_at;   /* the first of them; or INSTANT_NEVER */
    struct instant save_at;     /* buckets that have changed; or INSTANT_NEVER */
};

void buckets_deinit(struct buckets *buckets);
/* The buckets of a replica, when it is opened here or the node starts; whose info has changed; that
 * is left of a split, or came from one; that is closed. */
void buckets_begin(struct buckets *buckets, struct partition *p);
void buckets_changed(struct buckets *buckets, struct partition *p);
void buckets_divided(struct buckets *buckets, struct partition *p);
void buckets_end(struct buckets *buckets, struct partition *p);
/* A request was admitted and debited here, or settled. */
void buckets_spent(struct buckets *buckets, struct partition *p, enum admit_kind kind,
                   int64_t cost_mcu, bool eventual);
/* A write that another node leads is about to be logged here. */
void buckets_follow(struct buckets *buckets, struct partition *p, const struct raft_entry *e);
/* The replica leads from now on; or its group has changed. */
void buckets_led(struct buckets *buckets, struct partition *p);
/* The node was away, or is new: it is told everything. */
void buckets_heard(struct buckets *buckets, uint32_t node);
/* What must be told now, and what must be saved. */
void buckets_tick(struct buckets *buckets);
/* False: malformed. `life`: of the node that sent it. */
bool buckets_receive_reads(struct buckets *buckets, struct reader *r, uint32_t from, uint64_t life);
bool buckets_receive_levels(struct buckets *buckets, struct reader *r);
/* The node is about to end: the next checkpoint has what its next life must know. */
void buckets_finish(struct buckets *buckets);
/* Before the start: a LOG_BUCKETS record of an earlier life. */
enum status buckets_replay(struct buckets *buckets, struct slice payload);

#endif
