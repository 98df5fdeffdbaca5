/* row.c - the rows of indexes: their keys, and what they show of an item. */
#include "engine/index/row.h"

#include "engine/item/element_table.h"
#include "engine/item/equal.h"
#include "engine/item/storage_key.h"

enum index_keys index_keys_of(const struct index *x, struct slice item,
                              struct attr values[2 * INDEX_KEYS_MAX])
{
    bool type = false, empty = false, absent = false;
    size_t partition = 0, sort = 0;
    for (uint32_t i = 0; i < x->partition_count + x->sort_count; i++) {
        const struct attr *v = &values[i];
        if (item.size == 0 || !item_find(item, x->keys[i].name, &values[i])) {
            absent = true;
            continue;
        }
        type |= v->type != x->keys[i].type;
        empty |= v->body.size == 0;
        *(i < x->partition_count ? &partition : &sort) += v->body.size;
    }
    if (type)
        return INDEX_KEYS_TYPE;
    if (empty)
        return INDEX_KEYS_EMPTY;
    if (partition > PARTITION_KEY_SIZE_MAX || sort > SORT_KEY_SIZE_MAX)
        return INDEX_KEYS_SIZE;
    return absent ? INDEX_KEYS_ABSENT : INDEX_KEYS_COMPLETE;
}

bool index_sort_of(const struct index *x, struct slice item, struct attr *out)
{
    return item.size > 0 && item_find(item, index_sort_key(x)->name, out) &&
           out->type == index_sort_key(x)->type;
}

void index_row_append_key(struct buffer *out, const struct index *x, struct slice item_key,
                          const struct attr *sort)
{
    const size_t prefix = storage_key_collection_size(item_key);
    storage_key_append_in_space(out, x->number, slice_make(item_key.data, prefix));
    storage_key_append_sort(out, sort, true);
    buffer_append(out, item_key.data + prefix, item_key.size - prefix);
}

struct attr index_global_partition(const struct index *x, const struct attr values[],
                                   struct buffer *scratch)
{
    if (x->partition_count == 1)
        return values[0];
    buffer_clear(scratch);
    for (uint32_t i = 0; i < x->partition_count; i++)
        storage_key_append_sort(scratch, &values[i], true);
    return (struct attr){ATTR_BINARY, buffer_slice(scratch)};
}

bool index_global_append_key(struct buffer *out, const struct index *x, struct slice item_key,
                             struct slice item)
{
    struct attr values[2 * INDEX_KEYS_MAX];
    const uint32_t count = x->partition_count + x->sort_count;
    if (index_keys_of(x, item, values) != INDEX_KEYS_COMPLETE)
        return false;
    struct buffer scratch = {0};
    const struct attr partition = index_global_partition(x, values, &scratch);
    storage_key_append_collection(out, x->table_id, &partition);
    buffer_deinit(&scratch);
    for (uint32_t i = x->partition_count; i < count; i++)
        storage_key_append_sort(out, &values[i], true);
    storage_key_skip_hash(&item_key);
    buffer_append_slice(out, item_key);
    return true;
}

bool index_shows(const struct index_set *set, const struct index *x, struct slice name)
{
    if (x->projection == PROJECT_ALL || slice_equal(name, set->partition_key.name) ||
        slice_equal(name, set->sort_key.name))
        return true;
    for (uint32_t i = 0; i < x->partition_count + x->sort_count; i++) {
        if (slice_equal(name, x->keys[i].name))
            return true;
    }
    struct reader names = {x->names, false};
    while (names.left.size > 0) {
        if (slice_equal(reader_sized(&names), name))
            return true;
    }
    return false;
}

/* The next attribute of the item that the row shows. */
static bool row_next(const struct index_set *set, const struct index *x, struct attr_cursor *c,
                     struct slice *name, struct attr *value)
{
    while (attr_next(c, name, value)) {
        if (index_shows(set, x, *name))
            return true;
    }
    return false;
}

uint32_t index_row_append(struct buffer *out, const struct index_set *set, const struct index *x,
                          struct slice item)
{
    struct item_writer w;
    struct attr_cursor c = item_attrs(item);
    struct slice name;
    struct attr value;
    if (x->projection == PROJECT_ALL) {
        buffer_append_slice(out, item);
        return item_size(item);
    }
    item_begin(&w, out);
    while (row_next(set, x, &c, &name, &value)) {
        item_name(&w, name);
        item_attr(&w, &value);
    }
    return item_end(&w);
}

uint32_t index_row_size(const struct index_set *set, const struct index *x, struct slice item)
{
    struct attr_cursor c = item_attrs(item);
    struct slice name;
    struct attr value;
    uint64_t size = 0;
    if (x->projection == PROJECT_ALL)
        return item_size(item);
    while (row_next(set, x, &c, &name, &value))
        size += name.size + attr_size(&value);
    return (uint32_t)size;
}

bool index_row_is_same(const struct index_set *set, const struct index *x, struct slice a,
                       struct slice b, struct steps *steps)
{
    const struct attr all_of_b = {ATTR_MAP, item_attrs(b).left};
    struct attr_cursor in_a = item_attrs(a), in_b = item_attrs(b);
    struct element_table by_name; /* looking each attribute up by a walk would be quadratic */
    struct slice name;
    struct attr value;
    uint32_t count = 0;
    bool same = true;
    element_table_init(&by_name, &all_of_b, steps);
    for (; same && row_next(set, x, &in_a, &name, &value); count++) {
        const struct element *other = element_table_find(&by_name, name, steps);
        same = other != NULL && attr_equal(&value, &other->value, steps);
    }
    element_table_deinit(&by_name);
    while (same && row_next(set, x, &in_b, &name, &value))
        count--;
    return same && count == 0;
}
