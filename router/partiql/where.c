/* where.c - finds equalities and ranges of keys in WHERE clauses. */
#include "router/partiql/where.h"

#include "engine/catalog/table_key.h"

/* ---- conjuncts ---- */

struct conjuncts {
    const struct condition **list; /* in the arena */
    uint32_t count;
    uint32_t room;
};

static uint32_t conjuncts_count(const struct condition *c)
{
    uint32_t count = 0;
    if (c->kind != CONDITION_AND)
        return 1;
    for (const struct condition *a = c->args; a != NULL; a = a->next)
        count += conjuncts_count(a);
    return count;
}

static void conjuncts_add(struct conjuncts *out, const struct condition *c)
{
    if (c->kind != CONDITION_AND) {
        must(out->count < out->room);
        out->list[out->count++] = c;
        return;
    }
    for (const struct condition *a = c->args; a != NULL; a = a->next)
        conjuncts_add(out, a);
}

static struct conjuncts conjuncts_of(const struct condition *where, struct arena *arena)
{
    struct conjuncts out = {.room = where == NULL ? 0 : conjuncts_count(where)};
    out.list = arena_alloc(arena, (out.room + 1) * sizeof(const struct condition *));
    if (where != NULL)
        conjuncts_add(&out, where);
    return out;
}

/* ---- making conditions ---- */

static struct condition *where_node(struct arena *arena, enum condition_kind kind)
{
    struct condition *c = arena_zalloc(arena, sizeof *c);
    c->kind = kind;
    return c;
}

/* A node may be the operand of one node only. */
static struct condition *where_copy(struct arena *arena, const struct condition *of)
{
    struct condition *c = arena_alloc(arena, sizeof *c);
    *c = *of;
    c->next = NULL;
    return c;
}

struct condition *where_join(struct arena *arena, enum condition_kind kind, struct condition *a,
                             struct condition *b)
{
    if (b == NULL)
        return a;
    struct condition *c = where_node(arena, kind);
    condition_add(c, a);
    condition_add(c, b);
    return c;
}

/* All conjuncts that are left, those that are NULL are not. */
static struct condition *where_all(struct arena *arena, const struct conjuncts *of)
{
    struct condition *out = NULL;
    uint32_t left = 0;
    for (uint32_t i = 0; i < of->count; i++)
        left += of->list[i] != NULL;
    if (left > 1)
        out = where_node(arena, CONDITION_AND);
    for (uint32_t i = 0; i < of->count; i++) {
        if (of->list[i] == NULL)
            continue;
        struct condition *c = where_copy(arena, of->list[i]);
        if (out == NULL)
            return c;
        condition_add(out, c);
    }
    return out;
}

struct condition *where_item_exists(struct arena *arena, const struct table *t, bool exists)
{
    struct condition *c = where_node(arena, CONDITION_FUNCTION);
    struct condition *path = where_node(arena, CONDITION_PATH);
    path->path = arena_zalloc(arena, sizeof *path->path);
    path->path->name = t->partition_key.name;
    c->name = slice_of(exists ? "attribute_exists" : "attribute_not_exists");
    c->function = exists ? FUNCTION_EXISTS : FUNCTION_NOT_EXISTS;
    condition_add(c, path);
    return c;
}

/* ---- conditions on one attribute ---- */

static bool where_is_name(const struct condition *c, struct slice name)
{
    return c->kind == CONDITION_PATH && c->path->next == NULL && slice_equal(c->path->name, name);
}

/* The value that the attribute must have. NULL: the node is no such equality. */
static const struct attr *where_equals(const struct condition *c, struct slice name)
{
    if (c->kind != CONDITION_COMPARE || c->op != TOKEN_EQ)
        return NULL;
    const struct condition *left = c->args, *right = left->next;
    if (where_is_name(left, name) && right->kind == CONDITION_VALUE)
        return &right->value;
    return where_is_name(right, name) && left->kind == CONDITION_VALUE ? &left->value : NULL;
}

/* The values one of which the attribute must have: of =, IN, and OR of these. `count` 0: the node
 * says something else. More than WHERE_RANGES_MAX are counted, not kept. */
struct where_values {
    struct attr list[WHERE_RANGES_MAX];
    uint32_t count;
};

static void where_add_value(struct where_values *out, const struct attr *value)
{
    if (out->count < WHERE_RANGES_MAX)
        out->list[out->count] = *value;
    out->count++;
}

static bool where_add_values(const struct condition *c, struct slice name, struct where_values *out)
{
    const struct attr *value = where_equals(c, name);
    if (value != NULL) {
        where_add_value(out, value);
        return true;
    }
    if (c->kind == CONDITION_OR) {
        for (const struct condition *a = c->args; a != NULL; a = a->next) {
            if (!where_add_values(a, name, out))
                return false;
        }
        return true;
    }
    if (c->kind != CONDITION_IN || !where_is_name(c->args, name))
        return false;
    for (const struct condition *a = c->args->next; a != NULL; a = a->next) {
        if (a->kind != CONDITION_VALUE)
            return false;
        where_add_value(out, &a->value);
    }
    return true;
}

