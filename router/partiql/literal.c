/* literal.c - literals of statements as values: 'text', 1.5, true, null, [..], {..}, <<..>>.
 *
 * A fault names the place in the literal: "under root.a[0]". */
#include "router/json/value.h"
#include "router/partiql/parse.h"

struct literal *parse_literal(struct parse *p, enum literal_kind kind, struct slice token)
{
    struct literal *l = arena_zalloc(p->arena, sizeof *l);
    l->kind = kind;
    l->token = token;
    return l;
}

struct literal *parse_parameter(struct parse *p, struct slice token)
{
    struct literal *l = parse_literal(p, LITERAL_PARAMETER, token);
    const uint32_t at = p->parameters_used++;
    if (at < p->parameter_count)
        l->value = p->parameters[at];
    return l;
}

struct literal *parse_element(struct parse *p, struct literal *to, enum literal_kind kind,
                              struct literal *element)
{
    if (to == NULL)
        to = parse_literal(p, kind, element->token);
    if (to->last == NULL)
        to->first = element;
    else
        to->last->next = element;
    to->last = element;
    to->count++;
    return to;
}

/* ---- values ---- */

/* Where a literal stands in those around it. */
struct literal_place {
    const struct literal_place *outer; /* NULL: the root */
    struct slice name;
    uint32_t index;
    bool named;
};

struct literal_writer {
    struct parse *p;
    struct item_writer w;
};

static void literal_append_place(struct buffer *out, const struct literal_place *at)
{
    if (at->outer == NULL) {
        buffer_append_text(out, "root");
        return;
    }
    literal_append_place(out, at->outer);
    if (at->named)
        buffer_append_format(out, ".%.*s", SHOWN(at->name));
    else
        buffer_append_format(out, "[%u]", at->index);
}

/* Notes "text under root.a[0]". Always false. */
static bool literal_refuse(struct literal_writer *w, const struct literal_place *at,
                           struct slice text)
{
    struct buffer place = {0};
    literal_append_place(&place, at);
    parse_refuse(w->p, "%.*s under %.*s", TEXT_OF(text), TEXT_OF(place));
    buffer_deinit(&place);
    return false;
}

static bool literal_refuse_parameter(struct literal_writer *w, const struct literal_place *at,
                                     const struct literal *l)
{
    struct buffer place = {0};
    const struct place in = parse_place(w->p, l->token);
    literal_append_place(&place, at);
    parse_refuse(w->p, "Unsupported data type: Parameter under key %.*s at %u:%u:%u",
                 TEXT_OF(place), in.line, in.column, in.size);
    buffer_deinit(&place);
    return false;
}

/* Whether the exponent, and the scale, which is the digits behind the point less the exponent, have
 * 32 bits. Otherwise the service cannot read the statement. */
static bool literal_scale_fits(struct slice token)
{
    bool point = false, raised = false, negative = false;
    int64_t exponent = 0, scale = 0;
    for (size_t i = 0; i < token.size; i++) {
        const uint8_t c = token.data[i];
        point |= c == '.';
        negative |= c == '-';
        if (c == 'e' || c == 'E')
            raised = true;
        else if (c >= '0' && c <= '9' && raised && exponent <= INT32_MAX)
            exponent = exponent * 10 + (c - '0');
        else if (c >= '0' && c <= '9' && point && !raised)
            scale++;
    }
    scale -= negative ? -exponent : exponent;
    return exponent <= INT32_MAX && scale <= INT32_MAX && scale >= INT32_MIN;
}

static bool literal_number(struct literal_writer *w, const struct literal_place *at,
                           const struct literal *l)
{
    struct number n;
    struct fault fault = {0};
    uint8_t *digits = arena_alloc(w->p->arena, l->token.size + 1);
    digits[0] = '-';
    memcpy(digits + 1, l->token.data, l->token.size);
    const struct slice text = l->negative ? slice_make(digits, l->token.size + 1) : l->token;
    if (!literal_scale_fits(l->token)) {
        parse_syntax_error(w->p, LEXER_BAD);
        return false;
    }
    const bool read = value_read_digits(text, &n, &fault);
    if (read)
        item_number(&w->w, &n);
    else
        literal_refuse(w, at, buffer_slice(&fault.text));
    fault_deinit(&fault);
    return read;
}

