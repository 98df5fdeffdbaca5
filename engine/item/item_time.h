/* item_time.h - whether the time of an item is over.
 *
 * The time is a Number of seconds since 1970 in an attribute of the item. An item whose attribute
 * is absent, or of another type, has no time. As with the service, a time that is older than five
 * years does not count: it is taken for a mistake.
 *
 * Promises: no clock, no floating point: numbers are compared by their encodings. */
#pragma once

#include "engine/item/item.h"

/* The times that are over at a moment: from `oldest` up to, but not including, `end`. */
struct item_times {
    uint8_t oldest[NUMBER_ENCODED_MAX];
    uint8_t end[NUMBER_ENCODED_MAX];
    size_t oldest_size;
    size_t end_size;
};

/* `wall_ms`: milliseconds since 1970. */
void item_times_at(int64_t wall_ms, struct item_times *out);
/* The item must be sound (item_check). An empty name, or an empty item: false. */
bool item_time_is_over(const struct item_times *times, struct slice item, struct slice name);
