/* raft_fixture.h - replicas of one group on simulated nodes: virtual time, clocks that drift,
 * disks that lose what was not synced, a network whose messages the test delivers.
 *
 * By hand (`automatic` false): messages wait in the bag until the test delivers them, and writes
 * wait until the test syncs. Only liveness beats pass by themselves, if the link is not cut.
 * Automatic: raft_fixture_run lets time pass, and everything arrives after a random delay.
 * The checks run on the way (raft_fixture_check.c). `violation` keeps the first violation. */
#pragma once

#include "base/prng.h"
#include "base/trace.h"
#include "replication/raft.h"

enum {
    RAFT_FIXTURE_NODES_MAX = 6,
    RAFT_FIXTURE_PAYLOAD_MAX = 160,
    RAFT_FIXTURE_GROUP = 7,
    RAFT_FIXTURE_FOR_EVER = INT32_MAX
};

struct raft_fixture_record {
    uint64_t lsn; /* of the record's end */
    enum log_kind kind;
    uint64_t term;
    uint64_t index;
    uint32_t size;
    uint8_t payload[RAFT_FIXTURE_PAYLOAD_MAX];
};

/* What is durable beside the log: the state as of base.index, and the hard state of that time. */
struct raft_fixture_row {
    struct raft_base base;
    uint64_t term;
    uint64_t vote;
    uint64_t hash;
    uint64_t since_lsn; /* older records belong to a replica that is gone */
    uint32_t generation;
    bool hosted;
};

struct raft_fixture_proposal {
    uint64_t id;
    uint64_t index;
    uint64_t term;
};

struct raft_fixture_read {
    uint64_t floor; /* the read must reflect this index */
    uint64_t round;
    uint64_t term;
};

enum {
    RAFT_FIXTURE_WAITING_MAX = 256
};

struct raft_fixture_node {
    uint32_t id;
    bool up;
    bool paused;
    bool stuck; /* by hand: raft_fixture_settle does not sync this disk */
    int64_t clock_offset;
    int64_t clock_ppm;
    struct liveness liveness;
    struct instant live_at; /* liveness_deadline, on this node's clock */
    struct raft *raft;      /* NULL: there is no replica here */
    struct raft_outbox outbox;
    struct raft_shared shared;
    /* disk */
    struct raft_fixture_row row;
    struct raft_fixture_record *records;
    size_t record_count;
    size_t record_capacity;
    uint64_t next_lsn;
    uint64_t submitted_lsn; /* end of the batch on its way; 0: there is none */
    int64_t sync_at;
    int64_t slow_disk; /* factor by which the disk is slower than usual, if above 1 */
    uint64_t durable_lsn;
    /* state machine */
    uint64_t applied;
    uint64_t hash;
    uint64_t led;
    struct raft_fixture_proposal proposals[RAFT_FIXTURE_WAITING_MAX];
    uint32_t proposal_count;
    struct raft_fixture_read reads[RAFT_FIXTURE_WAITING_MAX];
    uint32_t read_count;
    /* the snapshot that is being installed */
    bool installing;
    struct raft_fixture_row incoming;
    uint32_t incoming_from;
    int64_t install_at;
};

enum raft_fixture_message_kind {
    RAFT_FIXTURE_BEAT,
    RAFT_FIXTURE_RAFT,
    RAFT_FIXTURE_SNAPSHOT,
    RAFT_FIXTURE_SNAPSHOT_END
};

struct raft_fixture_message {
    enum raft_fixture_message_kind kind;
    uint32_t from;
    uint32_t to;
    uint64_t sequence;
    int64_t at;                  /* arrival, in automatic mode */
    struct buffer bytes;         /* of a beat or a raft message */
    struct raft_message shape;   /* the raft message without entries: tests choose by it */
    struct raft_fixture_row row; /* SNAPSHOT */
    uint64_t to_member;          /* SNAPSHOT, SNAPSHOT_END */
    uint64_t index;              /* SNAPSHOT_END: what is installed; 0: the snapshot failed */
};

struct raft_fixture_options {
    uint32_t nodes;
    uint32_t voters; /* nodes 1 .. voters are the first members */
    uint64_t seed;
    bool automatic;
    int64_t clock_ppm_max; /* each clock gains or loses at most this */
    int64_t delay_ns_max;  /* of a message */
    int64_t sync_ns_max;
    struct duration election;
    struct duration retry;
    struct duration interval;
    struct duration support;
    uint64_t inflight_max_bytes;
    uint64_t uncommitted_max_bytes;
    uint64_t message_max_bytes;
};

/* Defaults for tests by hand: no drift, elections of 150 ms. */
struct raft_fixture_options raft_fixture_options_default(uint32_t nodes, uint32_t voters);

/* A committed entry, by index. */
struct raft_fixture_committed {
    uint64_t term;
    uint64_t id;        /* of the proposal; 0: another kind of entry */
    uint64_t seen_term; /* term of the replica that applied it first */
    uint64_t hash;      /* of the state after the entry */
};

/* How often events happened that are worth testing. */
struct raft_fixture_counts {
    uint64_t leaders;
    uint64_t acknowledged;
    uint64_t lease_reads;
    uint64_t round_reads;
    uint64_t crashes;
    uint64_t snapshots;
    uint64_t changes; /* of members */
    uint64_t transfers;
    uint64_t compactions;
};

