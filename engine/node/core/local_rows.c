/* local_rows.c - what writes do to the rows of local indexes. */
#include "engine/node/core/local_rows.h"

#include "engine/index/row.h"
#include "engine/node/core/collection.h"

/* ---- planning ---- */

static void plan_add(struct local_writes *out, const struct index *x, struct slice item_key,
                     const struct attr *sort, struct buffer *keys, bool put, int64_t old_size,
                     int64_t cost_mcu)
{
    const size_t at = keys->size;
    index_row_append_key(keys, x, item_key, sort);
    out->cost_mcu += cost_mcu;
    out->costs_mcu[out->count] = cost_mcu;
    out->changes[out->count++] =
        (struct change){.space = SPACE_LOCAL_ROWS,
                        .key = slice_make(keys->data + at, keys->size - at),
                        .derived = put,
                        .old_size = old_size};
}

static int64_t plan_cost(int64_t old_size, int64_t size)
{
    const int64_t larger = MAX(old_size, size);
    return larger >= 0 ? write_cost_mcu(larger) : 0;
}

static void plan_index(const struct partition *p, const struct index *x, struct slice key,
                       struct slice old, struct slice now, struct buffer *keys, struct steps *steps,
                       struct local_writes *out)
{
    struct attr was, is;
    const bool had = index_sort_of(x, old, &was), has = index_sort_of(x, now, &is);
    const int64_t old_size = had ? (int64_t)index_row_size(p->indexes, x, old) : -1;
    const int64_t size = has ? (int64_t)index_row_size(p->indexes, x, now) : -1;
    const bool stays = had && has && slice_equal(was.body, is.body);
    out->size += has ? size : 0;
    out->bytes += (has ? size : 0) - (had ? old_size : 0);
    if (stays && index_row_is_same(p->indexes, x, old, now, steps))
        return;
    if (had && !stays && !MUTATED(MUTATION_KEEP_OLD_ROW))
        plan_add(out, x, key, &was, keys, false, old_size, plan_cost(old_size, -1));
    if (has && !(had && MUTATED(MUTATION_SKIP_ROW)))
        plan_add(out, x, key, &is, keys, true, stays ? old_size : -1,
                 plan_cost(stays ? old_size : -1, size));
}

void local_rows_plan(const struct partition *p, struct slice key, struct slice old,
                     struct slice now, struct buffer *keys, struct steps *steps,
                     struct local_writes *out)
{
    out->count = 0;
    out->cost_mcu = out->size = out->bytes = 0;
    if (p->indexes == NULL)
        return;
    buffer_clear(keys);
    buffer_reserve(keys,
                   COUNT_OF(out->changes) * STORAGE_KEY_SIZE_MAX); /* the keys must not move */
    for (uint32_t i = 0; i < index_set_local(p->indexes); i++)
        plan_index(p, &p->indexes->at[i], key, old, now, keys, steps, out);
}

/* ---- applying ---- */

static uint32_t local_place(const struct partition *p, uint8_t number)
{
    uint32_t i = 0;
    while (i < index_set_local(p->indexes) && p->indexes->at[i].number != number)
        i++;
    return i;
}

void local_rows_report_cost(struct buffer *costs, uint8_t number, int64_t mcu)
{
    buffer_append_u8(costs, number);
    buffer_append_u32(costs, 0);
    buffer_append_u64(costs, (uint64_t)mcu);
}

void local_rows_apply(struct node_env *env, struct partition *p, const struct change *c,
                      const struct change *item, struct buffer *costs)
{
    const uint8_t number = c->key.data[0];
    const uint32_t place = local_place(p, number);
    if (place == index_set_local(p->indexes))
        return; /* no leader of this table has written that */
    const bool put = c->derived && item->value.data != NULL, was = c->old_size >= 0;
    int64_t size = -1;
    struct slice row = {NULL, 0};
    if (put) {
        buffer_clear(&env->scratch);
        size = index_row_append(&env->scratch, p->indexes, &p->indexes->at[place], item->value);
        row = buffer_slice(&env->scratch);
    }
    store_put(env->store, c->key, row);
    local_rows_report_cost(costs, number, plan_cost(c->old_size, size));
    if (partition_has_counted(p, item->key))
        tally_add(&p->rows[place], put - was, (put ? size : 0) - (was ? c->old_size : 0));
}

size_t item_entry_bytes(const struct partition *p, struct slice key, size_t item_bytes)
{
    const size_t row = CHANGE_HEAD_SIZE + key.size + 2 * SORT_KEY_SIZE_MAX + 2;
    return CHANGE_SET_HEAD_SIZE + 2 * CHANGE_HEAD_SIZE + 2 * key.size + COLLECTION_ROW_SIZE +
           item_bytes + 2 * index_set_local(p->indexes) * row;
}
