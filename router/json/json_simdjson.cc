/* json_simdjson.cc - json.h over simdjson: a json_value holds a simdjson element as bytes. */
#include "router/json/json.h"

#include <cstring>
#include <new>

#include <simdjson.h>

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::element_type;
using simdjson::dom::object;

static_assert(JSON_PADDING >= simdjson::SIMDJSON_PADDING, "simdjson reads this far past the end");
static_assert(sizeof(element) <= sizeof(json_value::words), "an element fits a value");

/* A parser keeps buffers of about ten times its largest document. A parser that grew past this size
 * is replaced when a smaller document follows. */
static constexpr size_t KEPT_SIZE_MAX = 1 << 20;

struct json_parser {
    simdjson::dom::parser parser;
    simdjson::dom::document document;
};

static element element_of(const json_value *v)
{
    element e;
    std::memcpy(static_cast<void *>(&e), v->words, sizeof e);
    return e;
}

static json_type type_of(const element &e)
{
    switch (e.type()) {
    case element_type::NULL_VALUE:
        return JSON_NULL;
    case element_type::BOOL:
        return JSON_BOOL;
    case element_type::INT64:
        return JSON_INTEGER;
    case element_type::STRING:
        return JSON_STRING;
    case element_type::ARRAY:
        return JSON_LIST;
    case element_type::OBJECT:
        return JSON_OBJECT;
    default:
        return JSON_DECIMAL;
    }
}

static void value_set(json_value *v, const element &e)
{
    v->type = type_of(e);
    std::memcpy(v->words, static_cast<const void *>(&e), sizeof e);
}

struct json_parser *json_parser_create(void)
{
    return new json_parser;
}

void json_parser_destroy(struct json_parser *p)
{
    delete p;
}

enum status json_parse(struct json_parser *p, struct slice text, struct json_value *root)
{
    if (p->parser.capacity() > KEPT_SIZE_MAX && text.size <= KEPT_SIZE_MAX) {
        p->document = simdjson::dom::document();
        p->parser = simdjson::dom::parser();
    }
    if (p->parser.capacity() < text.size || p->parser.max_depth() != JSON_DEPTH_MAX) {
        size_t capacity = text.size < 4096 ? 4096 : text.size + text.size / 2;
        if (p->parser.allocate(capacity, JSON_DEPTH_MAX) != simdjson::SUCCESS)
            return STATUS_MALFORMED;
    }
    element parsed;
    simdjson::error_code error =
        p->parser.parse_into_document(p->document, text.data, text.size, false).get(parsed);
    if (error != simdjson::SUCCESS)
        return STATUS_MALFORMED;
    value_set(root, parsed);
    return STATUS_OK;
}

bool json_bool(const struct json_value *v)
{
    return element_of(v).get_bool().value_unsafe();
}

int64_t json_integer(const struct json_value *v)
{
    return element_of(v).get_int64().value_unsafe();
}

double json_decimal(const struct json_value *v)
{
    return element_of(v).get_double().value_unsafe();
}

struct slice json_string(const struct json_value *v)
{
    std::string_view text = element_of(v).get_string().value_unsafe();
    return slice_make(text.data(), text.size());
}

size_t json_count(const struct json_value *v)
{
    return v->type == JSON_LIST ? element_of(v).get_array().value_unsafe().size()
                                : element_of(v).get_object().value_unsafe().size();
}

/* The content of a json_cursor: the next entry, and the end. */
template <class Iterator>
struct span {
    Iterator next;
    Iterator end;
};

template <class Iterator>
static json_cursor cursor_of(Iterator begin, Iterator end)
{
    static_assert(sizeof(span<Iterator>) <= sizeof(json_cursor), "a span fits a cursor");
    span<Iterator> s = {begin, end};
    json_cursor c;
    std::memcpy(c.words, static_cast<const void *>(&s), sizeof s);
    return c;
}

struct json_cursor json_elements(const struct json_value *list)
{
    array a = element_of(list).get_array().value_unsafe();
    return cursor_of<array::iterator>(a.begin(), a.end());
}

bool json_next_element(struct json_cursor *c, struct json_value *value)
{
    span<array::iterator> s;
    std::memcpy(static_cast<void *>(&s), c->words, sizeof s);
    if (!(s.next != s.end))
        return false;
    value_set(value, *s.next);
    ++s.next;
    std::memcpy(c->words, static_cast<const void *>(&s), sizeof s);
    return true;
}

struct json_cursor json_members(const struct json_value *object_value)
{
    object o = element_of(object_value).get_object().value_unsafe();
    return cursor_of<object::iterator>(o.begin(), o.end());
}

bool json_next_member(struct json_cursor *c, struct slice *name, struct json_value *value)
{
    span<object::iterator> s;
    std::memcpy(static_cast<void *>(&s), c->words, sizeof s);
    if (!(s.next != s.end))
        return false;
    std::string_view key = s.next.key();
    *name = slice_make(key.data(), key.size());
    value_set(value, s.next.value());
    ++s.next;
    std::memcpy(c->words, static_cast<const void *>(&s), sizeof s);
    return true;
}
