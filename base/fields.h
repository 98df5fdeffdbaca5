/* fields.h - tables of fields: name, kind, place and bounds of each value that a user can set.
 *
 * Options of commands, settings and the fields of scenario files stand in such tables:
 *
 *   static const struct field fields[] = {
 *       {"port", FIELD_INTEGER, FIELD_MEMBER(struct server, port), .max = 65535}};
 *   field_set(&fields[0], &server, "8000", &expected);
 *
 * Promises: conversion, bounds, the text of what is allowed and the text of the present value
 * follow from the row. A refused text leaves the member as it is, unless `parse` or `take` reads
 * it.
 * Not here: the source of a text, and the line of an error: command_line.h, config.h,
 * lab/scenario/reading.h. */
#pragma once

#include "base/buffer.h"

/* The kind of a value, and the type of the member that has the value. */
enum field_kind {
    FIELD_FLAG,     /* bool: true or false */
    FIELD_INTEGER,  /* uint16_t, int32_t, uint32_t or int64_t; 2k, 2.5M and 1G are powers of 1000 */
    FIELD_COUNT,    /* int64_t; the end of the name is the unit, see field_unit; also 1KiB */
    FIELD_REAL,     /* double; k, M and G as above */
    FIELD_SPAN,     /* int64_t, in nanoseconds: 10, 10s, 500ms, 2m, 1h */
    FIELD_DURATION, /* the same; a time above 0 needs a unit */
    FIELD_TEXT,     /* const char *, not empty: borrows the text */
    FIELD_ANY_TEXT, /* the same; may be empty */
    FIELD_NAME,   /* char []: a copy; without `valid`: ASCII without blanks, quotes, \, controls */
    FIELD_CHOICE, /* an enum or int64_t: the text's place among `choices` */
    FIELD_PARSED, /* `parse` reads the text */
    FIELD_CUSTOM, /* options: `take` reads the text */
    FIELD_MAP,    /* documents: a map that `fields` reads into the same struct, at the member */
    FIELD_LIST,   /* documents: an array; `read` reads an element */
    FIELD_NODE,   /* documents: `read` reads any value */
};

struct reading;
struct document_node;

struct field {
    const char *name;
    enum field_kind kind;
    size_t at, size;  /* of the member in its struct: FIELD_MEMBER */
    const char *form; /* the value's form in a help text, as N; NULL: an option without value */
    int64_t min, max; /* bounds; SPAN: max may be 0; NAME: the least characters; LIST: elements */
    int64_t zero;     /* INTEGER: the member's value for the text 0 */
    const char *const *choices;        /* ended by NULL */
    bool (*valid)(struct slice value); /* TEXT, ANY_TEXT, NAME; may be NULL */
    /* NULL: the member is set. Otherwise a static text: what is allowed. `text` is NULL if an
     * option has no value. */
    const char *(*parse)(void *member, const char *text);
    const char *expected; /* TEXT, ANY_TEXT, NAME: what `valid` allows */
    const char *former;   /* a name that is taken, too, and not in the help; NULL: none */
    const char *initial;  /* the default in place of the member's value; "" hides it */
    const char *help;     /* whole sentences */

    /* Options. `take` returns NULL: taken; or what is allowed; or "": `error` has the whole line.
     * `value` is NULL if there is none. */
    const char *(*take)(void *member, const char *value, struct buffer *error);
    bool optional; /* the value may be missing: the next word is the value unless it is an option */
    bool early;    /* read before all others, which depend on it */

    /* Documents. `fields` ends with a row without a name. */
    bool required;
    const struct field *fields; /* of a MAP, or of the elements of a LIST or NODE; may be NULL */
    size_t count_at;            /* LIST: of a uint32_t, the number of elements */
    bool distinct;              /* LIST: each element begins with a name of its own */
    /* `target`: the member, or the element of the LIST. False: reading_fail was called. */
    bool (*read)(struct reading *r, const struct document_node *n, void *target);
};

#define FIELD_MEMBER(type, member) .at = offsetof(type, member), .size = sizeof(((type *)0)->member)

/* NULL: no field of the table has, or had, this name. A row without a name ends the table. */
const struct field *field_find(const struct field *fields, size_t count, struct slice name);

/* Sets the member of `target`, of all kinds up to FIELD_PARSED. False: `expected` gets what is
 * allowed. */
bool field_set(const struct field *f, void *target, const char *text, struct buffer *expected);

/* What is allowed: "a whole number from 1 to 64", "a, b or c". */
void field_append_expected(const struct field *f, struct buffer *out);
/* "1 to 64", as the values are written. */
void field_append_bounds(const struct field *f, struct buffer *out);
/* The present value as field_set reads it; nothing of a kind that has no such text. */
void field_append_value(const struct field *f, const void *target, struct buffer *out);

/* Of a FIELD_COUNT, by the end of its name: "ms" of gac_wait_ms; "": none. Counts take k, M, G and
 * T; sizes (_bytes, _bytes_s) take kB, MB, GB and TB; both take KiB, MiB, GiB and TiB. */
const char *field_unit(const struct field *f);

/* The conversions, for parsers. False: no such number, or it is out of bounds. */
bool field_parse_integer(const char *text, int64_t min, int64_t max, int64_t *out);
bool field_parse_real(const char *text, double *out);
bool field_parse_duration(const char *text, int64_t *out_ns);

/* The nearest of several names to a mistyped one. Starts with `typed` alone. */
struct nearest_name {
    struct slice typed;
    const char *name; /* NULL: none is near enough */
    size_t edits;
    const char *longer;  /* the last name that begins with `typed` */
    size_t longer_count; /* only a single one is suggested, if no name is near enough */
};

/* The names are `count` pointers, each `stride` bytes after the one before. Returns the place of
 * the name; `count`: it is not there. */
size_t name_place(struct slice name, const char *const *names, size_t count, size_t stride);
/* The same in an array of structs with the member `name`. */
#define NAME_PLACE(text, list, count) \
    name_place(slice_of(text), &(list)[0].name, count, sizeof(list)[0])

void nearest_name_add(struct nearest_name *n, const char *const *names, size_t count,
                      size_t stride);
/* Appends " (did you mean `PREFIXname`?)" if there is a name. */
void nearest_name_append(const struct nearest_name *n, const char *prefix, struct buffer *out);
/* Both, for a single table. */
void nearest_name_suggest(struct slice typed, const char *prefix, const char *const *names,
                          size_t count, size_t stride, struct buffer *out);
