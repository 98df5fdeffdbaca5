/* key_definitions.c - reads KeySchema and AttributeDefinitions, of tables and of indexes. */
#include "router/operations/key_definitions.h"

#include "router/json/shapes.h"

/* ---- names in texts ---- */

static void names_append(struct buffer *out, struct slice name)
{
    if (out->size >= SLICE_SHOWN_MAX)
        return;
    if (out->size > 0)
        buffer_append_text(out, ", ");
    buffer_append(out, name.data, (size_t)slice_shown_size(name));
}

/* Appends a member of each element. `name` is the index of the member. */
static void names_append_list(struct buffer *out, const struct json_value *list,
                              const struct shape *shape, int name)
{
    struct json_value element, m[SHAPE_MEMBERS_MAX];
    JSON_FOREACH (element, list) {
        shape_bind(shape, &element, m);
        names_append(out, json_string(&m[name]));
    }
}

static void names_of_definitions(struct buffer *out, const struct json_value *definitions)
{
    names_append_list(out, definitions, &shape_attribute_definition,
                      ATTRIBUTE_DEFINITION_ATTRIBUTE_NAME);
}

/* ---- definitions ---- */

/* The attribute's type in AttributeDefinitions; 0: not defined. */
static enum attr_type definition_type(const struct json_value *definitions, struct slice name)
{
    struct json_value element, m[SHAPE_MEMBERS_MAX];
    JSON_FOREACH (element, definitions) {
        shape_bind(&shape_attribute_definition, &element, m);
        if (slice_equal(json_string(&m[ATTRIBUTE_DEFINITION_ATTRIBUTE_NAME]), name))
            return attr_type_of(json_string(&m[ATTRIBUTE_DEFINITION_ATTRIBUTE_TYPE]));
    }
    return 0;
}

