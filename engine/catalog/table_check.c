/* table_check.c - what holds of a table after each command, checked in builds for tests.
 *
 * Not here: what holds between tables, and what a command needs (the file of the command). */
#include "engine/catalog/catalog_internal.h"

/* Each replica has a node of its own. */
static bool partition_members_are_valid(const struct partition_info *p)
{
    bool valid = p->member_count >= 1 && p->member_count <= REPLICAS_MAX;
    for (uint32_t i = 0; valid && i < p->member_count; i++) {
        const uint32_t node = partition_node(p, i);
        valid = node >= 1 && node <= NODES_MAX;
        for (uint32_t k = 0; valid && k < i; k++)
            valid = partition_node(p, k) != node;
    }
    return valid;
}

static bool partition_is_valid(const struct table *t, const struct partition_info *p)
{
    return p->id != 0 && p->epoch != 0 && p->table_id == t->id && p->rate_mcu[ADMIT_READ] >= 0 &&
           p->rate_mcu[ADMIT_WRITE] >= 0 && partition_members_are_valid(p) &&
           (p->merge == MERGE_NONE || p->merge_with != 0) &&
           (p->merge == MERGE_NONE || p->parent == 0) && (!p->let_go || p->leaving != 0);
}

/* STREAMS-1 of stream_changes.c. */
static bool streams_are_valid(const struct table *t)
{
    const struct table_stream *enabled = table_streams_enabled(t->stream_set);
    uint32_t open = 0;
    for (uint32_t i = 0; t->stream_set != NULL && i < t->stream_set->count; i++) {
        const struct table_stream *s = &t->stream_set->at[i];
        for (uint32_t k = 0; k < s->shard_count; k++)
            open += s->shards[k].closed_ms == 0;
    }
    for (uint32_t i = 0; enabled != NULL && i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        const struct table_shard *shard = table_stream_shard(enabled, p->id, p->epoch);
        if (shard == NULL || shard->closed_ms != 0)
            return false;
    }
    return open == (enabled != NULL ? t->partition_count : 0);
}

bool catalog_table_is_valid(const struct table *t)
{
    bool valid = t->partition_count >= 1;
    for (uint32_t i = 0; valid && i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        const bool adjoins = i == 0 || slice_equal(p[-1].hi, p->lo);
        valid = partition_is_valid(t, p) && adjoins && (i == 0 || p[-1].id != p->id);
    }
    return valid && streams_are_valid(t);
}
