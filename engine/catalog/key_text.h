/* key_text.h - a storage key as people read it. */
#ifndef WEIR_ENGINE_CATALOG_KEY_TEXT_H
#define WEIR_ENGINE_CATALOG_KEY_TEXT_H

#include "engine/catalog/table.h"

enum {
    KEY_TEXT_PART_MAX = 64 /* bytes shown of a string, 32 of a binary value; then ".." */
};

/* Appends `id="a", n=17`: the key parts by the names and types of the table's key. A part that is
 * not whole is shown as far as it goes, and ends in "..". Bytes that are no text are shown as a
 * dot, binary values in hexadecimal. Nothing for a key that ends within its hash. */
void key_text_append(struct buffer *out, const struct table *t, struct slice key);

#endif
