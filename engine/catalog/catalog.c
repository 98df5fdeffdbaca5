/* catalog.c - tables, partitions and placement: the state machine of replication group 0. */
#include "engine/catalog/catalog.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/mutation.h"
#include "base/probe.h"
#include "engine/catalog/catalog_internal.h"

struct catalog *catalog_create(void)
{
    struct catalog *c = must_calloc(1, sizeof *c);
    catalog_clear(c);
    return c;
}

static void entry_destroy(struct entry *e)
{
    if (e == NULL)
        return;
    buffer_deinit(&e->bytes);
    arena_deinit(&e->arena);
    free(e->sizes);
    free(e);
}

void catalog_clear(struct catalog *c)
{
    for (size_t i = 0; i < c->count; i++)
        entry_destroy(c->entries[i]);
    c->count = 0;
    entry_destroy(c->itself);
    c->itself = NULL;
    c->next_table_id = CATALOG_TABLE_ID + 1;
    c->next_partition_id = CATALOG_GROUP + 1;
    memset(c->generations, 0, sizeof c->generations);
    memset(c->drained, 0, sizeof c->drained);
    for (int i = 0; i < EVENTS_MAX; i++)
        buffer_clear(&c->events[i]);
    c->last_event = 0;
}

void catalog_destroy(struct catalog *c)
{
    catalog_clear(c);
    free(c->entries);
    entry_destroy(c->removed);
    for (int i = 0; i < CATALOG_ROWS_MAX; i++)
        buffer_deinit(&c->row_values[i]);
    buffer_deinit(&c->text);
    for (int i = 0; i < EVENTS_MAX; i++)
        buffer_deinit(&c->events[i]);
    free(c);
}

/* ---- lookup ---- */

/* Index of the first table whose name is >= `name`. */
static size_t lower_bound(const struct catalog *c, struct slice name)
{
    size_t low = 0, high = c->count;
    LOWER_BOUND(low, high, middle, slice_compare(c->entries[middle]->table.name, name) < 0);
    return low;
}

static struct entry *catalog_find_named(const struct catalog *c, struct slice name)
{
    size_t at = lower_bound(c, name);
    bool found = at < c->count && slice_equal(c->entries[at]->table.name, name);
    return found ? c->entries[at] : NULL;
}

struct entry *catalog_entry(const struct catalog *c, uint32_t id)
{
    if (id == CATALOG_TABLE_ID)
        return c->itself;
    for (size_t i = 0; i < c->count; i++) {
        if (c->entries[i]->table.id == id)
            return c->entries[i];
    }
    return NULL;
}

const struct table *catalog_find(const struct catalog *c, struct slice name)
{
    struct entry *e = catalog_find_named(c, name);
    return e == NULL ? NULL : &e->table;
}

const struct table *catalog_find_id(const struct catalog *c, uint32_t id)
{
    struct entry *e = catalog_entry(c, id);
    return e == NULL ? NULL : &e->table;
}

const struct table *catalog_itself(const struct catalog *c)
{
    return c->itself == NULL ? NULL : &c->itself->table;
}

const struct table *catalog_after(const struct catalog *c, struct slice name)
{
    size_t at = lower_bound(c, name);
    if (at < c->count && slice_equal(c->entries[at]->table.name, name))
        at++;
    return at < c->count ? &c->entries[at]->table : NULL;
}

const struct table *catalog_next(const struct catalog *c, const struct table *t)
{
    return catalog_after(c, t == NULL ? slice_make(NULL, 0) : t->name);
}

uint32_t catalog_generation(const struct catalog *c, uint32_t node)
{
    return node <= NODES_MAX ? c->generations[node] : 0;
}

bool catalog_is_drained(const struct catalog *c, uint32_t node)
{
    return node <= NODES_MAX && c->drained[node];
}

bool catalog_has_lost(const struct catalog *c, uint64_t member)
{
    uint32_t generation = catalog_generation(c, raft_member_node(member));
    return generation != 0 && generation != raft_member_generation(member);
}

/* False while a merge needs the present replicas. */
static bool may_replace(const struct partition_info *p)
{
    return p->merge != MERGE_FREEZE && (p->merge != MERGE_ABSORB || p->absorbed);
}

