#include "router/value.h"

#include <stdlib.h>

#include "router/base64.h"
#include "router/json_writer.h"
#include "router/shape.h"

static const char *const TYPE_NAMES[] = {
    [ATTR_STRING] = "S",      [ATTR_NUMBER] = "N",      [ATTR_BINARY] = "B",
    [ATTR_BOOL] = "BOOL",     [ATTR_NULL] = "NULL",     [ATTR_STRING_SET] = "SS",
    [ATTR_NUMBER_SET] = "NS", [ATTR_BINARY_SET] = "BS", [ATTR_LIST] = "L",
    [ATTR_MAP] = "M",
};

enum {
    TYPES = sizeof TYPE_NAMES / sizeof TYPE_NAMES[0]
};

const char *value_type_name(enum attr_type type)
{
    return TYPE_NAMES[type];
}

enum attr_type value_type_of(struct slice name)
{
    for (int type = ATTR_STRING; type < TYPES; type++) {
        if (slice_is(name, TYPE_NAMES[type]))
            return (enum attr_type)type;
    }
    return 0;
}

/* ---- reading ---- */

struct value_reader {
    struct item_writer writer;
    struct arena *arena; /* borrows */
    struct fault *fault; /* borrows */
};

static bool read_value(struct value_reader *r, const struct json_value *v);
static bool read_members(struct value_reader *r, const struct json_value *map);

static bool invalid(struct value_reader *r, const char *text)
{
    return fault_set(r->fault, FAULT_VALIDATION, "%s", text);
}

static bool invalid_value(struct value_reader *r, const char *text)
{
    return fault_set(r->fault, FAULT_VALIDATION, "One or more parameter values were invalid: %s",
                     text);
}

static bool read_digits(struct value_reader *r, struct slice text, struct number *out)
{
    switch (number_parse(text, out)) {
    case NUMBER_OK:
        return true;
    case NUMBER_TOO_MANY_DIGITS:
        return invalid(r, "Attempting to store more than 38 significant digits in a Number");
    case NUMBER_OVERFLOW:
        return invalid(r, "Number overflow. Attempting to store a number with magnitude larger "
                          "than supported range");
    case NUMBER_UNDERFLOW:
        return invalid(r, "Number underflow. Attempting to store a number with magnitude smaller "
                          "than supported range");
    case NUMBER_NOT_NUMERIC:
        break;
    }
    if (text.size == 0)
        return invalid(r, "The parameter cannot be converted to a numeric value");
    return fault_set(r->fault, FAULT_VALIDATION,
                     "The parameter cannot be converted to a numeric value: %.*s", SHOWN(text));
}

static bool read_number(struct value_reader *r, struct slice text)
{
    struct number n;
    if (!read_digits(r, text, &n))
        return false;
    item_number(&r->writer, &n);
    return true;
}

static struct slice decode_blob(struct value_reader *r, struct slice text)
{
    uint8_t *bytes = arena_alloc(r->arena, text.size / 4 * 3 + 1);
    return slice_make(bytes, base64_decode(text, bytes));
}

/* ---- sets ---- */

