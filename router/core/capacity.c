/* capacity.c - the capacity that a call has consumed, of a table and of its indexes. */
#include "router/core/capacity.h"

#include "engine/message/transaction_messages.h"
#include "router/json/json_writer.h"

void call_take_consumed(struct call *c, const struct json_value *member)
{
    struct slice text = member->type == JSON_STRING ? json_string(member) : slice_of("NONE");
    c->consumed = slice_is(text, "TOTAL")     ? CONSUMED_TOTAL
                  : slice_is(text, "INDEXES") ? CONSUMED_INDEXES
                                              : CONSUMED_NONE;
}

void capacity_add_write(struct capacity *capacity, const struct table *t, const struct reply *r)
{
    const bool whole = r->kind == ANSWER_PARTS;
    struct reader costs = {whole ? reply_parts(r)->index_costs : r->item.index_costs, false};
    capacity->table_mcu += r->consumed_mcu;
    while (costs.left.size > 0) {
        const uint8_t number = reader_u8(&costs);
        const uint32_t table_id = reader_u32(&costs);
        const int64_t mcu = (int64_t)reader_u64(&costs);
        for (uint32_t i = 0; t->index_set != NULL && i < t->index_set->count && !costs.failed;
             i++) {
            const struct index *x = &t->index_set->at[i];
            if (x->number != number || x->table_id != table_id)
                continue;
            capacity->index_mcu[i] += mcu;
            capacity->table_mcu -= x->number != 0 ? mcu : 0; /* the reply has it in the sum */
        }
    }
}

void capacity_add(struct capacity *capacity, const struct capacity *more)
{
    capacity->table_mcu += more->table_mcu;
    for (size_t i = 0; i < COUNT_OF(capacity->index_mcu); i++)
        capacity->index_mcu[i] += more->index_mcu[i];
}

static int64_t capacity_sum(const struct capacity *capacity)
{
    int64_t sum = capacity->table_mcu;
    for (size_t i = 0; i < COUNT_OF(capacity->index_mcu); i++)
        sum += capacity->index_mcu[i];
    return sum;
}

static void capacity_write_members(struct buffer *out, int64_t mcu, const char *kind)
{
    json_member_thousandths(out, "CapacityUnits", mcu);
    if (kind != NULL)
        json_member_thousandths(out, kind, mcu);
}

static void capacity_write_units(struct buffer *out, int64_t mcu, const char *kind)
{
    json_write_open(out, '{');
    capacity_write_members(out, mcu, kind);
    json_write_close(out, '}');
}

/* Of the indexes [first, end) of the set. */
static void capacity_write_indexes(struct buffer *out, const char *member,
                                   const struct index_set *set, uint32_t first, uint32_t end,
                                   const struct capacity *capacity)
{
    bool any = false;
    for (uint32_t i = first; i < end; i++)
        any |= capacity->index_mcu[i] != 0;
    if (!any)
        return;
    json_member_open(out, member, '{');
    for (uint32_t i = first; i < end; i++) {
        if (capacity->index_mcu[i] == 0)
            continue;
        json_write_name(out, set->at[i].name);
        capacity_write_units(out, capacity->index_mcu[i], NULL);
    }
    json_write_close(out, '}');
}

void capacity_write(struct buffer *out, const struct call *c, const struct table *t,
                    struct slice name, const struct capacity *capacity, const char *kind)
{
    json_write_open(out, '{');
    json_member_string(out, "TableName", name);
    capacity_write_members(out, capacity_sum(capacity), kind);
    if (c->consumed == CONSUMED_INDEXES) {
        json_write_key(out, "Table");
        capacity_write_units(out, capacity->table_mcu, kind);
        const uint32_t local = index_set_local(t->index_set);
        capacity_write_indexes(out, "LocalSecondaryIndexes", t->index_set, 0, local, capacity);
        capacity_write_indexes(out, "GlobalSecondaryIndexes", t->index_set, local,
                               local + index_set_global(t->index_set), capacity);
    }
    json_write_close(out, '}');
}

void capacity_write_member(struct buffer *out, const struct call *c, const struct table *t,
                           const struct capacity *capacity)
{
    if (c->consumed == CONSUMED_NONE)
        return;
    json_write_key(out, "ConsumedCapacity");
    capacity_write(out, c, t, c->table_arn.size > 0 ? c->table_arn : t->name, capacity, NULL);
}
