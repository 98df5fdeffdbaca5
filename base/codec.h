/* codec.h - one description of a record's bytes, for writing and for reading.
 *
 * A walk is a function that names each field of a record in the order of its bytes:
 *
 *     static void point_walk(struct codec *c, struct point *p)
 *     {
 *         codec_u32(c, &p->id);
 *         codec_i64(c, &p->height, 0, HEIGHT_MAX);
 *     }
 *
 * With `out` the walk appends the fields to the buffer and changes no field. With `in` it reads
 * them: a field outside its bounds, or bytes that end too soon, set in->failed, and every field
 * read after that is zero. So a reader checks `failed` once, after the walk, and writer and reader
 * cannot disagree. Slices that are read borrow from the bytes.
 * For frequent messages see put_u64 and get_u64 (base/buffer.h), which check once a record.
 * Source: the filters of XDR (RFC 4506 has the format, not these bytes). */
#pragma once

#include "base/buffer.h"

struct codec {
    struct buffer *out; /* the writer's buffer; or NULL */
    struct reader *in;  /* the reader; NULL for a writer */
};

static inline bool codec_reads(const struct codec *c)
{
    return c->in != NULL;
}

/* A reader fails unless `valid`. */
static inline void codec_check(struct codec *c, bool valid)
{
    if (codec_reads(c) && !valid)
        c->in->failed = true;
}

static inline bool codec_failed(const struct codec *c)
{
    return codec_reads(c) && c->in->failed;
}

static inline void codec_u8(struct codec *c, uint8_t *value)
{
    if (codec_reads(c))
        *value = reader_u8(c->in);
    else
        buffer_append_u8(c->out, *value);
}

static inline void codec_u32(struct codec *c, uint32_t *value)
{
    if (codec_reads(c))
        *value = reader_u32(c->in);
    else
        buffer_append_u32(c->out, *value);
}

static inline void codec_u64(struct codec *c, uint64_t *value)
{
    if (codec_reads(c))
        *value = reader_u64(c->in);
    else
        buffer_append_u64(c->out, *value);
}

static inline void codec_i64(struct codec *c, int64_t *value, int64_t min, int64_t max)
{
    uint64_t bits = (uint64_t)*value;
    codec_u64(c, &bits);
    *value = (int64_t)bits;
    codec_check(c, *value >= min && *value <= max);
}

/* A rate or a count, never negative. */
static inline void codec_amount(struct codec *c, int64_t *value)
{
    codec_i64(c, value, 0, INT64_MAX);
}

static inline void codec_bool(struct codec *c, bool *value)
{
    uint8_t byte = codec_reads(c) ? 0 : *value; /* a reader's value is not set yet */
    codec_u8(c, &byte);
    codec_check(c, byte <= 1);
    *value = byte != 0;
}

/* A value of an enumeration, as one byte: e->kind = (enum kind)codec_choice(c, e->kind, 1, 4). */
static inline uint8_t codec_choice(struct codec *c, unsigned value, unsigned min, unsigned max)
{
    uint8_t byte = (uint8_t)value;
    codec_u8(c, &byte);
    codec_check(c, byte >= min && byte <= max);
    return codec_failed(c) ? (uint8_t)min : byte;
}

/* A count of the following elements, as one byte. */
static inline void codec_count(struct codec *c, uint32_t *count, uint8_t min, uint8_t max)
{
    *count = codec_choice(c, *count, min, max);
}

/* u32 size, then the bytes. */
static inline void codec_sized(struct codec *c, struct slice *s, size_t size_max)
{
    if (!codec_reads(c))
        buffer_append_sized(c->out, *s);
    else
        *s = reader_sized(c->in);
    codec_check(c, s->size <= size_max);
}

/* Bytes of a known size. */
static inline void codec_bytes(struct codec *c, void *bytes, size_t size)
{
    if (!codec_reads(c)) {
        buffer_append(c->out, bytes, size);
        return;
    }
    struct slice taken = reader_take(c->in, size);
    if (taken.size > 0)
        memcpy(bytes, taken.data, size);
}

static inline enum status codec_status(const struct codec *c)
{
    return codec_failed(c) ? STATUS_MALFORMED : STATUS_OK;
}

/* For a record that must take all of the bytes. */
static inline enum status codec_end(const struct codec *c)
{
    return codec_failed(c) || c->in->left.size > 0 ? STATUS_MALFORMED : STATUS_OK;
}

/* Defines `void point_encode(struct buffer *out, const struct point *p)` for a point_walk. */
#define CODEC_ENCODE(record)                                         \
    void record##_encode(struct buffer *out, const struct record *r) \
    {                                                                \
        struct record copy = *r;                                     \
        record##_walk(&(struct codec){.out = out}, &copy);           \
    }

/* Defines `enum status point_decode(struct reader *r, struct point *out)`: reads the next
 * record. */
#define CODEC_DECODE(record)                                          \
    enum status record##_decode(struct reader *r, struct record *out) \
    {                                                                 \
        struct codec c = {.in = r};                                   \
        *out = (struct record){0};                                    \
        record##_walk(&c, out);                                       \
        return codec_status(&c);                                      \
    }

/* Defines `enum status point_decode(struct slice bytes, struct point *out)`: the record must take
 * all of the bytes. */
#define CODEC_DECODE_ALL(record)                                        \
    enum status record##_decode(struct slice bytes, struct record *out) \
    {                                                                   \
        struct codec c = {.in = &(struct reader){bytes, false}};        \
        *out = (struct record){0};                                      \
        record##_walk(&c, out);                                         \
        return codec_end(&c);                                           \
    }
