/* expressions.c - reads all expressions of a request, in the service's order. */
#include "router/expression/expressions.h"

#include "engine/expression/program.h"
#include "engine/expression/update_program.h"
#include "router/expression/legacy.h"
#include "router/expression/names.h"

static const char *const PARAMETERS[EXPRESSION_PARAMETERS] = {
    [PARAMETER_PROJECTION] = "ProjectionExpression",
    [PARAMETER_FILTER] = "FilterExpression",
    [PARAMETER_UPDATE] = "UpdateExpression",
    [PARAMETER_CONDITION] = "ConditionExpression",
    [PARAMETER_KEY_CONDITION] = "KeyConditionExpression",
};

static const char *const LEGACY[LEGACY_PARAMETERS] = {
    [LEGACY_ATTRIBUTES_TO_GET] = "AttributesToGet",
    [LEGACY_ATTRIBUTE_UPDATES] = "AttributeUpdates",
    [LEGACY_QUERY_FILTER] = "QueryFilter",
    [LEGACY_SCAN_FILTER] = "ScanFilter",
    [LEGACY_EXPECTED] = "Expected",
    [LEGACY_CONDITIONAL_OPERATOR] = "ConditionalOperator",
    [LEGACY_KEY_CONDITIONS] = "KeyConditions",
};

/* ---- which members stand together ---- */

/* NULL: the request has no such member. */
static const struct json_value *expressions_member(const struct json_value m[], int index)
{
    return index > 0 && m[index].type != JSON_ABSENT ? &m[index] : NULL;
}

/* Values without an expression that could use them: "ConditionExpression is null". */
static bool expressions_refuse_values(const struct expression_members *of, struct fault *fault)
{
    struct buffer missing = {0};
    uint32_t count = 0;
    for (int i = PARAMETER_PROJECTION + 1; i < EXPRESSION_PARAMETERS; i++) {
        if (of->expressions[i] == 0)
            continue;
        buffer_append_format(&missing, "%s%s", count++ > 0 ? " and " : "", PARAMETERS[i]);
    }
    fault_invalid(fault,
                  "ExpressionAttributeValues can only be specified when using expressions: %.*s %s "
                  "null",
                  TEXT_OF(missing), count > 1 ? "are" : "is");
    buffer_deinit(&missing);
    return false;
}

/* Appends the names of the members that are given: "a, b". */
static void expressions_list(struct buffer *out, const struct json_value m[], const int members[],
                             const char *const names[], int count)
{
    size_t start = out->size;
    for (int i = 0; i < count; i++) {
        if (expressions_member(m, members[i]) == NULL)
            continue;
        if (out->size > start)
            buffer_append_text(out, ", ");
        buffer_append_text(out, names[i]);
    }
}

/* KeyConditions may stand beside FilterExpression and ProjectionExpression. */
static bool expressions_check_mixing(const struct expression_members *of,
                                     const struct json_value m[], struct fault *fault)
{
    struct buffer old = {0}, new = {0};
    bool key = expressions_member(m, of->expressions[PARAMETER_KEY_CONDITION]) != NULL;
    expressions_list(&old, m, of->legacy, LEGACY, key ? LEGACY_PARAMETERS : LEGACY_PARAMETERS - 1);
    expressions_list(&new, m, of->expressions, PARAMETERS, EXPRESSION_PARAMETERS);
    bool mixed = old.size > 0 && new.size > 0;
    if (mixed)
        fault_invalid(fault,
                      "Can not use both expression and non-expression parameters in the same "
                      "request: Non-expression parameters: {%.*s} Expression parameters: {%.*s}",
                      TEXT_OF(old), TEXT_OF(new));
    buffer_deinit(&old);
    buffer_deinit(&new);
    return !mixed;
}

