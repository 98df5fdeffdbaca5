/* check.h - at the end of a run: is the data of the nodes whole, and do the replicas agree? */
#pragma once

#include "sim/world/node_process.h"

/* Checks the items and counts of nodes[1 .. count], and that they keep nothing in memory for work
 * that is done (node_census). All nodes must be up. False: `why` tells. */
bool check_nodes(struct node_process *const *nodes, uint32_t count, struct buffer *why);

/* Checks that the partitions of the table (table_encode) cover its keys, and that no split is under
 * way. Each partition must have this number of replicas. Each replica must have the range that the
 * catalog says, and all must hold the same rows in every key space. Items of sharded keys must be
 * in their owner shards. False: `why` tells. */
bool check_replicas(struct node_process *const *nodes, struct slice table, uint32_t replicas,
                    struct buffer *why);

/* Checks that the index (table_encode) has exactly the rows that follow from the items of the
 * table. False: `why` tells. */
bool check_index(struct node_process *const *nodes, struct slice table, struct slice index,
                 struct buffer *why);

/* Checks that the partitions cover the table's keys: no gap, no overlap. False: `why` tells. */
bool check_coverage(struct slice table, struct buffer *why);

/* A node led the group in this term. */
struct leader {
    uint32_t group;
    uint32_t node;
    uint64_t term;
};

struct leaders {
    struct leader *all; /* owns */
    size_t count;
    size_t capacity;
};

void leaders_deinit(struct leaders *l);
/* Notes a leader. Returns the node that was noted first for this group and term. Raft allows only
 * `node` itself. */
uint32_t leaders_add(struct leaders *l, uint32_t group, uint64_t term, uint32_t node);
