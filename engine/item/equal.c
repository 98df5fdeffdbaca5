/* equal.c - compares attribute values in place, by their meaning. */
#include "engine/item/equal.h"

#include <stdlib.h>
#include <xxhash.h>

/* An element of a set or map. The key is the element's bytes in a set, its name in a map. */
struct equal_entry {
    struct slice key;
    struct attr value;
};

static bool equal_next(struct attr_cursor *c, bool set, struct equal_entry *out)
{
    if (!attr_next(c, &out->key, &out->value))
        return false;
    if (set)
        out->key = out->value.body;
    return true;
}

static int equal_entries(const void *a, const void *b)
{
    return slice_compare(((const struct equal_entry *)a)->key,
                         ((const struct equal_entry *)b)->key);
}

uint32_t attr_count(const struct attr *container)
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
static bool equal_has_all(const struct attr *a, const struct equal_entry *sorted, size_t count)
{
    const bool set = attr_set_element(a->type) != 0;
    struct attr_cursor c = attr_elements(a);
    struct equal_entry e;
    while (equal_next(&c, set, &e)) {
        const struct equal_entry *found = bsearch(&e, sorted, count, sizeof *sorted, equal_entries);
        if (found == NULL || (!set && !attr_equal(&e.value, &found->value)))
            return false;
    }
    return true;
}

/* Compares two sets or maps of `count` entries each. The keys within each are distinct. */
static bool equal_unordered(const struct attr *a, const struct attr *b, uint32_t count)
{
    struct equal_entry few[EQUAL_FEW], *sorted = few;
    struct attr_cursor c = attr_elements(b);
    if (count > EQUAL_FEW)
        sorted = must_calloc(count, sizeof *sorted);
    for (uint32_t i = 0; i < count; i++)
        equal_next(&c, attr_set_element(b->type) != 0, &sorted[i]);
    qsort(sorted, count, sizeof *sorted, equal_entries);
    bool all = equal_has_all(a, sorted, count);
    if (sorted != few)
        free(sorted);
    return all;
}

static bool equal_lists(const struct attr *a, const struct attr *b)
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
        return equal_lists(a, b);
    if (a->type < ATTR_STRING_SET)
        return false;
    uint32_t count = attr_count(a);
    return count == attr_count(b) && equal_unordered(a, b, count);
}

bool item_equal(struct slice a, struct slice b)
{
    struct attr_cursor c = item_attrs(a);
    struct slice name;
    struct attr value, other;
    if (slice_equal(a, b))
        return true;
    if (item_count(a) != item_count(b))
        return false;
    while (attr_next(&c, &name, &value)) {
        if (!item_find(b, name, &other) || !attr_equal(&value, &other))
            return false;
    }
    return true;
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
