/* key_text.c - writes a storage key for people. */
#include "engine/catalog/key_text.h"

#include <ctype.h>

/* Does not cut inside a UTF-8 character. */
static void append_string(struct buffer *out, struct slice value)
{
    bool text = slice_is_utf8(value);
    size_t size = MIN(value.size, KEY_TEXT_PART_MAX);
    while (text && size < value.size && size > 0 && (value.data[size] & 0xC0) == 0x80)
        size--;
    buffer_append_u8(out, '"');
    for (size_t i = 0; i < size; i++) {
        uint8_t c = value.data[i];
        bool shown = isprint(c) != 0 || (c >= 0x80 && text);
        buffer_append_u8(out, shown ? c : '.');
    }
    buffer_append_text(out, size < value.size ? "..\"" : "\"");
}

static void append_binary(struct buffer *out, struct slice value)
{
    size_t size = value.size < KEY_TEXT_PART_MAX / 2 ? value.size : KEY_TEXT_PART_MAX / 2;
    buffer_append_text(out, "0x");
    for (size_t i = 0; i < size; i++)
        buffer_append_format(out, "%02x", value.data[i]);
    if (size < value.size)
        buffer_append_text(out, "..");
}

static void append_number(struct buffer *out, struct slice value)
{
    struct number n;
    size_t used;
    char text[NUMBER_TEXT_MAX];
    if (number_decode(value, &n, &used) == STATUS_OK && used == value.size)
        buffer_append(out, text, number_format(&n, text));
    else
        append_binary(out, value);
}

static void append_part(struct buffer *out, const struct key_attr *attr, struct slice value)
{
    buffer_append_format(out, "%.*s=", (int)attr->name.size, (const char *)attr->name.data);
    if (attr->type == ATTR_NUMBER)
        append_number(out, value);
    else if (attr->type == ATTR_BINARY)
        append_binary(out, value);
    else
        append_string(out, value);
}

void key_text_append(struct buffer *out, const struct table *t, struct slice key)
{
    const struct key_attr *attrs[] = {&t->partition_key, &t->sort_key};
    struct slice left = key;
    struct buffer value = {0};
    storage_key_skip_hash(&left);
    for (int i = 0; i < 2 && left.size > 0 && attrs[i]->name.size > 0; i++) {
        buffer_clear(&value);
        bool complete = storage_key_next_part(&left, &value);
        buffer_append_text(out, i > 0 ? ", " : "");
        append_part(out, attrs[i], buffer_slice(&value));
        if (!complete)
            buffer_append_text(out, "..");
    }
    buffer_deinit(&value);
}
