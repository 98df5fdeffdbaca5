/* raft_internal.h - declarations shared by the files of raft:
 *
 *   raft.c            life and effects
 *   raft_log.c        the entries in memory
 *   raft_members.c    lists of members
 *   raft_election.c   elections and lease grants
 *   raft_follow.c     a follower
 *   raft_replicate.c  a leader and its peers
 *   raft_lead.c       requests to a leader
 *   raft_message.c    messages as bytes */
#pragma once

#include "base/mutation.h"
#include "base/prng.h"
#include "replication/raft.h"

enum {
    RAFT_CATCH_UP_ENTRIES = 64 /* a member that lacks more has not caught up */
};

/* An entry and its payload are stored together. The entry comes first: a pointer to the entry is a
 * pointer to the slot. */
struct raft_slot {
    struct raft_entry entry;
    uint64_t bytes_to; /* bytes of all entries up to this one since the start */
    uint64_t anew;     /* end of a newer record that may not be durable yet; 0: none */
    uint8_t payload[];
};

struct raft_block;

struct raft_log {
    struct raft_block *newest; /* owns: the entries' memory */
    struct raft_entry **slots; /* owns; base_index + 1 .. at slots[head] */
    uint32_t head;
    uint32_t count;
    uint32_t capacity;
    uint64_t base_index;
    uint64_t base_term;
    uint64_t base_bytes_to;
};

struct raft_members_at {
    uint64_t index; /* of the entry; first element: of the base, or before */
    struct raft_members members;
};

/* What a leader knows of a member in this term. Candidates use `granted` and `refused` only. */
enum raft_flow {
    RAFT_PROBE,    /* one message at a time, to find where the logs agree */
    RAFT_PIPELINE, /* entries are sent before earlier ones are acknowledged */
    RAFT_SNAPSHOT, /* the member needs compacted entries */
};

struct raft_peer {
    uint64_t id;
    enum raft_flow flow;
    bool voter;
    bool granted;
    bool refused;    /* its vote */
    bool awaiting;   /* PROBE: an answer is awaited */
    bool waiting;    /* a message is unanswered since sent_at */
    bool append_due; /* an append is wanted even without new entries */
    bool answered;   /* has answered in this term */
    bool no_state;   /* takes entries, but has lost the applied state */
    bool snapshot_needed;
    bool snapshot_running;
    uint64_t match;
    uint64_t next;
    uint64_t probe;    /* PROBE: `next` in the unanswered message */
    uint64_t bytes_to; /* of the log up to match */
    uint64_t commit;   /* the commit index that the member has confirmed */
    uint64_t commit_sent;
    struct instant notify_at; /* the time to send the commit index alone; 0: no need */
    uint64_t round;           /* the last round that the member echoed */
    uint64_t round_sent;
    uint64_t epoch; /* epoch of support that the member reported */
    struct instant received_at;
    struct instant sent_at;
    struct instant snapshot_at; /* earliest time of the next snapshot */
};

/* To elect no member except `leader` while `epoch` is given to its node. The grant outlives the
 * term; raft_election.c tells what ends it. */
struct raft_lease_grant {
    uint64_t leader; /* 0: none */
    uint64_t epoch;
    uint64_t term; /* the term that `leader` led */
    /* Made in the parent group. The leader's replica may not exist here yet: its node's answers do
     * not count. */
    bool inherited;
};

struct raft {
    const struct raft_shared *shared;
    uint64_t self;
    uint32_t group;
    bool started;
    bool no_state;
    enum raft_role role;
    struct prng prng;

    /* hard state */
    uint64_t term;
    uint64_t vote;
    bool hard_dirty;       /* to be logged by the owner */
    bool hard_durable;     /* term and vote are durable */
    uint64_t hard_lsn;     /* 0: not logged yet */
    uint64_t durable_term; /* the term alone */

    struct raft_log log;
    struct raft_members_at
        *history; /* owns; members at the base, then one list per LOG_MEMBERS entry */
    uint32_t history_count;
    uint32_t history_capacity;
    struct raft_peer *peers; /* owns; the other members in force, in their order */
    uint32_t peer_count;
    bool voter; /* this replica, by the members in force */
    bool anew;  /* entries were written anew and the new records are not used yet */
    uint64_t logged;
    uint64_t durable;
    uint64_t commit;
    uint64_t applied;
    bool replay_apart;      /* replayed entries do not follow the base */
    struct raft_entry mark; /* the mark of an installed base, to be logged; index 0: none */

    /* followers */
    uint64_t leader;
    struct raft_lease_grant lease_grant;
    uint64_t verified; /* last index known to equal the leader's log in this term */
    uint64_t echo_round;
    uint64_t acked;         /* last index acknowledged to this leader */
    uint64_t acked_support; /* last epoch reported to this leader */
    bool ack_due;
    bool ack_rejected; /* with the hint that follows */
    uint64_t hint_index;
    uint64_t hint_term;

    /* elections */
    struct instant quiet_until;
    struct instant election_at; /* the end of a follower's wait or a candidate's attempt */
    struct instant repeat_at;
    uint64_t grant_due;   /* a vote that is not sent yet */
    bool votes_requested; /* candidate: the requests have been sent */
    bool by_transfer;
    uint32_t failures; /* lost candidacies less leaders since; each doubles the wait */
    struct instant backoff_reset_at; /* a leader lost after this time has led for long */

