/* compare.h - attribute values compared as conditions compare them.
 *
 * Promises: bytes in, an answer out; values are such that item_check or attr_is_sound accepts them.
 * Nothing is allocated, but for sets and maps of more than COMPARE_FEW elements that have the same
 * size and are not the same bytes: these are sorted. */
#ifndef WEIR_ENGINE_EXPRESSION_COMPARE_H
#define WEIR_ENGINE_EXPRESSION_COMPARE_H

#include "engine/item/item.h"

enum {
    COMPARE_FEW = 16
};

/* S, N or B: values of one of these types have an order. */
bool attr_is_ordered(enum attr_type type);
/* Of two values of one ordered type: < 0, 0 or > 0. */
int attr_compare(const struct attr *a, const struct attr *b);

/* Of any two values. Sets and maps have no order; lists have one. */
bool attr_equal(const struct attr *a, const struct attr *b);

/* A part of a string or binary, an element of a set or list. */
bool attr_contains(const struct attr *whole, const struct attr *part);

bool attr_begins_with(const struct attr *whole, const struct attr *start);

/* size(): bytes of a string or binary, elements of a set, list or map. False: the type has none.
 * That a string's bytes are counted, and not its characters, is documented for PartiQL's size. */
bool attr_length(const struct attr *value, uint32_t *length);

#endif
