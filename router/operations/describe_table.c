/* describe_table.c - DescribeTable. */
#include "router/json/shapes.h"
#include "router/operations/operations.h"
#include "router/operations/table_description.h"

static bool describe_table_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    return table_description_answer(c, s, r, "Table", NULL);
}

OPERATION(describe_table, "DescribeTable", .name_first = true, .begin = call_begin_table,
          .reply = describe_table_reply);
