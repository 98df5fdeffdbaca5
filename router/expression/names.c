/* names.c - reads ExpressionAttributeNames and ExpressionAttributeValues from JSON. */
#include "router/expression/names.h"

#include <ctype.h>

#include "router/json/value.h"

static bool names_key_is_valid(struct slice key, char sign)
{
    if (key.size < 2 || key.data[0] != (uint8_t)sign)
        return false;
    for (size_t i = 1; i < key.size; i++) {
        uint8_t c = key.data[i];
        if (!isalnum(c) && c != '_')
            return false;
    }
    return true;
}

/* Reads the keys of one map, and values that are strings. The caller reads other values. */
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
        if (!names_key_is_valid(key, sign))
            return fault_invalid(fault, "%s contains invalid key: Syntax error; key: \"%.*s\"",
                                 what, SHOWN(key));
        struct expression_name *n = &(*out)[(*count)++];
        n->key = arena_copy(arena, key);
        if (value.type == JSON_STRING && json_string(&value).size == 0)
            return fault_invalid(fault,
                                 "%s contains invalid value: Empty attribute name; key: \"%.*s\"",
                                 what, SHOWN(key));
        if (value.type == JSON_STRING)
            n->name = arena_copy(arena, json_string(&value));
    }
    return true;
}

/* Reads one attribute value. It lies in the arena, encoded as the only attribute of an item. */
static bool names_read_value(struct arena *arena, struct slice key, const struct json_value *value,
                             struct attr *out, struct fault *fault)
{
    struct buffer encoded = {0};
    struct span span;
    bool read = value_read_item_of_one(&encoded, arena, value, &span, fault);
    if (read) {
        struct slice item = arena_copy(arena, span_in(&encoded, span));
        struct attr_cursor cursor = item_attrs(item);
        struct slice name;
        attr_next(&cursor, &name, out);
    } else if (fault->kind == FAULT_VALIDATION) {
        struct slice text = arena_copy(arena, buffer_slice(&fault->text));
        fault_invalid(fault, "ExpressionAttributeValues contains invalid value: %.*s for key %.*s",
                      SHOWN(text), SHOWN(key));
    }
    buffer_deinit(&encoded);
    return read;
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

bool expression_names_absent(const struct json_value *names, const struct json_value *values,
                             const char *missing, struct fault *fault)
{
    if (names->type != JSON_ABSENT)
        return fault_invalid(
            fault, "ExpressionAttributeNames can only be specified when using expressions");
    return values == NULL || values->type == JSON_ABSENT ||
           fault_invalid(
               fault, "ExpressionAttributeValues can only be specified when using expressions: %s",
               missing);
}

static bool names_all_used(const struct expression_name *list, size_t count, const char *what,
                           struct fault *fault)
{
    struct buffer unused = {0};
    for (size_t i = 0; i < count && unused.size < FAULT_SHOWN_MAX; i++) {
        if (list[i].used)
            continue;
        if (unused.size > 0)
            buffer_append_text(&unused, ", ");
        buffer_append(&unused, list[i].key.data, (size_t)fault_shown_size(list[i].key));
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
