/* raft_world.h - replicas of one group on paper nodes: virtual time, clocks that drift, disks that
 * lose what was not synced, a network whose every message is in the test's hand.
 *
 * By hand (`automatic` false): messages wait in the bag until the test delivers them, writes wait
 * until the test syncs; only liveness beats pass by themselves where no link is cut. Automatic:
 * world_run lets time pass, everything arrives after a random delay.
 * What must hold is checked on the way (raft_check.c); the first violation stays in `violation`. */
#ifndef WEIR_TESTS_SUPPORT_RAFT_WORLD_H
#define WEIR_TESTS_SUPPORT_RAFT_WORLD_H

#include "base/prng.h"
#include "base/trace.h"
#include "replication/raft.h"

enum {
    WORLD_NODES_MAX = 6,
    WORLD_PAYLOAD_MAX = 160,
    WORLD_GROUP = 7,
    WORLD_FOR_EVER = INT32_MAX
};

struct world_record {
    uint64_t lsn; /* of its end */
    enum log_kind kind;
    uint64_t term;
    uint64_t index;
    uint32_t size;
    uint8_t payload[WORLD_PAYLOAD_MAX];
};

/* What is durable besides the log: the state as of base.index, and the hard state as of then. */
struct world_row {
    struct raft_base base;
    uint64_t term;
    uint64_t vote;
    uint64_t hash;
    uint64_t since_lsn; /* older records are of a replica that is gone */
    uint32_t generation;
    bool hosted;
};

struct world_proposal {
    uint64_t id;
    uint64_t index;
    uint64_t term;
};

struct world_read {
    uint64_t floor; /* what it must reflect */
    uint64_t round;
    uint64_t term;
};

enum {
    WORLD_WAITING_MAX = 256
};

struct world_node {
    uint32_t id;
    bool up;
    bool paused;
    bool stuck; /* by hand: world_settle does not sync its disk */
    int64_t clock_offset;
    int64_t clock_ppm;
    struct liveness liveness;
    struct instant live_at; /* its deadline, on this node's clock */
    struct raft *raft;      /* NULL: hosts none */
    struct raft_outbox outbox;
    /* disk */
    struct world_row row;
    struct world_record *records;
    size_t record_count;
    size_t record_capacity;
    uint64_t next_lsn;
    uint64_t submitted_lsn; /* the batch on its way ends here; 0: none */
    int64_t sync_at;
    uint64_t durable_lsn;
    /* state machine */
    uint64_t applied;
    uint64_t hash;
    uint64_t led;
    struct world_proposal proposals[WORLD_WAITING_MAX];
    uint32_t proposal_count;
    struct world_read reads[WORLD_WAITING_MAX];
    uint32_t read_count;
    /* a snapshot that is being installed */
    bool installing;
    struct world_row incoming;
    uint32_t incoming_from;
    int64_t install_at;
};

enum world_message_kind {
    WORLD_BEAT,
    WORLD_RAFT,
    WORLD_SNAPSHOT,
    WORLD_SNAPSHOT_END
};

struct world_message {
    enum world_message_kind kind;
    uint32_t from;
    uint32_t to;
    uint64_t sequence;
    int64_t at;                /* arrives, in automatic worlds */
    struct buffer bytes;       /* of a beat or a message of raft */
    struct raft_message shape; /* of the latter, without entries: for tests to choose by */
    struct world_row row;      /* SNAPSHOT */
    uint64_t to_member;        /* SNAPSHOT, SNAPSHOT_END */
    uint64_t index;            /* SNAPSHOT_END: what is installed; 0: it failed */
};

