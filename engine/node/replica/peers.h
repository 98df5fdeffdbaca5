/* peers.h - the other nodes: which nodes are alive, and the envelopes to them.
 *
 * All messages of a turn for another node go out in one frame: a head of fixed size, then the
 * messages. A frame of more than 4 MiB is sent early, and another frame follows. A heartbeat is an
 * envelope too: an idle node sends one to each peer per interval.
 *
 * Frame: u8 MESSAGE_PEER | u32 node | u32 generation | u8 flags | liveness_beat | headroom: i64
 * balance and i64 capacity of the write bucket, in mcu | i64 wall clock, ms | u32 messages | each:
 * u8 kind, its bytes. The headroom counts as a report if the flags have PEER_REPORT, or after the
 * node was unresponsive.
 *
 * Invariants
 *   CLOCKS-1  env->agreed_ms is a time that the clocks of more than half of the cluster's nodes had
 *             reached: this node's, and those of others as they told, going on since then. A
 *             minority of wrong clocks neither brings it forward nor, once most nodes were heard,
 *             holds it back.
 *
 * Not here: what the messages mean (receive.c), when support lapses (replication/liveness.h). */
#pragma once

#include "engine/node/core/env.h"
#include "engine/node/core/identity.h"
#include "engine/node/core/partitions.h"
#include "engine/node/core/throughput.h"

enum peer_message {
    PEER_RAFT = 1,
    PEER_SNAPSHOT,
    PEER_INITIAL_MEMBERS, /* sized partition_info of group 0 */
    PEER_LEASE_REQUEST,   /* asks for tokens of the node: u64 number, u64 mcu */
    PEER_LEASE_GRANT,     /* u64 number, u64 mcu */
    PEER_LEVELS,          /* bucket_mirrors.c */
    PEER_READS,           /* bucket_mirrors.c */
};

/* Another node, as this node sees it. */
struct peer {
    uint32_t generation; /* 0: never heard */
    bool fresh;          /* the peer waits for a cluster to begin: peers_is_fresh */
    bool beat_due;
    struct instant settled_at; /* from when leadership may be handed to the peer */
    struct instant report_at;  /* when this node reports its headroom to the peer next */
    int64_t wall_ms; /* the peer's wall clock, as told at `wall_at`; INT64_MIN / 2: never */
    struct instant wall_at;
    struct buffer envelope; /* of this turn: the head, then messages; empty: no envelope */
    uint32_t messages;      /* in the envelope */
    bool sent;              /* the envelope is lent out */
};

struct peers {
    struct node_env *env;
    struct partitions *partitions;
    struct identity *identity;
    struct throughput *throughput;
    struct peer *nodes; /* owns; by node, from 1 on */
    bool lent;          /* the envelope of at least one node is lent out */
    struct liveness liveness;
    struct instant liveness_at; /* liveness_deadline, as of the last turn */
};

void peers_init(struct peers *peers, struct node_env *env, struct partitions *partitions,
                struct identity *identity, struct throughput *throughput);
void peers_start(struct peers *peers);
void peers_deinit(struct peers *peers);

bool peers_reach(const struct peers *peers, uint32_t node);
/* Whether this node may send envelopes. Its generation and the length of its support must be
 * durable first: its next life must know them. */
bool peers_may_send(const struct peers *peers);

/* Whether this node waits for a cluster to begin: it is one of the first `replicas` nodes, and has
 * no replica of the catalog. A node from which such a replica was moved away does not wait. */
bool peers_is_fresh(const struct peers *peers);

/* Begins a message of this kind in the node's envelope. The caller appends its bytes. */
struct buffer *peers_message(struct peers *peers, uint32_t node, enum peer_message kind);

/* The head of a received envelope. */
struct envelope {
    uint32_t from;
    uint64_t life;  /* the sender's incarnation; 0: an earlier one, whose buckets tell nothing */
    bool fresh;     /* the sender waits for a cluster to begin */
    bool got;       /* the sender can be reached, and could not before */
    bool restarted; /* the sender has another incarnation than before */
    bool given;     /* this node supports the sender under a new epoch */
    uint32_t count; /* of the messages that follow */
};
/* STATUS_MALFORMED: the link must be closed. */
enum status peers_open_envelope(struct peers *peers, struct reader *r, struct envelope *out);
/* PEER_LEASE_REQUEST, PEER_LEASE_GRANT. False: malformed. */
bool peers_receive_lease(struct peers *peers, uint32_t from, uint8_t kind, struct reader *r);

/* True: support given or got has lapsed. */
bool peers_tick(struct peers *peers);
/* Sends the envelopes of the turn. */
void peers_end_turn(struct peers *peers);
/* The next event begins: takes back the envelopes that were lent out. */
void peers_reclaim(struct peers *peers);
