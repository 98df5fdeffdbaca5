/* catalog.h - tables, partitions and placement: the state machine of replication group 0.
 *
 * Commands are applied in log order. The same commands give the same state on every replica, except
 * for the sums of catalog_report. A command carries everything that is decided outside: settings, a
 * random uuid, the wall clock. Only the catalog keeps facts about tables: routers cache them, nodes
 * keep what they host.
 *
 * A table is CREATING, UPDATING or DELETING until the nodes have taken over its partitions. The
 * leader of the group drives that (engine/node/catalog_leader/reconcile.c), then proposes
 * CATALOG_RECONCILED. A split is driven in the same way, while the table stays ACTIVE. The new
 * partitions are in the map at once. Until CATALOG_RECONCILED they name the group from which they
 * are to be split off. A partition takes part in one split at a time. A merge is driven in the same
 * way too (merge.c).
 *
 * Persistence: the state is a set of rows in the storage-key space under table id 0. catalog_apply
 * tells which rows changed. catalog_load_row takes a row back. */
#pragma once

#include "engine/catalog/decision.h"
#include "engine/catalog/report.h"
#include "engine/catalog/split.h"
#include "engine/message/reply_code.h"

enum {
    CATALOG_GROUP = 0,
    CATALOG_TABLE_ID = 0
};

/* A command may stand twice in the log, and behind others that its sender did not know. What it
 * rests on is in it, and must still be so. RECONCILED has a hash of all that was reconciled. SPLIT,
 * MERGE, MOVE, LET_GO, LEFT, LEAD and RATES have the partition's epoch, and KEY_SHARDS the key's
 * version. FILLED has the id of an index: an index is filled once, and its id is never used again.
 * REPLACE rests on nothing: what is lost is looked up when it is applied. NODE may bring an older
 * generation back, until the catalog's leader hears that node again. */
enum catalog_op {
    CATALOG_CREATE = 1, /* spec */
    CATALOG_UPDATE,     /* spec: the name, and what changes */
    CATALOG_DELETE,     /* spec: name */
    /* table_id, reconciled: the nodes have done what its status and its splits ask for */
    CATALOG_RECONCILED,
    CATALOG_NODE,    /* node, generation: the node has this generation from now on */
    CATALOG_REPLACE, /* table_id: replicas of lost generations give way to new ones */
    CATALOG_SPLIT,   /* split: divides a partition; its group is told later */
    /* with a decision (engine/catalog/decision.h), which may have an event */
    CATALOG_EVENT,  /* only the event */
    CATALOG_MOVE,   /* a replica goes to another node, or there is one more */
    CATALOG_LET_GO, /* the group does not count on the moved replica any more */
    CATALOG_LEFT,   /* the moved replica is erased on its old node */
    CATALOG_RATES,  /* allocations of a table's partitions */
    CATALOG_PEAK,   /* a table on demand consumed more than ever before */
    CATALOG_DRAIN,  /* a node must hold nothing, or may hold replicas again */
    CATALOG_LEAD,   /* another replica of a partition should lead */
    CATALOG_MERGE,  /* two neighbouring partitions become one */
    /* a sharded key gets more or fewer shards, or has all items in their owner shards */
    CATALOG_KEY_SHARDS,
    CATALOG_FOUND,  /* group: where the catalog's own replicas are; only the first one counts */
    CATALOG_FILLED, /* table_id: the index has all items from before its creation */
    CATALOG_OPS,
};

struct catalog_command {
    enum catalog_op op;
    struct table_spec spec;
    uint32_t table_id;
    uint32_t node;
    uint32_t generation;
    struct slice decision; /* encoded */
    /* RECONCILED: table_reconcile_hash of what was reconciled. If the table has another one, the
     * command has no effect. */
    uint64_t reconciled;
    struct slice split; /* SPLIT: table_split_encode */
    struct slice group; /* FOUND: partition_info_encode */
    uint8_t uuid[16];
    int64_t wall_ms;
    int64_t agreed_ms; /* streams and shards are forgotten by it; 0: none is */
    /* settings of the proposing node */
    uint32_t node_count;
    uint32_t replicas;                      /* of each partition; never more than node_count */
    int64_t node_mcu[ADMIT_KINDS];          /* a node's capacity per second */
    int64_t partition_max_mcu[ADMIT_KINDS]; /* per second */
    int64_t table_max[ADMIT_KINDS];         /* units */
    int64_t on_demand[ADMIT_KINDS];         /* units */
    int64_t on_demand_reserved_percent;
    int64_t on_demand_switches_max;
    int64_t decreases_max;
    int64_t decrease_wait_s;
    int64_t ttl_change_ms;
    uint8_t gac; /* enum gac_policy, for tables that name none */
    int64_t tables_max;
    int64_t sharded_keys_max;
    int64_t table_partitions_max;
    int64_t stream_retention_ms;
};

