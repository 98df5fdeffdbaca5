/* expression_property.c - random conditions over random items: a program says what an evaluator
 * says that works on the tree of the test, value by value, and shares no code with it. */
#include "engine/expression/program.h"
#include "tests/check.h"

enum {
    ELEMENTS = 3,
    ATTRIBUTES = 4,
    VALUES = 6,
    TEXT = 8192,
};

/* ---- values ---- */

struct model {
    enum attr_type type;
    int number;   /* also of a bool */
    char text[4]; /* of a string or binary */
    int count;
    char names[ELEMENTS]; /* of a map: one letter each */
    struct model *elements[ELEMENTS];
};

static struct model pool[4096];
static size_t pool_used;

static struct model *model_new(enum attr_type type)
{
    assert_true(pool_used < sizeof pool / sizeof pool[0]);
    struct model *m = &pool[pool_used++];
    *m = (struct model){.type = type};
    return m;
}

static enum attr_type element_of(enum attr_type set)
{
    return set == ATTR_STRING_SET   ? ATTR_STRING
           : set == ATTR_NUMBER_SET ? ATTR_NUMBER
                                    : ATTR_BINARY;
}

static bool model_equal(const struct model *a, const struct model *b);

static bool model_has(const struct model *list, const struct model *one)
{
    for (int i = 0; i < list->count; i++) {
        if (model_equal(list->elements[i], one))
            return true;
    }
    return false;
}

static struct model *model_scalar(struct prng *p, enum attr_type type)
{
    struct model *m = model_new(type);
    m->number = type == ATTR_BOOL ? (int)prng_below(p, 2) : (int)prng_between(p, -3, 3);
    size_t size = prng_below(p, 3);
    for (size_t i = 0; i < size; i++)
        m->text[i] = (char)('a' + prng_below(p, 2));
    return m;
}

static struct model *model_any(struct prng *p, int depth)
{
    enum attr_type type = (enum attr_type)prng_between(p, ATTR_STRING, depth < 2 ? ATTR_MAP : 8);
    if (type < ATTR_STRING_SET)
        return model_scalar(p, type);
    struct model *m = model_new(type);
    int count = (int)prng_below(p, ELEMENTS + 1);
    while (m->count < count) {
        struct model *e =
            type >= ATTR_LIST ? model_any(p, depth + 1) : model_scalar(p, element_of(type));
        if (type < ATTR_LIST && model_has(m, e)) {
            count--; /* a set has no two that are equal */
            continue;
        }
        m->names[m->count] = (char)('a' + m->count);
        m->elements[m->count++] = e;
    }
    if (m->count > 1 && prng_below(p, 2)) { /* in another order */
        char name = m->names[0];
        struct model *first = m->elements[0];
        m->names[0] = m->names[1];
        m->elements[0] = m->elements[1];
        m->names[1] = name;
        m->elements[1] = first;
    }
    return m;
}

static const struct model *model_member(const struct model *map, char name)
{
    for (int i = 0; i < map->count; i++) {
        if (map->names[i] == name)
            return map->elements[i];
    }
    return NULL;
}

static bool model_equal_all(const struct model *a, const struct model *b)
{
    for (int i = 0; i < a->count; i++) {
        const struct model *other = a->type == ATTR_LIST  ? b->elements[i]
                                    : a->type == ATTR_MAP ? model_member(b, a->names[i])
                                                          : NULL;
        if (a->type >= ATTR_LIST ? other == NULL || !model_equal(a->elements[i], other)
                                 : !model_has(b, a->elements[i]))
            return false;
    }
    return true;
}

static bool model_equal(const struct model *a, const struct model *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case ATTR_STRING:
    case ATTR_BINARY:
        return strcmp(a->text, b->text) == 0;
    case ATTR_NUMBER:
    case ATTR_BOOL:
        return a->number == b->number;
    case ATTR_NULL:
        return true;
    default:
        return a->count == b->count && model_equal_all(a, b);
    }
}

static void model_write(struct item_writer *w, const struct model *m)
{
    struct number n;
    char text[16];
    switch (m->type) {
    case ATTR_STRING:
        item_string(w, slice_of(m->text));
        return;
    case ATTR_BINARY:
        item_binary(w, slice_of(m->text));
        return;
    case ATTR_NUMBER:
        snprintf(text, sizeof text, "%d", m->number);
        assert_int_equal(number_parse(slice_of(text), &n), NUMBER_OK);
        item_number(w, &n);
        return;
    case ATTR_BOOL:
        item_bool(w, m->number);
        return;
    case ATTR_NULL:
        item_null(w);
        return;
    default:
        break;
    }
    item_open(w, m->type);
    for (int i = 0; i < m->count; i++) {
        if (m->type == ATTR_MAP)
            item_name(w, slice_make(&m->names[i], 1));
        model_write(w, m->elements[i]);
    }
    item_close(w);
}

