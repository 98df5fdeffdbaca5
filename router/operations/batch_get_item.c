/* batch_get_item.c - BatchGetItem: gets many items by their keys. */
#include "router/expression/expressions.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/batch.h"
#include "router/operations/operations.h"

/* ---- the request alone ---- */

enum {
    KEY_ITEM_SIZE_MAX = 2 * KEY_NAME_SIZE_MAX + PARTITION_KEY_SIZE_MAX + SORT_KEY_SIZE_MAX
};

/* Whether two keys have the same attributes, in any order. What fits no table is refused later, so
 * it is not compared: keys of more than two attributes or of too many bytes, and values that are
 * not equal byte by byte. */
static bool batch_keys_equal(struct slice a, struct slice b)
{
    struct attr_cursor left = item_attrs(a);
    struct slice name;
    struct attr value, other;
    if (item_count(a) > 2 || item_count(b) != item_count(a) || item_size(a) > KEY_ITEM_SIZE_MAX)
        return false;
    while (attr_next(&left, &name, &value)) {
        if (!item_find(b, name, &other) || value.type != other.type ||
            !slice_equal(value.body, other.body))
            return false;
    }
    return true;
}

static bool batch_keys_differ(struct call *c, const struct item_plan *plan, uint32_t first)
{
    for (uint32_t i = first + 1; i < plan->count; i++) {
        for (uint32_t j = first; j < i; j++) {
            if (batch_keys_equal(span_in(&c->bytes, plan->items[i].item),
                                 span_in(&c->bytes, plan->items[j].item)))
                return call_invalid(c, "%s", ITEMS_REPEATED);
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

/* The tables of a batch may not mix expressions and older parameters either. */
static bool batch_check_mixing(struct call *c, struct batch *b, const struct json_value m[])
{
    b->projections |= m[KEYS_AND_ATTRIBUTES_PROJECTION_EXPRESSION].type != JSON_ABSENT;
    b->attributes |= m[KEYS_AND_ATTRIBUTES_ATTRIBUTES_TO_GET].type != JSON_ABSENT;
    return !b->projections || !b->attributes ||
           call_invalid(c, "Can not use both expression and non-expression parameters in the same "
                           "request: Non-expression parameters: {AttributesToGet} Expression "
                           "parameters: {ProjectionExpression}");
}

static bool batch_read_projection(struct call *c, struct batch *b, const struct json_value m[])
{
    static const struct expression_members OF = {
        .names = KEYS_AND_ATTRIBUTES_EXPRESSION_ATTRIBUTE_NAMES,
        .expressions = {[PARAMETER_PROJECTION] = KEYS_AND_ATTRIBUTES_PROJECTION_EXPRESSION},
        .legacy = {[LEGACY_ATTRIBUTES_TO_GET] = KEYS_AND_ATTRIBUTES_ATTRIBUTES_TO_GET}};
    struct batch_table *t = &b->tables[b->plan->table_count - 1];
    struct expressions e = {0};
    if (!batch_check_mixing(c, b, m) || !expressions_check(&OF, m, &e, call_fault(c)) ||
        !expressions_read_legacy(&OF, m, &c->arena, &e, call_fault(c)) ||
        !expressions_read(&OF, m, &c->arena, &e, call_fault(c)))
        return false;
    b->plan->tables[b->plan->table_count - 1].projection = e.projection;
    t->attributes = e.legacy ? e.projection : NULL;
    t->projection = arena_copy(&c->arena, json_text(&m[KEYS_AND_ATTRIBUTES_PROJECTION_EXPRESSION]));
    t->names = e.names;
    return true;
}

static bool batch_read_keys(struct call *c, struct batch *b, const struct json_value *value)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    struct json_value key;
    struct batch_table *t = &b->tables[b->plan->table_count - 1];
    uint32_t first = b->plan->count;
    shape_bind(&shape_keys_and_attributes, value, m);
    if (!batch_read_projection(c, b, m))
        return false;
    t->consistent = shape_boolean(&m[KEYS_AND_ATTRIBUTES_CONSISTENT_READ], false);
    JSON_FOREACH (key, &m[KEYS_AND_ATTRIBUTES_KEYS]) {
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
        const int64_t size = item_size(r->item.bytes);
        b->full = b->full || b->item_bytes + size > BATCH_ANSWER_MAX;
        if (b->full)
            return true; /* comes back as unprocessed, although it was read */
        b->item_bytes += size;
        e->item = arena_copy(&c->arena, r->item.bytes);
    }
    batch_mark_entry(b, e, true);
    return true;
}

/* ---- the answer ---- */

/* Leaves an item out if the answer has too much JSON beside its items. */
static void batch_write_item(struct call *c, struct batch *b, uint32_t index)
{
    struct batch_entry *e = &b->entries[index];
    if (e->item.size == 0)
        return;
    if ((int64_t)(c->parts.size + c->body.size) > b->shown_bytes + BATCH_MARKUP_MAX) {
        batch_mark_entry(b, e, false);
        return;
    }
    b->shown_bytes += item_size(e->item);
    call_write_item(c, &c->body, e->item, b->plan->tables[b->plan->items[index].table].projection);
}

/* The entries of a table follow each other. */
static void batch_write_entry(struct call *c, struct batch *b, uint32_t index)
{
    const struct item_request *q = &b->plan->items[index];
    if (index == 0 || q[-1].table != q->table) {
        json_write_name(&c->body, b->plan->tables[q->table].name);
        json_write_open(&c->body, '[');
    }
    batch_write_item(c, b, index);
    if (index + 1 == b->plan->count || q[1].table != q->table)
        json_write_close(&c->body, ']');
}

static void batch_write_attributes(struct buffer *out, const struct projection *p)
{
    json_member_open(out, "AttributesToGet", '[');
    for (const struct projection_path *at = p->paths; at != NULL; at = at->next)
        json_write_string(out, at->path->name);
    json_write_close(out, ']');
}

/* Writes the projection again as it was sent. */
static void batch_write_projection(struct buffer *out, const struct batch_table *t)
{
    if (t->attributes != NULL)
        batch_write_attributes(out, t->attributes);
    if (t->projection.size == 0)
        return;
    json_member_string(out, "ProjectionExpression", t->projection);
    if (t->names.name_count == 0)
        return;
    json_member_open(out, "ExpressionAttributeNames", '{');
    for (size_t i = 0; i < t->names.name_count; i++) {
        json_write_name(out, t->names.names[i].key);
        json_write_string(out, t->names.names[i].name);
    }
    json_write_close(out, '}');
}

static void batch_write_unprocessed(struct buffer *out, const struct call *c, const struct batch *b,
                                    uint32_t table)
{
    if (b->tables[table].left == 0)
        return;
    json_write_name(out, b->plan->tables[table].name);
    json_write_open_with(out, "Keys", '[');
    for (uint32_t i = 0; i < b->plan->count; i++) {
        const struct item_request *q = &b->plan->items[i];
        if (q->table == table && !b->entries[i].done)
            value_write_item(out, span_in(&c->bytes, q->item));
    }
    json_write_close(out, ']');
    if (b->tables[table].consistent)
        json_member_bool(out, "ConsistentRead", true);
    batch_write_projection(out, &b->tables[table]);
    json_write_close(out, '}');
}

static void batch_write_rest(struct call *c, const struct batch *b)
{
    json_write_close(&c->body, '}');
    json_member_open(&c->body, "UnprocessedKeys", '{');
    for (uint32_t i = 0; i < b->plan->table_count; i++)
        batch_write_unprocessed(&c->body, c, b, i);
    json_write_close(&c->body, '}');
    batch_write_capacity(&c->body, c, b);
    json_write_close(&c->body, '}');
}

static bool batch_get_finish(struct call *c)
{
    struct batch *b = c->state;
    const size_t begin = c->body.size;
    if (b->written == 0) {
        if (!batch_succeeded(c, b))
            return false;
        json_write_open_with(&c->body, "Responses", '{');
    }
    for (; b->written < b->plan->count; b->written++) {
        if (call_ends_turn(c, begin))
            return true;
        batch_write_entry(c, b, b->written);
    }
    batch_write_rest(c, b);
    return true;
}

OPERATION(batch_get_item, "BatchGetItem", .begin = batch_get_begin, .ready = items_ready,
          .reply = batch_get_reply, .finish = batch_get_finish);
