/* ranges.c - reads pages of items from one range, or merges several ranges. */
#include "router/plan/ranges.h"

#include "router/core/counters.h"
#include "router/core/item_placement.h"
#include "router/core/throttle.h"

enum {
    SHARE_BYTES_MIN = 16 * 1024
};

void plan_range_skip_past(struct call *c, struct plan_range *range, bool reverse, struct slice key)
{
    if (reverse) {
        range->hi = slice_compare(key, range->hi) < 0 ? key : range->hi;
        return;
    }
    /* The least string after the key: the key and a zero byte. */
    uint8_t *after = arena_alloc(&c->arena, key.size + 1);
    memcpy(after, key.data, key.size);
    after[key.size] = 0;
    struct slice lo = slice_make(after, key.size + 1);
    range->lo = slice_compare(lo, range->lo) > 0 ? lo : range->lo;
}

/* ---- requests ---- */

void ranges_begin(struct call *c, struct ranges_plan *p)
{
    call_require_table(c, p->table, &p->route);
}

/* Of several ranges each is asked for somewhat more than its share of what is left: so most pages
 * need one round, and little is read in vain. */
static int64_t ranges_share(const struct ranges_plan *p, int64_t left, int64_t least)
{
    const int64_t share = (left + left / 2) / p->count + least;
    return p->count == 1 || share > left ? left : share;
}

/* The order of two storage keys, each of which lies in its range or at its end. */
static int ranges_compare(const struct plan_range *a, struct slice x, const struct plan_range *b,
                          struct slice y)
{
    const bool past_a = x.size < a->prefix || memcmp(x.data, a->lo.data, a->prefix) != 0,
               past_b = y.size < b->prefix || memcmp(y.data, b->lo.data, b->prefix) != 0;
    if (past_a || past_b)
        return (int)past_a - (int)past_b;
    return slice_compare(slice_make(x.data + a->prefix, x.size - a->prefix),
                         slice_make(y.data + b->prefix, y.size - b->prefix));
}

/* The next place to be read. */
static struct slice ranges_place(const struct ranges_plan *p, const struct plan_range *range)
{
    return p->reverse ? range->hi : range->lo;
}

/* Sets how far the range may be read now. False: no further than it was. */
static bool ranges_find_until(struct call *c, const struct ranges_plan *p, struct plan_range *range)
{
    const struct plan_range *by = range;
    range->until = p->reverse ? range->lo : range->hi;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct plan_range *lower = &p->ranges[i];
        if (lower->rank >= range->rank || lower->ended)
            continue;
        const struct slice place = ranges_place(p, lower);
        const int order = ranges_compare(lower, place, by, range->until);
        if (p->reverse ? order <= 0 : order >= 0)
            continue;
        by = lower;
        range->until = place;
    }
    if (by != range)
        range->until = sharded_key_in(&c->arena, p->key, range->until, range->shard);
    const int order = slice_compare(range->until, ranges_place(p, range));
    return p->reverse ? order < 0 : order > 0;
}

static void ranges_send(struct call *c, struct ranges_plan *p, uint32_t index)
{
    struct subrequest *s = call_request(c, p->rows != NULL ? p->rows : p->route, REQUEST_RANGE);
    const struct plan_range *range = &p->ranges[index];
    const bool moves = p->key != NULL && sharded_key_moves(p->key) && !p->key->counter;
    s->index = index;
    s->rows = p->surely;
    s->request.sharded_key_version =
        p->key != NULL ? sharded_key_min_version(p->key, !p->consistent && !moves) : 0;
    s->request.range.lo = p->reverse ? range->until : range->lo;
    s->request.range.hi = p->reverse ? range->hi : range->until;
    s->request.range.reverse = p->reverse;
    s->request.range.consistent = p->consistent || moves;
    s->request.range.index = p->index != NULL ? p->index->number : 0;
    s->request.range.shard = range->shard;
    if (p->limit > 0) {
        int64_t left = ranges_share(p, p->limit - p->scanned, 2);
        s->request.range.items_max = left < INT32_MAX ? (uint32_t)left : INT32_MAX;
    }
    if (p->step > 0 && (p->limit == 0 || s->request.range.items_max > p->step))
        s->request.range.items_max = p->step;
    s->request.range.bytes_max =
        (uint32_t)ranges_share(p, PAGE_SIZE_MAX - p->read_bytes, SHARE_BYTES_MIN);
    if (p->count == 1) {
        s->request.range.filter = p->filter;
        s->request.range.count_only = p->take == NULL;
    }
    subrequest_start(c->router, s);
}