/* More than COMPARED_MAX are refused later: indexes do not use so many. */
bool definitions_differ(struct call *c, const struct json_value *definitions)
{
    enum {
        COMPARED_MAX = 256
    };
    struct slice names[COMPARED_MAX];
    struct json_cursor cursor = json_elements(definitions);
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

/* ---- key schemas ---- */

static bool schema_undefined(struct call *c, const struct json_value *definitions,
                             const struct json_value *schema, bool of_index)
{
    struct buffer keys = {0}, defined = {0};
    if (!of_index && json_count(schema) == 2)
        return call_invalid(c, "Invalid KeySchema: Some index key attribute have no definition");
    names_append_list(&keys, schema, &shape_key_schema_element, KEY_SCHEMA_ELEMENT_ATTRIBUTE_NAME);
    names_of_definitions(&defined, definitions);
    call_invalid(c,
                 INVALID "Some index key attributes are not defined in AttributeDefinitions. "
                         "Keys: [%.*s], AttributeDefinitions: [%.*s]",
                 TEXT_OF(keys), TEXT_OF(defined));
    buffer_deinit(&keys);
    buffer_deinit(&defined);
    return false;
}

static bool schema_check_types(struct call *c, const bool is_hash[2], size_t count)
{
    if (!is_hash[0])
        return call_invalid(c,
                            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
    if (count == 2 && is_hash[1])
        return call_invalid(
            c, "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type");
    return true;
}

bool key_schema_read(struct call *c, const struct json_value *definitions,
                     const struct json_value *schema, bool of_index, struct key_attr keys[2],
                     size_t *count)
{
    struct json_cursor cursor = json_elements(schema);
    struct json_value element, e[SHAPE_MEMBERS_MAX];
    bool is_hash[2] = {false, false};
    *count = json_count(schema);
    for (size_t i = 0; i < *count && i < 2 && json_next_element(&cursor, &element); i++) {
        shape_bind(&shape_key_schema_element, &element, e);
        keys[i].name = arena_copy(&c->arena, json_string(&e[KEY_SCHEMA_ELEMENT_ATTRIBUTE_NAME]));
        keys[i].type = definition_type(definitions, keys[i].name);
        is_hash[i] = slice_is(json_string(&e[KEY_SCHEMA_ELEMENT_KEY_TYPE]), "HASH");
        if (keys[i].type == 0)
            return schema_undefined(c, definitions, schema, of_index);
    }
    if (!of_index && *count > json_count(definitions))
        return schema_undefined(c, definitions, schema, of_index);
    if (*count == 2 && slice_equal(keys[0].name, keys[1].name))
        return call_invalid(
            c, "Both the Hash Key and the Range Key element in the KeySchema have the same name");
    return schema_check_types(c, is_hash, *count);
}

/* ---- key schemas of global indexes ---- */

static bool schema_has_same_name(const struct index *x, uint32_t place)
{
    for (uint32_t i = 0; i < place; i++) {
        if (slice_equal(x->keys[i].name, x->keys[place].name))
            return true;
    }
    return false;
}

static bool schema_exceeds(struct call *c, const char *what)
{
    return call_invalid(c,
                        INVALID "The KeySchema exceeds the maximum allowed number of %s key "
                                "attributes",
                        what);
}

/* Counts an attribute of the next kind. */
static bool schema_count_key(struct call *c, bool is_hash, struct index *x)
{
    if (is_hash && x->sort_count > 0)
        return call_invalid(c, INVALID "All HASH key attributes must precede RANGE key attributes "
                                       "in the KeySchema");
    if (!is_hash && x->partition_count == 0)
        return call_invalid(c,
                            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
    uint32_t *count = is_hash ? &x->partition_count : &x->sort_count;
    return (*count)++ < INDEX_KEYS_MAX || schema_exceeds(c, is_hash ? "HASH" : "RANGE");
}

bool key_schema_read_global(struct call *c, const struct json_value *definitions,
                            const struct json_value *schema, struct index *out)
{
    struct json_value element, e[SHAPE_MEMBERS_MAX];
    const size_t count = json_count(schema);
    must(count <= COUNT_OF(out->keys)); /* shape_check has refused others */
    struct json_cursor cursor = json_elements(schema);
    for (uint32_t i = 0; json_next_element(&cursor, &element); i++) {
        struct key_attr *key = &out->keys[i];
        shape_bind(&shape_key_schema_element, &element, e);
        key->name = arena_copy(&c->arena, json_string(&e[KEY_SCHEMA_ELEMENT_ATTRIBUTE_NAME]));
        key->type = definition_type(definitions, key->name);
        if (key->type == 0)
            return schema_undefined(c, definitions, schema, true);
    }
    for (uint32_t i = 1; i < count; i++) {
        if (schema_has_same_name(out, i))
            return call_invalid(c, "%s",
                                count == 2 ? "Both the Hash Key and the Range Key element in the "
                                             "KeySchema have the same name"
                                           : "The KeySchema contains multiple key attributes with "
                                             "the same name");
    }
    cursor = json_elements(schema);
    while (json_next_element(&cursor, &element)) {
        shape_bind(&shape_key_schema_element, &element, e);
        if (!schema_count_key(c, slice_is(json_string(&e[KEY_SCHEMA_ELEMENT_KEY_TYPE]), "HASH"),
                              out))
            return false;
    }
    return true;
}

/* ---- definitions that nothing uses ---- */

/* Adds the key attribute, unless it is there. */
static void used_add(struct slice used[], size_t *count, const struct key_attr *key)
{
    for (size_t i = 0; i < *count; i++) {
        if (slice_equal(used[i], key->name))
            return;
    }
    if (key->name.size > 0)
        used[(*count)++] = key->name;
}

bool definitions_are_used(struct call *c, const struct json_value *definitions,
                          const struct table_spec *spec, const struct index_set *set)
{
    struct slice used[2 + (LOCAL_INDEXES_MAX + GLOBAL_INDEXES_MAX) * 2 * INDEX_KEYS_MAX];
    size_t count = 0;
    used_add(used, &count, &spec->partition_key);
    used_add(used, &count, &spec->sort_key);
    for (uint32_t i = 0; set != NULL && i < set->count; i++) {
        const struct index *x = &set->at[i];
        for (uint32_t j = 0; j < x->partition_count + x->sort_count; j++)
            used_add(used, &count, &x->keys[j]);
    }
    if (count == json_count(definitions))
        return true;
    if (set == NULL)
        return call_invalid(c, INVALID "Number of attributes in KeySchema does not exactly match "
                                       "number of attributes defined in AttributeDefinitions");
    struct buffer defined = {0}, names = {0};
    names_of_definitions(&defined, definitions);
    for (size_t i = 0; i < count; i++)
        names_append(&names, used[i]);
    call_invalid(c,
                 INVALID "Some AttributeDefinitions are not used. AttributeDefinitions: [%.*s], "
                         "keys used: [%.*s]",
                 TEXT_OF(defined), TEXT_OF(names));
    buffer_deinit(&defined);
    buffer_deinit(&names);
    return false;
}
