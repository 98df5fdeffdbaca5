/* item.c - reads items in place.
 *
 * Promises: no allocation. No byte outside the slice is read, whatever the slice holds. The
 * recursion is bounded by NESTING_MAX.
 *
 * item_check accepts exactly what item_writer.c can write, apart from the checks that item.h names
 * as not made. */
#include "engine/item/item.h"

#include "engine/item/item_internal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static const char *const TYPE_NAMES[] = {
    [ATTR_STRING] = "S",      [ATTR_NUMBER] = "N",      [ATTR_BINARY] = "B",
    [ATTR_BOOL] = "BOOL",     [ATTR_NULL] = "NULL",     [ATTR_STRING_SET] = "SS",
    [ATTR_NUMBER_SET] = "NS", [ATTR_BINARY_SET] = "BS", [ATTR_LIST] = "L",
    [ATTR_MAP] = "M",
};

const char *attr_type_name(enum attr_type type)
{
    must(type >= ATTR_STRING);
    must(type <= ATTR_MAP);
    return TYPE_NAMES[type];
}

/* Every value of every request comes by here, and most types have one letter. */
static enum attr_type type_of_letter(uint8_t letter)
{
    switch (letter) {
    case 'S':
        return ATTR_STRING;
    case 'N':
        return ATTR_NUMBER;
    case 'B':
        return ATTR_BINARY;
    case 'L':
        return ATTR_LIST;
    case 'M':
        return ATTR_MAP;
    default:
        return 0;
    }
}

enum attr_type attr_type_of(struct slice name)
{
    if (name.size == 1)
        return type_of_letter(name.data[0]);
    for (enum attr_type type = ATTR_STRING; type <= ATTR_MAP; type++) {
        if (slice_is(name, TYPE_NAMES[type]))
            return type;
    }
    return 0;
}

/* So many names of a map are compared with each other. Why a bound: they lie on the stack, and the
 * time is quadratic. */
enum {
    DUPLICATES_CHECKED_MAX = 64
};

/* Takes `size` bytes off the front. False: there are fewer. */
static inline bool item_take(struct slice *left, size_t size, struct slice *out)
{
    if (left->size < size)
        return false;
    *out = slice_make(left->data, size);
    *left = slice_make(left->data + size, left->size - size);
    return true;
}

/* Takes a little-endian length of `width` bytes, and then so many bytes. Inlined, so that the width
 * is a constant and the length a load: every walk over an item comes through here. */
static inline __attribute__((always_inline)) bool take_sized(struct slice *left, size_t width,
                                                             struct slice *out)
{
    uint32_t size = 0;
    struct slice word;
    if (!item_take(left, width, &word))
        return false;
    memcpy(&size, word.data, width);
    return item_take(left, size, out);
}

static bool take_value(struct slice *left, struct attr *out)
{
    struct slice type;
    if (!item_take(left, 1, &type))
        return false;
    out->type = type.data[0];
    switch (out->type) {
    case ATTR_NUMBER:
        return take_sized(left, 1, &out->body);
    case ATTR_BOOL:
        return item_take(left, 1, &out->body);
    case ATTR_NULL:
        return item_take(left, 0, &out->body);
    default:
        return out->type >= ATTR_STRING && out->type <= ATTR_MAP && take_sized(left, 4, &out->body);
    }
}

static uint32_t u32_at(struct slice item, size_t at)
{
    uint32_t word;
    must(item.size >= ITEM_HEADER_SIZE);
    memcpy(&word, item.data + at, sizeof word);
    return word;
}

/* ---- measuring and checking ---- */

struct measure {
    bool distinct; /* names of a map must differ */
    uint64_t size;
};

static bool measure_value(const struct attr *value, uint32_t depth, struct measure *m);

static bool measure_named(struct slice left, uint32_t depth, struct measure *m, uint32_t *count)
{
    struct slice names[DUPLICATES_CHECKED_MAX];
    for (*count = 0; left.size > 0; ++*count) {
        struct slice name;
        struct attr value;
        if (!take_sized(&left, 2, &name) || !take_value(&left, &value))
            return false;
        if (m->distinct && *count < DUPLICATES_CHECKED_MAX) {
            for (uint32_t i = 0; i < *count; i++) {
                if (slice_equal(names[i], name))
                    return false;
            }
            names[*count] = name;
        }
        m->size += name.size;
        if (!measure_value(&value, depth, m))
            return false;
    }
    return true;
}

