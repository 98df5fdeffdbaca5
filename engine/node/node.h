/* node.h - a storage node as a state machine: requests and completions in, effects out.
 *
 * A node hosts partitions, appends their writes to one log, applies them once they are durable, and
 * moves them to its store's backing by checkpoints. The node that leads group 0 also runs the
 * catalog. Nodes talk to each other in envelopes, as a rule at most one per turn and peer.
 *
 * Promises
 *   NODE-1  The only I/O is reading the store's backing. No clock, no thread, no global.
 *   NODE-2  Every request gets exactly one reply.
 *   NODE-3  A write is acknowledged only after its log record is on the disks of a majority.
 *   NODE-4  After a failed log write or checkpoint the node is stopped. It refuses writes until it
 *           is restarted; reads go on. A failed write is never retried.
 *   NODE-5  While the disk or the map is full, the node refuses writes. Reads go on. Writes are
 *           served again once there is space.
 *
 * Use: create the node, replay the log, start the node. Then give it events, and take the effects
 * after each event. A turn ends with node_end_turn and the writing of the next batch. */
#pragma once

#include "engine/node/core/node_effect.h"
#include "engine/node/core/served_totals.h"
#include "engine/store/log_writer.h"
#include "engine/store/store.h"

struct node;

/* Owns the store, also on failure, and loads from it what the node hosts. STATUS_MALFORMED (the
 * configuration), STATUS_CORRUPT, STATUS_IO: `error` tells. */
enum status node_create(const struct node_options *options, struct store *store,
                        struct buffer *error, struct node **out);
void node_destroy(struct node *n);

/* Before the start: the log's records from store_log_lsn on, in order. STATUS_CORRUPT. */
enum status node_replay(struct node *n, const struct log_record *record);
/* After the replay: whether what the node knows fits its options. STATUS_MALFORMED: tables have
 * partitions on nodes beyond `node_count`; `error` tells. */
enum status node_check(const struct node *n, struct buffer *error);
/* The log goes on at `next_lsn`. Buckets start now. */
void node_start(struct node *n, struct instant now, uint64_t segment_bytes, uint64_t next_lsn);

/* `wall_ms`: milliseconds since 1970, at `now`. Called before the start, and now and then. */
void node_set_wall_clock(struct node *n, struct instant now, int64_t wall_ms);

/* ---- events ---- */

/* `from` names the sender, for the reply; not 0. `waited`: how long the request waits for the
 * node's processor. The request is borrowed for the call. */
void node_request(struct node *n, struct instant now, struct waiting waited, uint64_t from,
                  const struct request *r);
/* The reply of another node to a request of this one. */
void node_reply(struct node *n, struct instant now, const struct reply *reply);
/* An envelope another node sent with NODE_SEND. STATUS_MALFORMED: close the link. */
enum status node_receive(struct node *n, struct instant now, struct slice frame);
/* The batch of node_next_batch that begins at `lsn` is on disk, or it failed (error: errno). */
void node_log_written(struct node *n, struct instant now, uint64_t lsn, int error);
/* Segments up to this lsn exist on disk. Writes beyond it are refused: as REPLY_FULL if the disk is
 * full, otherwise as REPLY_OVERLOADED until the host has made more. `error`: the errno of the last
 * attempt to make a segment; 0: it succeeded. status_is_no_space: the disk is full.
 * Other errors are part of the refusals' text. */
void node_log_space(struct node *n, uint64_t end_lsn, int error);
void node_checkpoint_done(struct node *n, struct instant now, enum status status);
/* Makes a checkpoint due at the next tick. */
void node_checkpoint_soon(struct node *n);
/* Before an orderly end: a checkpoint with everything that the next life should know. */
void node_finish(struct node *n);
void node_touched(struct node *n, struct instant now, uint32_t ticket);
/* Others have used so much of the node's capacity: work that no request of the node asks for.
 * Debits the node's bucket, if necessary into debt, and counts as consumed. */
void node_occupy(struct node *n, struct instant now, enum admit_kind kind, int64_t mcu);

struct instant node_deadline(const struct node *n);
void node_tick(struct node *n, struct instant now);
/* After all events of a turn. Then take its effects, then call node_next_batch. */
void node_end_turn(struct node *n, struct instant now);

/* ---- effects ---- */

/* NULL if all were taken; otherwise lends until the next call. */
const struct node_effect *node_next_effect(struct node *n);

/* The next bytes for the log. NULL: no bytes, or `log_writes` batches are in flight. The batch
 * stays valid until node_log_written. Call until the result is NULL. */
const struct log_batch *node_next_batch(struct node *n);

/* ---- looking ---- */

/* The most bytes of changes that global indexes lack of a partition that is led here. */
size_t node_backlog(const struct node *n);
/* Appends a line for each thing that a component holds in memory, and that a node has no use for
 * once everything is done and nobody asks: what grows for ever, or takes room from others. Nothing:
 * all is at rest. */
void node_census(const struct node *n, struct buffer *out);

/* The balance of the node's bucket, in mcu; below zero: debt. */
int64_t node_balance(struct node *n, enum admit_kind kind);

/* Lends until the node is destroyed. */
const struct served_totals *node_served(const struct node *n);

const struct trace *node_trace(const struct node *n);
struct trace_event;
/* Appends "leads partition 3, term 4". */
void node_trace_event_describe(const struct trace_event *e, struct buffer *out);
/* Appends at most the last `most` events, oldest first, one per line. */
void node_trace_describe(const struct node *n, uint64_t max, struct buffer *out);

uint64_t node_log_end(const struct node *n); /* lsn the next record gets */
bool node_is_stopped(const struct node *n);
bool node_is_full(const struct node *n); /* the map or its disk: checkpoints wait for space */
bool node_is_idle(const struct node *n); /* nothing in flight, no checkpoint being written */
/* The node has a replica of the catalog, each replica knows a leader, and each replica that leads
 * is ready for requests. A node that leads the catalog must also know enough nodes for a table. */
bool node_is_ready(const struct node *n);
struct store *node_store(struct node *n);

struct partition_info;
/* The partition as its replica here knows it. NULL: no replica. Lends until the next event. */
const struct partition_info *node_replica(const struct node *n, uint32_t partition);

struct node_verification {
    int64_t partitions;
    int64_t items;
    int64_t bytes; /* item sizes */
    int64_t damaged;
    /* Locks and records of transactions that are not over, in partitions that are led here: others
     * may be behind. */
    int64_t open_transactions;
    uint32_t open_partition; /* that of the last of them */
    uint32_t miscounted;     /* partitions with a wrong count of items, bytes or item collections */
};

/* Reads everything the node holds, memtables included, and checks every item's checksum, structure
 * and place, and every partition's count. STATUS_IO, STATUS_CORRUPT: the data could not be
 * read to the end. */
enum status node_verify(struct node *n, struct node_verification *out);

/* The content of a replica. It is equal on all members of a group with the same `applied`. */
struct replica_verification {
    uint64_t group;
    uint64_t applied; /* index of the last applied entry */
    int64_t items;
    int64_t bytes;     /* item sizes */
    uint64_t checksum; /* of keys and items, in order */
    bool no_state;     /* a snapshot is being installed: the replica holds nothing yet */
};
/* Like node_verify. Also calls `replica` for each replica of a partition, in group order. */
enum status node_verify_replicas(struct node *n, struct node_verification *out,
                                 void (*replica)(void *context,
                                                 const struct replica_verification *r),
                                 void *context);
