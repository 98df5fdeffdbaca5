/* shape.c - checks an input against its shape: types first, then constraints. */
#include "router/json/shape.h"

#include <ctype.h>
#include <math.h>
#include <strings.h>

#include "base/limits.h"
#include "engine/item/item.h"
#include "router/json/base64.h"
#include "router/json/shown.h"

static const char PATTERN[] = "[a-zA-Z0-9_.-]+";
static const char MODEL[] = "com.amazonaws.dynamodb.v20120810.";

/* The path of a value in the input; printed only in errors. */
struct path {
    const struct path *parent;
    const char *field; /* of a structure; NULL: use the name */
    struct slice name; /* of a map's member */
    size_t index;      /* of a list's element, from 1; 0: use the name */
    bool member;       /* an element of a list or map: ".member" follows */
};

struct check {
    struct fault *fault;
    struct buffer list; /* owns; the texts of failed constraints */
    uint32_t errors;
};

static bool shape_check_value(struct check *c, const struct shape *shape,
                              const struct json_value *v, const struct path *path, bool element);

/* ---- the list of constraints ---- */

static void shape_path_append(struct buffer *out, const struct path *p, bool as_sent)
{
    if (p->parent != NULL) {
        shape_path_append(out, p->parent, as_sent);
        buffer_append_u8(out, '.');
    }
    if (p->index > 0) {
        buffer_append_format(out, "%zu.member", p->index);
        return;
    }
    size_t start = out->size;
    const struct slice name = p->field != NULL ? slice_of(p->field) : p->name;
    buffer_append(out, name.data, (size_t)slice_shown_size(name));
    if (p->member)
        buffer_append_text(out, ".member");
    else if (out->size > start && !as_sent)
        out->data[start] = (uint8_t)tolower(out->data[start]);
}

/* Starts an entry of the list. False: the list is full. */
static bool shape_constraint_begin(struct check *c, const struct shape *shape,
                                   const struct json_value *v, const struct path *path)
{
    if (c->errors == SHAPE_ERRORS_MAX)
        return false;
    if (c->errors++ > 0)
        buffer_append_text(&c->list, "; ");
    buffer_append_text(&c->list, "Value ");
    if (v->type == JSON_ABSENT || v->type == JSON_NULL) {
        buffer_append_text(&c->list, "null");
    } else {
        buffer_append_u8(&c->list, '\'');
        shown_append(&c->list, shape, v);
        buffer_append_u8(&c->list, '\'');
    }
    buffer_append_text(&c->list, " at '");
    shape_path_append(&c->list, path, false);
    buffer_append_text(&c->list, "' failed to satisfy constraint: ");
    return true;
}

static void shape_constraint_failed(struct check *c, const struct shape *shape,
                                    const struct json_value *v, const struct path *path,
                                    const char *rule, int64_t bound)
{
    if (!shape_constraint_begin(c, shape, v, path))
        return;
    if (bound == INT64_MIN)
        buffer_append_text(&c->list, rule);
    else
        buffer_append_format(&c->list, "%s%lld", rule, (long long)bound);
}

/* Messages of the service's newer constraints name the member as it was sent, and have no value. */
static void shape_constraint_bare(struct check *c, const struct path *path, const char *rule,
                                  int64_t bound)
{
    if (c->errors == SHAPE_ERRORS_MAX)
        return;
    buffer_append_text(&c->list, c->errors++ > 0 ? "; Value at '" : "Value at '");
    shape_path_append(&c->list, path, true);
    buffer_append_format(&c->list, "' failed to satisfy constraint: %s%lld", rule,
                         (long long)bound);
}

static void shape_constraint_null(struct check *c, const struct path *path)
{
    struct json_value absent = {JSON_ABSENT, 0, NULL};
    shape_constraint_failed(c, NULL, &absent, path, "Member must not be null", INT64_MIN);
}