/* The older parameter that ConditionalOperator joins. NULL: the request has none. */
static const struct json_value *expressions_joined(const struct expression_members *of,
                                                   const struct json_value m[])
{
    static const enum legacy_parameter JOINED[] = {LEGACY_EXPECTED, LEGACY_QUERY_FILTER,
                                                   LEGACY_SCAN_FILTER};
    for (size_t i = 0; i < COUNT_OF(JOINED); i++) {
        const struct json_value *map = expressions_member(m, of->legacy[JOINED[i]]);
        if (map != NULL)
            return map;
    }
    return NULL;
}

static bool expressions_check_operator(const struct expression_members *of,
                                       const struct json_value m[], struct fault *fault)
{
    const struct json_value *map = expressions_joined(of, m);
    if (expressions_member(m, of->legacy[LEGACY_CONDITIONAL_OPERATOR]) == NULL)
        return true;
    if (map == NULL)
        return fault_invalid(fault,
                             "ConditionalOperator cannot be used without Filter or Expected");
    return json_count(map) > 1 ||
           fault_invalid(fault, "ConditionalOperator can only be used when Filter or Expected has "
                                "two or more elements");
}

/* Whether the request has any of the members. */
static bool expressions_given(const struct expression_members *of, const struct json_value m[])
{
    bool given =
        expressions_member(m, of->names) != NULL || expressions_member(m, of->values) != NULL;
    for (int i = 0; i < EXPRESSION_PARAMETERS; i++)
        given |= expressions_member(m, of->expressions[i]) != NULL;
    for (int i = 0; i < LEGACY_PARAMETERS; i++)
        given |= expressions_member(m, of->legacy[i]) != NULL;
    return given;
}

bool expressions_check(const struct expression_members *of, const struct json_value m[],
                       struct expressions *out, struct fault *fault)
{
    bool any = false, with_values = false;
    out->given = expressions_given(of, m);
    if (!out->given)
        return true;
    if (!expressions_check_mixing(of, m, fault) || !expressions_check_operator(of, m, fault))
        return false;
    for (int i = 0; i < EXPRESSION_PARAMETERS; i++) {
        bool given = expressions_member(m, of->expressions[i]) != NULL;
        any |= given;
        with_values |= given && i != PARAMETER_PROJECTION;
    }
    if (!any && of->idle) {
        out->given = false;
        return true;
    }
    if (!any && expressions_member(m, of->names) != NULL)
        return fault_invalid(
            fault, "ExpressionAttributeNames can only be specified when using expressions");
    return with_values || expressions_member(m, of->values) == NULL ||
           expressions_refuse_values(of, fault);
}

/* ---- the older parameters ---- */

static bool expressions_read_old(enum legacy_parameter p, const struct json_value *member, bool any,
                                 struct arena *arena, struct expressions *out, struct fault *fault)
{
    switch (p) {
    case LEGACY_ATTRIBUTES_TO_GET:
        return legacy_read_attributes(arena, member, &out->projection, fault);
    case LEGACY_ATTRIBUTE_UPDATES:
        return legacy_read_updates(arena, member, &out->update, fault);
    case LEGACY_EXPECTED:
        return legacy_read_expected(arena, member, any, &out->condition, fault);
    default:
        return legacy_read_filter(arena, member, any, &out->condition, fault);
    }
}

bool expressions_read_legacy(const struct expression_members *of, const struct json_value m[],
                             struct arena *arena, struct expressions *out, struct fault *fault)
{
    static const enum legacy_parameter ORDER[] = {LEGACY_ATTRIBUTE_UPDATES, LEGACY_EXPECTED,
                                                  LEGACY_QUERY_FILTER, LEGACY_ATTRIBUTES_TO_GET,
                                                  LEGACY_SCAN_FILTER};
    if (!out->given)
        return true;
    const struct json_value *op = expressions_member(m, of->legacy[LEGACY_CONDITIONAL_OPERATOR]);
    const bool any = op != NULL && json_is_text(op, "OR");
    for (size_t i = 0; i < COUNT_OF(ORDER); i++) {
        const struct json_value *member = expressions_member(m, of->legacy[ORDER[i]]);
        if (member == NULL)
            continue;
        out->legacy = true;
        if (!expressions_read_old(ORDER[i], member, any, arena, out, fault))
            return false;
    }
    return true;
}

