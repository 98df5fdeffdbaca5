/* tag_resource.c - TagResource, UntagResource and ListTagsOfResource. A table is the only resource
 * there is. The catalog makes the change, so changes at the same time do not undo each other. */
#include "router/json/json_writer.h"
#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/operations/table_description.h"
#include "router/operations/table_tags.h"

enum {
    RESOURCE,
    TAGS,
    PAGE = TAGS
};

static const struct shape ARN = {
    .kind = SHAPE_STRING, .min = 1, .min_set = true, .max = 1283}; /* the service's bound */

static const struct shape_member TAG_MEMBERS[] = {
    {"ResourceArn", &ARN, MEMBER_REQUIRED},
    {"Tags", &shape_tags, MEMBER_REQUIRED},
    {0},
};
static const struct shape TAG_INPUT = {
    .kind = SHAPE_STRUCTURE, .java = "TagResourceInput", .members = TAG_MEMBERS};

static const struct shape_member UNTAG_MEMBERS[] = {
    {"ResourceArn", &ARN, MEMBER_REQUIRED},
    {"TagKeys", &shape_tag_keys, MEMBER_REQUIRED},
    {0},
};
static const struct shape UNTAG_INPUT = {
    .kind = SHAPE_STRUCTURE, .java = "UntagResourceInput", .members = UNTAG_MEMBERS};

static const struct shape_member LIST_MEMBERS[] = {
    {"ResourceArn", &ARN, MEMBER_REQUIRED},
    {"NextToken", &shape_string, MEMBER_OPTIONAL},
    {0},
};
static const struct shape LIST_INPUT = {
    .kind = SHAPE_STRUCTURE, .java = "ListTagsOfResourceInput", .members = LIST_MEMBERS};

/* The table in arn:partition:dynamodb:region:account:table/name; of any region and account, as
 * clients may use any. */
static bool table_of(struct call *c, const struct json_value *arn, struct slice *name)
{
    struct slice left = json_string(arn);
    bool good = slice_starts_with(left, slice_of("arn:"));
    for (int field = 0; field < 5 && good; field++) {
        const uint8_t *colon = memchr(left.data, ':', left.size);
        good = colon != NULL;
        if (good)
            left = slice_make(colon + 1, left.size - (size_t)(colon + 1 - left.data));
        good = good && (field != 1 || slice_starts_with(left, slice_of("dynamodb:")));
    }
    good = good && slice_starts_with(left, slice_of("table/"));
    if (good)
        left = slice_make(left.data + 6, left.size - 6);
    if (!good || left.size == 0 || left.size > TABLE_NAME_SIZE_MAX ||
        memchr(left.data, '/', left.size) != NULL)
        return fault_set(call_fault(c), FAULT_VALIDATION,
                         "Invalid TableArn: Invalid ResourceArn provided as input %.*s",
                         SHOWN(json_string(arn)));
    c->state = arena_alloc(&c->arena, sizeof(struct slice));
    *(struct slice *)c->state = arena_copy(&c->arena, json_string(arn));
    *name = arena_copy(&c->arena, left);
    return true;
}

/* The table in the reply; the service names the resource and not the table where there is none. */
static bool found(struct call *c, struct subrequest *s, const struct reply *r, struct table *out)
{
    if (r->code == REPLY_TABLE_NOT_FOUND)
        return fault_set(call_fault(c), FAULT_NOT_FOUND,
                         "Requested resource not found: ResourcArn: %.*s not found",
                         SHOWN(*(const struct slice *)c->state));
    return table_take_reply(c, s, r, out);
}

/* ---- changes ---- */

static bool change(struct call *c, const struct json_value m[], bool remove)
{
    struct table_spec spec = {0};
    if (!table_of(c, &m[RESOURCE], &spec.name) || !table_tags_change(c, &m[TAGS], remove, &spec))
        return false;
    table_spec_encode(&c->bytes, &spec);
    struct subrequest *s = call_catalog_request(c, REQUEST_TABLE_UPDATE);
    s->request.key = spec.name;
    s->request.body = buffer_slice(&c->bytes);
    call_send(c, s);
    return true;
}

static bool tag_begin(struct call *c, const struct json_value m[])
{
    return change(c, m, false);
}

static bool untag_begin(struct call *c, const struct json_value m[])
{
    return change(c, m, true);
}

/* The answer has no body, as the service has it. */
static bool changed(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct table t;
    return found(c, s, r, &t);
}

/* ---- the list ---- */

static bool list_begin(struct call *c, const struct json_value m[])
{
    struct slice name;
    if (!table_of(c, &m[RESOURCE], &name))
        return false;
    if (m[PAGE].type == JSON_STRING) /* all tags stand on one page */
        return fault_set(call_fault(c), FAULT_VALIDATION, "Invalid NextToken");
    struct subrequest *s = call_catalog_request(c, REQUEST_TABLE_GET);
    s->request.key = name;
    call_send(c, s);
    return true;
}

static bool listed(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct table t;
    if (!found(c, s, r, &t))
        return false;
    json_write_open(&c->body, '{');
    json_write_key(&c->body, "Tags");
    table_tags_write(&c->body, &t);
    json_write_close(&c->body, '}');
    return true;
}

const struct operation operation_tag_resource = {
    .name = "TagResource", .input = &TAG_INPUT, .begin = tag_begin, .reply = changed};
const struct operation operation_untag_resource = {
    .name = "UntagResource", .input = &UNTAG_INPUT, .begin = untag_begin, .reply = changed};
const struct operation operation_list_tags_of_resource = {
    .name = "ListTagsOfResource", .input = &LIST_INPUT, .begin = list_begin, .reply = listed};