static int compare_slices(const void *a, const void *b)
{
    return slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

/* Whether two of the slices are equal; `scratch` holds as many. */
static bool has_duplicates(const struct slice *slices, size_t count, struct slice *scratch)
{
    if (count <= 8) {
        for (size_t i = 1; i < count; i++) {
            for (size_t j = 0; j < i; j++) {
                if (slice_equal(slices[i], slices[j]))
                    return true;
            }
        }
        return false;
    }
    memcpy(scratch, slices, count * sizeof *slices);
    qsort(scratch, count, sizeof *scratch, compare_slices);
    for (size_t i = 1; i < count; i++) {
        if (slice_equal(scratch[i - 1], scratch[i]))
            return true;
    }
    return false;
}

static bool duplicate_elements(struct value_reader *r, enum attr_type set,
                               const struct json_value *list)
{
    if (set == ATTR_NUMBER_SET)
        return invalid(r, "Input collection contains duplicates");
    struct buffer shown = {0};
    struct json_cursor cursor = json_elements(list);
    struct json_value element;
    while (shown.size < FAULT_SHOWN_MAX && json_next_element(&cursor, &element)) {
        struct slice text = json_string(&element);
        if (shown.size > 0)
            buffer_append_text(&shown, ", ");
        buffer_append(&shown, text.data, (size_t)fault_shown_size(text));
    }
    fault_set(r->fault, FAULT_VALIDATION,
              "One or more parameter values were invalid: Input collection [%.*s]%s contains "
              "duplicates.",
              (int)shown.size, (const char *)shown.data,
              set == ATTR_BINARY_SET ? "of type BS" : "");
    buffer_deinit(&shown);
    return false;
}

static bool empty_set(struct value_reader *r, enum attr_type set)
{
    return invalid_value(r, set == ATTR_STRING_SET   ? "An string set  may not be empty"
                            : set == ATTR_NUMBER_SET ? "An number set  may not be empty"
                                                     : "Binary sets should not be empty");
}

/* One element, as bytes that are equal when the values are. */
static bool read_element(struct value_reader *r, enum attr_type set, const struct json_value *v,
                         struct slice *out)
{
    struct slice text = v->type == JSON_STRING ? json_string(v) : slice_make(NULL, 0);
    struct number n;
    if (set == ATTR_NUMBER_SET) {
        if (!read_digits(r, text, &n))
            return false;
        uint8_t *encoded = arena_alloc(r->arena, NUMBER_ENCODED_MAX);
        *out = slice_make(encoded, number_encode(&n, encoded));
        item_number(&r->writer, &n);
        return true;
    }
    if (text.size == 0)
        return invalid_value(r, set == ATTR_STRING_SET
                                    ? "An string set may not have a empty string as a member"
                                    : "Binary sets may not contain null or empty values");
    *out = set == ATTR_STRING_SET ? text : decode_blob(r, text);
    if (set == ATTR_STRING_SET)
        item_string(&r->writer, *out);
    else
        item_binary(&r->writer, *out);
    return true;
}

static bool read_set(struct value_reader *r, enum attr_type set, const struct json_value *list)
{
    struct json_cursor cursor = json_elements(list);
    struct json_value element;
    size_t count = 0;
    while (json_next_element(&cursor, &element))
        count++;
    if (count == 0)
        return empty_set(r, set);
    struct slice *slices = arena_alloc(r->arena, 2 * count * sizeof *slices);
    item_open(&r->writer, set);
    cursor = json_elements(list);
    for (size_t i = 0; json_next_element(&cursor, &element); i++) {
        if (!read_element(r, set, &element, &slices[i]))
            return false;
    }
    item_close(&r->writer);
    return !has_duplicates(slices, count, slices + count) || duplicate_elements(r, set, list);
}

/* ---- documents ---- */

static bool nesting_fits(struct value_reader *r)
{
    return r->writer.depth < NESTING_MAX ||
           invalid(r, "Nesting Levels have exceeded supported limits");
}

static bool read_list(struct value_reader *r, const struct json_value *list)
{
    struct json_cursor cursor = json_elements(list);
    struct json_value element;
    if (!nesting_fits(r))
        return false;
    item_open(&r->writer, ATTR_LIST);
    while (json_next_element(&cursor, &element)) {
        if (!read_value(r, &element))
            return false;
    }
    item_close(&r->writer);
    return true;
}

static bool read_map(struct value_reader *r, const struct json_value *map)
{
    if (!nesting_fits(r))
        return false;
    item_open(&r->writer, ATTR_MAP);
    if (!read_members(r, map))
        return false;
    item_close(&r->writer);
    return true;
}

static bool read_typed(struct value_reader *r, enum attr_type type, const struct json_value *v)
{
    switch (type) {
    case ATTR_STRING:
        item_string(&r->writer, json_string(v));
        return true;
    case ATTR_NUMBER:
        return read_number(r, json_string(v));
    case ATTR_BINARY:
        item_binary(&r->writer, decode_blob(r, json_string(v)));
        return true;
    case ATTR_BOOL:
        item_bool(&r->writer, shape_boolean(v, false));
        return true;
    case ATTR_NULL:
        if (!shape_boolean(v, false))
            return invalid_value(r, "Null attribute value types must have the value of true");
        item_null(&r->writer);
        return true;
    case ATTR_LIST:
        return read_list(r, v);
    case ATTR_MAP:
        return read_map(r, v);
    default:
        return read_set(r, type, v);
    }
}

/* The service tells of a bad number before it tells of two datatypes. */
static bool more_than_one(struct value_reader *r, const struct json_value *v)
{
    struct json_cursor cursor = json_members(v);
    struct json_value member;
    struct slice name;
    struct number n;
    while (json_next_member(&cursor, &name, &member)) {
        if (member.type == JSON_STRING && slice_is(name, "N") &&
            !read_digits(r, json_string(&member), &n))
            return false;
    }
    return invalid(r, "Supplied AttributeValue has more than one datatypes set, must contain "
                      "exactly one of the supported datatypes");
}

static bool read_value(struct value_reader *r, const struct json_value *v)
{
    enum attr_type type = 0;
    struct json_value typed = {0};
    if (v->type == JSON_OBJECT) {
        struct json_cursor cursor = json_members(v);
        struct json_value member;
        struct slice name;
        while (json_next_member(&cursor, &name, &member)) {
            enum attr_type found = member.type == JSON_NULL ? 0 : value_type_of(name);
            if (found != 0 && type != 0)
                return more_than_one(r, v);
            if (found != 0) {
                type = found;
                typed = member;
            }
        }
    }
    if (type == 0)
        return invalid(r, "Supplied AttributeValue is empty, must contain exactly one of the "
                          "supported datatypes");
    return read_typed(r, type, &typed);
}

static bool names_differ(struct value_reader *r, const struct json_value *map)
{
    struct slice few[16];
    size_t count = json_count(map);
    struct slice *names = 2 * count <= 16 ? few : arena_alloc(r->arena, 2 * count * sizeof *names);
    struct json_cursor cursor = json_members(map);
    struct json_value value;
    for (size_t i = 0; json_next_member(&cursor, &names[i], &value); i++) {
        if (names[i].size > ATTRIBUTE_NAME_SIZE_MAX)
            return fault_set(r->fault, FAULT_VALIDATION,
                             "One or more parameter values were invalid: Attribute name is too "
                             "large, must be less than %d bytes",
                             ATTRIBUTE_NAME_SIZE_MAX + 1);
        if (i + 1 == count)
            break;
    }
    if (has_duplicates(names, count, names + count))
        return fault_set(r->fault, FAULT_SERIALIZATION, "Duplicate attribute name in a map");
    return true;
}

static bool read_members(struct value_reader *r, const struct json_value *map)
{
    struct json_cursor cursor = json_members(map);
    struct json_value value;
    struct slice name;
    if (!names_differ(r, map))
        return false;
    while (json_next_member(&cursor, &name, &value)) {
        item_name(&r->writer, name);
        if (!read_value(r, &value))
            return false;
    }
    return true;
}

static bool finish_item(struct value_reader *r, struct buffer *out, bool read, struct span *item)
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
    struct value_reader r = {.arena = arena, .fault = fault};
    item_begin(&r.writer, out);
    return finish_item(&r, out, read_members(&r, map), item);
}