/* ---- conditions ---- */

enum kind {
    OR,
    AND,
    NOT,
    COMPARE,
    BETWEEN,
    IN,
    EXISTS,
    NOT_EXISTS,
    TYPE,
    BEGINS_WITH,
    CONTAINS,
    KINDS
};

struct operand {
    bool sized; /* size(..) */
    bool is_value;
    int value;
    char path[16];
};

struct tree {
    enum kind kind;
    int op; /* of COMPARE: index into SIGNS */
    enum attr_type type;
    int count;
    struct operand operands[3];
    struct tree *args[3];
};

static const char *const SIGNS[] = {"=", "<>", "<", "<=", ">", ">="};
static const char *const TYPES[] = {"", "S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"};

struct fixture {
    const struct model *attributes[ATTRIBUTES]; /* "a" .. "d"; NULL: there is none */
    const struct model *values[VALUES];         /* ":v0" .. */
};

static struct tree trees[256];
static size_t trees_used;

static struct operand operand_any(struct prng *p, bool may_size)
{
    struct operand o = {.sized = may_size && prng_below(p, 6) == 0,
                        .is_value = prng_below(p, 3) == 0,
                        .value = (int)prng_below(p, VALUES)};
    o.path[0] = (char)('a' + prng_below(p, ATTRIBUTES + 1)); /* one that never is there */
    while (prng_below(p, 3) == 0 && strlen(o.path) < 8) {
        char step[8];
        if (prng_below(p, 2))
            snprintf(step, sizeof step, ".%c", (char)('a' + prng_below(p, ELEMENTS)));
        else
            snprintf(step, sizeof step, "[%d]", (int)prng_below(p, ELEMENTS));
        memcpy(o.path + strlen(o.path), step, strlen(step) + 1);
    }
    return o;
}

static struct tree *tree_any(struct prng *p, int depth)
{
    assert_true(trees_used < sizeof trees / sizeof trees[0]);
    struct tree *t = &trees[trees_used++];
    *t = (struct tree){.kind = (enum kind)prng_between(p, depth < 4 ? OR : COMPARE, KINDS - 1),
                       .op = (int)prng_below(p, 6),
                       .type = (enum attr_type)prng_between(p, ATTR_STRING, ATTR_MAP)};
    t->count = t->kind == NOT || (t->kind >= EXISTS && t->kind <= TYPE) ? 1 : 2;
    if (t->kind == BETWEEN || (prng_below(p, 2) && (t->kind <= AND || t->kind == IN)))
        t->count = 3;
    for (int i = 0; i < t->count; i++) {
        if (t->kind <= NOT)
            t->args[i] = tree_any(p, depth + 1);
        else
            t->operands[i] = operand_any(p, t->kind != EXISTS && t->kind != NOT_EXISTS);
    }
    return t;
}

/* ---- the text ---- */

static void text_add(char *text, const char *more)
{
    assert_true(strlen(text) + strlen(more) < TEXT);
    strncat(text, more, TEXT - strlen(text) - 1);
}

static void operand_print(char *text, const struct operand *o)
{
    char value[8];
    if (o->sized)
        text_add(text, "size(");
    snprintf(value, sizeof value, ":v%d", o->value);
    text_add(text, o->is_value ? value : o->path);
    if (o->sized)
        text_add(text, ")");
}

static void operands_print(char *text, const struct tree *t, const char *before,
                           const char *between, const char *after)
{
    text_add(text, before);
    for (int i = 0; i < t->count; i++) {
        operand_print(text, &t->operands[i]);
        text_add(text, i + 1 < t->count ? between : after);
    }
}

static void simple_print(char *text, const struct tree *t)
{
    static const char *const FUNCTIONS_OF[KINDS] = {[EXISTS] = "attribute_exists(",
                                                    [NOT_EXISTS] = "attribute_not_exists (",
                                                    [BEGINS_WITH] = "begins_with(",
                                                    [CONTAINS] = "contains( "};
    char sign[8];
    switch (t->kind) {
    case COMPARE:
        snprintf(sign, sizeof sign, " %s ", SIGNS[t->op]);
        operands_print(text, t, "", sign, "");
        break;
    case BETWEEN:
        operand_print(text, &t->operands[0]);
        text_add(text, " BETWEEN ");
        operand_print(text, &t->operands[1]);
        text_add(text, " and ");
        operand_print(text, &t->operands[2]);
        break;
    case IN:
        operand_print(text, &t->operands[0]);
        text_add(text, " in (");
        for (int i = 1; i < t->count; i++) {
            operand_print(text, &t->operands[i]);
            text_add(text, i + 1 < t->count ? "," : ")");
        }
        break;
    case TYPE:
        operands_print(text, t, "attribute_type(", "", ", :");
        text_add(text, TYPES[t->type]);
        text_add(text, ")");
        break;
    default:
        operands_print(text, t, FUNCTIONS_OF[t->kind], ", ", ")");
    }
}

