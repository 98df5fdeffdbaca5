/* key_schema.c - checks expressions against a table's key schema. */
#include "router/expression/key_schema.h"

#include "router/operations/key.h"

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
    if (c->op == KEY_NOT_INDEXABLE)
        return fault_invalid(fault,
                             "Attempted conditional constraint is not an indexable operation");
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

/* ---- other expressions ---- */

static bool key_is_scalar(const struct key_attr *k, struct fault *fault)
{
    return fault_invalid(fault,
                         "Key attributes must be scalars; list random access '[]' and map lookup "
                         "'.' are not allowed: Key: %.*s",
                         SHOWN(k->name));
}

/* The key attributes of the table. */
static uint32_t key_attrs_of(const struct table *t, const struct key_attr *out[2])
{
    out[0] = &t->partition_key;
    out[1] = &t->sort_key;
    return table_has_sort_key(t) ? 2 : 1;
}

bool key_paths_of_projection(const struct projection *p, const struct table *t, struct fault *fault)
{
    const struct key_attr *keys[2];
    uint32_t count = p != NULL ? key_attrs_of(t, keys) : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (projection_uses(p, keys[i]->name))
            return key_is_scalar(keys[i], fault);
    }
    return true;
}

bool key_paths_of_update(const struct update *u, const struct table *t, struct fault *fault)
{
    const struct key_attr *keys[2];
    uint32_t count = u != NULL ? key_attrs_of(t, keys) : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (update_changes(u, keys[i]->name))
            return fault_invalid(fault,
                                 INVALID "Cannot update attribute %.*s. This attribute is part of "
                                         "the key",
                                 SHOWN(keys[i]->name));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (update_uses(u, keys[i]->name))
            return key_is_scalar(keys[i], fault);
    }
    return true;
}

bool key_paths_of_filter(const struct condition *c, const struct table *t, const char *no_keys,
                         struct fault *fault)
{
    const struct key_attr *keys[2];
    uint32_t count = c != NULL ? key_attrs_of(t, keys) : 0;
    for (uint32_t i = 0; i < count && no_keys != NULL; i++) {
        if (condition_uses(c, keys[i]->name, false))
            return fault_invalid(fault,
                                 "%s can only contain non-primary key attributes: Primary key "
                                 "attribute: %.*s",
                                 no_keys, SHOWN(keys[i]->name));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (condition_uses(c, keys[i]->name, true))
            return key_is_scalar(keys[i], fault);
    }
    return true;
}
