/* item_time.c - compares the time of an item with the present one. */
#include "engine/item/item_time.h"

#include <stdio.h>

#define OLDEST_S INT64_C(157680000) /* five years of 365 days */

static size_t time_encode(int64_t seconds, uint8_t out[NUMBER_ENCODED_MAX])
{
    char text[32];
    struct number n;
    const int size = snprintf(text, sizeof text, "%lld", (long long)seconds);
    must(size > 0 && number_parse(slice_make(text, (size_t)size), &n) == NUMBER_OK);
    return number_encode(&n, out);
}

void item_times_at(int64_t wall_ms, struct item_times *out)
{
    const int64_t now_s = wall_ms / 1000;
    out->oldest_size = time_encode(now_s - OLDEST_S, out->oldest);
    out->end_size = time_encode(now_s, out->end);
}

bool item_time_is_over(const struct item_times *times, struct slice item, struct slice name)
{
    struct attr time;
    return item.size > 0 && name.size > 0 && item_find(item, name, &time) &&
           time.type == ATTR_NUMBER &&
           slice_compare(time.body, slice_make(times->oldest, times->oldest_size)) >= 0 &&
           slice_compare(time.body, slice_make(times->end, times->end_size)) < 0;
}
