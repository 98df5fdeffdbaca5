/* proposals.h - proposals and own records on their way to the disks, and the keys they write.
 *
 * A write is evaluated against all proposals before it. So the newest proposal of a key covers
 * memtable and backing for later writes. Proposals and own records share a pool of fixed size. */
#pragma once

#include "engine/message/request_traits.h"
#include "engine/node/core/node_log.h"
#include "engine/node/core/node_operation.h"
#include "engine/node/core/partition.h"

enum {
    NO_ENTRY = -1
};

/* A proposed change of a key. The newest change covers memtable and backing for later writes. */
struct uncommitted_version {
    uint64_t hash;      /* store_hash of the key */
    int32_t older;      /* the next one in the hash bucket; if it is free: the next free one */
    int32_t next;       /* the next one of the proposal */
    struct slice key;   /* both lend until the proposal is applied */
    struct slice value; /* data NULL: the key is deleted */
};

/* A proposal of this node that is not applied yet, or an own record that is not durable yet. */
struct inflight {
    STAILQ_ENTRY(inflight)
    place; /* in its group's list, the list of own records or the free list */
    enum log_kind kind;
    uint32_t group;
    uint64_t index;       /* proposals */
    uint64_t term;        /* proposals */
    uint64_t lsn;         /* own records: the end of the record */
    struct slice payload; /* proposals: borrows until applied; own records: owns */
    uint64_t from;
    uint64_t request_id;
    bool answer;
    enum answer_kind answer_kind; /* how the answer of a write tells its effect */
    uint8_t return_values;        /* enum write_return */
    struct admit_verdict verdict;
    int64_t consumed_mcu;
    int64_t collection_bytes; /* as in struct reply */
    struct slice items;       /* owns: what the answer has of the items of a transaction's parts */
    size_t
        index_feed_bytes; /* of the changes for global indexes in it (proposals_count_index_feed) */
    size_t shared_bytes;  /* of the records of the store that the long keys in it share */
    int32_t uncommitted;  /* the first uncommitted version; NO_ENTRY: no uncommitted version */
};

struct proposals {
    struct node_env *env;
    struct node_log *log;
    struct inflight *slots; /* owns `size` slots */
    uint32_t size;          /* a power of two */
    uint32_t count;
    size_t reserved_bytes; /* of the entries that end locks, if their transactions are committed */
    size_t shared_bytes; /* of all proposals and locks. The store counts those of what is applied */
    STAILQ_HEAD(, inflight) free;
    STAILQ_HEAD(, inflight) own;             /* own records, in the order of the log */
    struct uncommitted_version *uncommitted; /* owns; grows */
    uint32_t uncommitted_size;
    int32_t uncommitted_free;
    int32_t *uncommitted_buckets; /* owns `size` buckets: the newest uncommitted version, by hash */
};

void proposals_init(struct proposals *proposals, struct node_env *env, struct node_log *log);
void proposals_deinit(struct proposals *proposals);

static inline bool proposals_are_full(const struct proposals *proposals)
{
    return STAILQ_EMPTY(&proposals->free);
}

/* Whether the entry of the operation is mandatory: it ends what was begun, or does what was
 * decided. The node's own entries are mandatory: they discard what is done. */
static inline bool operation_is_mandatory(const struct operation *o)
{
    return o->from == FROM_SELF || traits_of(&o->request)->mandatory;
}

/* Whether a record of this payload size can be taken now; if not, the request was refused. A
 * mandatory entry (operation_is_mandatory) is refused only if the disk has failed, or if the slots
 * of mandatory entries are used up.
 * PROPOSALS-1  While no segment of the log can be made, others leave the space of
 *              `reserved_bytes`. */
bool proposals_may_write(struct proposals *proposals, const struct operation *o, size_t payload);
/* Whether the stored bytes may grow by so many, beside proposals_may_write. If not, the operation
 * was refused. What frees bytes is not refused: it uses the reserve (engine/store/space.h).
 * PROPOSALS-2  Mandatory entries, and what does not grow the stored bytes, are not refused for
 *              the reserve. */
