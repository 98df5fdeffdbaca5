/* gzip.h - packs and unpacks whole bodies by content codings (RFC 9110 8.4.1). */
#pragma once

#include "base/buffer.h"

enum content_coding {
    CODING_IDENTITY,
    CODING_GZIP,    /* RFC 1952, one member or several */
    CODING_DEFLATE, /* RFC 1950: zlib's header and checksum around deflate */
};

/* Appends the unpacked `bytes`.
 * STATUS_TOO_LARGE: more than `size_max` bytes; a small body must not grow without bound.
 * STATUS_MALFORMED: not of that coding, cut short, or other bytes follow. */
enum status coding_unpack(struct buffer *out, enum content_coding coding, struct slice bytes,
                          size_t size_max);

/* Appends the packed `bytes`. */
void coding_pack(struct buffer *out, enum content_coding coding, struct slice bytes);
