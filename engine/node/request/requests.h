/* requests.h - runs the requests to a node.
 *
 * item_requests.c, item_writes.c: items. advice.c: what partitions did, and where to split them.
 * replicas.c: opens and closes replicas, changes the members of groups. tables.c: tables, where the
 * catalog is led. requests.c: the table of all kinds. */
#pragma once

#include "engine/node/apply/applier.h"
#include "engine/node/key_sharding/key_shard_moves.h"
#include "engine/node/replica/heat.h"

struct requests {
    struct node_env *env;
    struct node_log *log;
    struct partitions *partitions;
    struct identity *identity;
    struct throughput *throughput;
    struct proposals *proposals;
    struct pending_requests *pending;
    struct peers *peers;
    struct bucket_mirrors *buckets;
    struct raft_driver *driver;
    struct node_heat *heat;
    struct background *background;
    struct catalog_replica *catalog;
    struct reconciler *reconciler;
    struct applier *applier;
    struct index_feeds *feeds;
    struct transactions *transactions;
    struct key_shard_moves *key_shard_moves;
    struct buffer updated;          /* owns; the item that an update has made */
    struct buffer index_feed_value; /* owns; what a write means for global indexes */
    struct buffer stream_value;     /* owns; the record of a write */
    struct buffer row_keys;         /* owns; of the index rows that a write changes */
    struct buffer last_key;         /* owns; of the last item that a range read */
};

void requests_deinit(struct requests *requests);

/* Answers the request, now or later. */
void requests_run(struct requests *requests, struct operation *o);

/* Runs the waiting reads of the partition whose leadership is confirmed. Refuses those whose
 * leadership is lost. */
void requests_run_reads(struct requests *requests, struct partition *p);

/* No group counts on the replica any more, by the catalog's log up to `as_of`. Closes the replica
 * if there is room for the record. */
void requests_close_orphan(struct requests *requests, struct partition *p, uint64_t as_of);
/* At the end of a turn in which the partition was stepped: closes the replica if its table is
 * deleted and no lease grant holds it. */
void requests_close_ended(struct requests *requests, struct partition *p);
