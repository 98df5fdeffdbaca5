/* item_writer.c - writes items in the format of item_internal.h.
 *
 * Promises: written items pass item_check. If item_check accepts an item, writing its attributes
 * gives the same bytes again.
 *
 * Invariants:
 *   ITEM-1  open[0] is the item; open[depth] is the innermost container.
 *   ITEM-2  in a map, names and values alternate, beginning with a name. */
#include "engine/item/item_internal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Whether open[0] is a map, and each container begins inside the one before it. */
static bool writer_is_nested(const struct item_writer *w)
{
    bool nested = w->open[0].type == ATTR_MAP && w->depth < COUNT_OF(w->open);
    for (uint32_t i = 1; nested && i <= w->depth; i++)
        nested = w->open[i].at > (i > 1 ? w->open[i - 1].at : w->start) &&
                 w->open[i].at + sizeof(uint32_t) <= w->out->size;
    return nested;
}

static void size_add(struct item_writer *w, size_t bytes)
{
    must(bytes <= UINT32_MAX - w->size);
    w->size += (uint32_t)bytes;
}

static void set_u32(struct item_writer *w, size_t at, size_t value)
{
    must(value <= UINT32_MAX);
    uint32_t word = (uint32_t)value;
    memcpy(w->out->data + at, &word, sizeof word);
}

void item_begin(struct item_writer *w, struct buffer *out)
{
    static const uint8_t header[ITEM_HEADER_SIZE];
    *w = (struct item_writer){.out = out, .start = out->size};
    w->open[0].type = ATTR_MAP;
    buffer_append(out, header, sizeof header);
}

void item_name(struct item_writer *w, struct slice name)
{
    must(w->open[w->depth].type == ATTR_MAP);
    must(!w->named); /* ITEM-2 */
    must(name.size <= ATTRIBUTE_NAME_SIZE_MAX);
    uint16_t size = (uint16_t)name.size;
    buffer_append(w->out, &size, sizeof size);
    buffer_append_slice(w->out, name);
    size_add(w, name.size);
    w->named = true;
}

/* Checks that a value of the type is allowed here, counts the value, and writes the type. */
static void value_begin(struct item_writer *w, enum attr_type type)
{
    enum attr_type container = w->open[w->depth].type;
    enum attr_type element = attr_set_element(container);
    must_in_tests(writer_is_nested(w));        /* ITEM-1 */
    must(w->named == (container == ATTR_MAP)); /* ITEM-2 */
    must(element == 0 || element == type);
    w->named = false;
    w->open[w->depth].count++;
    if (w->depth > 0 && element == 0)
        size_add(w, ATTR_ELEMENT_SIZE);
    buffer_append_u8(w->out, (uint8_t)type);
}

static void bytes_put(struct item_writer *w, enum attr_type type, struct slice bytes)
{
    value_begin(w, type);
    must(bytes.size <= UINT32_MAX);
    buffer_append_sized(w->out, bytes);
    size_add(w, bytes.size);
}

void item_string(struct item_writer *w, struct slice text)
{
    bytes_put(w, ATTR_STRING, text);
}

void item_binary(struct item_writer *w, struct slice bytes)
{
    bytes_put(w, ATTR_BINARY, bytes);
}

void item_number(struct item_writer *w, const struct number *n)
{
    uint8_t encoded[NUMBER_ENCODED_MAX];
    size_t size = number_encode(n, encoded);
    value_begin(w, ATTR_NUMBER);
    buffer_append_u8(w->out, (uint8_t)size);
    buffer_append(w->out, encoded, size);
    size_add(w, number_size(n));
}

void item_bool(struct item_writer *w, bool value)
{
    value_begin(w, ATTR_BOOL);
    buffer_append_u8(w->out, value);
    size_add(w, 1);
}

void item_null(struct item_writer *w)
{
    value_begin(w, ATTR_NULL);
    size_add(w, 1);
}

void item_open(struct item_writer *w, enum attr_type container)
{
    bool set = attr_set_element(container) != 0;
    must(set || container == ATTR_LIST || container == ATTR_MAP);
    must(w->depth < NESTING_MAX + (set ? 1 : 0));
    value_begin(w, container);
    if (!set)
        size_add(w, ATTR_CONTAINER_SIZE);
    w->depth++;
    w->open[w->depth].at = w->out->size;
    w->open[w->depth].count = 0;
    w->open[w->depth].type = container;
    buffer_append_u32(w->out, 0);
}

void item_close(struct item_writer *w)
{
    must(w->depth > 0);
    must(!w->named);
    size_t at = w->open[w->depth].at;
    set_u32(w, at, w->out->size - at - sizeof(uint32_t));
    w->depth--;
}

void item_attr(struct item_writer *w, const struct attr *value)
{
    uint64_t size = 0;
    must(attr_measure(value, w->depth, &size));
    value_begin(w, value->type);
    switch (value->type) {
    case ATTR_NUMBER:
        buffer_append_u8(w->out, (uint8_t)value->body.size);
        break;
    case ATTR_BOOL:
    case ATTR_NULL:
        break;
    default:
        must(value->body.size <= UINT32_MAX);
        buffer_append_u32(w->out, (uint32_t)value->body.size);
    }
    buffer_append_slice(w->out, value->body);
    size_add(w, size);
}

uint32_t item_end(struct item_writer *w)
{
    must(w->depth == 0);
    must(!w->named);
    set_u32(w, w->start + ITEM_SIZE_AT, w->size);
    set_u32(w, w->start + ITEM_COUNT_AT, w->open[0].count);
    uint8_t *item = w->out->data + w->start;
    uint64_t checksum = XXH3_64bits(item + ITEM_SIZE_AT, w->out->size - w->start - ITEM_SIZE_AT);
    memcpy(item, &checksum, sizeof checksum);
    return w->size;
}
