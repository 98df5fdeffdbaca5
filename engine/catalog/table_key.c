/* table_key.c - keys as attributes, as items, and as storage keys. */
#include "engine/catalog/table_key.h"

void key_append_storage(struct buffer *out, const struct table *t, const struct key *key)
{
    storage_key_append(out, t->id, &key->partition, key->sort.type != 0 ? &key->sort : NULL);
}

void key_append_row(struct buffer *out, const struct table *t, const struct index *x,
                    const struct key *key)
{
    storage_key_append_collection(out, t->id, &key->partition);
    if (x != NULL)
        storage_key_append_sort(out, &key->index_sort, true);
    if (key->sort.type != 0)
        storage_key_append_sort(out, &key->sort, true);
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
    if (x == NULL || !item_find(item, index_sort_key(x)->name, &out->index_sort))
        out->index_sort = (struct attr){0};
}

/* Takes the next part off the storage key. */
static bool key_next_part(const struct key_attr *schema, struct slice *storage_key,
                          struct arena *arena, struct attr *out)
{
    struct buffer part = {0};
    struct number n;
    size_t used = 0;
    bool whole = storage_key_next_part(storage_key, &part);
    *out = (struct attr){schema->type, arena_copy(arena, buffer_slice(&part))};
    buffer_deinit(&part);
    return whole && (schema->type != ATTR_NUMBER ||
                     (number_decode(out->body, &n, &used) == STATUS_OK && used == out->body.size));
}

bool key_of_storage(const struct table *t, const struct index *x, struct slice storage_key,
                    struct arena *arena, struct key *out)
{
    *out = (struct key){0};
    storage_key_skip_hash(&storage_key);
    return key_next_part(&t->partition_key, &storage_key, arena, &out->partition) &&
           (x == NULL || key_next_part(index_sort_key(x), &storage_key, arena, &out->index_sort)) &&
           (!table_has_sort_key(t) ||
            key_next_part(&t->sort_key, &storage_key, arena, &out->sort)) &&
           storage_key.size == 0;
}
