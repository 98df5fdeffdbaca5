/* update_indexes.c - GlobalSecondaryIndexUpdates of UpdateTable. */
#include "router/operations/update_indexes.h"

#include "router/json/shapes.h"
#include "router/operations/key_definitions.h"

/* ---- the request alone ---- */

static bool index_update_is_second(struct call *c, struct slice name)
{
    return call_invalid(c,
                        INVALID "Only one global secondary index update per index is allowed "
                                "simultaneously. Index: %.*s",
                        SHOWN(name));
}

static bool index_update_is_new(struct call *c, const struct index_updates *updates,
                                struct slice name)
{
    if (slice_equal(updates->dropped, name) ||
        (updates->added != NULL && slice_equal(updates->added->name, name)))
        return index_update_is_second(c, name);
    for (uint32_t i = 0; i < updates->count; i++) {
        if (slice_equal(updates->requested[i].index, name))
            return index_update_is_second(c, name);
    }
    return true;
}

/* No second index comes or goes at the same time. */
static bool index_update_is_only(struct call *c, const struct index_updates *updates)
{
    return (updates->added == NULL && updates->dropped.size == 0) ||
           fault_set(call_fault(c), FAULT_LIMIT,
                     "Subscriber limit exceeded: Only 1 online index can be created or deleted "
                     "simultaneously per table");
}

static bool index_update_read_create(struct call *c, const struct json_value *v,
                                     const struct json_value *definitions,
                                     struct index_updates *out)
{
    struct index *x = arena_zalloc(&c->arena, sizeof *x);
    if (definitions->type == JSON_ABSENT)
        return call_invalid(c, INVALID "AttributeDefinitions must be provided when creating a "
                                       "Global Secondary Index");
    if (!index_update_is_only(c, out) || !definitions_differ(c, definitions) ||
        !table_index_read(c, definitions, v, x, &out->added_requested) ||
        !index_update_is_new(c, out, x->name))
        return false;
    out->added = x;
    return true;
}

static bool index_update_read_delete(struct call *c, const struct json_value *v,
                                     struct index_updates *out)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    shape_bind(&shape_delete_global_secondary_index_action, v, m);
    const struct slice name = json_string(&m[DELETE_GLOBAL_SECONDARY_INDEX_ACTION_INDEX_NAME]);
    if (!index_update_is_only(c, out) || !index_update_is_new(c, out, name))
        return false;
    out->dropped = arena_copy(&c->arena, name);
    return true;
}

static bool index_update_read_update(struct call *c, const struct json_value *v,
                                     struct index_updates *out)
{
    struct json_value u[SHAPE_MEMBERS_MAX];
    shape_bind(&shape_update_global_secondary_index_action, v, u);
    const struct slice name = json_string(&u[UPDATE_GLOBAL_SECONDARY_INDEX_ACTION_INDEX_NAME]);
    if (!index_update_is_new(c, out, name))
        return false;
    struct throughput_spec *requested = &out->requested[out->count++];
    *requested = (struct throughput_spec){.index = arena_copy(&c->arena, name)};
    return table_read_throughput(c, &u[UPDATE_GLOBAL_SECONDARY_INDEX_ACTION_PROVISIONED_THROUGHPUT],
                                 &u[UPDATE_GLOBAL_SECONDARY_INDEX_ACTION_ON_DEMAND_THROUGHPUT],
                                 &u[UPDATE_GLOBAL_SECONDARY_INDEX_ACTION_WARM_THROUGHPUT],
                                 requested);
}

static bool index_update_read(struct call *c, const struct json_value *v,
                              const struct json_value *definitions, struct index_updates *out)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    shape_bind(&shape_global_secondary_index_update, v, m);
    const bool update = m[GLOBAL_SECONDARY_INDEX_UPDATE_UPDATE].type != JSON_ABSENT;
    const bool create = m[GLOBAL_SECONDARY_INDEX_UPDATE_CREATE].type != JSON_ABSENT;
    const bool delete = m[GLOBAL_SECONDARY_INDEX_UPDATE_DELETE].type != JSON_ABSENT;
    if (!update && !create && !delete)
        return call_invalid(c, INVALID "One of GlobalSecondaryIndexUpdate.Update, "
                                       "GlobalSecondaryIndexUpdate.Create, "
                                       "GlobalSecondaryIndexUpdate.Delete must not be null");
    if (update + create + delete > 1)
        return call_invalid(c, INVALID "Only one global secondary index action is allowed per "
                                       "GlobalSecondaryIndexUpdate object");
    if (create)
        return index_update_read_create(c, &m[GLOBAL_SECONDARY_INDEX_UPDATE_CREATE], definitions,
                                        out);
    return delete ? index_update_read_delete(c, &m[GLOBAL_SECONDARY_INDEX_UPDATE_DELETE], out)
                  : index_update_read_update(c, &m[GLOBAL_SECONDARY_INDEX_UPDATE_UPDATE], out);
}

