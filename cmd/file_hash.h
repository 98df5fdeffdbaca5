/* file_hash.h - the SHA-256 of a file or a text, by OpenSSL: FIPS 180-4. */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"

enum {
    FILE_HASH_TEXT_SIZE = 65 /* hexadecimal, with a NUL */
};

/* False: the file cannot be read, or is no regular file, which might have no end; `error` gets one
 * line. */
bool file_hash(const char *path, char out[FILE_HASH_TEXT_SIZE], struct buffer *error);

void text_hash(struct slice text, char out[FILE_HASH_TEXT_SIZE]);
