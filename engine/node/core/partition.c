/* partition.c - a replica of a partition: its range, its counters, its saved balances. */
#include "engine/node/core/partition.h"

#include <stdlib.h>

#include "engine/index/row.h"
#include "engine/node/core/collection.h"

struct partition *partition_create(const struct partition_info *info)
{
    struct partition *p = must_calloc(1, sizeof *p);
    partition_set(p, info);
    STAILQ_INIT(&p->proposals);
    STAILQ_INIT(&p->reads);
    STAILQ_INIT(&p->locked);
    return p;
}

void middle_destroy(struct middle *m)
{
    if (m == NULL)
        return;
    buffer_deinit(&m->at);
    buffer_deinit(&m->last);
    buffer_deinit(&m->point);
    free(m);
}

void expiry_round_destroy(struct expiry_round *r)
{
    if (r == NULL)
        return;
    buffer_deinit(&r->ttl);
    buffer_deinit(&r->at);
    buffer_deinit(&r->found);
    free(r);
}

void partition_destroy(struct partition *p)
{
    if (p == NULL)
        return;
    expiry_round_destroy(p->expiry);
    index_sessions_close(&p->sessions);
    if (p->raft != NULL)
        raft_destroy(p->raft);
    free(p->installing);
    free(p->marks);
    buffer_deinit(&p->stream.sweep_from);
    buffer_deinit(&p->stream.expired);
    buffer_deinit(&p->token_sweep.to);
    buffer_deinit(&p->token_sweep.expired);
    free(p->mirror);
    free(p->kept);
    buffer_deinit(&p->count.to);
    middle_destroy(p->middle);
    free(p->splits);
    heat_deinit(&p->heat);
    buffer_deinit(&p->bytes);
    arena_deinit(&p->index_arena);
    free(p);
}

void partition_set(struct partition *p, const struct partition_info *info)
{
    struct buffer bytes = {0};
    bool same_range = slice_equal(p->info.lo, info->lo) && slice_equal(p->info.hi, info->hi);
    const bool same_shards = info->key_sharding_version == p->info.key_sharding_version;
    partition_info_encode(&bytes, info);
    buffer_deinit(&p->bytes);
    p->bytes = bytes;
    must(partition_info_decode(buffer_slice(&p->bytes), &p->info) == STATUS_OK);
    arena_reset(&p->index_arena);
    must(index_set_decode(p->info.indexes, &p->index_arena, &p->indexes) == STATUS_OK);
    if (!same_range || !same_shards)
        heat_deinit(&p->heat);
    if (!same_range)
        memset(p->excess.now, 0, sizeof p->excess.now);
    p->stored = false;
}

bool partition_holds(const struct partition *p, struct slice key)
{
    return slice_compare(key, p->info.lo) >= 0 &&
           (p->info.hi.size == 0 || slice_compare(key, p->info.hi) < 0);
}

bool partition_overlaps(const struct partition *p, struct slice lo, struct slice hi)
{
    return (p->info.hi.size == 0 || slice_compare(p->info.hi, lo) > 0) &&
           (hi.size == 0 || slice_compare(hi, p->info.lo) > 0);
}

bool partition_is_row(const struct partition *p, struct slice key)
{
    return p->info.whole_collections && collection_is_row(key);
}

bool partition_has_counted(const struct partition *p, struct slice key)
{
    return !p->count.on || slice_compare(key, buffer_slice(&p->count.to)) < 0;
}

bool partition_items_counted(const struct partition *p)
{
    const struct slice to = buffer_slice(&p->count.to);
    return !p->count.on || (to.size > 0 && to.data[0] == SPACE_STREAM_KEYS);
}

void partition_count_item(struct partition *p, struct slice item)
{
    struct attr sort;
    tally_add(&p->items, 1, (int64_t)item_size(item));
    for (uint32_t i = 0; i < index_set_local(p->indexes); i++) {
        const struct index *x = &p->indexes->at[i];
        if (index_sort_of(x, item, &sort))
            tally_add(&p->rows[i], 1, (int64_t)index_row_size(p->indexes, x, item));
    }
}

int64_t partition_bytes_of(const struct partition *p, struct slice item)
{
    struct attr sort;
    int64_t bytes = item_size(item);
    for (uint32_t i = 0; i < index_set_local(p->indexes); i++) {
        const struct index *x = &p->indexes->at[i];
        if (index_sort_of(x, item, &sort))
            bytes += index_row_size(p->indexes, x, item);
    }
    return bytes;
}

int64_t partition_bytes(const struct partition *p)
{
    int64_t bytes = p->items.bytes;
    for (uint32_t i = 0; i < index_set_local(p->indexes); i++)
        bytes += p->rows[i].bytes;
    return bytes;
}

void partition_count_anew(struct partition *p)
{
    p->count.on = true;
    p->items = (struct tally){0};
    memset(p->rows, 0, sizeof p->rows);
    p->stream.rows = (struct tally){0};
    p->reported = 0;
    buffer_set(&p->count.to, p->info.lo);
}

static void split_history_push(struct split_history *h, uint64_t index, uint64_t term)
{
    if (h->count == SPLITS_KEPT)
        memmove(&h->at[0], &h->at[1], --h->count * sizeof h->at[0]);
    h->at[h->count].index = index;
    h->at[h->count++].term = term;
}

const struct split_history *partition_splits(const struct partition *p)
{
    static const struct split_history none;
    return p->splits != NULL ? p->splits : &none;
}

void partition_set_splits(struct partition *p, const struct split_history *splits)
{
    struct split_history *copy = NULL;
    if (splits->count > 0) {
        copy = must_calloc(1, sizeof *copy);
        *copy = *splits;
    }
    free(p->splits);
    p->splits = copy;
}

void partition_push_split(struct partition *p, uint64_t index, uint64_t term)
{
    struct split_history splits = *partition_splits(p);
    split_history_push(&splits, index, term);
    partition_set_splits(p, &splits);
}

void partition_count(struct partition *p, enum admit_kind kind, const struct admit_verdict *v,
                     int64_t cost_mcu)
{
    struct partition_counts *c = &p->counts[kind];
    if (v->reason != ADMIT_OK) {
        c->load.refused[v->reason]++;
        c->load.refused_mcu += cost_mcu;
        return;
    }
    c->admitted++;
    c->burst += v->burst;
    c->load.consumed_mcu += cost_mcu;
}

struct admission_rates partition_rates(const struct partition_info *info)
{
    struct admission_rates rates;
    memcpy(rates.rate_mcu, info->rate_mcu, sizeof rates.rate_mcu);
    memcpy(rates.maximum_mcu, info->maximum_mcu, sizeof rates.maximum_mcu);
    rates.weight = info->weight;
    return rates;
}

void partition_balances(const struct partition *p, struct instant now,
                        struct admission_balances out[ADMIT_KINDS])
{
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++)
        out[kind] = admission_balances(&p->admission, kind, now);
}

void balances_walk(struct codec *c, struct admission_balances balances[ADMIT_KINDS])
{
    const int64_t max = INT64_MAX / 4;
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        codec_i64(c, &balances[kind].cap_mcu, -max, max);
        codec_i64(c, &balances[kind].allocation_mcu, -max, max);
        codec_i64(c, &balances[kind].burst_mcu, -max, max);
    }
}

void partition_keep_buckets(struct partition *p, const struct kept_buckets *kept)
{
    if (p->kept == NULL)
        p->kept = must_calloc(1, sizeof *p->kept);
    *p->kept = *kept;
}
