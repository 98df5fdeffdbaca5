/* peers.h - the other nodes: who is alive, and the envelopes to them.
 *
 * Everything a turn has for another node goes out in one frame: a head of fixed size, then
 * messages. A heartbeat is an envelope like any other; an idle node sends one to each peer per
 * interval.
 *
 * Frame: u8 MESSAGE_PEER | u32 node | u32 generation | u8 flags | liveness_beat | headroom, counted
 * as a report if PEER_REPORT or after a silence: i64 balance and i64 capacity of the write bucket,
 * in mcu | u32 messages | each: u8 kind, its bytes. */
#ifndef WEIR_ENGINE_NODE_PEERS_H
#define WEIR_ENGINE_NODE_PEERS_H

#include "engine/node/env.h"
#include "engine/node/identity.h"
#include "engine/node/partitions.h"
#include "engine/node/throughput.h"
#include "replication/liveness.h"

enum peer_message {
    PEER_RAFT = 1,
    PEER_SNAPSHOT,
    PEER_FOUNDERS,    /* of group 0 */
    PEER_LEASE_ASK,   /* for tokens of the node: u64 number, u64 mcu */
    PEER_LEASE_GRANT, /* u64 number, u64 mcu */
    PEER_LEVELS,      /* buckets.c has these two */
    PEER_READS,
};

/* Another node, as this one sees it. */
struct peer {
    uint32_t generation; /* 0: never heard */
    bool fresh;          /* it holds nothing and waits for a cluster to begin */
    bool beat_due;
    struct instant settled_at; /* it was not there before; from then on it may lead */
    struct instant report_at;  /* the next report of this node's headroom to it */
    struct buffer envelope; /* what this turn has for it: the head, then messages; empty: nothing */
    uint32_t messages;
    bool sent; /* the envelope is lent out */
};

struct peers {
    struct node_env *env;
    struct partitions *partitions;
    struct identity *identity;
    struct throughput *throughput;
    struct peer *nodes; /* owns; by node, from 1 on */
    struct liveness liveness;
    struct instant liveness_at; /* its deadline, as of the last turn */
};

void peers_init(struct peers *peers, struct node_env *env, struct partitions *partitions,
                struct identity *identity, struct throughput *throughput);
void peers_start(struct peers *peers);
void peers_deinit(struct peers *peers);

bool peers_reach(const struct peers *peers, uint32_t node);
/* Whether the node may be heard by others. What it says of itself, and how long its promises last,
 * must be durable first: its next life has to know. */
static inline bool peers_may_speak(const struct peers *peers)
{
    return peers->identity->generation != 0 &&
           peers->identity->support_kept.ns >= peers->env->config->support_ms * NS_PER_MS;
}

/* Whether this node holds nothing, and waits for a cluster to begin. */
bool peers_is_fresh(const struct peers *peers);

/* Where to append a message of this kind to the node's envelope. */
struct buffer *peers_message(struct peers *peers, uint32_t node, enum peer_message kind);

/* The head of an envelope that came. */
struct envelope {
    uint32_t from;
    uint64_t life;  /* of the sender; 0: not its present one, which tells nothing of buckets */
    bool fresh;     /* the sender holds nothing */
    bool got;       /* it can be reached, and could not before */
    bool restarted; /* it lives a new life */
    bool given;     /* support was given to it that was not before */
    uint32_t count; /* of the messages that follow */
};
/* STATUS_MALFORMED: the link is to be closed. */
enum status peers_open_envelope(struct peers *peers, struct reader *r, struct envelope *out);
/* PEER_LEASE_ASK, PEER_LEASE_GRANT. False: malformed. */
bool peers_receive_lease(struct peers *peers, uint32_t from, uint8_t kind, struct reader *r);

/* True: heartbeats were due, and support may have lapsed. */
bool peers_tick(struct peers *peers);
/* The envelopes of the turn go out. */
void peers_end_turn(struct peers *peers);
/* The next event begins: envelopes lent out are given back. */
void peers_reclaim(struct peers *peers);

#endif
