/* table_key.c - keys as attributes, as items, and as storage keys. */
#include "engine/catalog/table_key.h"

#include "engine/index/row.h"

void key_append_storage(struct buffer *out, const struct table *t, const struct key *key)
{
    storage_key_append(out, t->id, &key->partition, key->sort.type != 0 ? &key->sort : NULL);
}

void key_append_row(struct buffer *out, const struct table *t, const struct index *x,
                    const struct key *key)
{
    struct buffer scratch = {0};
    const bool global = x != NULL && x->number == 0;
    const struct attr partition =
        global ? index_global_partition(x, key->index, &scratch) : key->partition;
    storage_key_append_collection(out, global ? x->table_id : t->id, &partition);
    for (uint32_t i = 0; x != NULL && i < x->sort_count; i++)
        storage_key_append_sort(out, &key->index[x->partition_count + i], true);
    if (global)
        storage_key_append_sort(out, &key->partition, true);
    if (key->sort.type != 0)
        storage_key_append_sort(out, &key->sort, true);
    buffer_deinit(&scratch);
}

void key_append_item(struct buffer *out, const struct table *t, const struct key *key)
{
    struct item_writer w;
    item_begin(&w, out);
    item_name(&w, t->partition_key.name);
    item_attr(&w, &key->partition);
    if (table_has_sort_key(t)) {
        item_name(&w, t->sort_key.name);
        item_attr(&w, &key->sort);
    }
    item_end(&w);
}

void key_find(const struct table *t, const struct index *x, struct slice item, struct key *out)
{
    *out = (struct key){0};
    if (!item_find(item, t->partition_key.name, &out->partition))
        out->partition = (struct attr){0};
    if (!table_has_sort_key(t) || !item_find(item, t->sort_key.name, &out->sort))
        out->sort = (struct attr){0};
    for (uint32_t i = 0; x != NULL && i < x->partition_count + x->sort_count; i++) {
        if (!item_find(item, x->keys[i].name, &out->index[i]))
            out->index[i] = (struct attr){0};
    }
}

/* Takes the next part off the storage key. */
static bool key_next_part(const struct key_attr *schema, struct slice *storage_key,
                          struct arena *arena, struct attr *out)
{
    struct buffer part = {0};
    struct number n;
    size_t used = 0;
    bool complete = storage_key_next_part(storage_key, &part);
    *out = (struct attr){schema->type, arena_copy(arena, buffer_slice(&part))};
    buffer_deinit(&part);
    return complete &&
           (schema->type != ATTR_NUMBER ||
            (number_decode(out->body, &n, &used) == STATUS_OK && used == out->body.size));
}

/* Takes the next `count` parts off the storage key. */
static bool key_next_parts(const struct key_attr *schema, uint32_t count, struct slice *storage_key,
                           struct arena *arena, struct attr *out)
{
    for (uint32_t i = 0; i < count; i++) {
        if (storage_key->size == 0 || !key_next_part(&schema[i], storage_key, arena, &out[i]))
            return false;
    }
    return true;
}

/* Several attributes are the parts of one part (index_global_partition). */
static bool key_next_partition(const struct index *x, struct slice *storage_key,
                               struct arena *arena, struct key *out)
{
    static const struct key_attr JOINED = {.type = ATTR_BINARY};
    struct attr joined;
    if (x->partition_count == 1)
        return key_next_part(&x->keys[0], storage_key, arena, &out->index[0]);
    return key_next_part(&JOINED, storage_key, arena, &joined) &&
           key_next_parts(x->keys, x->partition_count, &joined.body, arena, out->index) &&
           joined.body.size == 0;
}

bool key_of_storage(const struct table *t, const struct index *x, struct slice storage_key,
                    struct arena *arena, struct key *out)
{
    const bool global = x != NULL && x->number == 0;
    *out = (struct key){0};
    storage_key_skip_hash(&storage_key);
    if (global ? !key_next_partition(x, &storage_key, arena, out)
               : !key_next_part(&t->partition_key, &storage_key, arena, &out->partition))
        return false;
    if (x != NULL && !global)
        out->index[0] = out->partition;
    if (x != NULL && !key_next_parts(&x->keys[x->partition_count], x->sort_count, &storage_key,
                                     arena, &out->index[x->partition_count]))
        return false;
    return (!global || key_next_part(&t->partition_key, &storage_key, arena, &out->partition)) &&
           (!table_has_sort_key(t) ||
            key_next_part(&t->sort_key, &storage_key, arena, &out->sort)) &&
           storage_key.size == 0;
}
