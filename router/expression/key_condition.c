#include "router/expression/key_condition.h"

#include "engine/item/storage_key.h"
#include "router/expression/operand.h"
#include "router/key.h"
#include "router/value.h"

static const char PARAMETER[] = "KeyConditionExpression";

struct gathering {
    struct key_conditions *out;
    struct fault *fault;
};

static bool gather(struct gathering *g, const struct condition *c);

static bool refuse(struct gathering *g, const char *text)
{
    return fault_set(g->fault, FAULT_VALIDATION, "%s", text);
}

static bool invalid_operator(struct gathering *g, struct slice name)
{
    return fault_set(g->fault, FAULT_VALIDATION, "Invalid operator used in %s: %.*s", PARAMETER,
                     SHOWN(name));
}

/* What a key condition may not be at all. */
static bool check_kind(struct gathering *g, const struct condition *c)
{
    switch (c->kind) {
    case CONDITION_OR:
        return invalid_operator(g, slice_of("OR"));
    case CONDITION_NOT:
        return invalid_operator(g, slice_of("NOT"));
    case CONDITION_IN:
        return invalid_operator(g, slice_of("IN"));
    case CONDITION_COMPARE:
        return c->op != TOKEN_NE || invalid_operator(g, slice_of("<>"));
    case CONDITION_BETWEEN:
        return c->args->kind == CONDITION_PATH ||
               refuse(g, "Invalid condition in KeyConditionExpression: BETWEEN operator must have "
                         "the key attribute as its first operand");
    case CONDITION_FUNCTION:
        if (slice_is(c->name, "size"))
            return refuse(g, "KeyConditionExpressions cannot contain nested operations");
        if (!slice_is(c->name, "begins_with"))
            return invalid_operator(g, c->name);
        return c->args->kind == CONDITION_PATH ||
               refuse(g, "Invalid condition in KeyConditionExpression: begins_with operator must "
                         "have the key attribute as its first operand");
    default:
        return true;
    }
}

static enum key_operator operator_of(const struct condition *c, bool mirrored)
{
    if (c->kind == CONDITION_BETWEEN)
        return KEY_BETWEEN;
    if (c->kind == CONDITION_FUNCTION)
        return KEY_BEGINS_WITH;
    switch (c->op) {
    case TOKEN_LT:
        return mirrored ? KEY_GREATER : KEY_LESS;
    case TOKEN_LE:
        return mirrored ? KEY_GREATER_OR_EQUAL : KEY_LESS_OR_EQUAL;
    case TOKEN_GT:
        return mirrored ? KEY_LESS : KEY_GREATER;
    case TOKEN_GE:
        return mirrored ? KEY_LESS_OR_EQUAL : KEY_GREATER_OR_EQUAL;
    default:
        return KEY_EQUAL;
    }
}

/* The one attribute among the operands. */
static bool find_path(struct gathering *g, const struct condition *c, const struct condition **out)
{
    *out = NULL;
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        if (a->kind == CONDITION_FUNCTION) {
            if (!check_kind(g, a))
                return false;
        } else if (a->kind == CONDITION_PATH) {
            if (*out != NULL)
                return refuse(g, "Invalid condition in KeyConditionExpression: Multiple attribute "
                                 "names used in one condition");
            if (a->path->next != NULL)
                return refuse(g, "KeyConditionExpressions cannot have conditions on nested "
                                 "attributes");
            *out = a;
        }
    }
    return *out != NULL ||
           refuse(g, "Invalid condition in KeyConditionExpression: No key attribute specified");
}

static bool gather_condition(struct gathering *g, const struct condition *c)
{
    const struct condition *path;
    if (!find_path(g, c, &path))
        return false;
    struct key_conditions *out = g->out;
    for (uint32_t i = 0; i < out->count && i < 2; i++) {
        if (slice_equal(out->list[i].name, path->path->name))
            return refuse(g, "KeyConditionExpressions must only contain one condition per key");
    }
    if (out->count++ >= 2)
        return true; /* refused once all are seen */
    struct key_condition *k = &out->list[out->count - 1];
    *k = (struct key_condition){.name = path->path->name, .op = operator_of(c, path != c->args)};
    uint32_t values = 0;
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        if (a->kind == CONDITION_VALUE && values < 2)
            k->values[values++] = a->value;
    }
    return true;
}

static bool gather(struct gathering *g, const struct condition *c)
{
    if (!check_kind(g, c))
        return false;
    if (c->kind != CONDITION_AND)
        return gather_condition(g, c);
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        if (!gather(g, a))
            return false;
    }
    return true;
}

static const char *operator_name(enum key_operator op)
{
    static const char *const NAMES[] = {
        [KEY_EQUAL] = "EQ",
        [KEY_LESS] = "LT",
        [KEY_GREATER] = "GT",
        [KEY_LESS_OR_EQUAL] = "LE",
        [KEY_BETWEEN] = "BETWEEN",
        [KEY_GREATER_OR_EQUAL] = "GE",
        [KEY_ANY] = "",
        [KEY_BEGINS_WITH] = "BEGINS_WITH",
    };
    return NAMES[op];
}

static bool value_type_fits(const struct key_condition *k, struct fault *fault)
{
    enum attr_type type = k->values[0].type;
    bool set = type == ATTR_STRING_SET || type == ATTR_NUMBER_SET || type == ATTR_BINARY_SET;
    bool scalar = type == ATTR_STRING || type == ATTR_NUMBER || type == ATTR_BINARY;
    if (scalar || (set && k->op == KEY_EQUAL))
        return true;
    return fault_set(fault, FAULT_VALIDATION,
                     "One or more parameter values were invalid: ComparisonOperator %s is not "
                     "valid for %s AttributeValue type",
                     operator_name(k->op), value_type_name(type));
}

