/* buffer.c - growth, formats and decimal numbers. */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "formats on disk are little-endian");

void buffer_deinit(struct buffer *b)
{
    if (b->data != NULL) /* most buffers are empty, and jemalloc is slow to free NULL */
        free(b->data);
    *b = (struct buffer){0};
}

void buffer_grow(struct buffer *b, size_t extra)
{
    size_t needed = b->size + extra;
    must(needed >= extra);
    size_t capacity = MAX(b->capacity, 64);
    while (capacity < needed)
        capacity *= 2;
    uint8_t *data = realloc(b->data, capacity);
    must(data != NULL);
    b->data = data;
    b->capacity = capacity;
}

uint8_t *put_decimal(uint8_t *at, uint64_t value)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930"
                                "31323334353637383940414243444546474849505152535455565758596061"
                                "62636465666768697071727374757677787980818283848586878889909192"
                                "93949596979899";
    uint8_t digits[DECIMAL_SIZE_MAX], *first = digits + sizeof digits;
    for (; value >= 10; value /= 100) {
        first -= 2;
        memcpy(first, pairs + value % 100 * 2, 2);
    }
    /* The first digit if their count is odd; or the 0 of the value 0. */
    if (value > 0 || first == digits + sizeof digits)
        *--first = (uint8_t)('0' + value);
    return put_bytes(at, slice_make(first, (size_t)(digits + sizeof digits - first)));
}

static void append_arguments(struct buffer *b, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, arguments);
    must(size >= 0);
    vsnprintf((char *)buffer_reserve(b, (size_t)size + 1), (size_t)size + 1, format, again);
    b->size += (size_t)size;
    va_end(again);
}

void buffer_append_format(struct buffer *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append_arguments(b, format, arguments);
    va_end(arguments);
}

enum status buffer_explain(struct buffer *error, enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append_arguments(error, format, arguments);
    va_end(arguments);
    return status;
}