static bool where_find_values(const struct condition *c, struct slice name,
                              struct where_values *out)
{
    out->count = 0;
    return where_add_values(c, name, out) && out->count > 0;
}

/* ---- the key of one item ---- */

static const struct attr *where_single(const struct condition *c, struct slice name, bool in)
{
    if (in && c->kind == CONDITION_IN && c->arg_count == 2 && where_is_name(c->args, name) &&
        c->args->next->kind == CONDITION_VALUE)
        return &c->args->next->value;
    return where_equals(c, name);
}

void where_find_key(const struct condition *where, const struct table *t, bool in,
                    struct arena *arena, struct where_key *out)
{
    const struct key_attr *keys[2] = {&t->partition_key, &t->sort_key};
    const uint32_t count = table_has_sort_key(t) ? 2 : 1;
    struct conjuncts all = conjuncts_of(where, arena);
    *out = (struct where_key){0};
    for (uint32_t i = 0; i < all.count; i++) {
        for (uint32_t k = 0; k < count && all.list[i] != NULL; k++) {
            const struct attr *value = where_single(all.list[i], keys[k]->name, in);
            if (value == NULL)
                continue;
            if (out->values[k].type == 0)
                out->values[k] = *value;
            else if (value->type != out->values[k].type ||
                     !slice_equal(value->body, out->values[k].body)) { /* no key is a set or map */
                out->twofold = keys[k]->name;
                continue;
            }
            all.list[i] = NULL;
        }
    }
    out->whole = out->values[0].type != 0 && out->values[count - 1].type != 0;
    out->rest = where_all(arena, &all);
}

void where_append_key(struct buffer *out, const struct table *t, const struct where_key *key)
{
    struct item_writer w;
    item_begin(&w, out);
    item_name(&w, t->partition_key.name);
    item_attr(&w, &key->values[0]);
    if (table_has_sort_key(t)) {
        item_name(&w, t->sort_key.name);
        item_attr(&w, &key->values[1]);
    }
    item_end(&w);
}

/* ---- ranges ---- */

struct range_finder {
    const struct key_schema *schema;
    struct arena *arena;
    struct where_ranges *out;
    struct fault *fault;
};

/* What one arm of the clause says: values of the first attributes, conditions on the next. */
struct arm {
    struct where_values values[2 * INDEX_KEYS_MAX];
    uint32_t count; /* of attributes that have values */
    struct key_condition last[2];
    uint32_t last_count;
};

static bool range_refuse_type(struct range_finder *f, const struct key_attr *k)
{
    return fault_invalid(f->fault,
                         "Key attribute's data type should match its data type in table's schema: "
                         "Key %.*s",
                         SHOWN(k->name));
}

static enum key_operator range_operator(const struct condition *c, bool mirrored)
{
    switch (c->op) {
    case TOKEN_LT:
        return mirrored ? KEY_GREATER : KEY_LESS;
    case TOKEN_LE:
        return mirrored ? KEY_GREATER_OR_EQUAL : KEY_LESS_OR_EQUAL;
    case TOKEN_GT:
        return mirrored ? KEY_LESS : KEY_GREATER;
    case TOKEN_GE:
        return mirrored ? KEY_LESS_OR_EQUAL : KEY_GREATER_OR_EQUAL;
    default:
        return KEY_ANY;
    }
}

/* A condition that a range of keys can fulfil. False: the node is none on the attribute. */
static bool range_condition(const struct condition *c, struct slice name, struct key_condition *out)
{
    *out = (struct key_condition){.name = name};
    const struct condition *first = c->args;
    if (c->kind == CONDITION_COMPARE) {
        const bool mirrored = !where_is_name(first, name);
        const struct condition *path = mirrored ? first->next : first;
        const struct condition *value = mirrored ? first : first->next;
        if (!where_is_name(path, name) || value->kind != CONDITION_VALUE)
            return false;
        out->op = range_operator(c, mirrored);
        out->values[0] = value->value;
        return out->op != KEY_ANY;
    }
    if (c->kind == CONDITION_BETWEEN && where_is_name(first, name) &&
        first->next->kind == CONDITION_VALUE && first->next->next->kind == CONDITION_VALUE) {
        out->op = KEY_BETWEEN;
        out->values[0] = first->next->value;
        out->values[1] = first->next->next->value;
        return true;
    }
    if (c->kind == CONDITION_FUNCTION && c->function == FUNCTION_BEGINS_WITH &&
        where_is_name(first, name) && first->next->kind == CONDITION_VALUE) {
        out->op = KEY_BEGINS_WITH;
        out->values[0] = first->next->value;
        return true;
    }
    return false;
}

