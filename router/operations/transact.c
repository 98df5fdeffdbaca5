/* transact.c - transactions' parts: their ends, and the reasons of a cancellation. */
#include "router/operations/transact.h"

#include "engine/expression/update_program.h"
#include "engine/message/request_traits.h"
#include "router/core/key_schema.h"
#include "router/core/throttle.h"
#include "router/json/json_writer.h"

uint32_t transact_table(struct call *c, struct item_plan *plan, struct slice name)
{
    for (uint32_t i = 0; i < plan->table_count; i++) {
        if (slice_equal(plan->tables[i].name, name))
            return i;
    }
    plan->tables[plan->table_count].name = arena_copy(&c->arena, name);
    return plan->table_count++;
}

/* ---- ends ---- */

void part_take(struct call *c, struct part_end *end, const struct subrequest *s,
               const struct reply *r)
{
    const bool item = r->kind == ANSWER_ITEM;
    end->replied = true;
    end->code = r->code;
    end->fault = item ? r->item.fault : 0;
    end->on_demand = s->route != NULL && s->route->table.billing == BILLING_ON_DEMAND;
    end->item =
        item && r->item.found ? arena_copy(&c->arena, r->item.bytes) : (struct slice){NULL, 0};
    end->wall_ms = item ? r->item.wall_ms : 0;
    if (item)
        end->stamp = r->item.stamp;
    end->collection_bytes = item ? r->item.collection_bytes : -1;
    if (r->code == REPLY_THROTTLED)
        throttle_note(c, s, &r->verdict);
    if (traits_of(&s->request)->write && item)
        capacity_add_write(&end->consumed, &s->route->table, r);
    else
        end->consumed.table_mcu += r->consumed_mcu;
}

bool part_cancels(enum reply_code code)
{
    return code == REPLY_CONDITION_FAILED || code == REPLY_LOCKED || code == REPLY_THROTTLED ||
           code == REPLY_COLLECTION_FULL || code == REPLY_UPDATE_FAILED;
}

/* ---- reasons ---- */

struct reason {
    const char *code;
    const char *text; /* NULL: none */
};

static struct reason reason_of(const struct call *c, const struct part_end *ends, uint32_t i)
{
    const struct part_end *e = &ends[i];
    if (e->refused != NULL)
        return (struct reason){e->refused, NULL};
    switch (e->code) {
    case REPLY_CONDITION_FAILED:
        if (c->plan->items[i].inserts)
            return (struct reason){"DuplicateItem", "Duplicate primary key exists in table"};
        return (struct reason){"ConditionalCheckFailed", "The conditional request failed"};
    case REPLY_LOCKED:
        return (struct reason){"TransactionConflict", "Transaction is ongoing for the item"};
    case REPLY_COLLECTION_FULL:
        return (struct reason){"ItemCollectionSizeLimitExceeded", "Collection size exceeded."};
    case REPLY_UPDATE_FAILED:
        return (struct reason){"ValidationError", e->fault > UPDATE_OK && e->fault < UPDATE_FAULTS
                                                      ? update_fault_text(e->fault)
                                                      : "A node refused the write"};
    case REPLY_THROTTLED:
        return e->on_demand
                   ? (struct reason){"ThrottlingError",
                                     "Throughput exceeds the current capacity of your table or "
                                     "index."}
                   : (struct reason){"ProvisionedThroughputExceeded",
                                     "The level of configured provisioned throughput for the table "
                                     "was exceeded. Consider increasing your provisioning level "
                                     "with the UpdateTable API."};
    default:
        return (struct reason){"None", NULL};
    }
}

