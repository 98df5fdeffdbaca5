/* lone_node.h - the state machine of a node (engine/node/node.h) with hand-made inputs.
 *
 * A test says when and how each log write, checkpoint and read of a page ends: unit tests of a node
 * are about events between those steps. The log is a buffer, LMDB is in a directory, and a start
 * recovers as a daemon does (server/node_recovery.h). There are no controller and no links. Other
 * nodes are there if a test plays them (tests/support/catalog_leader.h).
 * Clusters and drivers are tested in a simulated world (tests/support/lab.h, frame_cluster.h).
 * One table `t` with a partition key `id`; items have numbers as names, and versions. With
 * `collections` the table has a sort key `n`, and names are spread over that many collections. */
#pragma once

#include "base/arena.h"
#include "base/config.h"
#include "base/metrics.h"
#include "engine/catalog/table.h"
#include "engine/message/message.h"
#include "engine/node/core/partition.h"
#include "engine/node/node.h"
#include "engine/store/backing.h"

enum {
    SEGMENT_BYTES = 8 << 20,
    ROUTER = 77,
    ANSWERS_MAX = 64,
    SENT_MAX = 64,
    TOUCHES_MAX = 32
};

struct answer {
    uint64_t id;
    enum reply_code code;
    bool found;
    bool more;
    uint32_t count;
    uint32_t scanned;
    uint8_t fault;    /* enum update_fault */
    uint8_t decided;  /* enum transaction_state */
    uint64_t session; /* of rows of an index */
    bool closed;      /* of records of a stream, as the next ones */
    bool trimmed;
    uint64_t index;
    uint32_t place;
    int64_t consumed_mcu;
    int64_t collection_bytes;
    struct frozen frozen;
    struct admit_verdict verdict;
    struct metrics_store space; /* of STATS */
    struct buffer body;
    struct buffer text;
    struct buffer last; /* of a range: the last key that was read */
};

/* LMDB, and reads that fail. */
struct lone_medium {
    struct backing_methods methods; /* first; of the open backing */
    const struct backing_methods *lmdb;
    bool unreadable; /* ranges cannot be read */
};

struct lone_node {
    struct lone_medium medium;
    void *directory;
    uint32_t node_count; /* set before the node is opened; 0: it is alone */
    void (*others)(void *context, const struct node_effect *e); /* takes what is for other nodes */
    void *others_context;
    struct config config;
    uint64_t resident_max;
    uint32_t collections; /* set before the table is created; 0: no sort key */
    uint8_t gac; /* set before the table is created: the table's word on GAC (base/config.h) */
    struct slice indexes; /* set before the table is created: as in struct table_spec */
    struct slice globals;
    struct slice add_index; /* set before the table is updated: as in struct table_spec */
    struct slice add_throughput;
    uint8_t stream; /* set before the table is created, or updated: as in struct table_spec */
    struct node *node;
    struct instant now;
    struct waiting waited; /* of the next requests, for the processor */
    struct buffer log;     /* the bytes of segment 0 on the disk */
    const struct log_batch *in_flight;
    bool checkpoint;
    uint64_t trimmed;
    struct answer answers[ANSWERS_MAX]; /* since the last request, in order */
    size_t answer_count;
    struct touch touches[TOUCHES_MAX];
    size_t touch_count;
    uint64_t next_id;
    enum request_op sent[SENT_MAX]; /* the last ones, by id modulo their count */
    struct arena arena;
    struct buffer table_bytes;
    struct table table;
    struct buffer key; /* of the last request */
    struct buffer item;
};

/* ---- life ---- */

/* The configuration and `resident_max` may be changed before the node is opened. */
void lone_init(struct lone_node *w, enum profile profile);
void lone_set(struct lone_node *w, const char *name, const char *value);
/* Starts the node from the log and the directory, and writes until it is ready. */
void lone_open(struct lone_node *w);
/* Opens the node, and creates the table. */
void lone_open_table(struct lone_node *w, int64_t rcu, int64_t wcu);
/* The process dies. What is in `log` is on the disk. */
void lone_die(struct lone_node *w);
/* Makes the node from the log and the directory. It does not start yet. */
enum status lone_recover(struct lone_node *w, struct buffer *error);
/* Starts the node, with room in the log up to that lsn, and takes one turn. */
void lone_start(struct lone_node *w, uint64_t log_space);
/* lone_die, then lone_open. */
void lone_crash(struct lone_node *w);
void lone_deinit(struct lone_node *w);

/* ---- the disk and the clock, a step at a time ---- */

/* Takes the node's effects: replies go to `answers`, touches to `touches`. */
void lone_take_effects(struct lone_node *w);
/* A reader thread is done with that touch; the last touch takes its place. */
void lone_touch_end(struct lone_node *w, size_t i);
/* False: there is nothing to write. */
bool lone_write_begin(struct lone_node *w);
void lone_write_end(struct lone_node *w, int error);
/* The bytes in flight are in `log`, but the node does not know. */
void lone_write_reaches_disk(struct lone_node *w);
void lone_write_all(struct lone_node *w);
void lone_checkpoint_end(struct lone_node *w);
void lone_checkpoint_all(struct lone_node *w);
void lone_pass(struct lone_node *w, int64_t ms);

/* ---- requests: each empties `answers` first; lone_send and the like return the id ---- */

uint64_t lone_send(struct lone_node *w, struct request *r);
uint64_t lone_send_to(struct lone_node *w, enum request_op op, uint32_t name);
uint64_t lone_put(struct lone_node *w, uint32_t name, uint32_t version);
uint64_t lone_put_sized(struct lone_node *w, uint32_t name, uint32_t version, size_t filler);
/* {v: version, f: `filler` bytes}. Lends until the next item is made. */
struct slice lone_item(struct lone_node *w, uint32_t version, size_t filler);
struct request lone_request(struct lone_node *w, enum request_op op, uint32_t name);
/* Makes the storage key of the name in w->key. */
void lone_key(struct lone_node *w, uint32_t name);
/* The answer. There must be exactly one. */
const struct answer *lone_answer(const struct lone_node *w);
void lone_assert_answer(const struct lone_node *w, enum reply_code code);
/* The version of the item in the answer. 0: not found. */
uint32_t answer_version(const struct answer *a);
uint32_t lone_get(struct lone_node *w, uint32_t name);
/* Fetches the table into w->table. */
void lone_fetch_table(struct lone_node *w);
/* Creates, updates or deletes the table, and waits until that is reconciled. */
void lone_table_op(struct lone_node *w, enum request_op op, int64_t rcu, int64_t wcu);
/* Asks for a split of the table's first partition in the middle of all hashes. */
void lone_split_table(struct lone_node *w);
/* A word of the catalog for a partition that is open here, by hand. The catalog itself knows
 * nothing of it. */
void lone_update_partition(struct lone_node *w, const struct partition_info *info);
/* Checks that every item is whole and every count true. */
void lone_assert_verified(struct lone_node *w, int64_t items);
