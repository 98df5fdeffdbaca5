/* catalog_internal.h - what the files of the catalog share.
 *
 *   catalog.c    tables, rows, operations on tables
 *   labels.c     what is only stored and returned: tags, class, encryption key; deletion protection
 *   modes.c      throughput that a table may ask for, provisioned or on demand
 *   allocate.c   allocations of a table's partitions, and the nodes that carry them
 *   split_points.c        a partition is split into several
 *   merge.c      two neighbouring partitions become one
 *   sharded_keys.c       the registry of a table's sharded keys
 *   stream_changes.c  streams and their shards
 *   globals.c    global indexes: tables that belong to a table
 *   table_check.c     what holds of a table after each command
 *   decisions.c  decisions of the controller: moves, allocations, drained nodes, events */
#pragma once

#include "engine/catalog/catalog.h"

enum {
    ROW_TABLE = 't',
    ROW_COUNTERS = 'c',
    ROW_NODE = 'n',
    ROW_EVENT = 'e',
    KEY_SIZE_MAX = 16
};
struct table_size {
    struct tally items;
    struct tally rows[LOCAL_INDEXES_MAX]; /* of local indexes, by place */
};

/* A table, and the memory of its slices. */
struct entry {
    struct buffer bytes; /* table_encode */
    struct arena arena;
    struct table table;
    struct table_size *sizes; /* by partition, in key order; owns */
};

struct catalog {
    struct entry **entries; /* owns; in name order */
    size_t count;
    size_t capacity;
    struct entry *itself; /* owns; NULL: not founded yet */
    uint32_t next_table_id;
    uint32_t next_partition_id;
    uint32_t generations[NODES_MAX + 1]; /* by node */
    bool drained[NODES_MAX + 1];
    uint64_t last_event;              /* number of the last event; 0: none yet */
    struct buffer events[EVENTS_MAX]; /* by number modulo EVENTS_MAX; empty: none */
    struct entry *removed;            /* owns; the table removed last, which is still lent */
    /* lent by the last result */
    struct buffer row_values[CATALOG_ROWS_MAX];
    uint8_t row_keys[CATALOG_ROWS_MAX][KEY_SIZE_MAX];
    struct buffer text;
};

/* NULL: there is no such table. */
struct entry *catalog_entry(const struct catalog *c, uint32_t table_id);
/* Replaces the table by `t`, whose slices may point into the entry. Its row changes. */
void catalog_entry_change(struct catalog *c, struct entry *e, const struct table *t,
                          struct catalog_result *out);
/* Whether all holds that commands keep (table_check.c). */
bool catalog_table_is_valid(const struct table *t);
/* Adds a new table, and chooses its partitions and their nodes. NULL: the command is refused. */
struct entry *catalog_add_table(struct catalog *c, const struct catalog_command *command,
                                struct table *t, struct arena *arena, struct catalog_result *out);
/* Changes the table as the command's spec says. False: the command is refused. */
bool catalog_update_entry(struct catalog *c, const struct catalog_command *command, struct entry *e,
                          struct catalog_result *out);
/* Refuses the command with `c->text` as the reason. Always false. */
bool catalog_refuse(struct catalog *c, struct catalog_result *out, enum reply_code code);
/* Writes a row: append to the returned buffer, then call catalog_row_close. */
struct buffer *catalog_row_open(struct catalog *c, struct catalog_result *out, uint8_t kind,
                                uint32_t id);
void catalog_row_close(struct catalog *c, struct catalog_result *out);
void catalog_counters_row(struct catalog *c, struct catalog_result *out);
void catalog_node_row(struct catalog *c, uint32_t node, struct catalog_result *out);

/* Makes member `i` a new replica on the node, which starts from a snapshot. */
void catalog_join(struct partition_info *p, uint32_t i, uint32_t node, uint32_t generation);

/* ---- labels.c ---- */

/* Changes tags, class, encryption key and deletion protection as the command's spec says. New
 * values come from the arena or lend from the command. False: there are too many tags, or one makes
 * no sense for the table; `c->text` says so. */
bool catalog_change_labels(struct catalog *c, const struct catalog_command *command,
                           struct table *t, struct arena *arena);

/* ---- ttl.c ---- */

/* Lets items expire, or lets them not expire any more, as the command's spec says. Lends from the
 * command. False: it is refused; `c->text` says why. */
bool catalog_change_ttl(struct catalog *c, const struct catalog_command *command, struct table *t);
/* The nodes have taken over what the table says. */
void catalog_reconciled_ttl(struct table *t);

/* ---- modes.c ---- */

/* Sets billing mode and throughput as the command's spec says. False: `c->text` tells which limit
 * is exceeded. */
bool catalog_change_throughput(struct catalog *c, const struct catalog_command *command,
                               struct table *t);
/* The number of partitions for all that the table should be able to serve at once. */
uint32_t catalog_partitions_needed(const struct catalog_command *command, const struct table *t);
/* Takes a new peak consumption, in units per second. */
void catalog_reach_peak(const struct catalog_command *command, struct table *t,
                        const int64_t peak[ADMIT_KINDS]);

