/* sealed_item.c - a header before attributes. */
#include "tests/support/sealed_item.h"

#include "engine/item/item_internal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

bool sealed_item(struct slice attributes, struct buffer *out)
{
    struct attr map = {ATTR_MAP, attributes};
    uint64_t size = 0;
    uint32_t count = 0;
    if (attributes.size > UINT32_MAX || !attr_measure(&map, 0, &size))
        return false;
    struct attr_cursor at = attr_elements(&map);
    struct slice name;
    struct attr value;
    while (attr_next(&at, &name, &value)) {
        if (!attr_fits(&value, 0))
            return false;
        count++;
    }
    const size_t start = out->size;
    buffer_append_u64(out, 0);
    buffer_append_u32(out, (uint32_t)size - ATTR_CONTAINER_SIZE - ATTR_ELEMENT_SIZE * count);
    buffer_append_u32(out, count);
    buffer_append_slice(out, attributes);
    uint8_t *item = out->data + start;
    const uint64_t checksum = XXH3_64bits(item + ITEM_SIZE_AT, out->size - start - ITEM_SIZE_AT);
    memcpy(item, &checksum, sizeof checksum);
    return true;
}
