/* buffer.h - a growable run of bytes, and little-endian readers and writers for our own formats.
 *
 * Growing aborts when memory runs out: every buffer is bounded by a limit its owner checks first.
 */
#pragma once

#include "base/must.h"
#include "base/slice.h"
#include "base/status.h"

struct buffer {
    uint8_t *data; /* owns */
    size_t size;
    size_t capacity;
};

void buffer_deinit(struct buffer *b);

/* Makes room for `extra` more bytes. Called only if there is too little room. */
void buffer_grow(struct buffer *b, size_t extra);

/* Makes room for `extra` more bytes and returns their place. Does not change size. */
static inline uint8_t *buffer_reserve(struct buffer *b, size_t extra)
{
    if (extra > b->capacity - b->size)
        buffer_grow(b, extra);
    return b->data + b->size;
}

static inline void buffer_clear(struct buffer *b)
{
    b->size = 0;
}

static inline struct slice buffer_slice(const struct buffer *b)
{
    return slice_make(b->data, b->size);
}

static inline void buffer_append(struct buffer *b, const void *data, size_t size)
{
    if (size == 0)
        return;
    memcpy(buffer_reserve(b, size), data, size);
    b->size += size;
}

static inline void buffer_append_slice(struct buffer *b, struct slice s)
{
    buffer_append(b, s.data, s.size);
}

/* The buffer contains only these bytes from now on. They may be a part of it. */
static inline void buffer_set(struct buffer *b, struct slice s)
{
    b->size = 0;
    if (s.size > 0)
        memmove(buffer_reserve(b, s.size), s.data, s.size);
    b->size = s.size;
}

static inline void buffer_append_text(struct buffer *b, const char *text)
{
    buffer_append(b, text, strlen(text));
}

static inline void buffer_append_u8(struct buffer *b, uint8_t value)
{
    buffer_append(b, &value, sizeof value);
}

/* Little-endian, as every machine this runs on is (checked in buffer.c). */
static inline void buffer_append_u32(struct buffer *b, uint32_t value)
{
    buffer_append(b, &value, sizeof value);
}

static inline void buffer_append_u64(struct buffer *b, uint64_t value)
{
    buffer_append(b, &value, sizeof value);
}

/* u32 length, then the bytes. */
static inline void buffer_append_sized(struct buffer *b, struct slice s)
{
    buffer_append_u32(b, (uint32_t)s.size);
    buffer_append_slice(b, s);
}

void buffer_append_format(struct buffer *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends the text of a fault, and returns `status`: the function that failed returns the call. */
enum status buffer_explain(struct buffer *error, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The cheap way to append many fields: buffer_reserve makes room for all of them. Each put_
 * function writes at `at` and returns the next place. buffer_end sets the new size. Only buffer_end
 * checks the bounds. */
static inline uint8_t *put_u8(uint8_t *at, uint8_t value)
{
    *at = value;
    return at + sizeof value;
}

static inline uint8_t *put_u32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static inline uint8_t *put_u64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static inline uint8_t *put_bytes(uint8_t *at, struct slice s)
{
    if (s.size > 0)
        memcpy(at, s.data, s.size);
    return at + s.size;
}

static inline uint8_t *put_sized(uint8_t *at, struct slice s)
{
    return put_bytes(put_u32(at, (uint32_t)s.size), s);
}

static inline uint8_t *put_text(uint8_t *at, const char *text)
{
    return put_bytes(at, slice_of(text));
}

enum {
    DECIMAL_SIZE_MAX = 20
};

/* The digits of `value`, at least one. */
uint8_t *put_decimal(uint8_t *at, uint64_t value);

static inline void buffer_end(struct buffer *b, const uint8_t *at)
{
    size_t size = (size_t)(at - b->data);
    must(size >= b->size && size <= b->capacity);
    b->size = size;
}

/* For answers, where buffer_append_format is too slow. */
static inline void buffer_append_decimal(struct buffer *b, uint64_t value)
{
    buffer_end(b, put_decimal(buffer_reserve(b, DECIMAL_SIZE_MAX), value));
}

/* A reader of bytes from outside. A reader that has run short stays failed and returns zeros, so
 * that a decoder checks `failed` once, at its end. */
struct reader {
    struct slice left;
    bool failed;
};

static inline struct slice reader_take(struct reader *r, size_t size)
{
    if (r->failed || r->left.size < size) {
        r->failed = true;
        return (struct slice){NULL, 0};
    }
    struct slice taken = slice_make(r->left.data, size);
    r->left.data += size;
    r->left.size -= size;
    return taken;
}

/* The cheap way to read many fields: reader_take has checked that they are there. Each get_
 * function moves `*at` behind its field. */
static inline uint8_t get_u8(const uint8_t **at)
{
    return *(*at)++;
}

static inline uint32_t get_u32(const uint8_t **at)
{
    uint32_t value;
    memcpy(&value, *at, sizeof value);
    *at += sizeof value;
    return value;
}

static inline uint64_t get_u64(const uint8_t **at)
{
    uint64_t value;
    memcpy(&value, *at, sizeof value);
    *at += sizeof value;
    return value;
}

static inline uint8_t reader_u8(struct reader *r)
{
    struct slice s = reader_take(r, 1);
    return s.size ? s.data[0] : 0;
}

static inline uint32_t reader_u32(struct reader *r)
{
    uint32_t value = 0;
    struct slice s = reader_take(r, sizeof value);
    if (s.size)
        memcpy(&value, s.data, sizeof value);
    return value;
}

static inline uint64_t reader_u64(struct reader *r)
{
    uint64_t value = 0;
    struct slice s = reader_take(r, sizeof value);
    if (s.size)
        memcpy(&value, s.data, sizeof value);
    return value;
}

static inline struct slice reader_sized(struct reader *r)
{
    return reader_take(r, reader_u32(r));
}
