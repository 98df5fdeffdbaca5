/* item.c - weir.h's items: engine/item behind checks. */
#include <stdio.h>
#include <stdlib.h>

#include "embed/weir_internal.h"

_Static_assert(WEIR_NUMBER_TEXT_MAX == (int)NUMBER_TEXT_MAX, "one buffer size");
_Static_assert(WEIR_MAP == (int)ATTR_MAP && WEIR_STRING == (int)ATTR_STRING, "the same numbers");

struct weir_item *weir_item_create(void)
{
    struct weir_item *item = must_calloc(1, sizeof *item);
    weir_item_clear(item);
    return item;
}

void weir_item_destroy(struct weir_item *item)
{
    if (item == NULL)
        return;
    buffer_deinit(&item->bytes);
    free(item);
}

void weir_item_clear(struct weir_item *item)
{
    buffer_clear(&item->bytes);
    item->mistake = NULL;
    item->finished = false;
    item_begin(&item->writer, &item->bytes);
}

static const char twice[] = "an attribute or element occurs twice";

static void item_mistake(struct weir_item *item, const char *text)
{
    if (item->mistake == NULL)
        item->mistake = text;
}

/* The same, of the attribute `name`; NULL: of an element. */
static void mistake_of(struct weir_item *item, const char *name, const char *text)
{
    if (item->mistake != NULL)
        return;
    if (name != NULL)
        snprintf(item->text, sizeof item->text, "attribute %.80s: %s", name, text);
    item->mistake = name != NULL ? item->text : text;
}

/* Whether a value may come next, under this name. */
static bool item_place(struct weir_item *item, const char *name, enum weir_type type)
{
    if (item->mistake != NULL)
        return false;
    struct item_writer *w = &item->writer;
    enum attr_type outer = w->open[w->depth].type;
    bool named = outer == ATTR_MAP;
    bool set = outer == ATTR_STRING_SET || outer == ATTR_NUMBER_SET || outer == ATTR_BINARY_SET;
    if (item->finished)
        item_mistake(item, "an item that was used must be cleared before it is added to");
    else if (named && (name == NULL || name[0] == '\0' || strlen(name) > ATTRIBUTE_NAME_SIZE_MAX))
        item_mistake(item, "an attribute needs a name of 1 to 65535 bytes");
    else if (!named && name != NULL)
        item_mistake(item, "elements of lists and sets have no name");
    else if (set && (int)type != (int)outer - (ATTR_STRING_SET - ATTR_STRING))
        item_mistake(item, "an element is not of its set's type");
    else if (named)
        item_name(w, slice_of(name));
    return item->mistake == NULL;
}

void weir_item_add(struct weir_item *item, const char *name, enum weir_type type, const void *data,
                   size_t size)
{
    static const char *const number_mistakes[] = {
        [NUMBER_NOT_NUMERIC] = "a number is decimal text",
        [NUMBER_TOO_MANY_DIGITS] = "a number has at most 38 significant digits",
        [NUMBER_OVERFLOW] = "a number is below 1E126",
        [NUMBER_UNDERFLOW] = "a number is 0 or at least 1E-130",
    };
    struct slice value = slice_make(data, size);
    struct number number;
    enum number_error error;
    if (item->bytes.size + size > 2 * ITEM_SIZE_MAX)
        mistake_of(item, name, "an item has at most 409600 bytes");
    if (type == WEIR_NUMBER && (error = number_parse(value, &number)) != NUMBER_OK)
        mistake_of(item, name, number_mistakes[error]);
    if (type == WEIR_STRING && !slice_is_utf8(value))
        mistake_of(item, name, "a string is not UTF-8");
    if (type == WEIR_BOOL && size == 1 && value.data[0] > 1)
        mistake_of(item, name, "a WEIR_BOOL is the byte 0 or 1");
    if (type > WEIR_NULL || type < WEIR_STRING || (type == WEIR_BOOL && size != 1))
        mistake_of(item, name, "not a value of its type; containers use weir_item_begin");
    if (!item_place(item, name, type))
        return;
    switch (type) {
    case WEIR_STRING:
        item_string(&item->writer, value);
        break;
    case WEIR_NUMBER:
        item_number(&item->writer, &number);
        break;
    case WEIR_BINARY:
        item_binary(&item->writer, value);
        break;
    case WEIR_BOOL:
        item_bool(&item->writer, value.data[0] != 0);
        break;
    default:
        item_null(&item->writer);
    }
}

void weir_item_begin(struct weir_item *item, const char *name, enum weir_type container)
{
    if (container < WEIR_STRING_SET || container > WEIR_MAP)
        mistake_of(item, name, "weir_item_begin takes a set, a list or a map");
    if (container >= WEIR_LIST && item->writer.depth >= NESTING_MAX)
        mistake_of(item, name, "at most 31 lists and maps nest around a value");
    if (item_place(item, name, container))
        item_open(&item->writer, (enum attr_type)container);
}