struct world_options {
    uint32_t nodes;
    uint32_t voters; /* nodes 1 .. voters are the first members */
    uint64_t seed;
    bool automatic;
    int64_t clock_ppm_max; /* each clock is off by up to this, either way */
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

/* Numbers that suit tests by hand: no drift, elections of 150 ms. */
struct world_options world_options_default(uint32_t nodes, uint32_t voters);

/* What was seen committed, by index. */
struct world_committed {
    uint64_t term;
    uint64_t id;        /* of the proposal; 0: another entry */
    uint64_t seen_term; /* of the replica that first applied it */
    uint64_t hash;      /* of the state after it */
};

struct world {
    struct world_options options;
    struct prng prng;
    int64_t now; /* real time */
    struct world_node nodes[WORLD_NODES_MAX + 1];
    bool cut[WORLD_NODES_MAX + 1][WORLD_NODES_MAX + 1]; /* from, to */
    bool calm;                                          /* no message is very late */
    uint32_t drop_percent;
    uint32_t duplicate_percent;
    struct world_message *bag;
    size_t bag_count;
    size_t bag_capacity;
    uint64_t sequence;
    uint64_t next_id;       /* of proposals */
    uint64_t raft_messages; /* sent, ever */
    struct raft_members first;
    struct arena arena;
    struct trace trace;
    /* what is known to everybody, see raft_check.c */
    struct world_committed *committed;
    uint64_t committed_count; /* indexes 1 .. */
    uint64_t committed_capacity;
    uint64_t acknowledged; /* highest index of an acknowledged proposal */
    uint64_t acknowledged_count;
    uint64_t reads_done;
    uint64_t leader_of[4096]; /* by term */
    char violation[256];      /* "": none so far */
};

struct world *world_create(const struct world_options *options);
void world_destroy(struct world *w);
struct instant world_local(const struct world *w, const struct world_node *n);
uint64_t world_member(const struct world *w, uint32_t node);

/* ---- nodes ---- */

/* Unsynced records are lost; of the batch on its way `kept` records survive. */
void world_crash(struct world *w, uint32_t node, uint32_t kept);
void world_start(struct world *w, uint32_t node);
void world_host(struct world *w, uint32_t node); /* a fresh replica, of a new generation */
void world_unhost(struct world *w, uint32_t node);
/* The state becomes durable as it is, the log before it goes. */
void world_checkpoint(struct world *w, uint32_t node, bool compact);
void world_rewrite(struct world *w, uint32_t node); /* unapplied entries go to the log's end */
void world_turn(struct world *w, uint32_t node);    /* what every event ends with */

/* ---- events ---- */

/* 0: refused; otherwise its id. */
uint64_t world_propose(struct world *w, uint32_t node, uint32_t size);
enum raft_outcome world_change(struct world *w, uint32_t node, enum raft_change change,
                               uint64_t member);
enum raft_outcome world_transfer(struct world *w, uint32_t node, uint32_t to);
enum raft_outcome world_ask(struct world *w, uint32_t node); /* a read */
void world_campaign(struct world *w, uint32_t node);
/* Everything written is durable. */
void world_sync(struct world *w, uint32_t node);
/* Only what was written up to `lsn` is. */
void world_sync_to(struct world *w, uint32_t node, uint64_t lsn);
void world_deliver(struct world *w, size_t at);      /* takes it out of the bag */
void world_deliver_copy(struct world *w, size_t at); /* and leaves it there */
void world_drop(struct world *w, size_t at);
void world_install(struct world *w, uint32_t node);
void world_post_beat(struct world *w, struct world_node *n, uint32_t to, bool heartbeat);
/* What is due at a node now: beats, lapses, the replica's deadline. */
void world_wake(struct world *w, uint32_t node);

/* ---- by hand: many at once ---- */

/* First in the bag from `from` to `to` of this kind; 0 for any. SIZE_MAX: none. */
size_t world_find(const struct world *w, uint32_t from, uint32_t to, enum raft_message_kind kind);
bool world_deliver_first(struct world *w, uint32_t from, uint32_t to, enum raft_message_kind kind);
void world_drop_all(struct world *w, uint32_t from, uint32_t to);
/* Delivers and syncs until nothing is left; what a cut link carries is dropped. */
void world_settle(struct world *w);
void world_cut(struct world *w, uint32_t a, uint32_t b, bool cut); /* both ways */
void world_isolate(struct world *w, uint32_t node, bool cut);
/* Time passes in small steps, settling (or not) after each. */
void world_pass(struct world *w, int64_t ms, bool settle);
/* Some node leads and may serve. 0: none. */
uint32_t world_leader(const struct world *w);
/* As world_pass until somebody leads; false: nobody did. */
bool world_elect(struct world *w, uint32_t node);

/* ---- automatic ---- */

void world_run(struct world *w, int64_t ns);

/* ---- checks (raft_check.c) ---- */

void world_fail(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void world_dump(const struct world *w); /* for people: what every node is at */
void world_check_applied(struct world *w, struct world_node *n, const struct raft_entry *e);
void world_check(struct world *w); /* leaders, leases, logs */
void world_check_logs(struct world *w);
void world_check_snapshot(struct world *w, const struct world_row *row);
void world_answer(struct world *w, struct world_node *n);
uint64_t world_entry_id(const struct raft_entry *e);

#endif
