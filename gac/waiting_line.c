/* waiting_line.c - gives places, and forgets those whose time has come. */
#include "gac/waiting_line.h"

#include <stddef.h>

#include "base/must.h"

static void waiting_line_drop_past(struct waiting_line *l, struct instant now)
{
    for (uint32_t i = l->count; i > 0; i--) {
        if (!instant_before(now, l->places[i - 1].at))
            l->places[i - 1] = l->places[--l->count];
    }
}

/* NULL: it has no place. */
static struct waiting_line_place *waiting_line_find(struct waiting_line *l, uint64_t request)
{
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->places[i].request == request)
            return &l->places[i];
    }
    return NULL;
}

/* Parts of one batch come again together: they need no room for newcomers between them. */
static struct duration waiting_line_step(const struct waiting_line *l, struct instant now,
                                         struct duration cost)
{
    const int64_t ns_max = WAITING_LINE_MAX_S * NS_PER_S;
    if (l->given_at.ns == now.ns || cost.ns > ns_max)
        return cost;
    return (struct duration){cost.ns * WAITING_LINE_PART_DENOMINATOR / WAITING_LINE_PART_NUMERATOR};
}

static struct instant waiting_line_end(const struct waiting_line *l, struct instant now,
                                       struct duration min, struct duration cost)
{
    const struct instant first = instant_add(now, min);
    const struct instant max = instant_add(now, (struct duration){WAITING_LINE_MAX_S * NS_PER_S});
    if (!instant_before(now, l->end))
        return first;
    struct instant at = instant_earlier(instant_add(l->end, waiting_line_step(l, now, cost)), max);
    return instant_before(at, first) ? first : at;
}

struct duration waiting_line_wait(struct waiting_line *l, struct instant now, uint64_t request,
                                  struct duration min, struct duration cost)
{
    must_in_tests(min.ns >= 0 && cost.ns >= 0);
    waiting_line_drop_past(l, now);
    const struct instant first = instant_add(now, min);
    struct waiting_line_place *place = waiting_line_find(l, request);
    if (place != NULL)
        return instant_before(place->at, first) ? min : instant_since(place->at, now);
    const struct instant at = waiting_line_end(l, now, min, cost);
    must_in_tests(!instant_before(at, first)); /* LINE-1 */
    must_in_tests(at.ns == first.ns ||
                  at.ns - now.ns <= WAITING_LINE_MAX_S * NS_PER_S); /* LINE-3 */
    if (instant_before(l->end, at))
        l->end = at;
    l->given_at = now;
    if (l->count < WAITING_LINE_PLACES)
        l->places[l->count++] = (struct waiting_line_place){request, at};
    return instant_since(at, now);
}
