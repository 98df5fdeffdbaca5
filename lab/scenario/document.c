/* document.c - builds the tree from libyaml's events. */
#include "lab/scenario/document.h"

#include <stdarg.h>
#include <stdio.h>
#include <yaml.h>

struct document_builder {
    struct document *d;
    yaml_parser_t parser;
    struct document_node *stack[DOCUMENT_DEPTH_MAX]; /* the open lists and maps */
    struct document_node *last[DOCUMENT_DEPTH_MAX];  /* their last members so far */
    uint32_t depth;
    struct slice key; /* of the next member of the open map */
    bool has_key;
    struct document_node *root;
    struct buffer *error;
};

static bool document_fail(struct document_builder *b, size_t line, const char *what)
{
    buffer_append_format(b->error, "%s:%zu: %s", b->d->name, line + 1, what);
    return false;
}

static struct document_node *document_node_new(struct document_builder *b, enum document_kind kind,
                                               size_t line)
{
    struct document_node *n = arena_zalloc(&b->d->arena, sizeof *n);
    n->kind = kind;
    n->line = (uint32_t)line + 1;
    n->key = b->key;
    b->d->nodes++;
    return n;
}

static struct slice document_text(struct document_builder *b, const yaml_event_t *e)
{
    size_t size = e->data.scalar.length;
    uint8_t *copy = arena_alloc(&b->d->arena, size + 1);
    memcpy(copy, e->data.scalar.value, size);
    copy[size] = 0;
    return slice_make(copy, size);
}

/* Puts a value where it belongs: at the root, or behind the last member of the open list or map. */
static bool document_place(struct document_builder *b, struct document_node *n)
{
    if (b->d->nodes > DOCUMENT_NODES_MAX)
        return document_fail(b, n->line - 1, "the document has more than 100000 values");
    if (b->depth == 0) {
        b->root = n;
        return true;
    }
    struct document_node *parent = b->stack[b->depth - 1];
    struct document_node **last = &b->last[b->depth - 1];
    if (*last == NULL)
        parent->first = n;
    else
        (*last)->next = n;
    *last = n;
    b->has_key = false;
    b->key = slice_make(NULL, 0);
    return true;
}

static bool document_open(struct document_builder *b, enum document_kind kind, size_t line)
{
    struct document_node *n = document_node_new(b, kind, line);
    if (!document_place(b, n))
        return false;
    if (b->depth == DOCUMENT_DEPTH_MAX)
        return document_fail(b, line, "lists and maps are nested more than 16 deep");
    b->stack[b->depth] = n;
    b->last[b->depth++] = NULL;
    return true;
}

static bool document_take_key(struct document_builder *b, const yaml_event_t *e)
{
    struct slice key = document_text(b, e);
    for (const struct document_node *n = b->stack[b->depth - 1]->first; n != NULL; n = n->next) {
        if (slice_compare(n->key, key) == 0)
            return document_fail(b, e->start_mark.line, "the map has this key twice");
    }
    b->key = key;
    b->has_key = true;
    return true;
}

static bool document_in_map(const struct document_builder *b)
{
    return b->depth > 0 && b->stack[b->depth - 1]->kind == DOCUMENT_MAP;
}

static bool document_take_scalar(struct document_builder *b, const yaml_event_t *e)
{
    if (e->data.scalar.anchor != NULL || e->data.scalar.tag != NULL)
        return document_fail(b, e->start_mark.line, "anchors and tags are not allowed");
    if (memchr(e->data.scalar.value, 0, e->data.scalar.length) != NULL)
        return document_fail(b, e->start_mark.line, "a text may not contain a NUL");
    if (document_in_map(b) && !b->has_key)
        return document_take_key(b, e);
    struct document_node *n = document_node_new(b, DOCUMENT_TEXT, e->start_mark.line);
    n->text = document_text(b, e);
    return document_place(b, n);
}

static bool document_take_open(struct document_builder *b, const yaml_event_t *e)
{
    bool map = e->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *anchor = map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor;
    const yaml_char_t *tag = map ? e->data.mapping_start.tag : e->data.sequence_start.tag;
    if (anchor != NULL || tag != NULL)
        return document_fail(b, e->start_mark.line, "anchors and tags are not allowed");
    if (document_in_map(b) && !b->has_key)
        return document_fail(b, e->start_mark.line, "the key of a map must be a text");
    return document_open(b, map ? DOCUMENT_MAP : DOCUMENT_LIST, e->start_mark.line);
}

static bool document_take(struct document_builder *b, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return document_take_scalar(b, e);
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        return document_take_open(b, e);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        b->depth--;
        return true;
    case YAML_ALIAS_EVENT:
        return document_fail(b, e->start_mark.line, "aliases are not allowed");
    case YAML_DOCUMENT_START_EVENT:
        return b->root == NULL ||
               document_fail(b, e->start_mark.line, "the file has more than one document");
    default:
        return true;
    }
}

