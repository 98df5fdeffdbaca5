/* execute_batch.c - BatchExecuteStatement: statements about one item each, all reads or all writes.
 *
 * A statement that is refused, or that fails, has an error in its response; the others are done. */
#include "router/core/input_parse.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/execute.h"
#include "router/operations/operations.h"

/* What became of a statement. */
struct batch_member {
    struct statement statement;
    const char *code;   /* of the error; NULL: none */
    struct slice text;  /* of the error */
    struct slice more;  /* of the error: further members, as JSON */
    struct slice item;  /* of the response, in the call's arena; size 0: none */
    struct slice table; /* its name; empty: the statement is not understood */
    struct capacity consumed;
    bool sent;
};

struct execute_batch {
    struct item_plan *plan;       /* while the request is read */
    struct json_cursor left;      /* of it */
    uint32_t read;                /* members so far */
    struct batch_member *members; /* one for each of the plan's items */
    size_t error_bytes;           /* of items that errors have, as JSON */
    uint32_t written;             /* members that the answer has */
};

/* ---- errors ---- */

static const char *member_code(enum fault_kind kind)
{
    static const char *const codes[] = {
        [FAULT_VALIDATION] = "ValidationError",
        [FAULT_NOT_FOUND] = "ResourceNotFound",
        [FAULT_CONDITION] = "ConditionalCheckFailed",
        [FAULT_EXISTS] = "DuplicateItem",
        [FAULT_CONFLICT] = "TransactionConflict",
        [FAULT_COLLECTION_FULL] = "ItemCollectionSizeLimitExceeded",
        [FAULT_THROUGHPUT] = "ProvisionedThroughputExceeded",
        [FAULT_THROTTLING] = "ThrottlingError",
    };
    const bool named = (size_t)kind < COUNT_OF(codes) && codes[kind] != NULL;
    return named ? codes[kind] : "InternalServerError";
}

/* Makes the call's fault the member's error. */
static void member_refuse(struct call *c, struct batch_member *m)
{
    const struct fault *f = call_fault(c);
    m->code = member_code(f->kind);
    m->text = arena_copy(&c->arena, buffer_slice(&f->text));
    m->more = f->kind == FAULT_CONDITION ? arena_copy(&c->arena, buffer_slice(&f->more))
                                         : slice_make(NULL, 0);
}

/* ---- the request alone ---- */

static bool member_read(struct call *c, struct batch_member *b, const struct json_value *value,
                        struct item_request *q)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    shape_bind(&shape_batch_statement_request, value, m);
    q->consistent = shape_boolean(&m[BATCH_STATEMENT_REQUEST_CONSISTENT_READ], false);
    q->return_failed = json_is_text(
        &m[BATCH_STATEMENT_REQUEST_RETURN_VALUES_ON_CONDITION_CHECK_FAILURE], "ALL_OLD");
    if (!execute_parse(c, &m[BATCH_STATEMENT_REQUEST_STATEMENT],
                       &m[BATCH_STATEMENT_REQUEST_PARAMETERS], &b->statement, NULL))
        return false;
    if (b->statement.verb == STATEMENT_EXISTS)
        return call_invalid(c, "EXISTS can only be used in ExecuteTransaction write requests.");
    b->table = execute_table(c, &b->statement);
    return b->table.size > 0 ||
           fault_set(call_fault(c), FAULT_NOT_FOUND, "Requested resource not found");
}

static bool batch_check_mix(struct call *c, const struct execute_batch *b, uint32_t count)
{
    bool reads = false, writes = false;
    for (uint32_t i = 0; i < count; i++) {
        if (b->members[i].code != NULL)
            continue;
        reads |= !statement_writes(&b->members[i].statement);
        writes |= statement_writes(&b->members[i].statement);
    }
    return !reads || !writes ||
           call_invalid(c, "BatchExecuteStatement API does not support both read and write "
                           "operations in the same request.");
}

static void batch_create(struct call *c, const struct json_value m[])
{
    const struct json_value *list = &m[BATCH_EXECUTE_STATEMENT_STATEMENTS];
    const uint32_t count = (uint32_t)json_count(list);
    struct execute_batch *b = arena_zalloc(&c->arena, sizeof *b);
    c->state = b;
    b->members = arena_zalloc(&c->arena, count * sizeof *b->members);
    b->plan = item_plan_create(c, count, count);
    b->plan->lenient = true;
    b->plan->table_count = 0;
    b->left = json_elements(list);
    call_take_consumed(c, &m[BATCH_EXECUTE_STATEMENT_RETURN_CONSUMED_CAPACITY]);
}

static bool batch_begin(struct call *c, const struct json_value m[])
{
    if (c->state == NULL)
        batch_create(c, m);
    struct execute_batch *b = c->state;
    struct json_value value;
    while (json_next_element(&b->left, &value)) {
        struct batch_member *member = &b->members[b->read];
        struct item_request *q = &b->plan->items[b->read++];
        if (member_read(c, member, &value, q))
            q->table = transact_table(c, b->plan, member->table);
        else
            member_refuse(c, member);
        if (input_parse_ends_turn(c))
            return true;
    }
    if (!batch_check_mix(c, b, b->read))
        return false;
    items_begin(c, b->plan);
    return true;
}

