/* transactions.h - the items that transactions have locked, and what is decided of them.
 *
 * engine/transaction/transaction.h says which rows are stored. While a partition is led here, its
 * locks and records are in memory too, in a lock table: a lock counts from the moment it is
 * proposed.
 *
 * How a transaction goes (docs/decisions/0034): a router has each part prepared: its partition
 * judges it, and locks the item. If all are, the router has the anchor's partition decide. From
 * that entry of the log on, the transaction is committed. Its leader then has the other parts done,
 * and forgets the record once all are.
 *
 * Promises
 *   TRANSACT-1  A transaction is committed by one entry of the log of its anchor's partition, and
 *               only after all its locks are on the disks of majorities.
 *   TRANSACT-2  A lock goes only once the anchor's partition has said what is decided. The record
 *               stays until all locks are gone.
 *   TRANSACT-3  What nobody decides is aborted: the anchor's leader gives up a record that is
 *               pending for transaction_decide_ms, and a leader with a lock asks. To ask for what
 *               is not known here also keeps it from being begun later.
 *   TRANSACT-4  A strong read of a locked item waits until the anchor's partition says that the
 *               transaction is done or dropped, or was still pending after the read came. */
#pragma once

#include "engine/node/background/background.h"
#include "engine/node/core/index_maps.h"
#include "engine/node/core/pending_requests.h"
#include "engine/node/replica/raft_driver.h"
#include "engine/transaction/transaction.h"

enum {
    MARKS = 1024,
    LOCK_END_BYTES =
        1024 /* at most, of an entry that ends a lock, beside keys, items and their rows */
};

/* The mark of an item, in partition.marks. */
static inline uint32_t mark_of(const struct store *store, struct slice key)
{
    return (uint32_t)(store_hash(store, key) % MARKS);
}

struct lock_table;

/* What the end of a lock needs, if its transaction is committed. It is taken when the part is
 * prepared, and held until the end is proposed: what is committed is not refused for room. */
struct lock_room {
    size_t index_feed_bytes; /* in the backlog of global indexes (FEED-2) */
    size_t log_bytes;        /* in the log: an upper bound (PROPOSALS-1) */
    size_t shared_bytes;     /* of the records of the store that the item's long keys share */
};

struct lock {
    struct lock *same_hash;
    LIST_ENTRY(lock) place;
    uint64_t hash;
    struct buffer key;    /* the item's storage key */
    struct buffer anchor; /* storage key */
    struct transaction_id id;
    uint32_t number;
    bool applied;
    bool moves;     /* the item goes to another shard, or comes from one */
    bool resolving; /* the entry that ends the lock is proposed */
    struct lock_room room;
    struct instant since;
    struct instant query_at; /* the next time to ask for the decision unasked */
    uint64_t query;          /* number of the question under way; 0: none */
    uint64_t pending_since;  /* number of the last question that was answered with "pending" */
};

/* What the leader knows of a transaction record that is not forgotten yet. */
struct open_record {
    TAILQ_ENTRY(open_record) place;
    struct open_record *same_id; /* the next one whose id has the same place in the map */
    struct transaction_id id;
    struct buffer anchor; /* storage key */
    struct buffer bytes;  /* the row's value; `row` lends from it */
    struct transaction_record row;
    uint32_t number;
    bool applied;
    bool fence;    /* it only says that the transaction is aborted, for who comes too late */
    bool changing; /* an entry that changes it is proposed */
    bool ends;     /* is to be forgotten in this turn */
    struct instant since;
    struct instant held_until; /* this node is about to decide it: it is not given up before */
    struct instant again_at;   /* when to tell the parts again */
    uint64_t notified[2];      /* bit i: other part i has been told, and has answered */
    uint64_t notifying[2];     /* is being told */
    size_t log_bytes;          /* room that it has in the log */
};

struct transactions {
    struct node_env *env;
    struct partitions *partitions;
    struct pending_requests *pending;
    struct proposals *proposals;
    struct raft_driver *driver;
    struct internal_calls *calls;
    struct index_maps *maps;
    struct background *background;
    LIST_HEAD(, lock_table) all; /* owns */
    struct instant at;           /* there is nothing to do before */
    uint64_t questions;          /* asked so far */
    uint32_t numbers;            /* given to locks and records so far */
    /* A lock has gone, or is known to be pending: reads that wait are to be run again. */
    bool freed;
};

