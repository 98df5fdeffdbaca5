/* groups.h - drives the replicas' raft: records to the log, messages to the peers, deadlines.
 *
 * groups_stepped is called after every call of raft on a partition. It appends raft's records to
 * the log and its messages to the envelopes, and lists the replica as dirty. At the end of a turn
 * node.c handles the dirty replicas.
 *
 * Invariants
 *   GROUPS-1  Between calls of raft the outbox is empty, and all records that raft gave are in the
 *             log.
 *   GROUPS-2  p->led is the term in which this node may propose. All p->proposals are of that
 *             term, in index order.
 *   GROUPS-3  Everything that the log holds before groups_pinned_lsn is in the store too. */
#pragma once

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
    struct instant hand_back_at; /* when groups_hand_back acts next */
    bool catalog_lost; /* group 0 is no longer led here; node.c acts on it and clears it */
};

void groups_init(struct groups *groups);
void groups_deinit(struct groups *groups);
/* The replica's raft, from its base. */
void groups_create_raft(struct groups *groups, struct partition *p, const struct raft_base *base);
/* The replica takes part. Until `quiet_until` it neither runs nor votes. */
void groups_start(struct groups *groups, struct partition *p, struct instant quiet_until);
/* After every call of raft: its records go to the log, its messages to the peers. */
void groups_stepped(struct groups *groups, struct partition *p);
/* Takes the partition off all lists. */
void groups_forget(struct groups *groups, struct partition *p);

/* The durable end of the log has moved. */
void groups_persisted(struct groups *groups);
/* Handles the deadlines. `all`: support may have ended or begun. */
void groups_tick(struct groups *groups, bool all);
/* The support got from the node has a new epoch: tells every replica's raft. */
void groups_heard(struct groups *groups, uint32_t node);
/* A message of another node's replica. The caller has checked that its entries can be applied. */
void groups_receive(struct groups *groups, uint32_t from, const struct raft_message *m);

/* ---- proposing ---- */

/* Whether the group takes a proposal of this payload size now; if not, the request was refused. */
bool groups_may_propose(struct groups *groups, const struct partition *p, const struct operation *o,
                        size_t payload);
/* Proposes an entry of a group that is led here. NULL: it was refused. */
struct inflight *groups_propose(struct groups *groups, struct partition *p,
                                const struct operation *o, enum log_kind kind, struct slice head,
                                struct slice tail);
/* Refuses a write or a read, with the reason and a hint of the leader. */
void groups_refuse(struct groups *groups, const struct operation *o, const struct partition *p);

/* ---- the end of a turn ---- */

/* Takes the next stepped replica off the list. NULL: none is left. */
struct partition *groups_next_dirty(struct groups *groups);
/* Must follow the replica's last event of a turn. Sees a lost lead; sends raft's appends. */
void groups_flush(struct groups *groups, struct partition *p);
/* Whether the replica has become leader, or leads in another term. */
bool groups_see_leader(struct groups *groups, struct partition *p);
/* At the end of a turn: compacts a big log, as far as followers allow, and sets raft's deadline. */
void groups_rest(struct groups *groups, struct partition *p);
/* Leadership goes back to the members that should have it, a few at a time. */
void groups_hand_back(struct groups *groups);

/* ---- the log ---- */

/* The log must be kept from this lsn on, for entries that are not applied. */
uint64_t groups_pinned_lsn(const struct groups *groups);
/* Writes entries again that lie before `lsn` and keep the log from being trimmed. */
void groups_relog(struct groups *groups, uint64_t lsn);
/* Drops applied entries of all groups from memory. As a rule, those that a follower lacks stay. */
void groups_compact(struct groups *groups);
