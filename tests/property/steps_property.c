/* steps_property.c - searches for the costliest item and expression: whatever a client sends,
 * evaluating it takes a bounded number of steps (STEPS-1).
 *
 * A fixture is an item, a condition and an update, described by numbers. The costliest one so far
 * is changed at random, again and again: what costs more is kept. */
#include "engine/expression/compare.h"
#include "engine/expression/program.h"
#include "engine/expression/update_program.h"
#include "tests/check.h"

enum {
    ATTRIBUTES = 5, /* a .. e */
    TERMS = 160,
    ROUNDS = 40,
    TEXT_MAX = 8192,
};

struct part {
    uint8_t kind;   /* of the value: shape_write */
    uint32_t count; /* of elements or bytes */
    bool reversed;
};

struct term {
    uint8_t op, left, right;
};

struct fixture {
    struct part parts[ATTRIBUTES];
    uint32_t fillers; /* attributes before the others */
    uint32_t term_count;
    struct term terms[TERMS];
};

/* ---- items ---- */

static struct slice name_of(uint32_t n, char text[4])
{
    for (int at = 0; at < 3; at++, n /= 60)
        text[at] = (char)('@' + n % 60);
    return slice_make(text, 3);
}

static void part_elements(struct item_writer *w, const struct part *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        char text[4];
        const struct slice name = name_of(p->reversed ? p->count - 1 - i : i, text);
        if (p->kind == 1)
            item_name(w, name);
        if (p->kind == 0)
            item_string(w, name);
        else if (p->kind == 3) {
            item_open(w, ATTR_LIST);
            item_null(w);
            item_close(w);
        } else
            item_null(w);
    }
}

static void part_write(struct item_writer *w, const struct part *p)
{
    static const enum attr_type TYPES[] = {ATTR_STRING_SET, ATTR_MAP, ATTR_LIST, ATTR_LIST};
    static char as[ITEM_SIZE_MAX];
    if (p->kind > 3) {
        memset(as, 'a', sizeof as);
        item_string(w, slice_make(as, p->count < sizeof as ? p->count : sizeof as));
        return;
    }
    item_open(w, TYPES[p->kind]);
    part_elements(w, p);
    item_close(w);
}

/* False: the item is too large. */
static bool fixture_item(const struct fixture *s, struct buffer *out)
{
    struct item_writer w;
    char text[4];
    item_begin(&w, out);
    for (uint32_t i = 0; i < s->fillers; i++) {
        item_name(&w, name_of(i, text));
        item_null(&w);
    }
    for (int i = 0; i < ATTRIBUTES; i++) {
        char name = (char)('a' + i);
        item_name(&w, slice_make(&name, 1));
        part_write(&w, &s->parts[i]);
    }
    return item_end(&w) <= ITEM_SIZE_MAX;
}

/* ---- expressions ---- */

static void fixture_condition(const struct fixture *s, char *text)
{
    static const char *const TERM[] = {"%c=%c",
                                       "%c<>%c",
                                       "contains(%c,%c)",
                                       "contains(%c,:v)",
                                       "size(%c)=size(%c)",
                                       "%c<%c",
                                       "begins_with(%c,%c)",
                                       "%c[9999]=%c"};
    size_t at = 0;
    for (uint32_t i = 0; i < s->term_count && at < TEXT_MAX - 64; i++) {
        const struct term *t = &s->terms[i];
        at += (size_t)snprintf(text + at, TEXT_MAX - at, i == 0 ? "" : i % 2 ? " AND " : " OR ");
        char one[40];
        snprintf(one, sizeof one, TERM[t->op % COUNT_OF(TERM)], 'a' + t->left % ATTRIBUTES,
                 'a' + t->right % ATTRIBUTES);
        at += (size_t)snprintf(text + at, TEXT_MAX - at, "%s(%s)", t->op & 8 ? "NOT " : "", one);
    }
}

static void fixture_update(const struct fixture *s, char *text)
{
    static const char *const TERM[] = {"z%u=%c", "z%u=if_not_exists(y%u,%c)",
                                       "z%u=list_append(%c,%c)", "c[%u]=%c"};
    size_t at = (size_t)snprintf(text, TEXT_MAX, "SET ");
    for (uint32_t i = 0; i < s->term_count && at < TEXT_MAX - 64; i++) {
        const struct term *t = &s->terms[i];
        const int left = 'a' + t->left % ATTRIBUTES, right = 'a' + t->right % ATTRIBUTES;
        char one[64];
        switch (t->op % COUNT_OF(TERM)) {
        case 1:
            snprintf(one, sizeof one, TERM[1], i, i, left);
            break;
        case 2:
            snprintf(one, sizeof one, TERM[2], i, 'c', t->right % 2 ? 'c' : 'd');
            break;
        default:
            snprintf(one, sizeof one, TERM[t->op % COUNT_OF(TERM)], i, right);
        }
        at += (size_t)snprintf(text + at, TEXT_MAX - at, "%s%s", i == 0 ? "" : ",", one);
    }
}

