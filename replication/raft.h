/* raft.h - one replica's part in one replication group: a pure step function.
 *
 * Events go in: a message, a proposal, a finished disk write, the time. Writes and messages come
 * out as data. The replica keeps the uncompacted entries in memory. The owner applies them in order
 * and knows what they mean.
 *
 * Promises
 *   RAFT-1  Nothing leaves that depends on something not yet durable: votes, acknowledgements and
 *       requests for votes go out in raft_persisted, once their hard state and entries are on disk.
 *   RAFT-2  A leader commits by counting only entries of its own term, and only persisted ones; it
 *       appends a no-op when elected.
 *   RAFT-3  A follower acknowledges only what it has checked against this leader's log.
 *   RAFT-4  At most one vote a term, transfers included. A leader never truncates its own log.
 *   RAFT-5  A lease holder is the only one in real time, while clocks drift within liveness' bound.
 *   RAFT-6  A settled group is quiescent: no message, no deadline, until a proposal or a lost peer.
 *   RAFT-7  Bytes in flight are bounded per follower, uncommitted bytes per group.
 *   RAFT-8  A leader keeps the entries that a quorum of its present voters lacks. Else a voter that
 *           was just added needs a snapshot, and until it has that nothing is committed.
 * No clock, no I/O, no randomness but the seed, no global. Every call may put messages into the
 * outbox. Only raft_flush puts appends there; their entries lend until the next event of the same
 * group. raft_flush must follow every event before the turn ends.
 *
 * A turn of the owner:
 *   events ..                       raft_receive, raft_propose, raft_tick, ..
 *   raft_flush                      a leader's appends for all that was proposed, in few messages
 *   raft_take_writes                append to the log, tell raft the lsn of each record
 *   send the outbox
 *   raft_next_committed             apply, until NULL
 * and when the log is durable up to an lsn: raft_persisted, which may do all of the above again.
 *
 * Sources: Ongaro, "Consensus: Bridging Theory and Practice", 2014: chapter 3 (the algorithm), 4.1
 * and 4.2 (single-server changes, learners; with the correction that a leader must have committed
 * an entry of its term first), 3.10 (transfer), 6.4 (ReadIndex, leases), 9.6 (pre-vote), 10.2
 * (pipelining, writing in parallel).
 * Not here: payloads (engine/node), log bytes (log_record.h), who is alive (liveness.h), snapshots'
 * contents and streams (engine/node), when a leader hands leadership over
 * (engine/node/replica/raft_driver.h), and to which replica (control/leaders.c). */
#pragma once

#include "base/arena.h"
#include "replication/liveness.h"
#include "replication/log_record.h"

enum {
    RAFT_MEMBERS_MAX = 15
};

/* No group ever reaches these limits. A message beyond them is malformed, so sums never
 * overflow. */
#define RAFT_TERM_MAX  (UINT64_C(1) << 60)
#define RAFT_INDEX_MAX (UINT64_C(1) << 60)

/* ---- members ---- */

/* A member is a replica, not a node. A node with a wiped disk comes back with another generation. A
 * replica that was moved away and comes back has another arrival. The new replica has nothing of
 * the old one. So late messages to or from the old replica are never taken for the new one's.
 * The catalog counts arrivals; the first replicas of a group have arrival 0. Never 0: generation |
 * arrival | node. */
enum {
    RAFT_NODE_BITS = 12,
    RAFT_ARRIVAL_MAX = (1 << (32 - RAFT_NODE_BITS)) - 1
};

static inline uint64_t raft_member_id(uint32_t node, uint32_t generation, uint32_t arrival)
{
    return (uint64_t)generation << 32 | arrival << RAFT_NODE_BITS | node;
}

static inline uint32_t raft_member_node(uint64_t id)
{
    return id & ((1U << RAFT_NODE_BITS) - 1);
}

static inline uint32_t raft_member_generation(uint64_t id)
{
    return (uint32_t)(id >> 32);
}

static inline uint32_t raft_member_arrival(uint64_t id)
{
    return (uint32_t)id >> RAFT_NODE_BITS;
}

struct raft_member {
    uint64_t id;
    bool voter; /* otherwise a learner */
};

struct raft_members {
    uint32_t count;
    struct raft_member all[RAFT_MEMBERS_MAX];
};

/* The payload of a LOG_MEMBERS entry. STATUS_MALFORMED also for a member listed twice and for a
 * list without voters. */
