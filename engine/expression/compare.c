/* compare.c - compares attribute values in place. */
#include "engine/expression/compare.h"

#include <stdlib.h>

bool attr_is_ordered(enum attr_type type)
{
    return type == ATTR_STRING || type == ATTR_NUMBER || type == ATTR_BINARY;
}

int attr_compare(const struct attr *a, const struct attr *b)
{
    must(a->type == b->type);
    return slice_compare(a->body, b->body); /* the encoding of numbers keeps their order */
}

/* ---- equality ---- */

/* An element of a set or map. The key is the element's bytes in a set, its name in a map. */
struct compare_entry {
    struct slice key;
    struct attr value;
};

static bool compare_next(struct attr_cursor *c, bool set, struct compare_entry *out)
{
    if (!attr_next(c, &out->key, &out->value))
        return false;
    if (set)
        out->key = out->value.body;
    return true;
}

static int compare_entries(const void *a, const void *b)
{
    return slice_compare(((const struct compare_entry *)a)->key,
                         ((const struct compare_entry *)b)->key);
}

static uint32_t attr_count(const struct attr *container)
{
    struct attr_cursor c = attr_elements(container);
    struct slice name;
    struct attr value;
    uint32_t count = 0;
    while (attr_next(&c, &name, &value))
        count++;
    return count;
}

/* Whether the sorted entries have every entry of `a`. */
static bool compare_has_all(const struct attr *a, const struct compare_entry *sorted, size_t count)
{
    const bool set = attr_set_element(a->type) != 0;
    struct attr_cursor c = attr_elements(a);
    struct compare_entry e;
    while (compare_next(&c, set, &e)) {
        const struct compare_entry *found =
            bsearch(&e, sorted, count, sizeof *sorted, compare_entries);
        if (found == NULL || (!set && !attr_equal(&e.value, &found->value)))
            return false;
    }
    return true;
}

/* Compares two sets or maps of `count` entries each. The keys within each are distinct. */
static bool compare_unordered(const struct attr *a, const struct attr *b, uint32_t count)
{
    struct compare_entry few[COMPARE_FEW], *sorted = few;
    struct attr_cursor c = attr_elements(b);
    if (count > COMPARE_FEW)
        sorted = must_calloc(count, sizeof *sorted);
    for (uint32_t i = 0; i < count; i++)
        compare_next(&c, attr_set_element(b->type) != 0, &sorted[i]);
    qsort(sorted, count, sizeof *sorted, compare_entries);
    bool all = compare_has_all(a, sorted, count);
    if (sorted != few)
        free(sorted);
    return all;
}

static bool compare_lists(const struct attr *a, const struct attr *b)
{
    struct attr_cursor left = attr_elements(a), right = attr_elements(b);
    struct slice name;
    struct attr x, y;
    while (attr_next(&left, &name, &x)) {
        if (!attr_next(&right, &name, &y) || !attr_equal(&x, &y))
            return false;
    }
    return !attr_next(&right, &name, &y);
}

bool attr_equal(const struct attr *a, const struct attr *b)
{
    if (a->type != b->type || a->body.size != b->body.size)
        return false; /* the encodings of equal values have the same size */
    if (slice_equal(a->body, b->body))
        return true;
    if (a->type == ATTR_LIST)
        return compare_lists(a, b);
    if (a->type < ATTR_STRING_SET)
        return false;
    uint32_t count = attr_count(a);
    return count == attr_count(b) && compare_unordered(a, b, count);
}

/* ---- functions ---- */

bool attr_contains(const struct attr *whole, const struct attr *part)
{
    struct slice name;
    struct attr element;
    if (whole->type == ATTR_STRING || whole->type == ATTR_BINARY)
        return whole->type == part->type &&
               (part->body.size == 0 || memmem(whole->body.data, whole->body.size, part->body.data,
                                               part->body.size) != NULL);
    if (attr_set_element(whole->type) == 0 && whole->type != ATTR_LIST)
        return false;
    struct attr_cursor c = attr_elements(whole);
    while (attr_next(&c, &name, &element)) {
        if (attr_equal(&element, part))
            return true;
    }
    return false;
}

bool attr_begins_with(const struct attr *whole, const struct attr *start)
{
    return (whole->type == ATTR_STRING || whole->type == ATTR_BINARY) &&
           whole->type == start->type && slice_starts_with(whole->body, start->body);
}

bool attr_length(const struct attr *value, uint32_t *length)
{
    if (value->type == ATTR_STRING || value->type == ATTR_BINARY)
        *length = (uint32_t)value->body.size;
    else if (value->type >= ATTR_STRING_SET)
        *length = attr_count(value);
    else
        return false;
    return true;
}