bool index_updates_read(struct call *c, const struct json_value *member,
                        const struct json_value *definitions, struct index_updates *out)
{
    struct json_value v;
    if (member->type != JSON_LIST)
        return true;
    const size_t count = json_count(member);
    if (count == 0)
        return call_invalid(c, INVALID "List of GlobalSecondaryIndexUpdates is empty");
    if (count > GLOBAL_INDEXES_MAX)
        return call_invalid(c,
                            INVALID "GlobalSecondaryIndexUpdates has %zu elements, and may have "
                                    "%d",
                            count, GLOBAL_INDEXES_MAX);
    out->requested = arena_zalloc(&c->arena, count * sizeof *out->requested);
    JSON_FOREACH (v, member) {
        if (!index_update_read(c, &v, definitions, out))
            return false;
    }
    return true;
}

/* ---- with the table ---- */

/* Each update must name a global index of the table that rests. */
static bool index_update_find(struct call *c, const struct throughput_spec *requested,
                              const struct table_record *record)
{
    const struct table *t = &record->table;
    const struct index *x = index_set_find(t->index_set, requested->index);
    if (x == NULL)
        return fault_set(call_fault(c), FAULT_NOT_FOUND,
                         "Requested resource not found: Index %.*s for table %.*s",
                         SHOWN(requested->index), SHOWN(t->name));
    return x->number == 0 ||
           call_invalid(c, "Cannot update an index that is not a GlobalSecondaryIndex: %.*s",
                        SHOWN(x->name));
}

/* Whether the update gives what the billing mode takes. `switches`: the mode changes. */
static bool index_update_check(struct call *c, const struct throughput_spec *requested,
                               enum table_billing billing, bool switches)
{
    const bool maximum = requested->has_maximum[ADMIT_READ] || requested->has_maximum[ADMIT_WRITE];
    const bool warm = requested->warm[ADMIT_READ] > 0 || requested->warm[ADMIT_WRITE] > 0;
    if (billing == BILLING_PROVISIONED)
        return requested->provisioned || maximum || warm ||
               call_invalid(c,
                            INVALID "Both ReadCapacityUnits and WriteCapacityUnits must be "
                                    "specified for index: %.*s",
                            SHOWN(requested->index));
    if (switches && requested->provisioned)
        return table_refuse_provisioned(c, requested);
    return (!requested->provisioned && (maximum || warm)) ||
           call_invalid(c,
                        INVALID "The only Updates for index: %.*s when TableThroughputMode is "
                                "PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput",
                        SHOWN(requested->index));
}

static const struct throughput_spec *index_updates_find(const struct index_updates *updates,
                                                        struct slice name)
{
    for (uint32_t i = 0; i < updates->count; i++) {
        if (slice_equal(updates->requested[i].index, name))
            return &updates->requested[i];
    }
    return NULL;
}

/* A provisioned table needs the throughput of each index. */
static bool index_updates_are_all(struct call *c, const struct index_updates *updates,
                                  const struct index_set *set)
{
    struct buffer names = {0};
    for (uint32_t i = 0; i < index_set_global(set); i++) {
        const struct index *x = index_set_global_at(set, i);
        const struct throughput_spec *requested = index_updates_find(updates, x->name);
        if (requested != NULL && requested->provisioned)
            continue;
        buffer_append_text(&names, names.size > 0 ? "," : "");
        buffer_append_slice(&names, x->name);
    }
    const bool all = names.size == 0;
    if (!all)
        call_invalid(c, INVALID "ProvisionedThroughput must be specified for index: %.*s",
                     SHOWN(buffer_slice(&names)));
    buffer_deinit(&names);
    return all;
}

static bool index_unchanged(struct call *c, const struct throughput_spec *requested,
                            const struct table *own)
{
    return call_invalid(
        c,
        "The provisioned throughput for the index %.*s will not change. The requested value equals "
        "the current value. Current ReadCapacityUnits provisioned for index %.*s: %lld. Requested "
        "ReadCapacityUnits: %lld. Current WriteCapacityUnits provisioned for index %.*s: %lld. "
        "Requested WriteCapacityUnits: %lld. " THROUGHPUT_GUIDE,
        SHOWN(requested->index), SHOWN(requested->index), (long long)own->rcu,
        (long long)requested->rcu, SHOWN(requested->index), (long long)own->wcu,
        (long long)requested->wcu);
}

