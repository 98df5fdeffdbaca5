/* ranges.c - reads pages of items from one range, or merges several ranges. */
#include "router/plan/ranges.h"

#include "engine/expression/program.h"
#include "router/operations/throttle.h"

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
    call_want_table(c, p->table, &p->route);
}

static void ranges_send(struct call *c, struct ranges_plan *p, uint32_t index)
{
    struct subrequest *s = call_request(c, p->rows != NULL ? p->rows : p->route, REQUEST_RANGE);
    s->index = index;
    s->request.range.lo = p->ranges[index].lo;
    s->request.range.hi = p->ranges[index].hi;
    s->request.range.reverse = p->reverse;
    s->request.range.consistent = p->consistent;
    s->request.range.index = p->index != NULL ? p->index->number : 0;
    if (p->limit > 0) {
        int64_t left = p->limit - p->scanned;
        s->request.range.items_max = left < INT32_MAX ? (uint32_t)left : INT32_MAX;
    }
    if (p->step > 0 && (p->limit == 0 || s->request.range.items_max > p->step))
        s->request.range.items_max = p->step;
    s->request.range.bytes_max = (uint32_t)(PAGE_SIZE_MAX - p->read_bytes);
    if (p->count == 1) {
        s->request.range.filter = p->filter;
        s->request.range.count_only = p->take == NULL;
    }
    subrequest_start(c->router, s);
}

/* For each range that has no unread items and has not ended. */
static void ranges_send_all(struct call *c, struct ranges_plan *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        if (!p->ranges[i].ended && p->ranges[i].unread.left.size == 0)
            ranges_send(c, p, i);
    }
}

void ranges_start(struct call *c, struct ranges_plan *p)
{
    p->ended = true;
    for (uint32_t i = 0; i < p->count; i++) {
        p->ranges[i].ended = slice_compare(p->ranges[i].lo, p->ranges[i].hi) >= 0;
        p->ended &= p->ranges[i].ended;
    }
    if (!p->ended)
        ranges_send_all(c, p);
}

/* ---- items ---- */

static void ranges_keep_last(struct call *c, struct ranges_plan *p, struct slice item)
{
    key_find(&p->route->table, NULL, item, &p->last);
    p->last.partition.body = arena_copy(&c->arena, p->last.partition.body);
    p->last.sort.body = arena_copy(&c->arena, p->last.sort.body);
}

static bool ranges_keep_last_key(struct call *c, struct ranges_plan *p, struct slice storage_key)
{
    return key_of_storage(&p->route->table, p->index, storage_key, &c->arena, &p->last) ||
           fault_set(call_fault(c), FAULT_INTERNAL, "A node's last key is none of its table");
}

static bool ranges_cut_short(struct call *c)
{
    return fault_set(call_fault(c), FAULT_INTERNAL, "A node's page of items is cut short");
}

static bool ranges_is_full(const struct ranges_plan *p)
{
    return (p->limit > 0 && p->scanned >= p->limit) || p->read_bytes >= PAGE_SIZE_MAX;
}

/* With one range: takes all items of a reply at once. */
static bool ranges_take_all(struct call *c, struct ranges_plan *p, const struct reply *r)
{
    struct reader items = {r->range.items, false};
    for (uint32_t i = 0; i < r->range.count && items.left.size > 0; i++) {
        struct slice item = reader_sized(&items);
        if (items.failed)
            return ranges_cut_short(c);
        if (p->take != NULL)
            p->take(c, item);
    }
    p->taken += r->range.count;
    p->scanned += r->range.scanned;
    p->read_bytes += r->range.read_bytes;
    return r->range.scanned == 0 || ranges_keep_last_key(c, p, r->range.last);
}

/* ---- several ranges ---- */

static bool ranges_storage_key(struct call *c, const struct ranges_plan *p, struct slice item,
                               struct slice *out)
{
    const struct table *t = &p->route->table;
    struct key key;
    if (!key_of_item(t, item, &key, call_fault(c)))
        return fault_set(call_fault(c), FAULT_INTERNAL, "A node's item has no key of its table");
    *out = call_storage_key(c, t, &key);
    return true;
}

/* Sets `next` to the key of the range's first unread item. */
static bool ranges_peek(struct call *c, const struct ranges_plan *p, struct plan_range *range)
{
    struct reader items = range->unread;
    if (items.left.size == 0)
        return true;
    struct slice item = reader_sized(&items);
    return items.failed ? ranges_cut_short(c) : ranges_storage_key(c, p, item, &range->next);
}

