/* parser.c - reads tokens, paths and values of an expression, and keeps the fault to tell. */
#include "engine/expression/parser.h"

bool parser_init(struct parser *p, enum parser_grammar grammar, struct slice text,
                 struct expression_names *names, struct arena *arena,
                 struct expression_fault *fault)
{
    *fault = (struct expression_fault){.error = EXPRESSION_OK};
    *p = (struct parser){
        .grammar = grammar, .text = text, .names = names, .arena = arena, .fault = fault};
    if (text.size == 0)
        fault->error = EXPRESSION_EMPTY;
    if (text.size > EXPRESSION_SIZE_MAX)
        *fault = (struct expression_fault){.error = EXPRESSION_TOO_LONG, .count = text.size};
    if (fault->error != EXPRESSION_OK)
        return false;
    p->token = token_at(text, 0);
    p->previous = (struct token){TOKEN_END, {p->token.text.data, 0}};
    return true;
}

/* ---- tokens ---- */

static struct token parser_next(const struct parser *p)
{
    const struct slice now = p->token.text;
    must(now.data >= p->text.data);
    return token_at(p->text, (size_t)(now.data - p->text.data) + now.size);
}

void parser_advance(struct parser *p)
{
    p->previous = p->token;
    p->token = parser_next(p);
}

enum token_kind parser_following(const struct parser *p)
{
    return parser_next(p).kind;
}

bool parser_accept(struct parser *p, enum token_kind kind)
{
    if (p->failed || p->token.kind != kind)
        return false;
    parser_advance(p);
    return true;
}

bool parser_expect(struct parser *p, enum token_kind kind)
{
    if (parser_accept(p, kind))
        return true;
    parser_syntax_error(p);
    return false;
}

/* ---- faults ---- */

/* A fault that ends the parsing replaces a noted fault. */
static void *parser_fail(struct parser *p, const struct expression_fault *fault)
{
    must(fault->error != EXPRESSION_OK);
    if (!p->failed)
        *p->fault = *fault;
    p->failed = true;
    return NULL;
}

/* The service shows the token and its neighbours. */
void *parser_syntax_error(struct parser *p)
{
    const struct slice last = parser_next(p).text;
    const uint8_t *start = p->previous.text.data;
    return parser_fail(
        p, &(struct expression_fault){.error = EXPRESSION_SYNTAX,
                                      .text = p->token.text,
                                      .near = {start, (size_t)(last.data + last.size - start)}});
}

void *parser_too_many(struct parser *p)
{
    return parser_fail(p, &(struct expression_fault){.error = EXPRESSION_TOO_MANY_OPERATORS,
                                                     .count = EXPRESSION_OPERATORS_MAX + 1});
}

bool parser_count_operator(struct parser *p)
{
    return p->operators++ < EXPRESSION_OPERATORS_MAX || parser_too_many(p) != NULL;
}

/* Of updates and projections. A fault that is not here comes last. Of two faults with one rank, the
 * first in the text is told. Source: dynalite's tests, which were measured. */
static const uint8_t UPDATE_RANKS[] = {
    [EXPRESSION_PARENTHESES] = 1,     [EXPRESSION_LIST_INDEX] = 2,
    [EXPRESSION_RESERVED] = 2,        [EXPRESSION_FUNCTION_NAME] = 3,
    [EXPRESSION_NOT_IN_UPDATES] = 4,  [EXPRESSION_MISUSED] = 5,
    [EXPRESSION_SECTION_TWICE] = 6,   [EXPRESSION_NAME_UNDEFINED] = 7,
    [EXPRESSION_VALUE_UNDEFINED] = 8, [EXPRESSION_PATH_DEPTH] = 9,
    [EXPRESSION_PATHS_OVERLAP] = 10,  [EXPRESSION_PATHS_CONFLICT] = 11,
    [EXPRESSION_ACTION_TYPE] = 12,
};

static int parser_rank(const struct parser *p, enum expression_error error)
{
    if (p->grammar == PARSER_CONDITION)
        return error < EXPRESSION_NAME_UNDEFINED ? (int)error : EXPRESSION_NAME_UNDEFINED;
    const int rank = error < COUNT_OF(UPDATE_RANKS) ? UPDATE_RANKS[error] : 0;
    return rank == 0 ? UINT8_MAX : rank;
}

