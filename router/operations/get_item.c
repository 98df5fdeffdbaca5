/* get_item.c - GetItem: one item by its key. */
#include "router/expression/names.h"
#include "router/json/json_writer.h"
#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/plan/items.h"

static bool get_item_read(struct call *c, const struct json_value m[], struct item_plan *plan)
{
    struct item_request *q = plan->items;
    q->op = REQUEST_GET;
    if (!expression_names_absent(&m[GET_ITEM_EXPRESSION_ATTRIBUTE_NAMES], NULL, NULL,
                                 call_fault(c)))
        return false;
    call_take_consumed(c, &m[GET_ITEM_RETURN_CONSUMED_CAPACITY]);
    q->consistent = shape_boolean(&m[GET_ITEM_CONSISTENT_READ], false);
    plan->tables->name = json_string(&m[GET_ITEM_TABLE_NAME]);
    return value_read_item(&c->bytes, &c->arena, &m[GET_ITEM_KEY], &q->item, call_fault(c));
}

static bool get_item_begin(struct call *c, const struct json_value m[])
{
    struct item_plan *plan = item_plan_create(c, 1, 1);
    if (!get_item_read(c, m, plan))
        return false;
    items_begin(c, plan);
    return true;
}

static bool get_item_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    if (!call_begin_answer(c, s, r, "Item"))
        return false;
    json_write_close(&c->body, '}');
    return true;
}

OPERATION(get_item, "GetItem", .begin = get_item_begin, .ready = items_ready,
          .reply = get_item_reply);
