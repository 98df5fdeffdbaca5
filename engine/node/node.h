/* node.h - a storage node as a state machine: requests and completions in, effects out.
 *
 * A node hosts partitions, appends their writes to one log, applies them once they are durable, and
 * moves them to its store's backing by checkpoints. The node that leads group 0 also runs the
 * catalog. Nodes talk to each other in envelopes, at most one per turn and peer.
 *
 * Promises
 *   N1  No I/O but reads of the store's backing, no clock, no thread, no global.
 *   N2  Every request gets exactly one reply.
 *   N3  A write is acknowledged only after its log record is on the disks of a majority.
 *   N4  After a failed log write or checkpoint the node is stopped: writes are refused until it is
 *       started anew, reads go on. Nothing is retried as if it had not failed.
 *   N5  A full disk or map refuses writes; reads go on; it serves again once there is space.
 *
 * Use: create; replay the log; start; then events, and after each event take the effects. A turn
 * ends with node_end_turn and the writing of the next batch. */
#ifndef WEIR_ENGINE_NODE_NODE_H
#define WEIR_ENGINE_NODE_NODE_H

#include "engine/node/node_effect.h"
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

/* `from` names whoever asks, for the reply; not 0. The request is borrowed for the call. */
void node_request(struct node *n, struct instant now, uint64_t from, const struct request *r);
/* The reply of another node to a request of this one. */
void node_reply(struct node *n, struct instant now, const struct reply *reply);
/* An envelope another node sent with NODE_SEND. STATUS_MALFORMED: the link is to be closed. */
enum status node_receive(struct node *n, struct instant now, struct slice frame);
/* The batch of node_next_batch that begins at `lsn` is on disk, or failed for good (error: errno).
 */
void node_log_written(struct node *n, struct instant now, uint64_t lsn, int error);
/* Segments up to this lsn exist on disk. Writes beyond it are refused: as REPLY_FULL if the disk is
 * full, otherwise as REPLY_OVERLOADED until the host has made more. */
void node_log_space(struct node *n, uint64_t end_lsn, bool disk_full);
/* Why no more can be made, an errno; 0, ENOSPC: the disk is full. Refusals say it. */
void node_log_error(struct node *n, int error);
void node_checkpoint_done(struct node *n, struct instant now, enum status status);
/* A checkpoint of everything applied so far, at the next tick. */
void node_checkpoint_soon(struct node *n);
/* The same, before it ends in good order: with all that its next life should know. */
void node_finish(struct node *n);
void node_touched(struct node *n, struct instant now, uint32_t ticket);

struct instant node_deadline(const struct node *n);
void node_tick(struct node *n, struct instant now);
/* After all events of a turn: what they add up to. Takes its effects, then node_next_batch. */
void node_end_turn(struct node *n, struct instant now);

/* ---- effects ---- */

/* NULL if all were taken; otherwise lends until the next call. */
const struct node_effect *node_next_effect(struct node *n);

/* The next bytes for the log, if any and no more are in flight than may be (`log_writes`). Stays
 * until node_log_written. Ask until there are none. */
const struct log_batch *node_next_batch(struct node *n);

/* ---- looking ---- */

/* What the node's bucket holds now, in mcu; below zero it owes. */
int64_t node_balance(struct node *n, enum admit_kind kind);

const struct trace *node_trace(const struct node *n);
struct trace_event;
/* Appends "leads partition 3, term 4". */
void node_trace_event_describe(const struct trace_event *e, struct buffer *out);
/* Appends the last `most` events, oldest first, a line each. */
void node_trace_describe(const struct node *n, uint64_t most, struct buffer *out);

uint64_t node_log_end(const struct node *n); /* lsn the next record gets */
bool node_is_stopped(const struct node *n);
bool node_is_full(const struct node *n); /* the map or its disk: checkpoints wait for space */
bool node_is_idle(const struct node *n); /* nothing in flight, no checkpoint being written */
/* Each of its replicas knows a leader, and those it leads are ready for requests. */
bool node_is_ready(const struct node *n);
struct store *node_store(struct node *n);

struct partition_info;
/* The partition as the replica here knows it; NULL: there is none. Lends until the next event. */
const struct partition_info *node_replica(const struct node *n, uint32_t partition);

struct node_verification {
    int64_t partitions;
    int64_t items;
    int64_t bytes; /* item sizes */
    int64_t damaged;
    struct slice first_damaged_key; /* lends until the next call */
    uint32_t miscounted; /* partitions whose items, bytes or item collections are not as counted */
};

/* Reads everything the node holds, memtables included, and checks every item's checksum, structure
 * and place, and every partition's count. STATUS_IO, STATUS_CORRUPT: it could not be read to the
 * end. */
enum status node_verify(struct node *n, struct node_verification *out);

/* What a replica holds: equal on all members of a group that have applied the same entries. */
struct replica_verification {
    uint64_t group;
    uint64_t applied; /* index of the last entry that is in it */
    int64_t items;
    int64_t bytes;     /* item sizes */
    uint64_t checksum; /* of keys and items, in order */
    bool no_state;     /* a snapshot was being installed: it holds nothing yet */
};
/* The same, and tells each replica of a partition, in the order of their groups. */
enum status node_verify_replicas(struct node *n, struct node_verification *out,
                                 void (*replica)(void *context,
                                                 const struct replica_verification *r),
                                 void *context);

#endif
