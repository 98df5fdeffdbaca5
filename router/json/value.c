/* value.c - reads attribute values from JSON into items, and writes them as JSON. */
#include "router/json/value.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "router/json/base64.h"
#include "router/json/json_writer.h"
#include "router/json/shape.h"
#include "router/json/value_words.h"
#include "router/json/values_ahead.h"

/* ---- reading ---- */

struct value_reader {
    struct item_writer writer;
    struct arena *arena; /* borrows */
    struct fault *fault; /* borrows */
};

static bool value_read_value(struct value_reader *r, const struct json_value *v);
static bool value_read_members(struct value_reader *r, const struct json_value *map);

static bool value_refuse(struct value_reader *r, const char *text)
{
    return fault_invalid(r->fault, "%s", text);
}

static bool value_refuse_parameter(struct value_reader *r, const char *text)
{
    return fault_invalid(r->fault, INVALID "%s", text);
}

bool value_read_digits(struct slice text, struct number *out, struct fault *fault)
{
    const enum number_error error = number_parse(text, out);
    steps_take_bytes(&fault->reading, text.size + STEPS_NUMBER * STEPS_DIGITS, STEPS_DIGITS);
    return error == NUMBER_OK || value_refuse_number(fault, error, text);
}

static void value_put_string(struct value_reader *r, struct slice text)
{
    item_string(&r->writer, text);
    steps_take_bytes(&r->fault->reading, text.size + STEPS_VALUE * STEPS_COMPARED_BYTES,
                     STEPS_COMPARED_BYTES);
}

static bool value_read_number(struct value_reader *r, struct slice text)
{
    struct number n;
    if (!value_read_digits(text, &n, r->fault))
        return false;
    item_number(&r->writer, &n);
    return true;
}

/* ---- bounds ---- */

/* Every element adds at least one byte to the size of its item: a container with more than
 * ELEMENTS_MAX elements is too large. Names and the elements of a set are distinct: more than
 * DISTINCT_MAX distinct byte strings do not fit an item. A number has at least 2 bytes. */
enum {
    ELEMENTS_MAX = ITEM_SIZE_MAX,
    DISTINCT_MAX = ITEM_SIZE_MAX / 2,
    MEMBERS_MAX = 4096, /* of a value with several datatypes: so many are looked at */
};

/* Reading stops: the rest would only cost memory. */
static bool value_too_large(struct value_reader *r)
{
    return value_refuse(r, "Item size has exceeded the maximum allowed size");
}

/* Called before each element. One large value passes: a later check gives a better message. */
static bool value_item_fits(struct value_reader *r)
{
    return r->writer.size <= ITEM_SIZE_MAX || value_too_large(r);
}

static bool value_read_blob(struct value_reader *r, struct slice text)
{
    if (text.size / 4 * 3 > ITEM_SIZE_MAX + 3)
        return value_too_large(r);
    steps_take_bytes(&r->fault->reading, text.size, STEPS_DIGITS);
    uint8_t *bytes = arena_alloc(r->arena, text.size / 4 * 3 + 1);
    item_binary(&r->writer, slice_make(bytes, base64_decode(text, bytes)));
    return true;
}

/* ---- duplicates ---- */

enum {
    STRINGS_FEW = 8 /* up to so many are compared pair by pair; more are hashed */
};

/* The byte string that begins at this position: the name of an attribute, or the value. */
static struct slice string_at(const struct buffer *item, bool name, uint32_t at)
{
    struct attr_cursor cursor = {slice_make(item->data + at, item->size - at), name};
    struct slice text;
    struct attr value;
    if (!attr_next(&cursor, &text, &value))
        return slice_make(NULL, 0);
    return name ? text : value.body;
}

static bool strings_repeat_few(const struct buffer *item, bool names, const uint32_t *positions,
                               size_t count)
{
    struct slice strings[STRINGS_FEW];
    for (size_t i = 0; i < count; i++) {
        strings[i] = string_at(item, names, positions[i]);
        for (size_t j = 0; j < i; j++) {
            if (slice_equal(strings[i], strings[j]))
                return true;
        }
    }
    return false;
}

struct string_slot {
    uint32_t hash;
    uint32_t number; /* of the position, from 1; 0: free */
};