/* Takes conjuncts that ranges fulfil out of `all`. False: a key of the partition has no value. */
static bool arm_read(struct range_finder *f, struct conjuncts *all, struct arm *out)
{
    const struct key_schema *k = f->schema;
    out->count = out->last_count = 0;
    while (out->count < k->partition_count + k->sort_count) {
        uint32_t i = 0;
        while (i < all->count &&
               (all->list[i] == NULL || !where_find_values(all->list[i], k->keys[out->count].name,
                                                           &out->values[out->count])))
            i++;
        if (i == all->count)
            break;
        all->list[i] = NULL;
        out->count++;
    }
    if (out->count < k->partition_count)
        return false;
    for (uint32_t i = 0;
         i < all->count && out->count < k->partition_count + k->sort_count && out->last_count < 2;
         i++) {
        if (all->list[i] != NULL &&
            range_condition(all->list[i], k->keys[out->count].name, &out->last[out->last_count])) {
            out->last_count++;
            all->list[i] = NULL;
        }
    }
    return true;
}

static bool arm_check(struct range_finder *f, const struct arm *a)
{
    const struct key_schema *k = f->schema;
    uint64_t ranges = 1;
    for (uint32_t i = 0; i < a->count; i++) {
        ranges *= a->values[i].count;
        if (ranges + f->out->count > WHERE_RANGES_MAX)
            return fault_invalid(f->fault,
                                 "Too many decomposed read operations for a given query.");
        for (uint32_t v = 0; v < a->values[i].count; v++) {
            const struct key_condition equal = {.op = KEY_EQUAL, .values = {a->values[i].list[v]}};
            if (equal.values[0].type != k->keys[i].type)
                return range_refuse_type(f, &k->keys[i]);
            if (!key_condition_fits(&equal, &k->keys[i], i < k->partition_count, f->fault))
                return false;
        }
    }
    for (uint32_t i = 0; i < a->last_count; i++) {
        if (a->last[i].values[0].type != k->keys[a->count].type)
            return range_refuse_type(f, &k->keys[a->count]);
        if (!key_condition_fits(&a->last[i], &k->keys[a->count], false, f->fault))
            return false;
    }
    return true;
}

static uint32_t arm_combinations(const struct arm *a)
{
    uint32_t combinations = 1;
    for (uint32_t i = 0; i < a->count; i++)
        combinations *= a->values[i].count;
    return combinations;
}

/* Adds a range for each combination of the values. */
static bool arm_add_ranges(struct range_finder *f, const struct arm *a)
{
    const uint32_t combinations = arm_combinations(a);
    for (uint32_t n = 0; n < combinations; n++) {
        struct where_range *r = &f->out->list[f->out->count++];
        uint32_t left = n;
        *r = (struct where_range){.also = {.op = KEY_ANY}};
        for (uint32_t i = a->count; i-- > 0; left /= a->values[i].count)
            r->found.of[i] =
                (struct key_condition){.name = f->schema->keys[i].name,
                                       .op = KEY_EQUAL,
                                       .values = {a->values[i].list[left % a->values[i].count]}};
        r->found.count = a->count;
        if (a->last_count > 0)
            r->found.of[r->found.count++] = a->last[0];
        if (a->last_count > 1)
            r->also = a->last[1];
        if (!key_matches_fit(&r->found, f->schema, f->fault))
            return false;
    }
    return true;
}

/* The arms of a clause that is an OR of several. */
static bool range_find_arms(struct range_finder *f, const struct condition *where, struct arm *a)
{
    for (const struct condition *c = where->args; c != NULL; c = c->next) {
        struct conjuncts all = conjuncts_of(c, f->arena);
        if (!arm_read(f, &all, a))
            return true; /* this arm may hold for any key */
    }
    f->out->list = arena_alloc(f->arena, WHERE_RANGES_MAX * sizeof *f->out->list);
    for (const struct condition *c = where->args; c != NULL; c = c->next) {
        struct conjuncts all = conjuncts_of(c, f->arena);
        must(arm_read(f, &all, a));
        if (!arm_check(f, a) || !arm_add_ranges(f, a))
            return false;
    }
    return true;
}

bool where_find_ranges(const struct condition *where, const struct key_schema *schema,
                       struct arena *arena, struct where_ranges *out, struct fault *fault)
{
    struct range_finder f = {schema, arena, out, fault};
    struct arm a;
    *out = (struct where_ranges){.filter = where};
    if (where == NULL)
        return true;
    struct conjuncts all = conjuncts_of(where, arena);
    if (!arm_read(&f, &all, &a))
        return where->kind != CONDITION_OR || range_find_arms(&f, where, &a);
    if (!arm_check(&f, &a))
        return false;
    out->list = arena_alloc(arena, arm_combinations(&a) * sizeof *out->list);
    out->filter = where_all(arena, &all);
    return arm_add_ranges(&f, &a);
}
