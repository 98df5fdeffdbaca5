/* execute_transaction.c - ExecuteTransaction: statements about one item each, all reads or all
 * writes, as TransactGetItems and TransactWriteItems do them.
 *
 * A statement whose text is refused fails the call. One that does not fit its table cancels the
 * transaction, with a reason. */
#include "router/core/input_parse.h"
#include "router/json/shapes.h"
#include "router/operations/execute.h"
#include "router/operations/operations.h"

struct execute_transaction {
    union { /* must be first: the functions of transactions take call->state as one of them */
        struct transact_get get;
        struct transact_write write;
    };
    struct item_plan *plan;       /* while the request is read */
    struct json_cursor left;      /* of it */
    uint32_t read;                /* statements so far */
    uint32_t lowered;             /* statements whose requests are made */
    struct statement *statements; /* one for each of the plan's items */
    bool writes;
};

/* Says which statement the fault is about. Always false. */
static bool transaction_name_statement(struct call *c, uint32_t index)
{
    struct fault *f = call_fault(c);
    struct slice text = arena_copy(&c->arena, buffer_slice(&f->text));
    return fault_set(f, f->kind, "Validation failed in TransactStatements[%u]: %.*s", index,
                     SHOWN(text));
}

/* ---- the request alone ---- */

static bool transaction_check(struct call *c, const struct statement *s)
{
    if (s->returning != RETURNING_NOTHING)
        return call_invalid(c, "RETURNING clause is not supported in ExecuteTransaction.");
    return s->index.size == 0 ||
           call_invalid(c, "Reads on indices are not supported within transactions.");
}

static bool transaction_read(struct call *c, struct execute_transaction *e, struct item_plan *plan,
                             uint32_t index, const struct json_value *value)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    struct statement *s = &e->statements[index];
    struct item_request *q = &plan->items[index];
    shape_bind(&shape_parameterized_statement, value, m);
    q->consistent = true;
    q->return_failed = json_is_text(
        &m[PARAMETERIZED_STATEMENT_RETURN_VALUES_ON_CONDITION_CHECK_FAILURE], "ALL_OLD");
    if (!execute_parse(c, &m[PARAMETERIZED_STATEMENT_STATEMENT],
                       &m[PARAMETERIZED_STATEMENT_PARAMETERS], s, NULL) ||
        !transaction_check(c, s))
        return transaction_name_statement(c, index);
    const struct slice table = execute_table(c, s);
    if (table.size == 0)
        return fault_set(call_fault(c), FAULT_NOT_FOUND, "Requested resource not found");
    q->table = transact_table(c, plan, table);
    return true;
}

static bool transaction_check_mix(struct call *c, struct execute_transaction *e, uint32_t count)
{
    e->writes = statement_writes(&e->statements[0]);
    for (uint32_t i = 1; i < count; i++) {
        if (statement_writes(&e->statements[i]) != e->writes)
            return call_invalid(c, "ExecuteTransaction API does not support both read and write "
                                   "operations in the same request.");
    }
    return true;
}

static void transaction_create(struct call *c, const struct json_value m[])
{
    const struct json_value *list = &m[EXECUTE_TRANSACTION_TRANSACT_STATEMENTS];
    const uint32_t count = (uint32_t)json_count(list);
    struct execute_transaction *e = arena_zalloc(&c->arena, sizeof *e);
    c->state = e;
    e->statements = arena_zalloc(&c->arena, count * sizeof *e->statements);
    e->plan = item_plan_create(c, count, count);
    e->plan->lenient = true;
    e->plan->table_count = 0;
    e->left = json_elements(list);
    call_take_consumed(c, &m[EXECUTE_TRANSACTION_RETURN_CONSUMED_CAPACITY]);
}

static bool transaction_begin(struct call *c, const struct json_value m[])
{
    if (c->state == NULL)
        transaction_create(c, m);
    struct execute_transaction *e = c->state;
    struct json_value value;
    while (json_next_element(&e->left, &value)) {
        if (!transaction_read(c, e, e->plan, e->read++, &value))
            return false;
        if (input_parse_ends_turn(c))
            return true;
    }
    if (!transaction_check_mix(c, e, e->read))
        return false;
    e->write.statements = e->writes;
    if (e->writes)
        transact_writes_init(c, &e->write, e->read,
                             json_text(&m[EXECUTE_TRANSACTION_CLIENT_REQUEST_TOKEN]));
    else
        transact_gets_init(c, &e->get, e->read);
    items_begin(c, e->plan);
    return true;
}

/* ---- with the tables ---- */

/* Makes the part's request, or cancels the transaction. */
static bool transaction_lower(struct call *c, struct execute_transaction *e, uint32_t index,
                              struct part_end *ends)
{
    const struct statement *s = &e->statements[index];
    struct item_request *q = &c->plan->items[index];
    const struct item_table *in = &c->plan->tables[q->table];
    if (in->absent) {
        fault_set(call_fault(c), FAULT_NOT_FOUND, "Requested resource not found");
        return transact_refuse(c, ends, index);
    }
    const struct table *t = &in->route->table;
    if ((s->verb == STATEMENT_SELECT || s->verb == STATEMENT_EXISTS) &&
        !execute_names_item(c, s, t, EXECUTE_IN_TRANSACTION))
        return transaction_name_statement(c, index);
    return (execute_lower(c, s, t, EXECUTE_IN_TRANSACTION, q) && items_find(c, index)) ||
           transact_refuse(c, ends, index);
}

/* Makes the requests of statements, over several turns. False: the call has failed. */
static bool transaction_lower_all(struct call *c, struct execute_transaction *e)
{
    struct part_end *ends = e->writes ? e->write.ends : e->get.ends;
    const size_t begin = c->bytes.size;
    for (; e->lowered < c->plan->count; e->lowered++) {
        if (c->bytes.size - begin >= INPUT_PARSE_TURN_BYTES) {
            call_rest(c);
            return true;
        }
        if (!transaction_lower(c, e, e->lowered, ends))
            return false;
    }
    return !e->writes || transact_writes_fit(c, c->plan);
}

static bool transaction_ready(struct call *c)
{
    struct execute_transaction *e = c->state;
    if (e->lowered < c->plan->count && !transaction_lower_all(c, e))
        return false;
    if (c->rests)
        return true;
    if (e->writes)
        return transact_writes_send(c);
    e->get.columns = true;
    for (uint32_t i = 0; i < c->plan->count; i++)
        e->get.shown[i] = e->statements[i].columns;
    return transact_gets_send(c);
}

/* ---- replies ---- */

static bool transaction_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    const struct execute_transaction *e = c->state;
    return e->writes ? transact_write_reply(c, s, r) : transact_get_reply(c, s, r);
}

static bool transaction_finish(struct call *c)
{
    const struct execute_transaction *e = c->state;
    return e->writes ? transact_write_finish(c) : transact_get_finish(c);
}

OPERATION(execute_transaction, "ExecuteTransaction", .begin = transaction_begin,
          .ready = transaction_ready, .reply = transaction_reply, .finish = transaction_finish);