/* Fills in the settings, and BILLING_PROVISIONED. */
void catalog_command_init(struct catalog_command *c, enum catalog_op op,
                          const struct config *config, uint32_t node_count, int64_t wall_ms);
/* RECONCILED: nodes have done what the table asks for now. */
void catalog_command_reconciled(struct catalog_command *c, const struct table *t);
void catalog_command_encode(struct buffer *out, const struct catalog_command *c);
enum status catalog_command_decode(struct slice bytes, struct catalog_command *out);

struct catalog;

struct catalog_row {
    struct slice key;   /* storage key */
    struct slice value; /* NULL data: remove */
};

/* The generation of the node; 0: the node was never heard of. */
uint32_t catalog_generation(const struct catalog *c, uint32_t node);
/* Whether the member's node has lost its disk since: it has another generation. False for a node
 * that was never heard of. */
bool catalog_has_lost(const struct catalog *c, uint64_t member);
/* Whether CATALOG_REPLACE would change the table. */
bool catalog_needs_replacing(const struct catalog *c, const struct table *t);
/* Whether each replica of one partition is on the same node and disk as one of the other. False if
 * a replica is leaving. */
bool catalog_stand_together(const struct catalog *c, const struct partition_info *a,
                            const struct partition_info *b);
/* Whether the node must hold nothing. */
bool catalog_is_drained(const struct catalog *c, uint32_t node);
/* Whether the partition existed, and no table has it any more. */
bool catalog_is_gone(const struct catalog *c, uint32_t partition);
/* Whether the partition has this member, may still get it, or has not erased it yet. */
bool catalog_may_have(const struct catalog *c, uint32_t partition, uint64_t member);
/* Whether this replica of the catalog knows the partition in that table, with this member (also a
 * leaving one). */
bool catalog_has(const struct catalog *c, uint32_t table_id, uint32_t partition, uint64_t member);

enum {
    CATALOG_ROWS_MAX = 4 + GLOBAL_INDEXES_MAX
};

/* Lends until the next catalog_apply. */
struct catalog_result {
    enum reply_code code;
    struct slice text;         /* why the command was refused */
    const struct table *table; /* as it is now; a deleted table as it was */
    uint32_t index_count;      /* its global indexes that have changed, too */
    const struct table *indexes[GLOBAL_INDEXES_MAX];
    uint32_t row_count;
    struct catalog_row rows[CATALOG_ROWS_MAX];
};

struct catalog *catalog_create(void);
/* Forgets everything, so that rows can be loaded. */
void catalog_clear(struct catalog *c);
void catalog_destroy(struct catalog *c);

/* STATUS_CORRUPT: the checksum or the content of the row is wrong. */
enum status catalog_load_row(struct catalog *c, struct slice key, struct slice value);

/* `command` must decode. The proposer has checked that. */
void catalog_apply(struct catalog *c, struct slice command, struct catalog_result *out);

/* Tables are in name order. NULL: there is none. Results lend until the next catalog_apply. */
const struct table *catalog_find(const struct catalog *c, struct slice name);
const struct table *catalog_find_id(const struct catalog *c, uint32_t id);
const struct table *catalog_after(const struct catalog *c, struct slice name);
/* The table after `t`; for NULL the first table. */
const struct table *catalog_next(const struct catalog *c, const struct table *t);
/* The next global index of the table, after `before`; for NULL the first one. NULL: no more. */
const struct table *catalog_next_index(const struct catalog *c, const struct table *t,
                                       const struct table *before);

/* The catalog's own group, as a table of one partition whose replicas may be moved. NULL: the group
 * is not founded yet. */
const struct table *catalog_itself(const struct catalog *c);

/* Events have numbers from 1; the last EVENTS_MAX are kept. 0: there is none yet. */
uint64_t catalog_last_event(const struct catalog *c);
/* An encoded event. Lends until the next catalog_apply. Empty: the event is not kept. */
struct slice catalog_event(const struct catalog *c, uint64_t number);

/* What each node has reserved, by node. */
struct reservations {
    int64_t loads_mcu[NODES_MAX + 1][ADMIT_KINDS]; /* per second */
    uint32_t work[NODES_MAX + 1];                  /* replicas; one that should lead counts twice */
};
/* Counts the reservations for all tables but `except`; CATALOG_TABLE_ID: to all tables. */
void catalog_count_reservations(const struct catalog *c, uint32_t except, struct reservations *out);

/* A node's report of a partition's items and bytes, on the catalog's leader. The sums are not part
 * of the replicated state. A table's row holds the sums that its replica knew when it wrote the
 * row: no command reads them, and new reports replace them after a restart or a change of leader.
 * */
void catalog_report(struct catalog *c, const struct partition_report *r);
