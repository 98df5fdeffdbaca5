#include "base/limits.h"
#include "router/json/json_writer.h"
#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/operations/write.h"
#include "router/plan/batch.h"

enum {
    RETURN_METRICS = BATCH_RETURN_CONSUMED + 1
};
enum {
    PUT_REQUEST,
    DELETE_REQUEST
};
enum {
    ITEM_OR_KEY
};

static const struct shape_member PUT_MEMBERS[] = {
    {"Item", &shape_attribute_map, MEMBER_REQUIRED},
    {0},
};
static const struct shape PUT = {
    .kind = SHAPE_STRUCTURE, .java = "PutRequest", .members = PUT_MEMBERS};

static const struct shape_member DELETE_MEMBERS[] = {
    {"Key", &shape_attribute_map, MEMBER_REQUIRED},
    {0},
};
static const struct shape DELETE = {
    .kind = SHAPE_STRUCTURE, .java = "DeleteRequest", .members = DELETE_MEMBERS};

static const struct shape_member WRITE_MEMBERS[] = {
    {"PutRequest", &PUT, MEMBER_OPTIONAL},
    {"DeleteRequest", &DELETE, MEMBER_OPTIONAL},
    {0},
};
static const struct shape WRITE = {
    .kind = SHAPE_STRUCTURE, .java = "WriteRequest", .members = WRITE_MEMBERS};

static const struct shape WRITE_LIST = {.kind = SHAPE_LIST,
                                        .min = 1,
                                        .min_set = true,
                                        .max = BATCH_WRITE_MAX,
                                        .parameterized = true,
                                        .element = &WRITE};

static const struct shape TABLES = {.kind = SHAPE_MAP,
                                    .max = BATCH_WRITE_MAX,
                                    .java = "java.util.List<com.amazonaws.dynamodb.v20120810."
                                            "WriteRequest>",
                                    .key = &shape_table_name,
                                    .element = &WRITE_LIST};

static const struct shape_member MEMBERS[] = {
    {"RequestItems", &TABLES, MEMBER_REQUIRED},
    {"ReturnConsumedCapacity", &shape_return_consumed, MEMBER_OPTIONAL},
    {"ReturnItemCollectionMetrics", &shape_return_metrics, MEMBER_OPTIONAL},
    {0},
};

static const struct shape INPUT = {
    .kind = SHAPE_STRUCTURE, .java = "BatchWriteItemInput", .members = MEMBERS};

/* ---- the request alone ---- */

static bool read_write(struct call *c, struct batch *b, const struct json_value *value)
{
    struct json_value m[SHAPE_MEMBERS_MAX], inner[SHAPE_MEMBERS_MAX];
    struct batch_entry *e = batch_add_entry(c, b);
    if (e == NULL)
        return false;
    shape_bind(&WRITE, value, m);
    bool put = m[PUT_REQUEST].type != JSON_ABSENT, del = m[DELETE_REQUEST].type != JSON_ABSENT;
    if (put == del)
        return fault_set(call_fault(c), FAULT_VALIDATION,
                         "Supplied AttributeValue has more than one datatypes set, must contain "
                         "exactly one of the supported datatypes");
    shape_bind(put ? &PUT : &DELETE, &m[put ? PUT_REQUEST : DELETE_REQUEST], inner);
    e->op = put ? REQUEST_PUT : REQUEST_DELETE;
    return value_read_item(&c->bytes, &c->arena, &inner[ITEM_OR_KEY], &e->item, call_fault(c)) &&
           (!put || write_item_fits(span_in(&c->bytes, e->item), call_fault(c)));
}

static bool read_table(struct call *c, struct batch *b, struct batch_table *t,
                       const struct json_value *list)
{
    (void)t;
    struct json_cursor cursor = json_elements(list);
    struct json_value write;
    while (json_next_element(&cursor, &write)) {
        if (!read_write(c, b, &write))
            return false;
    }
    return true;
}

static bool begin(struct call *c, const struct json_value m[])
{
    if (!batch_begin(c, m, BATCH_WRITE_MAX, read_table))
        return false;
    struct batch *b = c->state;
    b->want_collections = write_wants_collection(&m[RETURN_METRICS]);
    return true;
}

/* ---- what came back ---- */

static bool reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct batch_entry *e = batch_take_reply(c, s, r);
    if (e == NULL)
        return true;
    e->collection_bytes = r->collection_bytes;
    batch_finish_entry(c->state, e);
    return true;
}

static void write_entry(struct buffer *out, const struct call *c, const struct batch_entry *e)
{
    bool put = e->op == REQUEST_PUT;
    json_write_open(out, '{');
    json_member_open(out, put ? "PutRequest" : "DeleteRequest", '{');
    json_write_key(out, put ? "Item" : "Key");
    value_write_item(out, span_in(&c->bytes, e->item));
    json_write_close(out, '}');
    json_write_close(out, '}');
}

static void write_unprocessed(struct buffer *out, const struct call *c, const struct batch *b,
                              uint32_t table)
{
    if (b->tables[table].left == 0)
        return;
    json_write_name(out, b->tables[table].name);
    json_write_open(out, '[');
    for (uint32_t i = 0; i < b->entry_count; i++) {
        const struct batch_entry *e = &b->entries[i];
        if (e->table == table && !e->done)
            write_entry(out, c, e);
    }
    json_write_close(out, ']');
}

static void write_collections(struct buffer *out, const struct call *c, const struct batch *b,
                              uint32_t table)
{
    const struct table *t = &b->tables[table].route->table;
    if (!t->whole_collections)
        return;
    json_write_name(out, t->name);
    json_write_open(out, '[');
    for (uint32_t i = 0; i < b->entry_count; i++) {
        const struct batch_entry *e = &b->entries[i];
        if (e->table == table && e->done)
            write_collection(out, t, span_in(&c->bytes, e->item), e->collection_bytes);
    }
    json_write_close(out, ']');
}

static bool finish(struct call *c)
{
    struct batch *b = c->state;
    struct buffer *out = &c->body;
    if (!batch_succeeded(c, b))
        return false;
    json_write_open(out, '{');
    json_member_open(out, "UnprocessedItems", '{');
    for (uint32_t i = 0; i < b->table_count; i++)
        write_unprocessed(out, c, b, i);
    json_write_close(out, '}');
    batch_write_capacity(out, c, b);
    if (b->want_collections) {
        json_member_open(out, "ItemCollectionMetrics", '{');
        for (uint32_t i = 0; i < b->table_count; i++)
            write_collections(out, c, b, i);
        json_write_close(out, '}');
    }
    json_write_close(out, '}');
    return true;
}

const struct operation operation_batch_write_item = {.name = "BatchWriteItem",
                                                     .input = &INPUT,
                                                     .begin = begin,
                                                     .ready = batch_ready,
                                                     .reply = reply,
                                                     .finish = finish};
