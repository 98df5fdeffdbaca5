/* json_writer.c - appends values as JSON. */
#include "router/json/json_writer.h"

#include <math.h>

#include "router/json/base64.h"

/* How a byte is written: 0 = itself, 'u' = \u00XX, else a backslash and this character. */
static const char ESCAPES[256] = {
    ['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b',          ['\f'] = 'f', ['\n'] = 'n',
    ['\r'] = 'r', ['\t'] = 't',  [0x00 ... 0x07] = 'u', [0x0b] = 'u', [0x0e ... 0x1f] = 'u',
};

static void json_write_comma(struct buffer *out)
{
    if (out->size == 0)
        return;
    uint8_t last = out->data[out->size - 1];
    if (last != '{' && last != '[' && last != ':' && last != ',')
        buffer_append_u8(out, ',');
}

void json_write_open(struct buffer *out, char c)
{
    json_write_comma(out);
    buffer_append_u8(out, (uint8_t)c);
}

void json_write_close(struct buffer *out, char c)
{
    buffer_append_u8(out, (uint8_t)c);
}

void json_write_closes(struct buffer *out, const char *brackets)
{
    buffer_append_text(out, brackets);
}

static void json_write_escape(struct buffer *out, uint8_t byte)
{
    static const char HEX[] = "0123456789abcdef";
    if (ESCAPES[byte] == 'u') {
        char text[6] = {'\\', 'u', '0', '0', HEX[byte >> 4], HEX[byte & 15]};
        buffer_append(out, text, sizeof text);
    } else {
        char text[2] = {'\\', ESCAPES[byte]};
        buffer_append(out, text, sizeof text);
    }
}

static void json_write_quoted(struct buffer *out, struct slice text)
{
    buffer_append_u8(out, '"');
    size_t from = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (ESCAPES[text.data[i]] == 0)
            continue;
        buffer_append(out, text.data + from, i - from);
        json_write_escape(out, text.data[i]);
        from = i + 1;
    }
    if (text.size > from)
        buffer_append(out, text.data + from, text.size - from);
    buffer_append_u8(out, '"');
}

void json_write_name(struct buffer *out, struct slice name)
{
    json_write_comma(out);
    json_write_quoted(out, name);
    buffer_append_u8(out, ':');
}

void json_write_key(struct buffer *out, const char *name)
{
    json_write_comma(out);
    size_t size = strlen(name);
    uint8_t *to = buffer_reserve(out, size + 3);
    to[0] = '"';
    memcpy(to + 1, name, size);
    to[size + 1] = '"';
    to[size + 2] = ':';
    out->size += size + 3;
}

void json_write_string(struct buffer *out, struct slice text)
{
    json_write_comma(out);
    json_write_quoted(out, text);
}

void json_write_text(struct buffer *out, const char *text)
{
    json_write_string(out, slice_of(text));
}

void json_write_base64(struct buffer *out, struct slice bytes)
{
    json_write_comma(out);
    buffer_append_u8(out, '"');
    base64_append(out, bytes);
    buffer_append_u8(out, '"');
}

static uint64_t write_sign(struct buffer *out, int64_t value)
{
    if (value >= 0)
        return (uint64_t)value;
    buffer_append_u8(out, '-');
    return -(uint64_t)value;
}

void json_write_integer(struct buffer *out, int64_t value)
{
    json_write_comma(out);
    buffer_append_decimal(out, write_sign(out, value));
}

void json_write_decimal(struct buffer *out, double value)
{
    if (isnan(value)) {
        json_write_null(out);
    } else if (isinf(value)) {
        json_write_text(out, value > 0 ? "inf" : "-inf");
    } else {
        json_write_comma(out);
        buffer_append_format(out, "%.17g", value);
    }
}

void json_write_bool(struct buffer *out, bool value)
{
    json_write_comma(out);
    buffer_append_text(out, value ? "true" : "false");
}

void json_write_null(struct buffer *out)
{
    json_write_comma(out);
    buffer_append_text(out, "null");
}

void json_write_thousandths(struct buffer *out, int64_t value)
{
    json_write_comma(out);
    uint64_t magnitude = write_sign(out, value);
    buffer_append_decimal(out, magnitude / 1000);
    uint64_t rest = magnitude % 1000;
    char digits[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                      (char)('0' + rest % 10)};
    size_t size = digits[3] != '0' ? 4 : digits[2] != '0' ? 3 : 2;
    buffer_append(out, digits, size);
}
