/* base64.h - base64 as RFC 4648 section 4 has it, strictly: padded, no white space. */
#ifndef WEIR_ROUTER_JSON_BASE64_H
#define WEIR_ROUTER_JSON_BASE64_H

#include "base/buffer.h"

enum base64_error {
    BASE64_OK = 0,
    BASE64_LENGTH,    /* not a multiple of four */
    BASE64_CHARACTER, /* one that is not of the alphabet */
    BASE64_LAST,      /* bits beyond the last byte are set, or a pad is not at the end */
};

/* Whether the text decodes; nothing is written. */
enum base64_error base64_check(struct slice text);

/* `text` passed base64_check. Returns the bytes written: at most 3/4 of the text. */
size_t base64_decode(struct slice text, uint8_t *out);

void base64_append(struct buffer *out, struct slice bytes);

#endif
