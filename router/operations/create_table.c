/* create_table.c - CreateTable: makes a table_spec from the members of the input. */
#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/operations/table_description.h"
#include "router/operations/table_tags.h"
#include "router/operations/table_throughput.h"

/* ---- billing ---- */

static bool create_read_billing(struct call *c, const struct json_value m[],
                                struct table_spec *spec)
{
    struct throughput_asked asked = {0};
    spec->billing = BILLING_PROVISIONED;
    if (m[CREATE_TABLE_BILLING_MODE].type == JSON_STRING &&
        slice_is(json_string(&m[CREATE_TABLE_BILLING_MODE]), "PAY_PER_REQUEST"))
        spec->billing = BILLING_ON_DEMAND;
    if (spec->billing == BILLING_PROVISIONED &&
        m[CREATE_TABLE_PROVISIONED_THROUGHPUT].type == JSON_ABSENT)
        return call_invalid(c, INVALID "ReadCapacityUnits and WriteCapacityUnits must both be "
                                       "specified when BillingMode is PROVISIONED");
    return table_read_throughput(c, &m[CREATE_TABLE_PROVISIONED_THROUGHPUT],
                                 &m[CREATE_TABLE_ON_DEMAND_THROUGHPUT],
                                 &m[CREATE_TABLE_WARM_THROUGHPUT], &asked) &&
           table_take_throughput(c, &asked, NULL, spec);
}

/* ---- keys ---- */

/* Appends a member of each element. `name` is the index of the member. */
static void create_append_names(struct buffer *out, const struct json_value *list,
                                const struct shape *shape, int name)
{
    struct json_cursor cursor = json_elements(list);
    struct json_value element, m[SHAPE_MEMBERS_MAX];
    const char *comma = "";
    while (out->size < SLICE_SHOWN_MAX && json_next_element(&cursor, &element)) {
        shape_bind(shape, &element, m);
        struct slice shown = json_string(&m[name]);
        buffer_append_text(out, comma);
        buffer_append(out, shown.data, (size_t)slice_shown_size(shown));
        comma = ", ";
    }
}

static bool create_undefined(struct call *c, const struct json_value m[])
{
    struct buffer text = {0};
    if (json_count(&m[CREATE_TABLE_KEY_SCHEMA]) == 2)
        return call_invalid(c, "Invalid KeySchema: Some index key attribute have no definition");
    buffer_append_text(&text, "One or more parameter values were invalid: Some index key "
                              "attributes are not defined in AttributeDefinitions. Keys: [");
    create_append_names(&text, &m[CREATE_TABLE_KEY_SCHEMA], &shape_key_schema_element,
                        KEY_SCHEMA_ELEMENT_ATTRIBUTE_NAME);
    buffer_append_text(&text, "], AttributeDefinitions: [");
    create_append_names(&text, &m[CREATE_TABLE_ATTRIBUTE_DEFINITIONS], &shape_attribute_definition,
                        ATTRIBUTE_DEFINITION_ATTRIBUTE_NAME);
    buffer_append_u8(&text, ']');
    call_invalid(c, "%.*s", TEXT_OF(text));
    buffer_deinit(&text);
    return false;
}

/* The attribute's type in AttributeDefinitions; 0: not defined. */
static enum attr_type create_defined_type(const struct json_value *definitions, struct slice name)
{
    struct json_cursor cursor = json_elements(definitions);
    struct json_value element, m[SHAPE_MEMBERS_MAX];
    while (json_next_element(&cursor, &element)) {
        shape_bind(&shape_attribute_definition, &element, m);
        if (slice_equal(json_string(&m[ATTRIBUTE_DEFINITION_ATTRIBUTE_NAME]), name))
            return attr_type_of(json_string(&m[ATTRIBUTE_DEFINITION_ATTRIBUTE_TYPE]));
    }
    return 0;
}

/* More than COMPARED_MAX are refused later: a table has two keys. */
static bool create_definitions_differ(struct call *c, const struct json_value *list)
{
    enum {
        COMPARED_MAX = 64
    };
    struct slice names[COMPARED_MAX];
    struct json_cursor cursor = json_elements(list);
    struct json_value element, m[SHAPE_MEMBERS_MAX];
    for (size_t i = 0; i < COMPARED_MAX && json_next_element(&cursor, &element); i++) {
        shape_bind(&shape_attribute_definition, &element, m);
        names[i] = json_string(&m[ATTRIBUTE_DEFINITION_ATTRIBUTE_NAME]);
        for (size_t j = 0; j < i; j++) {
            if (slice_equal(names[i], names[j]))
                return call_invalid(c, "Attribute Name is duplicated: %.*s", SHOWN(names[i]));
        }
    }
    return true;
}

