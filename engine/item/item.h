/* item.h - an item as bytes: written once, read in place without allocation.
 *
 * Header: u64 XXH3 checksum of all that follows, u32 DynamoDB size, u32 attribute count; then the
 * attributes, each a name and a value. All of it little-endian; a nested value carries its length,
 * so that a reader skips it in one step.
 * Size: as DynamoDB counts it: name bytes + value bytes, see docs/architecture.md.
 * Not here: which attributes are the key (storage_key.h), JSON (router). */
#ifndef WEIR_ENGINE_ITEM_ITEM_H
#define WEIR_ENGINE_ITEM_ITEM_H

#include "base/buffer.h"
#include "base/limits.h"
#include "engine/item/number.h"

enum attr_type {
    ATTR_STRING = 1,
    ATTR_NUMBER,
    ATTR_BINARY,
    ATTR_BOOL,
    ATTR_NULL,
    ATTR_STRING_SET,
    ATTR_NUMBER_SET,
    ATTR_BINARY_SET,
    ATTR_LIST,
    ATTR_MAP,
};

/* A value inside an encoded item. body: the bytes of a string or binary; the encoding of a number
 * (number_decode); one byte of a bool; the elements of a set, list or map. */
struct attr {
    enum attr_type type;
    struct slice body; /* borrows from the item */
};

/* "S", "SS", ..: static. */
const char *attr_type_name(enum attr_type type);
/* The reverse; 0 for anything else. */
enum attr_type attr_type_of(struct slice name);

/* ---- writing ---- */

/* Appends one item to `out`. Calls must come in order: item_begin; per attribute item_name and a
 * value; item_end. Lists and sets hold values without names, maps hold names and values. The caller
 * checks nesting, duplicates and limits first; misuse is a must(). */
struct item_writer {
    struct buffer *out; /* borrows */
    size_t start;
    uint32_t depth;
    struct {
        size_t at; /* where the container's length stands */
        uint32_t count;
        enum attr_type type;
    } open[NESTING_MAX + 2]; /* the item, NESTING_MAX lists and maps, a set in the innermost */
    uint32_t size;
    bool named; /* a name waits for its value */
};

void item_begin(struct item_writer *w, struct buffer *out);
void item_name(struct item_writer *w, struct slice name);
void item_string(struct item_writer *w, struct slice text);
void item_number(struct item_writer *w, const struct number *n);
void item_binary(struct item_writer *w, struct slice bytes);
void item_bool(struct item_writer *w, bool value);
void item_null(struct item_writer *w);
void item_open(struct item_writer *w, enum attr_type container);
void item_close(struct item_writer *w);
/* Copies a value of another item. */
void item_attr(struct item_writer *w, const struct attr *value);
/* Completes the header; the item is the bytes appended since item_begin. Returns item_size. */
uint32_t item_end(struct item_writer *w);

/* ---- reading ---- */

/* Checksum and structure of bytes from disk or network: STATUS_CORRUPT or STATUS_OK.
 * Every reader below may then trust the bytes. Numbers are canonical, sizes and counts true, the
 * first 64 names of a map distinct. Not looked at: UTF-8, duplicates in sets, ITEM_SIZE_MAX. */
enum status item_check(struct slice item);

/* The same of one value that stands alone: whether its bytes are what a writer writes. */
bool attr_is_sound(const struct attr *value);

/* Only the checksum: what a read verifies on its way. */
bool item_checksum_holds(struct slice item);

/* DynamoDB's size in bytes. */
uint32_t item_size(struct slice item);

/* Attributes at the top. */
uint32_t item_count(struct slice item);

/* DynamoDB's size of a value, without its name. */
uint64_t attr_size(const struct attr *value);

/* Steps through the attributes of an item, or the elements of a container. */
struct attr_cursor {
    struct slice left;
    bool named;
};

struct attr_cursor item_attrs(struct slice item);
struct attr_cursor attr_elements(const struct attr *container);
/* False at the end. `name` is empty in lists and sets. */
bool attr_next(struct attr_cursor *c, struct slice *name, struct attr *value);

bool item_find(struct slice item, struct slice name, struct attr *out);

#endif
