/* legacy.c - reads conditions of the older parameters: Expected, QueryFilter, ScanFilter,
 * KeyConditions. */
#include "router/expression/legacy.h"

#include "engine/expression/compare.h"
#include "router/expression/legacy_internal.h"
#include "router/json/shape.h"
#include "router/json/shapes.h"
#include "router/json/value.h"

/* ---- operators ---- */

enum {
    ANY_NUMBER = 255, /* of values; at least one */
};

enum legacy_types {
    TYPES_ALL,
    TYPES_SCALAR, /* S, N, B */
    TYPES_TEXT,   /* S, B */
};

struct legacy_operator {
    const char *name;
    uint32_t values;
    enum legacy_types types;
    enum condition_kind kind;
    enum token_kind comparator;       /* of CONDITION_COMPARE */
    enum condition_function function; /* of CONDITION_FUNCTION */
    enum key_operator key;
};

static const struct legacy_operator OPERATORS[] = {
    {"EQ", 1, TYPES_ALL, CONDITION_COMPARE, .comparator = TOKEN_EQ, .key = KEY_EQUAL},
    {"NE", 1, TYPES_ALL, CONDITION_COMPARE, .comparator = TOKEN_NE, .key = KEY_NOT_INDEXABLE},
    {"LT", 1, TYPES_SCALAR, CONDITION_COMPARE, .comparator = TOKEN_LT, .key = KEY_LESS},
    {"LE", 1, TYPES_SCALAR, CONDITION_COMPARE, .comparator = TOKEN_LE, .key = KEY_LESS_OR_EQUAL},
    {"GT", 1, TYPES_SCALAR, CONDITION_COMPARE, .comparator = TOKEN_GT, .key = KEY_GREATER},
    {"GE", 1, TYPES_SCALAR, CONDITION_COMPARE, .comparator = TOKEN_GE, .key = KEY_GREATER_OR_EQUAL},
    {"NOT_NULL", 0, TYPES_ALL, CONDITION_FUNCTION, .function = FUNCTION_EXISTS,
     .key = KEY_NOT_INDEXABLE},
    {"NULL", 0, TYPES_ALL, CONDITION_FUNCTION, .function = FUNCTION_NOT_EXISTS,
     .key = KEY_NOT_INDEXABLE},
    {"CONTAINS", 1, TYPES_SCALAR, CONDITION_FUNCTION, .function = FUNCTION_CONTAINS,
     .key = KEY_NOT_INDEXABLE},
    {"NOT_CONTAINS", 1, TYPES_SCALAR, CONDITION_NOT, .function = FUNCTION_CONTAINS,
     .key = KEY_NOT_INDEXABLE},
    {"BEGINS_WITH", 1, TYPES_TEXT, CONDITION_FUNCTION, .function = FUNCTION_BEGINS_WITH,
     .key = KEY_BEGINS_WITH},
    {"IN", ANY_NUMBER, TYPES_SCALAR, CONDITION_IN, .key = KEY_NOT_INDEXABLE},
    {"BETWEEN", 2, TYPES_SCALAR, CONDITION_BETWEEN, .key = KEY_BETWEEN},
};

/* shape_check has checked the name. */
static const struct legacy_operator *legacy_operator_of(struct slice name)
{
    for (size_t i = 0; i < COUNT_OF(OPERATORS); i++) {
        if (slice_is(name, OPERATORS[i].name))
            return &OPERATORS[i];
    }
    return NULL;
}

/* ---- values ---- */

struct legacy_values {
    struct attr *list; /* in the arena */
    uint32_t count;
};

static bool legacy_type_fits(enum legacy_types types, enum attr_type type)
{
    return types == TYPES_ALL ||
           (attr_is_ordered(type) && (types == TYPES_SCALAR || type != ATTR_NUMBER));
}

/* Reads an AttributeValueList; absent: no values. */
static bool legacy_read_values(struct arena *arena, const struct json_value *list,
                               struct legacy_values *out, struct fault *fault)
{
    *out = (struct legacy_values){0};
    if (list->type != JSON_LIST)
        return true;
    if (json_count(list) > CONDITION_IN_MAX)
        return fault_invalid(fault, "AttributeValueList has more than %d values", CONDITION_IN_MAX);
    struct json_value value;
    out->list = arena_alloc(arena, json_count(list) * sizeof *out->list);
    JSON_FOREACH (value, list) {
        if (!value_read_attr(arena, &value, &out->list[out->count++], fault))
            return false;
    }
    return true;
}

static bool legacy_check_values(const struct legacy_operator *o, const struct legacy_values *v,
                                struct fault *fault)
{
    if (o->values == ANY_NUMBER ? v->count == 0 : v->count != o->values)
        return fault_invalid(
            fault, INVALID "Invalid number of argument(s) for the %s ComparisonOperator", o->name);
    for (uint32_t i = 1; i < v->count; i++) {
        if (v->list[i].type != v->list[0].type)
            return fault_invalid(fault, INVALID
                                 "AttributeValues inside AttributeValueList must be of same type");
    }
    if (v->count > 0 && !legacy_type_fits(o->types, v->list[0].type))
        return fault_invalid(
            fault, INVALID "ComparisonOperator %s is not valid for %s AttributeValue type", o->name,
            attr_type_name(v->list[0].type));
    return o->kind != CONDITION_BETWEEN || attr_compare(&v->list[0], &v->list[1]) <= 0 ||
           fault_invalid(fault, "The BETWEEN condition was provided a range where the lower bound "
                                "is greater than the upper bound");
}

