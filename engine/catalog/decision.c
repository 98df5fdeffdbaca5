/* decision.c - decisions of the controller, as bytes. */
#include "engine/catalog/decision.h"

#include "engine/admission/admission.h"

enum {
    DECISION_DRAIN = 1,
    DECISION_EVENT = 2,
    DECISION_FLAGS = 3
};

static void decision_merge_walk(struct codec *c, struct decision *d)
{
    d->merge = (enum merge_command)codec_choice(c, d->merge, 0, MERGE_DONE);
    if (d->merge == MERGE_BEGIN) {
        codec_u32(c, &d->merge_with);
        codec_u64(c, &d->merge_with_epoch);
    } else if (d->merge == MERGE_ABSORB_IT) {
        codec_u64(c, &d->frozen_index);
        codec_u64(c, &d->frozen_term);
    }
}

/* Whether the bytes begin the storage keys of a partition key's shard 0 in the table, and no more.
 * */
static bool decision_key_is_valid(uint32_t table_id, struct slice key)
{
    const size_t at = STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE;
    return key.size > at + 2 && storage_key_part_size(key, at) == key.size - at &&
           storage_key_table(key) == table_id && key_shard_of(key) == 0;
}

static void decision_walk_key_shards(struct codec *c, uint32_t table_id,
                                     struct decision_key_shards *s)
{
    s->change = (enum key_shards_change)codec_choice(c, s->change, 0, KEY_SHARDS_DISCARD);
    if (s->change == 0)
        return;
    codec_sized(c, &s->key, STORAGE_KEY_SIZE_MAX);
    codec_check(c, !codec_reads(c) || codec_failed(c) || decision_key_is_valid(table_id, s->key));
    codec_u64(c, &s->version);
    if (s->change == KEY_SHARDS_GROW || s->change == KEY_SHARDS_SHRINK)
        codec_count(c, &s->shards, 1, KEY_SHARDS_MAX);
    if (s->change == KEY_SHARDS_GROW)
        codec_bool(c, &s->counter);
}

static void decision_walk(struct codec *c, struct decision *d)
{
    uint32_t flags = (d->drain ? DECISION_DRAIN : 0) | (d->has_event ? DECISION_EVENT : 0);
    flags = codec_choice(c, flags, 0, DECISION_FLAGS);
    d->drain = flags & DECISION_DRAIN;
    d->has_event = flags & DECISION_EVENT;
    codec_u32(c, &d->table_id);
    codec_u32(c, &d->partition);
    codec_u64(c, &d->epoch);
    codec_u32(c, &d->from_node);
    codec_u32(c, &d->to_node);
    codec_u32(c, &d->rate_count);
    codec_check(c, d->from_node <= NODES_MAX && d->to_node <= NODES_MAX &&
                       d->rate_count <= DECISION_RATES_MAX);
    for (uint32_t i = 0; i < d->rate_count && !codec_failed(c); i++) {
        codec_u32(c, &d->rates[i].partition);
        codec_u64(c, &d->rates[i].epoch);
        for (int kind = 0; kind < ADMIT_KINDS; kind++)
            codec_amount(c, &d->rates[i].rate_mcu[kind]);
    }
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        codec_i64(c, &d->peak[kind], 0, TABLE_UNITS_MAX);
    decision_merge_walk(c, d);
    decision_walk_key_shards(c, d->table_id, &d->key_shards);
    if (d->has_event)
        event_walk(c, &d->event);
}

CODEC_ENCODE(decision)
CODEC_DECODE_ALL(decision)