/* ---- trees ---- */

/* The text of an expression, in the arena. False: the request has no such expression. */
static bool expressions_text(const struct expression_members *of, const struct json_value m[],
                             enum expression_parameter p, struct arena *arena, struct slice *out)
{
    const struct json_value *member = expressions_member(m, of->expressions[p]);
    if (member != NULL)
        *out = arena_copy(arena, json_string(member));
    return member != NULL;
}

/* False: the fault says why. */
static bool expressions_parse(struct expressions *e, enum expression_parameter p, struct slice text,
                              struct arena *arena, const struct condition **key,
                              struct expression_fault *why)
{
    switch (p) {
    case PARAMETER_PROJECTION:
        e->projection = projection_parse(text, &e->names, arena, why);
        return e->projection != NULL;
    case PARAMETER_UPDATE:
        e->update = update_parse(text, &e->names, arena, why);
        return e->update != NULL;
    case PARAMETER_KEY_CONDITION:
        *key = condition_parse(text, &e->names, arena, why);
        return *key != NULL;
    default:
        e->condition = condition_parse(text, &e->names, arena, why);
        return e->condition != NULL;
    }
}

bool expressions_read(const struct expression_members *of, const struct json_value m[],
                      struct arena *arena, struct expressions *out, struct fault *fault)
{
    static const struct json_value ABSENT = {0};
    static const enum expression_parameter ORDER[] = {PARAMETER_UPDATE, PARAMETER_CONDITION,
                                                      PARAMETER_KEY_CONDITION, PARAMETER_FILTER,
                                                      PARAMETER_PROJECTION};
    const struct condition *key = NULL;
    struct expression_fault why;
    struct slice text;
    if (!out->given)
        return true;
    if (!expression_names_read(&out->names, arena, of->names > 0 ? &m[of->names] : &ABSENT,
                               of->values > 0 ? &m[of->values] : &ABSENT, fault))
        return false;
    for (size_t i = 0; i < COUNT_OF(ORDER); i++) {
        if (expressions_text(of, m, ORDER[i], arena, &text) &&
            !expressions_parse(out, ORDER[i], text, arena, &key, &why))
            return expression_refuse(fault, PARAMETERS[ORDER[i]], &why);
    }
    if (!expression_names_all_used(&out->names, fault))
        return false;
    const struct json_value *keys = expressions_member(m, of->legacy[LEGACY_KEY_CONDITIONS]);
    if (keys != NULL)
        return legacy_read_keys(arena, keys, &out->keys, fault);
    return key == NULL || key_conditions_gather(key, &out->keys, &why) ||
           expression_refuse(fault, PARAMETERS[PARAMETER_KEY_CONDITION], &why);
}

/* ---- programs ---- */

static bool expressions_refuse_size(struct fault *fault)
{
    return fault_invalid(fault, "The values of an expression have more than %d bytes",
                         EXPRESSION_VALUES_SIZE_MAX);
}

bool expressions_encode(struct buffer *out, const struct condition *condition, struct span *program,
                        struct fault *fault)
{
    *program = (struct span){out->size, 0};
    if (condition == NULL)
        return true;
    if (!program_encode(out, condition))
        return expressions_refuse_size(fault);
    program->size = out->size - program->at;
    return true;
}

bool expressions_encode_update(struct buffer *out, const struct update *update,
                               struct span *program, struct fault *fault)
{
    *program = (struct span){out->size, 0};
    if (update == NULL || update->count == 0)
        return true;
    if (!update_program_encode(out, update))
        return expressions_refuse_size(fault);
    program->size = out->size - program->at;
    return true;
}
