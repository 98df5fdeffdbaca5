/* requests.h - what a node does when it is asked: for items (item_requests.c), for advice on where to cut a
 * partition (advice.c), for replicas to come, go and change (replicas.c), for tables (tables.c).
 * requests.c has the table of all kinds. */
#ifndef WEIR_ENGINE_NODE_REQUESTS_H
#define WEIR_ENGINE_NODE_REQUESTS_H

#include "engine/node/applier.h"
#include "engine/node/heat.h"

struct requests {
    struct node_env *env;
    struct node_log *log;
    struct partitions *partitions;
    struct identity *identity;
    struct throughput *throughput;
    struct proposals *proposals;
    struct waiters *waiters;
    struct peers *peers;
    struct buckets *buckets;
    struct groups *groups;
    struct node_heat *heat;
    struct background *background;
    struct catalog_replica *catalog;
    struct settling *settling;
    struct applier *applier;
};

/* Answers it, now or later. */
void requests_run(struct requests *requests, struct operation *o);

/* The reads of the partition that waited for leadership to be confirmed, or have lost it. */
void requests_run_reads(struct requests *requests, struct partition *p);

/* Nobody counts on the replica any more, as the catalog's log up to `as_of` says: it is closed, if
 * there is room for the record. */
void requests_close_orphan(struct requests *requests, struct partition *p, uint64_t as_of);
/* At the end of a turn in which the partition was stepped: one whose table is deleted is closed. */
void requests_close_ended(struct requests *requests, struct partition *p);

#endif