static bool create_check_key_types(struct call *c, bool first_is_hash, size_t count,
                                   bool second_is_range)
{
    if (!first_is_hash)
        return call_invalid(c,
                            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
    if (count == 2 && !second_is_range)
        return call_invalid(
            c, "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type");
    return true;
}

static bool create_read_keys(struct call *c, const struct json_value m[], struct table_spec *spec)
{
    struct key_attr *keys[2] = {&spec->partition_key, &spec->sort_key};
    struct json_cursor cursor = json_elements(&m[CREATE_TABLE_KEY_SCHEMA]);
    struct json_value element, e[SHAPE_MEMBERS_MAX];
    size_t count = json_count(&m[CREATE_TABLE_KEY_SCHEMA]),
           definitions = json_count(&m[CREATE_TABLE_ATTRIBUTE_DEFINITIONS]);
    bool is_hash[2] = {false, false};
    if (!create_definitions_differ(c, &m[CREATE_TABLE_ATTRIBUTE_DEFINITIONS]))
        return false;
    for (size_t i = 0; i < count && json_next_element(&cursor, &element); i++) {
        shape_bind(&shape_key_schema_element, &element, e);
        keys[i]->name = arena_copy(&c->arena, json_string(&e[KEY_SCHEMA_ELEMENT_ATTRIBUTE_NAME]));
        keys[i]->type = create_defined_type(&m[CREATE_TABLE_ATTRIBUTE_DEFINITIONS], keys[i]->name);
        is_hash[i] = slice_is(json_string(&e[KEY_SCHEMA_ELEMENT_KEY_TYPE]), "HASH");
        if (keys[i]->type == 0)
            return create_undefined(c, m);
    }
    if (count > definitions)
        return create_undefined(c, m);
    if (count == 2 && slice_equal(keys[0]->name, keys[1]->name))
        return call_invalid(
            c, "Both the Hash Key and the Range Key element in the KeySchema have the same name");
    if (!create_check_key_types(c, is_hash[0], count, !is_hash[1]))
        return false;
    return count == definitions ||
           call_invalid(c, INVALID "Number of attributes in KeySchema does not exactly match "
                                   "number of attributes defined in AttributeDefinitions");
}

/* ---- the rest ---- */

static bool create_refuse_lists(struct call *c, const struct json_value m[])
{
    static const struct {
        int member;
        const char *name;
    } LISTS[] = {{CREATE_TABLE_LOCAL_SECONDARY_INDEXES, "LocalSecondaryIndexes"},
                 {CREATE_TABLE_GLOBAL_SECONDARY_INDEXES, "GlobalSecondaryIndexes"}};
    for (size_t i = 0; i < 2; i++) {
        const struct json_value *v = &m[LISTS[i].member];
        if (v->type == JSON_LIST && json_count(v) == 0)
            return call_invalid(c, INVALID "List of %s is empty", LISTS[i].name);
        if (v->type == JSON_LIST)
            return fault_set_later(call_fault(c), LISTS[i].name);
    }
    return true;
}

static bool create_read(struct call *c, const struct json_value m[], struct table_spec *spec)
{
    struct table_settings settings = {
        true, &m[CREATE_TABLE_DELETION_PROTECTION_ENABLED], &m[CREATE_TABLE_STREAM_SPECIFICATION],
        &m[CREATE_TABLE_SSE_SPECIFICATION], &m[CREATE_TABLE_TABLE_CLASS]};
    spec->name = arena_copy(&c->arena, call_table_named(c, &m[CREATE_TABLE_TABLE_NAME]));
    return create_read_billing(c, m, spec) && create_refuse_lists(c, m) &&
           create_read_keys(c, m, spec) && table_tags_create(c, &m[CREATE_TABLE_TAGS], spec) &&
           table_settings_read(c, &settings, spec);
}

static bool create_begin(struct call *c, const struct json_value m[])
{
    struct table_spec spec = {0};
    if (!create_read(c, m, &spec))
        return false;
    call_send_spec(c, REQUEST_TABLE_CREATE, &spec);
    return true;
}

OPERATION(create_table, "CreateTable", .name_first = true, .begin = create_begin,
          .reply = table_description_reply);
