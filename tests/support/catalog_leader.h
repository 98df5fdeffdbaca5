/* catalog_leader.h - a node that leads the catalog, and three other nodes that the test plays.
 *
 * The leader is a lone node (tests/support/lone_node.h), with all its components, and is drained:
 * it holds no partition of the table `t`. The other nodes hold the replicas. They exchange
 * heartbeats with the leader. A request that the test holds stays unanswered. Every other request
 * gets the answer of a node that has done what it was asked for, a millisecond later. */
#pragma once

#include "engine/catalog/catalog.h"
#include "engine/node/node_internal.h"
#include "replication/liveness.h"
#include "tests/support/lone_node.h"

enum {
    LEADER_NODES = 4,  /* the leader is node 1 */
    LEADER_FIRST = 2,  /* of the nodes that the test plays */
    LEADER_FROZEN = 77 /* the index of the entry that freezes a partition */
};

struct leader_request {
    uint32_t node;
    bool answered;
    struct buffer frame;
    struct request request; /* borrows from the frame */
};

struct leader_hold {
    enum request_op op;
    uint32_t partition; /* 0: any */
    uint32_t node;      /* 0: any */
};

struct catalog_leader {
    struct lone_node w;
    struct played_node {
        struct liveness liveness;
        bool ack_due;  /* an acknowledgement */
        uint32_t lost; /* so many disks */
    } nodes[LEADER_NODES + 1];
    struct leader_request *requests; /* owns; all so far, each id and node once, in order */
    size_t request_count;
    struct leader_hold holds[4];
    size_t hold_count;
};

/* With a reconciled table `t` of one partition. */
void leader_open(struct catalog_leader *s);
void leader_close(struct catalog_leader *s);
/* Lets time pass. */
void leader_pass(struct catalog_leader *s, int64_t ms);
/* The table or index of this name, as the leader has it. Lends until time passes. NULL: none. */
const struct table *leader_table(struct catalog_leader *s, const char *name);
/* Splits the table in two, and waits until that is reconciled. */
void leader_split(struct catalog_leader *s);
/* The catalog takes this decision. */
void leader_decide(struct catalog_leader *s, enum catalog_op op, const struct decision *d);

/* From now on such requests stay unanswered. Partition 0, node 0: any. */
void leader_hold(struct catalog_leader *s, enum request_op op, uint32_t partition, uint32_t node);
/* Nothing is held any more. */
void leader_release(struct catalog_leader *s);
/* How many requests of this kind were sent so far. Partition 0, node 0: any. */
uint32_t leader_times(const struct catalog_leader *s, enum request_op op, uint32_t partition,
                      uint32_t node);
/* The last request of this kind. */
const struct leader_request *leader_last(const struct catalog_leader *s, enum request_op op,
                                         uint32_t partition, uint32_t node);
/* Answers the last request of this kind, which is held. */
void leader_answer(struct catalog_leader *s, enum request_op op, uint32_t partition, uint32_t node,
                   struct reply reply);
