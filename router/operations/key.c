/* key.c - takes keys out of items by a key schema, and checks them. */
#include "router/operations/key.h"

#include "router/json/json_writer.h"
#include "router/json/value.h"

static bool key_mismatch(struct fault *fault)
{
    return fault_invalid(fault, "The provided key element does not match the schema");
}

bool key_attr_fits(const struct key_attr *schema, bool partition, const struct attr *value,
                   struct fault *fault)
{
    if (value->type != ATTR_NUMBER && value->body.size == 0)
        return fault_invalid(
            fault,
            "One or more parameter values are not valid. The AttributeValue for a key attribute "
            "cannot contain an empty %s value. Key: %.*s",
            value->type == ATTR_STRING ? "string" : "binary", SHOWN(schema->name));
    if (partition && value->body.size > PARTITION_KEY_SIZE_MAX)
        return fault_invalid(
            fault, INVALID "Size of hashkey has exceeded the maximum size limit of%d bytes",
            PARTITION_KEY_SIZE_MAX);
    if (!partition && value->body.size > SORT_KEY_SIZE_MAX)
        return fault_invalid(
            fault,
            INVALID "Aggregated size of all range keys has exceeded the size limit of %d bytes",
            SORT_KEY_SIZE_MAX);
    return true;
}

static bool key_attr_of_item(const struct key_attr *schema, struct slice item, struct attr *out,
                             struct fault *fault)
{
    if (!item_find(item, schema->name, out))
        return fault_invalid(fault, INVALID "Missing the key %.*s in the item",
                             SHOWN(schema->name));
    if (out->type != schema->type)
        return fault_invalid(fault, INVALID "Type mismatch for key %.*s expected: %s actual: %s",
                             SHOWN(schema->name), attr_type_name(schema->type),
                             attr_type_name(out->type));
    return true;
}

static bool key_sizes_fit(const struct table *t, const struct key *key, struct fault *fault)
{
    return key_attr_fits(&t->partition_key, true, &key->partition, fault) &&
           (key->sort.type == 0 || key_attr_fits(&t->sort_key, false, &key->sort, fault));
}

bool key_of_item(const struct table *t, struct slice item, struct key *out, struct fault *fault)
{
    *out = (struct key){0};
    return key_attr_of_item(&t->partition_key, item, &out->partition, fault) &&
           (!table_has_sort_key(t) || key_attr_of_item(&t->sort_key, item, &out->sort, fault)) &&
           key_sizes_fit(t, out, fault);
}

bool index_key_mismatch(const struct index *x, const struct key_attr *k, enum attr_type actual,
                        struct fault *fault)
{
    return fault_invalid(
        fault, INVALID "Type mismatch for Index Key %.*s Expected: %s Actual: %s IndexName: %.*s",
        SHOWN(k->name), attr_type_name(k->type), attr_type_name(actual), SHOWN(x->name));
}

static bool index_key_fits(const struct index *x, const struct key_attr *k,
                           const struct attr *value, struct fault *fault)
{
    if (value->type != k->type)
        return index_key_mismatch(x, k, value->type, fault);
    if (value->body.size == 0)
        return fault_invalid(
            fault,
            "One or more parameter values are not valid. A value specified for a secondary index "
            "key is not supported. The AttributeValue for a key attribute cannot contain an empty "
            "%s value. IndexName: %.*s, IndexKey: %.*s",
            value->type == ATTR_STRING ? "string" : "binary", SHOWN(x->name), SHOWN(k->name));
    return key_attr_fits(k, false, value, fault);
}

bool key_indexes_fit(const struct table *t, struct slice item, struct fault *fault)
{
    struct attr value;
    for (uint32_t i = 0; i < index_set_local(t->index_set); i++) {
        const struct index *x = &t->index_set->at[i];
        const struct key_attr *k = index_sort_key(x);
        if (item_find(item, k->name, &value) && !index_key_fits(x, k, &value, fault))
            return false;
    }
    return true;
}

static bool key_attr_is_in(const struct key_attr *schema, struct slice item)
{
    struct attr value;
    return item_find(item, schema->name, &value) && value.type == schema->type;
}

bool key_is_in_item(const struct table *t, struct slice item, struct fault *fault)
{
    return (key_attr_is_in(&t->partition_key, item) &&
            (!table_has_sort_key(t) || key_attr_is_in(&t->sort_key, item))) ||
           key_mismatch(fault);
}

/* Puts the value where the schema has an attribute of this name and type. False: nowhere. An
 * attribute may be a key of the table and of the index. */
static bool key_take_attr(const struct table *t, const struct index *x, struct slice name,
                          const struct attr *value, struct key *out)
{
    const struct key_attr *const keys[] = {&t->partition_key, &t->sort_key,
                                           x != NULL ? index_sort_key(x) : NULL};
    struct attr *const places[] = {&out->partition, &out->sort, &out->index_sort};
    bool taken = false;
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (keys[i] == NULL || !slice_equal(name, keys[i]->name) || value->type != keys[i]->type)
            continue;
        *places[i] = *value;
        taken = true;
    }
    return taken;
}

bool key_of_row_key(const struct table *t, const struct index *x, struct slice key_item,
                    struct key *out, struct fault *fault)
{
    struct attr_cursor cursor = item_attrs(key_item);
    struct slice name;
    struct attr value;
    *out = (struct key){0};
    while (attr_next(&cursor, &name, &value)) {
        if (!key_take_attr(t, x, name, &value, out))
            return key_mismatch(fault);
    }
    if (out->partition.type == 0 || (table_has_sort_key(t) && out->sort.type == 0) ||
        (x != NULL && out->index_sort.type == 0))
        return key_mismatch(fault);
    return key_sizes_fit(t, out, fault) &&
           (x == NULL || key_attr_fits(index_sort_key(x), false, &out->index_sort, fault));
}

bool key_of_key(const struct table *t, struct slice key_item, struct key *out, struct fault *fault)
{
    return key_of_row_key(t, NULL, key_item, out, fault);
}

static void key_write_attr(struct buffer *out, const struct key_attr *schema,
                           const struct attr *value)
{
    if (value->type == 0)
        return;
    json_write_name(out, schema->name);
    value_write(out, value);
}

void key_write(struct buffer *out, const struct table *t, const struct index *x,
               const struct key *key)
{
    json_write_open(out, '{');
    key_write_attr(out, &t->partition_key, &key->partition);
    key_write_attr(out, &t->sort_key, &key->sort);
    if (x != NULL && !slice_equal(index_sort_key(x)->name, t->sort_key.name))
        key_write_attr(out, index_sort_key(x), &key->index_sort);
    json_write_close(out, '}');
}
