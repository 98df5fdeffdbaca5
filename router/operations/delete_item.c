#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/operations/write.h"

enum {
    TABLE_NAME,
    KEY,
    RETURN_VALUES,
    RETURN_CONSUMED,
};

static const struct shape_member MEMBERS[] = {
    {"TableName", &shape_table_name, MEMBER_REQUIRED},
    {"Key", &shape_attribute_map, MEMBER_REQUIRED},
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
    .kind = SHAPE_STRUCTURE, .java = "DeleteItemInput", .members = MEMBERS};

struct delete_item {
    struct route *route;
    struct span key;
    bool want_old;
};

static bool begin(struct call *c, const struct json_value m[])
{
    struct delete_item *d = arena_zalloc(&c->arena, sizeof *d);
    c->state = d;
    call_take_consumed(c, &m[RETURN_CONSUMED]);
    if (!value_read_item(&c->bytes, &c->arena, &m[KEY], &d->key, call_fault(c)) ||
        !write_take_return_values(c, &m[RETURN_VALUES], &d->want_old))
        return false;
    call_want_table(c, json_string(&m[TABLE_NAME]), &d->route);
    return true;
}

static bool ready(struct call *c)
{
    struct delete_item *d = c->state;
    const struct table *t = &d->route->table;
    struct key key;
    if (!call_table_usable(c, t) || !key_of_key(t, span_in(&c->bytes, d->key), &key, call_fault(c)))
        return false;
    struct subrequest *s = call_data_request(c, d->route, REQUEST_DELETE);
    s->request.key = call_storage_key(c, t, &key);
    s->request.want_old = d->want_old;
    call_send(c, s);
    return true;
}

const struct operation operation_delete_item = {
    .name = "DeleteItem", .input = &INPUT, .begin = begin, .ready = ready, .reply = write_reply};
