/* describe_table.c - DescribeTable. */
#include "router/json/shapes.h"
#include "router/operations/operations.h"
#include "router/operations/table_description.h"

static bool describe_table_begin(struct call *c, const struct json_value m[])
{
    call_get_table(c, arena_copy(&c->arena, call_table_named(c, &m[DESCRIBE_TABLE_TABLE_NAME])));
    return true;
}

static bool describe_table_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    return table_description_answer(c, s, r, "Table", NULL);
}

OPERATION(describe_table, "DescribeTable", .name_first = true, .begin = describe_table_begin,
          .reply = describe_table_reply);
