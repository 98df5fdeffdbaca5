/* globals.c - global indexes, as the catalog has them: tables that belong to a table.
 *
 * An index is created, placed, split, moved and deleted as any table. Its name is TABLE/INDEX, which
 * no client can ask for. */
#include "engine/catalog/catalog_internal.h"

const struct table *catalog_next_index(const struct catalog *c, const struct table *t,
                                       const struct table *before)
{
    const struct table *next = before != NULL ? before : t;
    while ((next = catalog_next(c, next)) != NULL && next->index_of != t->id)
        if (!slice_starts_with(next->name, t->name))
            return NULL; /* in name order, the indexes follow their table */
    return next;
}

/* ---- creating ---- */

void catalog_number_indexes(const struct catalog_command *command, struct table *t,
                            struct arena *arena)
{
    const struct index_set *set;
    struct buffer bytes = {0};
    must(index_set_decode(command->spec.indexes, arena, &set) == STATUS_OK);
    for (uint32_t i = 0; i < index_set_global(set); i++)
        set->at[set->local_count + i].table_id = t->id + 1 + i;
    if (set != NULL)
        index_set_encode(&bytes, set);
    t->indexes = arena_copy(arena, buffer_slice(&bytes));
    must(index_set_decode(t->indexes, arena, &t->index_set) == STATUS_OK);
    buffer_deinit(&bytes);
}

static struct slice index_table_name(const struct table *t, const struct index *x,
                                     struct arena *arena)
{
    struct buffer name = {0};
    buffer_append_slice(&name, t->name);
    buffer_append_u8(&name, '/');
    buffer_append_slice(&name, x->name);
    struct slice copy = arena_copy(arena, buffer_slice(&name));
    buffer_deinit(&name);
    return copy;
}

static void index_table_fill(const struct table *t, const struct index *x, struct arena *arena,
                             struct table *out)
{
    const struct index_set alone = {t->partition_key, t->sort_key, 1, 0, (struct index *)x};
    struct buffer bytes = {0};
    index_set_encode(&bytes, &alone);
    *out = (struct table){.id = x->table_id,
                          .index_of = t->id,
                          .name = index_table_name(t, x, arena),
                          .status = TABLE_CREATING,
                          .partition_key = x->keys[0],
                          .gac = 1 + GAC_OFF,
                          .indexes = arena_copy(arena, buffer_slice(&bytes)),
                          .created_ms = t->created_ms};
    if (x->partition_count > 1)
        out->partition_key.type = ATTR_BINARY;
    memcpy(out->uuid, t->uuid, sizeof out->uuid);
    buffer_deinit(&bytes);
}

/* `throughput`: a table_spec. */
static bool index_create(struct catalog *c, const struct catalog_command *command,
                         const struct table *t, const struct index *x, struct slice throughput,
                         struct arena *arena, struct catalog_result *out)
{
    struct catalog_command own = *command;
    struct table index;
    if (table_spec_decode(throughput, &own.spec) != STATUS_OK || own.spec.billing != t->billing) {
        buffer_append_format(&c->text, "The throughput of index %.*s makes no sense",
                             (int)x->name.size, (const char *)x->name.data);
        catalog_refuse(c, out, REPLY_TABLE_INVALID);
        return false;
    }
    index_table_fill(t, x, arena, &index);
    if (!catalog_change_throughput(c, &own, &index)) {
        catalog_refuse(c, out, REPLY_LIMIT_EXCEEDED);
        return false;
    }
    struct entry *e = catalog_add_table(c, &own, &index, arena, out);
    if (e == NULL)
        return false;
    out->indexes[out->index_count++] = &e->table;
    return true;
}

bool catalog_create_indexes(struct catalog *c, const struct catalog_command *command,
                            const struct table *t, struct arena *arena, struct catalog_result *out)
{
    struct reader throughputs = {command->spec.globals, false};
    for (uint32_t i = 0; i < index_set_global(t->index_set); i++) {
        if (!index_create(c, command, t, index_set_global_at(t->index_set, i),
                          reader_sized(&throughputs), arena, out))
            return false;
    }
    return true;
}

/* ---- deleting ---- */

void catalog_delete_indexes(struct catalog *c, const struct table *t, struct catalog_result *out)
{
    const struct table *deleted = out->table;
    for (const struct table *x = NULL; (x = catalog_next_index(c, t, x)) != NULL;) {
        struct entry *e = catalog_entry(c, x->id);
        if (x->status == TABLE_DELETING)
            continue;
        e->table.status = TABLE_DELETING;
        catalog_entry_change(c, e, &e->table, out);
        x = &e->table;
        out->indexes[out->index_count++] = x;
    }
    out->table = deleted;
}
