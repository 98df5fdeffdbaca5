/* names.c - reads ExpressionAttributeNames and ExpressionAttributeValues from JSON. */
#include "router/expression/names.h"

#include "engine/expression/token.h"
#include "router/json/value.h"

enum {
    PLACEHOLDER_SIZE_MAX = 255 /* with its sign: the service's quota */
};

/* The name that "#n" stands for. */
static bool names_read_name(struct arena *arena, struct slice key, const struct json_value *value,
                            struct slice *out, struct fault *fault)
{
    *out = arena_copy(arena, json_text(value));
    if (out->size > 0 && out->size <= ATTRIBUTE_NAME_SIZE_MAX)
        return true;
    static const char REFUSED[] = "ExpressionAttributeNames contains invalid value: ";
    if (out->size == 0)
        return fault_invalid(fault, "%sEmpty attribute name for key %.*s", REFUSED, SHOWN(key));
    return fault_invalid(fault,
                         "%sAttribute name is too large, must be less than %d bytes for key %.*s",
                         REFUSED, ATTRIBUTE_NAME_SIZE_MAX + 1, SHOWN(key));
}

/* Reads the keys of one map, and names. The caller reads values. */
static bool names_read_keys(struct arena *arena, const struct json_value *map, const char *what,
                            char sign, struct expression_name **out, size_t *count,
                            struct fault *fault)
{
    *count = 0;
    size_t room = json_count(map);
    if (room == 0)
        return fault_invalid(fault, "%s must not be empty", what);
    if (room > EXPRESSION_SIZE_MAX)
        return fault_invalid(fault, "%s has %zu keys: more than any expression uses", what, room);
    *out = arena_zalloc(arena, room * sizeof **out);
    struct json_cursor cursor = json_members(map);
    struct json_value value;
    struct slice key;
    while (*count < room && json_next_member(&cursor, &key, &value)) {
        if (key.size > PLACEHOLDER_SIZE_MAX)
            return fault_invalid(fault,
                                 "%s contains invalid key: The expression attribute map contains a "
                                 "key that is too long; size of key: %zu",
                                 what, key.size);
        if (!token_is_placeholder(key, sign))
            return fault_invalid(fault, "%s contains invalid key: Syntax error; key: \"%.*s\"",
                                 what, SHOWN(key));
        struct expression_name *n = &(*out)[(*count)++];
        n->key = arena_copy(arena, key);
        if (sign == '#' && !names_read_name(arena, key, &value, &n->name, fault))
            return false;
    }
    return room == 1 || value_check_names(arena, map, fault);
}

static bool names_read_value(struct arena *arena, struct slice key, const struct json_value *value,
                             struct attr *out, struct fault *fault)
{
    if (value_read_attr(arena, value, out, fault))
        return true;
    struct slice text = arena_copy(arena, buffer_slice(&fault->text));
    if (fault->alone || slice_is(text, VALUE_TOO_DEEP))
        return false; /* these texts do not name the value */
    return fault->kind == FAULT_VALIDATION &&
           fault_invalid(fault,
                         "ExpressionAttributeValues contains invalid value: %.*s for key %.*s",
                         SHOWN(text), SHOWN(key));
}

static bool names_read_values(struct expression_names *out, struct arena *arena,
                              const struct json_value *values, struct fault *fault)
{
    if (!names_read_keys(arena, values, "ExpressionAttributeValues", ':', &out->values,
                         &out->value_count, fault))
        return false;
    struct json_cursor cursor = json_members(values);
    struct json_value value;
    struct slice key;
    for (size_t i = 0; i < out->value_count && json_next_member(&cursor, &key, &value); i++) {
        if (!names_read_value(arena, key, &value, &out->values[i].value, fault))
            return false;
    }
    return true;
}

bool expression_names_read(struct expression_names *out, struct arena *arena,
                           const struct json_value *names, const struct json_value *values,
                           struct fault *fault)
{
    *out = (struct expression_names){0};
    if (names->type == JSON_OBJECT && !names_read_keys(arena, names, "ExpressionAttributeNames",
                                                       '#', &out->names, &out->name_count, fault))
        return false;
    return values->type != JSON_OBJECT || names_read_values(out, arena, values, fault);
}

static bool names_all_used(const struct expression_name *list, size_t count, const char *what,
                           struct fault *fault)
{
    struct buffer unused = {0};
    for (size_t i = 0; i < count && unused.size < SLICE_SHOWN_MAX; i++) {
        if (list[i].used)
            continue;
        if (unused.size > 0)
            buffer_append_text(&unused, ", ");
        buffer_append(&unused, list[i].key.data, (size_t)slice_shown_size(list[i].key));
    }
    bool all = unused.size == 0;
    if (!all)
        fault_invalid(fault, "Value provided in %s unused in expressions: keys: {%.*s}", what,
                      TEXT_OF(unused));
    buffer_deinit(&unused);
    return all;
}

bool expression_names_all_used(const struct expression_names *n, struct fault *fault)
{
    return names_all_used(n->names, n->name_count, "ExpressionAttributeNames", fault) &&
           names_all_used(n->values, n->value_count, "ExpressionAttributeValues", fault);
}