static void shape_check_bounds(struct check *c, const struct shape *shape,
                               const struct json_value *v, const struct path *path, int64_t measure,
                               bool length)
{
    const char *least = length ? "Member must have length greater than or equal to "
                               : "Member must have value greater than or equal to ";
    const char *most = length ? "Member must have length less than or equal to "
                              : "Member must have value less than or equal to ";
    bool under = shape->min_set && measure < shape->min;
    bool over = shape->max > 0 && measure > shape->max;
    if (shape->bare && (over || (under && !length)))
        shape_constraint_bare(c, path, under ? least : most, under ? shape->min : shape->max);
    else if (under || over)
        shape_constraint_failed(c, shape, v, path, under ? least : most,
                                under ? shape->min : shape->max);
}

bool shape_is_table_name(struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t b = text.data[i];
        if (!isalnum(b) && b != '_' && b != '.' && b != '-')
            return false;
    }
    return text.size > 0;
}

struct slice shape_table_of(struct slice text)
{
    struct slice left = text;
    if (!slice_starts_with(left, slice_of("arn:")))
        return text;
    for (int field = 0; field < 5; field++) {
        const size_t size = left.size;
        if (slice_cut(&left, ':').size == size ||
            (field == 1 && !slice_starts_with(left, slice_of("dynamodb:"))))
            return text;
    }
    if (!slice_starts_with(left, slice_of("table/")))
        return text;
    left = slice_make(left.data + 6, left.size - 6);
    return shape_is_table_name(left) ? left : text;
}

bool shape_choice_matches(const char *choices, struct slice text)
{
    const char *at = choices;
    while (text.size > 0) {
        size_t size = strcspn(at, ",");
        if (size == text.size && memcmp(at, text.data, size) == 0)
            return true;
        if (at[size] == '\0')
            return false;
        at += size + 2;
    }
    return false;
}

static void shape_check_string(struct check *c, const struct shape *shape,
                               const struct json_value *v, const struct path *path)
{
    struct slice text = json_string(v);
    if (shape->named)
        text = shape_table_of(text);
    if (shape->named && shape->min_set && text.size == 0) {
        shape_constraint_failed(c, shape, v, path,
                                "Member must have length greater than or equal to ", 1);
        return;
    }
    if (shape->named && !shape_is_table_name(text)) {
        if (shape_constraint_begin(c, shape, v, path))
            buffer_append_format(&c->list, "Member must satisfy regular expression pattern: %s",
                                 PATTERN);
    }
    if (shape->min_set || shape->max > 0)
        shape_check_bounds(c, shape, v, path, (int64_t)slice_utf16_length(text), true);
    if (shape->choices != NULL && !shape_choice_matches(shape->choices, text)) {
        if (shape_constraint_begin(c, shape, v, path))
            buffer_append_format(&c->list, "Member must satisfy enum value set: [%s]",
                                 shape->choices);
    }
}

/* ---- types ---- */

static bool shape_wrong_type(struct check *c, const char *text)
{
    return fault_set(c->fault, FAULT_SERIALIZATION, "%s", text);
}

static const char *shape_token_name(const struct json_value *v)
{
    switch (v->type) {
    case JSON_BOOL:
        return json_bool(v) ? "TRUE_VALUE" : "FALSE_VALUE";
    case JSON_INTEGER:
        return "NUMBER_VALUE";
    case JSON_DECIMAL:
        return "DECIMAL_VALUE";
    default:
        return "STRING_VALUE";
    }
}

/* Refuses a value where a scalar was expected. `java`: the scalar's class without its package. */
static bool shape_refuse_scalar(struct check *c, const struct json_value *v, const char *java)
{
    if (v->type == JSON_OBJECT)
        return shape_wrong_type(c, "Start of structure or map found where not expected");
    if (v->type == JSON_LIST)
        return fault_set(c->fault, FAULT_SERIALIZATION,
                         "Unrecognized collection type class java.lang.%s", java);
    return fault_set(c->fault, FAULT_SERIALIZATION, "%s cannot be converted to %s",
                     shape_token_name(v), java);
}

static bool shape_text_is_boolean(struct slice text, bool *value)
{
    static const struct {
        const char *text;
        bool value;
    } WORDS[] = {{"true", true}, {"false", false}, {"yes", true}, {"no", false}};
    for (size_t i = 0; i < COUNT_OF(WORDS); i++) {
        if (text.size == strlen(WORDS[i].text) &&
            strncasecmp((const char *)text.data, WORDS[i].text, text.size) == 0) {
            *value = WORDS[i].value;
            return true;
        }
    }
    return false;
}

