/* digest.h - digests of expressions: equal trees with equal values (engine/item/equal.h) have the
 * same digest, whatever the names and the order of the values in the request were. */
#pragma once

#include "engine/expression/condition.h"
#include "engine/expression/update.h"

/* NULL: there is no expression. */
uint64_t condition_digest(const struct condition *c);
uint64_t update_digest(const struct update *u);
