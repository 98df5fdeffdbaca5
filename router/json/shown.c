/* shown.c - prints values as the service's messages do. */
#include "router/json/shown.h"

#include <ctype.h>

#include "router/json/json_writer.h"

/* One printed value. */
struct shown {
    struct buffer *out;
    size_t end; /* nothing begins behind this byte */
};

static void shown_value(struct shown *s, const struct shape *shape, const struct json_value *v);

static bool shown_is_full(const struct shown *s)
{
    return s->out->size >= s->end;
}

/* Separates entries. False: the value is long enough, and "..." stands for the rest. */
static bool shown_next(struct shown *s, bool *first)
{
    if (!*first)
        buffer_append_text(s->out, ", ");
    *first = false;
    if (!shown_is_full(s))
        return true;
    buffer_append_text(s->out, "...");
    return false;
}

static void shown_text(struct shown *s, struct slice text)
{
    buffer_append(s->out, text.data, (size_t)slice_shown_size(text));
}

/* The service's names begin with a small letter: attributeName, sS. */
static void shown_member(struct shown *s, const char *name)
{
    buffer_append_u8(s->out, (uint8_t)tolower((unsigned char)name[0]));
    buffer_append_text(s->out, name + 1);
    buffer_append_u8(s->out, '=');
}

static void shown_scalar(struct shown *s, const struct json_value *v)
{
    switch (v->type) {
    case JSON_STRING:
        shown_text(s, json_string(v));
        break;
    case JSON_INTEGER:
    case JSON_DECIMAL:
        buffer_append_format(s->out, "%lld", (long long)shape_integer(v, 0));
        break;
    case JSON_BOOL:
        buffer_append_text(s->out, json_bool(v) ? "true" : "false");
        break;
    default:
        buffer_append_text(s->out, "null");
    }
}

static void shown_list(struct shown *s, const struct shape *element, const struct json_value *v)
{
    struct json_cursor cursor = json_elements(v);
    struct json_value entry;
    bool first = true;
    buffer_append_u8(s->out, '[');
    while (json_next_element(&cursor, &entry) && shown_next(s, &first))
        shown_value(s, element, &entry);
    buffer_append_u8(s->out, ']');
}

static void shown_map(struct shown *s, const struct shape *element, const struct json_value *v)
{
    struct json_cursor cursor = json_members(v);
    struct json_value entry;
    struct slice name;
    bool first = true;
    buffer_append_u8(s->out, '{');
    while (json_next_member(&cursor, &name, &entry) && shown_next(s, &first)) {
        shown_text(s, name);
        buffer_append_u8(s->out, '=');
        shown_value(s, element, &entry);
    }
    buffer_append_u8(s->out, '}');
}

/* An AttributeValue has members that requests do not have. */
static void shown_attribute(struct shown *s, const struct json_value *v)
{
    static const struct shape ATTRIBUTE = {.kind = SHAPE_ATTRIBUTE};
    static const struct shape ANY = {.kind = SHAPE_ANYTHING};
    static const char *const TYPES[] = {"S",  "N",  "B",    "INT",    "DECIMAL",    "DOUBLE",
                                        "SS", "NS", "BS",   "INTSET", "DECIMALSET", "DOUBLESET",
                                        "M",  "L",  "NULL", "BOOL"};
    bool first = true;
    buffer_append_text(s->out, "AttributeValue(");
    for (size_t i = 0; i < COUNT_OF(TYPES) && shown_next(s, &first); i++) {
        const struct json_value member = json_find(v, TYPES[i]);
        shown_member(s, TYPES[i]);
        if (member.type == JSON_LIST)
            shown_list(s, strcmp(TYPES[i], "L") == 0 ? &ATTRIBUTE : &ANY, &member);
        else if (member.type == JSON_OBJECT)
            shown_map(s, &ATTRIBUTE, &member);
        else
            shown_scalar(s, &member);
    }
    buffer_append_u8(s->out, ')');
}

static void shown_structure(struct shown *s, const struct shape *shape, const struct json_value *v)
{
    bool first = true;
    buffer_append_text(s->out, shape->java);
    buffer_append_u8(s->out, '(');
    for (const struct shape_member *m = shape->members; m->name != NULL && shown_next(s, &first);
         m++) {
        const struct json_value member = json_find(v, m->name);
        shown_member(s, m->name);
        shown_value(s, m->shape, &member);
    }
    if (strcmp(shape->java, "PutRequest") == 0) /* the service shows a member that nobody can set */
        buffer_append_text(s->out, ", workloadProfileName=null");
    buffer_append_u8(s->out, ')');
}

static void shown_value(struct shown *s, const struct shape *shape, const struct json_value *v)
{
    if (v->type == JSON_OBJECT && shape->kind == SHAPE_STRUCTURE)
        shown_structure(s, shape, v);
    else if (v->type == JSON_OBJECT && shape->kind == SHAPE_ATTRIBUTE)
        shown_attribute(s, v);
    else if (v->type == JSON_OBJECT && shape->kind == SHAPE_MAP)
        shown_map(s, shape->element, v);
    else if (v->type == JSON_LIST && shape->kind == SHAPE_LIST)
        shown_list(s, shape->element, v);
    else
        shown_scalar(s, v);
}

/* ---- JSON ---- */

static void shown_json(struct shown *s, const struct json_value *v)
{
    struct json_cursor cursor;
    struct json_value entry;
    struct slice name;
    switch (v->type) {
    case JSON_STRING:
        json_write_string(s->out, json_string(v));
        break;
    case JSON_LIST:
        json_write_open(s->out, '[');
        cursor = json_elements(v);
        while (!shown_is_full(s) && json_next_element(&cursor, &entry))
            shown_json(s, &entry);
        json_write_close(s->out, ']');
        break;
    case JSON_OBJECT:
        json_write_open(s->out, '{');
        cursor = json_members(v);
        while (!shown_is_full(s) && json_next_member(&cursor, &name, &entry)) {
            json_write_name(s->out, name);
            shown_json(s, &entry);
        }
        json_write_close(s->out, '}');
        break;
    case JSON_BOOL:
        json_write_bool(s->out, json_bool(v));
        break;
    case JSON_INTEGER:
    case JSON_DECIMAL:
        json_write_integer(s->out, shape_integer(v, 0));
        break;
    default:
        json_write_null(s->out);
    }
}

void shown_append(struct buffer *out, const struct shape *shape, const struct json_value *v)
{
    struct buffer json = {0};
    struct shown s = {out, out->size + SHOWN_VALUE_MAX};
    if (!shape->as_json) {
        shown_value(&s, shape, v);
        return;
    }
    s = (struct shown){&json, SHOWN_VALUE_MAX}; /* the writer looks at the last byte before */
    shown_json(&s, v);
    buffer_append_slice(out, buffer_slice(&json));
    buffer_deinit(&json);
}
