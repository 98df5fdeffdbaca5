/* batch_write_item.c - BatchWriteItem: puts or deletes many items. */
#include "router/core/input_parse.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/batch.h"
#include "router/operations/operations.h"
#include "router/operations/write.h"

/* ---- the request alone ---- */

static bool batch_read_write(struct call *c, struct batch *b, const struct json_value *value)
{
    struct json_value m[SHAPE_MEMBERS_MAX], inner[SHAPE_MEMBERS_MAX];
    struct item_request *q = batch_add(c, b);
    if (q == NULL)
        return false;
    shape_bind(&shape_write_request, value, m);
    bool put = m[WRITE_REQUEST_PUT_REQUEST].type != JSON_ABSENT;
    if (put == (m[WRITE_REQUEST_DELETE_REQUEST].type != JSON_ABSENT))
        return call_invalid(c, "Supplied AttributeValue has more than one datatypes set, must "
                               "contain exactly one of the supported datatypes");
    if (put)
        shape_bind(&shape_put_request, &m[WRITE_REQUEST_PUT_REQUEST], inner);
    else
        shape_bind(&shape_delete_request, &m[WRITE_REQUEST_DELETE_REQUEST], inner);
    q->op = put ? REQUEST_PUT : REQUEST_DELETE;
    if (!value_read_item(&c->bytes, &c->arena, &inner[put ? PUT_REQUEST_ITEM : DELETE_REQUEST_KEY],
                         &q->item, call_fault(c)))
        return slice_is(buffer_slice(&call_fault(c)->text), VALUE_TOO_DEEP)
                   ? call_invalid(c, VALUE_FAR_TOO_DEEP)
                   : false;
    return !put || write_item_fits(span_in(&c->bytes, q->item), call_fault(c));
}

static bool batch_read_writes(struct call *c, struct batch *b, const struct json_value *list)
{
    struct json_value write;
    if (b->entries_left.tape == NULL)
        b->entries_left = json_elements(list);
    while (json_next_element(&b->entries_left, &write)) {
        if (!batch_read_write(c, b, &write))
            return false;
        if (input_parse_ends_turn(c))
            return true;
    }
    return true;
}

static bool batch_write_begin(struct call *c, const struct json_value m[])
{
    call_take_consumed(c, &m[BATCH_WRITE_ITEM_RETURN_CONSUMED_CAPACITY]);
    if (!batch_read(c, &m[BATCH_WRITE_ITEM_REQUEST_ITEMS], BATCH_WRITE_MAX, batch_read_writes))
        return false;
    if (c->rests)
        return true;
    struct batch *b = c->state;
    b->return_collections =
        write_returns_collection(&m[BATCH_WRITE_ITEM_RETURN_ITEM_COLLECTION_METRICS]);
    items_begin(c, b->plan);
    return true;
}

/* ---- replies ---- */

static bool batch_write_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct batch_entry *e = batch_take_reply(c, s, r);
    if (e == NULL)
        return true;
    e->collection_bytes = r->item.collection_bytes;
    batch_mark_entry(c->state, e, true);
    return true;
}

static void batch_write_entry(struct buffer *out, const struct call *c,
                              const struct item_request *q)
{
    bool put = q->op == REQUEST_PUT;
    json_write_open(out, '{');
    json_member_open(out, put ? "PutRequest" : "DeleteRequest", '{');
    json_write_key(out, put ? "Item" : "Key");
    value_write_item(out, span_in(&c->bytes, q->item));
    json_write_closes(out, "}}");
}

static void batch_write_unprocessed(struct buffer *out, const struct call *c, const struct batch *b,
                                    uint32_t table)
{
    if (b->tables[table].left == 0)
        return;
    json_write_name(out, b->plan->tables[table].name);
    json_write_open(out, '[');
    for (uint32_t i = 0; i < b->plan->count; i++) {
        const struct item_request *q = &b->plan->items[i];
        if (q->table == table && !b->entries[i].done)
            batch_write_entry(out, c, q);
    }
    json_write_close(out, ']');
}

static void batch_write_collections(struct buffer *out, const struct call *c, const struct batch *b,
                                    uint32_t table)
{
    const struct table *t = &b->plan->tables[table].route->table;
    if (!t->whole_collections)
        return;
    json_write_name(out, t->name);
    json_write_open(out, '[');
    for (uint32_t i = 0; i < b->plan->count; i++) {
        const struct item_request *q = &b->plan->items[i];
        if (q->table == table && b->entries[i].done)
            write_collection(out, t, span_in(&c->bytes, q->item), b->entries[i].collection_bytes);
    }
    json_write_close(out, ']');
}

static bool batch_write_finish(struct call *c)
{
    struct batch *b = c->state;
    struct buffer *out = &c->body;
    if (!batch_succeeded(c, b))
        return false;
    json_write_open_with(out, "UnprocessedItems", '{');
    for (uint32_t i = 0; i < b->plan->table_count; i++)
        batch_write_unprocessed(out, c, b, i);
    json_write_close(out, '}');
    batch_write_capacity(out, c, b);
    if (b->return_collections) {
        json_member_open(out, "ItemCollectionMetrics", '{');
        for (uint32_t i = 0; i < b->plan->table_count; i++)
            batch_write_collections(out, c, b, i);
        json_write_close(out, '}');
    }
    json_write_close(out, '}');
    return true;
}

OPERATION(batch_write_item, "BatchWriteItem", .begin = batch_write_begin, .ready = items_ready,
          .reply = batch_write_reply, .finish = batch_write_finish);
