/* key_shard_cursor.c - the items of a range that are in one shard of their keys. */
#include "engine/node/core/key_shard_cursor.h"

#include "base/probe.h"

void key_shard_seek(const struct partition *p, struct store *store, struct slice lo,
                    struct slice hi, bool reverse, bool all, uint32_t shard,
                    struct key_shard_cursor *out)
{
    *out = (struct key_shard_cursor){.store = store,
                                     .lo = lo,
                                     .hi = hi,
                                     .reverse = reverse,
                                     .all = all,
                                     .shard = shard,
                                     /* Pages behind a skip were not touched. */
                                     .skips = store_needs_touch(store) ? 1 : SHARD_SKIPS_MAX};
    items_seek(p, store, lo, hi, reverse, &out->items);
}

void key_shard_cursor_deinit(struct key_shard_cursor *c)
{
    buffer_deinit(&c->in);
    buffer_deinit(&c->out);
}

/* Whether the item counts. If not, `out` is set. */
static bool key_shard_has(struct key_shard_cursor *c, struct slice key)
{
    if (c->in.size > 0 && slice_starts_with(key, buffer_slice(&c->in)))
        return true;
    const struct slice collection = slice_make(key.data, storage_key_collection_size(key));
    if (key.size > STORAGE_KEY_BOUND_SIZE && key_shard_of(key) == c->shard) {
        buffer_set(&c->in, collection);
        return true;
    }
    buffer_set(&c->out, collection);
    if (!c->reverse) /* all keys of the collection come before it */
        storage_key_successor(&c->out);
    return false;
}

enum status key_shard_next(struct key_shard_cursor *c, struct slice *key, struct slice *item)
{
    for (;;) {
        const enum status status = items_next(&c->items, key, item);
        if (status != STATUS_OK || c->all || key_shard_has(c, *key))
            return status;
        if (c->skips == 0) {
            PROBE("a range of one shard is cut short by many others");
            return STATUS_PENDING;
        }
        c->skips--;
        const struct slice past = buffer_slice(&c->out);
        items_seek(c->items.partition, c->store, c->reverse ? c->lo : past,
                   c->reverse ? past : c->hi, c->reverse, &c->items);
    }
}
