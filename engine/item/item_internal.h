/* item_internal.h - the format of items, for their reader and their writer only.
 *
 *   item    u64 checksum | u32 size | u32 count | count * (name value)
 *   name    u16 length | bytes
 *   value   u8 type | body
 *   body    string, binary    u32 length | bytes
 *           number            u8 length | number_encode's bytes
 *           bool              00 or 01
 *           null              nothing
 *           set, list         u32 length | values
 *           map               u32 length | (name value)s */
#pragma once

#include "engine/item/item.h"

enum {
    ITEM_SIZE_AT = 8,
    ITEM_COUNT_AT = 12,
    ITEM_HEADER_SIZE = 16,
    /* The bytes that the service counts for a list or map, and for each of its elements. */
    ATTR_CONTAINER_SIZE = 3,
    ATTR_ELEMENT_SIZE = 1,
};

/* Adds the value's size, as the service counts, to `size`. `depth`: the lists and maps around the
 * value. False: the body is not whole, or nests too deep there. Names of a map may be the same. */
bool attr_measure(const struct attr *value, uint32_t depth, uint64_t *size);
