/* set.h - unions and differences of sets, for the files of engine/expression only.
 *
 * Both sets have elements of the same type. Nothing is allocated, unless the second set has more
 * than ELEMENTS_FEW elements (element_table.h). */
#pragma once

#include "engine/item/item.h"
#include "engine/item/step_budget.h"

/* Writes the elements of `a`, then those of `b` that are not in `a`. */
void set_write_union(struct item_writer *w, const struct attr *a, const struct attr *b,
                     struct steps *steps);

/* Writes the elements of `a` that are not in `b`. A name whose data is not NULL is written first.
 * False: there are none, and nothing was written. */
bool set_write_difference(struct item_writer *w, struct slice name, const struct attr *a,
                          const struct attr *b, struct steps *steps);
