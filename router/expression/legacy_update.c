/* legacy_update.c - reads AttributeUpdates and AttributesToGet. */
#include <xxhash.h>

#include "router/expression/legacy.h"
#include "router/expression/legacy_internal.h"
#include "router/json/shape.h"
#include "router/json/shapes.h"
#include "router/json/value.h"

/* ---- AttributesToGet ---- */

/* Whether the name is among those before it. Long names are compared by their hashes first. */
static bool legacy_name_repeats(const struct projection *before, const uint64_t hashes[],
                                struct slice name)
{
    const struct projection_path *at = before->paths;
    for (uint32_t i = 0; i < before->count; i++, at = at->next) {
        if (hashes[i] == hashes[before->count] && slice_equal(at->path->name, name))
            return true;
    }
    return false;
}

bool legacy_read_attributes(struct arena *arena, const struct json_value *list,
                            const struct projection **out, struct fault *fault)
{
    struct projection *p = arena_zalloc(arena, sizeof *p);
    struct projection_path **end = &p->paths;
    uint64_t *hashes = arena_alloc(arena, json_count(list) * sizeof *hashes);
    struct json_value element;
    JSON_FOREACH (element, list) { /* at most 255: shape_check */
        struct slice name = json_text(&element);
        if (!value_check_name(name, fault))
            return false;
        hashes[p->count] = XXH3_64bits_withSeed(name.data, name.size, fault->reading.seed);
        if (legacy_name_repeats(p, hashes, name))
            return fault_invalid(fault, INVALID "Duplicate value in attribute name: %.*s",
                                 SHOWN(name));
        *end = arena_zalloc(arena, sizeof **end);
        (*end)->path = legacy_path(arena, name);
        end = &(*end)->next;
        p->count++;
    }
    *out = p;
    return true;
}

/* ---- AttributeUpdates ---- */

static struct update_value *legacy_operand(struct arena *arena, enum update_value_kind kind)
{
    struct update_value *v = arena_zalloc(arena, sizeof *v);
    v->kind = kind;
    return v;
}

/* "list_append(if_not_exists(path, []), :list)" */
static struct update_value *legacy_appended(struct arena *arena, struct path_part *path,
                                            struct update_value *list)
{
    struct update_value *append = legacy_operand(arena, UPDATE_LIST_APPEND);
    append->left = legacy_operand(arena, UPDATE_IF_NOT_EXISTS);
    append->left->path = path;
    append->left->right = legacy_operand(arena, UPDATE_VALUE);
    append->left->right->value = (struct attr){ATTR_LIST, {NULL, 0}};
    append->right = list;
    return append;
}

static bool legacy_is_set(enum attr_type type)
{
    return attr_set_element(type) != 0;
}

/* Sets verb and value of the action. `value` NULL: the update has no value. */
static bool legacy_read_action(struct arena *arena, struct slice verb, struct update_value *value,
                               struct update_action *action, struct fault *fault)
{
    const enum attr_type type = value == NULL ? 0 : value->value.type;
    const bool remove = slice_is(verb, "DELETE"), add = slice_is(verb, "ADD");
    action->value = value;
    action->verb = remove && value == NULL ? UPDATE_REMOVE
                   : remove                ? UPDATE_DELETE
                   : add                   ? UPDATE_ADD
                                           : UPDATE_SET;
    if (value == NULL && !remove)
        return fault_invalid(fault, INVALID
                             "Only DELETE action is allowed when no attribute value is specified");
    if (action->verb == UPDATE_DELETE && !legacy_is_set(type))
        return fault_invalid(fault,
                             INVALID "DELETE action with value is not supported for the type %s",
                             attr_type_name(type));
    if (add && type != ATTR_LIST && type != ATTR_NUMBER && !legacy_is_set(type))
        return fault_invalid(fault, INVALID "ADD action is not supported for the type %s",
                             attr_type_name(type));
    if (add && type == ATTR_LIST) {
        action->verb = UPDATE_SET;
        action->value = legacy_appended(arena, action->path, value);
    }
    return true;
}

static bool legacy_read_update(struct arena *arena, struct slice name, const struct json_value *v,
                               struct update_action *action, struct fault *fault)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    struct update_value *value = NULL;
    shape_bind(&shape_attribute_value_update, v, m);
    action->path = legacy_path(arena, name);
    if (m[ATTRIBUTE_VALUE_UPDATE_VALUE].type != JSON_ABSENT) {
        value = legacy_operand(arena, UPDATE_VALUE);
        if (!value_read_attr(arena, &m[ATTRIBUTE_VALUE_UPDATE_VALUE], &value->value, fault))
            return false;
    }
    return legacy_read_action(arena, json_text(&m[ATTRIBUTE_VALUE_UPDATE_ACTION]), value, action,
                              fault);
}

bool legacy_read_updates(struct arena *arena, const struct json_value *map,
                         const struct update **out, struct fault *fault)
{
    struct update *u = arena_zalloc(arena, sizeof *u);
    struct update_action **end = &u->actions;
    struct json_value value;
    struct slice name;
    if (json_count(map) > EXPRESSION_OPERATORS_MAX)
        return fault_invalid(fault, "AttributeUpdates has more than %d attributes",
                             EXPRESSION_OPERATORS_MAX);
    if (!value_check_names(arena, map, fault))
        return false;
    JSON_FOREACH_MEMBER (name, value, map) {
        *end = arena_zalloc(arena, sizeof **end);
        if (!legacy_read_update(arena, name, &value, *end, fault))
            return false;
        end = &(*end)->next;
        u->count++;
    }
    *out = u;
    return true;
}