bool catalog_needs_replacing(const struct catalog *c, const struct table *t)
{
    if (t->status == TABLE_CREATING)
        return false; /* a new group first begins with the members that it was given */
    for (uint32_t p = 0; p < t->partition_count; p++) {
        for (uint32_t i = 0; i < t->partitions[p].member_count; i++) {
            if (may_replace(&t->partitions[p]) && catalog_has_lost(c, t->partitions[p].members[i]))
                return true;
        }
    }
    return false;
}

/* NULL: there is no such group. */
static const struct partition_info *find_group(const struct catalog *c, uint32_t group)
{
    const struct partition_info *p = NULL;
    if (group == CATALOG_GROUP)
        return c->itself == NULL ? NULL : &c->itself->table.partitions[0];
    for (size_t i = 0; i < c->count && p == NULL; i++)
        p = table_find_partition(&c->entries[i]->table, group);
    return p;
}

/* Whether the partition has left the map, but the lower one's last replicas may still need it. */
static bool is_being_absorbed(const struct catalog *c, uint32_t partition)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct table *t = &c->entries[i]->table;
        for (uint32_t p = 0; p < t->partition_count; p++) {
            if (t->partitions[p].merge == MERGE_ABSORB && t->partitions[p].merge_with == partition)
                return true;
        }
    }
    return false;
}

bool catalog_is_gone(const struct catalog *c, uint32_t partition)
{
    return partition != CATALOG_GROUP && partition < c->next_partition_id &&
           find_group(c, partition) == NULL && !is_being_absorbed(c, partition);
}

bool catalog_may_have(const struct catalog *c, uint32_t partition, uint64_t member)
{
    bool known = partition == CATALOG_GROUP ? c->itself != NULL : partition < c->next_partition_id;
    const struct partition_info *p = find_group(c, partition);
    if (p == NULL)
        return !known || is_being_absorbed(c, partition);
    return p->leaving == member || partition_member_on(p, raft_member_node(member)) == member;
}

bool catalog_has(const struct catalog *c, uint32_t table_id, uint32_t partition, uint64_t member)
{
    const struct partition_info *p = find_group(c, partition);
    return p != NULL && p->table_id == table_id && catalog_may_have(c, partition, member);
}

static void size_add(struct table_size *sum, const struct table_size *s)
{
    tally_add(&sum->items, s->items.count, s->items.bytes);
    for (int i = 0; i < LOCAL_INDEXES_MAX; i++)
        tally_add(&sum->rows[i], s->rows[i].count, s->rows[i].bytes);
}

void catalog_report(struct catalog *c, const struct partition_report *r)
{
    struct entry *e = catalog_entry(c, r->table_id);
    struct table_size sum = {0};
    if (e == NULL)
        return;
    for (uint32_t i = 0; i < e->table.partition_count; i++) {
        struct table_size *size = &e->sizes[i];
        if (e->table.partitions[i].id == r->partition) {
            size->items = (struct tally){r->items, r->bytes};
            memcpy(size->rows, r->rows, sizeof size->rows);
        }
        size_add(&sum, size);
    }
    e->table.item_count = sum.items.count;
    e->table.size_bytes = sum.items.bytes;
    memcpy(e->table.rows, sum.rows, sizeof sum.rows);
}

/* ---- changing the set ---- */

/* Copies `t` into the entry's own memory. Slices of `t` may point into the entry. */
static void entry_set(struct entry *e, const struct table *t)
{
    struct buffer bytes = {0};
    table_encode(&bytes, t);
    buffer_deinit(&e->bytes);
    arena_reset(&e->arena);
    e->bytes = bytes;
    must(table_decode(buffer_slice(&e->bytes), &e->arena, &e->table) == STATUS_OK);
}

static struct entry *catalog_entry_create(const struct table *t)
{
    struct entry *e = must_calloc(1, sizeof *e);
    entry_set(e, t);
    e->sizes = must_calloc(t->partition_count, sizeof e->sizes[0]);
    return e;
}

static struct entry *catalog_add(struct catalog *c, const struct table *t)
{
    struct entry *e = catalog_entry_create(t);
    if (t->id == CATALOG_TABLE_ID)
        return c->itself = e;
    c->entries = must_grow(c->entries, c->count, &c->capacity, sizeof c->entries[0]);
    size_t at = lower_bound(c, t->name);
    memmove(c->entries + at + 1, c->entries + at, (c->count - at) * sizeof(struct entry *));
    c->entries[at] = e;
    c->count++;
    return e;
}