/* For each range that has no unread items, has not ended, and may be read. False: there is none. */
static bool ranges_send_all(struct call *c, struct ranges_plan *p)
{
    bool any = false;
    for (uint32_t i = 0; i < p->count; i++) {
        struct plan_range *range = &p->ranges[i];
        if (range->ended || range->unread.left.size > 0 || !ranges_find_until(c, p, range))
            continue;
        ranges_send(c, p, i);
        any = true;
    }
    return any;
}

/* Whether partitions are asked first for what a global index lacks of own writes. */
static bool ranges_query_index(struct call *c, struct ranges_plan *p)
{
    p->queries = p->rows != NULL ? own_writes_query_indexes(c, p->route, &p->surely) : 0;
    return p->queries > 0;
}

void ranges_start(struct call *c, struct ranges_plan *p)
{
    p->ended = true;
    p->taken_key = slice_make(NULL, 0);
    for (uint32_t i = 0; i < p->count; i++) {
        p->ranges[i].ended = slice_compare(p->ranges[i].lo, p->ranges[i].hi) >= 0;
        p->ended &= p->ranges[i].ended;
    }
    if (!p->ended && !ranges_query_index(c, p))
        ranges_send_all(c, p);
}

/* ---- items ---- */

static uint32_t ranges_index_keys(const struct ranges_plan *p)
{
    return p->index->partition_count + p->index->sort_count;
}

static void ranges_keep_last(struct call *c, struct ranges_plan *p, struct slice item)
{
    key_find(&p->route->table, p->index, item, &p->last);
    p->last.partition.body = arena_copy(&c->arena, p->last.partition.body);
    p->last.sort.body = arena_copy(&c->arena, p->last.sort.body);
    for (uint32_t i = 0; p->index != NULL && i < ranges_index_keys(p); i++)
        p->last.index[i].body = arena_copy(&c->arena, p->last.index[i].body);
}

static bool ranges_keep_last_key(struct call *c, struct ranges_plan *p, struct slice storage_key)
{
    return key_of_storage(&p->route->table, p->index, storage_key, &c->arena, &p->last) ||
           fault_set(call_fault(c), FAULT_INTERNAL, "A node's last key is outside its table");
}

static bool ranges_cut_short(struct call *c)
{
    return fault_set(call_fault(c), FAULT_INTERNAL, "A node's page of items is cut short");
}

static bool ranges_is_full(const struct ranges_plan *p)
{
    return (p->limit > 0 && p->scanned >= p->limit) || p->read_bytes >= PAGE_SIZE_MAX ||
           p->steps >= STEPS_TURN_MAX;
}

/* With one range: takes the items of a reply until the answer is large enough for this turn. */
static bool ranges_take_some(struct call *c, const struct ranges_plan *p, struct reader *items)
{
    const size_t begin = c->body.size;
    while (items->left.size > 0 && !call_turn_is_over(c, begin)) {
        struct slice item = reader_sized(items);
        if (items->failed)
            return ranges_cut_short(c);
        if (p->take != NULL)
            p->take(c, item);
    }
    return true;
}

/* With one range. What is too much for this turn is kept for ranges_finish. */
static bool ranges_take_reply(struct call *c, struct ranges_plan *p, const struct reply *r)
{
    struct reader items = {r->range.items, false};
    if (!ranges_take_some(c, p, &items))
        return false;
    if (items.left.size > 0)
        call_rest(c);
    p->ranges[0].unread = (struct reader){arena_copy(&c->arena, items.left), false};
    p->taken += r->range.count;
    p->scanned += r->range.scanned;
    p->read_bytes += r->range.read_bytes;
    return r->range.scanned == 0 || ranges_keep_last_key(c, p, r->range.last);
}

/* ---- several ranges ---- */

static bool ranges_key_is_whole(const struct ranges_plan *p, const struct key *key)
{
    const struct table *t = &p->route->table;
    bool whole = key->partition.type == t->partition_key.type &&
                 (!table_has_sort_key(t) || key->sort.type == t->sort_key.type);
    for (uint32_t i = 0; p->index != NULL && i < ranges_index_keys(p); i++)
        whole = whole && key->index[i].type == p->index->keys[i].type;
    return whole;
}

static bool ranges_storage_key(struct call *c, const struct ranges_plan *p, struct slice item,
                               struct slice *out)
{
    struct buffer *scratch = &c->router->scratch;
    struct key key;
    key_find(&p->route->table, p->index, item, &key);
    if (!ranges_key_is_whole(p, &key))
        return fault_set(call_fault(c), FAULT_INTERNAL, "A node's item has no key of its table");
    buffer_clear(scratch);
    key_append_row(scratch, &p->route->table, p->index, &key);
    *out = arena_copy(&c->arena, buffer_slice(scratch));
    return true;
}

