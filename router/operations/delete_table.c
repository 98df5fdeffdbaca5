/* delete_table.c - DeleteTable. */
#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/operations/table_description.h"

static bool delete_table_begin(struct call *c, const struct json_value m[])
{
    struct subrequest *s = call_request(c, NULL, REQUEST_TABLE_DELETE);
    s->request.table.name = arena_copy(&c->arena, call_table_named(c, &m[DELETE_TABLE_TABLE_NAME]));
    subrequest_start(c->router, s);
    return true;
}

OPERATION(delete_table, "DeleteTable", .name_first = true, .begin = delete_table_begin,
          .reply = table_description_reply);
