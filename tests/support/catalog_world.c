/* catalog_world.c - applies commands to a catalog, keeps its rows, and checks what always holds. */
#include "tests/support/catalog_world.h"

#include <stdlib.h>

#include "engine/message/reply_code_name.h"
#include "tests/check.h"
#include "tests/support/case_file.h"

enum {
    ROWS_CHECKED_MAX = 64 /* with more, loading all after each command takes too long */
};

/* ---- rows ---- */

static struct slice world_copy(struct slice s)
{
    uint8_t *copy = malloc(s.size + 1);
    assert_non_null(copy);
    memcpy(copy, s.data, s.size);
    return slice_make(copy, s.size);
}

static void world_free_row(struct catalog_row *r)
{
    free((void *)(uintptr_t)r->key.data);
    free((void *)(uintptr_t)r->value.data);
}

static void world_store(struct catalog_world *w, const struct catalog_row *r)
{
    size_t i = 0;
    while (i < w->row_count && !slice_equal(w->rows[i].key, r->key))
        i++;
    if (i < w->row_count) {
        world_free_row(&w->rows[i]);
        w->rows[i] = w->rows[--w->row_count];
    }
    if (r->value.data == NULL)
        return;
    w->rows = realloc(w->rows, (w->row_count + 1) * sizeof w->rows[0]);
    assert_non_null(w->rows);
    w->rows[w->row_count++] = (struct catalog_row){world_copy(r->key), world_copy(r->value)};
}

/* A catalog of the rows, in another order, has the same tables. */
static void world_reload(const struct catalog_world *w)
{
    struct catalog *again = catalog_create();
    for (size_t i = w->row_count; i-- > 0;)
        assert_int_equal(catalog_load_row(again, w->rows[i].key, w->rows[i].value), STATUS_OK);
    const struct table *a = NULL, *b = NULL;
    while ((a = catalog_next(w->catalog, a)) != NULL) {
        struct buffer x = {0}, y = {0};
        b = catalog_next(again, b);
        assert_non_null(b);
        table_encode(&x, a);
        table_encode(&y, b);
        assert_true(slice_equal(buffer_slice(&x), buffer_slice(&y)));
        buffer_deinit(&x);
        buffer_deinit(&y);
    }
    assert_null(catalog_next(again, b));
    catalog_destroy(again);
}

/* Partitions cover the table's keys without gap or overlap. */
static void world_check(const struct table *t)
{
    const uint32_t first = __builtin_bswap32(t->id), behind = __builtin_bswap32(t->id + 1);
    assert_true(slice_equal(t->partitions[0].lo, slice_make(&first, 4)));
    assert_true(slice_equal(t->partitions[t->partition_count - 1].hi, slice_make(&behind, 4)));
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        assert_true(p->table_id == t->id && slice_compare(p->lo, p->hi) < 0);
        assert_true(i == 0 || slice_equal(p[-1].hi, p->lo));
        assert_ptr_equal(table_partition_of(t, p->lo), p);
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(t->partitions[k].id, p->id);
        /* what all partitions must hear */
        assert_true(p->gac == t->gac && p->weight == t->weight);
        assert_true(p->of_index == (t->index_of != 0));
        assert_true(p->on_demand == (t->billing == BILLING_ON_DEMAND));
        assert_int_equal(p->indexes_version, t->indexes_version);
        assert_int_equal(p->key_sharding_version, table_key_sharding_version(t));
    }
}

/* ---- commands ---- */

struct catalog_command catalog_world_command(const struct catalog_world *w, enum catalog_op op)
{
    struct catalog_command c;
    catalog_command_init(&c, op, &w->config, w->nodes, w->wall_ms);
    c.agreed_ms = w->behind_ms < 0 ? 0 : w->wall_ms - w->behind_ms;
    c.spec.name = slice_of("-");
    memset(c.uuid, 7, sizeof c.uuid);
    return c;
}

