/* sealed_item.h - attributes from outside as an item: checksum, size and count are made good, or
 * hardly an input of a fuzzer would get past them. */
#pragma once

#include "engine/item/item.h"

/* False: the attributes are not whole. Otherwise `out` gets an item that item_is_readable accepts.
 *        */
bool sealed_item(struct slice attributes, struct buffer *out);
