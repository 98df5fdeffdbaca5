/* big_endian.h - numbers as bytes whose order is the order of the numbers: for keys. */
#pragma once

#include "base/buffer.h"

static inline uint32_t be32_get(const uint8_t *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return __builtin_bswap32(value);
}

static inline uint64_t be64_get(const uint8_t *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return __builtin_bswap64(value);
}

/* Each returns the place of the next byte. */
static inline uint8_t *be32_put(uint8_t *to, uint32_t value)
{
    return put_u32(to, __builtin_bswap32(value));
}

static inline uint8_t *be64_put(uint8_t *to, uint64_t value)
{
    return put_u64(to, __builtin_bswap64(value));
}

static inline void buffer_append_be32(struct buffer *b, uint32_t value)
{
    buffer_append_u32(b, __builtin_bswap32(value));
}

static inline void buffer_append_be64(struct buffer *b, uint64_t value)
{
    buffer_append_u64(b, __builtin_bswap64(value));
}
