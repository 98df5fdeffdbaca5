/* table_indexes.c - the secondary indexes of a table: read from CreateTable, and described. */
#include "router/operations/table_indexes.h"

#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/key_definitions.h"
#include "router/operations/table_description.h"

/* ---- reading ---- */

static bool index_names_have(struct slice names, struct slice name)
{
    for (struct reader r = {names, false}; r.left.size > 0;) {
        if (slice_equal(reader_sized(&r), name))
            return true;
    }
    return false;
}

static bool index_read_names(struct call *c, const struct json_value *list, struct index *x)
{
    struct buffer names = {0};
    struct json_cursor cursor = json_elements(list);
    struct json_value name;
    bool differ = true;
    while (differ && json_next_element(&cursor, &name)) {
        differ = !index_names_have(buffer_slice(&names), json_string(&name)) ||
                 call_invalid(c, INVALID "Duplicate element in NonKeyAttributes: %.*s",
                              SHOWN(json_string(&name)));
        buffer_append_sized(&names, json_string(&name));
    }
    x->names = arena_take(&c->arena, &names);
    return differ;
}

static bool index_read_projection(struct call *c, const struct json_value *v, struct index *x)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    shape_bind(&shape_projection, v, m);
    const struct slice type = json_text(&m[PROJECTION_PROJECTION_TYPE]);
    const struct json_value *names = &m[PROJECTION_NON_KEY_ATTRIBUTES];
    const bool named = names->type == JSON_LIST, include = slice_is(type, "INCLUDE");
    if (type.size == 0)
        return call_invalid(c, INVALID "Unknown ProjectionType: null");
    if (named != include)
        return call_invalid(c, INVALID "ProjectionType is %.*s, but NonKeyAttributes is %s",
                            SHOWN(type), named ? "specified" : "not specified");
    x->projection = include ? PROJECT_INCLUDE : slice_is(type, "ALL") ? PROJECT_ALL : PROJECT_KEYS;
    return !include || index_read_names(c, names, x);
}

static bool index_is_named_anew(struct call *c, const struct index_set *set, struct slice name)
{
    return index_set_find(set, name) == NULL ||
           call_invalid(c, INVALID "Duplicate index name: %.*s", SHOWN(name));
}

/* Reads a local index into set->at[set->count]. */
static bool local_index_read(struct call *c, const struct json_value *definitions,
                             const struct json_value *v, struct index_set *set)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    size_t count;
    struct index *x = &set->at[set->count];
    shape_bind(&shape_local_secondary_index, v, m);
    *x = (struct index){.number = (uint8_t)(set->count + 1), .partition_count = 1, .sort_count = 1};
    x->name = arena_copy(&c->arena, json_string(&m[LOCAL_SECONDARY_INDEX_INDEX_NAME]));
    if (!key_schema_read(c, definitions, &m[LOCAL_SECONDARY_INDEX_KEY_SCHEMA], true, x->keys,
                         &count))
        return false;
    if (count != 2)
        return call_invalid(c, INVALID "Index KeySchema does not have a range key for index: %.*s",
                            SHOWN(x->name));
    if (!slice_equal(x->keys[0].name, set->partition_key.name))
        return call_invalid(c,
                            INVALID "Index KeySchema does not have the same leading hash key as "
                                    "table KeySchema for index: %.*s. index hash key: %.*s, table "
                                    "hash key: %.*s",
                            SHOWN(x->name), SHOWN(x->keys[0].name), SHOWN(set->partition_key.name));
    return index_read_projection(c, &m[LOCAL_SECONDARY_INDEX_PROJECTION], x) &&
           index_is_named_anew(c, set, x->name);
}

static bool local_indexes_read(struct call *c, const struct json_value *definitions,
                               const struct json_value *list, struct index_set *set)
{
    struct json_value v;
    if (list->type != JSON_LIST)
        return true;
    if (json_count(list) == 0)
        return call_invalid(c, INVALID "List of LocalSecondaryIndexes is empty");
    if (set->sort_key.name.size == 0)
        return call_invalid(c, INVALID "Table KeySchema does not have a range key, which is "
                                       "required when specifying a LocalSecondaryIndex");
    JSON_FOREACH (v, list) {
        if (set->count == LOCAL_INDEXES_MAX)
            return call_invalid(c,
                                INVALID "Number of LocalSecondaryIndexes exceeds per-table limit "
                                        "of %d",
                                LOCAL_INDEXES_MAX);
        if (!local_index_read(c, definitions, &v, set))
            return false;
        set->local_count = ++set->count;
    }
    return true;
}

