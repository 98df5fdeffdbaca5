/* node_internal.h - what the files of the node share. Not for anybody else.
 *
 *   node.c          life, events, effects, checkpoints
 *   node_data.c     reads and writes: route, admit, evaluate, propose, settle
 *   node_apply.c    what a durable log record does, in service and in replay
 *   node_verify.c   reading everything back
 *   node_catalog.c  leading group 0: table requests, and getting partitions where they belong */
#ifndef WEIR_ENGINE_NODE_INTERNAL_H
#define WEIR_ENGINE_NODE_INTERNAL_H

#include "base/prng.h"
#include "engine/catalog/catalog.h"
#include "engine/node.h"
#include "engine/partition.h"

/* Rows of the node itself live in the storage-key space of this table id. */
#define NODE_TABLE_ID UINT32_C(0xFFFFFFFF)

enum {
    FROM_SELF = 0,
    NO_ENTRY = -1
};

/* A request on its way: in hand, waiting for a page, or waiting for the disk. */
struct operation {
    uint64_t from;
    struct request request;
    struct admit_verdict verdict;
    bool admitted;
    bool touched;
};

/* A record in the log that is not durable yet, oldest first in a ring. */
struct inflight {
    struct log_place place;
    enum log_kind kind;
    uint32_t group;
    uint64_t index;
    uint64_t from;
    uint64_t request_id;
    bool answer;
    bool want_old;
    struct admit_verdict verdict;
    int64_t consumed_mcu;
    /* LOG_WRITE: the newest one of a key shadows memtable and backing for later writes */
    uint64_t hash;
    int32_t older; /* in the same hash bucket */
    uint32_t key_size;
};

/* Payload of a LOG_WRITE record: this head, the key, the item (none: deleted). */
struct write_head {
    int64_t old_size; /* item_size of what was there; -1: nothing */
    uint32_t key_size;
    uint32_t zero;
};
_Static_assert(sizeof(struct write_head) == 16, "the head is written as it is");

/* A request that waits for store_touch. */
struct deferred {
    struct operation operation;
    struct buffer bytes; /* what the operation's slices point to */
    bool used;
};

/* A table that is not ACTIVE: its partitions on their way to where the catalog wants them. */
struct settling {
    struct settling *next;
    uint32_t table_id;
    enum table_status status;
    uint32_t count;
    uint32_t acknowledged;
    bool proposed; /* CATALOG_SETTLE is in the log */
    struct instant send_at;
    uint8_t done[]; /* by partition */
};

struct node {
    struct node_options options;
    const struct config *config;
    const struct admission_policy *policy;
    struct store *store; /* owns */
    struct log_writer log;
    uint64_t log_space_end;
    bool log_disk_full;
    struct node_admission admission;
    struct partition **partitions; /* owns; by id, NULL where not here */
    uint32_t partitions_size;
    struct prng prng;
    bool started;
    int stop_error; /* errno; 0 = not stopped */
    bool map_full;

    /* records in flight: a ring of `ring_size` (a power of two) and a hash of their keys */
    struct inflight *ring; /* owns */
    uint32_t ring_size;
    uint32_t ring_head; /* oldest */
    uint32_t ring_count;
    int32_t *shadow; /* owns; hash bucket -> newest entry */

    struct deferred *deferred; /* owns; `deferred_size` slots */
    uint32_t deferred_size;
    uint32_t deferred_count;

    /* catalog, where group 0 is led */
    struct catalog *catalog;
    uint64_t catalog_index;
    struct settling *settling; /* owns */

    /* checkpoints */
    bool checkpoint_running;
    struct instant checkpoint_at; /* the next one by time; INSTANT_NEVER if nothing to write */
    struct instant retry_at;      /* after one that found no space */
    struct instant report_at;
    struct instant now; /* of the last event */
    struct trace trace;

    /* effects not taken yet, and what they lend */
    struct node_effect *effects; /* owns */
    size_t effect_count;
    size_t effect_next;
    size_t effect_capacity;
    struct arena lent;
    struct buffer range_out;
    struct buffer scratch;
    struct buffer text;
};

/* ---- node.c ---- */
static inline void node_note(struct node *n, enum node_trace kind, uint32_t subject, int64_t value)
{
    trace_add(&n->trace, n->now, kind, subject, value);
}

struct node_effect *node_push(struct node *n, enum node_effect_kind kind);
/* Replies to `from`; FROM_SELF comes back as an event of this node's own. */
struct reply *node_push_reply(struct node *n, uint64_t from, uint64_t request_id,
                              enum reply_code code);
/* The same with a text, formatted into memory that lends until the next event. */
void node_refuse(struct node *n, uint64_t from, uint64_t request_id, enum reply_code code,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));
struct partition *node_partition(const struct node *n, uint32_t id);
void node_add_partition(struct node *n, struct partition *p);
void node_remove_partition(struct node *n, uint32_t id);
/* Whether a record of this payload size can be taken now; if not, the request was refused. */
bool node_can_write(struct node *n, const struct operation *o, size_t payload);
/* Appends a record and its ring entry; valid until the next append. */
struct inflight *node_propose(struct node *n, enum log_kind kind, uint32_t group, uint64_t index,
                              struct slice head, struct slice tail);
/* The newest write in flight for a key. */
struct inflight *node_shadow(const struct node *n, struct slice key, uint64_t hash);
void node_shadow_add(struct node *n, struct inflight *e, uint64_t hash, size_t key_size);
struct slice inflight_key(const struct inflight *e);
struct slice inflight_item(const struct inflight *e); /* NULL data: a deletion */

/* ---- node_data.c ---- */
void node_run(struct node *n, struct operation *o);

/* ---- node_apply.c ---- */
struct applied {
    enum reply_code code;
    bool found;
    struct slice body;
    struct slice text;
};
/* The effect of a durable record. `want_old`: the item a write replaces goes into applied.body. */
enum status node_apply(struct node *n, enum log_kind kind, uint32_t group, uint64_t index,
                       struct slice payload, bool want_old, struct applied *out);
enum status node_load(struct node *n, struct buffer *error);
struct slice node_partition_row_key(struct node *n, uint32_t id);
void node_store_partition(struct node *n, struct partition *p);
void node_store_catalog_index(struct node *n);
void node_erased(struct node *n, struct slice lo);

/* ---- node_catalog.c ---- */
void node_catalog_request(struct node *n, struct operation *o);
void node_catalog_table_changed(struct node *n, const struct table *t);
void node_catalog_reply(struct node *n, const struct reply *reply);
void node_catalog_tick(struct node *n);
struct instant node_catalog_deadline(const struct node *n);
void node_catalog_resume(struct node *n); /* after the start: tables left unsettled */
void node_catalog_deinit(struct node *n);

#endif