static void take_out(struct catalog *c, struct entry *e)
{
    size_t at = lower_bound(c, e->table.name);
    must(c->entries[at] == e);
    memmove(c->entries + at, c->entries + at + 1, (c->count - at - 1) * sizeof(struct entry *));
    c->count--;
    entry_destroy(c->removed);
    c->removed = e;
}

/* ---- rows ---- */

/* 00 00 00 00 | kind | id, BE. */
static struct slice row_key(uint8_t out[KEY_SIZE_MAX], uint8_t kind, uint32_t id)
{
    be32_put(out, CATALOG_TABLE_ID);
    out[4] = kind;
    be32_put(out + 5, id);
    return slice_make(out, 9);
}

struct buffer *catalog_row_open(struct catalog *c, struct catalog_result *result, uint8_t kind,
                                uint32_t id)
{
    must(result->row_count < CATALOG_ROWS_MAX);
    uint32_t i = result->row_count++;
    result->rows[i].key = row_key(c->row_keys[i], kind, id);
    buffer_clear(&c->row_values[i]);
    buffer_append_u64(&c->row_values[i], 0);
    return &c->row_values[i];
}

/* A row's value: the XXH3 of the bytes, then the bytes. */
void catalog_row_close(struct catalog *c, struct catalog_result *result)
{
    struct buffer *b = &c->row_values[result->row_count - 1];
    uint64_t checksum = XXH3_64bits(b->data + 8, b->size - 8);
    memcpy(b->data, &checksum, sizeof checksum);
    result->rows[result->row_count - 1].value = buffer_slice(b);
}

static void row_table(struct catalog *c, struct catalog_result *result, const struct entry *e)
{
    struct buffer *b = catalog_row_open(c, result, ROW_TABLE, e->table.id);
    buffer_append_slice(b, buffer_slice(&e->bytes));
    catalog_row_close(c, result);
}

void catalog_entry_change(struct catalog *c, struct entry *e, const struct table *t,
                          struct catalog_result *out)
{
    entry_set(e, t);
    out->table = &e->table;
    must_in_tests(e == c->itself || catalog_table_is_valid(&e->table));
    row_table(c, out, e);
}

void catalog_counters_row(struct catalog *c, struct catalog_result *result)
{
    struct buffer *b = catalog_row_open(c, result, ROW_COUNTERS, 0);
    buffer_append_u32(b, c->next_table_id);
    buffer_append_u32(b, c->next_partition_id);
    catalog_row_close(c, result);
}

static void row_remove(struct catalog *c, struct catalog_result *result, uint32_t table_id)
{
    catalog_row_open(c, result, ROW_TABLE, table_id);
    result->rows[result->row_count - 1].value = slice_make(NULL, 0);
}

enum status catalog_load_row(struct catalog *c, struct slice key, struct slice value)
{
    struct reader r = {value, false};
    uint64_t checksum = reader_u64(&r);
    if (r.failed || key.size != 9 || XXH3_64bits(r.left.data, r.left.size) != checksum)
        return STATUS_CORRUPT;
    if (key.data[4] == ROW_COUNTERS) {
        c->next_table_id = reader_u32(&r);
        c->next_partition_id = reader_u32(&r);
        return r.failed ? STATUS_CORRUPT : STATUS_OK;
    }
    if (key.data[4] == ROW_NODE) {
        uint32_t node = be32_get(key.data + 5);
        uint32_t generation = reader_u32(&r);
        bool drained = r.left.size > 0 && reader_u8(&r) != 0;
        if (r.failed || node > NODES_MAX)
            return STATUS_CORRUPT;
        c->generations[node] = generation;
        c->drained[node] = drained;
        return STATUS_OK;
    }
    if (key.data[4] == ROW_EVENT)
        return catalog_load_event(c, r.left);
    struct arena arena = {0};
    struct table t;
    enum status status =
        key.data[4] == ROW_TABLE ? table_decode(r.left, &arena, &t) : STATUS_CORRUPT;
    if (status == STATUS_OK)
        catalog_add(c, &t);
    arena_deinit(&arena);
    return status == STATUS_OK ? STATUS_OK : STATUS_CORRUPT;
}

/* ---- commands ---- */

bool catalog_refuse(struct catalog *c, struct catalog_result *out, enum reply_code code)
{
    out->code = code;
    out->text = buffer_slice(&c->text);
    return false;
}