static bool shape_check_boolean(struct check *c, const struct json_value *v)
{
    bool value;
    if (v->type == JSON_BOOL)
        return true;
    if (v->type == JSON_STRING)
        return shape_text_is_boolean(json_string(v), &value) ||
               shape_wrong_type(c, "Unexpected token received from parser");
    return shape_refuse_scalar(c, v, "Boolean");
}

static bool shape_check_text(struct check *c, const struct json_value *v)
{
    return v->type == JSON_STRING || shape_refuse_scalar(c, v, "String");
}

static bool shape_check_blob(struct check *c, const struct json_value *v)
{
    if (v->type == JSON_OBJECT)
        return shape_wrong_type(c, "Start of structure or map found where not expected");
    if (v->type == JSON_LIST)
        return shape_wrong_type(c, "Unrecognized collection type class java.nio.ByteBuffer");
    if (v->type != JSON_STRING)
        return shape_wrong_type(c, "only base-64-encoded strings are convertible to bytes");
    struct slice text = json_string(v);
    switch (base64_check(text)) {
    case BASE64_LENGTH:
        return fault_set(c->fault, FAULT_SERIALIZATION,
                         "Base64 encoded length is expected a multiple of 4 bytes but found: %zu",
                         text.size);
    case BASE64_CHARACTER:
        return shape_wrong_type(c, "Invalid Base64 character");
    case BASE64_LAST:
        return shape_wrong_type(c, "Invalid last non-pad Base64 character dectected");
    default:
        return true;
    }
}

static bool shape_check_list_type(struct check *c, const struct json_value *v)
{
    if (v->type == JSON_OBJECT)
        return shape_wrong_type(c, "Start of structure or map found where not expected");
    return v->type == JSON_LIST || shape_wrong_type(c, "Unexpected field type");
}

static const char CAST_ERROR[] =
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "
    "java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and "
    "java.lang.Class are in module java.base of loader 'bootstrap')";

static bool shape_check_map_type(struct check *c, const struct json_value *v, const char *java,
                                 bool parameterized)
{
    if (v->type == JSON_OBJECT)
        return true;
    if (v->type == JSON_LIST)
        return fault_set(c->fault, FAULT_SERIALIZATION,
                         "Unrecognized collection type java.util.Map<java.lang.String, %s%s>",
                         strchr(java, '.') != NULL ? "" : MODEL, java);
    return shape_wrong_type(c, parameterized ? CAST_ERROR : "Unexpected field type");
}

static bool shape_check_structure_type(struct check *c, const struct json_value *v,
                                       const char *java, bool element)
{
    if (v->type == JSON_OBJECT)
        return true;
    if (v->type == JSON_LIST)
        return fault_set(c->fault, FAULT_SERIALIZATION, "Unrecognized collection type class %s%s",
                         MODEL, java);
    return shape_wrong_type(c,
                            element ? "Unexpected value type in payload" : "Unexpected field type");
}

/* ---- attribute values: types only ---- */

static bool shape_check_attribute(struct check *c, const struct json_value *v);

/* The elements of a set or of a list. */
static bool shape_check_elements(struct check *c, const struct json_value *v,
                                 bool (*check)(struct check *c, const struct json_value *element))
{
    if (!shape_check_list_type(c, v))
        return false;
    struct json_value element;
    JSON_FOREACH (element, v) {
        if (element.type != JSON_NULL && !check(c, &element))
            return false;
    }
    return true;
}

static bool shape_check_attribute_map(struct check *c, const struct json_value *v)
{
    if (!shape_check_map_type(c, v, "AttributeValue", false))
        return false;
    struct json_value element;
    struct slice name;
    JSON_FOREACH_MEMBER (name, element, v) {
        if (element.type != JSON_NULL && !shape_check_attribute(c, &element))
            return false;
    }
    return true;
}

