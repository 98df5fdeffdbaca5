/* key_text.h - writes a storage key for people. */
#pragma once

#include "engine/catalog/table.h"

enum {
    KEY_TEXT_PART_MAX = 64 /* most bytes shown of a string; of a binary value 32; then ".." */
};

/* Appends `id="a", n=17`: the key's parts, by the names and types of the table's key. An incomplete
 * part is shown up to its end, then "..". A byte that is not text is shown as a dot. Binary values
 * are in hexadecimal. Appends nothing for a key that ends inside its hash. */
void key_text_append(struct buffer *out, const struct table *t, struct slice key);