/* Equal ranges of the hash space. The first begins and the last ends with the table. */
static void split_hash_space(struct catalog *c, struct table *t, struct arena *arena)
{
    for (uint32_t i = 0; i < t->partition_count; i++) {
        uint64_t hash = (uint64_t)(((unsigned __int128)i << 64) / t->partition_count);
        uint8_t *lo = arena_alloc(arena, STORAGE_KEY_BOUND_SIZE), *hi = arena_alloc(arena, 4);
        storage_key_write_bound(lo, t->id, hash);
        be32_put(hi, t->id + 1);
        struct partition_info *p = &t->partitions[i];
        *p = (struct partition_info){
            .id = c->next_partition_id++,
            .epoch = 1,
            .table_id = t->id,
            .whole_collections = t->whole_collections,
            .indexes = table_kept_indexes(t),
            .indexes_version = t->indexes_version,
            .ttl = table_kept_ttl(t),
            .of_index = t->index_of != 0,
            .gac = t->gac,
            .weight = t->weight,
            .lo = slice_make(lo, i == 0 ? STORAGE_KEY_TABLE_SIZE : STORAGE_KEY_BOUND_SIZE),
            .hi = slice_make(hi, 4)};
        if (i > 0)
            t->partitions[i - 1].hi = p->lo;
    }
}

/* False: the command is refused. */
static bool catalog_has_ids(struct catalog *c, uint32_t count, struct catalog_result *out)
{
    if (count <= PARTITION_ID_MAX - c->next_partition_id)
        return true;
    buffer_append_format(&c->text, "The cluster has used all of its %d partition numbers",
                         PARTITION_ID_MAX);
    return catalog_refuse(c, out, REPLY_LIMIT_EXCEEDED);
}

/* Without the global indexes. */
static int64_t tables_count(const struct catalog *c)
{
    int64_t count = 0;
    for (size_t i = 0; i < c->count; i++)
        count += c->entries[i]->table.index_of == 0;
    return count;
}

/* Fills in a new table without its partitions. False: `c->text` tells which limit is exceeded. */
static bool create_table(struct catalog *c, const struct catalog_command *command, struct table *t)
{
    const struct table_spec *spec = &command->spec;
    *t = (struct table){.id = c->next_table_id,
                        .name = spec->name,
                        .status = TABLE_CREATING,
                        .partition_key = spec->partition_key,
                        .sort_key = spec->sort_key,
                        .whole_collections = spec->whole_collections,
                        .gac = spec->gac,
                        .weight = spec->weight,
                        .created_ms = command->wall_ms};
    memcpy(t->uuid, command->uuid, sizeof t->uuid);
    if (tables_count(c) >= command->tables_max)
        buffer_append_format(&c->text, "The cluster has its maximum of %lld tables",
                             (long long)command->tables_max);
    return c->text.size == 0 && catalog_change_throughput(c, command, t);
}

/* Adds the table with its partitions. NULL: the command is refused. */
struct entry *catalog_add_table(struct catalog *c, const struct catalog_command *command,
                                struct table *t, struct arena *arena, struct catalog_result *out)
{
    t->partition_count = catalog_partitions_needed(command, t);
    if (!catalog_has_ids(c, t->partition_count, out))
        return NULL;
    uint32_t first_partition_id = c->next_partition_id;
    t->partitions = arena_zalloc(arena, t->partition_count * sizeof t->partitions[0]);
    split_hash_space(c, t, arena);
    if (t->index_of == 0)
        catalog_begin_stream(command, t, arena);
    if (catalog_allocate(c, command, t, true)) {
        c->next_table_id = t->id + 1;
        struct entry *e = catalog_add(c, t);
        row_table(c, out, e);
        return e;
    }
    c->next_partition_id = first_partition_id;
    catalog_refuse(c, out, REPLY_LIMIT_EXCEEDED);
    return NULL;
}

/* Takes the tables of a refused command out again. */
static void create_undo(struct catalog *c, uint32_t first_id, struct catalog_result *out)
{
    for (size_t i = c->count; i-- > 0;) {
        if (c->entries[i]->table.id >= first_id)
            take_out(c, c->entries[i]);
    }
    c->next_table_id = first_id;
    out->row_count = 0;
    out->index_count = 0;
}

