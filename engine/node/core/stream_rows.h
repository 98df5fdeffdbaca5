/* stream_rows.h - what writes do to the stream of their table: records, as rows of the partition.
 *
 * The leader that proposes a write adds a change to the same log entry. It says what the record has
 * beside the item that the write leaves. Each replica makes the row from both as it applies the
 * entry.
 *
 * Invariants
 *   STREAM-2  In the applied state a partition has a record for each applied write that changed an
 *             item while the partition knew the stream, but for trimmed ones. The order is that of
 *             the log. A write that leaves an item as it was has none.
 *   STREAM-3  All records of a shard lie before the entry of the log that closes it: a split, or
 *             the end of the stream. While such an entry is on its way, writes that make records
 *             wait. So the entry of a write says which shard has the record, and a replica makes
 *             the row whatever the catalog has told it already. */
#pragma once

#include "base/mutation.h"
#include "engine/item/step_budget.h"
#include "engine/node/core/env.h"
#include "engine/node/core/partition.h"
#include "engine/store/change_set.h"

/* Whether writes make records. */
static inline bool stream_rows_on(const struct partition *p)
{
    return p->info.stream.view != STREAM_OFF;
}

/* Whether there may be records. */
static inline bool stream_rows_any(const struct partition *p)
{
    return p->count.on || p->stream.rows.count > 0;
}

/* Whether writes that make records must wait until what is proposed is applied. */
static inline bool stream_rows_wait(const struct partition *p)
{
    return stream_rows_on(p) && p->stream.changing > raft_applied(p->raft) &&
           !MUTATED(MUTATION_OUTLIVE_SHARD);
}

/* Appends the value of the change of a write. Nothing: it makes no record. `old`, `now`: the item;
 * empty: none. `by_service`: its time was over. */
void stream_rows_plan(const struct partition *p, struct slice old, struct slice now,
                      bool by_service, int64_t wall_ms, struct steps *steps, struct buffer *out);

/* Applies a change of SPACE_STREAM: a record, or one that is trimmed. `item`: the change of the
 * item that follows. `index`: of the entry. `place`: of the record in it. */
void stream_rows_apply(struct node_env *env, struct partition *p, const struct change *c,
                       const struct change *item, uint64_t index, uint32_t place);

bool stream_change_is_valid(const struct change *c);
