/* globals.c - global indexes, as the catalog has them: tables that belong to a table.
 *
 * An index is created, placed, split, moved and deleted as any table. Its name is TABLE/INDEX,
 * which no client can ask for. */
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
    table_append_index_name(&name, t, x);
    return arena_take(arena, &name);
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
                          .gac = t->gac,
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
        buffer_append_format(&c->text, "The throughput of index %.*s is invalid", (int)x->name.size,
                             (const char *)x->name.data);
        return catalog_refuse(c, out, REPLY_TABLE_INVALID);
    }
    index_table_fill(t, x, arena, &index);
    if (!catalog_change_throughput(c, &own, &index))
        return catalog_refuse(c, out, REPLY_LIMIT_EXCEEDED);
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

/* ---- changing ---- */

static bool index_invalid(struct catalog *c, struct slice name, const char *why,
                          struct catalog_result *out)
{
    buffer_append_format(&c->text, "The throughput of index %.*s %s", TEXT_OF(name), why);
    return catalog_refuse(c, out, REPLY_TABLE_INVALID);
}

static bool index_was_changed(const struct catalog_result *out, const struct table *x)
{
    for (uint32_t i = 0; i < out->index_count; i++) {
        if (out->indexes[i] == x)
            return true;
    }
    return false;
}

/* `throughput`: a table_spec. */
static bool index_update(struct catalog *c, const struct catalog_command *command,
                         const struct table *t, struct slice throughput, struct catalog_result *out)
{
    struct catalog_command own = *command;
    if (table_spec_decode(throughput, &own.spec) != STATUS_OK)
        return index_invalid(c, slice_of("?"), "is invalid", out);
    const struct index *x = index_set_find(t->index_set, own.spec.name);
    struct entry *e = x != NULL && x->number == 0 ? catalog_entry(c, x->table_id) : NULL;
    if (e == NULL || index_was_changed(out, &e->table))
        return index_invalid(c, own.spec.name, "is given, but the index does not exist", out);
    if (e->table.status != TABLE_ACTIVE) {
        out->table = &e->table;
        return catalog_refuse(c, out, REPLY_TABLE_BUSY);
    }
    if (!catalog_update_entry(c, &own, e, out))
        return false;
    out->indexes[out->index_count++] = &e->table;
    return true;
}

/* Every index has the billing mode of its table. */
static bool indexes_agree(struct catalog *c, const struct table *t, struct catalog_result *out)
{
    for (uint32_t i = 0; i < index_set_global(t->index_set); i++) {
        const struct index *x = index_set_global_at(t->index_set, i);
        const struct entry *e = catalog_entry(c, x->table_id);
        if (e != NULL && e->table.billing != t->billing)
            return index_invalid(c, x->name, "must change with the table's billing mode", out);
    }
    return true;
}

/* Appends the table and its global indexes as they are. */
static void tables_save(const struct catalog *c, const struct table *t, struct buffer *out)
{
    struct buffer bytes = {0};
    for (const struct table *x = t; x != NULL; x = catalog_next_index(c, t, x == t ? NULL : x)) {
        buffer_clear(&bytes);
        table_encode(&bytes, x);
        buffer_append_sized(out, buffer_slice(&bytes));
    }
    buffer_deinit(&bytes);
}

static void tables_restore(struct catalog *c, struct slice saved, struct catalog_result *out)
{
    struct arena arena = {0};
    struct table t;
    const struct table *busy = out->code == REPLY_TABLE_BUSY ? out->table : NULL;
    out->row_count = 0;
    out->index_count = 0;
    for (struct reader r = {saved, false}; r.left.size > 0;) {
        must(table_decode(reader_sized(&r), &arena, &t) == STATUS_OK);
        catalog_entry_change(c, catalog_entry(c, t.id), &t, out);
    }
    out->row_count = 0;
    out->table = busy;
    arena_deinit(&arena);
}

/* ---- one more, one less ---- */

static bool index_change_refuse(struct catalog *c, struct catalog_result *out, const char *why)
{
    buffer_append_text(&c->text, why);
    return catalog_refuse(c, out, REPLY_TABLE_INVALID);
}

