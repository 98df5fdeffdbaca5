/* rich_item.h - an item with an attribute of every type, for fuzz targets and tests. */
#pragma once

#include "engine/expression/expression.h"

enum {
    RICH_VALUES = 10
};

/* Appends {s: "abc", n: 1, b: 0x0001, t: true, z: null, ss: {"x", "y"}, ns: {1, 2}, bs: {0x00},
 * l: [1, "x", {k: [1]}], m: {x: 1, s: "abc", l: [1, 2], m: {x: "deep"}}}. Numbers are 1 where not
 * said. `a`: one more attribute of that name, which must be sound; NULL: none. */
struct slice rich_item(struct buffer *out, const struct attr *a);

/* Lets :s, :n, :b .. be the values of the item's attributes. */
void rich_item_values(struct slice item, struct expression_name values[RICH_VALUES]);
