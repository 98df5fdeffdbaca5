/* split_points.c - decides whether a partition can be split as asked, and makes the pieces.
 *
 * Invariant
 *   BOUND-1  No key of an item is a proper beginning of a bound of its partition: all rows of an
 *            item lie in the partition that has the item. */
#include "engine/catalog/catalog_internal.h"

/* Whether a split point lies inside an item collection: behind its partition key. */
static bool divides_collection(const struct table_split *split)
{
    for (uint32_t i = 0; i < split->point_count; i++) {
        if (storage_key_collection_size(split->points[i]) < split->points[i].size)
            return true;
    }
    return false;
}

/* Whether a split point lies behind an item's key, and before what follows that key. There lie the
 * rows that belong to the item: its lock, its record, its changes for indexes. They would go to the
 * other partition (BOUND-1). */
static bool divides_item(const struct table *t, const struct table_split *split)
{
    const uint32_t parts = t->sort_key.name.size > 0 ? 2 : 1;
    for (uint32_t i = 0; i < split->point_count && t->index_of == 0; i++) {
        if (!storage_key_is_bound(split->points[i], parts))
            return true;
    }
    return false;
}

/* Whether a partition of the table is frozen: no split may begin then. CATALOG_RECONCILED tells by
 * the number of partitions which splits it ends. A merge and another split between a split and its
 * end would leave this number the same. */
static bool has_frozen(const struct table *t)
{
    bool frozen = false;
    for (uint32_t i = 0; i < t->partition_count; i++)
        frozen |= t->partitions[i].merge == MERGE_FREEZE;
    return frozen;
}

/* NULL: the table and the partition can be split now. */
static const char *why_not_now(const struct table *t, const struct partition_info *p)
{
    if (p != NULL && table_partition_is_changing(t, p))
        return "The partition is being split or merged";
    if (t->status != TABLE_ACTIVE)
        return "The table is being updated or deleted";
    return has_frozen(t) ? "A partition of the table is about to be merged" : NULL;
}

struct partition_info *catalog_find_split(struct catalog *c, const struct catalog_command *command,
                                          const struct table_split *split, const struct entry *e,
                                          struct catalog_result *out)
{
    const struct table *t = &e->table;
    struct partition_info *p = table_find_partition(t, split->partition);
    const char *why = why_not_now(t, p);
    if (why != NULL) {
        buffer_append_text(&c->text, why);
        catalog_refuse(c, out, REPLY_TABLE_BUSY);
        return NULL;
    }
    if (p == NULL)
        buffer_append_format(&c->text, "The table has no partition %u", split->partition);
    else if (p->epoch != split->epoch)
        buffer_append_format(&c->text,
                             "Partition %u is at epoch %llu, not %llu: it was split meanwhile",
                             p->id, (unsigned long long)p->epoch, (unsigned long long)split->epoch);
    else if (p->leaving != 0)
        buffer_append_format(&c->text, "A replica of partition %u is moving", p->id);
    else if (slice_compare(split->points[0], p->lo) <= 0 ||
             (p->hi.size > 0 && slice_compare(split->points[split->point_count - 1], p->hi) >= 0))
        buffer_append_format(&c->text, "A split point lies outside partition %u", p->id);
    else if (divides_item(t, split))
        buffer_append_format(
            &c->text, "A split point of partition %u lies between an item and its rows", p->id);
    else if (t->whole_collections && divides_collection(split))
        buffer_append_format(&c->text,
                             "A split point of partition %u lies inside an item collection, and "
                             "the table keeps its collections whole",
                             p->id);
    else if (t->stream_set != NULL && !stream_may_split(p->lo, split->points[0]))
        buffer_append_format(&c->text, "A split point of partition %u leaves no keys below it",
                             p->id);
    if (c->text.size > 0) {
        catalog_refuse(c, out, REPLY_MALFORMED);
        return NULL;
    }
    if (t->partition_count + split->point_count <= command->table_partitions_max)
        return p;
    buffer_append_format(&c->text, "The table would have %u partitions, the limit is %lld",
                         t->partition_count + split->point_count,
                         (long long)command->table_partitions_max);
    catalog_refuse(c, out, REPLY_LIMIT_EXCEEDED);
    return NULL;
}

void catalog_split_partition(struct catalog *c, const struct table_split *split,
                             struct partition_info *p)
{
    struct slice hi = p->hi;
    const struct partition_info parent = *p;
    p->epoch++;
    p->hi = split->points[0];
    for (uint32_t i = 0; i < split->point_count; i++) {
        struct partition_info *child = &p[i + 1];
        *child = parent;
        child->id = c->next_partition_id++;
        child->epoch = 1;
        child->lo = split->points[i];
        child->hi = i + 1 < split->point_count ? split->points[i + 1] : hi;
        child->joined = (1U << child->member_count) - 1;
        child->parent = parent.id;
        for (int kind = 0; kind < ADMIT_KINDS; kind++)
            child->share_ppm[kind] = split->share_ppm[kind][i + 1];
    }
}