static bool keys_clash(const struct key_attr *a, const struct key_attr *b)
{
    return slice_equal(a->name, b->name) && a->type != b->type;
}

static bool index_clashes(const struct index *x, const struct key_attr *keys, uint32_t count)
{
    bool clash = false;
    for (uint32_t i = 0; i < x->partition_count + x->sort_count; i++) {
        for (uint32_t k = 0; k < count; k++)
            clash |= keys_clash(&x->keys[i], &keys[k]);
    }
    return clash;
}

/* A key schema in the service's words. */
static void schema_append(struct buffer *out, const struct key_attr *keys, uint32_t partition_count,
                          uint32_t sort_count)
{
    buffer_append_text(out, "Schema:[");
    for (uint32_t i = 0; i < partition_count + sort_count; i++)
        buffer_append_format(out, "%sSchemaElement: key{%.*s:%s:%s}", i > 0 ? ", " : "",
                             SHOWN(keys[i].name), attr_type_name(keys[i].type),
                             i < partition_count ? "HASH" : "RANGE");
    buffer_append_text(out, "]");
}

static bool index_refuse_clash(struct catalog *c, struct catalog_result *out, const struct index *x,
                               const struct key_attr *keys, uint32_t partition_count,
                               uint32_t sort_count)
{
    buffer_append_text(&c->text,
                       "One or more parameter values were invalid: Attributes cannot be redefined. "
                       "Please check that your attribute has the same type as previously defined. "
                       "Existing schema: ");
    schema_append(&c->text, keys, partition_count, sort_count);
    buffer_append_text(&c->text, " New schema: ");
    schema_append(&c->text, x->keys, x->partition_count, x->sort_count);
    return catalog_refuse(c, out, REPLY_TABLE_INVALID);
}

/* Refuses a new index one of whose key attributes has another type in the table or in an index. */
static bool index_types_fit(struct catalog *c, struct catalog_result *out, const struct table *t,
                            const struct index *x)
{
    const struct key_attr keys[] = {t->partition_key, t->sort_key};
    const uint32_t sort_count = t->sort_key.name.size > 0 ? 1 : 0;
    if (index_clashes(x, keys, 1 + sort_count))
        return index_refuse_clash(c, out, x, keys, 1, sort_count);
    for (uint32_t i = 0; t->index_set != NULL && i < t->index_set->count; i++) {
        const struct index *other = &t->index_set->at[i];
        if (index_clashes(x, other->keys, other->partition_count + other->sort_count))
            return index_refuse_clash(c, out, x, other->keys, other->partition_count,
                                      other->sort_count);
    }
    return true;
}

/* The table's indexes without `but`, and with `more`. NULL: none. */
static void index_set_change(struct catalog *c, struct entry *e, const struct index *but,
                             const struct index *more, struct catalog_result *out)
{
    const struct index_set *old = e->table.index_set;
    struct index_set set = {.partition_key = e->table.partition_key, .sort_key = e->table.sort_key};
    struct index at[LOCAL_INDEXES_MAX + GLOBAL_INDEXES_MAX + 1];
    struct buffer bytes = {0};
    set.at = at;
    set.local_count = index_set_local(old);
    for (uint32_t i = 0; old != NULL && i < old->count; i++) {
        if (&old->at[i] != but)
            at[set.count++] = old->at[i];
    }
    if (more != NULL)
        at[set.count++] = *more;
    index_set_encode(&bytes, &set);
    struct table t = e->table;
    t.indexes = buffer_slice(&bytes);
    t.indexes_version++;
    t.status = TABLE_UPDATING; /* until its partitions know the indexes */
    catalog_entry_change(c, e, &t, out);
    buffer_deinit(&bytes);
}

