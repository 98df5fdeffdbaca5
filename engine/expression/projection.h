/* projection.h - projection expressions: the paths of an item that an answer shows.
 *
 *   projection := path, path, ...
 *
 * Source: DynamoDB developer guide, "Projection expressions". */
#pragma once

#include "engine/expression/expression.h"

struct projection {
    struct projection_path *paths;
    uint32_t count;
};

/* Parses the text, and marks the names that it uses. Refuses paths that overlap or conflict. The
 * result lends from the arena, from `text` and from `names`. NULL: the fault says why. */
const struct projection *projection_parse(struct slice text, struct expression_names *names,
                                          struct arena *arena, struct expression_fault *fault);

/* Whether a path leads into the attribute, such as name.a and name[0]. */
bool projection_uses(const struct projection *p, struct slice name);

/* Appends an item with only what the paths lead to. Of a list, only the elements that paths name
 * are shown, in the order of their indexes. `item` must be sound. */
void projection_append(struct buffer *out, const struct projection *projection, struct slice item);
