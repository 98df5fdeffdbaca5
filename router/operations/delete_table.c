#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/operations/table_description.h"

static const struct shape_member MEMBERS[] = {
    {"TableName", &shape_plain_table_name, MEMBER_OPTIONAL},
    {0},
};

static const struct shape INPUT = {
    .kind = SHAPE_STRUCTURE, .java = "DeleteTableInput", .members = MEMBERS};

static bool begin(struct call *c, const struct json_value m[])
{
    struct subrequest *s = call_catalog_request(c, REQUEST_TABLE_DELETE);
    s->request.key = arena_copy(&c->arena, json_string(&m[0]));
    call_send(c, s);
    return true;
}

const struct operation operation_delete_table = {.name = "DeleteTable",
                                                 .input = &INPUT,
                                                 .name_first = true,
                                                 .begin = begin,
                                                 .reply = table_description_reply};
