/* json.h - reads the JSON of requests: a thin C interface to simdjson's DOM.
 *
 * Promises: hostile text causes an error, never a crash. A parser allocates nothing for a document
 * if it has seen one as large before, except after a very large one. Strings are valid UTF-8, and
 * may hold NUL.
 * Lifetime: values and strings lend from the parser until its next json_parse.
 * Duplicate members of an object all come, in order; the caller decides what they mean.
 * Why simdjson: docs/decisions/0002-json.md. Not here: writing (json_writer.h). */
#pragma once

#include "base/slice.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    JSON_PADDING = 64,    /* readable bytes that must follow a text */
    JSON_DEPTH_MAX = 160, /* nested lists and objects; an item needs two for each of its levels */
};

enum json_type {
    JSON_ABSENT = 0, /* a zeroed json_value */
    JSON_NULL,
    JSON_BOOL,
    JSON_INTEGER, /* fits int64 */
    JSON_DECIMAL, /* any other number */
    JSON_STRING,
    JSON_LIST,
    JSON_OBJECT,
};

/* A value of the document that was parsed last. */
struct json_value {
    enum json_type type;
    const void *words[2]; /* simdjson's element */
};

struct json_parser;

struct json_parser *json_parser_create(void);
void json_parser_destroy(struct json_parser *p);

/* JSON_PADDING readable bytes of any content must follow `text`.
 * STATUS_MALFORMED: not JSON, not UTF-8, nested too deeply, or a number is out of range. */
enum status json_parse(struct json_parser *p, struct slice text, struct json_value *root);

/* The value must have the type of the function. */
bool json_bool(const struct json_value *v);
int64_t json_integer(const struct json_value *v);
double json_decimal(const struct json_value *v);
struct slice json_string(const struct json_value *v);
size_t json_count(const struct json_value *v); /* of a list or an object */

/* Steps through a list or an object. */
struct json_cursor {
    const void *words[5];
};

struct json_cursor json_elements(const struct json_value *list);
bool json_next_element(struct json_cursor *c, struct json_value *value);

struct json_cursor json_members(const struct json_value *object);
bool json_next_member(struct json_cursor *c, struct slice *name, struct json_value *value);

/* The first member with this name. JSON_ABSENT: there is none, or `object` is no object. */
static inline struct json_value json_find(const struct json_value *object, const char *name)
{
    struct json_value value = {JSON_ABSENT, {NULL, NULL}};
    struct slice found;
    if (object->type != JSON_OBJECT)
        return value;
    struct json_cursor c = json_members(object);
    while (json_next_member(&c, &found, &value))
        if (slice_is(found, name))
            return value;
    value.type = JSON_ABSENT;
    return value;
}

/* The text of a string; empty for any other value. */
static inline struct slice json_text(const struct json_value *v)
{
    return v->type == JSON_STRING ? json_string(v) : slice_make(NULL, 0);
}

static inline bool json_is_text(const struct json_value *v, const char *text)
{
    return v->type == JSON_STRING && slice_is(json_string(v), text);
}

#ifdef __cplusplus
}
#endif