struct raft_fixture {
    struct raft_fixture_options options;
    struct prng prng;
    int64_t now; /* real time */
    struct raft_fixture_node nodes[RAFT_FIXTURE_NODES_MAX + 1];
    bool cut[RAFT_FIXTURE_NODES_MAX + 1][RAFT_FIXTURE_NODES_MAX + 1]; /* from, to */
    bool calm;                                                        /* no message is very late */
    uint32_t drop_percent;
    uint32_t duplicate_percent;
    struct raft_fixture_message *bag;
    size_t bag_count;
    size_t bag_capacity;
    uint64_t sequence;
    uint64_t next_id;       /* of proposals */
    uint64_t raft_messages; /* sent since the beginning */
    struct raft_members first;
    struct arena arena;
    struct trace trace;
    /* what all nodes must agree with: raft_fixture_check.c */
    struct raft_fixture_committed *committed;
    uint64_t committed_count; /* indexes 1 .. committed_count */
    uint64_t committed_capacity;
    uint64_t acknowledged; /* highest index of an acknowledged proposal */
    uint64_t acknowledged_count;
    uint64_t reads_done;
    struct raft_fixture_counts counts;
    uint64_t leader_of[4096]; /* by term */
    char violation[256];      /* "": there is none */
};

struct raft_fixture *raft_fixture_create(const struct raft_fixture_options *options);
void raft_fixture_destroy(struct raft_fixture *w);
struct instant raft_fixture_local(const struct raft_fixture *w, const struct raft_fixture_node *n);
uint64_t raft_fixture_member(const struct raft_fixture *w, uint32_t node);

/* ---- nodes ---- */

/* Unsynced records are lost. Of the batch on its way the first `kept` records survive. */
void raft_fixture_crash(struct raft_fixture *w, uint32_t node, uint32_t kept);
void raft_fixture_start(struct raft_fixture *w, uint32_t node);
void raft_fixture_host(struct raft_fixture *w,
                       uint32_t node); /* a new replica, of a new generation */
void raft_fixture_unhost(struct raft_fixture *w, uint32_t node);
/* Makes the present state durable, and trims the log before it. */
void raft_fixture_checkpoint(struct raft_fixture *w, uint32_t node, bool compact);
void raft_fixture_rewrite(struct raft_fixture *w,
                          uint32_t node);                      /* writes unapplied entries again */
void raft_fixture_turn(struct raft_fixture *w, uint32_t node); /* the end of every event */

/* ---- events ---- */

/* The proposal's id; 0: refused. */
uint64_t raft_fixture_propose(struct raft_fixture *w, uint32_t node, uint32_t size);
enum raft_outcome raft_fixture_change(struct raft_fixture *w, uint32_t node,
                                      enum raft_change change, uint64_t member);
enum raft_outcome raft_fixture_transfer(struct raft_fixture *w, uint32_t node, uint32_t to);
enum raft_outcome raft_fixture_request_read(struct raft_fixture *w, uint32_t node); /* a read */
void raft_fixture_campaign(struct raft_fixture *w, uint32_t node);
/* All written records become durable. */
void raft_fixture_sync(struct raft_fixture *w, uint32_t node);
/* Only the records up to `lsn` become durable. */
void raft_fixture_sync_to(struct raft_fixture *w, uint32_t node, uint64_t lsn);
void raft_fixture_deliver(struct raft_fixture *w, size_t at); /* takes the message out of the bag */
void raft_fixture_deliver_copy(struct raft_fixture *w,
                               size_t at); /* leaves the message in the bag */
void raft_fixture_drop(struct raft_fixture *w, size_t at);
void raft_fixture_install(struct raft_fixture *w, uint32_t node);
void raft_fixture_post_beat(struct raft_fixture *w, struct raft_fixture_node *n, uint32_t to,
                            bool heartbeat);
/* Does what is due at a node: beats, ends of support, the replica's deadline. */
void raft_fixture_wake(struct raft_fixture *w, uint32_t node);

/* ---- by hand: many at once ---- */

/* The first message in the bag from `from` to `to` of this kind; 0: any. SIZE_MAX: there is
 * none. */
size_t raft_fixture_find(const struct raft_fixture *w, uint32_t from, uint32_t to,
                         enum raft_message_kind kind);
bool raft_fixture_deliver_first(struct raft_fixture *w, uint32_t from, uint32_t to,
                                enum raft_message_kind kind);
void raft_fixture_drop_all(struct raft_fixture *w, uint32_t from, uint32_t to);
/* Delivers and syncs until nothing is left. Messages over cut links are dropped. */
void raft_fixture_settle(struct raft_fixture *w);
void raft_fixture_cut(struct raft_fixture *w, uint32_t a, uint32_t b, bool cut); /* both ways */
void raft_fixture_isolate(struct raft_fixture *w, uint32_t node, bool cut);
/* Lets time pass in small steps. `settle`: raft_fixture_settle after each. */
void raft_fixture_pass(struct raft_fixture *w, int64_t ms, bool settle);
/* The node that leads in the latest term and may serve. 0: there is none. */
uint32_t raft_fixture_leader(const struct raft_fixture *w);
/* The node campaigns, and time passes until it leads. False: it does not lead within 5 s. */
bool raft_fixture_elect(struct raft_fixture *w, uint32_t node);

/* ---- automatic ---- */

void raft_fixture_run(struct raft_fixture *w, int64_t ns);

/* ---- checks (raft_fixture_check.c) ---- */

void raft_fixture_fail(struct raft_fixture *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void raft_fixture_dump(const struct raft_fixture *w); /* for people: the state of every node */
void raft_fixture_check_applied(struct raft_fixture *w, struct raft_fixture_node *n,
                                const struct raft_entry *e);
void raft_fixture_check(struct raft_fixture *w); /* leaders and leases */
void raft_fixture_check_logs(struct raft_fixture *w);
void raft_fixture_check_snapshot(struct raft_fixture *w, const struct raft_fixture_row *row);
void raft_fixture_answer(struct raft_fixture *w, struct raft_fixture_node *n);
uint64_t raft_fixture_entry_id(const struct raft_entry *e);