void raft_members_encode(struct buffer *out, const struct raft_members *m);
enum status raft_members_decode(struct reader *r, struct raft_members *out);
/* NULL: not a member. */
const struct raft_member *raft_members_find(const struct raft_members *m, uint64_t id);

/* ---- entries and messages ---- */

struct raft_entry {
    uint64_t index; /* from 1 */
    uint64_t term;
    enum log_kind kind; /* LOG_NOOP, LOG_MEMBERS, or the kind of the proposal */
    uint64_t lsn;       /* end of the record that a replay needs; 0: not logged */
    struct slice payload;
};

enum raft_message_kind {
    RAFT_APPEND = 1, /* index, log_term: of the entry before these; commit; round */
    RAFT_APPEND_REPLY,
    RAFT_PRE_VOTE, /* term: of the candidacy; index, log_term: of the last entry */
    RAFT_PRE_VOTE_REPLY,
    RAFT_VOTE,
    RAFT_VOTE_REPLY,
    RAFT_CAMPAIGN_NOW, /* transfer: the leader asks this member to run now */
    RAFT_MESSAGE_KINDS,
};

struct raft_message {
    enum raft_message_kind kind;
    uint32_t group;
    uint64_t from;
    uint64_t to;
    uint64_t term;
    uint64_t index;    /* APPEND_REPLY: last matching index; rejected: where to search next */
    uint64_t log_term; /* APPEND_REPLY, rejected: term of the follower's entry at `index` */
    uint64_t commit;   /* APPEND: the leader's; APPEND_REPLY: the follower's */
    uint64_t round;    /* APPEND: round of reads to confirm; the reply echoes it */
    uint64_t support;  /* APPEND_REPLY: epoch of support given to the leader's node; 0: none */
    bool rejected;     /* replies; PRE_VOTE: not a request, the sender leads no more */
    bool transfer;     /* VOTE: the leader transfers; lease grants to it do not count */
    bool no_state;     /* APPEND_REPLY, rejected: only a snapshot helps */
    uint32_t entry_count;
    const struct raft_entry *const *entries; /* APPEND */
};

void raft_message_encode(struct buffer *out, const struct raft_message *m);
/* Payloads borrow from the bytes, arrays come from the arena. */
enum status raft_message_decode(struct reader *r, struct arena *arena, struct raft_message *out);

/* For the owner of a node that gets a message for a replica that is gone for good or never existed.
 * The answer tells the sender that this replica does not lead. Without it the sender could wait for
 * ever. False: no answer. */
bool raft_answer_for_absent(const struct raft_message *m, struct raft_message *out);

/* Outgoing messages of all groups of a node. */
struct raft_outbox {
    struct raft_message *messages; /* owns */
    size_t count;
    size_t capacity;
};

void raft_outbox_deinit(struct raft_outbox *o);

/* ---- a replica ---- */

struct raft;

/* Settings and objects shared by all replicas of a node. */
struct raft_shared {
    struct duration election;        /* a follower without a leader waits one to two of these */
    struct duration notify;          /* the longest delay of a commit index without an append */
    struct duration retry;           /* an unanswered append is repeated after this */
    uint64_t inflight_max_bytes;     /* per follower; one entry is always allowed */
    uint64_t uncommitted_max_bytes;  /* per group; one entry is always allowed */
    uint64_t message_max_bytes;      /* entries per message; one entry is always allowed */
    const struct liveness *liveness; /* borrows; the owner keeps it up to date */
    struct raft_outbox *outbox;      /* borrows */
};

struct raft_options {
    uint32_t group;
    uint64_t self; /* member id */
    uint64_t seed;
    const struct raft_shared *shared; /* borrows */
};

/* The start of the log: everything up to `index` is applied and compacted. A new group starts with
 * index 0, term 0, and the same first members on all replicas. */
struct raft_base {
    uint64_t index;
    uint64_t term;
    struct raft_members members;
    bool no_state; /* a snapshot was being installed: the replica votes, but never runs */
};

struct raft *raft_create(const struct raft_options *options, const struct raft_base *base);
void raft_destroy(struct raft *r);

/* Replay, before the start, in the order of the log. Ignored are:
 *   - older hard states, and entries up to the base
 *   - an entry behind a gap: the log has it again later, with all entries before it
 * An entry with another term cuts off the entries from its index on; the same entry again does not.
 * STATUS_CORRUPT: terms fall, or a LOG_MEMBERS entry does not decode. */
void raft_replay_hard_state(struct raft *r, uint64_t term, uint64_t vote);
enum status raft_replay_entry(struct raft *r, const struct raft_entry *e);
/* Entries up to `index` were committed and durable here: raft_next_committed returns them before
 * the start. The owner must apply and then compact them. STATUS_CORRUPT: entries are missing. */
