/* node_internal.h - struct node: all components, from the lowest to the highest.
 *
 * Only these files include it: node.c (life, events, turns), receive.c (envelopes), restore.c
 * (loads the state of an earlier life from the store), verify.c and control_view.c (only read). */
#pragma once

#include "engine/node/catalog_leader/index_builder.h"
#include "engine/node/catalog_leader/key_shard_mover.h"
#include "engine/node/node.h"
#include "engine/node/request/requests.h"
#include "engine/node/ttl/expiry.h"

struct node {
    struct node_env env;
    struct partitions partitions;
    struct identity identity;
    struct internal_calls calls;
    struct throughput throughput;
    struct node_log log;
    struct proposals proposals;
    struct pending_requests pending;
    struct checkpoints checkpoints;
    struct load_reports reports;
    struct peers peers;
    struct bucket_mirrors buckets;
    struct raft_driver driver;
    struct node_heat heat;
    struct index_maps index_maps;
    struct index_feeds feeds;
    struct transactions transactions;
    struct key_shard_moves key_shard_moves;
    struct background background;
    struct expiry expiry;
    struct stream_trims stream_trims;
    struct snapshots snapshots;
    struct catalog_replica catalog;
    struct reconciler reconciler;
    struct index_builder index_builder;
    struct key_shard_mover key_shard_mover;
    struct applier applier;
    struct requests requests;
    struct arena received; /* a raft message that is being read */
    bool stopped;          /* env.stop_error was acted on */
};

/* ---- restore.c ---- */
/* STATUS_CORRUPT, STATUS_IO: `error` tells. */
enum status node_load(struct node *n, struct buffer *error);

/* ---- receive.c ---- */
/* An envelope of another node. STATUS_MALFORMED. */
enum status node_receive_envelope(struct node *n, struct slice frame);
/* Opens group 0 here once all its founders have met. */
void node_begin_cluster(struct node *n);
