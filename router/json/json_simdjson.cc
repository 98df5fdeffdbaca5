/* json_simdjson.cc - parses with simdjson, whose tape json.h reads. */
#include "router/json/json.h"

#include <simdjson.h>

static_assert(JSON_DEPTH_MAX == 160, "JSON_MALFORMED_TEXT tells it");
static_assert(JSON_PADDING >= simdjson::SIMDJSON_PADDING, "simdjson reads this far past the end");

/* A parser keeps buffers of about ten times its largest document. A parser that grew past this size
 * is replaced when a smaller document follows. */
static constexpr size_t KEPT_SIZE_MAX = 1 << 20;

struct json_parser {
    simdjson::dom::parser parser;
    simdjson::dom::document document;
    json_tape tape;
    size_t text_size;
};

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
    simdjson::error_code error =
        p->parser.parse_into_document(p->document, text.data, text.size, false).error();
    if (error != simdjson::SUCCESS)
        return STATUS_MALFORMED;
    p->tape = {p->document.tape.get(), p->document.string_buf.get(), nullptr};
    json_set(root, &p->tape, 1); /* word 0 is the root */
    p->text_size = text.size;
    return STATUS_OK;
}

void json_parser_trim(struct json_parser *p)
{
    p->parser = simdjson::dom::parser();
}

size_t json_parser_held(const struct json_parser *p)
{
    const json_value document = {JSON_LIST, 0, &p->tape}; /* word 0 tells where all ends */
    return json_after(&document) * sizeof p->tape.words[0] + p->text_size;
}