static void catalog_create_table(struct catalog *c, const struct catalog_command *command,
                                 struct catalog_result *out)
{
    const uint32_t first_id = c->next_table_id;
    struct table t;
    struct entry *e;
    struct arena arena = {0};
    if (catalog_find_named(c, command->spec.name) != NULL) {
        catalog_refuse(c, out, REPLY_TABLE_EXISTS);
    } else if (!create_table(c, command, &t)) {
        catalog_refuse(c, out, REPLY_LIMIT_EXCEEDED);
    } else if (!catalog_change_labels(c, command, &t, &arena)) {
        catalog_refuse(c, out, REPLY_TABLE_INVALID);
    } else {
        catalog_number_indexes(command, &t, &arena);
        e = catalog_add_table(c, command, &t, &arena, out);
        if (e != NULL && catalog_create_indexes(c, command, &t, &arena, out)) {
            out->table = &e->table;
            catalog_counters_row(c, out);
        } else {
            create_undo(c, first_id, out);
        }
    }
    arena_deinit(&arena);
}

static struct entry *find_active(struct catalog *c, const struct catalog_command *command,
                                 struct catalog_result *out)
{
    struct entry *e = catalog_find_named(c, command->spec.name);
    if (e == NULL) {
        catalog_refuse(c, out, REPLY_TABLE_NOT_FOUND);
    } else if (e->table.status != TABLE_ACTIVE) {
        out->table = &e->table;
        catalog_refuse(c, out, REPLY_TABLE_BUSY);
        e = NULL;
    }
    return e;
}

/* Whether the partitions must be told new shares. */
static bool update_reaches_partitions(const struct table_spec *spec, const struct table *t)
{
    bool warms =
        t->billing == BILLING_ON_DEMAND && (spec->warm[ADMIT_READ] > t->warm[ADMIT_READ] ||
                                            spec->warm[ADMIT_WRITE] > t->warm[ADMIT_WRITE]);
    return warms || spec->billing != t->billing || spec->rcu != t->rcu || spec->wcu != t->wcu ||
           spec->maximum[ADMIT_READ] != 0 || spec->maximum[ADMIT_WRITE] != 0;
}

static bool update_throughput(struct catalog *c, const struct catalog_command *command,
                              struct table *t)
{
    const struct table_spec *spec = &command->spec;
    if (spec->billing == BILLING_AS_IT_IS)
        return true;
    bool again = update_reaches_partitions(spec, t);
    if (again)
        t->status = TABLE_UPDATING;
    return catalog_change_throughput(c, command, t) &&
           (again ? catalog_allocate(c, command, t, false) : catalog_nodes_fit(c, command, t));
}

bool catalog_update_entry(struct catalog *c, const struct catalog_command *command, struct entry *e,
                          struct catalog_result *out)
{
    struct arena arena = {0};
    struct table t = e->table;
    t.partitions = arena_alloc(&arena, t.partition_count * sizeof t.partitions[0]);
    memcpy(t.partitions, e->table.partitions, t.partition_count * sizeof t.partitions[0]);
    if (!catalog_change_labels(c, command, &t, &arena) || !catalog_change_ttl(c, command, &t))
        catalog_refuse(c, out, REPLY_TABLE_INVALID);
    else if (!update_throughput(c, command, &t))
        catalog_refuse(c, out, REPLY_LIMIT_EXCEEDED);
    else if (!catalog_change_stream(c, command, &t, &arena))
        catalog_refuse(c, out, REPLY_TABLE_INVALID);
    else
        catalog_entry_change(c, e, &t, out);
    arena_deinit(&arena);
    return out->code == REPLY_OK;
}

static void catalog_update(struct catalog *c, const struct catalog_command *command,
                           struct catalog_result *out)
{
    struct entry *e = find_active(c, command, out);
    const struct table_spec *spec = &command->spec;
    if (e != NULL && spec->stream != 0 && table_is_merging(&e->table)) {
        out->table = &e->table; /* its partitions must be those that the shards name */
        catalog_refuse(c, out, REPLY_TABLE_BUSY);
        return;
    }
    const bool of_indexes =
        spec->globals.size > 0 || spec->add_index.size > 0 || spec->drop_index.size > 0;
    if (e != NULL && index_set_global(e->table.index_set) == 0 && !of_indexes)
        catalog_update_entry(c, command, e, out);
    else if (e != NULL)
        catalog_update_with_indexes(c, command, e, out);
}