bool transact_cancel(struct call *c, const struct part_end *ends, uint32_t count)
{
    struct fault *f = call_fault(c);
    struct buffer names = {0};
    bool conflicts = false;
    for (uint32_t i = 0; i < count; i++)
        conflicts |= ends[i].code == REPLY_LOCKED;
    c->router->counters.transactions_cancelled++;
    c->router->counters.transactions_conflicts += conflicts;
    buffer_append_text(&names, "[");
    for (uint32_t i = 0; i < count; i++) {
        buffer_append_text(&names, i > 0 ? ", " : "");
        buffer_append_text(&names, reason_of(c, ends, i).code);
    }
    fault_set(f, FAULT_CANCELED,
              "Transaction cancelled, please refer cancellation reasons for specific reasons %.*s]",
              SHOWN(buffer_slice(&names)));
    buffer_deinit(&names);
    json_member_open(&f->more, "CancellationReasons", '[');
    for (uint32_t i = 0; i < count; i++) {
        const struct reason reason = reason_of(c, ends, i);
        json_write_open(&f->more, '{');
        json_member_text(&f->more, "Code", reason.code);
        if (reason.text != NULL)
            json_member_text(&f->more, "Message", reason.text);
        else if (ends[i].refused != NULL)
            json_member_string(&f->more, "Message", ends[i].why);
        if (ends[i].code == REPLY_CONDITION_FAILED && ends[i].item.size > 0 &&
            f->more.size < CALL_TURN_JSON) {
            json_write_key(&f->more, "Item");
            value_write_item(&f->more, ends[i].item);
        }
        json_write_close(&f->more, '}');
    }
    json_write_close(&f->more, ']');
    return false;
}

bool transact_refuse(struct call *c, struct part_end *ends, uint32_t index)
{
    const struct fault *f = call_fault(c);
    ends[index].refused = f->kind == FAULT_NOT_FOUND ? "ResourceNotFound" : "ValidationError";
    ends[index].why = arena_copy(&c->arena, buffer_slice(&f->text));
    return transact_cancel(c, ends, c->plan->count);
}

bool transact_find_keys(struct call *c, struct part_end *ends,
                        const struct projection *const shown[])
{
    const struct item_plan *plan = c->plan;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct table *t = &plan->tables[plan->items[i].table].route->table;
        if (!call_table_usable(c, t) ||
            !key_attrs_are_filled(t, span_in(&c->bytes, plan->items[i].item), call_fault(c)))
            return false;
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct table *t = &plan->tables[plan->items[i].table].route->table;
        if (!items_find(c, i) ||
            (shown != NULL && !key_paths_of_projection(shown[i], t, call_fault(c))))
            return transact_refuse(c, ends, i);
    }
    return true;
}

/* The service says it twice, the first time without the number. */
#define PAYLOAD_TOO_LARGE "Transaction payload size cannot exceed 4MB. Payload Size: "

bool transact_bytes_fit(struct call *c, size_t bytes)
{
    return bytes <= TRANSACTION_BYTES_MAX ||
           call_invalid(c, PAYLOAD_TOO_LARGE ": " PAYLOAD_TOO_LARGE "%zu", bytes);
}

bool transact_keys_differ(struct call *c, const struct item_plan *plan)
{
    return items_are_distinct(plan) ||
           call_invalid(c, "Transaction request cannot include multiple operations on one item");
}

void transact_write_capacity(struct call *c, const struct part_end *ends)
{
    const struct item_plan *plan = c->plan;
    const bool reads = plan->items[0].op == REQUEST_GET;
    if (c->consumed == CONSUMED_NONE)
        return;
    json_member_open(&c->body, "ConsumedCapacity", '[');
    for (uint32_t i = 0; i < plan->table_count; i++) {
        struct capacity sum = {0};
        for (uint32_t k = 0; k < plan->count; k++) {
            if (plan->items[k].table == i)
                capacity_add(&sum, &ends[k].consumed);
        }
        capacity_write(&c->body, c, &plan->tables[i].route->table, plan->tables[i].name, &sum,
                       reads ? "ReadCapacityUnits" : "WriteCapacityUnits");
    }
    json_write_close(&c->body, ']');
}