/* ---- requests ---- */

static bool member_send(struct call *c, struct batch_member *m, uint32_t index)
{
    struct item_request *q = &c->plan->items[index];
    const struct item_table *in = &c->plan->tables[q->table];
    if (in->absent)
        return fault_set(call_fault(c), FAULT_NOT_FOUND, "Requested resource not found");
    const struct table *t = &in->route->table;
    if (!execute_index_is_read(c, &m->statement, t) ||
        (!statement_writes(&m->statement) &&
         !execute_names_item(c, &m->statement, t, EXECUTE_IN_BATCH)) ||
        !execute_lower(c, &m->statement, t, EXECUTE_IN_BATCH, q) || !items_find(c, index))
        return false;
    m->sent = true;
    return true;
}

/* A statement that is not sent has no item, and its response names no table. */
static void member_drop(struct call *c, struct batch_member *m, struct item_request *q)
{
    member_refuse(c, m);
    m->table = slice_make(NULL, 0);
    q->key = slice_make(NULL, 0);
}

/* The bytes of all requests must be there before the first is sent. */
static bool batch_ready(struct call *c)
{
    const struct execute_batch *b = c->state;
    for (uint32_t i = 0; i < c->plan->count; i++) {
        if (b->members[i].code == NULL && !member_send(c, &b->members[i], i))
            member_drop(c, &b->members[i], &c->plan->items[i]);
    }
    if (!items_are_distinct(c->plan))
        return call_invalid(c, "%s", ITEMS_REPEATED);
    for (uint32_t i = 0; i < c->plan->count; i++) {
        if (b->members[i].sent)
            items_send(c, i);
    }
    return true;
}

/* An error has the item, if the statement wants it and the errors are not too long without it. */
static void member_fail(struct call *c, struct batch_member *m, const struct subrequest *sub,
                        const struct reply *r)
{
    struct execute_batch *b = c->state;
    struct reply shown = *r;
    shown.item.found &= b->error_bytes < CALL_TURN_JSON;
    execute_refuse(c, &m->statement, sub, &shown);
    member_refuse(c, m);
    b->error_bytes += m->more.size;
}

static bool batch_reply(struct call *c, struct subrequest *sub, const struct reply *r)
{
    const struct execute_batch *b = c->state;
    struct batch_member *m = &b->members[sub->index];
    if (r->code != REPLY_OK) {
        member_fail(c, m, sub, r);
        return true;
    }
    if (statement_writes(&m->statement))
        capacity_add_write(&m->consumed, &sub->route->table, r);
    else
        m->consumed.table_mcu += r->consumed_mcu;
    m->item = arena_copy(&c->arena, execute_shown(&m->statement, r));
    return true;
}

/* ---- the answer ---- */

static void member_write_error(struct buffer *out, const struct batch_member *m)
{
    json_member_open(out, "Error", '{');
    json_member_text(out, "Code", m->code);
    json_member_string(out, "Message", m->text);
    if (m->more.size > 0) {
        buffer_append_u8(out, ',');
        buffer_append_slice(out, m->more);
    }
    json_write_close(out, '}');
}

static void member_write_item(struct call *c, const struct batch_member *m)
{
    const size_t at = c->body.size;
    json_write_key(&c->body, "Item");
    if (!execute_write_shown(c, &m->statement, m->item))
        c->body.size = at;
}

static void member_write(struct call *c, const struct batch_member *m)
{
    struct buffer *out = &c->body;
    json_write_open(out, '{');
    if (m->code != NULL)
        member_write_error(out, m);
    if (m->table.size > 0)
        json_member_string(out, "TableName", shape_table_of(m->table));
    member_write_item(c, m);
    json_write_close(out, '}');
}

static void batch_write_consumed(struct call *c, const struct execute_batch *b)
{
    struct buffer *out = &c->body;
    if (c->consumed == CONSUMED_NONE)
        return;
    json_member_open(out, "ConsumedCapacity", '[');
    for (uint32_t i = 0; i < c->plan->table_count; i++) {
        const struct item_table *t = &c->plan->tables[i];
        struct capacity sum = {0};
        for (uint32_t k = 0; k < c->plan->count; k++) {
            if (b->members[k].sent && c->plan->items[k].table == i)
                capacity_add(&sum, &b->members[k].consumed);
        }
        if (!t->absent)
            capacity_write(out, c, &t->route->table, t->name, &sum, NULL);
    }
    json_write_close(out, ']');
}

static bool batch_finish(struct call *c)
{
    struct execute_batch *b = c->state;
    const size_t begin = c->body.size;
    if (b->written == 0) {
        json_write_open_with(&c->body, "Responses", '[');
    }
    for (; b->written < c->plan->count; b->written++) {
        if (call_ends_turn(c, begin))
            return true;
        member_write(c, &b->members[b->written]);
    }
    json_write_close(&c->body, ']');
    batch_write_consumed(c, b);
    json_write_close(&c->body, '}');
    return true;
}

OPERATION(batch_execute_statement, "BatchExecuteStatement", .begin = batch_begin,
          .ready = batch_ready, .reply = batch_reply, .finish = batch_finish);
