/* fields.c - tables of fields: reading, checking, describing. */
#include "lab/scenario/fields.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/instant.h"

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
                             (int)n->set_at.size, (const char *)n->set_at.data, text);
    else
        buffer_append_format(r->error, "%s:%u: %s", r->document->name, n->line, text);
    return false;
}

bool duration_parse(const char *text, int64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1},   {"us", 1e3},   {"ms", 1e6},   {"s", 1e9},
                 {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
    char *end;
    double number = strtod(text, &end);
    if (end == text || !isfinite(number) || number < 0)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        double value = number * units[i].ns;
        if (strcmp(end, units[i].unit) != 0 || value > 9e18)
            continue;
        *ns = (int64_t)(value + 0.5);
        return true;
    }
    *ns = 0;
    return number == 0 && *end == '\0';
}

static void append_duration(struct buffer *b, int64_t ns)
{
    if (ns % (3600 * NS_PER_S) == 0 && ns > 0)
        buffer_append_format(b, "%lldh", (long long)(ns / (3600 * NS_PER_S)));
    else if (ns % NS_PER_S == 0)
        buffer_append_format(b, "%llds", (long long)(ns / NS_PER_S));
    else if (ns % NS_PER_MS == 0)
        buffer_append_format(b, "%lldms", (long long)(ns / NS_PER_MS));
    else
        buffer_append_format(b, "%lldns", (long long)ns);
}

static void append_bounds(struct buffer *b, const struct field *f)
{
    if (f->type == FIELD_DURATION) {
        append_duration(b, f->min);
        buffer_append_text(b, " to ");
        append_duration(b, f->max);
    } else {
        buffer_append_format(b, "%lld to %lld", (long long)f->min, (long long)f->max);
    }
}

static void append_choices(struct buffer *b, const struct field *f)
{
    for (size_t i = 0; f->choices[i] != NULL; i++)
        buffer_append_format(b, "%s%s", i == 0 ? "" : ", ", f->choices[i]);
}

/* "an integer from 1 to 64", "one of a, b" */
static void append_allowed(struct buffer *b, const struct field *f)
{
    static const char *const names[] = {
        [FIELD_TEXT] = "a text",
        [FIELD_INTEGER] = "a whole number, ",
        [FIELD_NUMBER] = "a number, ",
        [FIELD_DURATION] = "a time with its unit (us, ms, s, m, h, d), ",
        [FIELD_FLAG] = "true or false",
        [FIELD_CHOICE] = "one of ",
        [FIELD_PARSED] = "a text",
        [FIELD_MAP] = "a map",
        [FIELD_NODE] = "see its own table",
    };
    buffer_append_text(b, names[f->type]);
    if (f->type == FIELD_INTEGER || f->type == FIELD_NUMBER || f->type == FIELD_DURATION)
        append_bounds(b, f);
    if (f->type == FIELD_CHOICE)
        append_choices(b, f);
}

static bool fail_value(struct reading *r, const struct document_node *n, const struct field *f)
{
    struct buffer allowed = {0};
    append_allowed(&allowed, f);
    reading_fail(r, n, "%s is `%s`, but must be %.*s", f->name, (const char *)n->text.data,
                 (int)allowed.size, (const char *)allowed.data);
    buffer_deinit(&allowed);
    return false;
}

/* ---- values ---- */

/* A whole number with an optional suffix k, M or G. */
static bool parse_integer(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    int64_t factor = strcmp(end, "k") == 0   ? 1000
                     : strcmp(end, "M") == 0 ? 1000000
                     : strcmp(end, "G") == 0 ? 1000000000
                                             : 1;
    if (end == text || errno != 0 || (factor == 1 && *end != '\0'))
        return false;
    return !__builtin_mul_overflow((int64_t)value, factor, out);
}

static bool take_integer(const struct field *f, const char *text, int64_t *out)
{
    int64_t value;
    bool good =
        f->type == FIELD_INTEGER ? parse_integer(text, &value) : duration_parse(text, &value);
    if (!good || value < f->min || value > f->max)
        return false;
    *out = value;
    return true;
}

static bool take_number(const struct field *f, const char *text, double *out)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= (double)f->min) || !(value <= (double)f->max))
        return false;
    *out = value;
    return true;
}

