/* query_scan.c - the members and the answer that Query and Scan share. */
#include "router/operations/query_scan.h"

#include "router/expression/key_schema.h"
#include "router/json/json_writer.h"

/* A projection goes with SPECIFIC_ATTRIBUTES, or with no Select at all. */
static bool page_check_select(struct call *c, const struct page *p, struct slice select,
                              const char *projection)
{
    if (projection != NULL && select.size > 0 && !slice_is(select, "SPECIFIC_ATTRIBUTES"))
        return call_invalid(c, "Cannot specify the %s when choosing to get %.*s", projection,
                            SHOWN(p->count_only ? slice_of("only the Count") : select));
    if (slice_is(select, "ALL_PROJECTED_ATTRIBUTES") && p->index.size == 0)
        return call_invalid(
            c, "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName");
    if (slice_is(select, "SPECIFIC_ATTRIBUTES") && projection == NULL)
        return call_invalid(c, "Must specify the AttributesToGet or ProjectionExpression when "
                               "choosing to get SPECIFIC_ATTRIBUTES");
    return true;
}

bool page_read(struct call *c, struct page *p, const struct page_members *of,
               const struct json_value m[])
{
    const struct expression_members *e = &of->expressions;
    const char *projection = NULL;
    if (m[e->expressions[PARAMETER_PROJECTION]].type != JSON_ABSENT)
        projection = "ProjectionExpression";
    else if (m[e->legacy[LEGACY_ATTRIBUTES_TO_GET]].type != JSON_ABSENT)
        projection = "AttributesToGet";
    p->plan.table = call_table_named(c, &m[of->table_name]);
    p->plan.limit = shape_integer(&m[of->limit], 0);
    p->plan.consistent = shape_boolean(&m[of->consistent_read], false);
    p->count_only = json_is_text(&m[of->select], "COUNT");
    p->index = arena_copy(&c->arena, json_text(&m[of->index_name]));
    call_take_consumed(c, &m[of->return_consumed]);
    return expressions_check(e, m, &p->expressions, call_fault(c)) &&
           page_check_select(c, p, json_text(&m[of->select]), projection) &&
           expressions_read_legacy(e, m, &c->arena, &p->expressions, call_fault(c));
}

bool page_read_expressions(struct call *c, struct page *p, const struct page_members *of,
                           const struct json_value m[])
{
    return expressions_read(&of->expressions, m, &c->arena, &p->expressions, call_fault(c)) &&
           expressions_encode(&c->bytes, p->expressions.condition, &p->filter, call_fault(c));
}

bool page_blame_start_key(struct call *c)
{
    struct fault *f = call_fault(c);
    struct slice text = arena_copy(&c->arena, buffer_slice(&f->text));
    return fault_set(f, f->kind, "The provided starting key is invalid: %.*s", SHOWN(text));
}

/* The service blames the starting key only for some bad values. */
bool page_read_start_key(struct call *c, const struct json_value *member, struct span *out)
{
    if (member->type == JSON_ABSENT)
        return true;
    struct fault *f = call_fault(c);
    if (value_read_item(&c->bytes, &c->arena, member, out, f))
        return true;
    static const char *const PREFIXED[] = {"Supplied AttributeValue",
                                           "One or more parameter values were invalid: Null",
                                           "One or more parameter values were invalid: An string "
                                           "set  may",
                                           "One or more parameter values were invalid: Binary "
                                           "sets should"};
    for (size_t i = 0; i < COUNT_OF(PREFIXED); i++) {
        if (slice_starts_with(buffer_slice(&f->text), slice_of(PREFIXED[i])))
            return page_blame_start_key(c);
    }
    return false;
}

/* ---- with the table ---- */

bool page_check_table(struct call *c, const struct page *p)
{
    return call_table_usable(c, &p->plan.route->table) &&
           (p->index.size == 0 || call_invalid(c,
                                               "The table does not have the specified index: "
                                               "%.*s",
                                               SHOWN(p->index)));
}

bool page_check_paths(struct call *c, const struct page *p, const char *no_keys)
{
    const struct table *t = &p->plan.route->table;
    return key_paths_of_projection(p->expressions.projection, t, call_fault(c)) &&
           key_paths_of_filter(p->expressions.condition, t, no_keys, call_fault(c));
}

/* ---- the answer ---- */

static void page_write_item(struct call *c, struct slice item)
{
    const struct page *p = c->state;
    call_write_item(c, &c->body, item, p->expressions.projection);
}

void page_start(struct call *c, struct page *p)
{
    json_write_open(&c->body, '{');
    if (!p->count_only)
        json_member_open(&c->body, "Items", '[');
    p->plan.take = p->count_only ? NULL : page_write_item;
    p->plan.filter = span_in(&c->bytes, p->filter);
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
    json_member_integer(out, "ScannedCount", plan->scanned);
    if (plan->truncated && plan->scanned > 0) {
        json_write_key(out, "LastEvaluatedKey");
        key_write(out, &plan->route->table, &plan->last);
    }
    capacity_write_member(out, c, &plan->route->table,
                          p->by_partition ? plan->consumed_mcu
                                          : read_cost_mcu(plan->read_bytes, plan->consistent));
    json_write_close(out, '}');
    return true;
}