static bool index_add(struct catalog *c, const struct catalog_command *command, struct entry *e,
                      struct arena *arena, struct catalog_result *out)
{
    const struct index_set *requested;
    const struct table *t = &e->table;
    if (index_set_decode(command->spec.add_index, arena, &requested) != STATUS_OK ||
        requested == NULL || requested->count != 1 || requested->local_count != 0)
        return index_change_refuse(c, out, "The new index is invalid");
    if (table_counts(t))
        return index_change_refuse(c, out,
                                   "The table's tag weir:key-sharding is 'counter': an index would "
                                   "show the cells of items");
    struct index *x = &requested->at[0];
    if (index_set_find(t->index_set, x->name) != NULL)
        return index_change_refuse(c, out, "Attempting to create an index which already exists");
    if (index_set_global(t->index_set) == GLOBAL_INDEXES_MAX)
        return index_change_refuse(
            c, out,
            "One or more parameter values were invalid: GlobalSecondaryIndex "
            "count exceeds the per-table limit of 20");
    if (!index_types_fit(c, out, t, x))
        return false;
    if (catalog_find(c, index_table_name(t, x, arena)) != NULL)
        return index_change_refuse(c, out, "An index of this name is still being deleted");
    x->table_id = c->next_table_id;
    if (!index_create(c, command, t, x, command->spec.add_throughput, arena, out))
        return false;
    struct entry *added = catalog_entry(c, x->table_id);
    struct table filling = added->table;
    filling.filling = true;
    out->row_count--; /* that of the index is written again */
    catalog_entry_change(c, added, &filling, out);
    out->indexes[out->index_count - 1] = &added->table;
    index_set_change(c, e, NULL, x, out);
    catalog_counters_row(c, out);
    return true;
}

static bool index_drop(struct catalog *c, const struct catalog_command *command, struct entry *e,
                       struct catalog_result *out)
{
    const struct index *x = index_set_find(e->table.index_set, command->spec.drop_index);
    struct entry *dropped = x != NULL && x->number == 0 ? catalog_entry(c, x->table_id) : NULL;
    if (dropped == NULL)
        return index_change_refuse(c, out, "Requested resource not found: no such global index");
    if (dropped->table.status == TABLE_CREATING)
        return index_change_refuse(c, out, "The index is being created");
    struct table t = dropped->table;
    t.status = TABLE_DELETING;
    catalog_entry_change(c, dropped, &t, out);
    out->indexes[out->index_count++] = &dropped->table;
    index_set_change(c, e, x, NULL, out);
    return true;
}

/* Adds or drops a global index as the update says. */
static bool indexes_change(struct catalog *c, const struct catalog_command *command,
                           struct entry *e, struct catalog_result *out)
{
    const struct table_spec *spec = &command->spec;
    struct arena arena = {0};
    bool done = true;
    if (spec->add_index.size == 0 && spec->drop_index.size == 0)
        return true;
    if (table_is_merging(&e->table))
        return index_change_refuse(c, out, "Partitions of the table are being merged: try again");
    if (spec->drop_index.size > 0)
        done = index_drop(c, command, e, out);
    else
        done = index_add(c, command, e, &arena, out);
    arena_deinit(&arena);
    return done;
}

void catalog_filled(struct catalog *c, const struct catalog_command *command,
                    struct catalog_result *out)
{
    struct entry *e = catalog_entry(c, command->table_id);
    if (e == NULL || !e->table.filling)
        return;
    struct table t = e->table;
    t.filling = false;
    catalog_entry_change(c, e, &t, out);
}

void catalog_update_with_indexes(struct catalog *c, const struct catalog_command *command,
                                 struct entry *e, struct catalog_result *out)
{
    struct buffer before = {0};
    tables_save(c, &e->table, &before);
    bool done = catalog_update_entry(c, command, e, out);
    for (struct reader r = {command->spec.globals, false}; done && r.left.size > 0;)
        done = index_update(c, command, &e->table, reader_sized(&r), out);
    if (done && indexes_agree(c, &e->table, out) && indexes_change(c, command, e, out))
        out->table = &e->table;
    else
        tables_restore(c, buffer_slice(&before), out);
    buffer_deinit(&before);
}

/* ---- deleting ---- */

const struct table *catalog_busy_index(const struct catalog *c, const struct table *t)
{
    const struct table *x = NULL;
    while ((x = catalog_next_index(c, t, x)) != NULL && x->status == TABLE_ACTIVE && !x->filling)
        ;
    return x;
}

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
