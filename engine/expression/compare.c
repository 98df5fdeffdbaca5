/* compare.c - compares attribute values in place. */
#include "engine/expression/compare.h"

#include "engine/item/element_table.h"

bool attr_is_ordered(enum attr_type type)
{
    return type == ATTR_STRING || type == ATTR_NUMBER || type == ATTR_BINARY;
}

int attr_compare(const struct attr *a, const struct attr *b)
{
    must(a->type == b->type);
    must(attr_is_ordered(a->type));
    return slice_compare(a->body, b->body); /* the encoding of numbers keeps their order */
}

/* ---- functions ---- */

enum {
    SEARCH_SHORT_MAX = 256 /* memmem is linear for longer parts only */
};

/* Source: Knuth, Morris, Pratt, "Fast pattern matching in strings", 1977. */
static bool search_short(struct slice whole, struct slice part)
{
    uint16_t border[SEARCH_SHORT_MAX]; /* of the first i + 1 bytes: the longest start that is also
                                          their end */
    size_t matched = 0;
    must(part.size > 0);
    must(part.size <= SEARCH_SHORT_MAX);
    border[0] = 0;
    for (size_t i = 1; i < part.size; i++) {
        while (matched > 0 && part.data[i] != part.data[matched])
            matched = border[matched - 1];
        matched += part.data[i] == part.data[matched];
        border[i] = (uint16_t)matched;
    }
    matched = 0;
    for (size_t i = 0; i < whole.size; i++) {
        while (matched > 0 && whole.data[i] != part.data[matched])
            matched = border[matched - 1];
        matched += whole.data[i] == part.data[matched];
        if (matched == part.size)
            return true;
    }
    return false;
}

static bool bytes_contain(struct slice whole, struct slice part, struct steps *steps)
{
    if (part.size == 0 || part.size > whole.size)
        return part.size == 0;
    steps_take_bytes(steps, whole.size, STEPS_SEARCHED_BYTES);
    return part.size <= SEARCH_SHORT_MAX
               ? search_short(whole, part)
               : memmem(whole.data, whole.size, part.data, part.size) != NULL;
}

bool attr_contains(const struct attr *whole, const struct attr *part, struct steps *steps)
{
    struct slice name;
    struct attr element;
    if (whole->type == ATTR_STRING || whole->type == ATTR_BINARY)
        return whole->type == part->type && bytes_contain(whole->body, part->body, steps);
    if (attr_set_element(whole->type) == 0 && whole->type != ATTR_LIST)
        return false;
    for (struct attr_cursor c = attr_elements(whole); attr_next(&c, &name, &element);) {
        if (attr_equal(&element, part, steps))
            return true;
    }
    return false;
}

bool attr_begins_with(const struct attr *whole, const struct attr *start, struct steps *steps)
{
    if ((whole->type != ATTR_STRING && whole->type != ATTR_BINARY) || whole->type != start->type)
        return false;
    steps_take_bytes(steps, start->body.size, STEPS_COMPARED_BYTES);
    return slice_starts_with(whole->body, start->body);
}

bool attr_length(const struct attr *value, uint32_t *length, struct steps *steps)
{
    if (value->type < ATTR_STRING_SET)
        steps_take_bytes(steps, value->body.size, STEPS_COUNTED_BYTES);
    if (value->type == ATTR_STRING)
        *length = (uint32_t)slice_utf16_length(value->body);
    else if (value->type == ATTR_BINARY)
        *length = (uint32_t)value->body.size;
    else if (value->type >= ATTR_STRING_SET)
        *length = attr_count(value, steps);
    else
        return false;
    return true;
}
