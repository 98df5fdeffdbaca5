/* delete_table.c - DeleteTable. */
#include "router/json/shapes.h"
#include "router/operations/operations.h"
#include "router/operations/table_description.h"

static bool delete_table_begin(struct call *c, const struct json_value m[])
{
    struct subrequest *s = call_request(c, NULL, REQUEST_TABLE_DELETE);
    s->request.table.name = arena_copy(&c->arena, call_table_named(c, &m[DELETE_TABLE_TABLE_NAME]));
    subrequest_start(c->router, s);
    return true;
}

/* The catalog names the index that keeps the table from being deleted. */
static bool delete_table_waits(const struct reply *r)
{
    struct table t;
    struct arena arena = {0};
    const bool waits = r->code == REPLY_TABLE_BUSY &&
                       table_decode(r->table.bytes, &arena, &t) == STATUS_OK && t.index_of != 0;
    arena_deinit(&arena);
    return waits;
}

static bool delete_table_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    return delete_table_waits(r)
               ? fault_set(call_fault(c), FAULT_IN_USE,
                           "Attempt to change a resource which is still in use: Cannot delete "
                           "table while indexes are being created, updated, or deleted.")
               : table_description_reply(c, s, r);
}

OPERATION(delete_table, "DeleteTable", .name_first = true, .begin = delete_table_begin,
          .reply = delete_table_reply);
