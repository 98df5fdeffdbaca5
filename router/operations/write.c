/* write.c - PutItem and DeleteItem: one item written whole, or removed by its key. */
#include "router/operations/write.h"

#include "base/limits.h"
#include "base/must.h"
#include "router/json/json_writer.h"
#include "router/operations/operations.h"
#include "router/operations/shapes.h"

enum {
    TABLE_NAME,
    ITEM_OR_KEY,
    RETURN_VALUES,
    RETURN_CONSUMED,
    RETURN_METRICS,
};

/* The inputs differ in what names the item. */
#define INPUT(item_or_key, java_name)                                                \
    {                                                                                \
        .kind = SHAPE_STRUCTURE, .java = java_name,                                  \
        .members = (const struct shape_member[]){                                    \
            {"TableName", &shape_table_name, MEMBER_REQUIRED},                       \
            {item_or_key, &shape_attribute_map, MEMBER_REQUIRED},                    \
            {"ReturnValues", &shape_return_values, MEMBER_OPTIONAL},                 \
            {"ReturnConsumedCapacity", &shape_return_consumed, MEMBER_OPTIONAL},     \
            {"ReturnItemCollectionMetrics", &shape_return_metrics, MEMBER_OPTIONAL}, \
            {"ConditionExpression", &shape_string, MEMBER_LATER},                    \
            {"ExpressionAttributeNames", &shape_name_map, MEMBER_LATER},             \
            {"ExpressionAttributeValues", &shape_attribute_map, MEMBER_LATER},       \
            {"Expected", &shape_anything, MEMBER_LATER},                             \
            {"ConditionalOperator", &shape_anything, MEMBER_LATER},                  \
            {"ReturnValuesOnConditionCheckFailure", &shape_string, MEMBER_OPTIONAL}, \
            {0},                                                                     \
        },                                                                           \
    }

static const struct shape PUT_INPUT = INPUT("Item", "PutItemInput");
static const struct shape DELETE_INPUT = INPUT("Key", "DeleteItemInput");

struct write {
    enum request_op op;
    struct route *route;
    struct span item; /* or the key, encoded as an item */
    bool want_old;
    bool want_collection;
};

bool write_item_fits(struct slice item, struct fault *fault)
{
    return item_size(item) <= ITEM_SIZE_MAX ||
           fault_set(fault, FAULT_VALIDATION, "Item size has exceeded the maximum allowed size");
}

bool write_wants_collection(const struct json_value *member)
{
    return member->type == JSON_STRING && slice_is(json_string(member), "SIZE");
}

void write_collection(struct buffer *out, const struct table *t, struct slice item, int64_t bytes)
{
    struct attr key;
    int64_t whole = bytes / GIB * 1000;
    must(item_find(item, t->partition_key.name, &key));
    json_write_open(out, '{');
    json_member_open(out, "ItemCollectionKey", '{');
    json_write_name(out, t->partition_key.name);
    value_write(out, &key);
    json_write_close(out, '}');
    json_member_open(out, "SizeEstimateRangeGB", '[');
    json_write_thousandths(out, whole);
    json_write_thousandths(out, whole + 1000);
    json_write_close(out, ']');
    json_write_close(out, '}');
}

/* NONE or ALL_OLD. */
static bool take_return_values(struct call *c, struct write *w, const struct json_value *member)
{
    w->want_old = member->type == JSON_STRING && slice_is(json_string(member), "ALL_OLD");
    if (member->type == JSON_ABSENT || w->want_old || slice_is(json_string(member), "NONE"))
        return true;
    return fault_set(call_fault(c), FAULT_VALIDATION, "Return values set to invalid value");
}

static bool begin(struct call *c, const struct json_value m[], enum request_op op)
{
    struct write *w = arena_zalloc(&c->arena, sizeof *w);
    c->state = w;
    w->op = op;
    call_take_consumed(c, &m[RETURN_CONSUMED]);
    w->want_collection = write_wants_collection(&m[RETURN_METRICS]);
    if (!value_read_item(&c->bytes, &c->arena, &m[ITEM_OR_KEY], &w->item, call_fault(c)))
        return false;
    if (op == REQUEST_PUT && !write_item_fits(span_in(&c->bytes, w->item), call_fault(c)))
        return false;
    if (!take_return_values(c, w, &m[RETURN_VALUES]))
        return false;
    call_want_table(c, json_string(&m[TABLE_NAME]), &w->route);
    return true;
}

static bool begin_put(struct call *c, const struct json_value m[])
{
    return begin(c, m, REQUEST_PUT);
}

static bool begin_delete(struct call *c, const struct json_value m[])
{
    return begin(c, m, REQUEST_DELETE);
}

static bool ready(struct call *c)
{
    struct write *w = c->state;
    struct slice item = span_in(&c->bytes, w->item), key;
    if (!call_find_key(c, &w->route->table, w->op, item, &key))
        return false;
    struct subrequest *s = call_data_request(c, w->route, w->op);
    s->request.key = key;
    if (w->op == REQUEST_PUT)
        s->request.body = item;
    s->request.want_old = w->want_old;
    call_send(c, s);
    return true;
}

static bool reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    const struct write *w = c->state;
    const struct table *t = &s->route->table;
    if (!call_begin_answer(c, s, r, s->request.want_old ? "Attributes" : NULL))
        return false;
    if (w->want_collection && t->whole_collections) {
        json_write_key(&c->body, "ItemCollectionMetrics");
        write_collection(&c->body, t, span_in(&c->bytes, w->item), r->collection_bytes);
    }
    json_write_close(&c->body, '}');
    return true;
}

const struct operation operation_put_item = {
    .name = "PutItem", .input = &PUT_INPUT, .begin = begin_put, .ready = ready, .reply = reply};
const struct operation operation_delete_item = {.name = "DeleteItem",
                                                .input = &DELETE_INPUT,
                                                .begin = begin_delete,
                                                .ready = ready,
                                                .reply = reply};
