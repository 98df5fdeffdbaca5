/* key_condition.c - turns the tree of a key condition into conditions on attributes, and these into
 * bounds of storage keys. */
#include "engine/expression/key_condition.h"

#include "engine/expression/compare.h"
#include "engine/item/storage_key.h"

struct key_gathering {
    struct key_conditions *out;
    struct expression_fault *fault;
};

static bool key_refuse(struct key_gathering *g, enum expression_error error)
{
    *g->fault = (struct expression_fault){.error = error};
    return false;
}

static bool key_refuse_operator(struct key_gathering *g, struct slice name)
{
    *g->fault = (struct expression_fault){.error = EXPRESSION_KEY_OPERATOR, .text = name};
    return false;
}

/* Refuses operators and functions that a key condition may not have. */
static bool key_check_kind(struct key_gathering *g, const struct condition *c)
{
    switch (c->kind) {
    case CONDITION_OR:
        return key_refuse_operator(g, slice_of("OR"));
    case CONDITION_NOT:
        return key_refuse_operator(g, slice_of("NOT"));
    case CONDITION_IN:
        return key_refuse_operator(g, slice_of("IN"));
    case CONDITION_COMPARE:
        return c->op != TOKEN_NE || key_refuse_operator(g, slice_of("<>"));
    case CONDITION_BETWEEN:
        return c->args->kind == CONDITION_PATH || key_refuse(g, EXPRESSION_KEY_BETWEEN);
    case CONDITION_FUNCTION:
        if (c->function == FUNCTION_SIZE)
            return key_refuse(g, EXPRESSION_KEY_FUNCTION);
        if (c->function != FUNCTION_BEGINS_WITH)
            return key_refuse_operator(g, c->name);
        return c->args->kind == CONDITION_PATH || key_refuse(g, EXPRESSION_KEY_BEGINS_WITH);
    default:
        return true;
    }
}

static enum key_operator key_operator_of(const struct condition *c, bool mirrored)
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

/* Finds the only attribute among the operands. */
static bool key_find_path(struct key_gathering *g, const struct condition *c,
                          const struct condition **out)
{
    *out = NULL;
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        if (a->kind == CONDITION_FUNCTION) {
            if (!key_check_kind(g, a))
                return false;
        } else if (a->kind == CONDITION_PATH) {
            if (*out != NULL)
                return key_refuse(g, EXPRESSION_KEY_TWO_PATHS);
            if (a->path->next != NULL)
                return key_refuse(g, EXPRESSION_KEY_NESTED);
            *out = a;
        }
    }
    return *out != NULL || key_refuse(g, EXPRESSION_KEY_NO_PATH);
}

static bool key_gather_one(struct key_gathering *g, const struct condition *c)
{
    const struct condition *path;
    if (!key_find_path(g, c, &path))
        return false;
    struct key_conditions *out = g->out;
    for (uint32_t i = 0; i < out->count && i < COUNT_OF(out->list); i++) {
        if (slice_equal(out->list[i].name, path->path->name))
            return key_refuse(g, EXPRESSION_KEY_TWO_CONDITIONS);
    }
    if (out->count++ >= COUNT_OF(out->list))
        return true; /* refused at the end */
    struct key_condition *k = &out->list[out->count - 1];
    must(path->path != NULL);
    *k =
        (struct key_condition){.name = path->path->name, .op = key_operator_of(c, path != c->args)};
    uint32_t values = 0;
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        if (a->kind == CONDITION_VALUE && values < 2)
            k->values[values++] = a->value;
    }
    return true;
}

static bool key_gather(struct key_gathering *g, const struct condition *c)
{
    if (!key_check_kind(g, c))
        return false;
    if (c->kind != CONDITION_AND)
        return key_gather_one(g, c);
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        if (!key_gather(g, a))
            return false;
    }
    return true;
}

static bool key_check_value(struct key_gathering *g, const struct key_condition *k)
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
    must(k->op < COUNT_OF(NAMES));
    enum attr_type type = k->values[0].type;
    if (attr_is_ordered(type) || (attr_set_element(type) != 0 && k->op == KEY_EQUAL))
        return true;
    *g->fault = (struct expression_fault){
        .error = EXPRESSION_KEY_VALUE_TYPE, .text = slice_of(NAMES[k->op]), .type = type};
    return false;
}

bool key_conditions_gather(const struct condition *tree, struct key_conditions *out,
                           struct expression_fault *fault)
{
    struct key_gathering g = {out, fault};
    *out = (struct key_conditions){0};
    if (!key_gather(&g, tree))
        return false;
    for (uint32_t i = 0; i < out->count && i < COUNT_OF(out->list); i++) {
        if (!key_check_value(&g, &out->list[i]))
            return false;
        must(out->list[i].op != KEY_ANY);
    }
    return out->count <= COUNT_OF(out->list) || key_refuse(&g, EXPRESSION_KEY_COUNT);
}

bool key_condition_holds(const struct key_condition *c, const struct attr *value)
{
    int order =
        c->op == KEY_ANY || c->op == KEY_NOT_INDEXABLE ? 0 : attr_compare(value, &c->values[0]);
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
        return order >= 0 && attr_compare(value, &c->values[1]) <= 0;
    case KEY_BEGINS_WITH:
        return slice_starts_with(value->body, c->values[0].body);
    case KEY_ANY:
    case KEY_NOT_INDEXABLE:
        break;
    }
    return true;
}

/* ---- bounds ---- */

void key_condition_bound_lo(struct buffer *key, const struct key_condition *sort)
{
    must(key->size > 0);
    must(sort->op != KEY_NOT_INDEXABLE);
    switch (sort->op) {
    case KEY_ANY:
    case KEY_LESS:
    case KEY_LESS_OR_EQUAL:
        break;
    case KEY_BEGINS_WITH:
        storage_key_append_sort(key, &sort->values[0], false);
        break;
    case KEY_GREATER:
        storage_key_append_sort(key, &sort->values[0], true);
        storage_key_successor(key);
        break;
    default:
        storage_key_append_sort(key, &sort->values[0], true);
    }
}

void key_condition_bound_hi(struct buffer *key, const struct key_condition *sort)
{
    must(key->size > 0);
    must(sort->op != KEY_NOT_INDEXABLE);
    switch (sort->op) {
    case KEY_LESS:
        storage_key_append_sort(key, &sort->values[0], true);
        return;
    case KEY_EQUAL:
    case KEY_LESS_OR_EQUAL:
        storage_key_append_sort(key, &sort->values[0], true);
        break;
    case KEY_BETWEEN:
        storage_key_append_sort(key, &sort->values[1], true);
        break;
    case KEY_BEGINS_WITH:
        storage_key_append_sort(key, &sort->values[0], false);
        break;
    default:
        break;
    }
    storage_key_successor(key);
}
