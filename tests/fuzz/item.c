/* Items from disk or network: what item_check accepts can be read, and written again to the same
 * bytes. Checksum, size and count are made good first, or hardly an input would get past them. */
#include <stdlib.h>

#include "base/must.h"
#include "engine/item/item_internal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void copy_elements(struct item_writer *w, const struct attr *container);

static void copy_value(struct item_writer *w, const struct attr *value)
{
    struct number n;
    size_t used;
    switch (value->type) {
    case ATTR_STRING:
        item_string(w, value->body);
        break;
    case ATTR_NUMBER:
        must(number_decode(value->body, &n, &used) == STATUS_OK);
        must(used == value->body.size);
        item_number(w, &n);
        break;
    case ATTR_BINARY:
        item_binary(w, value->body);
        break;
    case ATTR_BOOL:
        item_bool(w, value->body.data[0] != 0);
        break;
    case ATTR_NULL:
        item_null(w);
        break;
    default:
        item_open(w, value->type);
        copy_elements(w, value);
        item_close(w);
    }
}

static void copy_elements(struct item_writer *w, const struct attr *container)
{
    struct attr_cursor c = attr_elements(container);
    struct slice name;
    struct attr element;
    while (attr_next(&c, &name, &element)) {
        if (container->type == ATTR_MAP)
            item_name(w, name);
        copy_value(w, &element);
    }
}

/* By its values one by one, and by item_attr. */
static void check_copies(struct slice item)
{
    struct buffer by_value = {0}, by_attr = {0};
    struct item_writer v, a;
    struct attr_cursor c = item_attrs(item);
    struct slice name;
    struct attr value, found;
    item_begin(&v, &by_value);
    item_begin(&a, &by_attr);
    while (attr_next(&c, &name, &value)) {
        must(item_find(item, name, &found));
        item_name(&v, name);
        copy_value(&v, &value);
        item_name(&a, name);
        item_attr(&a, &value);
    }
    must(item_end(&v) == item_size(item));
    must(item_end(&a) == item_size(item));
    must(slice_equal(buffer_slice(&by_value), item));
    must(slice_equal(buffer_slice(&by_attr), item));
    buffer_deinit(&by_value);
    buffer_deinit(&by_attr);
}

static void set_u32(uint8_t *at, uint64_t value)
{
    uint32_t word = (uint32_t)value;
    memcpy(at, &word, sizeof word);
}

static void seal(uint8_t *item, size_t size)
{
    uint64_t checksum = XXH3_64bits(item + ITEM_SIZE_AT, size - ITEM_SIZE_AT);
    memcpy(item, &checksum, sizeof checksum);
}

/* The input as a whole item, header and all. */
static void check_item(const uint8_t *data, size_t size)
{
    item_check(slice_make(data, size));
    if (size < ITEM_HEADER_SIZE)
        return;
    uint8_t *item = malloc(size); /* its own block, so that a read past the end is seen */
    must(item != NULL);
    memcpy(item, data, size);
    seal(item, size);
    if (item_is_readable(slice_make(item, size)))
        check_copies(slice_make(item, size));
    else
        must(item_check(slice_make(item, size)) != STATUS_OK);
    free(item);
}

/* The input as the elements of the item {m: {...}}: measured and checked alike. */
static void check_map(const uint8_t *data, size_t size)
{
    static const uint8_t name[] = {1, 0, 'm', ATTR_MAP};
    const size_t before = ITEM_HEADER_SIZE + sizeof name + sizeof(uint32_t);
    uint64_t measured = 0;
    struct attr map = {ATTR_MAP, slice_make(data, size)};
    bool whole = attr_measure(&map, 0, &measured);
    uint8_t *item = malloc(before + size);
    must(item != NULL);
    set_u32(item + ITEM_SIZE_AT, measured + 1);
    set_u32(item + ITEM_COUNT_AT, 1);
    memcpy(item + ITEM_HEADER_SIZE, name, sizeof name);
    set_u32(item + ITEM_HEADER_SIZE + sizeof name, size);
    if (size > 0)
        memcpy(item + before, data, size);
    seal(item, before + size);
    struct slice bytes = slice_make(item, before + size);
    must(item_is_readable(bytes) == whole);
    must(whole || item_check(bytes) != STATUS_OK);
    if (whole)
        check_copies(bytes);
    free(item);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_item(data, size);
    check_map(data, size);
    return 0;
}
