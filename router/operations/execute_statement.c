/* execute_statement.c - ExecuteStatement: one statement of PartiQL. */
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/execute_select.h"
#include "router/operations/operations.h"

/* A SELECT has the page, the other statements a plan of one item. */
struct execute {
    struct select select; /* must be first: its functions take call->state as a select */
    struct statement statement;
};

static bool execute_begin_write(struct call *c, const struct json_value m[],
                                const struct statement *s)
{
    struct item_plan *plan = item_plan_create(c, 1, 1);
    plan->tables->name = execute_table(c, s);
    plan->items->return_failed =
        json_is_text(&m[EXECUTE_STATEMENT_RETURN_VALUES_ON_CONDITION_CHECK_FAILURE], "ALL_OLD");
    if (plan->tables->name.size == 0)
        return fault_set(call_fault(c), FAULT_NOT_FOUND, "Requested resource not found");
    items_begin(c, plan);
    return true;
}

static bool execute_begin(struct call *c, const struct json_value m[])
{
    struct execute *e = arena_zalloc(&c->arena, sizeof *e);
    struct statement *s = &e->statement;
    c->state = e;
    call_take_consumed(c, &m[EXECUTE_STATEMENT_RETURN_CONSUMED_CAPACITY]);
    if (!execute_parse(c, &m[EXECUTE_STATEMENT_STATEMENT], &m[EXECUTE_STATEMENT_PARAMETERS], s,
                       &e->select.digest))
        return false;
    if (s->verb == STATEMENT_EXISTS)
        return call_invalid(c, "EXISTS can only be used in ExecuteTransaction write requests.");
    if (statement_writes(s))
        return execute_begin_write(c, m, s);
    e->select.statement = s;
    e->select.page.plan.limit = shape_integer(&m[EXECUTE_STATEMENT_LIMIT], 0);
    e->select.page.plan.consistent = shape_boolean(&m[EXECUTE_STATEMENT_CONSISTENT_READ], false);
    return select_begin(c, &e->select, &m[EXECUTE_STATEMENT_NEXT_TOKEN]);
}

static bool execute_ready(struct call *c)
{
    const struct execute *e = c->state;
    if (!statement_writes(&e->statement))
        return select_ready(c);
    const struct table *t = &c->plan->tables->route->table;
    if (!call_table_usable(c, t) ||
        !execute_lower(c, &e->statement, t, EXECUTE_ALONE, c->plan->items) || !items_find(c, 0))
        return false;
    items_send(c, 0);
    return true;
}

static bool execute_write_reply(struct call *c, const struct statement *s, struct subrequest *sub,
                                const struct reply *r)
{
    struct capacity capacity = {0};
    if (r->code != REPLY_OK)
        return execute_refuse(c, s, sub, r);
    json_write_open_with(&c->body, "Items", '[');
    execute_write_shown(c, s, execute_shown(s, r));
    json_write_close(&c->body, ']');
    capacity_add_write(&capacity, &sub->route->table, r);
    capacity_write_member(&c->body, c, &sub->route->table, &capacity);
    json_write_close(&c->body, '}');
    return true;
}

static bool execute_reply(struct call *c, struct subrequest *sub, const struct reply *r)
{
    const struct execute *e = c->state;
    return statement_writes(&e->statement) ? execute_write_reply(c, &e->statement, sub, r)
                                           : select_reply(c, sub, r);
}

static bool execute_finish(struct call *c)
{
    const struct execute *e = c->state;
    return statement_writes(&e->statement) || select_finish(c);
}

OPERATION(execute_statement, "ExecuteStatement", .begin = execute_begin, .ready = execute_ready,
          .reply = execute_reply, .finish = execute_finish);