/* ---- trees ---- */

static struct condition *legacy_node(struct arena *arena, enum condition_kind kind)
{
    struct condition *c = arena_zalloc(arena, sizeof *c);
    c->kind = kind;
    return c;
}

static void legacy_add(struct condition *c, struct condition *argument)
{
    struct condition **end = &c->args;
    while (*end != NULL)
        end = &(*end)->next;
    *end = argument;
    c->arg_count++;
}

struct path_part *legacy_path(struct arena *arena, struct slice name)
{
    struct path_part *path = arena_zalloc(arena, sizeof *path);
    path->name = arena_copy(arena, name);
    return path;
}

static struct condition *legacy_path_node(struct arena *arena, struct slice name)
{
    struct condition *c = legacy_node(arena, CONDITION_PATH);
    c->path = legacy_path(arena, name);
    return c;
}

/* An operator or function on the attribute, with the values as further operands. */
static struct condition *legacy_apply(struct arena *arena, enum condition_kind kind,
                                      const struct legacy_operator *o, struct slice name,
                                      const struct legacy_values *v)
{
    struct condition *c = legacy_node(arena, kind);
    c->op = o->comparator;
    c->function = o->function;
    legacy_add(c, legacy_path_node(arena, name));
    for (uint32_t i = 0; i < v->count; i++) {
        struct condition *value = legacy_node(arena, CONDITION_VALUE);
        value->value = v->list[i];
        legacy_add(c, value);
    }
    return c;
}

/* "attribute_exists(a) AND NOT contains(a, :v)" */
static struct condition *legacy_not_contains(struct arena *arena, const struct legacy_operator *o,
                                             struct slice name, const struct legacy_values *v)
{
    static const struct legacy_operator EXISTS = {.function = FUNCTION_EXISTS};
    static const struct legacy_values NONE = {0};
    struct condition *both = legacy_node(arena, CONDITION_AND);
    struct condition *not = legacy_node(arena, CONDITION_NOT);
    legacy_add(not, legacy_apply(arena, CONDITION_FUNCTION, o, name, v));
    legacy_add(both, legacy_apply(arena, CONDITION_FUNCTION, &EXISTS, name, &NONE));
    legacy_add(both, not );
    return both;
}

static struct condition *legacy_condition(struct arena *arena, const struct legacy_operator *o,
                                          struct slice name, const struct legacy_values *v)
{
    return o->kind == CONDITION_NOT ? legacy_not_contains(arena, o, name, v)
                                    : legacy_apply(arena, o->kind, o, name, v);
}

/* ---- maps of conditions ---- */

/* What one attribute must fulfil. */
struct legacy_term {
    const struct legacy_operator *op;
    struct legacy_values values;
};

typedef bool legacy_read_term(struct arena *arena, struct slice name, const struct json_value *v,
                              struct legacy_term *out, struct fault *fault);

static bool legacy_refuse_count(struct fault *fault)
{
    return fault_invalid(fault, "A parameter has conditions on too many attributes");
}

static bool legacy_read_map(struct arena *arena, const struct json_value *map, bool any,
                            legacy_read_term *read, const struct condition **out,
                            struct fault *fault)
{
    struct condition *all = legacy_node(arena, any ? CONDITION_OR : CONDITION_AND);
    uint32_t operators = 0;
    struct json_value value;
    struct slice name;
    struct legacy_term term;
    if (json_count(map) > EXPRESSION_OPERATORS_MAX)
        return legacy_refuse_count(fault);
    if (!value_check_names(arena, map, fault))
        return false;
    JSON_FOREACH_MEMBER (name, value, map) {
        if (!read(arena, name, &value, &term, fault))
            return false;
        operators += term.op->kind == CONDITION_NOT ? 5 : 2;
        if (operators > EXPRESSION_OPERATORS_MAX)
            return legacy_refuse_count(fault);
        legacy_add(all, legacy_condition(arena, term.op, name, &term.values));
    }
    *out = all->arg_count > 1 ? all : all->args;
    return true;
}

/* ---- filters ---- */

static bool legacy_read_condition(struct arena *arena, UNUSED struct slice name,
                                  const struct json_value *v, struct legacy_term *out,
                                  struct fault *fault)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    shape_bind(&shape_condition, v, m);
    out->op = legacy_operator_of(json_text(&m[CONDITION_COMPARISON_OPERATOR]));
    return legacy_read_values(arena, &m[CONDITION_ATTRIBUTE_VALUE_LIST], &out->values, fault) &&
           legacy_check_values(out->op, &out->values, fault);
}

bool legacy_read_filter(struct arena *arena, const struct json_value *map, bool any,
                        const struct condition **out, struct fault *fault)
{
    return legacy_read_map(arena, map, any, legacy_read_condition, out, fault);
}

