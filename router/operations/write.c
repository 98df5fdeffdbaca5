/* write.c - PutItem and DeleteItem: puts a whole item, or deletes an item by its key. */
#include "router/operations/write.h"

#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/operations.h"

bool write_item_fits(struct slice item, struct fault *fault)
{
    return item_size(item) <= ITEM_SIZE_MAX || fault_invalid(fault, "%s", ITEM_TOO_LARGE);
}

bool write_returns_collection(const struct json_value *member)
{
    return json_is_text(member, "SIZE");
}

void write_collection(struct buffer *out, const struct table *t, struct slice item, int64_t bytes)
{
    struct attr key;
    int64_t whole = bytes / GIB * 1000;
    must(item_find(item, t->partition_key.name, &key));
    json_write_open_with(out, "ItemCollectionKey", '{');
    json_write_name(out, t->partition_key.name);
    value_write(out, &key);
    json_write_close(out, '}');
    json_member_open(out, "SizeEstimateRangeGB", '[');
    json_write_thousandths(out, whole);
    json_write_thousandths(out, whole + 1000);
    json_write_closes(out, "]}");
}

/* ---- the request alone ---- */

static const struct projection *write_updated_paths(struct call *c, const struct write *w)
{
    return update_paths(w->expressions.update, &c->arena);
}

/* PutItem and DeleteItem know NONE and ALL_OLD, UpdateItem all values. */
static bool write_check_return_values(struct call *c, enum request_op op, struct slice what)
{
    return op == REQUEST_UPDATE || what.size == 0 || slice_is(what, "NONE") ||
           slice_is(what, "ALL_OLD") || call_invalid(c, "Return values set to invalid value");
}

/* Sets which item the node must return, and what the answer shows of it. */
static void write_take_return_values(struct call *c, struct write *w, struct slice what)
{
    const struct update *u = w->expressions.update;
    const bool updated = slice_is(what, "UPDATED_OLD") || slice_is(what, "UPDATED_NEW");
    if (updated && (u == NULL || u->count == 0))
        return; /* nothing is updated */
    if (slice_is(what, "ALL_OLD") || slice_is(what, "UPDATED_OLD"))
        w->plan->items->return_values = RETURN_OLD;
    else if (slice_is(what, "ALL_NEW") || slice_is(what, "UPDATED_NEW"))
        w->plan->items->return_values = RETURN_NEW;
    if (updated)
        w->shown = write_updated_paths(c, w);
}

static bool write_read_expressions(struct call *c, const struct json_value m[],
                                   const struct write_members *of, struct write *w)
{
    struct expressions *e = &w->expressions;
    struct item_request *q = w->plan->items;
    struct fault *f = call_fault(c);
    if (!expressions_read_legacy(&of->expressions, m, &c->arena, e, f) ||
        !expressions_read(&of->expressions, m, &c->arena, e, f))
        return false;
    q->updated = e->update;
    return expressions_encode(&c->bytes, e->condition, &q->condition, f) &&
           expressions_encode_update(&c->bytes, e->update, &q->update, f);
}

static bool write_read(struct call *c, const struct json_value m[], const struct write_members *of,
                       struct write *w)
{
    struct item_request *q = w->plan->items;
    struct fault *f = call_fault(c);
    struct slice return_values = json_text(&m[of->return_values]);
    q->op = of->op;
    call_take_consumed(c, &m[of->return_consumed]);
    w->return_collection = write_returns_collection(&m[of->return_metrics]);
    w->plan->tables->name = call_table_named(c, &m[of->table_name]);
    q->return_failed = json_is_text(&m[of->return_failed], "ALL_OLD");
    if (!expressions_check(&of->expressions, m, &w->expressions, f) ||
        !value_read_item(&c->bytes, &c->arena, &m[of->item_or_key], &q->item, f) ||
        !write_check_return_values(c, q->op, return_values) ||
        (q->op == REQUEST_PUT && !write_item_fits(span_in(&c->bytes, q->item), f)) ||
        !write_read_expressions(c, m, of, w))
        return false;
    write_take_return_values(c, w, return_values);
    return true;
}

