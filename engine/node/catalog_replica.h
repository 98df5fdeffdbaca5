/* catalog_replica.h - the replica of the catalog, group 0, where there is one on this node. */
#ifndef WEIR_ENGINE_NODE_CATALOG_REPLICA_H
#define WEIR_ENGINE_NODE_CATALOG_REPLICA_H

#include "engine/catalog/catalog.h"
#include "engine/node/groups.h"
#include "engine/node/loads.h"

struct catalog_replica {
    struct node_env *env;
    struct partitions *partitions;
    struct groups *groups;
    struct catalog *state;    /* owns; NULL: no replica here, or none that is loaded */
    struct loads *loads;      /* owns; while group 0 is led here: what was reported */
    struct instant led_since; /* while it is */
    struct instant urgent_at; /* something was heard that is not to wait for the controller */
};

bool catalog_replica_leads(const struct catalog_replica *catalog);
/* Up to where its log is known here. */
uint64_t catalog_replica_as_of(const struct catalog_replica *catalog);
/* Whether as many nodes have been heard of as a table has replicas. */
bool catalog_replica_knows_enough_nodes(const struct catalog_replica *catalog);
/* A command with the node's settings and its wall clock. */
struct catalog_command catalog_replica_command(const struct catalog_replica *catalog,
                                               enum catalog_op op);
/* FROM_SELF or a request's: proposes to group 0. */
void catalog_replica_propose(struct catalog_replica *catalog, const struct operation *o,
                             struct catalog_command *command);
/* From the rows in the store. STATUS_CORRUPT. */
enum status catalog_replica_load(struct catalog_replica *catalog);
/* The replica is gone. */
void catalog_replica_forget(struct catalog_replica *catalog);

#endif
