/* line.c - gives places, and forgets those whose time has come. */
#include "gac/line.h"

#include <stddef.h>

static void line_drop_past(struct line *l, struct instant now)
{
    for (uint32_t i = l->count; i > 0; i--) {
        if (!instant_before(now, l->places[i - 1].at))
            l->places[i - 1] = l->places[--l->count];
    }
}

/* NULL: it has no place. */
static struct line_place *line_find(struct line *l, uint64_t request)
{
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->places[i].request == request)
            return &l->places[i];
    }
    return NULL;
}

/* Parts of one batch come again together: they need no room for newcomers between them. */
static struct duration line_step(const struct line *l, struct instant now, struct duration cost)
{
    const int64_t most_ns = LINE_MOST_S * NS_PER_S;
    if (l->given_at.ns == now.ns || cost.ns > most_ns)
        return cost;
    return (struct duration){cost.ns * LINE_PART_DENOMINATOR / LINE_PART_NUMERATOR};
}

static struct instant line_end(const struct line *l, struct instant now, struct duration least,
                               struct duration cost)
{
    const struct instant first = instant_add(now, least);
    const struct instant most = instant_add(now, (struct duration){LINE_MOST_S * NS_PER_S});
    if (!instant_before(now, l->end))
        return first;
    struct instant at = instant_earlier(instant_add(l->end, line_step(l, now, cost)), most);
    return instant_before(at, first) ? first : at;
}

struct duration line_wait(struct line *l, struct instant now, uint64_t request,
                          struct duration least, struct duration cost)
{
    line_drop_past(l, now);
    const struct instant first = instant_add(now, least);
    struct line_place *place = line_find(l, request);
    if (place != NULL)
        return instant_before(place->at, first) ? least : instant_since(place->at, now);
    const struct instant at = line_end(l, now, least, cost);
    if (instant_before(l->end, at))
        l->end = at;
    l->given_at = now;
    if (l->count < LINE_PLACES)
        l->places[l->count++] = (struct line_place){request, at};
    return instant_since(at, now);
}
