/* cell_merge.h - what adds a counter's cell to another cell of the same item.
 *
 * Every number of the cell that is no key attribute is added. Cells but that of shard 0 have
 * nothing else: the router takes only additions of numbers for them. */
#pragma once

#include "base/arena.h"
#include "engine/catalog/table.h"

/* `item`: the cell's key attributes, as an item. `update`: the additions, as a program. Both lend
 * from the arena. `cell` must have passed item_check. */
void cell_merge(const struct table *t, struct slice cell, struct arena *arena, struct slice *item,
                struct slice *update);