static bool measure_unnamed(struct slice left, enum attr_type only, uint32_t depth,
                            struct measure *m, uint32_t *count)
{
    for (*count = 0; left.size > 0; ++*count) {
        struct attr value;
        if (!take_value(&left, &value) || (only != 0 && value.type != only) ||
            !measure_value(&value, depth, m))
            return false;
    }
    return true;
}

static bool measure_number(struct slice body, struct measure *m)
{
    uint32_t size;
    const bool whole = number_measure(body, &size);
    m->size += size;
    return whole;
}

static bool measure_value(const struct attr *value, uint32_t depth, struct measure *m)
{
    uint32_t count;
    switch (value->type) {
    case ATTR_STRING:
    case ATTR_BINARY:
        m->size += value->body.size;
        return true;
    case ATTR_NUMBER:
        return measure_number(value->body, m);
    case ATTR_BOOL:
        m->size += 1;
        return value->body.size == 1 && value->body.data[0] <= 1;
    case ATTR_NULL:
        m->size += 1;
        return value->body.size == 0;
    case ATTR_STRING_SET:
    case ATTR_NUMBER_SET:
    case ATTR_BINARY_SET:
        return measure_unnamed(value->body, attr_set_element(value->type), depth, m, &count);
    case ATTR_LIST:
    case ATTR_MAP:
        if (depth >= NESTING_MAX)
            return false;
        if (value->type == ATTR_LIST ? !measure_unnamed(value->body, 0, depth + 1, m, &count)
                                     : !measure_named(value->body, depth + 1, m, &count))
            return false;
        m->size += ATTR_CONTAINER_SIZE + (uint64_t)ATTR_ELEMENT_SIZE * count;
        return true;
    }
    return false;
}

bool attr_measure(const struct attr *value, uint32_t depth, uint64_t *size)
{
    struct measure m = {.distinct = false, .size = *size};
    const bool whole = measure_value(value, depth, &m);
    *size = m.size;
    return whole;
}

bool item_checksum_holds(struct slice item)
{
    if (item.size < ITEM_HEADER_SIZE)
        return false;
    uint64_t checksum;
    memcpy(&checksum, item.data, sizeof checksum);
    return checksum == XXH3_64bits(item.data + ITEM_SIZE_AT, item.size - ITEM_SIZE_AT);
}

static bool item_measures(struct slice item, bool distinct)
{
    struct measure m = {.distinct = distinct};
    uint32_t count;
    return measure_named(item_attrs(item).left, 0, &m, &count) && m.size == item_size(item) &&
           count == item_count(item);
}

enum status item_check(struct slice item)
{
    return item_checksum_holds(item) && item_measures(item, true) ? STATUS_OK : STATUS_CORRUPT;
}

bool item_is_readable(struct slice item)
{
    return item.size >= ITEM_HEADER_SIZE && item_measures(item, false);
}

bool attr_is_sound(const struct attr *value)
{
    struct measure m = {.distinct = true};
    return measure_value(value, 0, &m);
}

bool attr_fits(const struct attr *value, uint32_t depth)
{
    uint64_t size = 0;
    return attr_measure(value, depth, &size);
}

uint64_t attr_size(const struct attr *value)
{
    uint64_t size = 0;
    must(attr_measure(value, 0, &size));
    return size;
}

/* ---- reading ---- */

uint32_t item_size(struct slice item)
{
    return u32_at(item, ITEM_SIZE_AT);
}

uint32_t item_count(struct slice item)
{
    return u32_at(item, ITEM_COUNT_AT);
}

struct attr_cursor item_attrs(struct slice item)
{
    must(item.size >= ITEM_HEADER_SIZE);
    return (struct attr_cursor){
        slice_make(item.data + ITEM_HEADER_SIZE, item.size - ITEM_HEADER_SIZE), true};
}

struct attr_cursor attr_elements(const struct attr *container)
{
    must(container->type >= ATTR_STRING_SET);
    must(container->type <= ATTR_MAP);
    return (struct attr_cursor){container->body, container->type == ATTR_MAP};
}

bool attr_next(struct attr_cursor *c, struct slice *name, struct attr *value)
{
    if (c->left.size == 0)
        return false;
    *name = (struct slice){NULL, 0};
    if (c->named)
        must(take_sized(&c->left, 2, name));
    must(take_value(&c->left, value));
    return true;
}

bool attr_find(struct attr_cursor c, struct slice name, struct attr *out)
{
    struct slice found;
    while (attr_next(&c, &found, out)) {
        if (slice_equal(found, name))
            return true;
    }
    return false;
}

bool item_find(struct slice item, struct slice name, struct attr *out)
{
    return attr_find(item_attrs(item), name, out);
}