static bool document_next(struct document_builder *b, bool *over)
{
    yaml_event_t e;
    if (!yaml_parser_parse(&b->parser, &e))
        return document_fail(b, b->parser.problem_mark.line,
                             b->parser.problem == NULL ? "not YAML" : b->parser.problem);
    bool taken = document_take(b, &e);
    *over = e.type == YAML_STREAM_END_EVENT;
    yaml_event_delete(&e);
    return taken;
}

/* The tree of a text, in the document's arena. NULL: `error` tells. */
static struct document_node *document_build(struct document *d, struct slice text,
                                            struct buffer *error)
{
    struct document_builder b = {.d = d, .error = error};
    const size_t mark = strlen(SLICE_BYTE_ORDER_MARK);
    if (slice_starts_with(text, slice_of(SLICE_BYTE_ORDER_MARK)))
        text = slice_make(text.data + mark, text.size - mark);
    must(yaml_parser_initialize(&b.parser) == 1);
    yaml_parser_set_input_string(&b.parser, text.data, text.size);
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    bool over = false, good = true;
    while (good && !over)
        good = document_next(&b, &over);
    yaml_parser_delete(&b.parser);
    if (good && b.root == NULL)
        document_fail(&b, 0, "the document is empty");
    return good ? b.root : NULL;
}

enum status document_parse(struct document *d, const char *name, struct slice text,
                           struct buffer *error)
{
    *d = (struct document){.name = name};
    d->root = document_build(d, text, error);
    return d->root == NULL ? STATUS_MALFORMED : STATUS_OK;
}

void document_deinit(struct document *d)
{
    arena_deinit(&d->arena);
    *d = (struct document){0};
}

static struct document_node *document_keyed(const struct document_node *map, struct slice key)
{
    for (struct document_node *n = map->first; n != NULL; n = n->next) {
        if (slice_compare(n->key, key) == 0)
            return n;
    }
    return NULL;
}

struct document_node *document_member(const struct document_node *map, const char *key)
{
    return document_keyed(map, slice_of(key));
}

/* ---- paths ---- */

/* Takes the path's first step off. */
static struct slice document_next_step(struct slice *path)
{
    const uint8_t *dot = memchr(path->data, '.', path->size);
    const size_t size = dot == NULL ? path->size : (size_t)(dot - path->data);
    const struct slice step = slice_make(path->data, size);
    *path = slice_make(path->data + size + (dot != NULL), path->size - size - (dot != NULL));
    return step;
}

static bool document_is_place(struct slice step, uint64_t *place)
{
    *place = 0;
    for (size_t i = 0; i < step.size; i++) {
        if (step.data[i] < '0' || step.data[i] > '9' || i > 8)
            return false;
        *place = *place * 10 + (uint64_t)(step.data[i] - '0');
    }
    return step.size > 0;
}

/* The element of a list with this name, or at this place. */
static struct document_node *document_element(const struct document_node *list, struct slice step)
{
    uint64_t place = 0, at = 1;
    for (struct document_node *n = list->first; n != NULL; n = n->next) {
        const struct document_node *name =
            n->kind == DOCUMENT_MAP ? document_member(n, "name") : NULL;
        if (name != NULL && name->kind == DOCUMENT_TEXT && slice_compare(name->text, step) == 0)
            return n;
    }
    if (!document_is_place(step, &place))
        return NULL;
    for (struct document_node *n = list->first; n != NULL; n = n->next) {
        if (at++ == place)
            return n;
    }
    return NULL;
}

const struct document_node *document_nearest(const struct document *d, const char *path, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, path);
    vsnprintf(text, sizeof text, path, arguments);
    va_end(arguments);
    const struct document_node *at = d->root, *next = at;
    for (struct slice left = slice_of(text); left.size > 0 && next != NULL;) {
        const struct slice step = document_next_step(&left);
        next = at->kind == DOCUMENT_LIST  ? document_element(at, step)
               : at->kind == DOCUMENT_MAP ? document_keyed(at, step)
                                          : NULL;
        at = next == NULL ? at : next;
    }
    return at;
}

/* ---- setting ---- */

static struct document_node *document_add_member(struct document *d, struct document_node *map,
                                                 struct slice key)
{
    struct document_node **end = &map->first;
    while (*end != NULL)
        end = &(*end)->next;
    *end = arena_zalloc(&d->arena, sizeof **end);
    **end = (struct document_node){.kind = DOCUMENT_MAP, .key = arena_copy(&d->arena, key)};
    return *end;
}