/* Parentheses stand where they must; `outer`: what the condition stands in. */
static void tree_print(char *text, const struct tree *t, enum kind outer)
{
    static const char *const WORDS[] = {" OR ", " AND "};
    bool parentheses = t->kind < outer && t->kind <= AND && outer <= NOT;
    if (parentheses)
        text_add(text, "(");
    if (t->kind == NOT) {
        text_add(text, "NOT ");
        tree_print(text, t->args[0], NOT);
    } else if (t->kind > NOT) {
        simple_print(text, t);
    } else {
        for (int i = 0; i < t->count; i++) {
            if (i > 0)
                text_add(text, WORDS[t->kind]);
            tree_print(text, t->args[i], t->kind);
        }
    }
    if (parentheses)
        text_add(text, ")");
}

/* ---- the truth ---- */

static struct model sizes[64];
static size_t sizes_used;

static const struct model *path_find(const struct fixture *w, const char *path)
{
    int at = path[0] - 'a';
    const struct model *m = at < ATTRIBUTES ? w->attributes[at] : NULL;
    for (path++; *path != '\0' && m != NULL;) {
        if (*path == '.') {
            m = m->type == ATTR_MAP ? model_member(m, path[1]) : NULL;
            path += 2;
        } else {
            int index = path[1] - '0';
            m = m->type == ATTR_LIST && index < m->count ? m->elements[index] : NULL;
            path += 3;
        }
    }
    return m;
}

static const struct model *operand_find(const struct fixture *w, const struct operand *o)
{
    const struct model *m = o->is_value ? w->values[o->value] : path_find(w, o->path);
    if (!o->sized || m == NULL)
        return m;
    if (m->type == ATTR_NUMBER || m->type == ATTR_BOOL || m->type == ATTR_NULL)
        return NULL;
    struct model *size = &sizes[sizes_used++ % 64];
    *size = (struct model){.type = ATTR_NUMBER};
    size->number = m->type >= ATTR_STRING_SET ? m->count : (int)strlen(m->text);
    return size;
}

/* -1, 0, 1; 2: they have no order. */
static int model_order(const struct model *a, const struct model *b)
{
    if (a == NULL || b == NULL || a->type != b->type || a->type > ATTR_BINARY)
        return 2;
    int order = a->type == ATTR_NUMBER ? a->number - b->number : strcmp(a->text, b->text);
    return (order > 0) - (order < 0);
}

static bool compare_holds(int op, const struct model *a, const struct model *b)
{
    bool equal = a != NULL && b != NULL && model_equal(a, b);
    int order = model_order(a, b);
    switch (op) {
    case 0:
        return equal;
    case 1:
        return !equal;
    case 2:
        return order == -1;
    case 3:
        return order == -1 || order == 0;
    case 4:
        return order == 1;
    default:
        return order == 1 || order == 0;
    }
}

static bool text_holds(enum kind kind, const struct model *a, const struct model *b)
{
    if (a == NULL || b == NULL)
        return false;
    bool texts = a->type == b->type && (a->type == ATTR_STRING || a->type == ATTR_BINARY);
    if (kind == BEGINS_WITH)
        return texts && strncmp(a->text, b->text, strlen(b->text)) == 0;
    if (texts)
        return strstr(a->text, b->text) != NULL;
    return a->type >= ATTR_STRING_SET && a->type != ATTR_MAP && model_has(a, b);
}

static bool tree_holds(const struct fixture *w, const struct tree *t);

static bool simple_holds(const struct fixture *w, const struct tree *t)
{
    const struct model *m[3] = {NULL, NULL, NULL};
    for (int i = 0; i < t->count; i++)
        m[i] = operand_find(w, &t->operands[i]);
    switch (t->kind) {
    case COMPARE:
        return compare_holds(t->op, m[0], m[1]);
    case BETWEEN:
        return compare_holds(5, m[0], m[1]) && compare_holds(3, m[0], m[2]);
    case IN:
        return compare_holds(0, m[0], m[1]) || (t->count == 3 && compare_holds(0, m[0], m[2]));
    case EXISTS:
        return m[0] != NULL;
    case NOT_EXISTS:
        return m[0] == NULL;
    case TYPE:
        return m[0] != NULL && m[0]->type == t->type;
    default:
        return text_holds(t->kind, m[0], m[1]);
    }
}

