#include "base/limits.h"
#include "router/expression/names.h"
#include "router/json/json_writer.h"
#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/plan/batch.h"

enum {
    KEYS,
    CONSISTENT_READ,
    NAMES
};

static const struct shape KEY = {.kind = SHAPE_MAP,
                                 .java = "AttributeValue",
                                 .parameterized = true,
                                 .element = &(const struct shape){.kind = SHAPE_ATTRIBUTE}};
static const struct shape KEY_LIST = {.kind = SHAPE_LIST,
                                      .min = 1,
                                      .min_set = true,
                                      .max = BATCH_GET_MAX,
                                      .bare = true,
                                      .element = &KEY};

static const struct shape_member TABLE_MEMBERS[] = {
    {"Keys", &KEY_LIST, MEMBER_REQUIRED},
    {"ConsistentRead", &shape_boolean_value, MEMBER_OPTIONAL},
    {"ExpressionAttributeNames", &shape_name_map, MEMBER_OPTIONAL},
    {"ProjectionExpression", &shape_string, MEMBER_LATER},
    {"AttributesToGet", &shape_anything, MEMBER_LATER},
    {0},
};

static const struct shape TABLE = {
    .kind = SHAPE_STRUCTURE, .java = "KeysAndAttributes", .members = TABLE_MEMBERS};

static const struct shape TABLES = {.kind = SHAPE_MAP,
                                    .max = BATCH_GET_MAX,
                                    .java = "KeysAndAttributes",
                                    .key = &shape_table_name,
                                    .element = &TABLE};

static const struct shape_member MEMBERS[] = {
    {"RequestItems", &TABLES, MEMBER_REQUIRED},
    {"ReturnConsumedCapacity", &shape_return_consumed, MEMBER_OPTIONAL},
    {0},
};

static const struct shape INPUT = {
    .kind = SHAPE_STRUCTURE, .java = "BatchGetItemInput", .members = MEMBERS};

/* ---- the request alone ---- */

/* The same attributes, in whatever order. */
static bool keys_equal(struct slice a, struct slice b)
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

static bool refuse_duplicates(struct call *c, const struct batch *b, uint32_t first)
{
    for (uint32_t i = first + 1; i < b->entry_count; i++) {
        for (uint32_t j = first; j < i; j++) {
            if (keys_equal(span_in(&c->bytes, b->entries[i].item),
                           span_in(&c->bytes, b->entries[j].item)))
                return fault_set(call_fault(c), FAULT_VALIDATION,
                                 "Provided list of item keys contains duplicates");
        }
    }
    return true;
}

static bool read_key(struct call *c, struct batch *b, const struct json_value *key)
{
    struct batch_entry *e = batch_add_entry(c, b);
    if (e == NULL)
        return false;
    e->op = REQUEST_GET;
    return value_read_item(&c->bytes, &c->arena, key, &e->item, call_fault(c));
}

static bool read_table(struct call *c, struct batch *b, struct batch_table *t,
                       const struct json_value *value)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    struct json_value key;
    uint32_t first = b->entry_count;
    shape_bind(&TABLE, value, m);
    if (!shape_refuse_later(&TABLE, m, call_fault(c)) ||
        !expression_names_absent(&m[NAMES], NULL, NULL, call_fault(c)))
        return false;
    t->consistent = shape_boolean(&m[CONSISTENT_READ], false);
    struct json_cursor cursor = json_elements(&m[KEYS]);
    while (json_next_element(&cursor, &key)) {
        if (!read_key(c, b, &key))
            return false;
    }
    return refuse_duplicates(c, b, first);
}

static bool begin(struct call *c, const struct json_value m[])
{
    return batch_begin(c, m, BATCH_GET_MAX, read_table);
}

/* ---- what came back ---- */

static bool reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct batch *b = c->state;
    struct batch_entry *e = batch_take_reply(c, s, r);
    if (e == NULL)
        return true;
    if (r->found) {
        b->item_bytes += item_size(r->body);
        if (b->item_bytes > BATCH_ANSWER_MAX)
            return true; /* unprocessed, though it was read */
        buffer_clear(&c->router->scratch);
        value_write_item(&c->router->scratch, r->body);
        e->json = (struct span){c->body.size, c->router->scratch.size};
        buffer_append_slice(&c->body, buffer_slice(&c->router->scratch));
    }
    batch_finish_entry(b, e);
    return true;
}

static void write_found(struct buffer *out, const struct call *c, const struct batch *b,
                        uint32_t table)
{
    json_write_name(out, b->tables[table].name);
    json_write_open(out, '[');
    bool first = true;
    for (uint32_t i = 0; i < b->entry_count; i++) {
        const struct batch_entry *e = &b->entries[i];
        if (e->table != table || e->json.size == 0)
            continue;
        if (!first)
            buffer_append_u8(out, ',');
        first = false;
        buffer_append_slice(out, span_in(&c->body, e->json));
    }
    json_write_close(out, ']');
}

static void write_unprocessed(struct buffer *out, const struct call *c, const struct batch *b,
                              uint32_t table)
{
    if (b->tables[table].left == 0)
        return;
    json_write_name(out, b->tables[table].name);
    json_write_open(out, '{');
    json_member_open(out, "Keys", '[');
    for (uint32_t i = 0; i < b->entry_count; i++) {
        const struct batch_entry *e = &b->entries[i];
        if (e->table == table && !e->done)
            value_write_item(out, span_in(&c->bytes, e->item));
    }
    json_write_close(out, ']');
    if (b->tables[table].consistent) {
        json_write_key(out, "ConsistentRead");
        json_write_bool(out, true);
    }
    json_write_close(out, '}');
}

static bool finish(struct call *c)
{
    struct batch *b = c->state;
    struct buffer answer = {0};
    if (!batch_succeeded(c, b))
        return false;
    json_write_open(&answer, '{');
    json_member_open(&answer, "Responses", '{');
    for (uint32_t i = 0; i < b->table_count; i++)
        write_found(&answer, c, b, i);
    json_write_close(&answer, '}');
    json_member_open(&answer, "UnprocessedKeys", '{');
    for (uint32_t i = 0; i < b->table_count; i++)
        write_unprocessed(&answer, c, b, i);
    json_write_close(&answer, '}');
    batch_write_capacity(&answer, c, b);
    json_write_close(&answer, '}');
    buffer_deinit(&c->body);
    c->body = answer;
    return true;
}

const struct operation operation_batch_get_item = {.name = "BatchGetItem",
                                                   .input = &INPUT,
                                                   .begin = begin,
                                                   .ready = batch_ready,
                                                   .reply = reply,
                                                   .finish = finish};