bool write_begin(struct call *c, const struct json_value m[])
{
    struct write *w = arena_zalloc(&c->arena, sizeof *w);
    w->plan = item_plan_create(c, 1, 1);
    c->state = w;
    if (!write_read(c, m, c->operation->data, w))
        return false;
    items_begin(c, w->plan);
    return true;
}

static const struct write_members put_members = {
    .op = REQUEST_PUT,
    .table_name = PUT_ITEM_TABLE_NAME,
    .item_or_key = PUT_ITEM_ITEM,
    .return_values = PUT_ITEM_RETURN_VALUES,
    .return_consumed = PUT_ITEM_RETURN_CONSUMED_CAPACITY,
    .return_metrics = PUT_ITEM_RETURN_ITEM_COLLECTION_METRICS,
    .return_failed = PUT_ITEM_RETURN_VALUES_ON_CONDITION_CHECK_FAILURE,
    .expressions = {.names = PUT_ITEM_EXPRESSION_ATTRIBUTE_NAMES,
                    .values = PUT_ITEM_EXPRESSION_ATTRIBUTE_VALUES,
                    .expressions = {[PARAMETER_CONDITION] = PUT_ITEM_CONDITION_EXPRESSION},
                    .legacy = {[LEGACY_EXPECTED] = PUT_ITEM_EXPECTED,
                               [LEGACY_CONDITIONAL_OPERATOR] = PUT_ITEM_CONDITIONAL_OPERATOR}}};

static const struct write_members delete_members = {
    .op = REQUEST_DELETE,
    .table_name = DELETE_ITEM_TABLE_NAME,
    .item_or_key = DELETE_ITEM_KEY,
    .return_values = DELETE_ITEM_RETURN_VALUES,
    .return_consumed = DELETE_ITEM_RETURN_CONSUMED_CAPACITY,
    .return_metrics = DELETE_ITEM_RETURN_ITEM_COLLECTION_METRICS,
    .return_failed = DELETE_ITEM_RETURN_VALUES_ON_CONDITION_CHECK_FAILURE,
    .expressions = {.names = DELETE_ITEM_EXPRESSION_ATTRIBUTE_NAMES,
                    .values = DELETE_ITEM_EXPRESSION_ATTRIBUTE_VALUES,
                    .expressions = {[PARAMETER_CONDITION] = DELETE_ITEM_CONDITION_EXPRESSION},
                    .legacy = {[LEGACY_EXPECTED] = DELETE_ITEM_EXPECTED,
                               [LEGACY_CONDITIONAL_OPERATOR] = DELETE_ITEM_CONDITIONAL_OPERATOR}}};

/* ---- the answer ---- */

/* What an update has changed may be nothing that the item has: then there are no Attributes. */
static void write_attributes(struct call *c, const struct write *w, struct slice item)
{
    struct buffer *scratch = &c->router->scratch;
    if (w->shown != NULL) {
        buffer_clear(scratch);
        projection_append(scratch, w->shown, item);
        item = buffer_slice(scratch);
        if (item_count(item) == 0)
            return;
    }
    json_write_key(&c->body, "Attributes");
    value_write_item(&c->body, item);
}

bool write_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    const struct write *w = c->state;
    const struct table *t = &s->route->table;
    if (r->code != REPLY_OK)
        return call_refuse(c, s, r);
    json_write_open(&c->body, '{');
    if (s->request.write.return_values != RETURN_NONE && r->item.found)
        write_attributes(c, w, r->item.bytes);
    struct capacity capacity = {0};
    capacity_add_write(&capacity, t, r);
    capacity_write_member(&c->body, c, t, &capacity);
    if (w->return_collection && t->whole_collections) {
        json_write_key(&c->body, "ItemCollectionMetrics");
        write_collection(&c->body, t, span_in(&c->bytes, w->plan->items->item),
                         r->item.collection_bytes);
    }
    json_write_close(&c->body, '}');
    return true;
}

OPERATION(put_item, "PutItem", .begin = write_begin, .ready = items_ready, .reply = write_reply,
          .data = &put_members);
OPERATION(delete_item, "DeleteItem", .begin = write_begin, .ready = items_ready,
          .reply = write_reply, .data = &delete_members);
