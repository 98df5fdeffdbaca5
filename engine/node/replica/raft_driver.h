/* raft_driver.h - drives the replicas' raft: records to the log, messages to the peers, deadlines.
 *
 * raft_driver_stepped is called after every call of raft on a partition. It appends raft's records
 * to the log and its messages to the envelopes, and lists the replica as dirty. At the end of a
 * turn node.c handles the dirty replicas.
 *
 * Invariants
 *   DRIVER-1  Between calls of raft the outbox is empty, and all records that raft gave are in the
 *             log.
 *   DRIVER-2  p->led is the term in which this node may propose. All p->proposals are of that
 *             term, in index order.
 *   DRIVER-3  Everything that the log holds before raft_driver_pinned_lsn is in the store too. */
#pragma once

#include "engine/catalog/catalog.h"
#include "engine/node/core/raft_timers.h"
#include "engine/node/replica/bucket_mirrors.h"

struct raft_driver {
    struct node_env *env;
    struct node_log *log;
    struct partitions *partitions;
    struct identity *identity;
    struct proposals *proposals;
    struct peers *peers;
    struct bucket_mirrors *buckets;
    struct raft_outbox outbox;
    struct raft_shared shared;
    LIST_HEAD(, partition) dirty;   /* replicas stepped in this turn */
    LIST_HEAD(, partition) writing; /* replicas with records that are not durable */
    struct raft_timers timers;
    struct instant hand_back_at; /* when raft_driver_hand_back acts next */
    bool catalog_lost; /* group 0 is no longer led here; node.c acts on it and clears it */
};

void raft_driver_init(struct raft_driver *driver);
void raft_driver_deinit(struct raft_driver *driver);
/* The replica's raft, from its base. */
void raft_driver_create_raft(struct raft_driver *driver, struct partition *p,
                             const struct raft_base *base);
/* The replica takes part. Until `quiet_until` it neither runs nor votes. */
void raft_driver_start(struct raft_driver *driver, struct partition *p, struct instant quiet_until);
/* After every call of raft: its records go to the log, its messages to the peers. */
void raft_driver_stepped(struct raft_driver *driver, struct partition *p);
/* Takes the partition off all lists. */
void raft_driver_remove(struct raft_driver *driver, struct partition *p);

/* The durable end of the log has moved. */
void raft_driver_persisted(struct raft_driver *driver);
/* Handles the deadlines. `all`: support may have ended or begun. */
void raft_driver_tick(struct raft_driver *driver, bool all);
/* The support got from the node has a new epoch: tells every replica's raft. */
void raft_driver_support_changed(struct raft_driver *driver, uint32_t node);
/* A message of another node's replica. The caller has checked that its entries can be applied. */
void raft_driver_receive(struct raft_driver *driver, uint32_t from, const struct raft_message *m);

/* ---- proposing ---- */

/* Whether the group takes a proposal of this payload size now; if not, the request was refused. */
bool raft_driver_may_propose(struct raft_driver *driver, const struct partition *p,
                             const struct operation *o, size_t payload);
/* Proposes an entry of a group that is led here. NULL: it was refused. */
struct inflight *raft_driver_propose(struct raft_driver *driver, struct partition *p,
                                     const struct operation *o, enum log_kind kind,
                                     struct slice head, struct slice tail);
/* Refuses a write or a read, with the reason and a hint of the leader. */
void raft_driver_refuse(struct raft_driver *driver, const struct operation *o,
                        const struct partition *p);

/* ---- the end of a turn ---- */

/* Takes the next stepped replica off the list. NULL: none is left. */
struct partition *raft_driver_next_dirty(struct raft_driver *driver);
/* Must follow the replica's last event of a turn. Sees a lost lead; sends raft's appends. */
void raft_driver_flush(struct raft_driver *driver, struct partition *p);
/* Whether the replica has become leader, or leads in another term. */
bool raft_driver_check_leader(struct raft_driver *driver, struct partition *p);
/* At the end of a turn: compacts a big log, as far as followers allow, and sets raft's deadline. */
void raft_driver_rest(struct raft_driver *driver, struct partition *p);
/* Leadership goes back to the members that should have it, a few at a time. */
void raft_driver_hand_back(struct raft_driver *driver);

/* ---- the log ---- */

/* The log must be kept from this lsn on, for entries that are not applied. */
uint64_t raft_driver_pinned_lsn(const struct raft_driver *driver);
/* Writes entries again that lie before `lsn` and keep the log from being trimmed. */
void raft_driver_relog(struct raft_driver *driver, uint64_t lsn);
/* Drops applied entries of all groups from memory. As a rule, those that a follower lacks stay. */
void raft_driver_compact(struct raft_driver *driver);
