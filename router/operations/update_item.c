/* update_item.c - UpdateItem: changes attributes of an item, or makes the item. */
#include "engine/expression/update_program.h"
#include "router/json/shapes.h"
#include "router/operations/operations.h"
#include "router/operations/write.h"

static const struct write_members update_members = {
    .op = REQUEST_UPDATE,
    .table_name = UPDATE_ITEM_TABLE_NAME,
    .item_or_key = UPDATE_ITEM_KEY,
    .return_values = UPDATE_ITEM_RETURN_VALUES,
    .return_consumed = UPDATE_ITEM_RETURN_CONSUMED_CAPACITY,
    .return_metrics = UPDATE_ITEM_RETURN_ITEM_COLLECTION_METRICS,
    .return_failed = UPDATE_ITEM_RETURN_VALUES_ON_CONDITION_CHECK_FAILURE,
    .expressions = {.names = UPDATE_ITEM_EXPRESSION_ATTRIBUTE_NAMES,
                    .values = UPDATE_ITEM_EXPRESSION_ATTRIBUTE_VALUES,
                    .expressions = {[PARAMETER_UPDATE] = UPDATE_ITEM_UPDATE_EXPRESSION,
                                    [PARAMETER_CONDITION] = UPDATE_ITEM_CONDITION_EXPRESSION},
                    .legacy = {[LEGACY_ATTRIBUTE_UPDATES] = UPDATE_ITEM_ATTRIBUTE_UPDATES,
                               [LEGACY_EXPECTED] = UPDATE_ITEM_EXPECTED,
                               [LEGACY_CONDITIONAL_OPERATOR] = UPDATE_ITEM_CONDITIONAL_OPERATOR}}};

static bool update_item_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    const struct write *w = c->state;
    if (r->code == REPLY_UPDATE_FAILED && r->item.fault == UPDATE_OPERAND_TYPE &&
        w->expressions.legacy)
        return call_invalid(c, "Type mismatch for attribute to update");
    return write_reply(c, s, r);
}

OPERATION(update_item, "UpdateItem", .begin = write_begin, .ready = items_ready,
          .reply = update_item_reply, .data = &update_members);
