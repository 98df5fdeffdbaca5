/* compare.h - compares attribute values, as conditions do.
 *
 * item_check or attr_is_sound must have accepted the values.
 * Promises: the time is linear in the operands, and counted (step_budget.h). Nothing is allocated,
 * except as equal.h says. */
#pragma once

#include "engine/item/equal.h"

/* Whether values of the type have an order: S, N and B do. */
bool attr_is_ordered(enum attr_type type);
/* Compares two values of the same ordered type: < 0, 0 or > 0. */
int attr_compare(const struct attr *a, const struct attr *b);

/* Whether `part` is a part of a string or binary, or an element of a set or list. */
bool attr_contains(const struct attr *whole, const struct attr *part, struct steps *steps);

bool attr_begins_with(const struct attr *whole, const struct attr *start, struct steps *steps);

/* size(): the UTF-16 units of a string, the bytes of a binary, the elements of a set, list or map.
 * False: other types have no size. Source for UTF-16, measured by others on the service:
 * size("\u00e9\U0001d11e") is 3. */
bool attr_length(const struct attr *value, uint32_t *length, struct steps *steps);
