/* write.c - PutItem and DeleteItem: puts a whole item, or deletes an item by its key. */
#include "router/operations/write.h"

#include "router/json/json_writer.h"
#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/plan/items.h"

/* The typed request of both operations. */
struct write {
    struct item_plan *plan; /* for one item */
    bool want_collection;
};

bool write_item_fits(struct slice item, struct fault *fault)
{
    return item_size(item) <= ITEM_SIZE_MAX ||
           fault_invalid(fault, "Item size has exceeded the maximum allowed size");
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

/* ReturnValues: NONE or ALL_OLD. */
static bool write_read_return_values(struct call *c, struct item_request *q,
                                     const struct json_value *member)
{
    q->want_old = member->type == JSON_STRING && slice_is(json_string(member), "ALL_OLD");
    if (member->type == JSON_ABSENT || q->want_old || slice_is(json_string(member), "NONE"))
        return true;
    return call_invalid(c, "Return values set to invalid value");
}

/* The indexes of members in the inputs of PutItem and DeleteItem. */
struct write_members {
    enum request_op op;
    int table_name, item_or_key, return_values, return_consumed, return_metrics;
};

static bool write_read(struct call *c, const struct json_value m[], const struct write_members *of,
                       struct write *w)
{
    struct item_request *q = w->plan->items;
    q->op = of->op;
    call_take_consumed(c, &m[of->return_consumed]);
    w->want_collection = write_wants_collection(&m[of->return_metrics]);
    w->plan->tables->name = json_string(&m[of->table_name]);
    if (!value_read_item(&c->bytes, &c->arena, &m[of->item_or_key], &q->item, call_fault(c)))
        return false;
    if (q->op == REQUEST_PUT && !write_item_fits(span_in(&c->bytes, q->item), call_fault(c)))
        return false;
    return write_read_return_values(c, q, &m[of->return_values]);
}

static bool write_begin(struct call *c, const struct json_value m[], const struct write_members *of)
{
    struct write *w = arena_zalloc(&c->arena, sizeof *w);
    w->plan = item_plan_create(c, 1, 1);
    c->state = w;
    if (!write_read(c, m, of, w))
        return false;
    items_begin(c, w->plan);
    return true;
}

static bool put_item_begin(struct call *c, const struct json_value m[])
{
    static const struct write_members OF = {REQUEST_PUT,
                                            PUT_ITEM_TABLE_NAME,
                                            PUT_ITEM_ITEM,
                                            PUT_ITEM_RETURN_VALUES,
                                            PUT_ITEM_RETURN_CONSUMED_CAPACITY,
                                            PUT_ITEM_RETURN_ITEM_COLLECTION_METRICS};
    return write_begin(c, m, &OF);
}

static bool delete_item_begin(struct call *c, const struct json_value m[])
{
    static const struct write_members OF = {REQUEST_DELETE,
                                            DELETE_ITEM_TABLE_NAME,
                                            DELETE_ITEM_KEY,
                                            DELETE_ITEM_RETURN_VALUES,
                                            DELETE_ITEM_RETURN_CONSUMED_CAPACITY,
                                            DELETE_ITEM_RETURN_ITEM_COLLECTION_METRICS};
    return write_begin(c, m, &OF);
}

static bool write_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    const struct write *w = c->state;
    const struct table *t = &s->route->table;
    if (!call_begin_answer(c, s, r, s->request.write.want_old ? "Attributes" : NULL))
        return false;
    if (w->want_collection && t->whole_collections) {
        json_write_key(&c->body, "ItemCollectionMetrics");
        write_collection(&c->body, t, span_in(&c->bytes, w->plan->items->item),
                         r->item.collection_bytes);
    }
    json_write_close(&c->body, '}');
    return true;
}

OPERATION(put_item, "PutItem", .begin = put_item_begin, .ready = items_ready, .reply = write_reply);
OPERATION(delete_item, "DeleteItem", .begin = delete_item_begin, .ready = items_ready,
          .reply = write_reply);
