/* slice.c - trimmed and shown texts, their lengths, numbers, checks of UTF-8. */
#include "base/slice.h"

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

struct slice slice_trimmed(struct slice s)
{
    while (s.size > 0 && is_blank(s.data[0]))
        s = slice_make(s.data + 1, s.size - 1);
    while (s.size > 0 && is_blank(s.data[s.size - 1]))
        s.size--;
    return s;
}

int64_t slice_number(struct slice text)
{
    int64_t number = 0;
    if (text.size == 0 || text.size > 18)
        return -1;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return -1;
        number = number * 10 + (text.data[i] - '0');
    }
    return number;
}

size_t slice_utf16_length(struct slice text)
{
    size_t length = 0;
    for (size_t i = 0; i < text.size; i++)
        length += (text.data[i] & 0xc0) != 0x80 ? 1 + (size_t)(text.data[i] >= 0xf0) : 0;
    return length;
}

int slice_shown_size(struct slice text)
{
    if (text.size <= SLICE_SHOWN_MAX)
        return (int)text.size;
    size_t size = SLICE_SHOWN_MAX;
    while (size > 0 && (text.data[size] & 0xc0) == 0x80)
        size--;
    return (int)size;
}

/* Length of the well-formed sequence at p, or 0. */
static size_t sequence_length(const uint8_t *p, size_t left)
{
    uint8_t first = p[0];
    if (first < 0x80)
        return 1;
    if (first < 0xC2 || first > 0xF4)
        return 0;
    size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (left < length)
        return 0;
    uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    }
    return length;
}

bool slice_is_utf8(struct slice text)
{
    size_t at = 0;
    while (at < text.size) {
        size_t length = sequence_length(text.data + at, text.size - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}
