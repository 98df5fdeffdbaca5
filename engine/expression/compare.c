/* compare.c - compares attribute values in place. */
#include "engine/expression/compare.h"

bool attr_is_ordered(enum attr_type type)
{
    return type == ATTR_STRING || type == ATTR_NUMBER || type == ATTR_BINARY;
}

int attr_compare(const struct attr *a, const struct attr *b)
{
    must(a->type == b->type);
    return slice_compare(a->body, b->body); /* the encoding of numbers keeps their order */
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
