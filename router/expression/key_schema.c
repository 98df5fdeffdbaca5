/* key_schema.c - checks key conditions against a table's key schema. */
#include "router/expression/key_schema.h"

#include "router/expression/names.h"
#include "router/operations/key.h"

bool key_conditions_read(struct slice text, struct expression_names *names, struct arena *arena,
                         struct key_conditions *out, struct fault *fault)
{
    struct expression_fault wrong;
    const struct condition *c = condition_parse(text, names, arena, &wrong);
    if (c == NULL)
        return expression_refuse(fault, "KeyConditionExpression", &wrong);
    return expression_names_all_used(names, fault) &&
           (key_conditions_gather(c, out, &wrong) ||
            expression_refuse(fault, "KeyConditionExpression", &wrong));
}

static const struct key_condition *key_condition_find(const struct key_conditions *c,
                                                      struct slice name)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (slice_equal(c->list[i].name, name))
            return &c->list[i];
    }
    return NULL;
}

static bool key_missed(const struct key_attr *k, struct fault *fault)
{
    return fault_invalid(fault, "Query condition missed key schema element: %.*s", SHOWN(k->name));
}

static bool key_values_fit(const struct key_condition *c, const struct key_attr *k, bool partition,
                           struct fault *fault)
{
    for (int i = 0; i < (c->op == KEY_BETWEEN ? 2 : 1); i++) {
        if (c->values[i].type != k->type)
            return fault_invalid(fault,
                                 INVALID "Condition parameter type does not match schema type");
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
        return fault_invalid(fault, "Query key condition not supported");
    const struct key_condition *found = key_condition_find(c, t->partition_key.name);
    if (found == NULL)
        return key_missed(&t->partition_key, fault);
    if (!key_values_fit(found, &t->partition_key, true, fault))
        return false;
    if (found->op != KEY_EQUAL)
        return fault_invalid(fault, "Query key condition not supported");
    *partition = *found;
    *sort = (struct key_condition){0};
    if (c->count == 1)
        return true;
    found = key_condition_find(c, t->sort_key.name);
    if (found == NULL)
        return key_missed(&t->sort_key, fault);
    *sort = *found;
    return key_values_fit(found, &t->sort_key, false, fault);
}
