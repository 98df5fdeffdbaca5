/* slice.h - borrowed bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The smaller and the larger of two values of one type; each is evaluated twice. */
#define MIN(a, b) ((b) < (a) ? (b) : (a))
#define MAX(a, b) ((a) < (b) ? (b) : (a))

struct slice {
    const uint8_t *data; /* borrows */
    size_t size;         /* bytes */
};

static inline struct slice slice_make(const void *data, size_t size)
{
    return (struct slice){(const uint8_t *)data, size};
}

static inline struct slice slice_of(const char *text)
{
    return (struct slice){(const uint8_t *)text, strlen(text)};
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool slice_is(struct slice a, const char *text)
{
    if (a.size > 0 && a.data[0] != (uint8_t)text[0])
        return false; /* most pairs differ here */
    return slice_equal(a, slice_of(text));
}

static inline bool slice_starts_with(struct slice a, struct slice prefix)
{
    return a.size >= prefix.size && (prefix.size == 0 || !memcmp(a.data, prefix.data, prefix.size));
}

/* Byte order; a prefix comes first. < 0, 0 or > 0. */
static inline int slice_compare(struct slice a, struct slice b)
{
    size_t common = MIN(a.size, b.size);
    int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
    if (order != 0)
        return order;
    return a.size < b.size ? -1 : a.size > b.size;
}

/* slice_compare for qsort. */
static inline int slice_compare_at(const void *a, const void *b)
{
    return slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

/* The first eight bytes as a number, padded with zeros. Slices with different heads compare as
 * their heads do. */
static inline uint64_t slice_head(struct slice s)
{
    uint64_t head = 0;
    memcpy(&head, s.data, s.size < sizeof head ? s.size : sizeof head);
    return __builtin_bswap64(head);
}

/* The part before the first `byte`; `rest` moves behind that byte. Without one, the part is all of
 * `rest`, which becomes empty. */
static inline struct slice slice_cut(struct slice *rest, uint8_t byte)
{
    struct slice part = *rest;
    const void *found = part.size == 0 ? NULL : memchr(part.data, byte, part.size);
    const uint8_t *at = (const uint8_t *)found;
    if (at != NULL)
        part.size = (size_t)(at - part.data);
    *rest = at == NULL ? slice_make(NULL, 0) : slice_make(at + 1, rest->size - part.size - 1);
    return part;
}

/* Some editors begin a file of UTF-8 with this character. */
#define SLICE_BYTE_ORDER_MARK "\xef\xbb\xbf"

/* The slice without blanks, tabs and carriage returns at its ends. */
struct slice slice_trimmed(struct slice s);

/* The number that 1 to 18 digits make; -1: the text is no such number. */
int64_t slice_number(struct slice text);

/* Marks a parameter that a function takes and does not read. */
#define UNUSED __attribute__((unused))

/* The elements of an array. */
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Binary search: moves `low` to the first place below `high` for which `before`, a condition on
 * `middle`, does not hold, or to `high`. It holds for all places before that one. */
#define LOWER_BOUND(low, high, middle, before)                   \
    while ((low) < (high)) {                                     \
        const typeof(low) middle = (low) + ((high) - (low)) / 2; \
        if (before)                                              \
            (low) = middle + 1;                                  \
        else                                                     \
            (high) = middle;                                     \
    }

/* The two arguments of "%.*s" for a slice or a buffer. */
#define TEXT_OF(s) (int)(s).size, (const char *)(s).data

/* The length of UTF-8 in UTF-16 units, as Java and JavaScript count. */
size_t slice_utf16_length(struct slice text);

/* SHOWN: the two arguments of "%.*s" for a UTF-8 text in a message. A text above SLICE_SHOWN_MAX
 * bytes is cut between two characters. */
enum {
    SLICE_SHOWN_MAX = 2048
};
int slice_shown_size(struct slice text);
#define SHOWN(s) slice_shown_size(s), (const char *)(s).data

/* Whether the bytes are well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates). */
bool slice_is_utf8(struct slice text);
