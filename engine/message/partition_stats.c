/* partition_stats.c - struct partition_stats as bytes. */
#include "engine/message/partition_stats.h"

#include "base/codec.h"

_Static_assert(sizeof(struct index_refusal) == 2 * sizeof(uint32_t) + sizeof(uint64_t),
               "reports are hashed: no padding");

static void stats_walk_number(struct codec *c, int64_t *value)
{
    codec_i64(c, value, INT64_MIN, INT64_MAX);
}

void index_refusal_walk(struct codec *c, struct index_refusal *r)
{
    must(codec_reads(c) || r->reason < ADMIT_REASONS);
    codec_u32(c, &r->index);
    codec_u32(c, &r->partition);
    codec_u64(c, &r->reason);
    codec_check(c, r->reason < ADMIT_REASONS);
}

static void partition_stats_walk(struct codec *c, struct partition_stats *s)
{
    codec_u32(c, &s->partition);
    codec_u32(c, &s->node);
    codec_u32(c, &s->table_id);
    codec_bool(c, &s->leads);
    codec_u8(c, &s->voters);
    codec_u8(c, &s->caught_up);
    stats_walk_number(c, &s->bytes);
    codec_bool(c, &s->indexes.feeds);
    stats_walk_number(c, &s->indexes.lag_ms);
    stats_walk_number(c, &s->indexes.items);
    stats_walk_number(c, &s->indexes.bytes);
    index_refusal_walk(c, &s->indexes.refusal);
    codec_bool(c, &s->expiry.on);
    stats_walk_number(c, &s->expiry.lag_ms);
    stats_walk_number(c, &s->expiry.items);
    stats_walk_number(c, &s->transactions.locks);
    stats_walk_number(c, &s->transactions.oldest_ms);
    stats_walk_number(c, &s->transactions.reserved_log_bytes);
    stats_walk_number(c, &s->transactions.reserved_index_bytes);
    codec_bool(c, &s->streams.any);
    stats_walk_number(c, &s->streams.records);
    stats_walk_number(c, &s->streams.bytes);
    stats_walk_number(c, &s->streams.written);
    stats_walk_number(c, &s->streams.trimmed);
    stats_walk_number(c, &s->streams.lag_ms);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        struct partition_counts *counts = &s->kinds[kind].counts;
        struct admit_balances *balances = &s->kinds[kind].balances;
        stats_walk_number(c, &s->kinds[kind].allocated_mcu);
        stats_walk_number(c, &counts->load.consumed_mcu);
        stats_walk_number(c, &counts->load.refused_mcu);
        stats_walk_number(c, &counts->admitted);
        stats_walk_number(c, &counts->burst);
        for (int reason = 0; reason < ADMIT_REASONS; reason++)
            stats_walk_number(c, &counts->load.refused[reason]);
        stats_walk_number(c, &balances->cap_mcu);
        stats_walk_number(c, &balances->allocation_mcu);
        stats_walk_number(c, &balances->burst_mcu);
        stats_walk_number(c, &balances->node_mcu);
    }
}

CODEC_ENCODE(partition_stats)
CODEC_DECODE(partition_stats)
