#include "router/plan/page.h"

#include "base/limits.h"
#include "router/json/json_writer.h"
#include "router/operations/throttle.h"

bool page_take(struct call *c, struct page *p, const struct json_value *select,
               const struct json_value *limit, const struct json_value *consistent)
{
    struct slice what = select->type == JSON_STRING ? json_string(select) : slice_make(NULL, 0);
    p->limit = shape_integer(limit, 0);
    p->consistent = shape_boolean(consistent, false);
    p->count_only = slice_is(what, "COUNT");
    if (slice_is(what, "ALL_PROJECTED_ATTRIBUTES"))
        return fault_set(call_fault(c), FAULT_VALIDATION,
                         "One or more parameter values were invalid: ALL_PROJECTED_ATTRIBUTES can "
                         "be used only when Querying using an IndexName");
    if (slice_is(what, "SPECIFIC_ATTRIBUTES"))
        return fault_set_later(call_fault(c), "Select SPECIFIC_ATTRIBUTES");
    return true;
}

bool page_blame_start_key(struct call *c)
{
    struct fault *f = call_fault(c);
    struct slice text = arena_copy(&c->arena, buffer_slice(&f->text));
    return fault_set(f, f->kind, "The provided starting key is invalid: %.*s", SHOWN(text));
}

void page_skip_past(struct call *c, struct page *p, struct slice key)
{
    if (p->reverse) {
        p->hi = slice_compare(key, p->hi) < 0 ? key : p->hi;
        return;
    }
    /* The least string after the key: itself and a zero byte. */
    uint8_t *after = arena_alloc(&c->arena, key.size + 1);
    memcpy(after, key.data, key.size);
    after[key.size] = 0;
    struct slice lo = slice_make(after, key.size + 1);
    p->lo = slice_compare(lo, p->lo) > 0 ? lo : p->lo;
}

static void page_send(struct call *c, struct page *p)
{
    struct subrequest *s = call_data_request(c, p->route, REQUEST_RANGE);
    s->request.key = p->lo;
    s->request.end = p->hi;
    s->request.reverse = p->reverse;
    s->request.consistent = p->consistent;
    if (p->limit > 0) {
        int64_t left = p->limit - p->count;
        s->request.items_max = left < INT32_MAX ? (uint32_t)left : INT32_MAX;
    }
    s->request.bytes_max = (uint32_t)(PAGE_SIZE_MAX - p->read_bytes);
    call_send(c, s);
}

void page_start(struct call *c, struct page *p)
{
    json_write_open(&c->body, '{');
    if (!p->count_only) {
        json_member_open(&c->body, "Items", '[');
    }
    p->ended = slice_compare(p->lo, p->hi) >= 0;
    if (!p->ended)
        page_send(c, p);
}

static bool take_items(struct call *c, struct page *p, const struct reply *r)
{
    struct reader items = {r->body, false};
    struct slice last = {NULL, 0};
    for (uint32_t i = 0; i < r->count; i++) {
        struct slice item = reader_sized(&items);
        if (items.failed)
            return fault_set(call_fault(c), FAULT_INTERNAL, "A node's page of items is cut short");
        if (!p->count_only)
            value_write_item(&c->body, item);
        last = item;
    }
    if (r->count > 0) {
        struct buffer *scratch = &c->router->scratch;
        buffer_clear(scratch);
        key_write(scratch, &p->route->table, last);
        p->last_key = arena_copy(&c->arena, buffer_slice(scratch));
    }
    p->count += r->count;
    p->read_bytes += r->read_bytes;
    p->consumed_mcu += read_cost_mcu(r->read_bytes, p->consistent);
    return true;
}

/* The partition the subrequest was answered by has no more: go on with its neighbour. */
static void step(struct page *p, const struct subrequest *s)
{
    p->route = s->route; /* perhaps a newer one */
    p->ended =
        !table_range_past(&p->route->table, s->request.partition, p->reverse, &p->lo, &p->hi);
}

bool page_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct page *p = c->state;
    if (r->code == REPLY_THROTTLED && p->count > 0) {
        throttle_note(c, s, &r->verdict);
        p->ended = p->truncated = true;
        return true;
    }
    if (r->code != REPLY_OK)
        return call_refuse(c, s, r);
    if (!take_items(c, p, r))
        return false;
    if (r->more || (p->limit > 0 && p->count >= p->limit) || p->read_bytes >= PAGE_SIZE_MAX)
        p->ended = p->truncated = true;
    else
        step(p, s);
    return true;
}

bool page_finish(struct call *c)
{
    struct page *p = c->state;
    struct buffer *out = &c->body;
    if (!p->ended) {
        page_send(c, p);
        return true;
    }
    if (!p->count_only)
        json_write_close(out, ']');
    json_member_integer(out, "Count", p->count);
    json_member_integer(out, "ScannedCount", p->count);
    if (p->truncated && p->last_key.size > 0) {
        json_write_key(out, "LastEvaluatedKey");
        buffer_append_slice(out, p->last_key);
    }
    capacity_write_member(out, c, &p->route->table,
                          p->by_partition ? p->consumed_mcu
                                          : read_cost_mcu(p->read_bytes, p->consistent));
    json_write_close(out, '}');
    return true;
}
