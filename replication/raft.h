/* raft.h - one replica's part in one replication group: a pure step function.
 *
 * Events go in (a message, a proposal, a finished disk write, the time); what must be written and
 * sent comes out as data. The replica keeps in memory the entries that are not compacted; what they
 * mean is for the owner, who applies them in order.
 *
 * Promises
 *   RAFT-1  Nothing leaves that depends on something not yet durable: votes, acknowledgements and
 *       requests for votes go out in raft_persisted, once their hard state and entries are on disk.
 *   RAFT-2  A leader commits by counting only entries of its own term, and only persisted ones; it
 *       appends a no-op when elected.
 *   RAFT-3  A follower acknowledges only what it has checked against this leader's log.
 *   RAFT-4  At most one vote a term, transfers included. A leader never truncates its own log.
 *   RAFT-5  A lease holder is the only one in real time, while clocks drift within liveness' bound.
 *   RAFT-6  A settled group is silent: no message, no deadline, until a proposal or a lost peer.
 *   RAFT-7  Bytes in flight are bounded per follower, uncommitted bytes per group.
 * No clock, no I/O, no randomness but the seed, no global. Every call may put messages into the
 * outbox; appends, with entries that lend until the next event of the same group, only raft_flush
 * does: it has to follow every event before the turn ends.
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
 * contents and streams (engine/node). */
#ifndef WEIR_REPLICATION_RAFT_H
#define WEIR_REPLICATION_RAFT_H

#include "base/arena.h"
#include "replication/liveness.h"
#include "replication/log_record.h"

enum {
    RAFT_MEMBERS_MAX = 15
};

/* A group reaches neither in its life. A message with more is malformed: sums never overflow. */
#define RAFT_TERM_MAX  (UINT64_C(1) << 60)
#define RAFT_INDEX_MAX (UINT64_C(1) << 60)

/* ---- members ---- */

/* A member is a replica, not a node. A node whose disk was wiped comes back under another
 * generation; a replica that was moved away and comes back is another arrival. Neither shares
 * anything with what was there before, so nothing said to or by the old one, however late, is taken
 * for the new one's. Arrivals are counted by whoever places the group's replicas, and the replicas
 * it began with are arrival 0. Never 0: generation | arrival | node. */
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
    bool voter; /* otherwise a learner: gets entries, counts for nothing */
};

struct raft_members {
    uint32_t count;
    struct raft_member all[RAFT_MEMBERS_MAX];
};

/* The payload of a LOG_MEMBERS entry. STATUS_MALFORMED also for a member named twice and for none
 * that votes. */
void raft_members_encode(struct buffer *out, const struct raft_members *m);
enum status raft_members_decode(struct reader *r, struct raft_members *out);
/* NULL: not a member. */
const struct raft_member *raft_members_find(const struct raft_members *m, uint64_t id);

/* ---- entries and messages ---- */

struct raft_entry {
    uint64_t index; /* from 1 */
    uint64_t term;
    enum log_kind kind; /* LOG_NOOP, LOG_MEMBERS, or what the owner proposed */
    uint64_t lsn;       /* end of the record a replay needs; 0: not logged yet */
    struct slice payload;
};

enum raft_message_kind {
    RAFT_APPEND = 1, /* index, log_term: what precedes the entries; commit; round */
    RAFT_APPEND_REPLY,
    RAFT_PRE_VOTE, /* term: the one it would run for; index, log_term: of its last entry */
    RAFT_PRE_VOTE_REPLY,
    RAFT_VOTE,
    RAFT_VOTE_REPLY,
    RAFT_CAMPAIGN_NOW, /* transfer: the leader asks this member to run at once */
    RAFT_MESSAGE_KINDS,
};

struct raft_message {
    enum raft_message_kind kind;
    uint32_t group;
    uint64_t from;
    uint64_t to;
    uint64_t term;
    uint64_t index;    /* APPEND_REPLY: last index that matches; rejected: where to go on looking */
    uint64_t log_term; /* APPEND_REPLY, rejected: term of the follower's entry at `index` */
    uint64_t commit;   /* APPEND: the leader's; APPEND_REPLY: what the follower knows of it */
    uint64_t round;    /* APPEND: of reads to confirm; comes back in the reply */
    uint64_t support;  /* APPEND_REPLY: epoch of support given to the leader's node; 0: none */
    bool rejected;     /* replies; PRE_VOTE: it is none, the sender only leads no more */
    bool transfer;     /* VOTE: the leader wants it so, whatever support it has */
    bool no_state;     /* APPEND_REPLY, rejected: only a snapshot helps */
    uint32_t entry_count;
    const struct raft_entry *const *entries; /* APPEND */
};

void raft_message_encode(struct buffer *out, const struct raft_message *m);
/* Payloads borrow from the bytes, arrays come from the arena. */
enum status raft_message_decode(struct reader *r, struct arena *arena, struct raft_message *out);

/* For the owner of a node that gets a message for a replica it had and never will have again, or
 * never had: what to answer, lest the sender waits for that replica's lead for ever. False:
 * nothing. */
bool raft_answer_for_absent(const struct raft_message *m, struct raft_message *out);

