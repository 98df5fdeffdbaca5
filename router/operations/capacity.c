/* capacity.c - the capacity that a call has consumed, of a table and of its indexes. */
#include "router/operations/capacity.h"

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
    struct reader costs = {r->item.index_costs, false};
    capacity->table_mcu += r->consumed_mcu;
    while (costs.left.size > 0) {
        const uint8_t number = reader_u8(&costs);
        const uint32_t table_id = reader_u32(&costs);
        const int64_t mcu = (int64_t)reader_u64(&costs);
        for (uint32_t i = 0; i < index_set_local(t->index_set) && !costs.failed; i++) {
            if (table_id != 0 || t->index_set->at[i].number != number)
                continue;
            capacity->local_mcu[i] += mcu;
            capacity->table_mcu -= mcu;
        }
    }
}

static int64_t capacity_sum(const struct capacity *capacity)
{
    int64_t sum = capacity->table_mcu;
    for (int i = 0; i < LOCAL_INDEXES_MAX; i++)
        sum += capacity->local_mcu[i];
    return sum;
}

static void capacity_write_units(struct buffer *out, int64_t mcu)
{
    json_write_open(out, '{');
    json_member_thousandths(out, "CapacityUnits", mcu);
    json_write_close(out, '}');
}

static void capacity_write_indexes(struct buffer *out, const struct index_set *set,
                                   const struct capacity *capacity)
{
    if (capacity_sum(capacity) == capacity->table_mcu)
        return;
    json_member_open(out, "LocalSecondaryIndexes", '{');
    for (uint32_t i = 0; i < index_set_local(set); i++) {
        if (capacity->local_mcu[i] == 0)
            continue;
        json_write_name(out, set->at[i].name);
        capacity_write_units(out, capacity->local_mcu[i]);
    }
    json_write_close(out, '}');
}

void capacity_write(struct buffer *out, const struct call *c, const struct table *t,
                    struct slice name, const struct capacity *capacity)
{
    json_write_open(out, '{');
    json_member_string(out, "TableName", name);
    json_member_thousandths(out, "CapacityUnits", capacity_sum(capacity));
    if (c->consumed == CONSUMED_INDEXES) {
        json_write_key(out, "Table");
        capacity_write_units(out, capacity->table_mcu);
        capacity_write_indexes(out, t->index_set, capacity);
    }
    json_write_close(out, '}');
}

void capacity_write_member(struct buffer *out, const struct call *c, const struct table *t,
                           const struct capacity *capacity)
{
    if (c->consumed == CONSUMED_NONE)
        return;
    json_write_key(out, "ConsumedCapacity");
    capacity_write(out, c, t, c->table_arn.size > 0 ? c->table_arn : t->name, capacity);
}
