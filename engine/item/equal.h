/* equal.h - whether values mean the same: the order of elements counts in lists, but not in sets,
 * maps and items.
 *
 * item_check or attr_is_sound must have accepted the values.
 * Promises: the time is linear in the operands, and counted (step_budget.h). Nothing is allocated,
 * with one exception: for two sets or maps of more than ELEMENTS_FEW elements, of the same size but
 * of different bytes, a table is made (element_table.h).
 * Invariant:
 *   EQUAL-1  equal values have the same digest. */
#pragma once

#include "engine/item/item.h"
#include "engine/item/step_budget.h"

/* Compares any two values. */
bool attr_equal(const struct attr *a, const struct attr *b, struct steps *steps);
/* Compares the attributes of two items. */
bool item_equal(struct slice a, struct slice b, struct steps *steps);

/* For requests that are compared later. No defence against values that are made to collide. */
uint64_t attr_digest(const struct attr *value);
uint64_t item_digest(struct slice item);
