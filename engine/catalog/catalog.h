/* catalog.h - tables, partitions and placement: the state machine of replication group 0.
 *
 * Commands are applied in log order; the same commands give the same state on every replica. A
 * command carries everything that is decided outside: the settings in force, a random uuid, the
 * wall clock. Nothing about tables is kept anywhere else: routers cache, nodes keep what they host.
 *
 * A table is CREATING, UPDATING or DELETING until the nodes have taken over its partitions; whoever
 * leads the group drives that (engine/node/settling.c) and then proposes CATALOG_SETTLE. A split is
 * driven the same way, while the table stays ACTIVE: the new partitions are in the map at once and
 * name the group they have yet to be split off from until CATALOG_SETTLE; a table has one split
 * under way at a time. So is a merge (merge.c).
 *
 * Persistence: the state is a set of rows in the storage-key space under table id 0; catalog_apply
 * says which rows changed, catalog_load_row takes them back. */
#ifndef WEIR_ENGINE_CATALOG_CATALOG_H
#define WEIR_ENGINE_CATALOG_CATALOG_H

#include "base/config.h"
#include "engine/catalog/decision.h"
#include "engine/catalog/split.h"
#include "engine/message/message.h"

enum {
    CATALOG_GROUP = 0,
    CATALOG_TABLE_ID = 0
};

enum catalog_op {
    CATALOG_CREATE = 1, /* spec */
    CATALOG_UPDATE,     /* spec: name, and what is not AS_IT_IS */
    CATALOG_DELETE,     /* spec: name */
    CATALOG_SETTLE,     /* table_id: the nodes have done what the table's status asks for */
    CATALOG_NODE,       /* node, generation: as which the node lives from now on */
    CATALOG_REPLACE,    /* table_id: replicas of generations that are gone give way to new ones */
    CATALOG_SPLIT,      /* split: a partition is cut; its group is yet to be told */
    /* decision: see engine/catalog/decision.h; they may tell an event */
    CATALOG_EVENT,  /* nothing but the event */
    CATALOG_MOVE,   /* a replica to another node, or one more */
    CATALOG_LET_GO, /* the group counts no more on what was moved away */
    CATALOG_LEFT,   /* that is erased where it was */
    CATALOG_RATES,  /* allocations of partitions of a table */
    CATALOG_PEAK,   /* what a table on demand consumed, more than ever before */
    CATALOG_DRAIN,  /* a node is to hold nothing, or may again */
    CATALOG_LEAD,   /* another of a partition's replicas should lead it */
    CATALOG_MERGE,  /* two partitions that adjoin become one */
    CATALOG_FOUND,  /* group: where the catalog's own replicas are, of which it knows nothing yet */
    CATALOG_OPS,
};

struct catalog_command {
    enum catalog_op op;
    struct table_spec spec;
    uint32_t table_id;
    uint32_t node;
    uint32_t generation;
    struct slice decision; /* encoded */
    /* SETTLE: of the table, as it was settled. Said of one that has changed since, it means
     * nothing: a deletion is not done because a split is. */
    uint32_t partition_count;
    enum table_status status;
    struct slice split; /* SPLIT: table_split_encode */
    struct slice group; /* FOUND: partition_info_encode */
    uint8_t uuid[16];
    int64_t wall_ms;
    /* settings in force where it was proposed */
    uint32_t node_count;
    uint32_t replicas;                      /* of a partition; fewer if there are fewer nodes */
    int64_t node_mcu[ADMIT_KINDS];          /* a node's capacity per second */
    int64_t partition_max_mcu[ADMIT_KINDS]; /* per second */
    int64_t table_max[ADMIT_KINDS];         /* units */
    int64_t on_demand[ADMIT_KINDS];         /* units */
    int64_t on_demand_promise_percent;
    int64_t on_demand_switches_max;
    uint8_t gac; /* enum gac_policy, of tables that name none */
    int64_t tables_max;
    int64_t table_partitions_max;
};

/* Fills in the settings. */
void catalog_command_init(struct catalog_command *c, enum catalog_op op,
                          const struct config *config, uint32_t node_count, int64_t wall_ms);
void catalog_command_encode(struct buffer *out, const struct catalog_command *c);
enum status catalog_command_decode(struct slice bytes, struct catalog_command *out);

struct catalog;

struct catalog_row {
    struct slice key;   /* storage key */
    struct slice value; /* NULL data: remove */
};

/* The generation under which the node lives; 0: it was never heard of. */
uint32_t catalog_generation(const struct catalog *c, uint32_t node);
/* Whether CATALOG_REPLACE would change anything. */
bool catalog_needs_replacing(const struct catalog *c, const struct table *t);
/* Whether each replica of one partition stands beside one of the other, on the same disk, and none
 * of them gives way to another. */
bool catalog_stand_together(const struct catalog *c, const struct partition_info *a,
                            const struct partition_info *b);
/* Whether the node is to hold nothing. */
bool catalog_is_drained(const struct catalog *c, uint32_t node);
/* Whether the partition is one that no table has any more. */
bool catalog_is_gone(const struct catalog *c, uint32_t partition);
/* Whether the partition should have this member, or may get it yet, or has not got rid of it. */
bool catalog_may_have(const struct catalog *c, uint32_t partition, uint64_t member);
/* Whether the partition is known, of that table, and has this member. What is not known yet to this
 * replica of the catalog is not. */
bool catalog_has(const struct catalog *c, uint32_t table_id, uint32_t partition, uint64_t member);

enum {
    CATALOG_ROWS_MAX = 2
};

/* Lends until the next catalog_apply. */
struct catalog_result {
    enum reply_code code;
    struct slice text;         /* why not */
    const struct table *table; /* as it is now; as it was, if it is gone */
    uint32_t row_count;
    struct catalog_row rows[CATALOG_ROWS_MAX];
};

struct catalog *catalog_create(void);
/* Forgets everything: its rows are about to be loaded anew. */
void catalog_clear(struct catalog *c);
void catalog_destroy(struct catalog *c);

/* STATUS_CORRUPT: the row fails its checksum or makes no sense. */
enum status catalog_load_row(struct catalog *c, struct slice key, struct slice value);

/* `command` must decode: the proposer has checked it. */
void catalog_apply(struct catalog *c, struct slice command, struct catalog_result *out);

/* Tables in name order; NULL if there is none. They lend until the next catalog_apply. */
const struct table *catalog_find(const struct catalog *c, struct slice name);
const struct table *catalog_find_id(const struct catalog *c, uint32_t id);
const struct table *catalog_after(const struct catalog *c, struct slice name);

/* The catalog's own group, like a table of one partition whose replicas may be moved; NULL: it is
 * not founded yet. */
const struct table *catalog_itself(const struct catalog *c);

/* Events are numbered from 1; the last EVENTS_MAX are kept. 0: none yet. */
uint64_t catalog_last_event(const struct catalog *c);
/* Encoded; lends until the next catalog_apply. Empty: it is not kept. */
struct slice catalog_event(const struct catalog *c, uint64_t number);

/* What each node of 0 .. NODES_MAX is promised to carry per second, added up in `loads`, and in
 * `partitions` the work of its replicas, a leader's counted twice. */
void catalog_node_loads(const struct catalog *c, int64_t (*loads)[ADMIT_KINDS],
                        uint32_t *partitions);

/* Items and bytes as a node last reported them for a partition: not part of the replicated state.
 */
void catalog_report(struct catalog *c, uint32_t table_id, uint32_t partition, int64_t items,
                    int64_t bytes);

#endif
