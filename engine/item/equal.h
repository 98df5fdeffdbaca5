/* equal.h - whether values mean the same: the order of elements counts in lists, but not in sets,
 * maps and items.
 *
 * item_check or attr_is_sound must have accepted the values.
 * Promise: nothing is allocated, with one exception: two sets or maps of more than EQUAL_FEW
 * elements, of the same size but of different bytes, are sorted.
 * Invariant:
 *   EQUAL-1  equal values have the same digest. */
#pragma once

#include "engine/item/item.h"

enum {
    EQUAL_FEW = 16
};

/* Compares any two values. */
bool attr_equal(const struct attr *a, const struct attr *b);
/* Compares the attributes of two items. */
bool item_equal(struct slice a, struct slice b);

/* The number of elements of a set, list or map. */
uint32_t attr_count(const struct attr *container);

/* For requests that are compared later. No defence against values that are made to collide. */
uint64_t attr_digest(const struct attr *value);
uint64_t item_digest(struct slice item);
