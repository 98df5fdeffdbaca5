#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "formats on disk are little-endian");

void buffer_deinit(struct buffer *b)
{
    free(b->data);
    *b = (struct buffer){0};
}

void buffer_grow(struct buffer *b, size_t extra)
{
    size_t wanted = b->size + extra;
    must(wanted >= extra);
    size_t capacity = b->capacity < 64 ? 64 : b->capacity;
    while (capacity < wanted)
        capacity *= 2;
    uint8_t *data = realloc(b->data, capacity);
    must(data != NULL);
    b->data = data;
    b->capacity = capacity;
}

void buffer_append_decimal(struct buffer *b, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    buffer_append(b, digits + at, sizeof digits - at);
}

void buffer_append_format(struct buffer *b, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, arguments);
    must(size >= 0);
    vsnprintf((char *)buffer_reserve(b, (size_t)size + 1), (size_t)size + 1, format, again);
    b->size += (size_t)size;
    va_end(again);
    va_end(arguments);
}
