/* list_tables.c - ListTables: a page of names. */
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/operations.h"

enum {
    NAMES_MAX = 100 /* names in one answer, by default */
};

static bool list_tables_begin(struct call *c, const struct json_value m[])
{
    struct subrequest *s = call_request(c, NULL, REQUEST_TABLE_LIST);
    if (m[LIST_TABLES_EXCLUSIVE_START_TABLE_NAME].type == JSON_STRING)
        s->request.list.after =
            arena_copy(&c->arena, json_string(&m[LIST_TABLES_EXCLUSIVE_START_TABLE_NAME]));
    s->request.list.names_max = (uint32_t)shape_integer(&m[LIST_TABLES_LIMIT], NAMES_MAX);
    subrequest_start(c->router, s);
    return true;
}

static bool list_tables_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    if (r->code != REPLY_OK)
        return call_refuse(c, s, r);
    struct reader names = {r->page.records, false};
    struct slice name = {NULL, 0};
    json_write_open_with(&c->body, "TableNames", '[');
    for (uint32_t i = 0; i < r->page.count && !names.failed; i++) {
        name = reader_sized(&names);
        json_write_string(&c->body, name);
    }
    json_write_close(&c->body, ']');
    if (r->page.more && r->page.count > 0)
        json_member_string(&c->body, "LastEvaluatedTableName", name);
    json_write_close(&c->body, '}');
    return !names.failed ||
           fault_set(call_fault(c), FAULT_INTERNAL, "The catalog's answer is invalid");
}

OPERATION(list_tables, "ListTables", .begin = list_tables_begin, .reply = list_tables_reply);
