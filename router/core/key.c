/* key.c - takes keys out of items by a key schema, and checks them. */
#include "router/core/key.h"

#include "router/json/json_writer.h"
#include "router/json/value.h"

static bool key_mismatch(struct fault *fault)
{
    return fault_invalid(fault, "The provided key element does not match the schema");
}

bool key_sizes_fit(size_t partition, size_t sort, struct fault *fault)
{
    if (partition > PARTITION_KEY_SIZE_MAX)
        return fault_invalid(
            fault, INVALID "Size of hashkey has exceeded the maximum size limit of%d bytes",
            PARTITION_KEY_SIZE_MAX);
    if (sort > SORT_KEY_SIZE_MAX)
        return fault_invalid(
            fault,
            INVALID "Aggregated size of all range keys has exceeded the size limit of %d bytes",
            SORT_KEY_SIZE_MAX);
    return true;
}

static bool key_attr_is_filled(const struct key_attr *schema, const struct attr *value,
                               struct fault *fault)
{
    return value->type == ATTR_NUMBER || value->body.size > 0 ||
           fault_invalid(
               fault,
               "One or more parameter values are not valid. The AttributeValue for a key attribute "
               "cannot contain an empty %s value. Key: %.*s",
               value->type == ATTR_STRING ? "string" : "binary", SHOWN(schema->name));
}

