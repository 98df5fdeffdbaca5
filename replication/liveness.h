/* liveness.h - which nodes support which, agreed on once per pair of nodes for all their groups.
 *
 * A node sends each peer one heartbeat an interval. A peer that hears the heartbeat supports the
 * sender for a while. Support counts from the receipt: the peer elects no other
 * leader in any group in which it has acknowledged a leader on the sender under this epoch of
 * support. The answer tells how long the support lasts. The sender counts from the moment it sent
 * the acknowledged heartbeat, for that long or for as long as it gives support itself, whichever is
 * less, and subtracts the drift that two clocks may have. So it never believes in support longer
 * than the peer gives it, whatever the settings of the two nodes. Idle groups need no message of
 * their own, and leader leases cost nothing.
 *
 * Invariants
 *   LIVENESS-1  Support under one epoch is without a gap: once it lapses, or the peer has
 *               restarted, the next support has another epoch, never used before.
 *   LIVENESS-2  got_until, on the supported node's clock, is never later in real time than
 *               given_until on the supporter's, while drift stays within the bound.
 *   LIVENESS-3  A heartbeat or acknowledgement that is late, duplicated or of an earlier
 *               incarnation never extends anything.
 * Promises: pure; no I/O, no clock. Not here: what groups do with it (raft.h), sending (the node).
 * Source: Ongaro, "Consensus: Bridging Theory and Practice", 2014, section 6.4.1 (leases);
 * the division per pair of nodes is ours. */
#pragma once

#include "base/buffer.h"
#include "base/instant.h"

enum {
    LIVENESS_ROUNDS = 16, /* unacknowledged heartbeats whose send times are remembered */
    LIVENESS_DRIFT_END = 500000,
    LIVENESS_BEAT_SIZE = 52, /* bytes of an encoded beat */
};

struct liveness_options {
    uint32_t node; /* this one, 1 .. node_count */
    uint32_t node_count;
    uint64_t incarnation;     /* random for each process, not 0 */
    struct duration interval; /* between heartbeats */
    struct duration support;  /* length of support after one heartbeat; > interval */
    int64_t drift_ppm;        /* two clocks' rates differ by at most this, < LIVENESS_DRIFT_END */
};

struct liveness_peer {
    uint64_t incarnation; /* of the peer; 0: never heard */
    uint64_t since_round; /* own round when this incarnation was first heard */
    /* support given to the peer */
    uint64_t given_epoch; /* 0: none */
    struct instant given_until;
    uint64_t received_round; /* highest round heard, to be acknowledged */
    /* support got from the peer */
    uint64_t got_epoch; /* 0: none yet */
    struct instant got_until;
    uint64_t acked_round;
    struct instant sent_at[LIVENESS_ROUNDS]; /* by round % LIVENESS_ROUNDS */
};

struct liveness {
    struct liveness_options options;
    uint64_t next_epoch;
    uint64_t round; /* of the last heartbeat */
    struct instant beat_at, ticked_at;
    struct liveness_peer *peers; /* owns; by node, 1 .. node_count */
};

/* What one node tells another; travels at the head of every envelope between them. */
struct liveness_beat {
    uint64_t incarnation;
    uint64_t round;           /* 0: no new heartbeat, only an acknowledgement */
    uint64_t ack_incarnation; /* last incarnation heard of the receiver; 0: never */
    uint64_t ack_round;
    uint64_t ack_epoch;          /* support the sender gives; 0: none */
    struct duration ack_support; /* length of the support, from the receipt of the round */
    uint32_t ack_drift_ppm;      /* the drift that the sender allows for */
};

void liveness_init(struct liveness *l, const struct liveness_options *options, struct instant now);
void liveness_deinit(struct liveness *l);

struct liveness_due {
    bool beat;   /* once an interval: the caller must send a beat to every peer */
    bool lapsed; /* support given or got has lapsed since the last tick */
};
struct liveness_due liveness_tick(struct liveness *l, struct instant now);
/* The next heartbeat, or the next moment at which support given or got lapses. */
struct instant liveness_deadline(const struct liveness *l, struct instant now);

/* The beat to send to `node` now. A heartbeat carries a new round; otherwise the beat only
 * acknowledges. */
struct liveness_beat liveness_beat(struct liveness *l, struct instant now, uint32_t node,
                                   bool heartbeat);

struct liveness_change {
    bool answer;    /* a beat without heartbeat is due to the sender */
    bool given;     /* the support given has a new epoch */
    bool got;       /* the support got has a new epoch: leaders announce themselves again */
    bool restarted; /* the peer is another incarnation than before */
    bool believed;  /* the beat is of the peer's present incarnation */
};
struct liveness_change liveness_received(struct liveness *l, struct instant now, uint32_t node,
                                         const struct liveness_beat *beat);

/* Epoch of the support given to `node` now; 0: none. */
uint64_t liveness_given(const struct liveness *l, struct instant now, uint32_t node);
/* Epoch of the support got from `node` now, and its end; 0: none. A node supports itself for ever,
 * under epoch 1. */
uint64_t liveness_got(const struct liveness *l, struct instant now, uint32_t node,
                      struct instant *until);

void liveness_beat_encode(struct buffer *out, const struct liveness_beat *b);
enum status liveness_beat_decode(struct reader *r, struct liveness_beat *out);