bool value_read_item_of_one(struct buffer *out, struct arena *arena, const struct json_value *value,
                            struct span *item, struct fault *fault)
{
    struct value_reader r = {.arena = arena, .fault = fault};
    item_begin(&r.writer, out);
    item_name(&r.writer, slice_make(NULL, 0));
    return finish_item(&r, out, read_value(&r, value), item);
}

/* ---- writing ---- */

static void write_number(struct buffer *out, struct slice encoded)
{
    struct number n = {0};
    char text[NUMBER_TEXT_MAX];
    size_t used;
    number_decode(encoded, &n, &used);
    json_write_string(out, slice_make(text, number_format(&n, text)));
}

static void write_elements(struct buffer *out, const struct attr *container)
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
            write_number(out, element.body);
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

static void write_members(struct buffer *out, struct attr_cursor cursor)
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
    json_write_key(out, TYPE_NAMES[value->type]);
    switch (value->type) {
    case ATTR_STRING:
        json_write_string(out, value->body);
        break;
    case ATTR_NUMBER:
        write_number(out, value->body);
        break;
    case ATTR_BINARY:
        json_write_base64(out, value->body);
        break;
    case ATTR_BOOL:
        json_write_bool(out, value->body.data[0] != 0);
        break;
    case ATTR_NULL:
        json_write_bool(out, true);
        break;
    case ATTR_MAP:
        write_members(out, attr_elements(value));
        break;
    default:
        write_elements(out, value);
    }
    json_write_close(out, '}');
}

void value_write_item(struct buffer *out, struct slice item)
{
    write_members(out, item_attrs(item));
}
