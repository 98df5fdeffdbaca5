/* partition.h - a replica of a partition on this node: its range, its part in the replication
 * group, its buckets, its counters. The catalog (group 0) is a partition too, but is not read or
 * written by key. */
#pragma once

#include <sys/queue.h>

#include "engine/admission/admission.h"
#include "engine/catalog/table.h"
#include "engine/heat/excess.h"
#include "engine/heat/heat.h"
#include "engine/message/partition_stats.h"
#include "engine/node/core/index_sessions.h"

struct parked_request;
struct lock_table;
struct inflight;
struct mirror;

/* The saved balances of a partition's buckets. */
struct kept_buckets {
    uint64_t epoch;
    struct admission_balances balances[ADMIT_KINDS];
};

/* The log entry that froze the partition. No later entry changes its items, because the lower
 * partition is about to absorb it. */
struct frozen {
    uint64_t index; /* 0: not frozen */
    uint64_t term;
};

/* The log entries of the last splits and merges that a replica applied, oldest first. */
enum {
    SPLITS_KEPT = 8
};
struct split_history {
    uint32_t count;
    struct {
        uint64_t index;
        uint64_t term;
    } at[SPLITS_KEPT];
};

enum middle_step {
    MIDDLE_SOUGHT,
    MIDDLE_FOUND,
    MIDDLE_REPORTED
};

/* The search for the middle of a partition's bytes (size_split.c). */
struct middle {
    enum middle_step step;
    uint64_t epoch;
    struct buffer at;    /* the key to read next; empty: the first */
    struct buffer last;  /* the key read last; empty: none yet */
    int64_t bytes;       /* read */
    struct buffer point; /* the best split point so far; empty: none */
    int64_t split_bytes; /* bytes before the point */
    struct instant found_at;
};

/* While a partition of items that expire is led here: the round over its items (ttl/expiry.h). */
struct expiry_round {
    uint32_t number; /* of the round's owner: another term, range or attribute has another number */
    uint64_t term;
    uint64_t epoch;
    struct buffer ttl;    /* the attribute */
    bool on;              /* the round is under way */
    bool scanning;        /* not all items have been read */
    bool failed;          /* the store could not be read */
    int64_t may_read;     /* bytes; below zero: too many were read */
    struct buffer at;     /* the key to read next */
    struct buffer found;  /* keys of items that may go: each u32 size, bytes */
    size_t taken;         /* bytes of `found` that were taken */
    uint32_t calls;       /* deletions on their way */
    struct instant began; /* the round, or the last one */
    struct instant
        done_until;         /* the last round that has ended began then; at first: this was made */
    struct instant next_at; /* when the next deletion may go, or the next round may begin */
};

/* Of which versions of its table's indexes and sharded keys its entries are (apply/apply.c). */
struct index_versions {
    uint64_t proposed; /* the term in which other indexes were proposed; 0: none since */
    uint32_t logged;   /* the highest version in an entry that was applied since the start */
    uint64_t from;     /* while it is led here: later entries were proposed with these indexes */
    uint64_t key_sharding_from; /* the same for its version of sharded keys */
};

/* A request to close the replica, answered when its lease grant is over
 * (request/replicas.c). */
struct close_request {
    bool waits;
    uint64_t from;
    uint64_t id;
    uint64_t as_of; /* identity.h: closed_as_of */
};

/* The search for tokens of transactions that are over (background/token_sweep.h). */
struct token_sweep {
    bool on;
    struct buffer to;      /* the key to read next */
    struct buffer expired; /* keys of rows that may go: each u32 size, bytes */
};

/* How long more is asked for than its rate, and what of that was reported (replica/heat.c). */
struct reported_excess {
    struct excess now[ADMIT_KINDS];
    struct instant reported[ADMIT_KINDS]; /* when the excess began that was reported at once */
    bool heavy_reported;                  /* that one key may be asked for too much was reported */
};

/* The count of its items after a split or a snapshot (background/counting.h). */
struct partition_counting {
    bool on;
    struct buffer to; /* the key to read next; empty: the first one */
};

