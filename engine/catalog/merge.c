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
#include <stdlib.h>

#include "engine/admission/share.h"
#include "engine/catalog/catalog_internal.h"

/* Index of the partition at that epoch. partition_count: there is none. */
static uint32_t find_at(const struct table *t, uint32_t partition, uint64_t epoch)
{
    uint32_t i = 0;
    while (i < t->partition_count &&
           (t->partitions[i].id != partition || t->partitions[i].epoch != epoch))
        i++;
    return i;
}

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
static const char *why_not_begin(const struct catalog *c, const struct table *t, uint32_t upper,
                                 const struct decision *d)
{
    if (upper == t->partition_count || upper == 0 || t->partitions[upper - 1].id != d->merge_with ||
        t->partitions[upper - 1].epoch != d->merge_with_epoch)
        return "the partitions are not as the decision saw them";
    if (t->status != TABLE_ACTIVE || table_is_changing(t))
        return "the table is being updated, or partitions of it are being split or merged";
    if (!catalog_stand_together(c, &t->partitions[upper - 1], &t->partitions[upper]))
        return "the partitions are not on the same nodes";
    return NULL;
}

static void merge_begin(struct catalog *c, const struct catalog_command *command, struct entry *e,
                        const struct decision *d, struct catalog_result *out)
{
    struct table t = e->table;
    uint32_t upper = find_at(&t, d->partition, d->epoch);
    const char *why = why_not_begin(c, &t, upper, d);
    if (why != NULL) {
        catalog_refuse_stale(c, out, why);
        return;
    }
    t.partitions[upper].merge = MERGE_FREEZE;
    t.partitions[upper].merge_with = d->merge_with;
    catalog_entry_change(c, e, &t, out);
    catalog_tell(c, command, d, out);
}

/* The upper partition's reported size goes to the lower one until there are new reports. */
static void join_sizes(struct entry *e, uint32_t upper, uint32_t before)
{
    e->sizes[upper - 1].items += e->sizes[upper].items;
    e->sizes[upper - 1].bytes += e->sizes[upper].bytes;
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
    lower->epoch++;
    lower->hi = gone->hi;
    lower->merge = MERGE_ABSORB;
    lower->merge_with = gone->id;
    lower->frozen_index = d->frozen_index;
    lower->frozen_term = d->frozen_term;
    lower->absorbed = false;
}

/* The throughput was just divided equally. What a partition had beyond its equal share before stays
 * its own. The lower partition gets the upper one's. All is kept, or nothing if the nodes cannot
 * carry it. */
static void keep_boosts(struct catalog *c, const struct catalog_command *command,
                        const struct table *before, uint32_t upper, struct table *t)
{
    for (uint32_t i = 0; i < before->partition_count; i++) {
        struct partition_info *p = &t->partitions[i < upper ? i : i - 1];
        for (int kind = 0; kind < ADMIT_KINDS; kind++) {
            int64_t units = kind == ADMIT_READ ? t->rcu : t->wcu;
            int64_t boost = before->partitions[i].rate_mcu[kind] -
                            share_equal_mcu(units, before->partition_count, i);
            if (boost > 0)
                p->rate_mcu[kind] += boost;
        }
    }
    if (catalog_nodes_fit(c, command, t))
        return;
    buffer_clear(&c->text);
    catalog_share(command, t);
}

static void merge_absorb_upper(struct catalog *c, const struct catalog_command *command,
                               struct entry *e, const struct decision *d,
                               struct catalog_result *out)
{
    const struct table before = e->table;
    uint32_t upper = find_at(&before, d->partition, d->epoch);
    if (upper == before.partition_count || before.partitions[upper].merge != MERGE_FREEZE)
        return; /* recorded before, or given up */
    const struct partition_info *lower = upper == 0 ? NULL : &before.partitions[upper - 1];
    if (lower == NULL || lower->id != before.partitions[upper].merge_with ||
        lower->merge != MERGE_NONE || lower->parent != 0 || before.partitions[upper].parent != 0 ||
        !catalog_stand_together(c, lower, &before.partitions[upper])) {
        catalog_refuse_stale(c, out, "the partitions are no longer as they were");
        return;
    }
    struct arena arena = {0};
    struct table t = before;
    t.partitions = arena_alloc(&arena, before.partition_count * sizeof t.partitions[0]);
    merge_join(&before, upper, d, &t);
    bool on_demand = t.billing == BILLING_ON_DEMAND;
    if (on_demand)
        catalog_share_what_fits(c, command, &t);
    if (on_demand || catalog_allocate(c, command, &t, false)) {
        if (!on_demand)
            keep_boosts(c, command, &before, upper, &t);
        join_sizes(e, upper, before.partition_count);
        catalog_entry_change(c, e, &t, out);
        catalog_tell(c, command, d, out);
    } else {
        catalog_refuse(c, out, REPLY_LIMIT_EXCEEDED);
    }
    arena_deinit(&arena);
}

/* From one step to the next. A step that is recorded already changes nothing. */
static void merge_take_step(struct catalog *c, const struct catalog_command *command,
                            struct entry *e, const struct decision *d, struct catalog_result *out)
{
    struct table t = e->table;
    uint32_t at = find_at(&t, d->partition, d->epoch);
    struct partition_info *p = at == t.partition_count ? NULL : &t.partitions[at];
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
    catalog_entry_change(c, e, &t, out);
    catalog_tell(c, command, d, out);
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