static bool shape_check_attribute_member(struct check *c, struct slice type,
                                         const struct json_value *v)
{
    switch (v->type == JSON_NULL ? (enum attr_type)0 : attr_type_of(type)) {
    case ATTR_STRING:
    case ATTR_NUMBER:
        return shape_check_text(c, v);
    case ATTR_BINARY:
        return shape_check_blob(c, v);
    case ATTR_BOOL:
    case ATTR_NULL:
        return shape_check_boolean(c, v);
    case ATTR_STRING_SET:
    case ATTR_NUMBER_SET:
        return shape_check_elements(c, v, shape_check_text);
    case ATTR_BINARY_SET:
        return shape_check_elements(c, v, shape_check_blob);
    case ATTR_LIST:
        return shape_check_elements(c, v, shape_check_attribute);
    case ATTR_MAP:
        return shape_check_attribute_map(c, v);
    default:
        return true;
    }
}

/* Recursion is bounded: the parser refuses more than JSON_DEPTH_MAX levels. */
static bool shape_check_attribute_as(struct check *c, const struct json_value *v, bool element)
{
    if (!shape_check_structure_type(c, v, "AttributeValue", element))
        return false;
    struct json_value member;
    struct slice type;
    JSON_FOREACH_MEMBER (type, member, v) {
        if (!shape_check_attribute_member(c, type, &member))
            return false;
    }
    return true;
}

static bool shape_check_attribute(struct check *c, const struct json_value *v)
{
    return shape_check_attribute_as(c, v, true);
}

/* ---- shapes ---- */

static bool shape_check_list(struct check *c, const struct shape *shape, const struct json_value *v,
                             const struct path *path)
{
    if (v->type != JSON_LIST && v->type != JSON_OBJECT && shape->parameterized)
        return shape_wrong_type(c, CAST_ERROR);
    if (!shape_check_list_type(c, v))
        return false;
    shape_check_bounds(c, shape, v, path, (int64_t)json_count(v), true);
    struct json_value element;
    struct path at = {.parent = path, .member = true};
    JSON_FOREACH (element, v) {
        at.index++;
        if (element.type == JSON_NULL)
            shape_constraint_null(c, &at);
        else if (!shape_check_value(c, shape->element, &element, &at, true))
            return false;
    }
    return true;
}

/* The service shows all bounds of a map's keys, or of its lists, in one text. */
static void shape_map_rule_append(struct buffer *out, const struct shape *rule)
{
    buffer_append_format(out,
                         "[Member must have length less than or equal to %lld, "
                         "Member must have length greater than or equal to %lld",
                         (long long)rule->max, (long long)rule->min);
    if (rule->named)
        buffer_append_format(out, ", Member must satisfy regular expression pattern: %s", PATTERN);
    buffer_append_u8(out, ']');
}

static bool shape_within(const struct shape *rule, int64_t measure)
{
    return measure >= rule->min && (rule->max == 0 || measure <= rule->max);
}

static void shape_check_map_keys(struct check *c, const struct shape *shape,
                                 const struct json_value *v, const struct path *path)
{
    bool keys_fit = true, values_fit = true;
    struct json_value element;
    struct slice name;
    JSON_FOREACH_MEMBER (name, element, v) {
        name = shape_table_of(name);
        keys_fit = keys_fit && shape_within(shape->key, (int64_t)slice_utf16_length(name)) &&
                   shape_is_table_name(name);
        if (shape->element->kind == SHAPE_LIST && element.type == JSON_LIST)
            values_fit = values_fit && shape_within(shape->element, (int64_t)json_count(&element));
    }
    /* BatchWriteItem tells other errors alone. */
    const bool reported = shape->element->kind != SHAPE_LIST || c->errors == 0;
    if (!keys_fit && reported && shape_constraint_begin(c, shape, v, path)) {
        buffer_append_text(&c->list, "Map keys must satisfy constraint: ");
        shape_map_rule_append(&c->list, shape->key);
    }
    if (!values_fit && shape_constraint_begin(c, shape, v, path)) {
        buffer_append_text(&c->list, "Map value must satisfy constraint: ");
        shape_map_rule_append(&c->list, shape->element);
    }
}

