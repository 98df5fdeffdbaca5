/* control_port.h - what the catalog leader's node shows to the controller beside it.
 *
 * The controller (control/controller.h) reads this view. It acts by ordinary requests:
 * REQUEST_DECIDE to this node, with CONTROL_FROM as sender. */
#pragma once

#include "engine/catalog/catalog.h"
#include "engine/node/core/cluster_loads.h"

struct node;

/* The `from` of the controller's requests: no link has this handle. */
#define CONTROL_FROM UINT64_MAX

/* Lends until the node's next event. */
struct control_view {
    uint64_t term; /* the term in which this node leads the catalog */
    uint32_t self;
    uint32_t node_count;
    const struct catalog *catalog;
    const struct cluster_loads *loads;
    bool reachable[NODES_MAX + 1];
};

/* The term in which this node leads the catalog; 0: it does not. */
uint64_t node_control_term(const struct node *n);
/* When news last came that the controller must see before its next evaluation. */
struct instant node_control_urgent(const struct node *n);
/* Only while node_control_term is not 0. */
void node_control_view(const struct node *n, struct control_view *out);

/* The catalog as applied here, on a leader or a follower. NULL: no replica here. Lends until the
 * node's next event. */
const struct catalog *node_catalog(const struct node *n);