/* What a replica knows of splits that it took part in (apply/split.c). */
struct split_lineage {
    /* The partition that this one was split off from, while this replica knows no leader: it may
     * have taken over a lease grant of the parent's replica here. 0: none. */
    uint32_t parent;
    /* The ids of its own children that know no leader lie from child_first to child_last. */
    uint32_t child_first;
    uint32_t child_last; /* 0: no such children */
};

/* The records of its stream (core/stream_rows.h). */
struct partition_stream {
    struct tally rows; /* the records that are there, with their keys; exact as `items` is */
    struct stream_position trimmed; /* the last record that is gone */
    int64_t written;                /* records since the node started, as the next one */
    int64_t trims;
    /* While it is led here (stream_trim.h). */
    uint64_t term;     /* in which it is led here; 0: it is not */
    uint64_t changing; /* the last proposed entry that may end a shard; 0: none in this term */
    bool sweeping;
    bool more;                /* the last slice did not see all that may go */
    uint64_t trimming;        /* the entry that trims, until it is applied; 0: none */
    int64_t oldest_ms;        /* of the first record, by the last slice; INT64_MAX: none */
    int64_t for_bytes;        /* trimmed although they were not old, since the node started */
    struct buffer sweep_from; /* the least key of a record */
    struct buffer expired;    /* what may go: each u32 size, key, u32 size of the value */
};

struct partition {
    struct partition_info info;      /* slices borrow from `bytes` */
    struct buffer bytes;             /* partition_info_encode, as it is stored */
    const struct index_set *indexes; /* lends from `bytes` and `index_arena`; NULL: none */
    struct arena index_arena;
    struct index_versions index_versions;
    struct raft *raft;       /* owns */
    struct instant deadline; /* when raft wants to be called (raft_timers.h) */
    uint32_t deadline_place; /* in the heap, from 1; 0: no deadline */
    uint64_t since_lsn;      /* the group's records before this lsn belong to an earlier replica */
    bool no_state;           /* a snapshot is being installed: nothing can be read */
    struct raft_base *installing;     /* owns; received whole, on its way to the backing; or NULL */
    size_t proposed_index_feed_bytes; /* of its proposals (proposals_count_index_feed) */
    struct frozen frozen;
    bool thaws; /* frozen, and the catalog has given the merge up: no partition absorbs it */
    uint64_t absorbed_lsn; /* the node may forget a merge until its log is durable up to here */
    uint64_t hold;         /* entries after it stay for the receiver of a snapshot; 0: none */
    bool ended;            /* its table is deleted: it serves nothing any more */
    struct close_request close_request;
    bool closing; /* a LOG_PARTITION_CLOSE is on its way */
    bool stored;  /* its row in the store is up to date */
    bool dirty;   /* in the node's list of replicas that were stepped */
    bool writing; /* in the node's list of replicas with records that are not durable */
    LIST_ENTRY(partition) dirty_place;
    LIST_ENTRY(partition) writing_place;
    uint64_t logged_lsn;                  /* end of its last record */
    uint64_t led;                         /* raft_leading, as raft_driver.c saw it last */
    STAILQ_HEAD(, inflight) proposals;    /* of that term, not applied, oldest first */
    STAILQ_HEAD(, parked_request) reads;  /* parked until leadership is confirmed */
    STAILQ_HEAD(, parked_request) locked; /* parked until a transaction is decided */
    struct index_sessions sessions;       /* of leaders of the base table, while it is led here */
    struct lock_table *locks;             /* while led here (transaction/transactions.h); or NULL */
    struct token_sweep token_sweep;       /* while it is led here */
    struct expiry_round *expiry; /* owns; NULL: its items do not expire, or it is not led here */
    int64_t expired_items;       /* since the node started */
    uint64_t *marks;     /* owns; the last entries that changed items, by hash; NULL: not kept */
    uint64_t late_until; /* entries up to this index were committed before they came here */
    struct admission admission;
    struct mirror *mirror;     /* owns; NULL: no mirror yet (bucket_mirrors.c) */
    struct kept_buckets *kept; /* owns; of an earlier life, until the node starts; or NULL */
    enum {
        BUCKETS_SAVED,
        BUCKETS_REFILLED, /* since they were saved */
        BUCKETS_SPENT     /* and spent */
    } buckets;
    struct heat heat; /* while it is led here */
    struct reported_excess excess;
    struct partition_counts counts[ADMIT_KINDS];
    int64_t followers_mcu; /* of what `counts` says is read: followers have served it */
    struct index_refusal index_refusal; /* while it is led here */
    struct partition_counting count;
    struct tally items; /* exact; while it is counted, of the keys before count.to */
    struct tally rows[LOCAL_INDEXES_MAX]; /* of local indexes, by place in `indexes` */
    struct partition_stream stream;
    bool doubted;                 /* perhaps no member any more: the next report asks the catalog */
    struct middle *middle;        /* owns; NULL: no search */
    struct split_history *splits; /* owns; NULL: no splits */
    struct split_lineage lineage;
    uint64_t reported; /* hash of the last report to the catalog; 0: no report yet */
};

