#include "router/operations/write.h"

#include "base/limits.h"
#include "router/json_writer.h"

bool write_item_fits(struct slice item, struct fault *fault)
{
    return item_size(item) <= ITEM_SIZE_MAX ||
           fault_set(fault, FAULT_VALIDATION, "Item size has exceeded the maximum allowed size");
}

bool write_take_return_values(struct call *c, const struct json_value *member, bool *want_old)
{
    *want_old = member->type == JSON_STRING && slice_is(json_string(member), "ALL_OLD");
    if (member->type == JSON_ABSENT || *want_old || slice_is(json_string(member), "NONE"))
        return true;
    return fault_set(call_fault(c), FAULT_VALIDATION, "Return values set to invalid value");
}

bool write_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    if (r->code != REPLY_OK)
        return call_refuse(c, s, r);
    json_write_open(&c->body, '{');
    if (s->request.want_old && r->found) {
        json_write_key(&c->body, "Attributes");
        value_write_item(&c->body, r->body);
    }
    if (c->consumed != CONSUMED_NONE) {
        json_write_key(&c->body, "ConsumedCapacity");
        capacity_write(&c->body, c, &s->route->table, r->consumed_mcu);
    }
    json_write_close(&c->body, '}');
    return true;
}