/* Appends the spec of one index, if it changes. `own`: its table. */
static bool index_update_take(struct call *c, const struct throughput_spec *requested,
                              const struct table *t, const struct table *own,
                              enum table_billing billing, struct buffer *globals)
{
    struct table_spec spec = {.name = requested->index, .billing = billing};
    if (own == NULL || own->status != TABLE_ACTIVE)
        return fault_set(call_fault(c), FAULT_IN_USE,
                         "Attempt to change a resource which is still in use: Index is being "
                         "updated. Table: %.*s Index: %.*s",
                         SHOWN(t->name), SHOWN(requested->index));
    if (!table_take_throughput(c, requested, own, &spec))
        return false;
    if (table_spec_changes_throughput(&spec, own))
        table_spec_append_sized(globals, &spec);
    else if (requested->provisioned)
        return index_unchanged(c, requested, own);
    return true;
}

static bool index_updates_append(struct call *c, const struct index_updates *updates,
                                 const struct table_record *record, enum table_billing billing,
                                 struct buffer *globals)
{
    const struct table *t = &record->table;
    for (uint32_t i = 0; i < index_set_global(t->index_set); i++) {
        const struct index *x = index_set_global_at(t->index_set, i);
        const struct throughput_spec none = {.index = x->name};
        const struct throughput_spec *requested = index_updates_find(updates, x->name);
        if (requested == NULL && billing == t->billing)
            continue;
        if (!index_update_take(c, requested != NULL ? requested : &none, t, record->indexes[i],
                               billing, globals))
            return false;
    }
    return true;
}

/* An index comes or goes only while no other one does. */
static bool index_may_change(struct call *c, const struct table_record *record)
{
    for (uint32_t i = 0; i < index_set_global(record->table.index_set); i++) {
        const struct table *own = record->indexes[i];
        if (own != NULL && own->filling &&
            !fault_set(call_fault(c), FAULT_LIMIT,
                       "Subscriber limit exceeded: Only 1 online index can be created or deleted "
                       "simultaneously per table"))
            return false;
    }
    return true;
}

static bool index_take_added(struct call *c, const struct index_updates *updates,
                             const struct table_record *record, enum table_billing billing,
                             struct table_spec *spec)
{
    const struct table *t = &record->table;
    struct index *x = updates->added;
    const struct index_set alone = {t->partition_key, t->sort_key, 1, 0, x};
    struct buffer throughput = {0};
    if (index_set_find(t->index_set, x->name) != NULL)
        return call_invalid(c, "Attempting to create an index which already exists");
    if (!index_may_change(c, record))
        return false;
    const bool taken =
        table_index_take_throughput(c, &updates->added_requested, x, billing, &throughput);
    struct reader r = {buffer_slice(&throughput), false};
    spec->add_index = table_index_set_copy(c, &alone);
    spec->add_throughput = taken ? arena_copy(&c->arena, reader_sized(&r)) : slice_make(NULL, 0);
    buffer_deinit(&throughput);
    return taken;
}

/* An index that is being filled may go. */
static bool index_take_dropped(struct call *c, const struct index_updates *updates,
                               const struct table_record *record, struct table_spec *spec)
{
    const struct throughput_spec requested = {.index = updates->dropped};
    if (!index_update_find(c, &requested, record))
        return false;
    spec->drop_index = updates->dropped;
    return true;
}

bool index_updates_take(struct call *c, const struct index_updates *updates,
                        const struct table_record *record, struct table_spec *spec)
{
    const struct table *t = &record->table;
    const enum table_billing billing =
        spec->billing == BILLING_AS_IT_IS ? t->billing : spec->billing;
    struct buffer globals = {0};
    if (billing != t->billing && billing == BILLING_PROVISIONED &&
        !index_updates_are_all(c, updates, t->index_set))
        return false;
    for (uint32_t i = 0; i < updates->count; i++) {
        if (!index_update_find(c, &updates->requested[i], record) ||
            !index_update_check(c, &updates->requested[i], billing, billing != t->billing))
            return false;
    }
    const bool taken =
        index_updates_append(c, updates, record, billing, &globals) &&
        (updates->added == NULL || index_take_added(c, updates, record, billing, spec)) &&
        (updates->dropped.size == 0 || index_take_dropped(c, updates, record, spec));
    spec->globals = arena_take(&c->arena, &globals);
    return taken;
}
