#include "router/json/json_writer.h"
#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/operations/table_description.h"
#include "router/operations/table_tags.h"
#include "router/operations/table_throughput.h"

enum {
    TABLE_NAME,
    DEFINITIONS,
    KEY_SCHEMA,
    BILLING,
    THROUGHPUT,
    LOCAL_INDEXES,
    GLOBAL_INDEXES,
    TAGS,
    PROTECTION,
    STREAM,
    ENCRYPTION,
    CLASS,
    ON_DEMAND,
    WARM,
};

static const struct shape KEY_NAME = {
    .kind = SHAPE_STRING, .min = 1, .min_set = true, .max = KEY_NAME_SIZE_MAX};
static const struct shape ATTRIBUTE_TYPE = {.kind = SHAPE_STRING, .choices = "B, N, S"};
static const struct shape KEY_TYPE = {.kind = SHAPE_STRING, .choices = "HASH, RANGE"};

enum {
    NAME,
    TYPE
}; /* of both structures */

static const struct shape_member DEFINITION_MEMBERS[] = {
    {"AttributeName", &KEY_NAME, MEMBER_REQUIRED},
    {"AttributeType", &ATTRIBUTE_TYPE, MEMBER_REQUIRED},
    {0},
};
static const struct shape DEFINITION = {
    .kind = SHAPE_STRUCTURE, .java = "AttributeDefinition", .members = DEFINITION_MEMBERS};
static const struct shape DEFINITION_LIST = {.kind = SHAPE_LIST, .element = &DEFINITION};

static const struct shape_member ELEMENT_MEMBERS[] = {
    {"AttributeName", &KEY_NAME, MEMBER_REQUIRED},
    {"KeyType", &KEY_TYPE, MEMBER_REQUIRED},
    {0},
};
static const struct shape ELEMENT = {
    .kind = SHAPE_STRUCTURE, .java = "KeySchemaElement", .members = ELEMENT_MEMBERS};
static const struct shape KEY_SCHEMA_LIST = {
    .kind = SHAPE_LIST, .min = 1, .min_set = true, .max = 2, .element = &ELEMENT};

static const struct shape LIST_OF_ANYTHING = {.kind = SHAPE_LIST, .element = &shape_anything};

static const struct shape_member MEMBERS[] = {
    {"TableName", &shape_plain_table_name, MEMBER_OPTIONAL},
    {"AttributeDefinitions", &DEFINITION_LIST, MEMBER_REQUIRED},
    {"KeySchema", &KEY_SCHEMA_LIST, MEMBER_REQUIRED},
    {"BillingMode", &shape_billing, MEMBER_OPTIONAL},
    {"ProvisionedThroughput", &shape_throughput, MEMBER_OPTIONAL},
    {"LocalSecondaryIndexes", &LIST_OF_ANYTHING, MEMBER_OPTIONAL},
    {"GlobalSecondaryIndexes", &LIST_OF_ANYTHING, MEMBER_OPTIONAL},
    {"Tags", &shape_tags, MEMBER_OPTIONAL},
    {"DeletionProtectionEnabled", &shape_boolean_value, MEMBER_OPTIONAL},
    {"StreamSpecification", &shape_stream, MEMBER_OPTIONAL},
    {"SSESpecification", &shape_encryption, MEMBER_OPTIONAL},
    {"TableClass", &shape_table_class, MEMBER_OPTIONAL},
    {"OnDemandThroughput", &shape_on_demand_throughput, MEMBER_OPTIONAL},
    {"WarmThroughput", &shape_warm_throughput, MEMBER_OPTIONAL},
    {"ResourcePolicy", &shape_anything, MEMBER_LATER},
    {0},
};

static const struct shape INPUT = {
    .kind = SHAPE_STRUCTURE, .java = "CreateTableInput", .members = MEMBERS};

/* ---- billing ---- */