void transactions_deinit(struct transactions *transactions);
/* The partition leads here in a new term, or has another range: its lock table is made anew. */
void transactions_begin(struct transactions *transactions, struct partition *p);
/* The partition was stepped: it may be led here no more. */
void transactions_see(struct transactions *transactions, struct partition *p);

/* The partition is removed, or nothing that it has proposed has an effect. */
void transactions_discard(struct transactions *transactions, struct partition *p);
/* Whether the locks of the partition are known. If not, the operation was refused. */
bool transactions_are_known(struct transactions *transactions, const struct partition *p,
                            const struct operation *o);

/* ---- locks ---- */

/* The lock of the item with this storage key. NULL: none. */
struct lock *transactions_lock_of(const struct partition *p, struct slice key);
/* How many items are locked, and for how long the oldest of them. */
void transactions_count(const struct transactions *transactions, const struct partition *p,
                        int64_t *locks, int64_t *oldest_ms);
/* A lock was proposed, and takes its room. */
void transactions_lock_proposed(struct transactions *transactions, struct partition *p,
                                struct slice key, const struct transaction_part *part, bool moves,
                                struct lock_room room);
/* The entry that ends the lock was proposed: it has the lock's room. */
void transactions_lock_ends(struct transactions *transactions, struct partition *p,
                            struct lock *lock);
/* The room of all locks of the partition in the backlog of global indexes. */
size_t transactions_index_feed_bytes(const struct partition *p);
/* The room of all locks and records of the partition in the log. */
size_t transactions_log_bytes(const struct partition *p);
/* Whether items go to other shards, or come from them. */
bool transactions_move(const struct partition *p);
/* Whether a lock or record is left whose item, or anchor, is in [lo, hi) and may not stay in its
 * shard, by so many shards (key_shard_stays). All have the same partition key. `first`: the least
 * such key; lends until the next change. */
bool transactions_hold_moved(const struct partition *p, struct slice lo, struct slice hi,
                             uint32_t shards, bool cells, struct slice *first);
/* Whether a strong read of an item, or of the items in [lo, hi), may be answered from what is
 * applied (TRANSACT-4). If not, it waits, and is run again; or it was refused. */
bool transactions_let_get(struct transactions *transactions, struct partition *p,
                          struct operation *o, struct slice key);
bool transactions_let_range(struct transactions *transactions, struct partition *p,
                            struct operation *o, struct slice lo, struct slice hi);
/* Whether no transaction has the item. If one that is pending has it, the operation was refused. If
 * that is not known, it waits, and is run again. */
bool transactions_let_write(struct transactions *transactions, struct partition *p,
                            struct operation *o, struct slice key);
/* The same for several items. A refusal has a reply for each: parts.replies. */
bool transactions_let_writes(struct transactions *transactions, struct partition *p,
                             struct operation *o, const struct slice keys[], uint32_t count);
/* From now on the partition keeps marks: which entry changed an item last. */
void transactions_mark(struct partition *p);

/* ---- records ---- */

/* NULL: none. */
struct open_record *transactions_record_of(const struct partition *p, struct slice anchor,
                                           struct transaction_id id);
/* A record was proposed. */
void transactions_record_proposed(struct transactions *transactions, struct partition *p,
                                  struct slice anchor, struct transaction_id id,
                                  struct slice value);
/* Whether a transaction is committed here, and has parts in other tables that are not all known to
 * be done. */
bool transactions_have_pending_parts(const struct partition *p);

/* ---- events ---- */

/* A row was applied where the partition is led; an empty value: it is gone. */
void transactions_applied(struct transactions *transactions, struct partition *p,
                          struct slice row_key, struct slice value);
void transactions_answered(struct transactions *transactions,
                           const struct internal_call_answer *answer);
/* At the end of a turn: asks, and tells. Proposes to forget records. */
void transactions_end_turn(struct transactions *transactions);
struct instant transactions_deadline(const struct transactions *transactions);
