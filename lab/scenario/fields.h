/* fields.h - reads maps of a document into structs, by tables of fields.
 *
 * A table says what a map may have: the name of each field, its type, its bounds and its meaning.
 * An unknown field, a missing one and a value out of bounds are errors that name file, line,
 * field, value and what is allowed. The same tables print the reference of the format
 * (fields_describe). */
#pragma once

#include "lab/scenario/document.h"

enum field_type {
    FIELD_TEXT,     /* const char *; lends as long as the document; of at least `min` bytes */
    FIELD_INTEGER,  /* int64_t, from least to most */
    FIELD_NUMBER,   /* double, from least to most */
    FIELD_DURATION, /* int64_t, in ns: `90s`, `250ms`, `1.5m`; bounds in ns */
    FIELD_FLAG,     /* bool: true or false */
    FIELD_CHOICE,   /* int64_t: the place of the text among the choices */
    FIELD_PARSED,   /* a text that `parse` reads */
    FIELD_MAP,      /* a map that `fields` reads into the same struct, at the offset */
    FIELD_NODE      /* anything: `read` reads it */
};

struct reading;

struct field {
    const char *name;
    enum field_type type;
    size_t offset; /* in the struct */
    bool required;
    int64_t min, max;
    const char *const *choices; /* ends with NULL */
    /* PARSED: NULL, or the fault as a text that tells what is allowed. `target`: at the offset. */
    const char *(*parse)(void *target, const char *text);
    const struct field *fields; /* MAP: ends with a field without a name */
    /* NODE: `target`: at the offset. False: reading_fail was called. */
    bool (*read)(struct reading *r, const struct document_node *n, void *target);
    const char *help;
};

struct reading {
    struct document *document;
    struct buffer *error;
    void *context; /* of the caller's `read` functions */
};

/* Reads a map. Fields that it does not have stay as they are in `target`. False: `error` tells. */
bool fields_read(struct reading *r, const struct document_node *map, const struct field *fields,
                 void *target);
/* Calls `read` for each member of a list, with the places of an array that has room for `max`
 * elements of `size` bytes. False: `error` tells. */
bool fields_read_list(struct reading *r, const struct document_node *list, const char *what,
                      bool (*read)(struct reading *r, const struct document_node *n, void *target),
                      void *array, size_t size, uint32_t max, uint32_t *count);
/* Writes an error at the node, once. Returns false. */
bool reading_fail(struct reading *r, const struct document_node *n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* False: not a duration. */
bool duration_parse(const char *text, int64_t *ns);

/* The reference of a map: a line for each field. */
void fields_describe(const struct field *fields, int indent, struct buffer *out);
