/* gzip.h - whole bodies in and out of gzip. */
#ifndef WEIR_ROUTER_GZIP_H
#define WEIR_ROUTER_GZIP_H

#include "base/buffer.h"

/* Appends what `bytes` unpack to. STATUS_TOO_LARGE: more than `size_max` bytes, so that a small
 * body cannot grow without bound; STATUS_MALFORMED: not gzip, cut short, or followed by something
 * else. */
enum status gzip_unpack(struct buffer *out, struct slice bytes, size_t size_max);

/* Appends `bytes` packed. */
void gzip_pack(struct buffer *out, struct slice bytes);

#endif
