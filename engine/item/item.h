/* item.h - an item as bytes: written once, read in place without allocation.
 *
 * Header: u64 XXH3 checksum of all bytes after it, u32 size, u32 attribute count. Then the
 * attributes follow, each a name and a value. All of this is little-endian. A set, list or map
 * carries its length: a reader skips it in one step.
 * Size: as DynamoDB counts, the bytes of names and values (attr_measure in item.c).
 * Not here: which attributes are the key (storage_key.h), JSON (router). */
#pragma once

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

/* The type of a set's elements. 0: `type` is not a set. */
static inline enum attr_type attr_set_element(enum attr_type type)
{
    bool set = type >= ATTR_STRING_SET && type <= ATTR_BINARY_SET;
    return set ? type - ATTR_STRING_SET + ATTR_STRING : 0;
}

/* A value inside an encoded item. `body` has the bytes of a string or binary, the encoding of a
 * number (number.h), one byte of a bool, or the elements of a set, list or map. */
struct attr {
    enum attr_type type;
    struct slice body; /* borrows from the item */
};

/* "S", "SS" and so on; a static text. */
const char *attr_type_name(enum attr_type type);
/* The type with this name; 0: there is none. */
enum attr_type attr_type_of(struct slice name);

/* ---- writing ---- */

/* Appends one item to `out`. Call item_begin, then item_name and a value for each attribute, then
 * item_end. Lists and sets have values without names, maps have names and values. The caller checks
 * nesting, duplicates and limits first; a wrong call aborts (must). */
struct item_writer {
    struct buffer *out; /* borrows */
    size_t start;
    uint32_t depth;
    struct {
        size_t at; /* position of the container's length */
        uint32_t count;
        enum attr_type type;
    } open[NESTING_MAX + 2]; /* the item, NESTING_MAX lists and maps, and a set in the innermost */
    uint32_t size;           /* as DynamoDB counts, so far */
    bool named;              /* a name waits for its value */
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
/* Completes the header. The item is all bytes appended since item_begin. Returns item_size. */
uint32_t item_end(struct item_writer *w);

/* ---- reading ---- */

/* Checks checksum and structure of bytes from disk or network: STATUS_CORRUPT or STATUS_OK. The
 * readers below may then trust the bytes. Numbers are canonical, sizes and counts right, the first
 * 64 names of a map distinct. Not checked: UTF-8, duplicates in sets, ITEM_SIZE_MAX. */
enum status item_check(struct slice item);

/* Checks the structure as item_check does, but neither checksum nor duplicate names: the readers
 * below may trust the bytes. For items that a node has checked and sent. */
bool item_is_readable(struct slice item);

/* item_check for a single value, which has no checksum. */
bool attr_is_sound(const struct attr *value);

/* Whether a sound value may stand inside `depth` lists and maps. */
bool attr_fits(const struct attr *value, uint32_t depth);

/* Checks only the checksum, as every read of an item does. */
bool item_checksum_holds(struct slice item);

/* The item's size as DynamoDB counts, in bytes. */
uint32_t item_size(struct slice item);

/* The number of attributes, without nested ones. */
uint32_t item_count(struct slice item);

/* The value's size as DynamoDB counts, in bytes, without its name. */
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

/* The attribute with this name, or the element of a map. False: there is none. */
bool attr_find(struct attr_cursor c, struct slice name, struct attr *out);
bool item_find(struct slice item, struct slice name, struct attr *out);