    /* leaders */
    uint64_t term_start; /* index of the no-op */
    uint64_t leading;
    struct instant quorum_at; /* INSTANT_NEVER while a majority supports this leader */
    uint64_t round_open;
    uint64_t round_sent;
    uint64_t round_confirmed;
    uint64_t transfer_to;
    struct instant transfer_until;
    struct instant transfer_at; /* time of the next request to the target */
    bool lease_off;
    bool resigning; /* removed itself; one more flush tells the other members */

    struct instant deadline;
};

/* ---- raft_log.c ---- */

static inline uint64_t raft_log_last(const struct raft_log *l)
{
    return l->base_index + l->count;
}

/* Records written anew are used once all entries from `first` on have a new record durable up to
 * `lsn`. Until then a replay needs the old records. False: not yet. */
bool raft_log_rely_on_anew(struct raft_log *l, uint64_t first, uint64_t lsn);
void raft_log_logged(struct raft_log *l, uint64_t index, uint64_t lsn);
struct raft_entry *raft_log_at(const struct raft_log *l, uint64_t index);
uint64_t raft_log_term(const struct raft_log *l, uint64_t index);
/* Bytes of all entries up to `index`; for a compacted index: of the base. */
uint64_t raft_log_bytes_to(const struct raft_log *l, uint64_t index);
uint64_t raft_entry_bytes(const struct raft_entry *e);
/* Copies the payload; the entry is not logged yet. */
void raft_log_append(struct raft_log *l, uint64_t term, enum log_kind kind, struct slice head,
                     struct slice tail);
/* Drops everything from `index` on. */
void raft_log_truncate(struct raft_log *l, uint64_t index);
void raft_log_compact(struct raft_log *l, uint64_t index);
void raft_log_reset(struct raft_log *l, uint64_t index, uint64_t term);
void raft_log_deinit(struct raft_log *l);

/* ---- raft_members.c ---- */

const struct raft_members *raft_members_as_of(const struct raft *r, uint64_t index);
void raft_history_push(struct raft *r, uint64_t index, const struct raft_members *m);
void raft_history_truncate(struct raft *r, uint64_t index);
void raft_history_compact(struct raft *r, uint64_t index);
/* Peers follow the members in force. */
void raft_peers_sync(struct raft *r);
struct raft_peer *raft_peer_find(const struct raft *r, uint64_t id);
uint32_t raft_voters(const struct raft *r);
/* The greatest value that a majority of voters has reached. */
uint64_t raft_quorum(const struct raft *r, uint64_t own,
                     uint64_t (*value)(const struct raft_peer *p));
uint64_t raft_replicate_match_of(const struct raft_peer *p); /* a value for raft_quorum */

/* ---- raft_election.c ---- */

void raft_follow_term(struct raft *r, struct instant now, uint64_t term, uint64_t leader);
void raft_wait_for_leader(struct raft *r, struct instant now);
void raft_relax_backoff(struct raft *r, struct instant now);
void raft_lose_leader(struct raft *r, struct instant now);
/* Whether a lease grant, or one made before a restart, forbids to run and to vote. */
bool raft_is_bound(const struct raft *r, struct instant now);
void raft_inherit_lease_grant(struct raft *r, const struct raft *parent);
void raft_follow_lease_grant(struct raft *r, struct instant now, const struct raft *parent);
/* Ends a grant that is over. Called on entry of every event. */
void raft_check_lease_grant(struct raft *r, struct instant now);
bool raft_may_run(const struct raft *r);
bool raft_is_only_voter(const struct raft *r);
void raft_run(struct raft *r, struct instant now, bool transfer);
void raft_pre_run(struct raft *r, struct instant now);
void raft_request_votes(struct raft *r);
/* Tells member `to`, which still supports this replica, that this replica leads no more. */
void raft_lead_no_more(struct raft *r, uint64_t to);
void raft_on_vote(struct raft *r, struct instant now, const struct raft_message *m);
void raft_on_vote_reply(struct raft *r, struct instant now, const struct raft_message *m);
void raft_on_pre_vote(struct raft *r, struct instant now, const struct raft_message *m);
void raft_on_pre_vote_reply(struct raft *r, struct instant now, const struct raft_message *m);
void raft_on_campaign_now(struct raft *r, struct instant now, const struct raft_message *m);
void raft_election_persisted(struct raft *r, struct instant now);
void raft_election_tick(struct raft *r, struct instant now);
struct instant raft_election_deadline(const struct raft *r);

/* ---- raft_follow.c ---- */

void raft_on_append(struct raft *r, struct instant now, const struct raft_message *m);
void raft_follow_persisted(struct raft *r);

/* ---- raft_replicate.c ---- */

void raft_lead(struct raft *r, struct instant now);
void raft_step_down(struct raft *r, struct instant now);
void raft_on_append_reply(struct raft *r, struct instant now, const struct raft_message *m);
void raft_advance_commit(struct raft *r);
void raft_peer_resume(struct raft_peer *p);
void raft_lead_tick(struct raft *r, struct instant now);
struct instant raft_lead_deadline(struct raft *r, struct instant now);

/* ---- raft.c ---- */

void raft_append_own(struct raft *r, enum log_kind kind, struct slice head, struct slice tail);
void raft_truncate(struct raft *r, uint64_t index);
void raft_set_hard_state(struct raft *r, uint64_t term, uint64_t vote);
/* The caller fills in the fields that are not zero. */
struct raft_message *raft_push(struct raft *r, enum raft_message_kind kind, uint64_t to);
struct duration raft_random(struct raft *r, int64_t from_ns, int64_t to_ns);
