/* values_ahead.h - values of a large request that were read before its operation asks for them.
 *
 * Why: an operation reads its values wherever it needs them, and in one go. Values that were read
 * ahead, a few in each turn of the loop, cost it nothing any more (router/core/input_parse.h).
 * It is a cache: value_read_item and value_read_attr answer the same with it and without it. What
 * is refused is not in it.
 *
 * Invariant AHEAD-1: values come in the order of the document, so that they are found by halving.
 * */
#pragma once

#include "router/json/value.h"

/* An item, or a value. */
struct value_ahead {
    uint32_t at; /* its place on the tape */
    struct span item;
    struct attr value; /* lends from the call's arena */
};

struct values_ahead {
    const struct buffer *items; /* borrows; the spans lie in it */
    struct value_ahead *list;   /* owns */
    size_t count;
    size_t capacity;
};

void values_ahead_deinit(struct values_ahead *a);

/* Read the value and keep it, or do nothing. `out` is the buffer of `a`. */
void values_ahead_item(struct values_ahead *a, struct buffer *out, struct arena *arena,
                       const struct json_value *map, struct fault *fault);
void values_ahead_attr(struct values_ahead *a, struct arena *arena, const struct json_value *value,
                       struct fault *fault);

/* NULL: the value was not read ahead. */
const struct value_ahead *values_ahead_find(const struct json_value *v);