/* Compares all pairs of names: only for small maps. */
static bool shape_refuse_equal_names(struct check *c, const struct json_value *map)
{
    struct json_cursor cursor = json_members(map);
    struct json_value value;
    struct slice name, other;
    for (size_t i = 0; json_next_member(&cursor, &name, &value); i++) {
        struct json_cursor before = json_members(map);
        for (size_t j = 0; j < i && json_next_member(&before, &other, &value); j++) {
            if (slice_equal(name, other))
                return fault_set(c->fault, FAULT_SERIALIZATION, "Duplicate field '%.*s'",
                                 SHOWN(name));
        }
    }
    return true;
}

static bool shape_check_map(struct check *c, const struct shape *shape, const struct json_value *v,
                            const struct path *path)
{
    if (!shape_check_map_type(c, v, shape->java, shape->parameterized))
        return false;
    shape_check_bounds(c, shape, v, path, (int64_t)json_count(v), true);
    if (shape->key != NULL)
        shape_check_map_keys(c, shape, v, path);
    if (shape->max > 0 && json_count(v) <= (size_t)shape->max && !shape_refuse_equal_names(c, v))
        return false;
    struct json_cursor cursor = json_members(v);
    struct json_value element;
    struct path at = {.parent = path, .member = true};
    /* shape_check_map_keys has checked the lengths of lists; only their elements are left. */
    struct shape inner = *shape->element;
    if (inner.kind == SHAPE_LIST)
        inner.min_set = false, inner.max = 0;
    while (json_next_member(&cursor, &at.name, &element)) {
        if (element.type == JSON_NULL && inner.kind != SHAPE_ATTRIBUTE &&
            inner.kind != SHAPE_STRING)
            shape_constraint_null(c, &at);
        if (element.type == JSON_NULL)
            continue;
        if (!shape_check_value(c, &inner, &element, &at, true))
            return false;
    }
    return true;
}

static bool shape_check_members(struct check *c, const struct shape *shape,
                                const struct json_value members[], const struct path *path)
{
    for (size_t i = 0; shape->members[i].name != NULL; i++) {
        const size_t turn = shape->members[i].turn;
        const struct shape_member *m = &shape->members[turn];
        const bool absent = members[turn].type == JSON_ABSENT;
        if (absent && m->use != MEMBER_REQUIRED)
            continue;
        struct path at = {.parent = path, .field = m->name};
        if (absent) {
            shape_constraint_null(c, &at);
        } else if (!shape_check_value(c, m->shape, &members[turn], &at, false)) {
            return false;
        }
    }
    return true;
}

/* Binds the members. Returns the name of a member that is given twice; NULL: none. */
static const char *shape_bind_members(const struct shape *shape, const struct json_value *structure,
                                      struct json_value members[SHAPE_MEMBERS_MAX])
{
    bool seen[SHAPE_MEMBERS_MAX] = {false};
    size_t count = 0;
    while (shape->members[count].name != NULL)
        members[count++].type = JSON_ABSENT;
    must(count <= SHAPE_MEMBERS_MAX);
    struct json_value value;
    struct slice name;
    JSON_FOREACH_MEMBER (name, value, structure) {
        size_t i = 0;
        while (i < count && !slice_is(name, shape->members[i].name))
            i++;
        if (i == count)
            continue;
        if (seen[i])
            return shape->members[i].name;
        seen[i] = true;
        if (value.type != JSON_NULL)
            members[i] = value;
    }
    return NULL;
}

/* Refuses a member that is given twice: it is not clear which value is meant. */
static bool shape_bind_once(struct check *c, const struct shape *shape,
                            const struct json_value *structure,
                            struct json_value members[SHAPE_MEMBERS_MAX])
{
    const char *twice = shape_bind_members(shape, structure, members);
    return twice == NULL || fault_set(c->fault, FAULT_SERIALIZATION, "Duplicate field '%s'", twice);
}

static bool shape_check_structure(struct check *c, const struct shape *shape,
                                  const struct json_value *v, const struct path *path, bool element)
{
    struct json_value members[SHAPE_MEMBERS_MAX];
    return shape_check_structure_type(c, v, shape->java, element) &&
           shape_bind_once(c, shape, v, members) && shape_check_members(c, shape, members, path);
}