enum reply_code catalog_world_apply(struct catalog_world *w, struct catalog_command *c)
{
    struct buffer b = {0};
    struct catalog_result result;
    catalog_command_encode(&b, c);
    catalog_apply(w->catalog, buffer_slice(&b), &result);
    buffer_deinit(&b);
    assert_true(result.code == REPLY_OK || result.row_count == 0);
    for (uint32_t i = 0; i < result.row_count; i++)
        world_store(w, &result.rows[i]);
    for (const struct table *t = NULL; (t = catalog_next(w->catalog, t)) != NULL;)
        world_check(t);
    if (w->row_count <= ROWS_CHECKED_MAX)
        world_reload(w);
    buffer_clear(&w->text);
    buffer_append_slice(&w->text, result.text);
    for (uint32_t i = 0; result.code == REPLY_OK && i < result.index_count; i++) {
        buffer_append_text(&w->text, " ");
        buffer_append_slice(&w->text, result.indexes[i]->name);
    }
    if (result.code == REPLY_TABLE_BUSY && result.table != NULL && result.text.size == 0)
        buffer_append_slice(&w->text, result.table->name);
    return result.code;
}

enum reply_code catalog_world_decide(struct catalog_world *w, enum catalog_op op,
                                     const struct decision *d)
{
    struct buffer b = {0};
    decision_encode(&b, d);
    struct catalog_command c = catalog_world_command(w, op);
    c.decision = buffer_slice(&b);
    const enum reply_code code = catalog_world_apply(w, &c);
    buffer_deinit(&b);
    return code;
}

const struct table *catalog_world_table(const struct catalog_world *w, const char *name)
{
    const struct table *t = catalog_find(w->catalog, slice_of(name));
    if (t == NULL)
        fail_msg("no table '%s'", name);
    return t;
}

const struct partition_info *catalog_world_at(const struct catalog_world *w, const char *name,
                                              int64_t i)
{
    const struct table *t = catalog_world_table(w, name);
    assert_in_range(i, 0, t->partition_count - 1);
    return &t->partitions[i];
}

/* ---- settings ---- */

static void world_set(struct catalog_world *w, const char *name, const char *value)
{
    struct buffer error = {0};
    const enum profile profile = w->config.profile;
    w->config.profile = PROFILE_RESEARCH; /* it lets us choose everything */
    if (config_set(&w->config, slice_of(name), slice_of(value), &error) != STATUS_OK)
        fail_msg("%.*s", (int)error.size, (const char *)error.data);
    w->config.profile = profile;
    buffer_deinit(&error);
}

static void world_set_parts(struct catalog_world *w, const char *named)
{
    static const char *const PARTS[] = {"adaptive", "placement", "split", "on_demand",
                                        "balance",  "leaders",   "merge"};
    for (size_t i = 0; i < COUNT_OF(PARTS); i++) {
        char name[32];
        snprintf(name, sizeof name, "control_%s", PARTS[i]);
        if (strstr(named, PARTS[i]) != NULL)
            world_set(w, name, "1");
        else if (strcmp(PARTS[i], "merge") != 0) /* off, unless somebody wants it */
            world_set(w, name, "0");
    }
}

static void world_set_word(struct catalog_world *w, const char *word)
{
    char name[64];
    const size_t size = strcspn(word, "=");
    assert_true(word[size] == '=' && size < sizeof name);
    memcpy(name, word, size);
    name[size] = '\0';
    if (strcmp(name, "only") == 0)
        world_set_parts(w, word + size + 1);
    else
        world_set(w, name, word + size + 1);
}

void catalog_world_set(struct catalog_world *w, struct case_words *c, int i)
{
    for (; i < c->count; i++)
        world_set_word(w, case_word(c, i));
}

void catalog_world_settings(struct catalog_world *w)
{
    char copy[sizeof w->settings], *rest = copy;
    memcpy(copy, w->settings, sizeof copy);
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;)
        world_set_word(w, word);
}

/* ---- life ---- */

