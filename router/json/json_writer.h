/* json_writer.h - JSON appended to a buffer.
 *
 * A value after another needs no help: the comma between them is written here, seen from the last
 * byte in the buffer. The caller opens and closes in pairs; strings are UTF-8 already. */
#ifndef WEIR_ROUTER_JSON_JSON_WRITER_H
#define WEIR_ROUTER_JSON_JSON_WRITER_H

#include "base/buffer.h"

/* c is one of { [ */
void json_write_open(struct buffer *out, char c);
/* c is one of } ] */
void json_write_close(struct buffer *out, char c);

/* The name of the member that the next value belongs to; escaped. */
void json_write_name(struct buffer *out, struct slice name);
/* The same for a name of ours, which needs no escaping. */
void json_write_key(struct buffer *out, const char *name);

void json_write_string(struct buffer *out, struct slice text);
void json_write_text(struct buffer *out, const char *text);
void json_write_base64(struct buffer *out, struct slice bytes);
void json_write_integer(struct buffer *out, int64_t value);
void json_write_bool(struct buffer *out, bool value);
void json_write_null(struct buffer *out);
/* Thousandths as a decimal without trailing zeros: 1500 is 1.5, 2000 is 2.0 as the service says. */
void json_write_thousandths(struct buffer *out, int64_t value);

/* The same with the member's name, which is ours and needs no escaping, in front. */
static inline void json_member_open(struct buffer *out, const char *name, char c)
{
    json_write_key(out, name);
    json_write_open(out, c);
}

static inline void json_member_string(struct buffer *out, const char *name, struct slice text)
{
    json_write_key(out, name);
    json_write_string(out, text);
}

static inline void json_member_text(struct buffer *out, const char *name, const char *text)
{
    json_write_key(out, name);
    json_write_text(out, text);
}

static inline void json_member_integer(struct buffer *out, const char *name, int64_t value)
{
    json_write_key(out, name);
    json_write_integer(out, value);
}

static inline void json_member_bool(struct buffer *out, const char *name, bool value)
{
    json_write_key(out, name);
    json_write_bool(out, value);
}

static inline void json_member_thousandths(struct buffer *out, const char *name, int64_t value)
{
    json_write_key(out, name);
    json_write_thousandths(out, value);
}

/* A measured number, to the nearest thousandth. */
static inline void json_member_real(struct buffer *out, const char *name, double value)
{
    json_member_thousandths(out, name, (int64_t)(value * 1000 + (value < 0 ? -0.5 : 0.5)));
}

#endif
