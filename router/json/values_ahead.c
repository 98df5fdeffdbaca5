/* values_ahead.c - a list by places on the tape. */
#include "router/json/values_ahead.h"

#include <stdlib.h>

void values_ahead_deinit(struct values_ahead *a)
{
    free(a->list);
    *a = (struct values_ahead){0};
}

static void values_ahead_add(struct values_ahead *a, const struct value_ahead *value)
{
    must(a->count == 0 || a->list[a->count - 1].at < value->at); /* AHEAD-1 */
    a->list = must_grow(a->list, a->count, &a->capacity, sizeof a->list[0]);
    a->list[a->count++] = *value;
}

void values_ahead_item(struct values_ahead *a, struct buffer *out, struct arena *arena,
                       const struct json_value *map, struct fault *fault)
{
    struct value_ahead v = {.at = map->at};
    must(out == a->items);
    if (value_read_item(out, arena, map, &v.item, fault))
        values_ahead_add(a, &v);
}

void values_ahead_attr(struct values_ahead *a, struct arena *arena, const struct json_value *value,
                       struct fault *fault)
{
    struct value_ahead v = {.at = value->at};
    if (value_read_attr(arena, value, &v.value, fault))
        values_ahead_add(a, &v);
}

const struct value_ahead *values_ahead_find(const struct json_value *v)
{
    const struct values_ahead *a = v->type == JSON_ABSENT ? NULL : v->tape->ahead;
    size_t low = 0, high = a == NULL ? 0 : a->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (a->list[middle].at == v->at)
            return &a->list[middle];
        if (a->list[middle].at < v->at)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
