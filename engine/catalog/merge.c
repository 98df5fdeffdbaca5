/* merge.c - two neighbouring partitions become one, as the catalog does it.
 *
 *   BEGIN       upper: FREEZE. Its replicas must serve nothing and take nothing.
 *   ABSORB_IT   all its replicas are frozen. It leaves the map; lower: ABSORB, with its keys.
 *   ABSORBED    the lower one's group has taken over the keys.
 *   DONE        all replicas of the lower one have.
 *   GIVE_UP     instead of ABSORB_IT. upper: THAW, with the next epoch.
 *   THAWED      the upper one serves again.
 *
 * Invariants
 *   MERGE-1  For a frozen partition the catalog records ABSORB_IT or GIVE_UP, never both.
 *   MERGE-2  When ABSORB_IT is recorded, each replica of the lower partition is on the same disk as
 *            one of the upper partition.
 *   MERGE-3  From ABSORB_IT to ABSORBED no replica of the lower partition is replaced or moved: a
 *            new one would have nothing to take over.
 *   MERGE-4  Until DONE the upper partition does not count as gone (catalog_is_gone), so no node
 *            erases its replicas. Until DONE the lower partition is not split.
 *
 * docs/decisions/0022 tells why that is safe. */

#include "engine/catalog/catalog_internal.h"

bool catalog_stand_together(const struct catalog *c, const struct partition_info *a,
                            const struct partition_info *b)
{
    if (a->member_count != b->member_count || a->leaving != 0 || b->leaving != 0)
        return false;
    for (uint32_t i = 0; i < a->member_count; i++) {
        uint32_t node = partition_node(a, i);
        uint64_t other = partition_member_on(b, node);
        uint32_t generation = raft_member_generation(a->members[i]);
        if (other == 0 || raft_member_generation(other) != generation ||
            catalog_generation(c, node) != generation)
            return false;
    }
    return true;
}

/* NULL: the merge can begin. */
static const char *why_not_begin(const struct catalog *c, const struct catalog_command *command,
                                 const struct table *t, const struct partition_info *upper,
                                 const struct decision *d)
{
    if (upper == NULL || upper == t->partitions || upper[-1].id != d->merge_with ||
        upper[-1].epoch != d->merge_with_epoch)
        return "the partitions have changed since the decision";
    if (t->status != TABLE_ACTIVE || table_is_changing(t))
        return "the table is being updated, or partitions of it are being split or merged";
    if (catalog_keeps_streams(command, t))
        return "the table has, or recently had, a stream";
    if (!catalog_stand_together(c, upper - 1, upper))
        return "the partitions are not on the same nodes";
    return NULL;
}

static void merge_begin(struct catalog *c, const struct catalog_command *command, struct entry *e,
                        const struct decision *d, struct catalog_result *out)
{
    struct partition_info *upper = catalog_find_partition(&e->table, d->partition, d->epoch);
    const char *why = why_not_begin(c, command, &e->table, upper, d);
    if (why != NULL) {
        catalog_refuse_stale(c, out, why);
        return;
    }
    upper->merge = MERGE_FREEZE;
    upper->merge_with = d->merge_with;
    catalog_record(c, command, e, &e->table, d, out);
}

/* The upper partition's reported size goes to the lower one until there are new reports. */
static void join_sizes(struct entry *e, uint32_t upper, uint32_t before)
{
    must(upper >= 1 && upper < before);
    struct table_size *lower = &e->sizes[upper - 1];
    const struct table_size *gone = &e->sizes[upper];
    tally_add(&lower->items, gone->items.count, gone->items.bytes);
    for (int i = 0; i < LOCAL_INDEXES_MAX; i++)
        tally_add(&lower->rows[i], gone->rows[i].count, gone->rows[i].bytes);
    memmove(e->sizes + upper, e->sizes + upper + 1, (before - upper - 1) * sizeof e->sizes[0]);
}