/* Sorting them takes ten times as long, when there are many. */
bool value_repeats(const struct buffer *item, bool names, const uint32_t *positions, size_t count,
                   struct steps *steps)
{
    if (count <= STRINGS_FEW)
        return strings_repeat_few(item, names, positions, count);
    size_t mask = 4 * STRINGS_FEW - 1;
    while (mask < 2 * count)
        mask = 2 * mask + 1;
    struct string_slot *slots = must_calloc(mask + 1, sizeof *slots);
    bool repeats = false;
    for (size_t i = 0; i < count && !repeats; i++) {
        const struct slice s = string_at(item, names, positions[i]);
        const uint32_t hash = (uint32_t)XXH3_64bits_withSeed(s.data, s.size, steps->seed);
        size_t at = hash & mask;
        for (; slots[at].number != 0 && !repeats; at = (at + 1) & mask)
            repeats = slots[at].hash == hash &&
                      slice_equal(string_at(item, names, positions[slots[at].number - 1]), s);
        slots[at] = (struct string_slot){hash, (uint32_t)i + 1};
        steps_take_bytes(steps, s.size + STEPS_HASHED * STEPS_COMPARED_BYTES, STEPS_COMPARED_BYTES);
    }
    free(slots);
    return repeats;
}

/* ---- sets ---- */

static bool value_empty_set(struct value_reader *r, enum attr_type set)
{
    return value_refuse_parameter(r, set == ATTR_STRING_SET   ? "An string set  may not be empty"
                                     : set == ATTR_NUMBER_SET ? "An number set  may not be empty"
                                                              : "Binary sets should not be empty");
}

static bool value_read_element(struct value_reader *r, enum attr_type set,
                               const struct json_value *v)
{
    struct slice text = v->type == JSON_STRING ? json_string(v) : slice_make(NULL, 0);
    if (set == ATTR_NUMBER_SET)
        return value_read_number(r, text);
    if (v->type == JSON_NULL)
        return value_refuse_parameter(r, "A set may not have a null as an element");
    if (set == ATTR_BINARY_SET)
        return value_read_blob(r, text);
    value_put_string(r, text);
    return true;
}

static bool value_read_set(struct value_reader *r, enum attr_type set,
                           const struct json_value *list)
{
    struct json_cursor cursor = json_elements(list);
    struct json_value element;
    uint32_t few[STRINGS_FEW];
    size_t count = json_count(list);
    if (count == 0)
        return value_empty_set(r, set);
    if (count > ELEMENTS_MAX || (count > DISTINCT_MAX && set == ATTR_NUMBER_SET))
        return value_too_large(r);
    if (count > DISTINCT_MAX)
        return value_refuse_repeat(r->fault, set, list);
    uint32_t *at = count > STRINGS_FEW ? arena_alloc(r->arena, count * sizeof *at) : few;
    item_open(&r->writer, set);
    for (size_t i = 0; i < count && json_next_element(&cursor, &element); i++) {
        at[i] = (uint32_t)r->writer.out->size;
        if (!value_item_fits(r) || !value_read_element(r, set, &element))
            return false;
    }
    item_close(&r->writer);
    return !value_repeats(r->writer.out, false, at, count, &r->fault->reading) ||
           value_refuse_repeat(r->fault, set, list);
}

/* ---- documents ---- */

/* The lists and maps around the innermost value, with this one. Looks at `*left` values: an item
 * has no more. */
static int value_levels(const struct json_value *v, uint32_t *left)
{
    int deepest = 0;
    struct json_value inner;
    struct slice name;
    const bool list = v->type == JSON_LIST;
    struct json_cursor cursor = list ? json_elements(v) : json_members(v);
    for (; *left > 0 &&
           (list ? json_next_element(&cursor, &inner) : json_next_member(&cursor, &name, &inner));
         --*left) {
        const struct json_value l = json_find(&inner, "L");
        const struct json_value m = json_find(&inner, "M");
        const int levels = l.type == JSON_LIST     ? value_levels(&l, left)
                           : m.type == JSON_OBJECT ? value_levels(&m, left)
                                                   : 0;
        deepest = MAX(levels, deepest);
    }
    return deepest + 1;
}

/* The service has another text for values that are far too deep. */
static bool value_nesting_fits(struct value_reader *r, const struct json_value *v)
{
    uint32_t left = ELEMENTS_MAX;
    return r->writer.depth < NESTING_MAX ||
           value_refuse(r, (int)r->writer.depth - 1 + value_levels(v, &left) < VALUE_LEVELS_FAR
                               ? VALUE_TOO_DEEP
                               : VALUE_FAR_TOO_DEEP);
}