/* ---- global indexes ---- */

bool table_index_take_throughput(struct call *c, const struct throughput_spec *requested,
                                 const struct index *x, enum table_billing billing,
                                 struct buffer *out)
{
    const bool on_demand = billing == BILLING_ON_DEMAND;
    struct table_spec spec = {.name = x->name, .partition_key = x->keys[0], .billing = billing};
    if (on_demand && requested->provisioned)
        return call_invalid(c,
                            INVALID "ProvisionedThroughput should not be specified for index: %.*s "
                                    "when BillingMode is PAY_PER_REQUEST",
                            SHOWN(x->name));
    if (!on_demand && !requested->provisioned)
        return call_invalid(c, INVALID "ProvisionedThroughput is not specified for index: %.*s",
                            SHOWN(x->name));
    if (!table_take_throughput(c, requested, NULL, &spec))
        return false;
    table_spec_append_sized(out, &spec);
    return true;
}

bool table_index_read(struct call *c, const struct json_value *definitions,
                      const struct json_value *v, struct index *x,
                      struct throughput_spec *requested)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    shape_bind(&shape_global_secondary_index, v, m);
    *x = (struct index){
        .name = arena_copy(&c->arena, json_string(&m[GLOBAL_SECONDARY_INDEX_INDEX_NAME]))};
    *requested = (struct throughput_spec){.index = x->name};
    return key_schema_read_global(c, definitions, &m[GLOBAL_SECONDARY_INDEX_KEY_SCHEMA], x) &&
           index_read_projection(c, &m[GLOBAL_SECONDARY_INDEX_PROJECTION], x) &&
           table_read_throughput(c, &m[GLOBAL_SECONDARY_INDEX_PROVISIONED_THROUGHPUT],
                                 &m[GLOBAL_SECONDARY_INDEX_ON_DEMAND_THROUGHPUT],
                                 &m[GLOBAL_SECONDARY_INDEX_WARM_THROUGHPUT], requested);
}

static bool global_indexes_read(struct call *c, const struct json_value *definitions,
                                const struct json_value *list, const struct table_spec *table,
                                struct index_set *set, struct buffer *globals)
{
    struct json_value v;
    if (list->type != JSON_LIST)
        return true;
    if (json_count(list) == 0)
        return call_invalid(c, INVALID "List of GlobalSecondaryIndexes is empty");
    JSON_FOREACH (v, list) {
        if (index_set_global(set) == GLOBAL_INDEXES_MAX)
            return call_invalid(c,
                                INVALID "GlobalSecondaryIndex count exceeds the per-table limit of "
                                        "%d",
                                GLOBAL_INDEXES_MAX);
        struct index *x = &set->at[set->count];
        struct throughput_spec requested;
        if (!table_index_read(c, definitions, &v, x, &requested) ||
            !table_index_take_throughput(c, &requested, x, table->billing, globals) ||
            !index_is_named_anew(c, set, x->name))
            return false;
        set->count++;
    }
    return true;
}

/* ---- all indexes ---- */

/* All indexes together may name PROJECTED_ALL_MAX attributes. */
static bool indexes_check_names(struct call *c, const struct index_set *set)
{
    uint32_t names = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        for (struct reader r = {set->at[i].names, false}; r.left.size > 0; names++)
            reader_sized(&r);
    }
    return names <= PROJECTED_ALL_MAX ||
           call_invalid(c,
                        INVALID "The number of projected attributes of all indexes is %u, and may "
                                "be %d",
                        names, PROJECTED_ALL_MAX);
}

struct slice table_index_set_copy(struct call *c, const struct index_set *set)
{
    struct buffer bytes = {0};
    index_set_encode(&bytes, set);
    return arena_take(&c->arena, &bytes);
}

/* Puts what was read into the spec. */
static void indexes_take(struct call *c, const struct index_set *set, const struct buffer *globals,
                         struct table_spec *spec)
{
    spec->indexes = table_index_set_copy(c, set);
    spec->globals = arena_copy(&c->arena, buffer_slice(globals));
    spec->whole_collections = set->local_count > 0;
}