/* The term in which the group is led here, also before an entry of that term is committed; 0: not
 * led here. Snapshots cannot wait for p->led: a majority may need one before any commit. */
static inline uint64_t partition_led_term(const struct partition *p)
{
    return raft_role(p->raft) == RAFT_LEADER ? raft_term(p->raft) : 0;
}

struct partition *partition_create(const struct partition_info *info);
void partition_destroy(struct partition *p);

/* Takes over range, epoch, rates and intended members. A changed range clears the heat. So do
 * changed shards of the table's keys: what was asked for before may be asked for elsewhere now, and
 * a split there would be futile. The slices of `info` may point into p->bytes. */
void partition_set(struct partition *p, const struct partition_info *info);

/* Frees the search and its result. NULL: does nothing. */
void middle_destroy(struct middle *m);
/* The same for a round of expiry. */
void expiry_round_destroy(struct expiry_round *r);

/* Whether a storage key lies in the range. */
bool partition_holds(const struct partition *p, struct slice key);

/* Whether the replica must not change, because another partition may absorb it at any moment. */
static inline bool partition_is_frozen(const struct partition *p)
{
    return p->frozen.index != 0 && !p->no_state && !p->thaws;
}

/* Whether its range overlaps [lo, hi); hi empty: no end. */
bool partition_overlaps(const struct partition *p, struct slice lo, struct slice hi);

/* Whether the store's value under the key is the row of an item collection, not an item. */
bool partition_is_row(const struct partition *p, struct slice key);

/* Whether the count has passed the item or record with this key, or is not under way: then a change
 * of it, or of the item's rows, changes the counts. */
bool partition_has_counted(const struct partition *p, struct slice key);
/* Whether all items are counted; records of streams may not be. */
bool partition_items_counted(const struct partition *p);
/* item_size of the item and of its rows. */
int64_t partition_bytes_of(const struct partition *p, struct slice item);
/* Bytes of all items and rows. */
int64_t partition_bytes(const struct partition *p);
/* Adds an item and its rows to the counts. */
void partition_count_item(struct partition *p, struct slice item);
/* Drops all counts and starts counting again at the first key. */
void partition_count_anew(struct partition *p);

/* The replica's history; an empty history if it has none. */
const struct split_history *partition_splits(const struct partition *p);
void partition_set_splits(struct partition *p, const struct split_history *splits);
void partition_push_split(struct partition *p, uint64_t index, uint64_t term);

struct admission_rates partition_rates(const struct partition_info *info);
/* The balances now; reads, then writes. */
void partition_balances(const struct partition *p, struct instant now,
                        struct admission_balances out[ADMIT_KINDS]);
/* Their bytes: i64 cap, allocation, burst of reads, then of writes. */
void balances_walk(struct codec *c, struct admission_balances balances[ADMIT_KINDS]);
/* Keeps balances of an earlier life until the buckets begin. */
void partition_keep_buckets(struct partition *p, const struct kept_buckets *kept);

/* Counts a decision. */
void partition_count(struct partition *p, enum admit_kind kind, const struct admit_verdict *v,
                     int64_t cost_mcu);
