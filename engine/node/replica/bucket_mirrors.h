/* bucket_mirrors.h - the buckets of the replicas here. They are told to other replicas and survive
 * a restart.
 *
 * The leader of a partition has its buckets. Followers have mirrors of them (bucket_mirrors.c). */
#pragma once

#include "engine/node/core/proposals.h"
#include "engine/node/replica/peers.h"

struct bucket_mirrors {
    struct node_env *env;
    struct partitions *partitions;
    struct throughput *throughput;
    struct proposals *proposals;
    struct peers *peers;
    struct table_share **shares; /* owns; of tables whose replicas here share */
    uint32_t shares_count;
    size_t shares_capacity;
    LIST_HEAD(, mirror) unsent; /* mirrors whose buckets must be told */
    struct instant mirror_at;   /* when the first of them must be told; or INSTANT_NEVER */
    struct instant save_at;     /* when changed buckets must be saved; or INSTANT_NEVER */
};

void bucket_mirrors_deinit(struct bucket_mirrors *buckets);
/* The replica is opened here or the node starts; its info has changed; it was split or comes from a
 * split; it is closed. */
void bucket_mirrors_begin(struct bucket_mirrors *buckets, struct partition *p);
void bucket_mirrors_changed(struct bucket_mirrors *buckets, struct partition *p);
void bucket_mirrors_divided(struct bucket_mirrors *buckets, struct partition *p);
void bucket_mirrors_end(struct bucket_mirrors *buckets, struct partition *p);
/* A request was admitted and debited here, or settled. */
void bucket_mirrors_spent(struct bucket_mirrors *buckets, struct partition *p, enum admit_kind kind,
                          int64_t cost_mcu, bool eventual);
/* A write that another node leads is about to be logged here. */
void bucket_mirrors_follow(struct bucket_mirrors *buckets, struct partition *p,
                           const struct raft_entry *e);
/* The replica has become leader, or its group has changed. */
void bucket_mirrors_led(struct bucket_mirrors *buckets, struct partition *p);
/* Node `node` was away, or is new: all buckets must be told to it. */
void bucket_mirrors_resend(struct bucket_mirrors *buckets, uint32_t node);
/* Tells and saves the buckets for which it is time. */
void bucket_mirrors_tick(struct bucket_mirrors *buckets);
/* False: malformed. `life`: the life of the sending node. */
bool bucket_mirrors_receive_reads(struct bucket_mirrors *buckets, struct reader *r, uint32_t from,
                                  uint64_t life);
bool bucket_mirrors_receive_levels(struct bucket_mirrors *buckets, struct reader *r);
/* Before the node ends: puts what the next life must know into the next checkpoint. */
void bucket_mirrors_finish(struct bucket_mirrors *buckets);
/* Before the start: a LOG_BUCKETS record of an earlier life. */
enum status bucket_mirrors_replay(struct bucket_mirrors *buckets, struct slice payload);