/* ---- the search ---- */

static struct expression_name values[] = {{.key = {(const uint8_t *)":v", 2}}};

static uint64_t cost_of_condition(const struct fixture *s, struct slice item, struct arena *arena)
{
    static char text[TEXT_MAX];
    struct expression_names names = {.values = values, .value_count = 1};
    struct expression_fault fault;
    struct buffer program = {0};
    struct steps steps = {.seed = 1};
    fixture_condition(s, text);
    const struct condition *c = condition_parse(slice_of(text), &names, arena, &fault);
    if (c != NULL && program_encode(&program, c))
        program_holds(buffer_slice(&program), item, &steps);
    buffer_deinit(&program);
    assert_true(steps.taken < STEPS_ITEM_MAX + STEPS_ONE_MAX);
    return steps.taken;
}

static uint64_t cost_of_update(const struct fixture *s, struct slice item, struct arena *arena)
{
    static char text[TEXT_MAX];
    struct expression_names names = {0};
    struct expression_fault fault;
    struct buffer program = {0}, made = {0};
    struct steps steps = {.seed = 1}, comparing = {.seed = 1};
    fixture_update(s, text);
    const struct update *u = update_parse(slice_of(text), &names, arena, &fault);
    if (u != NULL && update_program_encode(&program, u) &&
        update_apply(buffer_slice(&program), item, true, &steps, &made) == UPDATE_OK)
        item_equal(item, buffer_slice(&made), &comparing);
    buffer_deinit(&program);
    buffer_deinit(&made);
    assert_true(steps.taken < STEPS_ITEM_MAX + STEPS_ONE_MAX);
    assert_true(comparing.taken < STEPS_ONE_MAX);
    return steps.taken + comparing.taken;
}

/* 0: the item is too large. */
static uint64_t fixture_cost(const struct fixture *s)
{
    struct buffer item = {0};
    struct arena arena = {0};
    uint64_t cost = 0;
    if (fixture_item(s, &item))
        cost = cost_of_condition(s, buffer_slice(&item), &arena) +
               cost_of_update(s, buffer_slice(&item), &arena);
    arena_deinit(&arena);
    buffer_deinit(&item);
    return cost;
}

static uint32_t some_count(struct prng *p)
{
    return (uint32_t)prng_below(p, 1u << prng_below(p, 18));
}

static void part_draw(struct prng *p, struct part *out)
{
    *out = (struct part){(uint8_t)prng_below(p, 5), some_count(p), prng_below(p, 2)};
    out->count += out->kind == 0; /* a set has an element */
}

static void term_draw(struct prng *p, struct term *out)
{
    *out = (struct term){(uint8_t)prng_next(p), (uint8_t)prng_next(p), (uint8_t)prng_next(p)};
}

static void fixture_draw(struct prng *p, struct fixture *s)
{
    *s = (struct fixture){.fillers = some_count(p), .term_count = TERMS};
    for (int i = 0; i < ATTRIBUTES; i++)
        part_draw(p, &s->parts[i]);
    for (int i = 0; i < TERMS; i++)
        term_draw(p, &s->terms[i]);
}

static void fixture_change(struct prng *p, struct fixture *s)
{
    struct part *part = &s->parts[prng_below(p, ATTRIBUTES)];
    struct term all;
    switch (prng_below(p, 5)) {
    case 0:
        part_draw(p, part);
        break;
    case 1:
        part->count = part->count * 3 / 2 + 1;
        break;
    case 2: /* the same elements in another order */
        s->parts[0] = *part;
        s->parts[1] = *part;
        s->parts[1].reversed = !part->reversed;
        break;
    case 3:
        s->fillers = prng_below(p, 2) ? some_count(p) : s->fillers * 2;
        break;
    default: /* one term, many times */
        term_draw(p, &all);
        for (int i = 0; i < TERMS; i++)
            if (prng_below(p, 4) != 0)
                s->terms[i] = all;
    }
}

static void no_request_takes_more_steps_than_the_bound(struct prng *p)
{
    struct fixture best, s;
    values[0].value = (struct attr){ATTR_STRING, slice_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")};
    uint64_t most = 0;
    while (most == 0) { /* the item was too large */
        fixture_draw(p, &best);
        most = fixture_cost(&best);
    }
    for (int i = 0; i < ROUNDS; i++) {
        s = best;
        for (uint64_t changes = 1 + prng_below(p, 3); changes > 0; changes--)
            fixture_change(p, &s);
        const uint64_t cost = fixture_cost(&s);
        if (cost <= most)
            continue;
        most = cost;
        best = s;
    }
    assert_true(most > 0);
}

TEST(steps)
{
    check_seeds(4, no_request_takes_more_steps_than_the_bound);
}