bool key_conditions_parse(struct slice text, struct expression_names *names, struct arena *arena,
                          struct key_conditions *out, struct fault *fault)
{
    *out = (struct key_conditions){0};
    struct gathering g = {out, fault};
    const struct condition *c = condition_parse(text, PARAMETER, names, arena, fault);
    if (c == NULL || !expression_names_all_used(names, fault) || !gather(&g, c))
        return false;
    for (uint32_t i = 0; i < out->count && i < 2; i++) {
        if (!value_type_fits(&out->list[i], fault))
            return false;
    }
    return out->count <= 2 || refuse(&g, "Conditions can be of length 1 or 2 only");
}

/* ---- against the key schema ---- */

static const struct key_condition *find(const struct key_conditions *c, struct slice name)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (slice_equal(c->list[i].name, name))
            return &c->list[i];
    }
    return NULL;
}

static bool missed(const struct key_attr *k, struct fault *fault)
{
    return fault_set(fault, FAULT_VALIDATION, "Query condition missed key schema element: %.*s",
                     SHOWN(k->name));
}

static bool values_fit(const struct key_condition *c, const struct key_attr *k, bool partition,
                       struct fault *fault)
{
    for (int i = 0; i < (c->op == KEY_BETWEEN ? 2 : 1); i++) {
        if (c->values[i].type != k->type)
            return fault_set(fault, FAULT_VALIDATION,
                             "One or more parameter values were invalid: Condition parameter type "
                             "does not match schema type");
        if (!key_attr_fits(k, partition, &c->values[i], fault))
            return false;
    }
    return true;
}

bool key_conditions_match(const struct key_conditions *c, const struct table *t,
                          struct key_condition *partition, struct key_condition *sort,
                          struct fault *fault)
{
    if (!table_has_sort_key(t) && c->count > 1)
        return fault_set(fault, FAULT_VALIDATION, "Query key condition not supported");
    const struct key_condition *found = find(c, t->partition_key.name);
    if (found == NULL)
        return missed(&t->partition_key, fault);
    if (!values_fit(found, &t->partition_key, true, fault))
        return false;
    if (found->op != KEY_EQUAL)
        return fault_set(fault, FAULT_VALIDATION, "Query key condition not supported");
    *partition = *found;
    *sort = (struct key_condition){0};
    if (c->count == 1)
        return true;
    found = find(c, t->sort_key.name);
    if (found == NULL)
        return missed(&t->sort_key, fault);
    *sort = *found;
    return values_fit(found, &t->sort_key, false, fault);
}

bool key_condition_holds(const struct key_condition *c, const struct attr *value)
{
    int order = c->op == KEY_ANY ? 0 : operand_compare(value, &c->values[0]);
    switch (c->op) {
    case KEY_EQUAL:
        return order == 0;
    case KEY_LESS:
        return order < 0;
    case KEY_LESS_OR_EQUAL:
        return order <= 0;
    case KEY_GREATER:
        return order > 0;
    case KEY_GREATER_OR_EQUAL:
        return order >= 0;
    case KEY_BETWEEN:
        return order >= 0 && operand_compare(value, &c->values[1]) <= 0;
    case KEY_BEGINS_WITH:
        return slice_starts_with(value->body, c->values[0].body);
    case KEY_ANY:
        break;
    }
    return true;
}

/* ---- bounds ---- */

/* What out gained since `start` becomes the least key that no string starting with it reaches. */
static void succeed(struct buffer *out, size_t start)
{
    struct buffer tail = {0};
    buffer_append(&tail, out->data + start, out->size - start);
    storage_key_successor(&tail);
    out->size = start;
    buffer_append_slice(out, buffer_slice(&tail));
    buffer_deinit(&tail);
}

void key_condition_append_lo(struct buffer *out, uint32_t table_id,
                             const struct key_condition *partition,
                             const struct key_condition *sort)
{
    size_t start = out->size;
    storage_key_append_collection(out, table_id, &partition->values[0]);
    switch (sort->op) {
    case KEY_ANY:
    case KEY_LESS:
    case KEY_LESS_OR_EQUAL:
        break;
    case KEY_BEGINS_WITH:
        storage_key_append_sort(out, &sort->values[0], false);
        break;
    case KEY_GREATER:
        storage_key_append_sort(out, &sort->values[0], true);
        succeed(out, start);
        break;
    default:
        storage_key_append_sort(out, &sort->values[0], true);
    }
}

void key_condition_append_hi(struct buffer *out, uint32_t table_id,
                             const struct key_condition *partition,
                             const struct key_condition *sort)
{
    size_t start = out->size;
    storage_key_append_collection(out, table_id, &partition->values[0]);
    switch (sort->op) {
    case KEY_LESS:
        storage_key_append_sort(out, &sort->values[0], true);
        return;
    case KEY_EQUAL:
    case KEY_LESS_OR_EQUAL:
        storage_key_append_sort(out, &sort->values[0], true);
        break;
    case KEY_BETWEEN:
        storage_key_append_sort(out, &sort->values[1], true);
        break;
    case KEY_BEGINS_WITH:
        storage_key_append_sort(out, &sort->values[0], false);
        break;
    default:
        break;
    }
    succeed(out, start);
}
