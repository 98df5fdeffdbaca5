/* check.h - is what the nodes hold at the end whole, and the same wherever it should be? */
#ifndef WEIR_SIM_CHECK_H
#define WEIR_SIM_CHECK_H

#include "sim/node_process.h"

/* nodes[1 .. count], all up and at rest. False: `why` tells. */
bool check_nodes(struct node_process *const *nodes, uint32_t count, struct buffer *why);

/* The partitions of the table (table_encode) are the whole key space, and all replicas of each hold
 * the same items. */
bool check_replicas(struct node_process *const *nodes, struct slice table, uint32_t replicas,
                    struct buffer *why);

/* The partitions of the table cover its keys exactly: no gap, no overlap. */
bool check_coverage(struct slice table, struct buffer *why);

/* Who has led which group in which term, ever. */
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
/* The first node that led it in that term: `node`, unless it was another. */
uint32_t leaders_add(struct leaders *l, uint32_t group, uint64_t term, uint32_t node);

#endif
