/* query_scan.c - the members and the answer that Query and Scan share. */
#include "router/operations/query_scan.h"

#include "router/json/json_writer.h"

bool page_read(struct call *c, struct page *p, const struct json_value *select,
               const struct json_value *limit, const struct json_value *consistent)
{
    struct slice what = select->type == JSON_STRING ? json_string(select) : slice_make(NULL, 0);
    p->plan.limit = shape_integer(limit, 0);
    p->plan.consistent = shape_boolean(consistent, false);
    p->count_only = slice_is(what, "COUNT");
    if (slice_is(what, "ALL_PROJECTED_ATTRIBUTES"))
        return call_invalid(
            c,
            INVALID "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName");
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

static void page_write_item(struct call *c, struct slice item)
{
    value_write_item(&c->body, item);
}

void page_start(struct call *c, struct page *p)
{
    json_write_open(&c->body, '{');
    if (!p->count_only)
        json_member_open(&c->body, "Items", '[');
    p->plan.take = p->count_only ? NULL : page_write_item;
    p->plan.ranges = &p->range;
    p->plan.count = 1;
    ranges_start(c, &p->plan);
}

bool page_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct page *p = c->state;
    return ranges_reply(c, &p->plan, s, r);
}

bool page_finish(struct call *c)
{
    struct page *p = c->state;
    struct ranges_plan *plan = &p->plan;
    struct buffer *out = &c->body;
    if (!ranges_finish(c, plan))
        return false;
    if (!plan->ended)
        return true;
    if (!p->count_only)
        json_write_close(out, ']');
    json_member_integer(out, "Count", plan->taken);
    json_member_integer(out, "ScannedCount", plan->taken);
    if (plan->truncated && plan->taken > 0) {
        json_write_key(out, "LastEvaluatedKey");
        key_write(out, &plan->route->table, &plan->last);
    }
    capacity_write_member(out, c, &plan->route->table,
                          p->by_partition ? plan->consumed_mcu
                                          : read_cost_mcu(plan->read_bytes, plan->consistent));
    json_write_close(out, '}');
    return true;
}
