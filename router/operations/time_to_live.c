/* time_to_live.c - UpdateTimeToLive and DescribeTimeToLive.
 *
 * Not here: what a change asks of the table (engine/catalog/ttl.c), and who deletes the items
 * (engine/node/ttl/expiry.h). */
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/operations.h"
#include "router/operations/table_description.h"

/* ---- DescribeTimeToLive ---- */

static bool ttl_describe_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    static const char *const NAMES[] = {[TTL_DISABLED] = "DISABLED",
                                        [TTL_ENABLING] = "ENABLING",
                                        [TTL_ENABLED] = "ENABLED",
                                        [TTL_DISABLING] = "DISABLING"};
    struct table t;
    if (!table_take_reply(c, s, r, &t))
        return false;
    if (t.status == TABLE_CREATING || t.status == TABLE_DELETING) {
        const char *state = table_status_name(t.status);
        return call_invalid(c,
                            "Cannot describe time to live while table is in %s state: Current "
                            "table state is %s",
                            state, state);
    }
    json_write_open_with(&c->body, "TimeToLiveDescription", '{');
    if (t.ttl != TTL_DISABLED)
        json_member_string(&c->body, "AttributeName", t.ttl_attribute);
    json_member_text(&c->body, "TimeToLiveStatus", NAMES[t.ttl]);
    json_write_closes(&c->body, "}}");
    return true;
}

OPERATION(describe_time_to_live, "DescribeTimeToLive", .name_first = true,
          .begin = call_begin_table, .reply = ttl_describe_reply);

/* ---- UpdateTimeToLive ---- */

static bool ttl_update_begin(struct call *c, const struct json_value m[])
{
    struct json_value specification[SHAPE_MEMBERS_MAX];
    struct table_spec *spec = arena_zalloc(&c->arena, sizeof *spec);
    shape_bind(&shape_time_to_live_specification,
               &m[UPDATE_TIME_TO_LIVE_TIME_TO_LIVE_SPECIFICATION], specification);
    spec->name = arena_copy(&c->arena, call_table_named(c, &m[UPDATE_TIME_TO_LIVE_TABLE_NAME]));
    spec->ttl = shape_boolean(&specification[TIME_TO_LIVE_SPECIFICATION_ENABLED], false)
                    ? TTL_ENABLING
                    : TTL_DISABLING;
    spec->ttl_attribute = arena_copy(
        &c->arena, json_string(&specification[TIME_TO_LIVE_SPECIFICATION_ATTRIBUTE_NAME]));
    c->state = spec;
    call_send_spec(c, REQUEST_TABLE_UPDATE, spec);
    return true;
}

/* The answer is held as that of UpdateTable, and repeats what was asked for, as in the service. */
static bool ttl_update_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    const struct table_spec *spec = c->state;
    struct table_record record;
    if (table_change_took(c, s, r))
        return true;
    if (!table_take_record(c, s, r, &record))
        return false;
    table_change_follow(c, &record);
    json_write_open_with(&c->body, "TimeToLiveSpecification", '{');
    json_member_string(&c->body, "AttributeName", spec->ttl_attribute);
    json_member_bool(&c->body, "Enabled", spec->ttl == TTL_ENABLING);
    json_write_closes(&c->body, "}}");
    return true;
}

OPERATION(update_time_to_live, "UpdateTimeToLive", .name_first = true, .begin = ttl_update_begin,
          .reply = ttl_update_reply);