void catalog_world_add_node(struct catalog_world *w, uint32_t node, uint32_t generation)
{
    struct catalog_command c = catalog_world_command(w, CATALOG_NODE);
    c.node = node;
    c.generation = generation;
    assert_int_equal(catalog_world_apply(w, &c), REPLY_OK);
}

void catalog_world_begin(struct catalog_world *w, uint32_t nodes)
{
    w->catalog = catalog_create();
    w->nodes = nodes;
    w->wall_ms = 1000;
    w->behind_ms = -1;
    if (w->generation == 0)
        w->generation = 7;
    config_init(&w->config, PROFILE_AWS);
    catalog_world_settings(w);
}

void catalog_world_end(struct catalog_world *w)
{
    catalog_destroy(w->catalog);
    w->catalog = NULL;
    for (size_t i = 0; i < w->row_count; i++)
        world_free_row(&w->rows[i]);
    free(w->rows);
    w->rows = NULL;
    w->row_count = 0;
    buffer_deinit(&w->text);
}

/* ---- output ---- */

void catalog_world_print(struct catalog_world *w, struct case_words *c, enum reply_code code)
{
    const size_t before = c->out->size;
    if (code == REPLY_OK) {
        if (w->text.size > 0)
            case_print(c, "%s with%.*s\n", c->words[0], (int)w->text.size,
                       (const char *)w->text.data);
        return;
    }
    for (int i = 0; i < c->count; i++)
        case_print(c, "%s%s", i == 0 ? "" : " ", c->words[i]);
    case_print(c, ": %s", reply_code_name(code));
    const bool fits = c->out->size - before + w->text.size < CASE_COLUMNS;
    if (fits && w->text.size > 0)
        case_print(c, ", %.*s", (int)w->text.size, (const char *)w->text.data);
    case_print(c, "\n");
    if (!fits)
        case_append_text(c->out, buffer_slice(&w->text), true);
}

static void print_units(struct case_words *c, int64_t mcu)
{
    case_print(c, " %lld", (long long)mcu / MCU_PER_UNIT);
    if (mcu % MCU_PER_UNIT != 0)
        case_print(c, ".%03lld", (long long)mcu % MCU_PER_UNIT);
}

static void print_partition(struct case_words *c, const struct partition_info *p)
{
    static const char *const MERGE[] = {"", "freezes with", "thaws with", "absorbs"};
    case_print(c, "/%u@%llu:", p->id, (unsigned long long)p->epoch);
    print_units(c, p->rate_mcu[ADMIT_READ]);
    case_print(c, " r");
    print_units(c, p->rate_mcu[ADMIT_WRITE]);
    case_print(c, " w, nodes");
    for (uint32_t k = 0; k < p->member_count; k++) {
        case_print(c, " %s%u", p->joined >> k & 1 ? "+" : "", partition_node(p, k));
        if (raft_member_generation(p->members[k]) > 999)
            case_print(c, "'"); /* a new life */
    }
    if (p->leaving != 0)
        case_print(c, ", %u leaves%s", raft_member_node(p->leaving), p->let_go ? " (let go)" : "");
    if (p->parent != 0)
        case_print(c, ", from /%u: %u r %u w ppm", p->parent, p->share_ppm[0], p->share_ppm[1]);
    if (p->merge != MERGE_NONE)
        case_print(c, ", %s /%u%s", MERGE[p->merge], p->merge_with,
                   p->absorbed ? ", has done so" : "");
    if (p->frozen_index != 0 || p->frozen_term != 0)
        case_print(c, ", frozen by %llu of term %llu", (unsigned long long)p->frozen_index,
                   (unsigned long long)p->frozen_term);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        if (p->maximum_mcu[kind] == 0)
            continue;
        case_print(c, ", at most");
        print_units(c, p->maximum_mcu[kind]);
        case_print(c, kind == ADMIT_READ ? " r" : " w");
    }
    case_print(c, "\n");
}

void catalog_world_print_table(struct case_words *c, const struct table *t)
{
    for (uint32_t i = 0; i < t->partition_count; i++)
        print_partition(c, &t->partitions[i]);
}