static void set_status(struct catalog *c, struct entry *e, enum table_status status,
                       struct catalog_result *out)
{
    e->table.status = status;
    catalog_entry_change(c, e, &e->table, out);
}

void catalog_node_row(struct catalog *c, uint32_t node, struct catalog_result *out)
{
    struct buffer *b = catalog_row_open(c, out, ROW_NODE, node);
    buffer_append_u32(b, c->generations[node]);
    if (c->drained[node])
        buffer_append_u8(b, 1);
    catalog_row_close(c, out);
}

void catalog_join(struct partition_info *p, uint32_t i, uint32_t node, uint32_t generation)
{
    if (p->arrivals < RAFT_ARRIVAL_MAX)
        p->arrivals++;
    p->members[i] = raft_member_id(node, generation, p->arrivals);
    p->joined |= 1U << i;
}

/* The data of a lost generation is lost. The replica joins anew, and starts from a snapshot. */
static void catalog_replace(struct catalog *c, const struct catalog_command *command,
                            struct catalog_result *out)
{
    struct entry *e = catalog_entry(c, command->table_id);
    if (e == NULL || e->table.status == TABLE_CREATING)
        return;
    for (uint32_t p = 0; p < e->table.partition_count; p++) {
        struct partition_info *info = &e->table.partitions[p];
        for (uint32_t i = 0; i < info->member_count; i++) {
            uint32_t node = partition_node(info, i);
            if (may_replace(info) && catalog_has_lost(c, info->members[i]))
                catalog_join(info, i, node, catalog_generation(c, node));
        }
    }
    catalog_entry_change(c, e, &e->table, out);
}

static void catalog_found(struct catalog *c, const struct catalog_command *command,
                          struct catalog_result *out)
{
    struct partition_info group;
    must(partition_info_decode(command->group, &group) == STATUS_OK);
    if (c->itself != NULL)
        return; /* an earlier leader has founded it */
    const struct table t = {.id = CATALOG_TABLE_ID,
                            .name = slice_of("(catalog)"), /* no table can have this name */
                            .status = TABLE_ACTIVE,
                            .partition_key = {slice_of("-"), ATTR_STRING},
                            .billing = BILLING_PROVISIONED,
                            .partition_count = 1,
                            .partitions = &group};
    catalog_entry_change(c, catalog_add(c, &t), &t, out);
}

/* ---- splits ---- */

/* The sizes reported so far stay with the parent until there are new reports. */
static void spread_sizes(struct entry *e, uint32_t before, uint32_t at)
{
    uint32_t more = e->table.partition_count - before;
    e->sizes = must_have(realloc(e->sizes, e->table.partition_count * sizeof e->sizes[0]));
    memmove(e->sizes + at + 1 + more, e->sizes + at + 1, (before - at - 1) * sizeof e->sizes[0]);
    memset(e->sizes + at + 1, 0, more * sizeof e->sizes[0]);
}

static void split_partition(struct catalog *c, const struct catalog_command *command,
                            struct catalog_result *out)
{
    struct table_split split;
    must(table_split_decode(command->split, &split) == STATUS_OK);
    struct entry *e = catalog_entry(c, split.table_id);
    if (e == NULL) {
        catalog_refuse(c, out, REPLY_TABLE_NOT_FOUND);
        return;
    }
    const struct partition_info *p = catalog_find_split(c, command, &split, e, out);
    if (p == NULL || !catalog_has_ids(c, split.point_count, out))
        return;
    struct arena arena = {0};
    struct table t = e->table;
    uint32_t at = (uint32_t)(p - t.partitions), first_id = c->next_partition_id;
    t.partition_count += split.point_count;
    t.partitions = arena_alloc(&arena, t.partition_count * sizeof t.partitions[0]);
    memcpy(t.partitions, e->table.partitions, (at + 1) * sizeof t.partitions[0]);
    memcpy(t.partitions + at + 1 + split.point_count, p + 1,
           (e->table.partition_count - at - 1) * sizeof t.partitions[0]);
    catalog_split_partition(c, &split, &t.partitions[at]);
    catalog_split_shards(command, &t, at, split.point_count, &arena);
    if (catalog_share_anew(c, command, &t, &e->table, at, &split)) {
        catalog_entry_change(c, e, &t, out);
        spread_sizes(e, t.partition_count - split.point_count, at);
        catalog_counters_row(c, out);
    } else {
        c->next_partition_id = first_id;
        catalog_refuse(c, out, REPLY_LIMIT_EXCEEDED);
    }
    arena_deinit(&arena);
}