/* Keeps the items of a reply until the merge takes them. If the partition has more items, the range
 * continues after these. */
static bool ranges_keep_all(struct call *c, struct ranges_plan *p, struct plan_range *range,
                            const struct reply *r)
{
    struct reader items = {arena_copy(&c->arena, r->range.items), false};
    range->unread = items;
    struct slice last = {NULL, 0}, key;
    for (uint32_t i = 0; i < r->range.count; i++)
        last = reader_sized(&items);
    if (items.failed)
        return ranges_cut_short(c);
    if (r->range.more && r->range.count > 0) {
        if (!ranges_storage_key(c, p, last, &key))
            return false;
        plan_range_skip_past(c, range, p->reverse, key);
    }
    return ranges_peek(c, p, range);
}

/* Whether the next item of `a` comes before the next item of `b`. */
static bool ranges_is_before(const struct ranges_plan *p, const struct plan_range *a,
                             const struct plan_range *b)
{
    struct slice x = slice_make(a->next.data + a->prefix, a->next.size - a->prefix);
    struct slice y = slice_make(b->next.data + b->prefix, b->next.size - b->prefix);
    int order = slice_compare(x, y);
    return p->reverse ? order > 0 : order < 0;
}

/* The range that has the next item. NULL: all ranges have ended, or a range must be read first. */
static struct plan_range *ranges_first(struct ranges_plan *p)
{
    struct plan_range *first = NULL;
    p->ended = true;
    for (uint32_t i = 0; i < p->count; i++) {
        struct plan_range *range = &p->ranges[i];
        p->ended &= range->ended && range->unread.left.size == 0;
        if (range->unread.left.size == 0) {
            if (!range->ended)
                return NULL;
        } else if (first == NULL || ranges_is_before(p, range, first)) {
            first = range;
        }
    }
    return first;
}

/* Takes an item that the nodes have not filtered. */
static void ranges_take(struct call *c, struct ranges_plan *p, struct slice item)
{
    if (p->filter.size > 0 && !program_holds(p->filter, item))
        return;
    if (p->take != NULL)
        p->take(c, item);
    p->taken++;
}

static bool ranges_merge(struct call *c, struct ranges_plan *p)
{
    struct plan_range *range;
    struct slice last = {NULL, 0};
    while (!p->truncated && (range = ranges_first(p)) != NULL) {
        last = reader_sized(&range->unread);
        ranges_take(c, p, last);
        p->scanned++;
        p->read_bytes += item_size(last);
        p->truncated = ranges_is_full(p);
        if (!ranges_peek(c, p, range))
            return false;
    }
    if (last.size > 0)
        ranges_keep_last(c, p, last);
    p->ended |= p->truncated;
    return true;
}

/* ---- replies ---- */

bool ranges_reply(struct call *c, struct ranges_plan *p, struct subrequest *s,
                  const struct reply *r)
{
    struct plan_range *range = &p->ranges[s->index];
    if (r->code == REPLY_THROTTLED && p->scanned > 0) {
        throttle_note(c, s, &r->verdict);
        p->ended = p->truncated = true;
        return true;
    }
    if (r->code != REPLY_OK)
        return call_refuse(c, s, r);
    *(p->rows != NULL ? &p->rows : &p->route) = s->route; /* may be a newer map */
    p->consumed_mcu += read_cost_mcu(r->range.read_bytes, p->consistent);
    if (p->count == 1 ? !ranges_take_all(c, p, r) : !ranges_keep_all(c, p, range, r))
        return false;
    if (p->count == 1 && r->range.more && r->range.scanned == p->step && !ranges_is_full(p))
        plan_range_skip_past(c, range, p->reverse, arena_copy(&c->arena, r->range.last));
    else if (p->count == 1 && (r->range.more || ranges_is_full(p)))
        p->ended = p->truncated = true;
    else if (!r->range.more)
        range->ended = !table_range_past(&s->route->table, s->request.partition, p->reverse,
                                         &range->lo, &range->hi);
    return true;
}

bool ranges_finish(struct call *c, struct ranges_plan *p)
{
    if (p->ended)
        return true;
    if (p->count == 1)
        p->ended = p->ranges[0].ended;
    else if (!ranges_merge(c, p))
        return false;
    if (!p->ended)
        ranges_send_all(c, p);
    return true;
}