bool proposals_may_grow(struct proposals *proposals, const struct operation *o, int64_t grown);
/* The bytes by which the data may still grow, before writes are refused for want of space. */
uint64_t proposals_growth_left(const struct proposals *proposals);
/* Whether a write was refused for want of space since the last checkpoint began. */
bool proposals_lack_space(const struct proposals *proposals);
/* Whether there is space for bytes that come without a request: those of snapshots. They were
 * acknowledged, so they may use the reserve. */
bool proposals_leave_space(struct proposals *proposals, size_t bytes);
/* The same as proposals_may_write for a record that reserves the space of another one, of
 * `reserved` bytes. */
bool proposals_may_reserve(struct proposals *proposals, const struct operation *o, size_t payload,
                           size_t reserved);
/* Whether the log has space for so many bytes beside `reserved_bytes` (PROPOSALS-1). For entries
 * that come without a request: those of other leaders, and saved buckets. */
bool proposals_leave_room(const struct proposals *proposals, size_t bytes);
/* Whether entries of another leader may be logged. They must be taken some time, if need be with
 * the last space. But what is taken while a checkpoint is short of space makes the next one larger,
 * and what never fits keeps out the deletions of other groups. So a part of each checkpoint stays
 * for deletions that are proposed here. */
bool proposals_may_follow(struct proposals *proposals, size_t bytes);
/* The entry was proposed to the group. proposals_take takes it when it is committed. */
struct inflight *proposals_add(struct proposals *proposals, struct partition *p,
                               const struct operation *o, enum log_kind kind, uint64_t index,
                               struct slice payload);
/* Appends an own record of the node. */
struct inflight *proposals_append_own(struct proposals *proposals, enum log_kind kind,
                                      uint32_t group, uint64_t index, struct slice payload);
/* Takes the oldest own record if it is durable. NULL: no durable one. The caller frees it. */
struct inflight *proposals_take_own(struct proposals *proposals);
void proposals_free_own(struct proposals *proposals, struct inflight *e);
/* Drops all own records, and answers their requests: the outcome is unknown. */
void proposals_drop_own(struct proposals *proposals, const char *why);
/* Takes the oldest proposal of the group if it is this entry. NULL: this node did not propose the
 * entry. The caller frees the proposal. */
struct inflight *proposals_take(struct proposals *proposals, struct partition *p,
                                const struct raft_entry *e);
void proposals_free(struct proposals *proposals, struct inflight *e);
/* Of a part: the item after the write. Of all parts: their replies. */
void proposals_set_items(struct inflight *e, struct slice items);
/* The proposal has a change for global indexes of so many bytes. The partition's sum,
 * proposed_index_feed_bytes, has them until the proposal ends, whether it has had an effect or
 * not. */
void proposals_count_index_feed(struct partition *p, struct inflight *e, size_t bytes);
/* The proposal has records of the store written anew, of so many bytes, that its long keys share.
 * They count as space that is used until the proposal ends. */
void proposals_count_shared(struct proposals *proposals, struct inflight *e, size_t bytes);
/* Refuses the proposed writes of keys that the partition has lost: they will change nothing. */
void proposals_void(struct proposals *proposals, struct partition *p);
/* Whether a split of the partition is on its way. */
bool proposals_split(const struct partition *p);
/* Drops all proposals of the group, and answers their requests: the outcome is unknown. */
void proposals_drop(struct proposals *proposals, struct partition *p, const char *why);
/* The newest proposed change of a key. NULL: no change. Lends until the next change. */
const struct uncommitted_version *proposals_find_uncommitted(const struct proposals *proposals,
                                                             struct slice key, uint64_t hash);
/* The proposal changes the key. Key and value must be parts of its payload. */
void proposals_add_uncommitted(struct proposals *proposals, struct inflight *e, uint64_t hash,
                               struct slice key, struct slice value);

/* Whether a replica that is being opened will hold a key of the range. The partition `but` does not
 * count. */
bool proposals_open_range(const struct proposals *proposals, uint32_t but, struct slice lo,
                          struct slice hi);
