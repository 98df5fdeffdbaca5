/* set.h - unions and differences of sets, for the files of engine/expression only.
 *
 * Both sets have elements of the same type. Nothing is allocated, unless the second set has more
 * than SET_FEW elements. */
#pragma once

#include "engine/item/item.h"

enum {
    SET_FEW = 16
};

/* Writes the elements of `a`, then those of `b` that are not in `a`. */
void set_write_union(struct item_writer *w, const struct attr *a, const struct attr *b);

/* Whether `b` has every element of `a`. */
bool set_has_all(const struct attr *b, const struct attr *a);
/* Writes the elements of `a` that are not in `b`. */
void set_write_difference(struct item_writer *w, const struct attr *a, const struct attr *b);