static bool read_billing(struct call *c, const struct json_value m[], struct table_spec *spec)
{
    struct throughput_asked asked = {0};
    spec->billing = BILLING_PROVISIONED;
    if (m[BILLING].type == JSON_STRING && slice_is(json_string(&m[BILLING]), "PAY_PER_REQUEST"))
        spec->billing = BILLING_ON_DEMAND;
    if (spec->billing == BILLING_PROVISIONED && m[THROUGHPUT].type == JSON_ABSENT)
        return fault_set(call_fault(c), FAULT_VALIDATION,
                         "One or more parameter values were invalid: ReadCapacityUnits and "
                         "WriteCapacityUnits must both be specified when BillingMode is "
                         "PROVISIONED");
    return table_read_throughput(c, &m[THROUGHPUT], &m[ON_DEMAND], &m[WARM], &asked) &&
           table_take_throughput(c, &asked, NULL, spec);
}

/* ---- keys ---- */

static void append_names(struct buffer *out, const struct json_value *list,
                         const struct shape *shape)
{
    struct json_cursor cursor = json_elements(list);
    struct json_value element, m[SHAPE_MEMBERS_MAX];
    const char *comma = "";
    while (out->size < FAULT_SHOWN_MAX && json_next_element(&cursor, &element)) {
        shape_bind(shape, &element, m);
        struct slice name = json_string(&m[NAME]);
        buffer_append_text(out, comma);
        buffer_append(out, name.data, (size_t)fault_shown_size(name));
        comma = ", ";
    }
}

static bool undefined(struct call *c, const struct json_value m[])
{
    struct buffer text = {0};
    if (json_count(&m[KEY_SCHEMA]) == 2)
        return fault_set(call_fault(c), FAULT_VALIDATION,
                         "Invalid KeySchema: Some index key attribute have no definition");
    buffer_append_text(&text, "One or more parameter values were invalid: Some index key "
                              "attributes are not defined in AttributeDefinitions. Keys: [");
    append_names(&text, &m[KEY_SCHEMA], &ELEMENT);
    buffer_append_text(&text, "], AttributeDefinitions: [");
    append_names(&text, &m[DEFINITIONS], &DEFINITION);
    buffer_append_u8(&text, ']');
    fault_set(call_fault(c), FAULT_VALIDATION, "%.*s", (int)text.size, (const char *)text.data);
    buffer_deinit(&text);
    return false;
}

/* The type AttributeDefinitions gives the name; 0: none. */
static enum attr_type defined_type(const struct json_value *definitions, struct slice name)
{
    struct json_cursor cursor = json_elements(definitions);
    struct json_value element, m[SHAPE_MEMBERS_MAX];
    while (json_next_element(&cursor, &element)) {
        shape_bind(&DEFINITION, &element, m);
        if (slice_equal(json_string(&m[NAME]), name))
            return attr_type_of(json_string(&m[TYPE]));
    }
    return 0;
}

/* Few: a table has two keys. */
static bool definitions_differ(struct call *c, const struct json_value *list)
{
    enum {
        COMPARED_MAX = 64
    };
    struct slice names[COMPARED_MAX];
    struct json_cursor cursor = json_elements(list);
    struct json_value element, m[SHAPE_MEMBERS_MAX];
    for (size_t i = 0; i < COMPARED_MAX && json_next_element(&cursor, &element); i++) {
        shape_bind(&DEFINITION, &element, m);
        names[i] = json_string(&m[NAME]);
        for (size_t j = 0; j < i; j++) {
            if (slice_equal(names[i], names[j]))
                return fault_set(call_fault(c), FAULT_VALIDATION,
                                 "Attribute Name is duplicated: %.*s", SHOWN(names[i]));
        }
    }
    return true;
}