/* Messages on their way out, of all groups of a node. */
struct raft_outbox {
    struct raft_message *messages; /* owns */
    size_t count;
    size_t capacity;
};

void raft_outbox_deinit(struct raft_outbox *o);

/* ---- a replica ---- */

struct raft;

/* What all replicas of a node have in common. */
struct raft_shared {
    struct duration election; /* a follower without leader waits one to two of these */
    struct duration tell;     /* a follower hears of a commit with the next append, or after this */
    struct duration retry;    /* an append unanswered for this long is sent again */
    uint64_t inflight_max_bytes;     /* per follower; one entry always goes */
    uint64_t uncommitted_max_bytes;  /* of the group; one entry always goes */
    uint64_t message_max_bytes;      /* entries in one message; one entry always goes */
    const struct liveness *liveness; /* borrows; the owner keeps it up to date */
    struct raft_outbox *outbox;      /* borrows */
};

struct raft_options {
    uint32_t group;
    uint64_t self; /* member id */
    uint64_t seed;
    const struct raft_shared *shared; /* borrows */
};

/* What stands at the start of the log: everything up to `index` is applied and compacted. A new
 * group starts with index 0, term 0 and its first members, the same on all of them. */
struct raft_base {
    uint64_t index;
    uint64_t term;
    struct raft_members members;
    bool no_state; /* a snapshot was being installed: votes, but neither runs nor takes entries */
};

struct raft *raft_create(const struct raft_options *options, const struct raft_base *base);
void raft_destroy(struct raft *r);

/* Before the start, in the order of the log. Older hard states and entries up to the base are
 * passed over; an entry of another term cuts off what followed its index, the same entry again
 * does not. One behind a gap is passed over: it was written anew further on, together with all that
 * comes before it. STATUS_CORRUPT: terms fall, or a LOG_MEMBERS entry does not decode. */
void raft_replay_hard_state(struct raft *r, uint64_t term, uint64_t vote);
enum status raft_replay_entry(struct raft *r, const struct raft_entry *e);
/* Entries up to `index` were committed and durable here: raft_next_committed gives them before the
 * start. Once they are applied they have to be compacted. STATUS_CORRUPT: they are not there. */
enum status raft_replay_commit(struct raft *r, uint64_t index);
/* Everything replayed is durable. Until `quiet_until` it neither runs nor votes: what it may have
 * promised before it was restarted holds until then. An only voter has promised nothing: it runs at
 * once if it `may_write` a term and a vote, and otherwise at the next tick. */
void raft_start(struct raft *r, struct instant now, struct instant quiet_until, bool may_write);
/* The start of a group that has come out of another one at an entry of the latter's log, which has
 * just been applied here. The leader of `parent` may still serve what is the new group's now, until
 * it has applied that entry itself: so what was promised to it there holds here too, and nobody but
 * its own node's replica is elected before the promise ends. */
void raft_start_child(struct raft *r, struct instant now, const struct raft *parent);
/* After events of `parent`: its promise may have ended, and with it the one that was taken over.
 * NULL: the parent's replica is closed, and nobody counts on its promise. */
void raft_follow_parent(struct raft *r, struct instant now, const struct raft *parent);

/* ---- events ---- */

/* Ignored unless it is for this group and member. */
void raft_receive(struct raft *r, struct instant now, const struct raft_message *m);
/* Everything appended to the log before `lsn` is durable. */
void raft_persisted(struct raft *r, struct instant now, uint64_t lsn);
/* At raft_deadline; also whenever support given to or got from any member's node has lapsed, or
 * the support given has another epoch. */
void raft_tick(struct raft *r, struct instant now);
/* The support got from a node has a new epoch. */
void raft_node_heard(struct raft *r, struct instant now, uint32_t node);
/* Run for leader now, with a pre-vote: for the one who should lead a new group. Again: those that
 * have not answered are asked once more. */
void raft_campaign(struct raft *r, struct instant now);

enum raft_outcome {
    RAFT_OK = 0,
    RAFT_NOT_LEADER,
    RAFT_BUSY,    /* uncommitted bytes at their limit: nothing was done, try again */
    RAFT_PENDING, /* a change of members or a transfer is on its way, or the term has nothing
                     committed yet */
    RAFT_BEHIND,  /* the learner (or target) has not caught up, or cannot be reached */
    RAFT_INVALID, /* no such member, already so, too many, or the last voter */
};

/* What raft_propose would say of a payload of this size: RAFT_OK, RAFT_NOT_LEADER, RAFT_BUSY,
 * RAFT_PENDING. For callers that charge for a proposal before they make it. */
enum raft_outcome raft_may_propose(const struct raft *r, uint64_t payload_bytes);
/* The payload, in two parts to spare a copy, is taken over as a copy; raft_entry_at finds it. */
enum raft_outcome raft_propose(struct raft *r, struct instant now, enum log_kind kind,
                               struct slice head, struct slice tail, uint64_t *index);

enum raft_change {
    RAFT_ADD_LEARNER,
    RAFT_PROMOTE,
    RAFT_REMOVE,
};
/* One change at a time; in force from the moment it is in the log. A leader that removes itself
 * leads until that is committed. */