enum status raft_replay_commit(struct raft *r, uint64_t index);
/* Starts the replica; everything replayed is durable. Until `quiet_until` the replica neither runs
 * nor votes: lease grants from before a restart may hold until then. An only voter has granted no
 * lease. It runs at once if it `may_write` a term and a vote, otherwise at the next tick. */
void raft_start(struct raft *r, struct instant now, struct instant quiet_until, bool may_write);
/* Starts a group that was split off by an entry of the log of `parent`, just applied here. The
 * leader of `parent` may serve the new group's keys until it applies that entry too. So this
 * replica's lease grant holds in the new group too. Until the grant ends, only the
 * replica on that leader's node can be elected. */
void raft_start_child(struct raft *r, struct instant now, const struct raft *parent);
/* Call after events of `parent`: the end of its lease grant may end the inherited one. NULL: the
 * parent's replica is closed, and no leader relies on its lease grant. */
void raft_follow_parent(struct raft *r, struct instant now, const struct raft *parent);

/* ---- events ---- */

/* Ignored unless `m` is for this group and member. */
void raft_receive(struct raft *r, struct instant now, const struct raft_message *m);
/* Everything appended to the log before `lsn` is durable. */
void raft_persisted(struct raft *r, struct instant now, uint64_t lsn);
/* Call at raft_deadline. Call also when support given to or got from a member's node has lapsed, or
 * when the support given has another epoch. */
void raft_tick(struct raft *r, struct instant now);
/* Call instead of raft_tick while nothing can be written: what has lapsed is told only once. */
void raft_check_lapse(struct raft *r, struct instant now);
/* The support got from a node has a new epoch. */
void raft_support_changed(struct raft *r, struct instant now, uint32_t node);
/* Runs for leader now, with a pre-vote: for the intended leader of a new group. A repeated call
 * asks the members again that have not answered. */
void raft_campaign(struct raft *r, struct instant now);

enum raft_outcome {
    RAFT_OK = 0,
    RAFT_NOT_LEADER,
    RAFT_BUSY, /* uncommitted bytes at their limit: nothing done, try again */
    /* A change of members or a transfer is under way, or the term has nothing committed yet. */
    RAFT_PENDING,
    RAFT_BEHIND,  /* the learner (or target) has not caught up or is unreachable */
    RAFT_INVALID, /* no such member, no change, too many, or the last voter */
};

/* The result that raft_propose would have for a payload of this size: RAFT_OK, RAFT_NOT_LEADER,
 * RAFT_BUSY, RAFT_PENDING. For callers that charge for a proposal before they make it. `mandatory`:
 * the limit of uncommitted bytes does not count. */
enum raft_outcome raft_may_propose(const struct raft *r, uint64_t payload_bytes, bool mandatory);
/* For a payload that raft_may_propose allows, or that is mandatory. Copies the payload, which comes
 * in two parts to spare another copy. raft_entry_at finds the copy. */
enum raft_outcome raft_propose(struct raft *r, struct instant now, enum log_kind kind,
                               struct slice head, struct slice tail, bool mandatory,
                               uint64_t *index);

enum raft_change {
    RAFT_ADD_LEARNER,
    RAFT_PROMOTE,
    RAFT_REMOVE,
};
/* One change at a time. A change is in force once it is in the log. A leader that removes itself
 * leads until that change is committed. */
enum raft_outcome raft_change_members(struct raft *r, struct instant now, enum raft_change change,
                                      uint64_t id);

/* The leader steps down without a successor, and tells the other members. */
void raft_resign(struct raft *r, struct instant now);
/* Whether this replica grants a leader its lease: it elects no other, and that leader may rely on
 * it. */
bool raft_grants_lease(const struct raft *r);
/* Tells the grant's leader that this replica does not support it any more, and requests an answer.
 * If that replica leads no more, it or its node says so, and the grant ends. */
void raft_query_leader(struct raft *r);
/* Hands leadership to a voter that has caught up. No lease is used any more in this term. */
enum raft_outcome raft_transfer(struct raft *r, struct instant now, uint64_t to);

/* May a read be served from the applied state? RAFT_OK: now, a lease holds. RAFT_PENDING: once
 * raft_reads_confirmed >= *round, if this replica still leads the same term. RAFT_NOT_LEADER. */
enum raft_outcome raft_read(struct raft *r, struct instant now, uint64_t *round);

/* ---- effects ---- */

