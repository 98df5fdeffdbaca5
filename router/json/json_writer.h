/* json_writer.h - appends JSON to a buffer.
 *
 * These functions write the commas: the last byte in the buffer tells whether a comma is needed.
 * The caller opens and closes in pairs, and gives strings that are valid UTF-8. */
#pragma once

#include "base/buffer.h"

/* c is one of { [ */
void json_write_open(struct buffer *out, char c);
/* c is one of } ] */
void json_write_close(struct buffer *out, char c);
/* Closes several, the innermost first: "]}". */
void json_write_closes(struct buffer *out, const char *brackets);

/* Writes the name of a member, escaped. The next value is the member's value. */
void json_write_name(struct buffer *out, struct slice name);
/* The same for a name of ours, which needs no escaping. */
void json_write_key(struct buffer *out, const char *name);

void json_write_string(struct buffer *out, struct slice text);
void json_write_text(struct buffer *out, const char *text);
void json_write_base64(struct buffer *out, struct slice bytes);
void json_write_integer(struct buffer *out, int64_t value);
/* So many digits that the same number is read back. What is no number becomes null; what is
 * infinite, the text "inf" or "-inf". */
void json_write_decimal(struct buffer *out, double value);
void json_write_bool(struct buffer *out, bool value);
void json_write_null(struct buffer *out);
/* Writes thousandths as a decimal with one to three digits after the point, as the service does:
 * 1500 is 1.5, 2000 is 2.0. */
void json_write_thousandths(struct buffer *out, int64_t value);

/* json_member_*: json_write_key with the name, then json_write_* with the value. */
#define JSON_MEMBER(kind, type)                                                             \
    static inline void json_member_##kind(struct buffer *out, const char *name, type value) \
    {                                                                                       \
        json_write_key(out, name);                                                          \
        json_write_##kind(out, value);                                                      \
    }
JSON_MEMBER(open, char)
JSON_MEMBER(string, struct slice)
JSON_MEMBER(text, const char *)
JSON_MEMBER(integer, int64_t)
JSON_MEMBER(bool, bool)
JSON_MEMBER(thousandths, int64_t)
JSON_MEMBER(decimal, double)
#undef JSON_MEMBER

/* Opens an object whose first member is a list or an object: c is one of { [ */
static inline void json_write_open_with(struct buffer *out, const char *name, char c)
{
    json_write_open(out, '{');
    json_member_open(out, name, c);
}

/* Rounds to the nearest thousandth. */
static inline void json_member_real(struct buffer *out, const char *name, double value)
{
    json_member_thousandths(out, name, (int64_t)(value * 1000 + (value < 0 ? -0.5 : 0.5)));
}
