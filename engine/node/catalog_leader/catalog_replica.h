/* catalog_replica.h - this node's replica of the catalog (group 0), if there is one. */
#pragma once

#include "engine/node/core/cluster_loads.h"
#include "engine/node/replica/raft_driver.h"

struct catalog_replica {
    struct node_env *env;
    struct partitions *partitions;
    struct raft_driver *driver;
    struct catalog *state;       /* owns; NULL: no replica here, or not loaded */
    struct cluster_loads *loads; /* owns; the reported loads, while group 0 is led here */
    struct instant led_since;    /* while group 0 is led here */
    struct instant urgent_at;    /* when news came that the controller must see at once */
};

bool catalog_replica_leads(const struct catalog_replica *catalog);
/* Up to where its log is known here. */
uint64_t catalog_replica_as_of(const struct catalog_replica *catalog);
uint64_t catalog_replica_term(const struct catalog_replica *catalog);
/* Whether the catalog knows all nodes, or as many as a table has replicas. */
bool catalog_replica_knows_enough_nodes(const struct catalog_replica *catalog);
/* A command with the node's settings and its wall clock. */
struct catalog_command catalog_replica_command(const struct catalog_replica *catalog,
                                               enum catalog_op op);
/* Proposes the command to group 0, for a request or for FROM_SELF. */
void catalog_replica_propose(struct catalog_replica *catalog, const struct operation *o,
                             struct catalog_command *command);
/* Puts the table into the answer, with its global indexes. */
void catalog_replica_answer(struct catalog_replica *catalog, const struct table *t,
                            struct reply *out);
/* Loads the catalog from the rows in the store. STATUS_CORRUPT. */
enum status catalog_replica_load(struct catalog_replica *catalog);
/* The replica is gone. */
void catalog_replica_discard(struct catalog_replica *catalog);
