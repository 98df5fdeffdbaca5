/* report.c - what a node tells the catalog's leader about itself, as bytes. */
#include "engine/catalog/report.h"

#include "engine/catalog/table.h"

/* Limits under which sums never overflow: a petabyte, and a century of the largest cluster. */
static const int64_t stored_max = INT64_C(1) << 50;
static const int64_t total_max = INT64_C(1) << 60;

static void node_report_walk(struct codec *c, struct node_report *r)
{
    codec_u32(c, &r->node);
    codec_check(c, r->node >= 1 && r->node <= NODES_MAX);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        codec_i64(c, &r->capacity_mcu[kind], 0, total_max);
        codec_i64(c, &r->consumed_mcu[kind], 0, total_max);
    }
}

CODEC_ENCODE(node_report)
CODEC_DECODE(node_report)

static void heavy_key_walk(struct codec *c, uint32_t table_id, struct heavy_key *k)
{
    const size_t at = STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE;
    codec_sized(c, &k->key, STORAGE_KEY_SIZE_MAX);
    codec_i64(c, &k->mcu, 1, total_max);
    if (codec_reads(c) && !codec_failed(c))
        codec_check(c, k->key.size > at && storage_key_part_size(k->key, at) == k->key.size - at &&
                           storage_key_table(k->key) == table_id);
}

static void partition_report_walk(struct codec *c, struct partition_report *r)
{
    codec_u32(c, &r->table_id);
    codec_u32(c, &r->partition);
    codec_u64(c, &r->member);
    codec_u64(c, &r->epoch);
    codec_i64(c, &r->items, -1, stored_max);
    codec_i64(c, &r->bytes, -1, stored_max);
    for (int i = 0; i < LOCAL_INDEXES_MAX; i++) {
        codec_i64(c, &r->rows[i].count, 0, stored_max);
        codec_i64(c, &r->rows[i].bytes, 0, stored_max);
    }
    index_refusal_walk(c, &r->index_refusal);
    codec_i64(c, &r->trimmed_early, 0, total_max);
    codec_check(c, (r->items < 0) == (r->bytes < 0) && raft_member_node(r->member) != 0);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        struct load_total *t = &r->totals[kind];
        codec_i64(c, &t->consumed_mcu, 0, total_max);
        codec_i64(c, &t->refused_mcu, 0, total_max);
        for (int reason = ADMIT_OK + 1; reason < ADMIT_REASONS; reason++)
            codec_i64(c, &t->refused[reason], 0, total_max);
        codec_i64(c, &r->excess_ms[kind], 0, total_max);
    }
    r->write_direction = codec_choice(c, r->write_direction, SKETCH_UNKNOWN, SKETCH_BACKWARD);
    codec_count(c, &r->heavy_count, 0, HEAVY_KEYS_MAX);
    for (uint32_t i = 0; i < r->heavy_count && !codec_failed(c); i++)
        heavy_key_walk(c, r->table_id, &r->heavy[i]);
}

CODEC_ENCODE(partition_report)
CODEC_DECODE(partition_report)