static bool value_read_list(struct value_reader *r, const struct json_value *list)
{
    struct json_value element;
    if (!value_nesting_fits(r, list))
        return false;
    if (json_count(list) > ELEMENTS_MAX)
        return value_too_large(r);
    item_open(&r->writer, ATTR_LIST);
    JSON_FOREACH (element, list) {
        if (!value_item_fits(r) || !value_read_value(r, &element))
            return false;
    }
    item_close(&r->writer);
    return true;
}

static bool value_read_map(struct value_reader *r, const struct json_value *map)
{
    if (!value_nesting_fits(r, map))
        return false;
    item_open(&r->writer, ATTR_MAP);
    if (!value_read_members(r, map))
        return false;
    item_close(&r->writer);
    return true;
}

static bool value_read_typed(struct value_reader *r, enum attr_type type,
                             const struct json_value *v)
{
    switch (type) {
    case ATTR_STRING:
        value_put_string(r, json_string(v));
        return true;
    case ATTR_NUMBER:
        return value_read_number(r, json_string(v));
    case ATTR_BINARY:
        return value_read_blob(r, json_string(v));
    case ATTR_BOOL:
        item_bool(&r->writer, shape_boolean(v, false));
        return true;
    case ATTR_NULL:
        if (!shape_boolean(v, false))
            return value_refuse_parameter(r,
                                          "Null attribute value types must have the value of true");
        item_null(&r->writer);
        return true;
    case ATTR_LIST:
        return value_read_list(r, v);
    case ATTR_MAP:
        return value_read_map(r, v);
    default:
        return value_read_set(r, type, v);
    }
}

/* The service reports a bad number before it reports two datatypes. */
static bool value_more_than_one(struct value_reader *r, const struct json_value *v)
{
    struct json_cursor cursor = json_members(v);
    struct json_value member;
    struct slice name;
    struct number n;
    for (uint32_t i = 0; i < MEMBERS_MAX && json_next_member(&cursor, &name, &member); i++) {
        if (member.type == JSON_STRING && slice_is(name, "N") &&
            !value_read_digits(json_string(&member), &n, r->fault))
            return false;
    }
    return value_refuse(r, "Supplied AttributeValue has more than one datatypes set, must contain "
                           "exactly one of the supported datatypes");
}

static bool value_read_value(struct value_reader *r, const struct json_value *v)
{
    enum attr_type type = 0;
    struct json_value typed = {0};
    steps_take(&r->fault->reading, STEPS_VALUE);
    if (v->type == JSON_OBJECT) {
        struct json_value member;
        struct slice name;
        JSON_FOREACH_MEMBER (name, member, v) {
            steps_take(&r->fault->reading, 1);
            enum attr_type found = member.type == JSON_NULL ? 0 : attr_type_of(name);
            if (found != 0 && type != 0)
                return value_more_than_one(r, v);
            if (found != 0) {
                type = found;
                typed = member;
            }
        }
    }
    if (type == 0)
        return value_refuse(r, "Supplied AttributeValue is empty, must contain exactly one of the "
                               "supported datatypes");
    return value_read_typed(r, type, &typed);
}

bool value_check_name(struct slice name, struct fault *fault)
{
    if (name.size == 0)
        return fault_invalid(fault, INVALID "Empty attribute name");
    return name.size <= ATTRIBUTE_NAME_SIZE_MAX ||
           fault_invalid(fault, INVALID "Attribute name is too large, must be less than %d bytes",
                         ATTRIBUTE_NAME_SIZE_MAX + 1);
}

bool value_check_names(struct arena *arena, const struct json_value *map, struct fault *fault)
{
    const size_t count = json_count(map);
    struct slice *names = arena_alloc(arena, (count + 1) * sizeof *names);
    struct json_cursor cursor = json_members(map);
    struct json_value value;
    for (size_t i = 0; i < count && json_next_member(&cursor, &names[i], &value); i++) {
        if (!value_check_name(names[i], fault))
            return false;
    }
    qsort(names, count, sizeof *names, slice_compare_at);
    for (size_t i = 1; i < count; i++) {
        if (slice_equal(names[i], names[i - 1]))
            return fault_set(fault, FAULT_SERIALIZATION, "Duplicate field '%.*s'", SHOWN(names[i]));
    }
    return true;
}

