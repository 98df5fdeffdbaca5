/* buckets.h - the buckets of the replicas here. They are told to other replicas and survive a
 * restart.
 *
 * The leader of a partition has its buckets. Followers have mirrors of them (buckets.c). */
#pragma once

#include "engine/node/peers.h"
#include "engine/node/proposals.h"

struct buckets {
    struct node_env *env;
    struct partitions *partitions;
    struct throughput *throughput;
    struct proposals *proposals;
    struct peers *peers;
    struct table_share **shares; /* owns; of tables whose replicas here share */
    uint32_t shares_count;
    size_t shares_capacity;
    LIST_HEAD(, mirror) untold; /* mirrors whose buckets must be told */
    struct instant mirror_at;   /* when the first of them must be told; or INSTANT_NEVER */
    struct instant save_at;     /* when changed buckets must be saved; or INSTANT_NEVER */
};

void buckets_deinit(struct buckets *buckets);
/* The replica is opened here or the node starts; its info has changed; it was split or comes from a
 * split; it is closed. */
void buckets_begin(struct buckets *buckets, struct partition *p);
void buckets_changed(struct buckets *buckets, struct partition *p);
void buckets_divided(struct buckets *buckets, struct partition *p);
void buckets_end(struct buckets *buckets, struct partition *p);
/* A request was admitted and debited here, or settled. */
void buckets_spent(struct buckets *buckets, struct partition *p, enum admit_kind kind,
                   int64_t cost_mcu, bool eventual);
/* A write that another node leads is about to be logged here. */
void buckets_follow(struct buckets *buckets, struct partition *p, const struct raft_entry *e);
/* The replica has become leader, or its group has changed. */
void buckets_led(struct buckets *buckets, struct partition *p);
/* Node `node` was away, or is new: all buckets must be told to it. */
void buckets_heard(struct buckets *buckets, uint32_t node);
/* Tells and saves the buckets for which it is time. */
void buckets_tick(struct buckets *buckets);
/* False: malformed. `life`: the life of the sending node. */
bool buckets_receive_reads(struct buckets *buckets, struct reader *r, uint32_t from, uint64_t life);
bool buckets_receive_levels(struct buckets *buckets, struct reader *r);
/* Before the node ends: puts what the next life must know into the next checkpoint. */
void buckets_finish(struct buckets *buckets);
/* Before the start: a LOG_BUCKETS record of an earlier life. */
enum status buckets_replay(struct buckets *buckets, struct slice payload);
