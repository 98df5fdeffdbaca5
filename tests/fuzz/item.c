/* Items from disk or network: what item_check accepts can be read, and written again to the same
 * bytes. The checksum is made good first, or no input would get past it. */
#include <stdlib.h>

#include "base/must.h"
#include "engine/item/item.h"

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

/* Size and count follow from the attributes; the fuzzer gets both for nothing, too. */
static bool make_good(uint8_t *item, size_t size, uint32_t bytes, uint32_t count)
{
    memcpy(item + 8, &bytes, sizeof bytes);
    memcpy(item + 12, &count, sizeof count);
    uint64_t checksum = XXH3_64bits(item + 8, size - 8);
    memcpy(item, &checksum, sizeof checksum);
    return item_check(slice_make(item, size)) == STATUS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    item_check(slice_make(data, size));
    if (size < 16)
        return 0;
    uint32_t header[2];
    memcpy(header, data + 8, sizeof header);
    uint8_t *item = malloc(size); /* its own block, so that a read past the end is seen */
    must(item != NULL);
    memcpy(item, data, size);
    if (make_good(item, size, header[0], header[1]))
        check_copies(slice_make(item, size));
    free(item);
    return 0;
}
