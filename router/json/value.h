/* value.h - converts attribute values from JSON to the engine's items, and back.
 *
 * The JSON must have passed shape_check, which checks types. These functions check what the service
 * checks next: one datatype per value, numbers, sets, nesting. The texts of errors are the
 * service's. */
#pragma once

#include "base/arena.h"
#include "engine/item/item.h"
#include "router/api_error.h"
#include "router/json/json.h"

/* Bytes inside a buffer that may still grow and move. */
struct span {
    size_t at;
    size_t size;
};

static inline struct slice span_in(const struct buffer *b, struct span s)
{
    return slice_make(b->data + s.at, s.size);
}

/* Appends a map of attribute values as one item. The arena is scratch memory. False: the fault is
 * set, and `out` is as before. */
bool value_read_item(struct buffer *out, struct arena *arena, const struct json_value *map,
                     struct span *item, struct fault *fault);

/* The same for one attribute value: appends an item with one attribute, whose name is empty. */
bool value_read_item_of_one(struct buffer *out, struct arena *arena, const struct json_value *value,
                            struct span *item, struct fault *fault);

/* Appends {"name":{"S":...},...}. */
void value_write_item(struct buffer *out, struct slice item);
/* Appends {"S":...}. */
void value_write(struct buffer *out, const struct attr *value);
