/* base64.c - strict base64. */
#include "router/json/base64.h"

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The six bits of a character, or -1. */
static int base64_bits_of(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static size_t base64_padding_of(struct slice text)
{
    if (text.size < 4 || text.data[text.size - 1] != '=')
        return 0;
    return text.data[text.size - 2] == '=' ? 2 : 1;
}

enum base64_error base64_check(struct slice text)
{
    if (text.size % 4 != 0)
        return BASE64_LENGTH;
    size_t padding = base64_padding_of(text);
    for (size_t i = 0; i < text.size - padding; i++) {
        if (base64_bits_of(text.data[i]) < 0)
            return text.data[i] == '=' ? BASE64_LAST : BASE64_CHARACTER;
    }
    if (padding > 0) {
        int last = base64_bits_of(text.data[text.size - padding - 1]);
        if ((last & (padding == 2 ? 15 : 3)) != 0)
            return BASE64_LAST;
    }
    return BASE64_OK;
}

size_t base64_decode(struct slice text, uint8_t *out)
{
    size_t written = 0;
    size_t characters = text.size - base64_padding_of(text);
    uint32_t bits = 0;
    for (size_t i = 0; i < characters; i++) {
        bits = bits << 6 | (uint32_t)base64_bits_of(text.data[i]);
        if (i % 4 != 0)
            out[written++] = (uint8_t)(bits >> (6 - i % 4 * 2));
    }
    return written;
}

void base64_append(struct buffer *out, struct slice bytes)
{
    size_t size = (bytes.size + 2) / 3 * 4;
    uint8_t *to = buffer_reserve(out, size);
    for (size_t i = 0; i < bytes.size; i += 3) {
        size_t left = bytes.size - i;
        uint32_t bits = (uint32_t)bytes.data[i] << 16;
        if (left > 1)
            bits |= (uint32_t)bytes.data[i + 1] << 8;
        if (left > 2)
            bits |= bytes.data[i + 2];
        *to++ = (uint8_t)ALPHABET[bits >> 18];
        *to++ = (uint8_t)ALPHABET[bits >> 12 & 63];
        *to++ = left > 1 ? (uint8_t)ALPHABET[bits >> 6 & 63] : (uint8_t)'=';
        *to++ = left > 2 ? (uint8_t)ALPHABET[bits & 63] : (uint8_t)'=';
    }
    out->size += size;
}
