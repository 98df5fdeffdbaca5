/* json.h - the JSON of requests, read in place: a thin C face over simdjson's DOM.
 *
 * Promises: hostile text yields an error, never a crash; nothing is allocated per document once a
 * parser has seen one as large. Strings are valid UTF-8 (they may hold NUL).
 * Lifetime: values and strings lend from the parser until its next json_parse.
 * Duplicate members of an object are all yielded, in order; the caller decides.
 * Why simdjson: docs/decisions/0002-json.md. Not here: writing (json_writer.h). */
#ifndef WEIR_ROUTER_JSON_JSON_H
#define WEIR_ROUTER_JSON_JSON_H

#include "base/slice.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    JSON_PADDING = 64,    /* readable bytes a text must have after its end */
    JSON_DEPTH_MAX = 128, /* fewer lists and objects nest; an item needs two for each level */
};

enum json_type {
    JSON_ABSENT = 0, /* what a zeroed json_value is */
    JSON_NULL,
    JSON_BOOL,
    JSON_INTEGER, /* fits int64 */
    JSON_DECIMAL, /* any other number */
    JSON_STRING,
    JSON_LIST,
    JSON_OBJECT,
};

/* A value of the document parsed last. */
struct json_value {
    enum json_type type;
    const void *words[2]; /* where it stands */
};

struct json_parser;

struct json_parser *json_parser_create(void);
void json_parser_destroy(struct json_parser *p);

/* `text` must be followed by JSON_PADDING readable bytes, whatever they hold.
 * STATUS_MALFORMED: not JSON, not UTF-8, nested too deeply or a number out of range. */
enum status json_parse(struct json_parser *p, struct slice text, struct json_value *root);

/* Each of these must meet its type. */
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

/* The first member of this name; JSON_ABSENT if there is none, or `object` is no object. */
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

#endif
