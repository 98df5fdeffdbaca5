/* subranges.h - a page's range, as if no key were sharded, cut into what is to be read where.
 *
 * A subrange has either no items of sharded keys, and is read as it is, or only items of one, and
 * is merged out of its shards. Subranges are found one after the other: there may be thousands of
 * sharded keys. A range that is read in reverse lies within one partition key. */
#pragma once

#include "router/plan/ranges.h"

/* Takes the next subrange off `rest`, and makes it the plan's ranges. */
void subranges_next(struct call *c, struct ranges_plan *p, struct plan_range *rest);

/* The plan is stale: gives `rest` back what was not taken of the subrange, and the plan the new
 * map. */
void subranges_give_back(struct call *c, struct ranges_plan *p, struct plan_range *rest);