/* Sets `next` to the key of the range's first unread item. */
static bool ranges_peek(struct call *c, const struct ranges_plan *p, struct plan_range *range)
{
    struct reader items = range->unread;
    if (items.left.size == 0)
        return true;
    struct slice item = reader_sized(&items);
    if (items.failed)
        return ranges_cut_short(c);
    if (!ranges_storage_key(c, p, item, &range->next))
        return false;
    if (p->key != NULL)
        range->next = sharded_key_in(&c->arena, p->key, range->next, range->shard);
    return true;
}

/* Keeps the items of a reply until the merge takes them. */
static bool ranges_keep_all(struct call *c, struct ranges_plan *p, struct plan_range *range,
                            const struct reply *r)
{
    range->unread = (struct reader){arena_copy(&c->arena, r->range.items), false};
    return ranges_peek(c, p, range);
}

/* The range that has the next item; of those that have a copy, the one of the highest rank. NULL:
 * all ranges have ended, or a range must be read first. */
static struct plan_range *ranges_first(struct ranges_plan *p)
{
    struct plan_range *first = NULL;
    p->ended = true;
    for (uint32_t i = 0; i < p->count; i++) {
        struct plan_range *range = &p->ranges[i];
        p->ended &= range->ended && range->unread.left.size == 0;
        if (range->unread.left.size == 0)
            continue;
        const int order =
            first == NULL ? 0 : ranges_compare(range, range->next, first, first->next);
        if (first == NULL || (p->reverse ? order > 0 : order < 0) ||
            (order == 0 && range->rank > first->rank))
            first = range;
    }
    for (uint32_t i = 0; first != NULL && i < p->count; i++) {
        const struct plan_range *range = &p->ranges[i];
        if (range->ended || range->unread.left.size > 0)
            continue;
        const int order = ranges_compare(first, first->next, range, ranges_place(p, range));
        if (p->reverse ? order < 0 : order >= 0)
            return NULL;
    }
    return first;
}

/* Drops the other copies of the first item of `first`. */
static bool ranges_drop_copies(struct call *c, struct ranges_plan *p,
                               const struct plan_range *first)
{
    for (uint32_t i = 0; i < p->count && p->key != NULL; i++) {
        struct plan_range *range = &p->ranges[i];
        if (range == first || range->unread.left.size == 0 ||
            ranges_compare(range, range->next, first, first->next) != 0)
            continue;
        reader_sized(&range->unread);
        if (!ranges_peek(c, p, range))
            return false;
    }
    return true;
}

/* The next item of the range; of a counter: the sum of all its cells. */
static bool ranges_next_item(struct call *c, struct ranges_plan *p, struct plan_range *range,
                             struct slice *item)
{
    struct slice cells[KEY_SHARDS_MAX];
    uint32_t count = 0;
    if (p->key == NULL || !p->key->counter) {
        *item = reader_sized(&range->unread);
        return true;
    }
    for (uint32_t i = 0; i < p->count; i++) {
        const struct plan_range *cell = &p->ranges[i];
        struct reader items = cell->unread;
        if (items.left.size > 0 && ranges_compare(cell, cell->next, range, range->next) == 0)
            cells[count++] = reader_sized(&items);
    }
    struct buffer sum = {0};
    const bool fits =
        counter_sum(&sum, &p->route->table, cells, count) == NUMBER_OK ||
        call_invalid(c, "The sum of the counter's cells is outside the range of numbers");
    *item = arena_take(&c->arena, &sum);
    reader_sized(&range->unread);
    return fits;
}

/* Whether the row is of an item that was taken before. */
static bool ranges_were_taken(struct call *c, struct ranges_plan *p, struct slice row)
{
    struct key key;
    if (p->key == NULL || p->index == NULL)
        return false;
    key_find(&p->route->table, p->index, row, &key);
    p->seen.seed = c->router->hash_seed;
    return !seen_items_add(&p->seen, &c->arena, call_storage_key(c, &p->route->table, &key));
}

/* Takes an item that the nodes have not filtered. False: the call fails. */
static bool ranges_take(struct call *c, struct ranges_plan *p, struct slice item)
{
    bool passes;
    if (!call_filter(c, p->filter, item, &p->steps, &passes))
        return false;
    if (passes && p->take != NULL)
        p->take(c, item);
    p->taken += passes;
    return true;
}

