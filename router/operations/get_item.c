#include "router/expression/names.h"
#include "router/json/json_writer.h"
#include "router/operations/operations.h"
#include "router/operations/shapes.h"

enum {
    TABLE_NAME,
    KEY,
    CONSISTENT_READ,
    RETURN_CONSUMED,
    PROJECTION,
    NAMES,
};

static const struct shape_member MEMBERS[] = {
    {"TableName", &shape_table_name, MEMBER_REQUIRED},
    {"Key", &shape_attribute_map, MEMBER_REQUIRED},
    {"ConsistentRead", &shape_boolean_value, MEMBER_OPTIONAL},
    {"ReturnConsumedCapacity", &shape_return_consumed, MEMBER_OPTIONAL},
    {"ProjectionExpression", &shape_string, MEMBER_LATER},
    {"ExpressionAttributeNames", &shape_name_map, MEMBER_OPTIONAL},
    {"AttributesToGet", &shape_anything, MEMBER_LATER},
    {0},
};

static const struct shape INPUT = {
    .kind = SHAPE_STRUCTURE, .java = "GetItemInput", .members = MEMBERS};

struct get_item {
    struct route *route;
    struct span key; /* encoded as an item */
    bool consistent;
};

static bool begin(struct call *c, const struct json_value m[])
{
    struct get_item *g = arena_zalloc(&c->arena, sizeof *g);
    c->state = g;
    if (!expression_names_absent(&m[NAMES], NULL, NULL, call_fault(c)))
        return false;
    call_take_consumed(c, &m[RETURN_CONSUMED]);
    g->consistent = shape_boolean(&m[CONSISTENT_READ], false);
    if (!value_read_item(&c->bytes, &c->arena, &m[KEY], &g->key, call_fault(c)))
        return false;
    call_want_table(c, json_string(&m[TABLE_NAME]), &g->route);
    return true;
}

static bool ready(struct call *c)
{
    struct get_item *g = c->state;
    struct slice key;
    if (!call_find_key(c, &g->route->table, REQUEST_GET, span_in(&c->bytes, g->key), &key))
        return false;
    struct subrequest *s = call_data_request(c, g->route, REQUEST_GET);
    s->request.key = key;
    s->request.consistent = g->consistent;
    call_send(c, s);
    return true;
}

static bool reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    if (!call_begin_answer(c, s, r, "Item"))
        return false;
    json_write_close(&c->body, '}');
    return true;
}

const struct operation operation_get_item = {
    .name = "GetItem", .input = &INPUT, .begin = begin, .ready = ready, .reply = reply};