/* ---- allocate.c ---- */

/* catalog_share. `placing`: also chooses the nodes. False: a node would reserve more than it
 * has, or too few nodes are known; `c->text` says so. */
bool catalog_allocate(struct catalog *c, const struct catalog_command *command, struct table *t,
                      bool placing);
/* Whether the nodes can carry the table in this form, with all other tables. */
bool catalog_nodes_fit(struct catalog *c, const struct catalog_command *command,
                       const struct table *t);

/* Call it after a partition of `before` was split or merged, which made `t`: shares the throughput.
 * `split`: how partition `at` was split; NULL: partition at + 1 was merged into it. A table on
 * demand never gets more than its nodes can reserve, and is never refused. In a provisioned
 * table the boosts are kept, or all of them go if the nodes cannot carry them. False: the nodes
 * cannot carry the equal shares; `c->text` says so. */
bool catalog_share_anew(struct catalog *c, const struct catalog_command *command, struct table *t,
                        const struct table *before, uint32_t at, const struct table_split *split);

/* ---- split_points.c ---- */

/* The partition to split. NULL: the split is refused, with the reason in `out`. */
struct partition_info *catalog_find_split(struct catalog *c, const struct catalog_command *command,
                                          const struct table_split *split, const struct entry *e,
                                          struct catalog_result *out);
/* Puts the children behind the parent, on its nodes. All members of a child are marked as joined: a
 * node that has not applied the split opens its replica from a snapshot. */
void catalog_split_partition(struct catalog *c, const struct table_split *split,
                             struct partition_info *p);

/* ---- stream_changes.c ---- */

/* Gives a new table, whose partitions are there, the stream that the command's spec asks for. */
void catalog_begin_stream(const struct catalog_command *command, struct table *t,
                          struct arena *arena);
/* Enables or disables the table's stream as the command's spec says. New values come from the
 * arena. False: `c->text` says why not. */
bool catalog_change_stream(struct catalog *c, const struct catalog_command *command,
                           struct table *t, struct arena *arena);
/* Partition `at` has just been split: the partitions behind it are its children. */
void catalog_split_shards(const struct catalog_command *command, struct table *t, uint32_t at,
                          uint32_t children, struct arena *arena);
/* The splits of the table are over: their shards are closed only now. */
void catalog_reconciled_shards(const struct catalog_command *command, struct table *t,
                               struct arena *arena);
/* Whether the table has a stream, or had one until less than stream_retention_ms ago. */
bool catalog_keeps_streams(const struct catalog_command *command, const struct table *t);

/* ---- merge.c ---- */

void catalog_merge(struct catalog *c, const struct catalog_command *command,
                   struct catalog_result *out);

/* ---- sharded_keys.c ---- */

void catalog_change_key_shards(struct catalog *c, const struct catalog_command *command,
                               struct catalog_result *out);

/* ---- globals.c ---- */

/* Sets the indexes of a new table. Global ones get the table ids that follow the table's. */
void catalog_number_indexes(const struct catalog_command *command, struct table *t,
                            struct arena *arena);
/* Adds the tables of the global indexes of a new table. False: the command is refused. */
bool catalog_create_indexes(struct catalog *c, const struct catalog_command *command,
                            const struct table *t, struct arena *arena, struct catalog_result *out);
/* Changes the table and those of its global indexes that the command's spec names: all of them or
 * none. */
void catalog_update_with_indexes(struct catalog *c, const struct catalog_command *command,
                                 struct entry *e, struct catalog_result *out);
void catalog_filled(struct catalog *c, const struct catalog_command *command,
                    struct catalog_result *out);
/* A global index of the table that is being created, filled, changed or deleted; NULL: none is. */
const struct table *catalog_busy_index(const struct catalog *c, const struct table *t);
/* Deletes the global indexes of a table that is deleted. */
void catalog_delete_indexes(struct catalog *c, const struct table *t, struct catalog_result *out);

/* ---- decisions.c ---- */

/* The entry of a table that is not being created or deleted. NULL: refused. */
struct entry *catalog_find_entry(struct catalog *c, uint32_t table_id, struct catalog_result *out);
/* Refuses a decision that rests on something which is no longer true. */
void catalog_refuse_stale(struct catalog *c, struct catalog_result *out, const char *why);
/* Replaces the entry's table by `t`, and records the decision's event, if it has one. */
void catalog_record(struct catalog *c, const struct catalog_command *command, struct entry *e,
                    const struct table *t, const struct decision *d, struct catalog_result *out);
/* The partition at that epoch. NULL: there is none. */
struct partition_info *catalog_find_partition(const struct table *t, uint32_t partition,
                                              uint64_t epoch);
void catalog_decide(struct catalog *c, const struct catalog_command *command,
                    struct catalog_result *out);
/* Loads the row of an event. */
enum status catalog_load_event(struct catalog *c, struct slice bytes);