/* ---- Expected ---- */

/* Value and Exists without a ComparisonOperator. */
static bool legacy_read_value(struct arena *arena, struct slice name, const struct json_value m[],
                              struct legacy_term *out, struct fault *fault)
{
    const struct json_value *value = &m[EXPECTED_ATTRIBUTE_VALUE_VALUE];
    const struct json_value *exists = &m[EXPECTED_ATTRIBUTE_VALUE_EXISTS];
    bool exists_expected = shape_boolean(exists, true);
    if (m[EXPECTED_ATTRIBUTE_VALUE_ATTRIBUTE_VALUE_LIST].type != JSON_ABSENT)
        return fault_invalid(fault,
                             INVALID "AttributeValueList can only be used with a "
                                     "ComparisonOperator for Attribute: %.*s",
                             SHOWN(name));
    if (exists_expected && value->type == JSON_ABSENT)
        return fault_invalid(fault,
                             INVALID "Value must be provided when Exists is %s for Attribute: %.*s",
                             exists->type == JSON_ABSENT ? "null" : "true", SHOWN(name));
    if (!exists_expected && value->type != JSON_ABSENT)
        return fault_invalid(
            fault, INVALID "Value cannot be used when Exists is false for Attribute: %.*s",
            SHOWN(name));
    out->op = legacy_operator_of(slice_of(exists_expected ? "EQ" : "NULL"));
    out->values = (struct legacy_values){0};
    if (!exists_expected)
        return true;
    out->values = (struct legacy_values){arena_alloc(arena, sizeof *out->values.list), 1};
    return value_read_attr(arena, value, out->values.list, fault);
}

static bool legacy_read_expectation(struct arena *arena, struct slice name,
                                    const struct json_value *v, struct legacy_term *out,
                                    struct fault *fault)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    shape_bind(&shape_expected_attribute_value, v, m);
    const struct json_value *op = &m[EXPECTED_ATTRIBUTE_VALUE_COMPARISON_OPERATOR];
    const struct json_value *list = &m[EXPECTED_ATTRIBUTE_VALUE_ATTRIBUTE_VALUE_LIST];
    const struct json_value *value = &m[EXPECTED_ATTRIBUTE_VALUE_VALUE];
    if (list->type != JSON_ABSENT && value->type != JSON_ABSENT)
        return fault_invalid(fault,
                             INVALID "Value and AttributeValueList cannot be used together for "
                                     "Attribute: %.*s",
                             SHOWN(name));
    if (op->type == JSON_ABSENT)
        return legacy_read_value(arena, name, m, out, fault);
    out->op = legacy_operator_of(json_text(op));
    if (m[EXPECTED_ATTRIBUTE_VALUE_EXISTS].type != JSON_ABSENT)
        return fault_invalid(fault,
                             INVALID "Exists and ComparisonOperator cannot be used together for "
                                     "Attribute: %.*s",
                             SHOWN(name));
    if (out->op->values > 0 && list->type == JSON_ABSENT && value->type == JSON_ABSENT)
        return fault_invalid(fault,
                             INVALID "Value or AttributeValueList must be used with "
                                     "ComparisonOperator: %s for Attribute: %.*s",
                             out->op->name, SHOWN(name));
    if (!legacy_read_values(arena, list, &out->values, fault))
        return false;
    if (value->type != JSON_ABSENT) {
        out->values = (struct legacy_values){arena_alloc(arena, sizeof *out->values.list), 1};
        if (!value_read_attr(arena, value, out->values.list, fault))
            return false;
    }
    return legacy_check_values(out->op, &out->values, fault);
}

bool legacy_read_expected(struct arena *arena, const struct json_value *map, bool any,
                          const struct condition **out, struct fault *fault)
{
    return legacy_read_map(arena, map, any, legacy_read_expectation, out, fault);
}

/* ---- KeyConditions ---- */

static bool legacy_refuse_key_count(struct fault *fault)
{
    return fault_invalid(fault, "Conditions can be of length 1 or 2 only");
}

bool legacy_read_keys(struct arena *arena, const struct json_value *map, struct key_conditions *out,
                      struct fault *fault)
{
    struct json_value value;
    struct slice name;
    struct legacy_term term;
    *out = (struct key_conditions){0};
    if (json_count(map) > EXPRESSION_OPERATORS_MAX)
        return legacy_refuse_key_count(fault);
    if (!value_check_names(arena, map, fault))
        return false;
    JSON_FOREACH_MEMBER (name, value, map) {
        if (!legacy_read_condition(arena, name, &value, &term, fault))
            return false;
        if (out->count++ >= COUNT_OF(out->list))
            continue; /* refused at the end */
        struct key_condition *k = &out->list[out->count - 1];
        *k = (struct key_condition){.name = arena_copy(arena, name), .op = term.op->key};
        for (uint32_t i = 0; i < term.values.count && i < COUNT_OF(k->values); i++)
            k->values[i] = term.values.list[i];
    }
    return (out->count > 0 && out->count <= COUNT_OF(out->list)) || legacy_refuse_key_count(fault);
}