enum raft_outcome raft_change_members(struct raft *r, struct instant now, enum raft_change change,
                                      uint64_t id);

/* A leader gives up its place without an heir, and tells the others that it leads no more. */
void raft_resign(struct raft *r, struct instant now);
/* Whether it has promised a leader not to elect another one, and that leader may rely on it. */
bool raft_is_promised(const struct raft *r);
/* Tells the leader it is promised to that this replica supports it no more, and asks for an answer.
 * One that does not lead any more says so, or its node does, and the promise ends. */
void raft_ask_leader(struct raft *r);
/* Hands leadership to a voter that has caught up. No lease is used any more in this term. */
enum raft_outcome raft_transfer(struct raft *r, struct instant now, uint64_t to);

/* May a read be served from what is applied? RAFT_OK: now, a lease holds. RAFT_PENDING: once
 * raft_reads_confirmed >= *round, if this replica still leads the same term. RAFT_NOT_LEADER. */
enum raft_outcome raft_read(struct raft *r, struct instant now, uint64_t *round);

/* ---- effects ---- */

/* A leader's appends for whatever was proposed, committed or asked since. */
void raft_flush(struct raft *r, struct instant now);

struct raft_writes {
    bool hard_state; /* a LOG_HARD_STATE record: term, and the vote as its index */
    uint64_t term;
    uint64_t vote;  /* member id; 0: none */
    uint64_t first; /* entries first .. last, none if first > last */
    uint64_t last;
};
/* False: nothing. Otherwise the caller appends all of it now, in this order, and reports. After
 * raft_install the first may be at the base itself: a mark that the log begins anew. */
bool raft_take_writes(struct raft *r, struct raft_writes *out);
void raft_hard_state_logged(struct raft *r, uint64_t lsn);
/* Also for an entry that was written anew further on, to free the log before it: all that are not
 * applied have to be, in order. Their lsns change once the last of them is durable; until then a
 * replay needs the old records. */
void raft_entry_logged(struct raft *r, uint64_t index, uint64_t lsn);

/* The next entry to apply, committed and durable here: each exactly once. NULL: none. Lends until
 * it is compacted. */
const struct raft_entry *raft_next_committed(struct raft *r);

/* An entry that is known to be committed from elsewhere: if it is in the log, so is all before it.
 * False: it is not, or not durable. */
bool raft_learn_commit(struct raft *r, uint64_t index, uint64_t term);

struct instant raft_deadline(const struct raft *r);

/* ---- compaction and snapshots ---- */

/* Forgets entries up to `index` <= raft_applied. */
void raft_compact(struct raft *r, uint64_t index);

/* A member that needs entries which are compacted, and for which no snapshot is under way; 0: none.
 * A snapshot stands for everything up to some index <= raft_applied that is not before the base. */
uint64_t raft_next_snapshot(const struct raft *r);
void raft_snapshot_started(struct raft *r, uint64_t to);
/* index: what the member has installed; 0: it failed, and is wanted again after `retry`. */
void raft_snapshot_ended(struct raft *r, struct instant now, uint64_t to, uint64_t index);

/* On the receiving side. From here on the state is not whole (the owner makes that durable). */
void raft_install_begin(struct raft *r);
/* The state is whole and durable at the base: whatever the log held goes, but for entries that
 * follow the base (they may have been acknowledged). False: it was overtaken, nothing changed. */
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
/* Member id; 0: not known. */
uint64_t raft_leader(const struct raft *r);
/* The term in which this replica leads and has applied everything of earlier terms: from then on it
 * may evaluate conditions and serve reads. 0: it does not. */
uint64_t raft_leading(const struct raft *r);
bool raft_has_lease(const struct raft *r, struct instant now);
uint64_t raft_reads_confirmed(const struct raft *r);
uint64_t raft_first(const struct raft *r); /* first entry not compacted */
uint64_t raft_last(const struct raft *r);
uint64_t raft_commit(const struct raft *r);
uint64_t raft_applied(const struct raft *r); /* the last one raft_next_committed has given */
/* NULL: compacted, or not there. */
const struct raft_entry *raft_entry_at(const struct raft *r, uint64_t index);
/* Of any index from the base to the last. */
uint64_t raft_term_at(const struct raft *r, uint64_t index);
/* In force now, and as of what is applied: what belongs to a snapshot at raft_applied. */
const struct raft_members *raft_members(const struct raft *r);
const struct raft_members *raft_members_applied(const struct raft *r);
/* Leader: the last index known to be durable at a member; 0: none, or not a member. */
uint64_t raft_match(const struct raft *r, uint64_t id);
/* Whether a leader knows that a member has all that is committed, and is in no need of a snapshot.
 */
bool raft_is_whole(const struct raft *r, uint64_t id);
/* Entries, and bytes they take. */
uint64_t raft_memory_bytes(const struct raft *r);
/* Unapplied entry with the lowest lsn: the log before it must stay. UINT64_MAX: none. */
uint64_t raft_pinned_lsn(const struct raft *r);

#endif
