/* tag_resource.c - TagResource, UntagResource and ListTagsOfResource. The only resources are
 * tables.
 *
 * The catalog makes a change: changes at the same time do not undo each other. */
#include "router/json/json_writer.h"
#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/operations/table_description.h"
#include "router/operations/table_tags.h"

/* The table in arn:partition:dynamodb:region:account:table/name. Clients may use any region and
 * account. */
static bool resource_table_of(struct call *c, const struct json_value *arn, struct slice *name)
{
    struct slice left = json_string(arn);
    bool good = slice_starts_with(left, slice_of("arn:"));
    for (int field = 0; field < 5 && good; field++) {
        const size_t size = left.size;
        good = slice_cut(&left, ':').size < size &&
               (field != 1 || slice_starts_with(left, slice_of("dynamodb:")));
    }
    good = good && slice_starts_with(left, slice_of("table/"));
    if (good)
        left = slice_make(left.data + 6, left.size - 6);
    if (!good || left.size > TABLE_NAME_SIZE_MAX || !shape_is_table_name(left))
        return call_invalid(c, "Invalid TableArn: Invalid ResourceArn provided as input %.*s",
                            SHOWN(json_string(arn)));
    c->state = arena_alloc(&c->arena, sizeof(struct slice));
    *(struct slice *)c->state = arena_copy(&c->arena, json_string(arn));
    *name = arena_copy(&c->arena, left);
    return true;
}

/* Takes the table out of the reply. If there is none, the service's text names the resource, not
 * the table. */
static bool resource_found(struct call *c, struct subrequest *s, const struct reply *r,
                           struct table *out)
{
    if (r->code == REPLY_TABLE_NOT_FOUND)
        return fault_set(call_fault(c), FAULT_NOT_FOUND,
                         "Requested resource not found: ResourcArn: %.*s not found",
                         SHOWN(*(const struct slice *)c->state));
    return table_take_reply(c, s, r, out);
}

/* ---- changes ---- */

static bool resource_change(struct call *c, const struct json_value *resource,
                            const struct json_value *list, bool remove)
{
    struct table_spec spec = {0};
    if (!resource_table_of(c, resource, &spec.name) || !table_tags_change(c, list, remove, &spec))
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
    if (!resource_table_of(c, &m[LIST_TAGS_OF_RESOURCE_RESOURCE_ARN], &name))
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