static bool shape_check_value(struct check *c, const struct shape *shape,
                              const struct json_value *v, const struct path *path, bool element)
{
    switch (shape->kind) {
    case SHAPE_STRING:
        if (!shape_check_text(c, v))
            return false;
        shape_check_string(c, shape, v, path);
        return true;
    case SHAPE_BOOLEAN:
        return shape_check_boolean(c, v);
    case SHAPE_INTEGER:
    case SHAPE_LONG:
        if (v->type != JSON_INTEGER && v->type != JSON_DECIMAL)
            return shape_refuse_scalar(c, v, shape->kind == SHAPE_LONG ? "Long" : "Integer");
        shape_check_bounds(c, shape, v, path, shape_integer(v, 0), false);
        return true;
    case SHAPE_ATTRIBUTE:
        return shape_check_attribute_as(c, v, element);
    case SHAPE_LIST:
        return shape_check_list(c, shape, v, path);
    case SHAPE_MAP:
        return shape_check_map(c, shape, v, path);
    case SHAPE_STRUCTURE:
        return shape_check_structure(c, shape, v, path, element);
    case SHAPE_ANYTHING:
        break;
    }
    return true;
}

/* For operations such as CreateTable, which check the name before the list of constraints. */
static bool shape_check_name_first(const struct json_value *name, struct fault *fault)
{
    if (name->type == JSON_ABSENT)
        return fault_invalid(
            fault, "The parameter 'TableName' is required but was not present in the request");
    int64_t length = (int64_t)slice_utf16_length(shape_table_of(json_string(name)));
    if (length < TABLE_NAME_SIZE_MIN || length > TABLE_NAME_SIZE_MAX)
        return fault_invalid(
            fault,
            "1 validation error detected: Value '%.*s' at 'tableName' failed to satisfy "
            "constraint: Member must have length %s than or equal to %d",
            SHOWN(json_string(name)), length < TABLE_NAME_SIZE_MIN ? "greater" : "less",
            length < TABLE_NAME_SIZE_MIN ? TABLE_NAME_SIZE_MIN : TABLE_NAME_SIZE_MAX);
    return true;
}

bool shape_check(const struct shape *shape, const struct json_value *input, bool name_first,
                 struct json_value members[SHAPE_MEMBERS_MAX], struct fault *fault)
{
    struct check c = {fault, {0}, 0};
    if (!shape_check_structure_type(&c, input, shape->java, true) ||
        !shape_bind_once(&c, shape, input, members))
        return false;
    bool fits = shape_check_members(&c, shape, members, NULL);
    if (fits && name_first)
        fits = shape_check_name_first(&members[0], fault);
    if (fits && c.errors > 0)
        fits = fault_invalid(fault, "%u validation error%s detected: %.*s", c.errors,
                             c.errors == 1 ? "" : "s", TEXT_OF(c.list));
    buffer_deinit(&c.list);
    return fits;
}

void shape_bind(const struct shape *shape, const struct json_value *structure,
                struct json_value members[SHAPE_MEMBERS_MAX])
{
    must(shape_bind_members(shape, structure, members) == NULL);
}

bool shape_refuse_later(const struct shape *shape, const struct json_value members[],
                        struct fault *fault)
{
    for (size_t i = 0; shape->members[i].name != NULL; i++) {
        if (shape->members[i].use == MEMBER_LATER && members[i].type != JSON_ABSENT)
            return fault_set_later(fault, shape->members[i].name);
    }
    return true;
}

bool shape_boolean(const struct json_value *v, bool otherwise)
{
    bool value = otherwise;
    if (v->type == JSON_BOOL)
        value = json_bool(v);
    else if (v->type == JSON_STRING)
        shape_text_is_boolean(json_string(v), &value);
    return value;
}

int64_t shape_integer(const struct json_value *v, int64_t otherwise)
{
    if (v->type == JSON_INTEGER)
        return json_integer(v);
    if (v->type != JSON_DECIMAL)
        return otherwise;
    double value = trunc(json_decimal(v));
    if (value >= 9.2e18)
        return INT64_MAX;
    return value <= -9.2e18 ? INT64_MIN : (int64_t)value;
}
