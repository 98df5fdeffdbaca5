/* value.h - converts attribute values from JSON to the engine's items, and back.
 *
 * The JSON must have passed shape_check, which checks types. These functions check what the service
 * checks next: one datatype per value, numbers, sets, nesting. The texts of errors are the
 * service's. What reading takes is counted in fault->reading. */
#pragma once

#include "base/arena.h"
#include "engine/item/item.h"
#include "router/json/api_error.h"
#include "router/json/json.h"

/* Bytes inside a buffer that may still grow and move. */
struct span {
    size_t at;
    size_t size;
};

static inline struct slice span_in(const struct buffer *b, struct span s)
{
    return s.size == 0 ? slice_make(NULL, 0) : slice_make(b->data + s.at, s.size);
}

/* The service's texts for too many levels of lists and maps. BatchWriteItem has only the second. */
#define VALUE_FAR_TOO_DEEP                                                                      \
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels " \
    "beyond supported limit"
#define VALUE_TOO_DEEP "1 validation error detected: " VALUE_FAR_TOO_DEEP

enum {
    VALUE_LEVELS_FAR =
        62, /* levels of a value that is far too deep: 61 were seen not to be, 63 to be */
};

/* Appends a map of attribute values as one item, unless it was read ahead: then it is in `out`. The
 * arena is scratch memory. False: the fault is set, and `out` is as before. */
bool value_read_item(struct buffer *out, struct arena *arena, const struct json_value *map,
                     struct span *item, struct fault *fault);

/* Reads one attribute value into the arena. False: the fault is set. */
bool value_read_attr(struct arena *arena, const struct json_value *value, struct attr *out,
                     struct fault *fault);

/* Reads the digits of a number. */
bool value_read_digits(struct slice text, struct number *out, struct fault *fault);
/* Whether two of the byte strings that begin at these positions of an unfinished item are equal:
 * names of a map with their values, or values of a set. */
bool value_repeats(const struct buffer *item, bool names, const uint32_t *positions, size_t count,
                   struct steps *steps);

/* Refuses a name that no attribute can have: an empty one, or one that is too large. */
bool value_check_name(struct slice name, struct fault *fault);
/* The same for all names of a map. Refuses a map that has a name twice. The arena is scratch
 * memory. */
bool value_check_names(struct arena *arena, const struct json_value *map, struct fault *fault);

/* Appends {"name":{"S":...},...}. */
void value_write_item(struct buffer *out, struct slice item);
/* Appends {"S":...}. */
void value_write(struct buffer *out, const struct attr *value);
