/* reading.h - reads maps of a document into structs, by tables of fields (base/fields.h).
 *
 *   static const struct field fields[] = {
 *       {"seeds", FIELD_INTEGER, FIELD_MEMBER(struct scenario, seeds), .max = 9, .help = "Runs."},
 *       FIELDS_END};
 *   fields_read(&reading, document.root, fields, &scenario);
 *
 * Promises: an unknown field, a missing one and a value out of bounds are errors that name file,
 * line, field, value and what is allowed. The same tables print the reference of the format
 * (fields_describe). Texts lend as long as the document.
 * Not here: the conversion of a value, and what is allowed (base/fields.h). */
#pragma once

#include "base/fields.h"
#include "lab/scenario/document.h"

struct reading {
    struct document *document;
    struct buffer *error;
    void *context; /* of the caller's `read` functions */
};

/* Ends a table. */
#define FIELDS_END   \
    {                \
        .name = NULL \
    }

/* Reads a map. Fields that it does not have stay as they are in `target`. False: `error` tells. */
bool fields_read(struct reading *r, const struct document_node *map, const struct field *fields,
                 void *target);
/* Writes an error at the node, once. Returns false. */
bool reading_fail(struct reading *r, const struct document_node *n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The reference of a map: a line for each field. Then that of the elements of its lists, and so
 * on. */
void fields_describe(const char *title, const struct field *fields, struct buffer *out);