bool table_indexes_read(struct call *c, const struct json_value *definitions,
                        const struct json_value *local, const struct json_value *global,
                        struct table_spec *spec, const struct index_set **out)
{
    struct index_set *set = arena_zalloc(&c->arena, sizeof *set);
    struct buffer globals = {0};
    *out = NULL;
    set->partition_key = spec->partition_key;
    set->sort_key = spec->sort_key;
    set->at = arena_zalloc(&c->arena, (LOCAL_INDEXES_MAX + GLOBAL_INDEXES_MAX) * sizeof *set->at);
    const bool read = local_indexes_read(c, definitions, local, set) &&
                      global_indexes_read(c, definitions, global, spec, set, &globals) &&
                      indexes_check_names(c, set);
    if (read && set->count > 0) {
        *out = set;
        indexes_take(c, set, &globals, spec);
    }
    buffer_deinit(&globals);
    return read;
}

/* ---- what the catalog tells ---- */

enum status table_record_read(struct arena *arena, const struct reply *r, struct table_record *out)
{
    const enum status status = table_decode(arena_copy(arena, r->table.bytes), arena, &out->table);
    return status != STATUS_OK ? status
                               : table_decode_indexes(arena_copy(arena, r->table.indexes), arena,
                                                      &out->table, &out->indexes);
}

enum table_status table_record_status(const struct table_record *record)
{
    const struct table *t = &record->table;
    for (uint32_t i = 0; i < index_set_global(t->index_set); i++) {
        const struct table *x = record->indexes[i];
        if (t->status == TABLE_ACTIVE && x != NULL && x->status == TABLE_CREATING && !x->filling)
            return TABLE_CREATING;
    }
    return t->status;
}

bool table_record_is_idle(const struct table_record *record)
{
    const struct table *t = &record->table;
    bool rests = t->status == TABLE_ACTIVE;
    for (uint32_t i = 0; i < index_set_global(t->index_set); i++)
        rests &= record->indexes[i] == NULL ||
                 (record->indexes[i]->status == TABLE_ACTIVE && !record->indexes[i]->filling);
    return rests;
}

const struct table *table_record_index(const struct table_record *record, const struct index *x)
{
    for (uint32_t i = 0; i < index_set_global(record->table.index_set); i++) {
        if (record->indexes[i] != NULL && record->indexes[i]->id == x->table_id)
            return record->indexes[i];
    }
    return NULL;
}

/* ---- describing ---- */

static void definition_write(struct buffer *out, const struct key_attr *k, const char *what,
                             const char *value)
{
    json_write_open(out, '{');
    json_member_string(out, "AttributeName", k->name);
    json_member_text(out, what, value);
    json_write_close(out, '}');
}

void table_key_schema_write(struct buffer *out, const struct key_attr *keys,
                            uint32_t partition_count, uint32_t count)
{
    json_member_open(out, "KeySchema", '[');
    for (uint32_t i = 0; i < count; i++)
        definition_write(out, &keys[i], "KeyType", i < partition_count ? "HASH" : "RANGE");
    json_write_close(out, ']');
}

static bool key_is_among(const struct key_attr *k, const struct key_attr *keys, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (slice_equal(keys[i].name, k->name))
            return true;
    }
    return false;
}

/* Whether the key attribute `place` of the index is one of the table, or of an index before. */
static bool index_key_was_written(const struct table *t, uint32_t index, uint32_t place)
{
    const struct index *x = &t->index_set->at[index];
    const struct key_attr table[2] = {t->partition_key, t->sort_key};
    bool was =
        key_is_among(&x->keys[place], table, 2) || key_is_among(&x->keys[place], x->keys, place);
    for (uint32_t i = 0; i < index && !was; i++) {
        const struct index *before = &t->index_set->at[i];
        was = key_is_among(&x->keys[place], before->keys,
                           before->partition_count + before->sort_count);
    }
    return was;
}

