/* equal.c - compares attribute values in place, by their meaning. */
#include "engine/item/equal.h"

#include <xxhash.h>

#include "engine/item/element_table.h"

/* Compares two sets or maps. The keys within each are distinct. */
static bool equal_unordered(const struct attr *a, const struct attr *b, struct steps *steps)
{
    if (attr_count(a, steps) != attr_count(b, steps))
        return false;
    struct element_table in_b;
    struct element e;
    bool all = true;
    element_table_init(&in_b, b, steps);
    for (struct attr_cursor c = attr_elements(a); all && element_next(&c, &e);) {
        const struct element *other = element_table_find(&in_b, e.key, steps);
        all = other != NULL && (!c.named || attr_equal(&e.value, &other->value, steps));
    }
    element_table_deinit(&in_b);
    return all;
}

static bool equal_lists(const struct attr *a, const struct attr *b, struct steps *steps)
{
    struct attr_cursor left = attr_elements(a), right = attr_elements(b);
    struct slice name;
    struct attr x, y;
    while (attr_next(&left, &name, &x)) {
        if (!attr_next(&right, &name, &y) || !attr_equal(&x, &y, steps))
            return false;
    }
    return !attr_next(&right, &name, &y);
}

bool attr_equal(const struct attr *a, const struct attr *b, struct steps *steps)
{
    steps_take(steps, 1);
    if (a->type != b->type || a->body.size != b->body.size)
        return false; /* the encodings of equal values have the same size */
    steps_take_bytes(steps, a->body.size, STEPS_COMPARED_BYTES);
    if (slice_equal(a->body, b->body))
        return true;
    if (a->type == ATTR_LIST)
        return equal_lists(a, b, steps);
    return a->type >= ATTR_STRING_SET && equal_unordered(a, b, steps);
}

bool item_equal(struct slice a, struct slice b, struct steps *steps)
{
    const struct attr left = {ATTR_MAP, item_attrs(a).left}, right = {ATTR_MAP, item_attrs(b).left};
    return attr_equal(&left, &right, steps);
}

/* ---- digests ---- */

/* The digest of a list depends on the order of its elements. That of a set or map is a sum. */
static uint64_t digest_elements(struct attr_cursor c, bool ordered)
{
    struct slice name;
    struct attr value;
    uint64_t digest = 0;
    while (attr_next(&c, &name, &value)) {
        const uint64_t element = XXH3_64bits_withSeed(name.data, name.size, attr_digest(&value));
        digest = ordered ? XXH3_64bits_withSeed(&digest, sizeof digest, element) : digest + element;
    }
    return digest;
}

uint64_t attr_digest(const struct attr *value)
{
    uint64_t elements;
    struct slice body = value->body;
    if (value->type >= ATTR_STRING_SET) {
        elements = digest_elements(attr_elements(value), value->type == ATTR_LIST);
        body = slice_make((const uint8_t *)&elements, sizeof elements);
    }
    return XXH3_64bits_withSeed(body.data, body.size, (uint64_t)value->type);
}

uint64_t item_digest(struct slice item)
{
    return digest_elements(item_attrs(item), false);
}
