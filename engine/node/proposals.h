/* proposals.h - proposals and own records on their way to the disks, and the keys they write.
 *
 * A write is evaluated against everything proposed before it, so the newest proposal of a key
 * shadows memtable and backing for later writes. Both live in one pool of fixed size. */
#ifndef WEIR_ENGINE_NODE_PROPOSALS_H
#define WEIR_ENGINE_NODE_PROPOSALS_H

#include "engine/node/node_log.h"
#include "engine/node/operation.h"
#include "engine/node/partition.h"

enum {
    NO_ENTRY = -1
};

/* The newest change of a key that is proposed: it shadows memtable and backing for later writes. */
struct shadow {
    uint64_t hash;      /* memtable_hash of the key */
    int32_t older;      /* in the same hash bucket; of a free one: the next free one */
    int32_t next;       /* of the same proposal */
    struct slice key;   /* both lend until the proposal is applied */
    struct slice value; /* data NULL: the key is deleted */
};

/* A proposal of this node that is not applied yet, or a record of its own that is not durable yet.
 */
struct inflight {
    STAILQ_ENTRY(inflight) place; /* of its group, or of the node's own records; or free */
    enum log_kind kind;
    uint32_t group;
    uint64_t index;       /* proposals */
    uint64_t term;        /* proposals */
    uint64_t lsn;         /* own records: the end of the record */
    struct slice payload; /* proposals: lends until it is applied; own records: owns */
    uint64_t from;
    uint64_t request_id;
    bool answer;
    bool want_old;
    struct admit_verdict verdict;
    int64_t consumed_mcu;
    int64_t collection_bytes; /* as in struct reply */
    int32_t shadows;          /* the first one; NO_ENTRY: it shadows none */
};

struct proposals {
    struct node_env *env;
    struct node_log *log;
    struct inflight *slots; /* owns; `size` (a power of two) of them */
    uint32_t size;
    uint32_t count;
    STAILQ_HEAD(, inflight) free;
    STAILQ_HEAD(, inflight) own; /* own records, in the order of the log */
    struct shadow *shadows;      /* owns; grows */
    uint32_t shadows_size;
    int32_t shadow_free;
    int32_t *shadow_buckets; /* owns; `size` of them: newest shadow by hash */
};

void proposals_init(struct proposals *proposals, struct node_env *env, struct node_log *log);
void proposals_deinit(struct proposals *proposals);

static inline bool proposals_are_full(const struct proposals *proposals)
{
    return STAILQ_EMPTY(&proposals->free);
}

/* Whether a record of this payload size can be taken now; if not, the request was refused. */
bool proposals_may_write(struct proposals *proposals, const struct operation *o, size_t payload);
/* The entry was proposed to the group: to be taken by proposals_take when it is committed. */
struct inflight *proposals_add(struct proposals *proposals, struct partition *p,
                               const struct operation *o, enum log_kind kind, uint64_t index,
                               struct slice payload);
/* Appends a record of the node's own. */
struct inflight *proposals_append_own(struct proposals *proposals, enum log_kind kind,
                                      uint32_t group, uint64_t index, struct slice payload);
/* Takes the oldest own record if it is durable; NULL: it is not. The caller frees it. */
struct inflight *proposals_take_own(struct proposals *proposals);
void proposals_free_own(struct proposals *proposals, struct inflight *e);
/* The outcome of all own records is not known. */
void proposals_drop_own(struct proposals *proposals, const char *why);
/* Takes the oldest proposal of the group if it is this entry; NULL: nobody here asked for it. The
 * caller frees it. */
struct inflight *proposals_take(struct proposals *proposals, struct partition *p,
                                const struct raft_entry *e);
void proposals_free(struct proposals *proposals, struct inflight *e);
/* Proposed writes of keys that are not the partition's any more are told so: they will come to
 * nothing. */
void proposals_void(struct proposals *proposals, struct partition *p);
/* Every proposal of the group is answered: its outcome is not known. */
void proposals_drop(struct proposals *proposals, struct partition *p, const char *why);
/* The newest change in flight of a key; NULL: there is none. Lends until the next change. */
const struct shadow *proposals_shadow(const struct proposals *proposals, struct slice key,
                                      uint64_t hash);
/* The proposal changes the key; key and value are parts of its payload. */
void proposals_shadow_add(struct proposals *proposals, struct inflight *e, uint64_t hash,
                          struct slice key, struct slice value);

/* Whether a replica that is being opened, but for that of one partition, will hold a key of the
 * range. */
bool proposals_open_range(const struct proposals *proposals, uint32_t but, struct slice lo,
                          struct slice hi);

#endif