/* Sends a leader's appends for everything proposed, committed or asked since the last flush. */
void raft_flush(struct raft *r, struct instant now);

struct raft_writes {
    bool hard_state; /* a LOG_HARD_STATE record: term, and the vote as its index */
    uint64_t term;
    uint64_t vote;  /* member id; 0: none */
    uint64_t first; /* entries first .. last, none if first > last */
    uint64_t last;
};
/* False: nothing to write. True: the caller appends all of it now, in this order, and reports each
 * lsn. After raft_install the first entry may be at the base itself: a mark that the log begins
 * anew. */
bool raft_take_writes(struct raft *r, struct raft_writes *out);
void raft_hard_state_logged(struct raft *r, uint64_t lsn);
/* Reports the lsn of a logged entry. The owner may also log unapplied entries again to free the log
 * before them: all of them, in order. Their lsns change once the last of them is durable. Until
 * then a replay needs the old records. */
void raft_entry_logged(struct raft *r, uint64_t index, uint64_t lsn);

/* The next entry to apply, committed and durable here: each exactly once. NULL: no entry. Lends
 * until the entry is compacted. */
const struct raft_entry *raft_next_committed(struct raft *r);

/* Tells of an entry that is committed elsewhere. If this log has that entry, all entries before it
 * are committed too. False: the entry is not here, or not durable. */
bool raft_learn_commit(struct raft *r, uint64_t index, uint64_t term);

struct instant raft_deadline(const struct raft *r);

/* ---- compaction and snapshots ---- */

/* Forgets entries up to `index` <= raft_applied; a leader only those that a quorum holds. */
void raft_compact(struct raft *r, uint64_t index);

/* A member that needs compacted entries and has no snapshot under way; 0: no such member. A
 * snapshot covers everything up to an index <= raft_applied that is not before the base. */
uint64_t raft_next_snapshot(const struct raft *r);
void raft_snapshot_started(struct raft *r, uint64_t to);
/* `index`: the index of the installed snapshot; 0: it failed, and is wanted again after `retry`. */
void raft_snapshot_ended(struct raft *r, struct instant now, uint64_t to, uint64_t index);

/* On the receiving side: the state is incomplete from now on. The owner makes that fact durable. */
void raft_install_begin(struct raft *r);
/* The state is complete and durable at the base. The log is dropped, except entries that follow the
 * base: they may have been acknowledged. False: the snapshot is outdated, nothing changed. */
bool raft_install(struct raft *r, struct instant now, const struct raft_base *base);

/* ---- looking ---- */

enum raft_role {
    RAFT_FOLLOWER,
    RAFT_PRE_CANDIDATE,
    RAFT_CANDIDATE,
    RAFT_LEADER
};

enum raft_role raft_role(const struct raft *r);
uint64_t raft_term(const struct raft *r);
uint64_t raft_vote(const struct raft *r);
uint64_t raft_self(const struct raft *r);
/* Member id; 0: unknown. */
uint64_t raft_leader(const struct raft *r);
/* The term in which this replica leads and has applied everything of earlier terms. From then on it
 * may evaluate conditions and serve reads. 0: not leading so. */
uint64_t raft_leading(const struct raft *r);
bool raft_has_lease(const struct raft *r, struct instant now);
uint64_t raft_reads_confirmed(const struct raft *r);
uint64_t raft_first(const struct raft *r); /* first entry not compacted */
uint64_t raft_last(const struct raft *r);
uint64_t raft_commit(const struct raft *r);
uint64_t raft_applied(const struct raft *r); /* the last index from raft_next_committed */
/* NULL: compacted, or not there. */
const struct raft_entry *raft_entry_at(const struct raft *r, uint64_t index);
/* For any index from the base to the last. */
uint64_t raft_term_at(const struct raft *r, uint64_t index);
/* The members in force now, and the members as of raft_applied, which belong to a snapshot. */
const struct raft_members *raft_members(const struct raft *r);
const struct raft_members *raft_members_applied(const struct raft *r);
/* Leader: the last index known to be durable at a member; 0: none, or not a member. */
uint64_t raft_match(const struct raft *r, uint64_t id);
/* Whether the leader knows that a member has all committed entries and needs no snapshot. */
bool raft_is_whole(const struct raft *r, uint64_t id);
/* Bytes of memory for the entries. */
uint64_t raft_memory_bytes(const struct raft *r);
/* The lowest lsn of an unapplied entry: the log before it must stay. UINT64_MAX: no such entry. */
uint64_t raft_pinned_lsn(const struct raft *r);