static bool take_choice(const struct field *f, const char *text, int64_t *out)
{
    for (int64_t i = 0; f->choices[i] != NULL; i++) {
        if (strcmp(text, f->choices[i]) != 0)
            continue;
        *out = i;
        return true;
    }
    return false;
}

static bool take_flag(const char *text, bool *out)
{
    *out = strcmp(text, "true") == 0;
    return *out || strcmp(text, "false") == 0;
}

static bool take_text(struct reading *r, const struct document_node *n, const struct field *f,
                      void *at)
{
    const char *text = (const char *)n->text.data;
    switch (f->type) {
    case FIELD_TEXT:
        *(const char **)at = text;
        return n->text.size >= (size_t)f->min ||
               reading_fail(r, n, "%s must not be empty", f->name);
    case FIELD_INTEGER:
    case FIELD_DURATION:
        return take_integer(f, text, at) || fail_value(r, n, f);
    case FIELD_NUMBER:
        return take_number(f, text, at) || fail_value(r, n, f);
    case FIELD_FLAG:
        return take_flag(text, at) || fail_value(r, n, f);
    case FIELD_CHOICE:
        return take_choice(f, text, at) || fail_value(r, n, f);
    default: {
        const char *fault = f->parse(at, text);
        return fault == NULL || reading_fail(r, n, "%s is `%s`: %s", f->name, text, fault);
    }
    }
}

static bool field_read(struct reading *r, const struct document_node *n, const struct field *f,
                       void *target)
{
    void *at = (char *)target + f->offset;
    if (f->type == FIELD_NODE)
        return f->read(r, n, at);
    if (f->type == FIELD_MAP)
        return fields_read(r, n, f->fields, at);
    if (n->kind != DOCUMENT_TEXT)
        return reading_fail(r, n, "%s is a %s, but must be a single value", f->name,
                            n->kind == DOCUMENT_MAP ? "map" : "list");
    return take_text(r, n, f, at);
}

/* ---- maps and lists ---- */

static const struct field *field_find(const struct field *fields, struct slice name)
{
    for (; fields->name != NULL; fields++) {
        if (slice_is(name, fields->name))
            return fields;
    }
    return NULL;
}

static bool fail_unknown(struct reading *r, const struct document_node *n,
                         const struct field *fields)
{
    struct buffer known = {0};
    for (const struct field *f = fields; f->name != NULL; f++)
        buffer_append_format(&known, "%s%s", f == fields ? "" : ", ", f->name);
    reading_fail(r, n, "unknown field `%.*s`; known are %.*s", (int)n->key.size,
                 (const char *)n->key.data, (int)known.size, (const char *)known.data);
    buffer_deinit(&known);
    return false;
}

bool fields_read(struct reading *r, const struct document_node *map, const struct field *fields,
                 void *target)
{
    if (map->kind != DOCUMENT_MAP)
        return reading_fail(r, map, "this must be a map");
    for (const struct document_node *n = map->first; n != NULL; n = n->next) {
        const struct field *f = field_find(fields, n->key);
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

bool fields_read_list(struct reading *r, const struct document_node *list, const char *what,
                      bool (*read)(struct reading *r, const struct document_node *n, void *target),
                      void *array, size_t size, uint32_t max, uint32_t *count)
{
    *count = 0;
    if (list->kind != DOCUMENT_LIST)
        return reading_fail(r, list, "%s must be a list", what);
    for (const struct document_node *n = list->first; n != NULL; n = n->next) {
        if (*count == max)
            return reading_fail(r, n, "there are more than %u %s", max, what);
        if (!read(r, n, (char *)array + *count * size))
            return false;
        ++*count;
    }
    return true;
}

void fields_describe(const struct field *fields, int indent, struct buffer *out)
{
    for (const struct field *f = fields; f->name != NULL; f++) {
        buffer_append_format(out, "%*s%s: ", indent, "", f->name);
        append_allowed(out, f);
        buffer_append_format(out, "%s. %s\n", f->required ? "; required" : "", f->help);
        if (f->type == FIELD_MAP)
            fields_describe(f->fields, indent + 2, out);
    }
}
