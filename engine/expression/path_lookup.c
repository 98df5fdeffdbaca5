/* path_lookup.c - item and sorted paths are walked together. */
#include "engine/expression/path_lookup.h"

#include <stdlib.h>

void path_lookup_init(struct path_lookup *l, uint32_t paths)
{
    l->count = 0;
    l->room = paths;
    l->all = l->few;
    l->sorted = l->few_sorted;
    if (paths <= LOOKUP_FEW)
        return;
    l->all = must_calloc(paths, sizeof *l->all);
    l->sorted = must_calloc(paths, sizeof(struct found_path *));
}

void path_lookup_deinit(struct path_lookup *l)
{
    if (l->all == l->few)
        return;
    free(l->all);
    free(l->sorted);
}

void path_lookup_add(struct path_lookup *l, struct reader *r)
{
    must(l->count < l->room);
    struct found_path *p = &l->all[l->count];
    struct path_part step;
    *p = (struct found_path){.length = program_read_u16(r)};
    p->bytes = *r;
    must(p->length > 0);
    for (uint32_t i = 0; i < p->length; i++)
        program_read_step(r, &step);
    l->sorted[l->count++] = p;
}

/* ---- order ---- */

int found_path_compare(const struct found_path *a, const struct found_path *b)
{
    struct reader in_a = a->bytes, in_b = b->bytes;
    struct path_part left, right;
    int order = 0;
    for (uint32_t i = 0; order == 0 && i < a->length && i < b->length; i++) {
        program_read_step(&in_a, &left);
        program_read_step(&in_b, &right);
        order = path_step_compare(&left, &right);
    }
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static int found_path_compare_sorted(const void *x, const void *y)
{
    return found_path_compare(*(const struct found_path *const *)x,
                              *(const struct found_path *const *)y);
}

void path_lookup_enter(struct found_path *const *sorted, uint32_t depth, uint32_t from, uint32_t to)
{
    for (; from < to; from++) {
        struct reader bytes = sorted[from]->bytes;
        must(depth < sorted[from]->length);
        for (uint32_t i = 0; i <= depth; i++)
            program_read_step(&bytes, &sorted[from]->step);
    }
}

void path_lookup_match(struct found_path *const *sorted, const struct path_part *key,
                       uint32_t *from, uint32_t *to, struct steps *steps)
{
    must(*from <= *to);
    uint32_t low = *from, high = *to;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (path_step_compare(&sorted[middle]->step, key) < 0)
            low = middle + 1;
        else
            high = middle;
        steps_take(steps, 1);
    }
    *from = low;
    while (high < *to && path_step_compare(&sorted[high]->step, key) == 0)
        high++;
    steps_take(steps, 1 + high - low);
    *to = high;
}

/* ---- looking up ---- */

/* Looks up the sorted paths [from, to), which all lead into the list, map or item. */
static void path_lookup_walk(struct path_lookup *l, struct attr_cursor c, uint32_t depth,
                             uint32_t from, uint32_t to, struct steps *steps)
{
    struct path_part at = {.indexed = !c.named};
    struct attr value;
    path_lookup_enter(l->sorted, depth, from, to);
    for (uint32_t i = from; i < to; i++)
        l->sorted[i]->open |=
            l->sorted[i]->length == depth + 1 && l->sorted[i]->step.indexed == at.indexed;
    for (; from < to && attr_next(&c, &at.name, &value); at.index += at.indexed) {
        uint32_t first = from, end = to;
        path_lookup_match(l->sorted, &at, &first, &end, steps);
        const uint32_t matched = first;
        for (; first < end && l->sorted[first]->length == depth + 1; first++)
            l->sorted[first]->found = value;
        if (first == end || value.type < ATTR_LIST)
            continue;
        path_lookup_walk(l, attr_elements(&value), depth + 1, first, end, steps);
        path_lookup_enter(l->sorted, depth, matched, end);
    }
}

void path_lookup_find(struct path_lookup *l, struct slice item, struct steps *steps)
{
    must(l->count == l->room);
    qsort(l->sorted, l->count, sizeof(struct found_path *), found_path_compare_sorted);
    path_lookup_walk(l, item_attrs(item), 0, 0, l->count, steps);
}
