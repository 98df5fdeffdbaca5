/* index_feed_fill.c - brings a new index the rows of items that were there before it. */
#include "base/probe.h"
#include "engine/index/row.h"
#include "engine/message/index_messages.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/index/index_feed_internal.h"

enum {
    FILL_ITEMS = 100, /* of a piece */
    FILL_FIRST = 8,   /* of the first one; the next ones are larger */
    FILL_PART = 4     /* of the changes that may wait: writes have the rest */
};

void index_feed_filled(struct index_feeds *feeds, struct index_feed *f)
{
    if (!f->fill.on || --f->fill.left > 0)
        return;
    struct reply *r = env_reply_to(feeds->env, f->fill.from, f->fill.id, REPLY_OK);
    r->kind = ANSWER_RANGE;
    r->range.last = arena_copy(&feeds->env->lent, buffer_slice(&f->fill.next));
    f->fill.on = false;
}

/* Notes that the index may lack the item. NULL: the item has no row. */
static struct index_feed_note *fill_note(struct index_feeds *feeds, struct index_feed *f,
                                         const struct index *x, struct slice key, struct slice item)
{
    static const uint8_t no_suffix[INDEX_FEED_SUFFIX_SIZE];
    struct buffer *value = &f->scratch;
    buffer_clear(value);
    if (item_check(item) != STATUS_OK || !index_global_append_key(value, x, key, item))
        return NULL;
    buffer_clear(value);
    buffer_append_u64(value, 0);
    buffer_append_u32(value, x->table_id);
    buffer_append_u32(value, 0);
    buffer_append_sized(value, slice_make(NULL, 0));
    return index_feed_note(f, feeds->env->now,
                           key_in_space(key, SPACE_INDEX_FEED_KEYS, &feeds->env->lent),
                           slice_make(no_suffix, sizeof no_suffix), buffer_slice(value), true);
}

/* ---- items that leave ---- */

/* Whether the partition of the index that has the item's row has given a session. */
static bool row_has_session(struct index_feeds *feeds, struct index_feed *f, const struct index *x,
                            struct slice key, struct slice item)
{
    const struct table *map = index_maps_find(feeds->maps, x->table_id);
    buffer_clear(&f->scratch);
    if (!index_global_append_key(&f->scratch, x, key, item))
        return true;
    return map != NULL &&
           index_feed_has_session(f, table_partition_of(map, buffer_slice(&f->scratch))->id);
}

bool index_feeds_let_go(struct index_feeds *feeds, const struct partition *p, struct slice key,
                        struct slice item)
{
    struct index_feed *f = index_feed_live(feeds, p);
    bool free = true;
    if (index_set_global(p->indexes) == 0)
        return true;
    if (f == NULL || f->lost || index_feed_has(feeds, f, key))
        return false;
    for (uint32_t i = 0; i < index_set_global(p->indexes); i++) {
        const struct index *x = index_set_global_at(p->indexes, i);
        if (row_has_session(feeds, f, x, key, item))
            continue;
        PROBE("the row of an item that leaves is written again");
        fill_note(feeds, f, x, key, item);
        free = false;
    }
    return free;
}

/* ---- pieces ---- */

/* The items of the next piece. An index with few units must not be busy with it for long: writes
 * wait behind it. */
static uint32_t fill_items_max(const struct index_feeds *feeds, struct index_feed *f)
{
    const uint32_t room = index_feed_pace_room(&f->pace, feeds->env->now) / FILL_PART;
    const uint32_t more = f->fill.items_max == 0 ? FILL_FIRST : 2 * f->fill.items_max;
    const uint32_t max = MIN(more, FILL_ITEMS);
    return room == 0 ? 1 : MIN(room, max);
}

/* The first key that is not in the piece, and the number of items that the index needs. */
static enum status fill_piece(struct index_feeds *feeds, struct index_feed *f, struct partition *p,
                              const struct index *x, struct slice from)
{
    struct items_cursor c;
    struct slice key, item;
    size_t bytes = 0;
    enum status status;
    f->fill.left = 0;
    f->fill.items_max = fill_items_max(feeds, f);
    if (slice_compare(from, p->info.lo) < 0)
        from = p->info.lo;
    items_seek(p, feeds->env->store, from, p->info.hi, false, &c);
    for (uint32_t i = 0; (status = items_next(&c, &key, &item)) == STATUS_OK; i++) {
        if (i == f->fill.items_max || bytes >= INDEX_FEED_FILL_BYTES) {
            buffer_set(&f->fill.next, key);
            return STATUS_OK;
        }
        bytes += item.size;
        struct index_feed_note *n =
            MUTATED(MUTATION_SKIP_FILL) ? NULL : fill_note(feeds, f, x, key, item);
        if (n == NULL)
            continue;
        n->of_piece = true;
        f->fill.left++;
    }
    buffer_set(&f->fill.next, p->info.hi);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

/* Who asks again does not know that the piece is on its way: its first request may be given up. */
static bool fill_is_repeated(const struct index_feed *f, const struct request *r)
{
    return f->fill.on && f->fill.index == request_fill(r)->index &&
           slice_equal(buffer_slice(&f->fill.key), request_fill(r)->from);
}

/* Whether all writes are applied that were proposed without the newest index. */
static bool indexes_are_known(const struct partition *p)
{
    const uint64_t more = MUTATED(MUTATION_ONE_ENTRY_MORE) ? 1 : 0;
    return raft_applied(p->raft) >= p->index_versions.from + more;
}

void index_feeds_fill(struct index_feeds *feeds, struct partition *p, const struct operation *o)
{
    struct index_feed *f;
    const struct index *x = index_set_find_table(p->indexes, request_fill(&o->request)->index);
    LIST_FOREACH (f, &feeds->all, place) {
        if (f->partition == p->info.id && f->term == p->led)
            break;
    }
    if (f != NULL && fill_is_repeated(f, &o->request)) {
        f->fill.from = o->from;
        f->fill.id = o->request.id;
        return;
    }
    if (f == NULL || x == NULL || f->fill.on || !indexes_are_known(p)) {
        env_refuse(feeds->env, o, REPLY_OVERLOADED, "partition %u cannot fill the index yet",
                   p->info.id);
        return;
    }
    if (fill_piece(feeds, f, p, x, request_fill(&o->request)->from) != STATUS_OK) {
        env_refuse(feeds->env, o, REPLY_CORRUPT, "partition %u cannot be read", p->info.id);
        return;
    }
    f->fill.on = true;
    f->fill.from = o->from;
    f->fill.id = o->request.id;
    f->fill.index = request_fill(&o->request)->index;
    buffer_set(&f->fill.key, request_fill(&o->request)->from);
    if (f->fill.left == 0) {
        f->fill.left = 1;
        index_feed_filled(feeds, f);
    }
}