/* Makes `t`: the table with the upper partition's keys in the lower one. */
static void merge_join(const struct table *before, uint32_t upper, const struct decision *d,
                       struct table *t)
{
    const struct partition_info *gone = &before->partitions[upper];
    uint32_t behind = before->partition_count - upper - 1;
    memcpy(t->partitions, before->partitions, upper * sizeof t->partitions[0]);
    memcpy(t->partitions + upper, gone + 1, behind * sizeof t->partitions[0]);
    t->partition_count--;
    struct partition_info *lower = &t->partitions[upper - 1];
    must(slice_equal(lower->hi, gone->lo)); /* they adjoin */
    lower->epoch++;
    lower->hi = gone->hi;
    lower->merge = MERGE_ABSORB;
    lower->merge_with = gone->id;
    lower->frozen_index = d->frozen_index;
    lower->frozen_term = d->frozen_term;
    lower->absorbed = false;
}

static void merge_absorb_upper(struct catalog *c, const struct catalog_command *command,
                               struct entry *e, const struct decision *d,
                               struct catalog_result *out)
{
    const struct table *before = &e->table;
    const struct partition_info *upper = catalog_find_partition(before, d->partition, d->epoch);
    if (upper == NULL || upper->merge != MERGE_FREEZE)
        return; /* recorded before, or given up */
    const struct partition_info *lower = upper == before->partitions ? NULL : upper - 1;
    if (lower == NULL || lower->id != upper->merge_with || lower->merge != MERGE_NONE ||
        lower->parent != 0 || upper->parent != 0 || !catalog_stand_together(c, lower, upper)) {
        catalog_refuse_stale(c, out, "the partitions have changed");
        return;
    }
    struct arena arena = {0};
    struct table t = *before;
    uint32_t at = (uint32_t)(lower - before->partitions);
    t.partitions = arena_alloc(&arena, before->partition_count * sizeof t.partitions[0]);
    merge_join(before, at + 1, d, &t);
    if (catalog_share_anew(c, command, &t, before, at, NULL)) {
        join_sizes(e, at + 1, before->partition_count);
        catalog_record(c, command, e, &t, d, out);
    } else {
        catalog_refuse(c, out, REPLY_LIMIT_EXCEEDED);
    }
    arena_deinit(&arena);
}

/* From one step to the next. A step that is recorded already changes nothing. */
static void merge_take_step(struct catalog *c, const struct catalog_command *command,
                            struct entry *e, const struct decision *d, struct catalog_result *out)
{
    struct partition_info *p = catalog_find_partition(&e->table, d->partition, d->epoch);
    enum merge_step from = d->merge == MERGE_GIVE_UP  ? MERGE_FREEZE
                           : d->merge == MERGE_THAWED ? MERGE_THAW
                                                      : MERGE_ABSORB;
    if (p == NULL || p->merge != from || (d->merge == MERGE_ABSORBED && p->absorbed))
        return;
    if (d->merge == MERGE_GIVE_UP) {
        p->merge = MERGE_THAW;
        p->epoch++;
    } else if (d->merge == MERGE_ABSORBED) {
        p->absorbed = true;
    } else {
        p->merge = MERGE_NONE;
        p->merge_with = 0;
        p->absorbed = false;
    }
    catalog_record(c, command, e, &e->table, d, out);
}

void catalog_merge(struct catalog *c, const struct catalog_command *command,
                   struct catalog_result *out)
{
    struct decision d;
    must(decision_decode(command->decision, &d) == STATUS_OK);
    struct entry *e = catalog_find_entry(c, d.table_id, out);
    if (e == NULL)
        return;
    if (d.merge == MERGE_BEGIN)
        merge_begin(c, command, e, &d, out);
    else if (d.merge == MERGE_ABSORB_IT)
        merge_absorb_upper(c, command, e, &d, out);
    else
        merge_take_step(c, command, e, &d, out);
}
