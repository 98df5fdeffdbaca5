/* groups.h - driving the replicas' raft: records to the log, messages to the peers, deadlines.
 *
 * After every call of raft on a partition, groups_stepped is called: raft's records are appended to
 * the log, its messages to the envelopes, and the replica is listed as dirty. At the end of a turn
 * node.c goes over the dirty ones.
 *
 * Invariants
 *   GROUPS-1  Outside a call of raft the outbox is empty, and nothing raft wants written is unlogged.
 *   GROUPS-2  p->led is the term in which this node may propose; p->proposals are
 *             all of that term and in the order of their indexes.
 *   GROUPS-3  The log before groups_pinned_lsn holds nothing that is not in the store. */
#ifndef WEIR_ENGINE_NODE_GROUPS_H
#define WEIR_ENGINE_NODE_GROUPS_H

#include "engine/catalog/catalog.h"
#include "engine/node/buckets.h"
#include "engine/node/raft_timers.h"

struct groups {
    struct node_env *env;
    struct node_log *log;
    struct partitions *partitions;
    struct identity *identity;
    struct proposals *proposals;
    struct peers *peers;
    struct buckets *buckets;
    struct raft_outbox outbox;
    struct raft_shared shared;
    LIST_HEAD(, partition) dirty;   /* replicas stepped in this turn */
    LIST_HEAD(, partition) writing; /* replicas with records that are not durable */
    struct raft_timers timers;
    struct instant hand_back_at; /* leadership to those who should have it */
    bool catalog_lost;           /* group 0 was led here; to be taken back by whoever has seen it */
};

void groups_init(struct groups *groups);
void groups_deinit(struct groups *groups);
/* The replica's raft, from its base. */
void groups_create_raft(struct groups *groups, struct partition *p, const struct raft_base *base);
void groups_start(struct groups *groups, struct partition *p, struct instant quiet_until);
/* After every call of raft: its records go to the log, its messages to the peers. */
void groups_stepped(struct groups *groups, struct partition *p);
/* Nothing lists the partition any more. */
void groups_forget(struct groups *groups, struct partition *p);

/* The log is durable up to where it says. */
void groups_persisted(struct groups *groups);
/* Deadlines; `all`: support may have lapsed or come. */
void groups_tick(struct groups *groups, bool all);
void groups_heard(struct groups *groups, uint32_t node);
/* A message of another node's replica, whose entries can be applied. */
void groups_receive(struct groups *groups, uint32_t from, const struct raft_message *m);

/* ---- proposing ---- */

/* Whether the group takes a proposal of this payload size now; if not, the request was refused. */
bool groups_may_propose(struct groups *groups, const struct partition *p, const struct operation *o,
                        size_t payload);
/* Proposes an entry of a group that is led here. NULL: it was refused. */
struct inflight *groups_propose(struct groups *groups, struct partition *p,
                                const struct operation *o, enum log_kind kind, struct slice head,
                                struct slice tail);
/* Why a group takes no writes, or no reads: into a refusal with a hint of the leader. */
void groups_refuse(struct groups *groups, const struct operation *o, const struct partition *p);

/* ---- the end of a turn ---- */

/* The next replica that was stepped, off the list; NULL: there is none. */
struct partition *groups_next_dirty(struct groups *groups);
void groups_flush(struct groups *groups, struct partition *p);
/* Whether leadership has come, or is in another term. */
bool groups_see_leader(struct groups *groups, struct partition *p);
/* What followers may still need stays, while it is little; of a settled group nothing stays. */
void groups_rest(struct groups *groups, struct partition *p);
/* Leadership goes back to the members that should have it, a few at a time. */
void groups_hand_back(struct groups *groups);

/* ---- the log ---- */

/* Where the log must be kept from for entries that are not applied. */
uint64_t groups_pinned_lsn(const struct groups *groups);
/* Writes entries again that have held up the log since before `lsn`. */
void groups_relog(struct groups *groups, uint64_t lsn);
void groups_compact(struct groups *groups);

#endif