bool key_attr_fits(const struct key_attr *schema, bool partition, const struct attr *value,
                   struct fault *fault)
{
    return key_attr_is_filled(schema, value, fault) &&
           key_sizes_fit(partition ? value->body.size : 0, partition ? 0 : value->body.size, fault);
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

static bool key_fits(const struct table *t, const struct key *key, struct fault *fault)
{
    return key_attr_fits(&t->partition_key, true, &key->partition, fault) &&
           (key->sort.type == 0 || key_attr_fits(&t->sort_key, false, &key->sort, fault));
}

bool key_of_item(const struct table *t, struct slice item, struct key *out, struct fault *fault)
{
    *out = (struct key){0};
    return key_attr_of_item(&t->partition_key, item, &out->partition, fault) &&
           (!table_has_sort_key(t) || key_attr_of_item(&t->sort_key, item, &out->sort, fault)) &&
           key_fits(t, out, fault);
}

bool index_key_mismatch(const struct index *x, const struct key_attr *k, enum attr_type actual,
                        struct fault *fault)
{
    return fault_invalid(
        fault, INVALID "Type mismatch for Index Key %.*s Expected: %s Actual: %s IndexName: %.*s",
        SHOWN(k->name), attr_type_name(k->type), attr_type_name(actual), SHOWN(x->name));
}

static bool index_key_is_filled(const struct index *x, const struct key_attr *k,
                                const struct attr *value, struct fault *fault)
{
    return value->body.size > 0 ||
           fault_invalid(
               fault,
               "One or more parameter values are not valid. A value specified for a secondary "
               "index "
               "key is not supported. The AttributeValue for a key attribute cannot contain an "
               "empty %s value. IndexName: %.*s, IndexKey: %.*s",
               value->type == ATTR_STRING ? "string" : "binary", SHOWN(x->name), SHOWN(k->name));
}

/* The values of the index's keys that the item has. */
static bool index_keys_fit(const struct index *x, struct slice item, struct fault *fault)
{
    struct attr value;
    size_t sizes[2] = {0, 0}; /* of partition key and sort key */
    for (uint32_t i = 0; i < x->partition_count + x->sort_count; i++) {
        const struct key_attr *k = &x->keys[i];
        if (!item_find(item, k->name, &value))
            continue;
        if (value.type != k->type)
            return index_key_mismatch(x, k, value.type, fault);
        if (!index_key_is_filled(x, k, &value, fault))
            return false;
        sizes[i < x->partition_count ? 0 : 1] += value.body.size;
    }
    return key_sizes_fit(sizes[0], sizes[1], fault);
}

bool key_indexes_fit(const struct table *t, struct slice item, struct fault *fault)
{
    for (uint32_t i = 0; t->index_set != NULL && i < t->index_set->count; i++) {
        if (!index_keys_fit(&t->index_set->at[i], item, fault))
            return false;
    }
    return true;
}

/* Whether the item has a value of the key's type. */
static bool key_attr_find(const struct key_attr *schema, struct slice item, struct attr *value)
{
    return item_find(item, schema->name, value) && value->type == schema->type;
}

bool key_attrs_are_filled(const struct table *t, struct slice item, struct fault *fault)
{
    const struct key_attr *keys[2] = {&t->partition_key, &t->sort_key};
    struct attr value;
    for (uint32_t i = 0; i < (table_has_sort_key(t) ? 2 : 1); i++) {
        if (key_attr_find(keys[i], item, &value) && !key_attr_is_filled(keys[i], &value, fault))
            return false;
    }
    for (uint32_t i = 0; t->index_set != NULL && i < t->index_set->count; i++) {
        const struct index *x = &t->index_set->at[i];
        for (uint32_t j = 0; j < x->partition_count + x->sort_count; j++) {
            if (key_attr_find(&x->keys[j], item, &value) &&
                !index_key_is_filled(x, &x->keys[j], &value, fault))
                return false;
        }
    }
    return true;
}

bool key_is_in_item(const struct table *t, struct slice item, struct fault *fault)
{
    struct attr value;
    return (key_attr_find(&t->partition_key, item, &value) &&
            (!table_has_sort_key(t) || key_attr_find(&t->sort_key, item, &value))) ||
           key_mismatch(fault);
}

static bool key_take_attr(const struct key_attr *schema, struct slice name,
                          const struct attr *value, struct attr *out)
{
    const bool taken = slice_equal(name, schema->name) && value->type == schema->type;
    if (taken)
        *out = *value;
    return taken;
}

/* Puts the value wherever table and index have a key of this name and type. False: nowhere. An
 * attribute may be a key of both. */
static bool key_take_row_attr(const struct table *t, const struct index *x, struct slice name,
                              const struct attr *value, struct key *out)
{
    bool taken = key_take_attr(&t->partition_key, name, value, &out->partition);
    taken |= key_take_attr(&t->sort_key, name, value, &out->sort);
    for (uint32_t i = 0; x != NULL && i < x->partition_count + x->sort_count; i++)
        taken |= key_take_attr(&x->keys[i], name, value, &out->index[i]);
    return taken;
}

static bool row_key_fits(const struct index *x, const struct key *key, struct fault *fault)
{
    size_t sizes[2] = {0, 0}; /* of partition key and sort key */
    for (uint32_t i = 0; i < x->partition_count + x->sort_count; i++) {
        const bool partition = i < x->partition_count;
        if (!key_attr_fits(&x->keys[i], partition, &key->index[i], fault))
            return false;
        sizes[partition ? 0 : 1] += key->index[i].body.size;
    }
    return key_sizes_fit(sizes[0], sizes[1], fault);
}

bool key_of_row_key(const struct table *t, const struct index *x, struct slice key_item,
                    struct key *out, struct fault *fault)
{
    struct slice name;
    struct attr value;
    *out = (struct key){0};
    for (struct attr_cursor cursor = item_attrs(key_item); attr_next(&cursor, &name, &value);) {
        if (!key_take_row_attr(t, x, name, &value, out))
            return key_mismatch(fault);
    }
    bool whole = out->partition.type != 0 && (!table_has_sort_key(t) || out->sort.type != 0);
    for (uint32_t i = 0; x != NULL && i < x->partition_count + x->sort_count; i++)
        whole &= out->index[i].type != 0;
    return (whole || key_mismatch(fault)) && key_fits(t, out, fault) &&
           (x == NULL || row_key_fits(x, out, fault));
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

/* Whether the key is one of the table, or stands before in the index. */
static bool key_was_written(const struct table *t, const struct index *x, uint32_t place)
{
    const struct slice name = x->keys[place].name;
    bool was = slice_equal(name, t->partition_key.name) || slice_equal(name, t->sort_key.name);
    for (uint32_t i = 0; i < place && !was; i++)
        was = slice_equal(name, x->keys[i].name);
    return was;
}

void key_write(struct buffer *out, const struct table *t, const struct index *x,
               const struct key *key)
{
    json_write_open(out, '{');
    key_write_attr(out, &t->partition_key, &key->partition);
    key_write_attr(out, &t->sort_key, &key->sort);
    for (uint32_t i = 0; x != NULL && i < x->partition_count + x->sort_count; i++) {
        if (!key_was_written(t, x, i))
            key_write_attr(out, &x->keys[i], &key->index[i]);
    }
    json_write_close(out, '}');
}

static void key_append_attr(struct item_writer *w, const struct key_attr *schema,
                            const struct attr *value)
{
    if (value->type == 0)
        return;
    item_name(w, schema->name);
    item_attr(w, value);
}

void key_append_row_item(struct buffer *out, const struct table *t, const struct index *x,
                         const struct key *key)
{
    struct item_writer w;
    item_begin(&w, out);
    key_append_attr(&w, &t->partition_key, &key->partition);
    key_append_attr(&w, &t->sort_key, &key->sort);
    for (uint32_t i = 0; x != NULL && i < x->partition_count + x->sort_count; i++) {
        if (!key_was_written(t, x, i))
            key_append_attr(&w, &x->keys[i], &key->index[i]);
    }
    item_end(&w);
}
