/* slice.c - checks of UTF-8. */
#include "base/slice.h"

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