static bool check_key_types(struct call *c, bool first_is_hash, size_t count, bool second_is_range)
{
    if (!first_is_hash)
        return fault_set(call_fault(c), FAULT_VALIDATION,
                         "Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
    if (count == 2 && !second_is_range)
        return fault_set(call_fault(c), FAULT_VALIDATION,
                         "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type");
    return true;
}

static bool read_keys(struct call *c, const struct json_value m[], struct table_spec *spec)
{
    struct key_attr *keys[2] = {&spec->partition_key, &spec->sort_key};
    struct json_cursor cursor = json_elements(&m[KEY_SCHEMA]);
    struct json_value element, e[SHAPE_MEMBERS_MAX];
    size_t count = json_count(&m[KEY_SCHEMA]), definitions = json_count(&m[DEFINITIONS]);
    bool is_hash[2] = {false, false};
    if (!definitions_differ(c, &m[DEFINITIONS]))
        return false;
    for (size_t i = 0; i < count && json_next_element(&cursor, &element); i++) {
        shape_bind(&ELEMENT, &element, e);
        keys[i]->name = arena_copy(&c->arena, json_string(&e[NAME]));
        keys[i]->type = defined_type(&m[DEFINITIONS], keys[i]->name);
        is_hash[i] = slice_is(json_string(&e[TYPE]), "HASH");
        if (keys[i]->type == 0)
            return undefined(c, m);
    }
    if (count > definitions)
        return undefined(c, m);
    if (count == 2 && slice_equal(keys[0]->name, keys[1]->name))
        return fault_set(call_fault(c), FAULT_VALIDATION,
                         "Both the Hash Key and the Range Key element in the KeySchema have the "
                         "same name");
    if (!check_key_types(c, is_hash[0], count, !is_hash[1]))
        return false;
    return count == definitions ||
           fault_set(call_fault(c), FAULT_VALIDATION,
                     "One or more parameter values were invalid: Number of attributes in KeySchema "
                     "does not exactly match number of attributes defined in AttributeDefinitions");
}

/* ---- the rest ---- */

static bool refuse_lists(struct call *c, const struct json_value m[])
{
    static const struct {
        int member;
        const char *name;
    } LISTS[] = {{LOCAL_INDEXES, "LocalSecondaryIndexes"},
                 {GLOBAL_INDEXES, "GlobalSecondaryIndexes"}};
    for (size_t i = 0; i < 2; i++) {
        const struct json_value *v = &m[LISTS[i].member];
        if (v->type == JSON_LIST && json_count(v) == 0)
            return fault_set(call_fault(c), FAULT_VALIDATION,
                             "One or more parameter values were invalid: List of %s is empty",
                             LISTS[i].name);
        if (v->type == JSON_LIST)
            return fault_set_later(call_fault(c), LISTS[i].name);
    }
    return true;
}

static bool begin(struct call *c, const struct json_value m[])
{
    struct table_spec spec = {.name = arena_copy(&c->arena, json_string(&m[TABLE_NAME]))};
    struct table_settings settings = {&m[PROTECTION], &m[STREAM], &m[ENCRYPTION], &m[CLASS]};
    bool indexes = m[LOCAL_INDEXES].type == JSON_LIST || m[GLOBAL_INDEXES].type == JSON_LIST;
    if (!read_billing(c, m, &spec) || (indexes && !refuse_lists(c, m)) || !read_keys(c, m, &spec) ||
        !refuse_lists(c, m) || !table_tags_create(c, &m[TAGS], &spec) ||
        !table_settings_read(c, &settings, &spec))
        return false;
    table_spec_encode(&c->bytes, &spec);
    struct subrequest *s = call_catalog_request(c, REQUEST_TABLE_CREATE);
    s->request.key = spec.name;
    s->request.body = buffer_slice(&c->bytes);
    call_send(c, s);
    return true;
}

const struct operation operation_create_table = {.name = "CreateTable",
                                                 .input = &INPUT,
                                                 .name_first = true,
                                                 .begin = begin,
                                                 .reply = table_description_reply};