static bool value_read_members(struct value_reader *r, const struct json_value *map)
{
    struct json_cursor cursor = json_members(map);
    struct json_value value;
    struct slice name;
    uint32_t few[STRINGS_FEW];
    size_t count = json_count(map);
    if (count > DISTINCT_MAX)
        return value_too_large(r);
    uint32_t *at = count > STRINGS_FEW ? arena_alloc(r->arena, count * sizeof *at) : few;
    for (size_t i = 0; i < count && json_next_member(&cursor, &name, &value); i++) {
        at[i] = (uint32_t)r->writer.out->size;
        if (!value_item_fits(r) || !value_check_name(name, r->fault))
            return false;
        item_name(&r->writer, name);
        if (!value_read_value(r, &value))
            return false;
    }
    return !value_repeats(r->writer.out, true, at, count, &r->fault->reading) ||
           fault_set(r->fault, FAULT_SERIALIZATION, "Duplicate attribute name in a map");
}

static bool value_finish_item(struct value_reader *r, struct buffer *out, bool read,
                              struct span *item)
{
    size_t start = r->writer.start;
    if (!read) {
        out->size = start;
        return false;
    }
    item_end(&r->writer);
    *item = (struct span){start, out->size - start};
    return true;
}

bool value_read_item(struct buffer *out, struct arena *arena, const struct json_value *map,
                     struct span *item, struct fault *fault)
{
    const struct value_ahead *ahead = values_ahead_find(map);
    if (ahead != NULL) {
        *item = ahead->item;
        return true;
    }
    struct value_reader r = {.arena = arena, .fault = fault};
    item_begin(&r.writer, out);
    return value_finish_item(&r, out, value_read_members(&r, map), item);
}

/* The value is read as the only attribute of an item. */
bool value_read_attr(struct arena *arena, const struct json_value *value, struct attr *out,
                     struct fault *fault)
{
    const struct value_ahead *ahead = values_ahead_find(value);
    if (ahead != NULL) {
        *out = ahead->value;
        return true;
    }
    struct buffer encoded = {0};
    struct span item;
    struct slice name;
    struct value_reader r = {.arena = arena, .fault = fault};
    item_begin(&r.writer, &encoded);
    item_name(&r.writer, slice_make(NULL, 0));
    bool read = value_finish_item(&r, &encoded, value_read_value(&r, value), &item);
    if (read) {
        struct attr_cursor cursor = item_attrs(arena_copy(arena, span_in(&encoded, item)));
        attr_next(&cursor, &name, out);
    }
    buffer_deinit(&encoded);
    return read;
}

/* ---- writing ---- */

static void value_write_number(struct buffer *out, struct slice encoded)
{
    struct number n = {0};
    char text[NUMBER_TEXT_MAX];
    size_t used;
    number_decode(encoded, &n, &used);
    json_write_string(out, slice_make(text, number_format(&n, text)));
}

static void value_write_elements(struct buffer *out, const struct attr *container)
{
    struct attr_cursor cursor = attr_elements(container);
    struct slice name;
    struct attr element;
    json_write_open(out, '[');
    while (attr_next(&cursor, &name, &element)) {
        switch (container->type) {
        case ATTR_STRING_SET:
            json_write_string(out, element.body);
            break;
        case ATTR_NUMBER_SET:
            value_write_number(out, element.body);
            break;
        case ATTR_BINARY_SET:
            json_write_base64(out, element.body);
            break;
        default:
            value_write(out, &element);
        }
    }
    json_write_close(out, ']');
}

static void value_write_members(struct buffer *out, struct attr_cursor cursor)
{
    struct slice name;
    struct attr value;
    json_write_open(out, '{');
    while (attr_next(&cursor, &name, &value)) {
        json_write_name(out, name);
        value_write(out, &value);
    }
    json_write_close(out, '}');
}

void value_write(struct buffer *out, const struct attr *value)
{
    json_write_open(out, '{');
    if (value->type == ATTR_NULL) { /* at once: an item may have 200,000 */
        buffer_append_text(out, "\"NULL\":true}");
        return;
    }
    json_write_key(out, attr_type_name(value->type));
    switch (value->type) {
    case ATTR_STRING:
        json_write_string(out, value->body);
        break;
    case ATTR_NUMBER:
        value_write_number(out, value->body);
        break;
    case ATTR_BINARY:
        json_write_base64(out, value->body);
        break;
    case ATTR_BOOL:
        json_write_bool(out, value->body.data[0] != 0);
        break;
    case ATTR_MAP:
        value_write_members(out, attr_elements(value));
        break;
    default:
        value_write_elements(out, value);
    }
    json_write_close(out, '}');
}

void value_write_item(struct buffer *out, struct slice item)
{
    value_write_members(out, item_attrs(item));
}
