#include "router/json_writer.h"
#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/operations/write.h"

enum {
    TABLE_NAME,
    ITEM,
    RETURN_VALUES,
    RETURN_CONSUMED,
};

static const struct shape_member MEMBERS[] = {
    {"TableName", &shape_table_name, MEMBER_REQUIRED},
    {"Item", &shape_attribute_map, MEMBER_REQUIRED},
    {"ReturnValues", &shape_return_values, MEMBER_OPTIONAL},
    {"ReturnConsumedCapacity", &shape_return_consumed, MEMBER_OPTIONAL},
    {"ReturnItemCollectionMetrics", &shape_return_metrics, MEMBER_OPTIONAL},
    {"ConditionExpression", &shape_string, MEMBER_LATER},
    {"ExpressionAttributeNames", &shape_name_map, MEMBER_LATER},
    {"ExpressionAttributeValues", &shape_attribute_map, MEMBER_LATER},
    {"Expected", &shape_anything, MEMBER_LATER},
    {"ConditionalOperator", &shape_anything, MEMBER_LATER},
    {"ReturnValuesOnConditionCheckFailure", &shape_string, MEMBER_OPTIONAL},
    {0},
};

static const struct shape INPUT = {
    .kind = SHAPE_STRUCTURE, .java = "PutItemInput", .members = MEMBERS};

struct put_item {
    struct route *route;
    struct span item;
    bool want_old;
};

static bool begin(struct call *c, const struct json_value m[])
{
    struct put_item *p = arena_zalloc(&c->arena, sizeof *p);
    c->state = p;
    call_take_consumed(c, &m[RETURN_CONSUMED]);
    if (!value_read_item(&c->bytes, &c->arena, &m[ITEM], &p->item, call_fault(c)) ||
        !write_item_fits(span_in(&c->bytes, p->item), call_fault(c)) ||
        !write_take_return_values(c, &m[RETURN_VALUES], &p->want_old))
        return false;
    call_want_table(c, json_string(&m[TABLE_NAME]), &p->route);
    return true;
}

static bool ready(struct call *c)
{
    struct put_item *p = c->state;
    const struct table *t = &p->route->table;
    struct key key;
    if (!call_table_usable(c, t) ||
        !key_of_item(t, span_in(&c->bytes, p->item), &key, call_fault(c)))
        return false;
    struct subrequest *s = call_data_request(c, p->route, REQUEST_PUT);
    s->request.key = call_storage_key(c, t, &key);
    s->request.body = span_in(&c->bytes, p->item);
    s->request.want_old = p->want_old;
    call_send(c, s);
    return true;
}

const struct operation operation_put_item = {
    .name = "PutItem", .input = &INPUT, .begin = begin, .ready = ready, .reply = write_reply};
