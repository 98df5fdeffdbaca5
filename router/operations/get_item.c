/* get_item.c - GetItem: one item by its key. */
#include "router/core/items.h"
#include "router/expression/expressions.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/operations.h"

static const struct expression_members MEMBERS = {
    .names = GET_ITEM_EXPRESSION_ATTRIBUTE_NAMES,
    .expressions = {[PARAMETER_PROJECTION] = GET_ITEM_PROJECTION_EXPRESSION},
    .legacy = {[LEGACY_ATTRIBUTES_TO_GET] = GET_ITEM_ATTRIBUTES_TO_GET}};

static bool get_item_begin(struct call *c, const struct json_value m[])
{
    struct item_plan *plan = item_plan_create(c, 1, 1);
    struct item_request *q = plan->items;
    struct fault *f = call_fault(c);
    struct expressions e = {0};
    q->op = REQUEST_GET;
    call_take_consumed(c, &m[GET_ITEM_RETURN_CONSUMED_CAPACITY]);
    q->consistent = shape_boolean(&m[GET_ITEM_CONSISTENT_READ], false);
    plan->tables->name = call_table_named(c, &m[GET_ITEM_TABLE_NAME]);
    if (!expressions_check(&MEMBERS, m, &e, f) ||
        !value_read_item(&c->bytes, &c->arena, &m[GET_ITEM_KEY], &q->item, f) ||
        !expressions_read_legacy(&MEMBERS, m, &c->arena, &e, f) ||
        !expressions_read(&MEMBERS, m, &c->arena, &e, f))
        return false;
    plan->tables->projection = e.projection;
    items_begin(c, plan);
    return true;
}

static bool get_item_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    if (!call_begin_answer(c, s, r, "Item", c->plan->tables->projection))
        return false;
    json_write_close(&c->body, '}');
    return true;
}

OPERATION(get_item, "GetItem", .begin = get_item_begin, .ready = items_ready,
          .reply = get_item_reply);