static bool tree_holds(const struct fixture *w, const struct tree *t)
{
    if (t->kind > NOT)
        return simple_holds(w, t);
    if (t->kind == NOT)
        return !tree_holds(w, t->args[0]);
    bool all = true, any = false;
    for (int i = 0; i < t->count; i++) {
        bool holds = tree_holds(w, t->args[i]);
        all = all && holds;
        any = any || holds;
    }
    return t->kind == AND ? all : any;
}

/* ---- the property ---- */

struct run {
    struct arena arena;
    struct buffer item;
    struct buffer values;
    struct expression_name names[VALUES + ATTR_MAP];
    char keys[VALUES + ATTR_MAP][8];
    uint64_t taken;
    uint64_t held;
};

/* The values of the world, and for attribute_type ":S" and so on. */
static void run_values(struct run *r, const struct fixture *w)
{
    struct item_writer writer;
    item_begin(&writer, &r->values);
    for (int i = 0; i < VALUES + ATTR_MAP; i++) {
        if (i < VALUES)
            snprintf(r->keys[i], sizeof r->keys[i], ":v%d", i);
        else
            snprintf(r->keys[i], sizeof r->keys[i], ":%s", TYPES[i - VALUES + 1]);
        item_name(&writer, slice_of(r->keys[i]));
        if (i < VALUES)
            model_write(&writer, w->values[i]);
        else
            item_string(&writer, slice_of(TYPES[i - VALUES + 1]));
    }
    item_end(&writer);
    struct attr_cursor c = item_attrs(buffer_slice(&r->values));
    for (int i = 0; i < VALUES + ATTR_MAP; i++)
        assert_true(attr_next(&c, &r->names[i].key, &r->names[i].value));
}

static void run_item(struct run *r, const struct fixture *w)
{
    struct item_writer writer;
    item_begin(&writer, &r->item);
    for (int i = 0; i < ATTRIBUTES; i++) {
        char name = (char)('a' + i);
        if (w->attributes[i] == NULL)
            continue;
        item_name(&writer, slice_make(&name, 1));
        model_write(&writer, w->attributes[i]);
    }
    item_end(&writer);
}

/* What the service refuses is no condition; most are taken. */
static void run_one(struct run *r, struct prng *p, const struct fixture *w)
{
    static char text[TEXT];
    struct expression_names names = {.values = r->names, .value_count = VALUES + ATTR_MAP};
    struct expression_fault fault;
    struct buffer program = {0};
    trees_used = 0;
    text[0] = '\0';
    const struct tree *t = tree_any(p, (int)prng_below(p, 4));
    tree_print(text, t, OR);
    const struct condition *c = condition_parse(slice_of(text), &names, &r->arena, &fault);
    if (c == NULL) {
        if (fault.error <= EXPRESSION_VALUE_UNDEFINED && fault.error != EXPRESSION_TOO_LONG)
            fail_msg("error %d: %s", fault.error, text);
        return;
    }
    program_encode(&program, c);
    assert_int_equal(program_check(buffer_slice(&program)), STATUS_OK);
    bool holds = program_holds(buffer_slice(&program), buffer_slice(&r->item), &(struct steps){0});
    if (holds != tree_holds(w, t))
        fail_msg("%s: %d", text, holds);
    r->taken++;
    r->held += holds;
    buffer_deinit(&program);
}

static void programs_give_the_results_of_the_conditions(struct prng *p)
{
    enum {
        CONDITIONS = 200
    };
    struct run r = {0};
    struct fixture w;
    pool_used = 0;
    for (int i = 0; i < ATTRIBUTES; i++)
        w.attributes[i] = prng_below(p, 6) == 0 ? NULL : model_any(p, 0);
    for (int i = 0; i < VALUES; i++)
        w.values[i] = model_any(p, 0);
    run_values(&r, &w);
    run_item(&r, &w);
    for (int i = 0; i < CONDITIONS; i++)
        run_one(&r, p, &w);
    assert_true(r.taken > CONDITIONS / 4);
    assert_true(r.held > 0);
    assert_true(r.held < r.taken);
    arena_deinit(&r.arena);
    buffer_deinit(&r.item);
    buffer_deinit(&r.values);
}

TEST(expressions)
{
    check_seeds(300, programs_give_the_results_of_the_conditions);
}