/* The node behind one step; a missing member of a map is made. NULL: there is none. */
static struct document_node *document_step(struct document *d, struct document_node *at,
                                           struct slice step)
{
    if (at->kind == DOCUMENT_LIST)
        return document_element(at, step);
    if (at->kind == DOCUMENT_TEXT || step.size == 0)
        return NULL;
    struct document_node *found = document_keyed(at, step);
    return found != NULL ? found : document_add_member(d, at, step);
}

/* The character that begins at `at`, which moves behind it. The text is UTF-8. */
static uint32_t document_character(struct slice text, size_t *at)
{
    const uint8_t first = text.data[(*at)++];
    uint32_t c = first < 0xe0 ? first & 31u : first < 0xf0 ? first & 15u : first & 7u;
    if (first < 0x80)
        return first;
    while (*at < text.size && (text.data[*at] & 0xc0) == 0x80)
        c = c << 6 | (text.data[(*at)++] & 63u);
    return c;
}

void document_append_text(struct buffer *out, struct slice text)
{
    const bool whole = slice_is_utf8(text); /* what is not stays as it is, and is refused */
    buffer_append_u8(out, '"');
    for (size_t at = 0; at < text.size;) {
        const uint32_t c = whole ? document_character(text, &at) : text.data[at++];
        if (whole && (c < ' ' || c > '~')) {
            buffer_append_format(out, "\\U%08x", c);
            continue;
        }
        if (c == '"' || c == '\\')
            buffer_append_u8(out, '\\');
        buffer_append_u8(out, (uint8_t)c);
    }
    buffer_append_u8(out, '"');
}

/* The lines of a value that is set are none of the file. Trees are DOCUMENT_DEPTH_MAX deep. */
static void document_mark(struct document_node *n, struct slice path)
{
    n->line = 0;
    n->set_at = path;
    for (struct document_node *m = n->first; m != NULL; m = m->next)
        document_mark(m, path);
}

enum status document_set(struct document *d, struct slice path, struct slice value,
                         struct buffer *error)
{
    struct document_node *at = d->root;
    const struct slice set_at = arena_copy(&d->arena, path);
    for (struct slice left = path; left.size > 0;) {
        const struct slice step = document_next_step(&left);
        at = document_step(d, at, step);
        if (at == NULL)
            return buffer_explain(
                error, STATUS_MALFORMED, "%s: cannot set `%.*s`: `%.*s` does not exist", d->name,
                (int)path.size, (const char *)path.data, (int)step.size, (const char *)step.data);
        if (at->line == 0 && at->set_at.size == 0)
            at->set_at = set_at; /* it has just been made */
    }
    size_t before = error->size;
    struct document_node *fresh = document_build(d, value, error);
    if (fresh == NULL) {
        error->size = before;
        return buffer_explain(error, STATUS_MALFORMED, "%s: cannot set `%.*s` to `%.*s`", d->name,
                              (int)path.size, (const char *)path.data, (int)value.size,
                              (const char *)value.data);
    }
    *at = (struct document_node){.kind = fresh->kind,
                                 .key = at->key,
                                 .text = fresh->text,
                                 .first = fresh->first,
                                 .next = at->next};
    document_mark(at, set_at);
    return STATUS_OK;
}

/* Whether an element of the list has the name of `n`. */
static bool document_has_name(const struct document_node *list, const struct document_node *n)
{
    const struct document_node *name = n->kind == DOCUMENT_MAP ? document_member(n, "name") : NULL;
    for (const struct document_node *e = list->first; name != NULL && e != NULL; e = e->next) {
        const struct document_node *other =
            e->kind == DOCUMENT_MAP ? document_member(e, "name") : NULL;
        if (other != NULL && slice_equal(other->text, name->text))
            return true;
    }
    return false;
}

enum status document_extend(struct document *d, const char *key, struct slice text,
                            struct buffer *error)
{
    struct document_node *fresh = document_build(d, text, error);
    if (fresh == NULL)
        return STATUS_MALFORMED;
    struct document_node *list =
        d->root->kind == DOCUMENT_MAP ? document_step(d, d->root, slice_of(key)) : NULL;
    if (list != NULL && list->kind == DOCUMENT_MAP && list->first == NULL)
        list->kind = DOCUMENT_LIST; /* it has just been made */
    if (list == NULL || list->kind != DOCUMENT_LIST || fresh->kind != DOCUMENT_LIST)
        return buffer_explain(error, STATUS_MALFORMED, "%s: `%s` and its additions must be lists",
                              d->name, key);
    struct document_node **end = &list->first;
    while (*end != NULL)
        end = &(*end)->next;
    for (struct document_node *n = fresh->first, *next; n != NULL; n = next) {
        next = n->next;
        if (document_has_name(list, n))
            continue;
        n->next = NULL;
        *end = n;
        end = &n->next;
    }
    return STATUS_OK;
}
