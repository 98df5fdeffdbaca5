/* json.h - reads the JSON of requests: steps through the tape that simdjson makes of a text.
 *
 * The tape is simdjson's documented format (simdjson/doc/tape.md): a word of 64 bits for each
 * value and brace. Its highest byte is a tag, the rest tells where a string lies, or where a list
 * or an object ends. A number has a second word.
 *
 * Promises: hostile text causes an error, never a crash. A parser allocates nothing for a document
 * if it has seen one as large before, except after a very large one. Strings are valid UTF-8, and
 * may hold NUL.
 * Lifetime: values and strings lend from the parser until its next json_parse.
 * Duplicate members of an object all come, in order; the caller decides what they mean.
 * Why simdjson: docs/decisions/0002-json.md. Not here: writing (json_writer.h). */
#pragma once

#include <string.h>

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

struct values_ahead;

/* The document that a parser has parsed last. */
struct json_tape {
    const uint64_t *words;
    const uint8_t *strings;           /* each u32 size | bytes */
    const struct values_ahead *ahead; /* values that have been read; NULL: none (values_ahead.h) */
};

/* A value of the document. */
struct json_value {
    enum json_type type;
    uint32_t at; /* its place on the tape */
    const struct json_tape *tape;
};

struct json_parser;

struct json_parser *json_parser_create(void);
void json_parser_destroy(struct json_parser *p);

/* What STATUS_MALFORMED of json_parse may mean. */
#define JSON_MALFORMED_TEXT                                                                     \
    "The body is not valid JSON in UTF-8, has an integer beyond 64 bits, or nests deeper than " \
    "160 levels"

/* JSON_PADDING readable bytes of any content must follow `text`.
 * STATUS_MALFORMED: JSON_MALFORMED_TEXT. */
enum status json_parse(struct json_parser *p, struct slice text, struct json_value *root);
/* After a json_parse that succeeded: gives back what only parsing needs. */
void json_parser_trim(struct json_parser *p);
/* The same: the bytes of the tape and, at most, of the strings. */
size_t json_parser_held(const struct json_parser *p);

/* ---- the tape ---- */

static inline uint64_t json_word(const struct json_value *v)
{
    return v->tape->words[v->at];
}

static inline enum json_type json_type_of(uint64_t word)
{
    switch (word >> 56) {
    case 'n':
        return JSON_NULL;
    case 't':
    case 'f':
        return JSON_BOOL;
    case 'l':
        return JSON_INTEGER;
    case '"':
        return JSON_STRING;
    case '[':
        return JSON_LIST;
    case '{':
        return JSON_OBJECT;
    default: /* d, and u for integers above int64 */
        return JSON_DECIMAL;
    }
}

static inline void json_set(struct json_value *v, const struct json_tape *tape, uint32_t at)
{
    v->type = json_type_of(tape->words[at]);
    v->at = at;
    v->tape = tape;
}

/* Where the next value is. */
static inline uint32_t json_after(const struct json_value *v)
{
    if (v->type >= JSON_LIST)
        return (uint32_t)json_word(v);
    return v->at + (v->type == JSON_INTEGER || v->type == JSON_DECIMAL ? 2 : 1);
}

static inline struct slice json_string_at(const struct json_tape *tape, uint32_t at)
{
    const uint8_t *string = tape->strings + (tape->words[at] & (UINT64_MAX >> 8));
    uint32_t size;
    memcpy(&size, string, sizeof size);
    return slice_make(string + sizeof size, size);
}

/* ---- values: each must have the type of the function ---- */

static inline bool json_bool(const struct json_value *v)
{
    return json_word(v) >> 56 == 't';
}

static inline int64_t json_integer(const struct json_value *v)
{
    return (int64_t)v->tape->words[v->at + 1];
}

static inline double json_decimal(const struct json_value *v)
{
    const uint64_t bits = v->tape->words[v->at + 1];
    double decimal;
    if (json_word(v) >> 56 == 'u')
        return (double)bits;
    memcpy(&decimal, &bits, sizeof decimal);
    return decimal;
}

static inline struct slice json_string(const struct json_value *v)
{
    return json_string_at(v->tape, v->at);
}

/* Of a list or an object; what has more than 16,777,215 is said to have as many. */
static inline size_t json_count(const struct json_value *v)
{
    return json_word(v) >> 32 & 0xffffff;
}

/* Steps through a list or an object. */
struct json_cursor {
    const struct json_tape *tape;
    uint32_t at;
    uint32_t end; /* the closing brace */
};

static inline struct json_cursor json_inside(const struct json_value *v)
{
    struct json_cursor c;
    c.tape = v->tape;
    c.at = v->at + 1;
    c.end = (uint32_t)json_word(v) - 1;
    return c;
}

static inline struct json_cursor json_elements(const struct json_value *list)
{
    return json_inside(list);
}

static inline bool json_next_element(struct json_cursor *c, struct json_value *value)
{
    if (c->at == c->end)
        return false;
    json_set(value, c->tape, c->at);
    c->at = json_after(value);
    return true;
}

static inline struct json_cursor json_members(const struct json_value *object)
{
    return json_inside(object);
}

static inline bool json_next_member(struct json_cursor *c, struct slice *name,
                                    struct json_value *value)
{
    if (c->at == c->end)
        return false;
    *name = json_string_at(c->tape, c->at++);
    return json_next_element(c, value);
}

/* Loops over the elements of a list, and over the members of an object: `value` and `name` are
 * variables of the caller. */
#define JSON_FOREACH(value, list)                             \
    for (struct json_cursor value##_at = json_elements(list); \
         json_next_element(&value##_at, &value);)
#define JSON_FOREACH_MEMBER(name, value, object)               \
    for (struct json_cursor value##_at = json_members(object); \
         json_next_member(&value##_at, &name, &value);)

/* The first member with this name. JSON_ABSENT: there is none, or `object` is no object. */
static inline struct json_value json_find(const struct json_value *object, const char *name)
{
    struct json_value value = {JSON_ABSENT, 0, NULL};
    struct slice found;
    if (object->type != JSON_OBJECT)
        return value;
    JSON_FOREACH_MEMBER (found, value, object)
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
