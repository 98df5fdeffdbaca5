/* check.h - is what the nodes hold at the end whole, and the same wherever it should be? */
#ifndef WEIR_SIM_CHECK_H
#define WEIR_SIM_CHECK_H

#include "sim/node_process.h"

/* nodes[1 .. count], all up and at rest. False: `why` tells. */
bool check_nodes(struct node_process *const *nodes, uint32_t count, struct buffer *why);

#endif