void parser_note(struct parser *p, const struct expression_fault *fault)
{
    const enum expression_error known = p->fault->error;
    must(fault->error != EXPRESSION_OK);
    if (!p->failed &&
        (known == EXPRESSION_OK || parser_rank(p, fault->error) < parser_rank(p, known)))
        *p->fault = *fault;
}

void parser_note_text(struct parser *p, enum expression_error error, struct slice text)
{
    parser_note(p, &(struct expression_fault){.error = error, .text = text});
}

/* ---- names and values ---- */

static const struct expression_name *parser_find(struct expression_name *list, size_t count,
                                                 struct slice key)
{
    for (size_t i = 0; i < count; i++) {
        if (slice_equal(list[i].key, key)) {
            list[i].used = true;
            return &list[i];
        }
    }
    return NULL;
}

static struct path_part *parser_path_name(struct parser *p)
{
    struct path_part *part = arena_zalloc(p->arena, sizeof *part);
    struct token t = p->token;
    must(!p->failed);
    const bool section = p->grammar == PARSER_UPDATE && token_is_section(t.text);
    if (t.kind == TOKEN_NAME && !section) {
        part->name = t.text;
        if (token_is_reserved(t.text))
            parser_note_text(p, EXPRESSION_RESERVED, t.text);
    } else if (t.kind == TOKEN_NAME_REF) {
        const struct expression_name *n =
            parser_find(p->names->names, p->names->name_count, t.text);
        if (n == NULL)
            parser_note_text(p, EXPRESSION_NAME_UNDEFINED, t.text);
        else
            part->name = n->name;
    } else {
        parser_syntax_error(p);
        return part;
    }
    parser_advance(p);
    return part;
}

static struct path_part *parser_path_index(struct parser *p)
{
    struct path_part *part = arena_zalloc(p->arena, sizeof *part);
    struct slice digits = p->token.text;
    part->indexed = true;
    if (!parser_expect(p, TOKEN_NUMBER))
        return part;
    const int64_t index = digits.size > 10 ? -1 : slice_number(digits);
    if (index < 0 || index > INT32_MAX)
        parser_note_text(p, EXPRESSION_LIST_INDEX, digits);
    part->index = (uint32_t)index;
    parser_expect(p, TOKEN_CLOSE_INDEX);
    return part;
}

void parser_check_path(struct parser *p, const struct path_part *path)
{
    size_t steps = 0;
    for (; path != NULL; path = path->next)
        steps++;
    if (steps > EXPRESSION_PATH_MAX)
        parser_note(p, &(struct expression_fault){.error = EXPRESSION_PATH_DEPTH, .count = steps});
}

struct path_part *parser_path(struct parser *p)
{
    struct path_part *first = parser_path_name(p), *last = first;
    while (!p->failed) {
        if (parser_accept(p, TOKEN_DOT))
            last->next = parser_path_name(p);
        else if (parser_accept(p, TOKEN_OPEN_INDEX))
            last->next = parser_path_index(p);
        else
            break;
        last = last->next;
    }
    parser_check_path(p, first);
    return p->failed ? NULL : first;
}

enum expression_error parser_relation(const struct path_part *a, const struct path_part *b)
{
    for (; a != NULL && b != NULL; a = a->next, b = b->next) {
        if (a->indexed != b->indexed)
            return EXPRESSION_PATHS_CONFLICT;
        if (a->index != b->index || !slice_equal(a->name, b->name))
            return EXPRESSION_OK;
    }
    return EXPRESSION_PATHS_OVERLAP;
}

void parser_add_path(struct parser *p, struct path_part *path)
{
    must(path != NULL);
    must((p->last == NULL) == (p->path_count == 0));
    for (struct projection_path *o = p->paths; o != NULL; o = o->next) {
        const enum expression_error error = parser_relation(o->path, path);
        if (error != EXPRESSION_OK)
            parser_note(p,
                        &(struct expression_fault){.error = error, .path = o->path, .other = path});
    }
    struct projection_path *added = arena_zalloc(p->arena, sizeof *added);
    added->path = path;
    if (p->last == NULL)
        p->paths = added;
    else
        p->last->next = added;
    p->last = added;
    p->path_count++;
}

struct attr parser_value(struct parser *p)
{
    const struct expression_name *v =
        parser_find(p->names->values, p->names->value_count, p->token.text);
    if (v == NULL)
        parser_note_text(p, EXPRESSION_VALUE_UNDEFINED, p->token.text);
    parser_advance(p);
    return v == NULL ? (struct attr){0} : v->value;
}
