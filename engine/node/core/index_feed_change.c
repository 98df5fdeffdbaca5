/* index_feed_change.c - what a write of an item means for the table's global indexes. */
#include "engine/node/core/index_feed_change.h"

#include "base/big_endian.h"
#include "engine/admission/admission.h"
#include "engine/index/row.h"
#include "engine/item/storage_key.h"

/* A row that changes in place costs by the larger of both; one that moves costs both. */
static int64_t part_cost(int64_t old_size, int64_t size, bool stays)
{
    const int64_t was = old_size >= 0 ? write_cost_mcu(old_size) : 0;
    const int64_t is = size >= 0 ? write_cost_mcu(size) : 0;
    return !stays ? was + is : MAX(was, is);
}

static void part_append(struct buffer *out, const struct index_set *set, const struct index *x,
                        struct slice item_key, struct slice old, struct slice now,
                        struct steps *steps)
{
    struct buffer was = {0}, is = {0};
    const bool had = index_global_append_key(&was, x, item_key, old);
    const bool has = index_global_append_key(&is, x, item_key, now);
    const bool stays = had && has && slice_equal(buffer_slice(&was), buffer_slice(&is));
    if ((had || has) && !(stays && index_row_is_same(set, x, old, now, steps))) {
        const int64_t cost = part_cost(had ? (int64_t)index_row_size(set, x, old) : -1,
                                       has ? (int64_t)index_row_size(set, x, now) : -1, stays);
        buffer_append_u32(out, x->table_id);
        buffer_append_u32(out, (uint32_t)(cost / MCU_PER_UNIT));
        buffer_append_sized(out, had && !stays ? buffer_slice(&was) : slice_make(NULL, 0));
    }
    buffer_deinit(&was);
    buffer_deinit(&is);
}

void index_feed_change_append(struct buffer *out, const struct index_set *set,
                              struct slice item_key, struct slice old, struct slice now,
                              int64_t wall_ms, struct steps *steps)
{
    const size_t start = out->size;
    buffer_append_u64(out, (uint64_t)wall_ms);
    const size_t head = out->size;
    for (uint32_t i = 0; i < index_set_global(set); i++)
        part_append(out, set, index_set_global_at(set, i), item_key, old, now, steps);
    if (out->size == head)
        out->size = start;
}

int64_t index_feed_change_open(struct slice *value)
{
    struct reader r = {*value, false};
    const int64_t wall_ms = (int64_t)reader_u64(&r);
    *value = r.left;
    return wall_ms;
}

bool index_feed_change_next(struct slice *value, struct index_feed_part *out)
{
    struct reader r = {*value, false};
    if (r.left.size == 0)
        return false;
    out->table_id = reader_u32(&r);
    out->units = reader_u32(&r);
    out->old_row = reader_sized(&r);
    *value = r.left;
    return !r.failed;
}

bool index_feed_change_is_valid(struct slice value)
{
    struct reader r = {value, false};
    reader_u64(&r);
    bool valid = !r.failed && r.left.size > 0;
    while (valid && r.left.size > 0) {
        reader_u32(&r);
        reader_u32(&r);
        const struct slice key = reader_sized(&r);
        valid = !r.failed && (key.size == 0 || storage_key_is_complete(key));
    }
    return valid;
}

void index_feed_key_append(struct buffer *out, struct slice key, uint64_t partition, uint64_t index)
{
    buffer_append_slice(out, key);
    buffer_append_be64(out, partition);
    buffer_append_be64(out, index);
}

uint64_t index_feed_suffix_index(struct slice suffix)
{
    uint64_t index = 0;
    for (size_t i = INDEX_FEED_SUFFIX_SIZE / 2; i < suffix.size; i++)
        index = index << 8 | suffix.data[i];
    return index;
}

bool index_feed_key_split(struct slice row_key, struct slice *item_key)
{
    if (row_key.size <= INDEX_FEED_SUFFIX_SIZE || row_key.data[0] != SPACE_INDEX_FEED_KEYS)
        return false;
    *item_key = slice_make(row_key.data, row_key.size - INDEX_FEED_SUFFIX_SIZE);
    return true;
}