void table_definitions_write(struct buffer *out, const struct table *t)
{
    json_member_open(out, "AttributeDefinitions", '[');
    definition_write(out, &t->partition_key, "AttributeType",
                     attr_type_name(t->partition_key.type));
    if (table_has_sort_key(t))
        definition_write(out, &t->sort_key, "AttributeType", attr_type_name(t->sort_key.type));
    for (uint32_t i = 0; t->index_set != NULL && i < t->index_set->count; i++) {
        const struct index *x = &t->index_set->at[i];
        for (uint32_t j = 0; j < x->partition_count + x->sort_count; j++) {
            if (!index_key_was_written(t, i, j))
                definition_write(out, &x->keys[j], "AttributeType",
                                 attr_type_name(x->keys[j].type));
        }
    }
    json_write_close(out, ']');
}

static void index_write_projection(struct buffer *out, const struct index *x)
{
    static const char *const TYPES[] = {
        [PROJECT_ALL] = "ALL", [PROJECT_KEYS] = "KEYS_ONLY", [PROJECT_INCLUDE] = "INCLUDE"};
    json_member_open(out, "Projection", '{');
    json_member_text(out, "ProjectionType", TYPES[x->projection]);
    if (x->projection == PROJECT_INCLUDE) {
        json_member_open(out, "NonKeyAttributes", '[');
        for (struct reader r = {x->names, false}; r.left.size > 0;)
            json_write_string(out, reader_sized(&r));
        json_write_close(out, ']');
    }
    json_write_close(out, '}');
}

static void index_write_sizes(struct buffer *out, const struct tally *rows)
{
    json_member_integer(out, "IndexSizeBytes", rows->bytes);
    json_member_integer(out, "ItemCount", rows->count);
}

static void index_write_arn(struct buffer *out, const struct call *c, const struct table *t,
                            const struct index *x)
{
    struct buffer name = {0}, arn = {0};
    table_append_index_name(&name, t, x);
    table_arn_append(&arn, c, buffer_slice(&name));
    json_member_string(out, "IndexArn", buffer_slice(&arn));
    buffer_deinit(&name);
    buffer_deinit(&arn);
}

/* What local and global indexes have. */
static void index_write_definition(struct buffer *out, const struct index *x)
{
    json_member_string(out, "IndexName", x->name);
    table_key_schema_write(out, x->keys, x->partition_count, x->partition_count + x->sort_count);
    index_write_projection(out, x);
}

static void local_indexes_write(struct buffer *out, const struct call *c, const struct table *t)
{
    if (index_set_local(t->index_set) == 0)
        return;
    json_member_open(out, "LocalSecondaryIndexes", '[');
    for (uint32_t i = 0; i < index_set_local(t->index_set); i++) {
        const struct index *x = &t->index_set->at[i];
        json_write_open(out, '{');
        index_write_definition(out, x);
        index_write_sizes(out, &t->rows[i]);
        index_write_arn(out, c, t, x);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
}

/* `own`: the table of the index. */
static void global_index_write(struct buffer *out, const struct call *c, const struct table *t,
                               const struct index *x, const struct table *own, bool is_new)
{
    const struct tally rows = {own->item_count, own->size_bytes};
    json_write_open(out, '{');
    index_write_definition(out, x);
    json_member_text(out, "IndexStatus",
                     table_status_name(own->filling ? TABLE_CREATING : own->status));
    if (own->filling)
        json_member_bool(out, "Backfilling", own->status == TABLE_ACTIVE);
    table_provisioned_write(out, c->router, own);
    index_write_sizes(out, &rows);
    index_write_arn(out, c, t, x);
    table_throughput_write(out, c->router->config, own, is_new);
    json_write_close(out, '}');
}

static void global_indexes_write(struct buffer *out, const struct call *c,
                                 const struct table_record *record, bool is_new)
{
    const struct table *t = &record->table;
    bool any = false;
    for (uint32_t i = 0; i < index_set_global(t->index_set); i++)
        any |= record->indexes[i] != NULL;
    if (!any)
        return;
    json_member_open(out, "GlobalSecondaryIndexes", '[');
    for (uint32_t i = 0; i < index_set_global(t->index_set); i++) {
        if (record->indexes[i] != NULL)
            global_index_write(out, c, t, index_set_global_at(t->index_set, i), record->indexes[i],
                               is_new);
    }
    json_write_close(out, ']');
}

void table_indexes_write(struct buffer *out, const struct call *c,
                         const struct table_record *record, bool is_new)
{
    local_indexes_write(out, c, &record->table);
    global_indexes_write(out, c, record, is_new);
}
