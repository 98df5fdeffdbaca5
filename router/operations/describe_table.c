#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/operations/table_description.h"

static const struct shape_member MEMBERS[] = {
    {"TableName", &shape_plain_table_name, MEMBER_OPTIONAL},
    {0},
};

static const struct shape INPUT = {
    .kind = SHAPE_STRUCTURE, .java = "DescribeTableInput", .members = MEMBERS};

static bool begin(struct call *c, const struct json_value m[])
{
    struct subrequest *s = call_catalog_request(c, REQUEST_TABLE_GET);
    s->request.key = arena_copy(&c->arena, json_string(&m[0]));
    call_send(c, s);
    return true;
}

static bool reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    return table_description_answer(c, s, r, "Table");
}

const struct operation operation_describe_table = {
    .name = "DescribeTable", .input = &INPUT, .name_first = true, .begin = begin, .reply = reply};
