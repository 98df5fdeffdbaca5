/* owned_keys.c - the keys a partition owns, and the cursors that read them. */
#include "engine/node/core/owned_keys.h"

#include "base/mutation.h"
#include "engine/node/core/index_feed_change.h"
#include "engine/transaction/transaction.h"

struct slice key_in_space(struct slice key, uint8_t space, struct arena *arena)
{
    struct slice copy = arena_copy(arena, key);
    if (copy.size > 0)
        ((uint8_t *)(uintptr_t)copy.data)[0] = space;
    return copy;
}

struct key_ranges key_ranges_of(struct slice lo, struct slice hi, struct slice indexes,
                                struct arena *arena)
{
    struct key_ranges ranges = {.count = 1, .at = {{lo, hi}}};
    const struct index_set *set;
    must(index_set_decode(indexes, arena, &set) == STATUS_OK);
    for (uint32_t i = 0; i < index_set_local(set) && !MUTATED(MUTATION_SNAPSHOT_OMITS_ROWS); i++) {
        const uint8_t space = set->at[i].number;
        ranges.at[ranges.count++] =
            (struct key_range){key_in_space(lo, space, arena), key_in_space(hi, space, arena)};
    }
    if (index_set_global(set) > 0)
        ranges.at[ranges.count++] =
            (struct key_range){key_in_space(lo, SPACE_INDEX_FEED_KEYS, arena),
                               key_in_space(hi, SPACE_INDEX_FEED_KEYS, arena)};
    const uint8_t last =
        MUTATED(MUTATION_SNAPSHOT_OMITS_STREAM) ? SPACE_TOKEN_KEYS : SPACE_STREAM_KEYS;
    for (uint8_t space = SPACE_LOCK_KEYS; space <= last; space++) {
        if (space == SPACE_TOKEN_KEYS && MUTATED(MUTATION_SNAPSHOT_OMITS_TOKENS))
            continue;
        ranges.at[ranges.count++] =
            (struct key_range){key_in_space(lo, space, arena), key_in_space(hi, space, arena)};
    }
    return ranges;
}

static bool range_ends_before(const struct key_range *range, struct slice key)
{
    return range->hi.size > 0 && slice_compare(range->hi, key) <= 0;
}

bool key_ranges_hold(const struct key_ranges *ranges, struct slice key)
{
    for (uint32_t i = 0; i < ranges->count; i++) {
        const struct key_range *range = &ranges->at[i];
        if (slice_compare(range->lo, key) <= 0 && !range_ends_before(range, key))
            return true;
    }
    return false;
}

void key_ranges_drop_first(struct key_ranges *ranges)
{
    ranges->count--;
    memmove(ranges->at, ranges->at + 1, ranges->count * sizeof ranges->at[0]);
}

void key_ranges_skip(struct key_ranges *ranges, struct slice from)
{
    while (ranges->count > 0 && range_ends_before(&ranges->at[0], from))
        key_ranges_drop_first(ranges);
    if (ranges->count > 0 && slice_compare(ranges->at[0].lo, from) < 0)
        ranges->at[0].lo = from;
}

static void owned_open_range(struct owned_cursor *c)
{
    if (c->ranges.count > 0)
        store_seek(c->store, c->ranges.at[0].lo, c->ranges.at[0].hi, false, &c->cursor);
}

void owned_seek(struct store *store, const struct key_ranges *ranges, struct owned_cursor *out)
{
    out->store = store;
    out->ranges = *ranges;
    owned_open_range(out);
}

void owned_seek_again(struct owned_cursor *c, struct slice key)
{
    must(c->ranges.count > 0);
    store_seek(c->store, key, c->ranges.at[0].hi, false, &c->cursor);
}

enum status owned_next(struct owned_cursor *c, struct slice *key, struct slice *value)
{
    while (c->ranges.count > 0) {
        enum status status = store_next(&c->cursor, key, value);
        if (status != STATUS_NOT_FOUND)
            return status;
        key_ranges_drop_first(&c->ranges);
        owned_open_range(c);
    }
    return STATUS_NOT_FOUND;
}

void items_seek(const struct partition *p, struct store *store, struct slice lo, struct slice hi,
                bool reverse, struct items_cursor *out)
{
    out->partition = p;
    store_seek(store, lo, hi, reverse, &out->cursor);
}

enum status items_next(struct items_cursor *c, struct slice *key, struct slice *item)
{
    enum status status;
    do
        status = store_next(&c->cursor, key, item);
    while (status == STATUS_OK && partition_is_row(c->partition, *key));
    return status;
}
