/* reading.c - tables of fields: reading, checking, describing. */
#include "lab/scenario/reading.h"

#include <stdarg.h>
#include <stdio.h>

bool reading_fail(struct reading *r, const struct document_node *n, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    if (r->error->size > 0)
        return false;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n->line == 0 && n->set_at.size == 0)
        buffer_append_format(r->error, "%s: %s", r->document->name, text);
    else if (n->line == 0)
        buffer_append_format(r->error, "%s: what is set at `%.*s`: %s", r->document->name,
                             TEXT_OF(n->set_at), text);
    else
        buffer_append_format(r->error, "%s:%u: %s", r->document->name, n->line, text);
    return false;
}

static bool read_text(struct reading *r, const struct document_node *n, const struct field *f,
                      void *target)
{
    struct buffer expected = {0};
    const char *text = (const char *)n->text.data;
    const bool taken = field_set(f, target, text, &expected);
    if (!taken)
        reading_fail(r, n, "%s is `%s`%s%.*s", f->name, text,
                     f->kind == FIELD_PARSED ? ": " : ", but must be ", TEXT_OF(expected));
    buffer_deinit(&expected);
    return taken;
}

/* Results tell elements apart by their names. */
static bool is_distinct(struct reading *r, const struct document_node *n, const struct field *f,
                        const char *elements, uint32_t last)
{
    const size_t size = f->size / (size_t)f->max;
    const char *name, *other;
    memcpy(&name, elements + last * size, sizeof name);
    for (uint32_t i = 0; i < last; i++) {
        memcpy(&other, elements + i * size, sizeof other);
        if (strcmp(name, other) == 0)
            return reading_fail(r, n, "two %s are named `%s`", f->name, name);
    }
    return true;
}

static bool read_list(struct reading *r, const struct document_node *list, const struct field *f,
                      void *target)
{
    char *elements = (char *)target + f->at;
    uint32_t *count = (void *)((char *)target + f->count_at);
    *count = 0;
    if (list->kind != DOCUMENT_LIST)
        return reading_fail(r, list, "%s must be a list", f->name);
    for (const struct document_node *n = list->first; n != NULL; n = n->next) {
        if (*count == f->max)
            return reading_fail(r, n, "%s may have at most %lld elements", f->name,
                                (long long)f->max);
        if (!f->read(r, n, elements + *count * (f->size / (size_t)f->max)) ||
            (f->distinct && !is_distinct(r, n, f, elements, *count)))
            return false;
        ++*count;
    }
    return true;
}

static bool field_read(struct reading *r, const struct document_node *n, const struct field *f,
                       void *target)
{
    if (f->kind == FIELD_NODE)
        return f->read(r, n, (char *)target + f->at);
    if (f->kind == FIELD_MAP)
        return fields_read(r, n, f->fields, (char *)target + f->at);
    if (f->kind == FIELD_LIST)
        return read_list(r, n, f, target);
    if (n->kind != DOCUMENT_TEXT)
        return reading_fail(r, n, "%s is a %s, but must be a single value", f->name,
                            n->kind == DOCUMENT_MAP ? "map" : "list");
    return read_text(r, n, f, target);
}

static bool fail_unknown(struct reading *r, const struct document_node *n,
                         const struct field *fields)
{
    struct buffer known = {0};
    for (const struct field *f = fields; f->name != NULL; f++)
        buffer_append_format(&known, "%s%s", f == fields ? "" : ", ", f->name);
    reading_fail(r, n, "unknown field `%.*s`; known are %.*s", TEXT_OF(n->key), TEXT_OF(known));
    buffer_deinit(&known);
    return false;
}

bool fields_read(struct reading *r, const struct document_node *map, const struct field *fields,
                 void *target)
{
    if (map->kind != DOCUMENT_MAP)
        return reading_fail(r, map, "this must be a map");
    for (const struct document_node *n = map->first; n != NULL; n = n->next) {
        const struct field *f = field_find(fields, SIZE_MAX, n->key);
        if (f == NULL)
            return fail_unknown(r, n, fields);
        if (!field_read(r, n, f, target))
            return false;
    }
    for (const struct field *f = fields; f->name != NULL; f++) {
        if (f->required && document_member(map, f->name) == NULL)
            return reading_fail(r, map, "the field `%s` is missing: %s", f->name, f->help);
    }
    return true;
}

static void describe_rows(const struct field *fields, int indent, struct buffer *out)
{
    for (const struct field *f = fields; f->name != NULL; f++) {
        buffer_append_format(out, "%*s%s: ", indent, "", f->name);
        field_append_expected(f, out);
        buffer_append_format(out, "%s. %s\n", f->required ? "; required" : "", f->help);
        if (f->kind == FIELD_MAP)
            describe_rows(f->fields, indent + 2, out);
    }
}

void fields_describe(const char *title, const struct field *fields, struct buffer *out)
{
    buffer_append_format(out, "%s:\n", title);
    describe_rows(fields, 2, out);
    for (const struct field *f = fields; f->name != NULL; f++) {
        if (f->kind == FIELD_MAP || f->fields == NULL)
            continue;
        buffer_append_u8(out, '\n');
        fields_describe(f->name, f->fields, out);
    }
}