static bool literal_write(struct literal_writer *w, const struct literal_place *at,
                          const struct literal *l);

static bool literal_list(struct literal_writer *w, const struct literal_place *at,
                         const struct literal *l)
{
    struct literal_place inner = {.outer = at};
    for (const struct literal *e = l->first; e != NULL; e = e->next, inner.index++) {
        if (!literal_write(w, &inner, e))
            return false;
    }
    return true;
}

static bool literal_check_name(struct literal_writer *w, struct slice name)
{
    struct fault fault = {0};
    const bool good = value_check_name(name, &fault);
    if (!good)
        parse_refuse(w->p, "%.*s", TEXT_OF(fault.text));
    fault_deinit(&fault);
    return good;
}

static bool literal_members(struct literal_writer *w, const struct literal_place *at,
                            const struct literal *l)
{
    uint32_t *positions = arena_alloc(w->p->arena, (l->count + 1) * sizeof *positions);
    uint32_t i = 0;
    for (const struct literal *e = l->first; e != NULL; e = e->next) {
        /* Each attribute of an item is a root. */
        const struct literal_place inner = {.outer = at, .name = e->name, .named = true};
        positions[i++] = (uint32_t)w->w.out->size;
        if (!literal_check_name(w, e->name))
            return false;
        item_name(&w->w, e->name);
        if (!literal_write(w, &inner, e))
            return false;
    }
    if (!value_repeats(w->w.out, true, positions, l->count, &w->p->fault->reading))
        return true;
    parse_refuse(w->p, "Duplicate attribute name in a map");
    return false;
}

static void literal_refuse_duplicates(struct literal_writer *w, const struct literal *bag)
{
    struct buffer shown = {0};
    for (const struct literal *e = bag->first; e != NULL; e = e->next) {
        const struct slice text = e->kind == LITERAL_STRING ? parse_name(w->p, e->token) : e->token;
        if (shown.size > SLICE_SHOWN_MAX)
            break;
        buffer_append_text(&shown, e == bag->first ? "" : ", ");
        buffer_append_text(&shown, e->negative ? "-" : "");
        buffer_append(&shown, text.data, (size_t)slice_shown_size(text));
    }
    if (bag->first->kind == LITERAL_STRING)
        parse_refuse(w->p, INVALID "Input collection [%.*s] contains duplicates.", TEXT_OF(shown));
    else
        parse_refuse(w->p, INVALID "Input collection [%.*s] contains duplicates! under root",
                     TEXT_OF(shown));
    buffer_deinit(&shown);
}

static bool literal_bag(struct literal_writer *w, const struct literal_place *at,
                        const struct literal *l)
{
    uint32_t *positions = arena_alloc(w->p->arena, (l->count + 1) * sizeof *positions);
    uint32_t i = 0;
    const struct literal_place inner = {.outer = at};
    item_open(&w->w, l->first->kind == LITERAL_STRING ? ATTR_STRING_SET : ATTR_NUMBER_SET);
    for (const struct literal *e = l->first; e != NULL; e = e->next) {
        positions[i++] = (uint32_t)w->w.out->size;
        if (!literal_write(w, &inner, e))
            return false;
    }
    item_close(&w->w);
    if (!value_repeats(w->w.out, false, positions, l->count, &w->p->fault->reading))
        return true;
    literal_refuse_duplicates(w, l);
    return false;
}

/* A bag becomes a set: of strings, or of numbers. */
static bool literal_check_bag(struct literal_writer *w, const struct literal *l)
{
    if (l->first == NULL) {
        parse_refuse(w->p, "Empty bags are not supported");
        return false;
    }
    for (const struct literal *e = l->first; e != NULL; e = e->next) {
        if (e->kind != l->first->kind || (e->kind != LITERAL_STRING && e->kind != LITERAL_NUMBER)) {
            parse_refuse(w->p, "Unsupported data type in Bag. DynamoDB only supports either "
                               "numbers or strings in bags");
            return false;
        }
    }
    return true;
}