static void end_split(struct entry *e)
{
    for (uint32_t i = 0; i < e->table.partition_count; i++) {
        struct partition_info *p = &e->table.partitions[i];
        p->parent = 0;
        memset(p->share_ppm, 0, sizeof p->share_ppm);
    }
}

static void catalog_reconciled(struct catalog *c, const struct catalog_command *command,
                               struct catalog_result *out)
{
    struct entry *e = catalog_entry(c, command->table_id);
    if (e == NULL || (e->table.status == TABLE_ACTIVE && !table_is_splitting(&e->table)))
        return; /* reconciled already: a new leader reconciles every table once */
    if (command->reconciled != table_reconcile_hash(&e->table) &&
        !MUTATED(MUTATION_ANY_RECONCILED)) {
        PROBE("what was reconciled was changed before the catalog heard of it");
        return;
    }
    if (e->table.status != TABLE_DELETING) {
        struct arena arena = {0};
        catalog_reconciled_shards(command, &e->table, &arena);
        end_split(e);
        catalog_reconciled_ttl(&e->table);
        set_status(c, e, TABLE_ACTIVE, out);
        arena_deinit(&arena);
        return;
    }
    if (!e->table.no_pending_parts && !MUTATED(MUTATION_CLOSE_UNCONFIRMED)) {
        struct table t = e->table;
        t.no_pending_parts = true;
        catalog_entry_change(c, e, &t, out);
        return;
    }
    row_remove(c, out, e->table.id);
    take_out(c, e);
    out->table = &e->table;
}

static void catalog_delete(struct catalog *c, const struct catalog_command *command,
                           struct catalog_result *out)
{
    struct entry *e = find_active(c, command, out);
    if (e == NULL)
        return;
    if (!e->table.protected) {
        out->table = catalog_busy_index(c, &e->table);
        if (out->table != NULL) {
            catalog_refuse(c, out, REPLY_TABLE_BUSY);
            return;
        }
        set_status(c, e, TABLE_DELETING, out);
        catalog_delete_indexes(c, &e->table, out);
        return;
    }
    buffer_append_text(&c->text, "Resource cannot be deleted as it is currently protected against "
                                 "deletion. Disable deletion protection first.");
    catalog_refuse(c, out, REPLY_TABLE_INVALID);
}

static void catalog_note_node(struct catalog *c, const struct catalog_command *command,
                              struct catalog_result *out)
{
    c->generations[command->node] = command->generation;
    catalog_node_row(c, command->node, out);
}

void catalog_apply(struct catalog *c, struct slice bytes, struct catalog_result *out)
{
    static void (*const ops[CATALOG_OPS])(struct catalog * c, const struct catalog_command *command,
                                          struct catalog_result *out) = {
        [CATALOG_CREATE] = catalog_create_table,
        [CATALOG_UPDATE] = catalog_update,
        [CATALOG_DELETE] = catalog_delete,
        [CATALOG_RECONCILED] = catalog_reconciled,
        [CATALOG_NODE] = catalog_note_node,
        [CATALOG_REPLACE] = catalog_replace,
        [CATALOG_SPLIT] = split_partition,
        [CATALOG_EVENT] = catalog_decide,
        [CATALOG_MOVE] = catalog_decide,
        [CATALOG_LET_GO] = catalog_decide,
        [CATALOG_LEFT] = catalog_decide,
        [CATALOG_RATES] = catalog_decide,
        [CATALOG_PEAK] = catalog_decide,
        [CATALOG_DRAIN] = catalog_decide,
        [CATALOG_LEAD] = catalog_decide,
        [CATALOG_MERGE] = catalog_merge,
        [CATALOG_KEY_SHARDS] = catalog_change_key_shards,
        [CATALOG_FOUND] = catalog_found,
        [CATALOG_FILLED] = catalog_filled,
    };
    struct catalog_command command;
    must(catalog_command_decode(bytes, &command) == STATUS_OK);
    must((unsigned)command.op < CATALOG_OPS && ops[command.op] != NULL);
    *out = (struct catalog_result){.code = REPLY_OK};
    buffer_clear(&c->text);
    ops[command.op](c, &command, out);
}
