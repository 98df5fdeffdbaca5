/* local_rows.h - what writes do to the rows of local indexes.
 *
 * The leader says in the log entry of a write which rows go, come or change. It does not write the
 * rows: each replica makes them from the item of the entry (engine/index/row.h). So an entry is no
 * larger with five indexes that show all of an item.
 *
 * Invariant
 *   LOCAL-1  In the applied state, an index has exactly the rows that follow from the items. */
#pragma once

#include "engine/expression/update_program.h"
#include "engine/node/core/env.h"
#include "engine/node/core/partition.h"
#include "engine/store/change_set.h"

/* The changes of a write. */
struct local_writes {
    uint32_t count;
    struct change changes[2 * LOCAL_INDEXES_MAX]; /* keys lend from the planner's buffer */
    int64_t costs_mcu[2 * LOCAL_INDEXES_MAX];     /* of each change */
    int64_t cost_mcu;
    int64_t size;  /* of all rows of the item after the write */
    int64_t bytes; /* by which the rows grow; below zero: they shrink */
};

/* `old` and `now`: the item before and after the write; empty: none. `keys` lends the changes' keys
 * until its next change. */
void local_rows_plan(const struct partition *p, struct slice key, struct slice old,
                     struct slice now, struct buffer *keys, struct steps *steps,
                     struct local_writes *out);

/* Appends what a change of the row of a local index costs, as in struct reply. */
void local_rows_report_cost(struct buffer *costs, uint8_t number, int64_t mcu);

/* Applies a change of SPACE_LOCAL_ROWS. `item`: the change of the item that follows. Appends to
 * `costs` what the change costs, as in struct reply. */
void local_rows_apply(struct node_env *env, struct partition *p, const struct change *c,
                      const struct change *item, struct buffer *costs);

/* The bytes of the log entry of a write that leaves so much of an item, but for what it tells
 * global indexes and streams. */
size_t item_entry_bytes(const struct partition *p, struct slice key, size_t item_bytes);
