/* catalog_internal.h - what the files of the catalog share.
 *
 *   catalog.c    tables, rows, what operations on tables do
 *   labels.c     what a table is told and only tells again: tags, class, key of encryption
 *   modes.c      what a table may ask for, provisioned or on demand
 *   allocate.c   what its partitions are allocated, and the nodes that carry it
 *   cut.c        partitions cut into several
 *   merge.c      two partitions that adjoin become one
 *   decisions.c  what the controller decides: moves, allocations, drained nodes, events */
#ifndef WEIR_ENGINE_CATALOG_CATALOG_INTERNAL_H
#define WEIR_ENGINE_CATALOG_CATALOG_INTERNAL_H

#include "engine/catalog/catalog.h"

enum {
    ROW_TABLE = 't',
    ROW_COUNTERS = 'c',
    ROW_NODE = 'n',
    ROW_EVENT = 'e',
    KEY_SIZE_MAX = 16
};
struct table_size {
    int64_t items;
    int64_t bytes;
};

/* A table and the memory its slices live in. */
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
    uint64_t last_event;              /* its number; 0: none yet */
    struct buffer events[EVENTS_MAX]; /* by number modulo; empty: none */
    struct entry *removed;            /* the last one, still lent out; owns */
    /* what the last result lends */
    struct buffer row_values[CATALOG_ROWS_MAX];
    uint8_t row_keys[CATALOG_ROWS_MAX][KEY_SIZE_MAX];
    struct buffer text;
};

/* NULL: there is none. */
struct entry *catalog_entry(const struct catalog *c, uint32_t table_id);
/* The table is `t` from now on, whose slices may point into it; its row changes. */
void catalog_entry_change(struct catalog *c, struct entry *e, const struct table *t,
                          struct catalog_result *out);
/* `c->text` says why. */
void catalog_refuse(struct catalog *c, struct catalog_result *out, enum reply_code code);
/* A row: append to what row_open returns, then close. */
struct buffer *catalog_row_open(struct catalog *c, struct catalog_result *out, uint8_t kind,
                                uint32_t id);
void catalog_row_close(struct catalog *c, struct catalog_result *out);
void catalog_node_row(struct catalog *c, uint32_t node, struct catalog_result *out);

/* Member `i` is a replica that is new on that node, from now on. */
void catalog_join(struct partition_info *p, uint32_t i, uint32_t node, uint32_t generation);

/* ---- labels.c ---- */

/* Tags, class and key of encryption as the command's spec has them. What is new comes from the
 * arena or lends from the command. False: `c->text` says which limit is in the way. */
bool catalog_change_labels(struct catalog *c, const struct catalog_command *command,
                           struct table *t, struct arena *arena);

/* ---- modes.c ---- */

/* Billing mode and throughput as the command's spec has them; of a new table, the first ones.
 * False: `c->text` says which limit is in the way. */
bool catalog_change_throughput(struct catalog *c, const struct catalog_command *command,
                               struct table *t);
/* Partitions for all that the table should be able to serve at once. */
uint32_t catalog_partitions_needed(const struct catalog_command *command, const struct table *t);
/* It consumed as much as that, in units a second. */
void catalog_reach_peak(const struct catalog_command *command, struct table *t,
                        const int64_t peak[ADMIT_KINDS]);

/* ---- allocate.c ---- */

/* What each partition is allocated. */
void catalog_share(const struct catalog_command *command, struct table *t);
/* The same of a table on demand, or as much of it as its nodes can be promised to. */
void catalog_share_what_fits(struct catalog *c, const struct catalog_command *command,
                             struct table *t);
/* The same, and nodes where `placing`, so that no node is promised to more than it has. False:
 * `c->text` says why not. */
bool catalog_allocate(struct catalog *c, const struct catalog_command *command, struct table *t,
                      bool placing);
/* Whether the nodes can carry the table in this form, with all the others. */
bool catalog_nodes_fit(struct catalog *c, const struct catalog_command *command,
                       const struct table *t);

/* ---- cut.c ---- */

/* NULL: `c->text` or the code says why not. */
struct partition_info *catalog_find_split(struct catalog *c, const struct catalog_command *command,
                                          const struct table_split *split, const struct entry *e,
                                          struct catalog_result *out);
/* The children come behind the parent, on its nodes. Whoever opens one without having applied the
 * split starts from a snapshot: each is marked as joined. */
void catalog_cut_partition(struct catalog *c, const struct table_split *split,
                           struct partition_info *p);

/* ---- merge.c ---- */

void catalog_merge(struct catalog *c, const struct catalog_command *command,
                   struct catalog_result *out);

/* ---- decisions.c ---- */

/* Of a table that stays; NULL: it was refused. */
struct entry *catalog_find_entry(struct catalog *c, uint32_t table_id, struct catalog_result *out);
/* What the decision rests on does not hold any more. */
void catalog_refuse_stale(struct catalog *c, struct catalog_result *out, const char *why);
/* The decision's event, if it has one. */
void catalog_tell(struct catalog *c, const struct catalog_command *command,
                  const struct decision *d, struct catalog_result *out);
void catalog_decide(struct catalog *c, const struct catalog_command *command,
                    struct catalog_result *out);
/* The entry's table has just been cut, and its throughput divided equally. What a partition had
 * beyond its equal share `before` stays its own, or goes to its pieces by their shares of the load;
 * all of it, or nothing if the nodes cannot carry it. `at`: the one that was cut. */
void catalog_keep_boosts(struct catalog *c, const struct catalog_command *command, struct entry *e,
                         const struct table *before, const struct table_split *split, uint32_t at);
/* An event's row is taken back. */
enum status catalog_load_event(struct catalog *c, struct slice bytes);

#endif
