/* batch_get_item.c - BatchGetItem: gets many items by their keys. */
#include "router/expression/names.h"
#include "router/json/json_writer.h"
#include "router/operations/batch.h"
#include "router/operations/operations.h"
#include "router/operations/shapes.h"

/* ---- the request alone ---- */

/* Whether two keys have the same attributes, in any order. */
static bool batch_keys_equal(struct slice a, struct slice b)
{
    struct attr_cursor left = item_attrs(a), right = item_attrs(b);
    struct slice name;
    struct attr value, other;
    int count = 0;
    while (attr_next(&left, &name, &value)) {
        count++;
        if (!item_find(b, name, &other) || value.type != other.type ||
            !slice_equal(value.body, other.body))
            return false;
    }
    while (attr_next(&right, &name, &value))
        count--;
    return count == 0;
}

static bool batch_keys_differ(struct call *c, const struct item_plan *plan, uint32_t first)
{
    for (uint32_t i = first + 1; i < plan->count; i++) {
        for (uint32_t j = first; j < i; j++) {
            if (batch_keys_equal(span_in(&c->bytes, plan->items[i].item),
                                 span_in(&c->bytes, plan->items[j].item)))
                return call_invalid(c, "Provided list of item keys contains duplicates");
        }
    }
    return true;
}

static bool batch_read_key(struct call *c, struct batch *b, const struct json_value *key)
{
    struct item_request *q = batch_add(c, b);
    if (q == NULL)
        return false;
    q->op = REQUEST_GET;
    q->consistent = b->tables[q->table].consistent;
    return value_read_item(&c->bytes, &c->arena, key, &q->item, call_fault(c));
}

static bool batch_read_keys(struct call *c, struct batch *b, const struct json_value *value)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    struct json_value key;
    struct batch_table *t = &b->tables[b->plan->table_count - 1];
    uint32_t first = b->plan->count;
    shape_bind(&shape_keys_and_attributes, value, m);
    if (!shape_refuse_later(&shape_keys_and_attributes, m, call_fault(c)) ||
        !expression_names_absent(&m[KEYS_AND_ATTRIBUTES_EXPRESSION_ATTRIBUTE_NAMES], NULL, NULL,
                                 call_fault(c)))
        return false;
    t->consistent = shape_boolean(&m[KEYS_AND_ATTRIBUTES_CONSISTENT_READ], false);
    struct json_cursor cursor = json_elements(&m[KEYS_AND_ATTRIBUTES_KEYS]);
    while (json_next_element(&cursor, &key)) {
        if (!batch_read_key(c, b, &key))
            return false;
    }
    return batch_keys_differ(c, b->plan, first);
}

static bool batch_get_begin(struct call *c, const struct json_value m[])
{
    call_take_consumed(c, &m[BATCH_GET_ITEM_RETURN_CONSUMED_CAPACITY]);
    if (!batch_read(c, &m[BATCH_GET_ITEM_REQUEST_ITEMS], BATCH_GET_MAX, batch_read_keys))
        return false;
    const struct batch *b = c->state;
    items_begin(c, b->plan);
    return true;
}

/* ---- replies ---- */

static bool batch_get_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct batch *b = c->state;
    struct batch_entry *e = batch_take_reply(c, s, r);
    if (e == NULL)
        return true;
    if (r->item.found) {
        b->item_bytes += item_size(r->item.bytes);
        if (b->item_bytes > BATCH_ANSWER_MAX)
            return true; /* comes back as unprocessed, although it was read */
        buffer_clear(&c->router->scratch);
        value_write_item(&c->router->scratch, r->item.bytes);
        e->json = (struct span){c->body.size, c->router->scratch.size};
        buffer_append_slice(&c->body, buffer_slice(&c->router->scratch));
    }
    batch_finish_entry(b, e);
    return true;
}

static void batch_write_found(struct buffer *out, const struct call *c, const struct batch *b,
                              uint32_t table)
{
    json_write_name(out, b->plan->tables[table].name);
    json_write_open(out, '[');
    bool first = true;
    for (uint32_t i = 0; i < b->plan->count; i++) {
        const struct batch_entry *e = &b->entries[i];
        if (b->plan->items[i].table != table || e->json.size == 0)
            continue;
        if (!first)
            buffer_append_u8(out, ',');
        first = false;
        buffer_append_slice(out, span_in(&c->body, e->json));
    }
    json_write_close(out, ']');
}

static void batch_write_unprocessed(struct buffer *out, const struct call *c, const struct batch *b,
                                    uint32_t table)
{
    if (b->tables[table].left == 0)
        return;
    json_write_name(out, b->plan->tables[table].name);
    json_write_open(out, '{');
    json_member_open(out, "Keys", '[');
    for (uint32_t i = 0; i < b->plan->count; i++) {
        const struct item_request *q = &b->plan->items[i];
        if (q->table == table && !b->entries[i].done)
            value_write_item(out, span_in(&c->bytes, q->item));
    }
    json_write_close(out, ']');
    if (b->tables[table].consistent)
        json_member_bool(out, "ConsistentRead", true);
    json_write_close(out, '}');
}

static bool batch_get_finish(struct call *c)
{
    struct batch *b = c->state;
    struct buffer answer = {0};
    if (!batch_succeeded(c, b))
        return false;
    json_write_open(&answer, '{');
    json_member_open(&answer, "Responses", '{');
    for (uint32_t i = 0; i < b->plan->table_count; i++)
        batch_write_found(&answer, c, b, i);
    json_write_close(&answer, '}');
    json_member_open(&answer, "UnprocessedKeys", '{');
    for (uint32_t i = 0; i < b->plan->table_count; i++)
        batch_write_unprocessed(&answer, c, b, i);
    json_write_close(&answer, '}');
    batch_write_capacity(&answer, c, b);
    json_write_close(&answer, '}');
    buffer_deinit(&c->body);
    c->body = answer;
    return true;
}

OPERATION(batch_get_item, "BatchGetItem", .begin = batch_get_begin, .ready = items_ready,
          .reply = batch_get_reply, .finish = batch_get_finish);