/* Takes what may be taken, at most `step` items. Returns false with a fault. */
static bool ranges_merge(struct call *c, struct ranges_plan *p)
{
    struct plan_range *range;
    struct slice last = {NULL, 0};
    uint32_t count = 0;
    const size_t begin = c->body.size;
    while (!p->truncated && (p->step == 0 || count < p->step) && !call_turn_is_over(c, begin) &&
           (range = ranges_first(p)) != NULL) {
        if (!ranges_next_item(c, p, range, &last) || !ranges_drop_copies(c, p, range))
            return false;
        if (!ranges_were_taken(c, p, last)) {
            if (!ranges_take(c, p, last))
                return false;
            count++;
            p->scanned++;
            p->read_bytes += item_size(last);
        }
        p->taken_key = range->next;
        p->truncated = ranges_is_full(p);
        if (!ranges_peek(c, p, range))
            return false;
    }
    if (last.size > 0)
        ranges_keep_last(c, p, last);
    p->ended |= p->truncated;
    if (p->ended || (p->step > 0 && count == p->step))
        return true;
    if (call_ends_turn(c, begin))
        return true;
    return ranges_send_all(c, p) ||
           fault_set(call_fault(c), FAULT_INTERNAL, "A node's page of items is out of order");
}

/* ---- replies ---- */

/* The node has more: the range goes on behind the last key that it has looked at. */
static bool ranges_go_on(struct call *c, struct ranges_plan *p, struct plan_range *range,
                         const struct reply *r)
{
    const struct slice last = r->range.last;
    const bool inside =
        last.size > 0 && slice_compare(last, range->lo) >= 0 && slice_compare(last, range->hi) < 0;
    if (!inside)
        return fault_set(call_fault(c), FAULT_INTERNAL, "A node's last key is outside its range");
    plan_range_skip_past(c, range, p->reverse, arena_copy(&c->arena, last));
    range->ended = slice_compare(range->lo, range->hi) >= 0;
    return true;
}

/* What was asked for was read, as far as the partition has it. */
static void ranges_end_part(struct ranges_plan *p, struct plan_range *range,
                            const struct subrequest *s)
{
    struct slice lo = p->reverse ? range->until : range->lo,
                 hi = p->reverse ? range->hi : range->until;
    struct slice place = range->until;
    if (table_range_past(&s->route->table, s->request.partition, p->reverse, &lo, &hi))
        place = p->reverse ? hi : lo;
    range->ended = slice_equal(place, p->reverse ? range->lo : range->hi);
    if (range->ended)
        return; /* its first bytes tell what its keys begin with */
    if (p->reverse)
        range->hi = place;
    else
        range->lo = place;
}

/* Nothing was done: the shards are not those any more. */
static bool ranges_note_stale(struct ranges_plan *p, const struct subrequest *s)
{
    const uint64_t known = p->stale ? table_key_sharding_version(&p->newer->table) : 0;
    if (!p->stale || table_key_sharding_version(&s->route->table) > known)
        p->newer = s->route;
    p->stale = true;
    return true;
}

bool ranges_reply(struct call *c, struct ranges_plan *p, struct subrequest *s,
                  const struct reply *r)
{
    if (s->request.op == REQUEST_INDEX_SHOWS) {
        p->surely = own_writes_indexes_show(c->router, s, r) && p->surely;
        return true;
    }
    struct plan_range *range = &p->ranges[s->index];
    if (r->code == REPLY_STALE_MAP)
        return ranges_note_stale(p, s);
    if (r->code == REPLY_THROTTLED && p->scanned > 0) {
        throttle_note(c, s, &r->verdict);
        p->ended = p->truncated = true;
        return true;
    }
    if (r->code != REPLY_OK)
        return call_refuse(c, s, r);
    *(p->rows != NULL ? &p->rows : &p->route) = s->route; /* may be a newer map */
    p->consumed_mcu += read_cost_mcu(r->range.read_bytes, s->request.range.consistent);
    if (p->count == 1 ? !ranges_take_reply(c, p, r) : !ranges_keep_all(c, p, range, r))
        return false;
    if (p->count == 1 && ranges_is_full(p))
        p->ended = p->truncated = true;
    else if (r->range.more)
        return ranges_go_on(c, p, range, r);
    else
        ranges_end_part(p, range, s);
    return true;
}

bool ranges_finish(struct call *c, struct ranges_plan *p)
{
    if (p->count == 1 && !ranges_take_some(c, p, &p->ranges[0].unread))
        return false;
    if (p->count == 1 && p->ranges[0].unread.left.size > 0) {
        call_rest(c);
        return true;
    }
    if (p->ended)
        return true;
    if (p->queries > 0) {
        p->queries = 0;
        ranges_send_all(c, p);
        return true;
    }
    p->ended = p->stale;
    if (p->ended)
        return true;
    if (p->count > 1)
        return ranges_merge(c, p);
    p->ended = p->ranges[0].ended;
    if (!p->ended)
        ranges_send_all(c, p);
    return true;
}