/* Whether all names, or the elements of a set, differ. */
static bool are_distinct(struct attr_cursor c, uint32_t count)
{
    struct slice few[16], *all = count <= COUNT_OF(few) ? few : must_calloc(count, sizeof *all);
    struct slice name;
    struct attr value;
    bool distinct = true;
    for (uint32_t i = 0; i < count && attr_next(&c, &name, &value); i++)
        all[i] = c.named ? name : value.body;
    qsort(all, count, sizeof *all, slice_compare_at);
    for (uint32_t i = 1; i < count; i++)
        distinct = distinct && !slice_equal(all[i - 1], all[i]);
    if (all != few)
        free(all);
    return distinct;
}

/* The container that is about to be ended. */
static void check_container(struct weir_item *item)
{
    const struct item_writer *w = &item->writer;
    const size_t at = w->open[w->depth].at + sizeof(uint32_t);
    const struct attr all = {w->open[w->depth].type,
                             slice_make(item->bytes.data + at, item->bytes.size - at)};
    if (attr_set_element(all.type) != 0 && w->open[w->depth].count == 0)
        item_mistake(item, "a set has at least one element");
    else if (all.type != ATTR_LIST && !are_distinct(attr_elements(&all), w->open[w->depth].count))
        item_mistake(item, twice);
}

void weir_item_end(struct weir_item *item)
{
    if (item->mistake == NULL && item->writer.depth == 0)
        item_mistake(item, "weir_item_end without weir_item_begin");
    if (item->mistake == NULL)
        check_container(item);
    if (item->mistake == NULL)
        item_close(&item->writer);
}

const char *weir_item_finish(struct weir_item *item, bool stored, struct slice *out)
{
    if (item->mistake == NULL && item->writer.depth > 0)
        item_mistake(item, "weir_item_end is missing");
    if (item->mistake != NULL)
        return item->mistake;
    if (!item->finished) {
        item_end(&item->writer);
        item->finished = true;
        item->checked = false;
    }
    if (stored && !item->checked) {
        item->checked = true;
        if (!are_distinct(item_attrs(buffer_slice(&item->bytes)),
                          item_count(buffer_slice(&item->bytes))) ||
            item_check(buffer_slice(&item->bytes)) != STATUS_OK)
            item_mistake(item, twice);
        else if (item_size(buffer_slice(&item->bytes)) > ITEM_SIZE_MAX)
            item_mistake(item, "an item has at most 409600 bytes");
    }
    *out = buffer_slice(&item->bytes);
    return item->mistake;
}

bool weir_result_last(const struct weir_result *result, struct weir_item *key)
{
    struct slice name;
    struct attr value;
    weir_item_clear(key);
    if (result->last_size == 0)
        return false;
    struct attr_cursor c = item_attrs(slice_make(result->last, result->last_size));
    while (attr_next(&c, &name, &value)) {
        item_name(&key->writer, name);
        item_attr(&key->writer, &value);
    }
    return true;
}

/* ---- reading ---- */

bool weir_result_next(const struct weir_result *result, size_t *position, struct weir_cursor *attrs)
{
    if (*position >= result->items_size)
        return false;
    struct reader r = {
        slice_make((const uint8_t *)result->items + *position, result->items_size - *position),
        false};
    struct slice item = result->single ? r.left : reader_sized(&r);
    if (r.failed || item.size == 0)
        return false;
    *position = result->single ? result->items_size : result->items_size - r.left.size;
    struct attr_cursor c = item_attrs(item);
    *attrs = (struct weir_cursor){c.left.data, c.left.size, c.named};
    return true;
}

bool weir_cursor_next(struct weir_cursor *cursor, struct weir_attr *out)
{
    struct attr_cursor c = {slice_make(cursor->data, cursor->size), cursor->named};
    struct slice name;
    struct attr value;
    if (!attr_next(&c, &name, &value))
        return false;
    *cursor = (struct weir_cursor){c.left.data, c.left.size, c.named};
    *out = (struct weir_attr){.name = (const char *)name.data,
                              .name_size = name.size,
                              .type = (enum weir_type)value.type,
                              .data = value.body.data,
                              .size = value.body.size};
    return true;
}

struct weir_cursor weir_attr_elements(const struct weir_attr *container)
{
    struct attr value = {(enum attr_type)container->type,
                         slice_make(container->data, container->size)};
    struct attr_cursor c = attr_elements(&value);
    return (struct weir_cursor){c.left.data, c.left.size, c.named};
}

size_t weir_attr_number(const struct weir_attr *number, char *out)
{
    struct number n;
    size_t used;
    if (number_decode(slice_make(number->data, number->size), &n, &used) != STATUS_OK) {
        out[0] = '\0';
        return 0;
    }
    return number_format(&n, out);
}
