/* lone_node.h - the state machine of a node (engine/node/node.h) with hand-made inputs.
 *
 * A test says when each log write, checkpoint and read of a page ends, and how: events between those
 * steps are what unit tests of a node are about. The log is a buffer, LMDB is in a directory, and a
 * start recovers as a daemon does (server/node_recovery.h). No controller and no links. Clusters and
 * drivers are tested in a simulated world (tests/support/lab.h, frame_world.h).
 * One table `t` with a partition key `id`; items have numbers as names, and versions. With
 * `collections` the table has a sort key `n`, and names are spread over that many collections. */
#ifndef WEIR_TESTS_SUPPORT_LONE_NODE_H
#define WEIR_TESTS_SUPPORT_LONE_NODE_H

#include "base/arena.h"
#include "engine/catalog/table.h"
#include "engine/node/node.h"
#include "engine/node/partition.h"

enum {
    SEGMENT_BYTES = 8 << 20,
    ROUTER = 77,
    ANSWERS_MAX = 64,
    TOUCHES_MAX = 32
};

struct answer {
    uint64_t id;
    enum reply_code code;
    bool found;
    bool more;
    uint32_t count;
    int64_t consumed_mcu;
    int64_t collection_bytes;
    struct frozen frozen;
    struct admit_verdict verdict;
    struct buffer body;
    struct buffer text;
};

struct lone_node {
    void *directory;
    struct config config;
    uint64_t resident_max;
    uint32_t collections; /* before the table is created; 0: no sort key */
    uint8_t gac;          /* the same: what the table says (base/config.h) */
    struct node *node;
    struct instant now;
    struct buffer log; /* what is on disk of segment 0 */
    const struct log_batch *flying;
    bool checkpoint;
    uint64_t trimmed;
    struct answer answers[ANSWERS_MAX]; /* since the last ask, in order */
    size_t answer_count;
    uint32_t touches[TOUCHES_MAX];
    size_t touch_count;
    uint64_t next_id;
    struct arena arena;
    struct buffer table_bytes;
    struct table table;
    struct buffer key; /* of the last request */
    struct buffer item;
};

/* ---- life ---- */

/* The configuration may be changed, and `resident_max`, before the node is opened. */
void lone_init(struct lone_node *w, enum profile profile);
void lone_set(struct lone_node *w, const char *name, const char *value);
/* Recovers what the log and the directory hold. */
void lone_open(struct lone_node *w);
/* Opened, with an ACTIVE table. */
void lone_open_table(struct lone_node *w, int64_t rcu, int64_t wcu);
/* The process dies; what is in `log` is on disk. */
void lone_die(struct lone_node *w);
/* Recovers, with room in the log up to that lsn, and takes one turn. */
void lone_start(struct lone_node *w, uint64_t log_space);
/* Dies and is opened. */
void lone_crash(struct lone_node *w);
void lone_deinit(struct lone_node *w);

/* ---- the disk and the clock, a step at a time ---- */

/* Every event leaves its replies in `answers`, its touches in `touches`. */
void lone_take_effects(struct lone_node *w);
/* False: nothing to write. */
bool lone_write_begin(struct lone_node *w);
void lone_write_end(struct lone_node *w, int error);
/* The bytes in flight are in `log`, and the node does not know. */
void lone_write_reaches_disk(struct lone_node *w);
void lone_write_all(struct lone_node *w);
void lone_checkpoint_end(struct lone_node *w);
void lone_checkpoint_all(struct lone_node *w);
void lone_pass(struct lone_node *w, int64_t ms);

/* ---- requests: the id; `answers` is emptied first ---- */

uint64_t lone_ask(struct lone_node *w, struct request *r);
uint64_t lone_ask_for(struct lone_node *w, enum request_op op, uint32_t name);
uint64_t lone_put(struct lone_node *w, uint32_t name, uint32_t version);
uint64_t lone_put_sized(struct lone_node *w, uint32_t name, uint32_t version, size_t filler);
struct request lone_request(struct lone_node *w, enum request_op op, uint32_t name);
/* Into w->key. */
void lone_key(struct lone_node *w, uint32_t name);
/* The one answer there is. */
const struct answer *lone_answer(const struct lone_node *w);
void lone_assert_answer(const struct lone_node *w, enum reply_code code);
/* Of the item in it; 0: not found. */
uint32_t answer_version(const struct answer *a);
uint32_t lone_get(struct lone_node *w, uint32_t name);
/* Into w->table. */
void lone_fetch_table(struct lone_node *w);
/* CREATE, UPDATE or DELETE, settled. */
void lone_table_op(struct lone_node *w, enum request_op op, int64_t rcu, int64_t wcu);
/* Every item is whole, every count true. */
void lone_assert_verified(struct lone_node *w, int64_t items);

#endif
