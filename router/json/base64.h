/* base64.h - strict base64 of RFC 4648 section 4: padded, without white space. */
#pragma once

#include "base/buffer.h"

enum base64_error {
    BASE64_OK = 0,
    BASE64_LENGTH,    /* not a multiple of four */
    BASE64_CHARACTER, /* a character that is not of the alphabet */
    BASE64_LAST,      /* bits after the last byte are set, or a pad is not at the end */
};

/* Whether the text decodes; nothing is written. */
enum base64_error base64_check(struct slice text);

/* `text` must have passed base64_check. Returns the number of bytes written: at most 3/4 of the
 * text's size. */
size_t base64_decode(struct slice text, uint8_t *out);

void base64_append(struct buffer *out, struct slice bytes);
