/* key_schema.c - checks expressions against a table's key schema. */
#include "router/core/key_schema.h"

#include "router/core/key.h"

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

bool key_condition_fits(const struct key_condition *c, const struct key_attr *k, bool partition,
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

struct key_schema key_schema_of(const struct table *t, const struct index *x)
{
    struct key_schema schema = {1, table_has_sort_key(t) ? 1 : 0, {t->partition_key, t->sort_key}};
    if (x == NULL)
        return schema;
    schema.partition_count = x->partition_count;
    schema.sort_count = x->sort_count;
    memcpy(schema.keys, x->keys, sizeof schema.keys);
    return schema;
}

bool key_conditions_are_few(const struct key_conditions *c, struct fault *fault)
{
    return c->count <= 2 || fault_invalid(fault, "Conditions can be of length 1 or 2 only");
}

static bool key_not_supported(struct fault *fault)
{
    return fault_invalid(fault, "Query key condition not supported");
}

/* The partition key: each attribute has a value. */
static bool key_match_partition(const struct key_conditions *c, const struct key_schema *k,
                                struct key_matches *out, struct fault *fault)
{
    while (out->count < k->partition_count) {
        const struct key_attr *key = &k->keys[out->count];
        const struct key_condition *found = key_condition_find(c, key->name);
        if (found == NULL)
            return key_missed(key, fault);
        if (!key_condition_fits(found, key, true, fault))
            return false;
        if (found->op != KEY_EQUAL)
            return key_not_supported(fault);
        out->of[out->count++] = *found;
    }
    return true;
}

/* A condition on a later attribute of the sort key needs equalities on all before it. */
static bool key_sort_has_gap(const struct key_conditions *c, const struct key_schema *k,
                             uint32_t place, struct fault *fault)
{
    for (uint32_t i = place + 1; i < k->partition_count + k->sort_count; i++) {
        if (key_condition_find(c, k->keys[i].name) == NULL)
            continue;
        fault_invalid(
            fault,
            "RANGE key attributes %.*s must have equality conditions specified in the query "
            "because a condition is present on key attribute %.*s",
            SHOWN(k->keys[place].name), SHOWN(k->keys[i].name));
        return true;
    }
    return false;
}

/* The sort key: conditions from the left, of which only the last may be no equality. */
static bool key_match_sort(const struct key_conditions *c, const struct key_schema *k,
                           struct key_matches *out, struct fault *fault)
{
    while (out->count < c->count && out->count < k->partition_count + k->sort_count) {
        const struct key_attr *key = &k->keys[out->count];
        const struct key_condition *found = key_condition_find(c, key->name);
        if ((found == NULL || found->op != KEY_EQUAL) && key_sort_has_gap(c, k, out->count, fault))
            return false;
        if (found == NULL)
            return key_missed(key, fault);
        if (!key_condition_fits(found, key, false, fault))
            return false;
        out->of[out->count++] = *found;
        if (found->op != KEY_EQUAL && out->count < c->count)
            return key_not_supported(fault);
    }
    return true;
}

/* The bytes of the values of the keys from `first` on. */
static size_t key_values_size(const struct key_matches *m, uint32_t first, uint32_t end)
{
    size_t size = 0;
    for (uint32_t i = first; i < end && i < m->count; i++) {
        const struct key_condition *c = &m->of[i];
        const size_t upper = c->op == KEY_BETWEEN ? c->values[1].body.size : 0;
        size += MAX(c->values[0].body.size, upper);
    }
    return size;
}

bool key_matches_fit(const struct key_matches *m, const struct key_schema *k, struct fault *fault)
{
    const uint32_t keys = k->partition_count + k->sort_count;
    return key_sizes_fit(key_values_size(m, 0, k->partition_count),
                         key_values_size(m, k->partition_count, keys), fault);
}

bool key_conditions_match(const struct key_conditions *c, const struct key_schema *k,
                          struct key_matches *out, struct fault *fault)
{
    const uint32_t keys = k->partition_count + k->sort_count;
    *out = (struct key_matches){0};
    if (keys <= 2 && !key_conditions_are_few(c, fault))
        return false;
    if (c->count > keys)
        return key_not_supported(fault);
    return key_match_partition(c, k, out, fault) && key_match_sort(c, k, out, fault) &&
           key_matches_fit(out, k, fault);
}

/* ---- other expressions ---- */

static bool key_is_scalar(const char *which, const struct key_attr *k, struct fault *fault)
{
    return fault_invalid(fault,
                         "Key attributes must be scalars; list random access '[]' and map lookup "
                         "'.' are not allowed: %s: %.*s",
                         which, SHOWN(k->name));
}

/* What a path leads into. */
struct key_paths {
    const void *expression;
    bool (*uses)(const void *expression, struct slice name);
};

/* Refuses paths that lead into a key attribute of the table or of an index. */
static bool key_paths_are_scalar(const struct key_paths *paths, const struct table *t,
                                 struct fault *fault)
{
    const struct key_attr *keys[2] = {&t->partition_key, &t->sort_key};
    for (uint32_t i = 0; i < (table_has_sort_key(t) ? 2 : 1); i++) {
        if (paths->uses(paths->expression, keys[i]->name))
            return key_is_scalar("Key", keys[i], fault);
    }
    for (uint32_t i = 0; t->index_set != NULL && i < t->index_set->count; i++) {
        const struct index *x = &t->index_set->at[i];
        for (uint32_t j = 0; j < x->partition_count + x->sort_count; j++) {
            if (paths->uses(paths->expression, x->keys[j].name))
                return key_is_scalar("IndexKey", &x->keys[j], fault);
        }
    }
    return true;
}

static bool paths_in_projection(const void *expression, struct slice name)
{
    return projection_uses(expression, name);
}

bool key_paths_of_projection(const struct projection *p, const struct table *t, struct fault *fault)
{
    const struct key_paths paths = {p, paths_in_projection};
    return p == NULL || key_paths_are_scalar(&paths, t, fault);
}

static bool paths_in_update(const void *expression, struct slice name)
{
    return update_uses(expression, name) || update_changes_part(expression, name);
}

/* Refuses values that the text of the update alone shows to be of a wrong type. The others are
 * refused where the update is applied. */
static bool key_values_of_update(const struct update *u, const struct table *t, struct fault *fault)
{
    for (uint32_t i = 0; t->index_set != NULL && i < t->index_set->count; i++) {
        const struct index *x = &t->index_set->at[i];
        for (uint32_t j = 0; j < x->partition_count + x->sort_count; j++) {
            const enum attr_type type = update_value_type(u, x->keys[j].name);
            if (type != 0 && type != x->keys[j].type)
                return index_key_mismatch(x, &x->keys[j], type, fault);
        }
    }
    return true;
}

bool key_paths_of_update(const struct update *u, const struct table *t, struct fault *fault)
{
    const struct key_attr *keys[2] = {&t->partition_key, &t->sort_key};
    const struct key_paths paths = {u, paths_in_update};
    for (uint32_t i = 0; u != NULL && i < (table_has_sort_key(t) ? 2 : 1); i++) {
        if (update_changes(u, keys[i]->name))
            return fault_invalid(fault,
                                 INVALID "Cannot update attribute %.*s. This attribute is part of "
                                         "the key",
                                 SHOWN(keys[i]->name));
    }
    return u == NULL ||
           (key_paths_are_scalar(&paths, t, fault) && key_values_of_update(u, t, fault));
}

static bool paths_in_condition(const void *expression, struct slice name)
{
    return condition_uses(expression, name, true);
}

bool key_paths_of_filter(const struct condition *c, const struct table *t,
                         const struct key_schema *k, const char *no_keys, struct fault *fault)
{
    const uint32_t keys = k->partition_count + k->sort_count;
    const struct key_paths paths = {c, paths_in_condition};
    for (uint32_t i = 0; c != NULL && no_keys != NULL && i < keys; i++) {
        if (k->keys[i].name.size > 0 && condition_uses(c, k->keys[i].name, false))
            return fault_invalid(fault,
                                 "%s can only contain non-primary key attributes: Primary key "
                                 "attribute: %.*s",
                                 no_keys, SHOWN(k->keys[i].name));
    }
    return c == NULL || key_paths_are_scalar(&paths, t, fault);
}
