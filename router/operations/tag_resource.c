/* tag_resource.c - TagResource, UntagResource and ListTagsOfResource. The only resources are
 * tables.
 *
 * The catalog makes a change: changes at the same time do not undo each other. */
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/operations.h"
#include "router/operations/table_description.h"
#include "router/operations/table_tags.h"

/* Takes the table out of the reply. If there is none, the service's text names the resource, not
 * the table. */
static bool resource_found(struct call *c, struct subrequest *s, const struct reply *r,
                           struct table *out)
{
    if (r->code == REPLY_TABLE_NOT_FOUND)
        return fault_set(call_fault(c), FAULT_NOT_FOUND,
                         "Requested resource not found: ResourceArn: %.*s not found",
                         SHOWN(*(const struct slice *)c->state));
    return table_take_reply(c, s, r, out);
}

/* ---- changes ---- */

static bool resource_change(struct call *c, const struct json_value *resource,
                            const struct json_value *list, bool remove)
{
    struct table_spec spec = {0};
    if (!call_table_of_arn(c, resource, &spec.name) || !table_tags_change(c, list, remove, &spec))
        return false;
    call_send_spec(c, REQUEST_TABLE_UPDATE, &spec);
    return true;
}

static bool tag_begin(struct call *c, const struct json_value m[])
{
    return resource_change(c, &m[TAG_RESOURCE_RESOURCE_ARN], &m[TAG_RESOURCE_TAGS], false);
}

static bool untag_begin(struct call *c, const struct json_value m[])
{
    return resource_change(c, &m[UNTAG_RESOURCE_RESOURCE_ARN], &m[UNTAG_RESOURCE_TAG_KEYS], true);
}

/* The answer has no body, as in the service. */
static bool resource_changed(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct table t;
    return resource_found(c, s, r, &t);
}

/* ---- the list ---- */

static bool list_tags_begin(struct call *c, const struct json_value m[])
{
    struct slice name;
    if (!call_table_of_arn(c, &m[LIST_TAGS_OF_RESOURCE_RESOURCE_ARN], &name))
        return false;
    if (m[LIST_TAGS_OF_RESOURCE_NEXT_TOKEN].type == JSON_STRING) /* one page has all tags */
        return call_invalid(c, "Invalid NextToken");
    call_get_table(c, name);
    return true;
}

static bool list_tags_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct table t;
    if (!resource_found(c, s, r, &t))
        return false;
    json_write_open(&c->body, '{');
    json_write_key(&c->body, "Tags");
    table_tags_write(&c->body, &t);
    json_write_close(&c->body, '}');
    return true;
}

OPERATION(tag_resource, "TagResource", .begin = tag_begin, .reply = resource_changed);
OPERATION(untag_resource, "UntagResource", .begin = untag_begin, .reply = resource_changed);
OPERATION(list_tags_of_resource, "ListTagsOfResource", .begin = list_tags_begin,
          .reply = list_tags_reply);