static bool literal_document(struct literal_writer *w, const struct literal_place *at,
                             const struct literal *l)
{
    if (w->w.depth >= NESTING_MAX) {
        const struct literal_place inner = {.outer = at,
                                            .name = l->first != NULL ? l->first->name : l->name,
                                            .named = l->kind == LITERAL_MAP};
        return literal_refuse(w, l->first != NULL ? &inner : at,
                              slice_of("Nesting Levels have exceeded supported limits"));
    }
    item_open(&w->w, l->kind == LITERAL_MAP ? ATTR_MAP : ATTR_LIST);
    if (!(l->kind == LITERAL_MAP ? literal_members(w, at, l) : literal_list(w, at, l)))
        return false;
    item_close(&w->w);
    return true;
}

/* A parameter may only stand for the whole. */
static bool literal_write_parameter(struct literal_writer *w, const struct literal_place *at,
                                    const struct literal *l)
{
    if (at->outer != NULL)
        return !w->p->refused && literal_refuse_parameter(w, at, l);
    if (l->value.type == 0)
        return false; /* there are too few; said at the end */
    item_attr(&w->w, &l->value);
    return true;
}

static bool literal_write(struct literal_writer *w, const struct literal_place *at,
                          const struct literal *l)
{
    switch (l->kind) {
    case LITERAL_STRING:
        item_string(&w->w, parse_name(w->p, l->token));
        return true;
    case LITERAL_NUMBER:
        return literal_number(w, at, l);
    case LITERAL_TRUE:
    case LITERAL_FALSE:
        item_bool(&w->w, l->kind == LITERAL_TRUE);
        return true;
    case LITERAL_NULL:
        item_null(&w->w);
        return true;
    case LITERAL_LIST:
    case LITERAL_MAP:
        return literal_document(w, at, l);
    case LITERAL_BAG:
        return literal_check_bag(w, l) && literal_bag(w, at, l);
    case LITERAL_PARAMETER:
        break;
    }
    return literal_write_parameter(w, at, l);
}

/* The value is written as the only attribute of an item. */
struct attr literal_value(struct parse *p, const struct literal *l)
{
    static const struct literal_place ROOT = {0};
    struct buffer encoded = {0};
    struct literal_writer w = {.p = p};
    struct attr value = {0};
    struct slice name;
    item_begin(&w.w, &encoded);
    item_name(&w.w, slice_make(NULL, 0));
    if (literal_write(&w, &ROOT, l)) {
        item_end(&w.w);
        struct attr_cursor cursor = item_attrs(arena_copy(p->arena, buffer_slice(&encoded)));
        attr_next(&cursor, &name, &value);
    }
    buffer_deinit(&encoded);
    return value;
}

void literal_item(struct parse *p, const struct literal *map, struct slice *out)
{
    struct buffer encoded = {0};
    struct literal_writer w = {.p = p};
    uint32_t *positions = arena_alloc(p->arena, (map->count + 1) * sizeof *positions);
    uint32_t i = 0;
    bool sound = true;
    item_begin(&w.w, &encoded);
    for (const struct literal *e = map->first; e != NULL && sound; e = e->next) {
        static const struct literal_place ROOT = {0};
        positions[i++] = (uint32_t)encoded.size;
        sound = literal_check_name(&w, e->name);
        if (sound)
            item_name(&w.w, e->name);
        sound = sound && literal_write(&w, &ROOT, e);
    }
    if (sound && value_repeats(&encoded, true, positions, i, &p->fault->reading))
        parse_refuse(p, "Duplicate attribute name in a map");
    else if (sound) {
        item_end(&w.w);
        *out = arena_copy(p->arena, buffer_slice(&encoded));
    }
    buffer_deinit(&encoded);
}
