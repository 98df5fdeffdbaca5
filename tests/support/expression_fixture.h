/* expression_fixture.h - items, names and values of expressions, from JSON. */
#pragma once

#include "engine/expression/expression.h"
#include "router/json/value.h"

struct expression_fixture {
    struct json_parser *json; /* owns */
    struct arena arena;
    struct expression_names names;
    struct fault fault;
};

/* `names` and `values`: objects, as in a request; NULL: none. */
void expression_fixture_init(struct expression_fixture *s, const char *names, const char *values);
void expression_fixture_deinit(struct expression_fixture *s);

/* Lends until expression_fixture_deinit. */
struct slice expression_fixture_item(struct expression_fixture *s, const char *json);
/* The JSON of an item, with a final NUL. */
const char *expression_fixture_json(struct expression_fixture *s, struct slice item);
/* The service's text of a fault of `parameter`. */
const char *expression_fixture_text(struct expression_fixture *s, const char *parameter,
                                    const struct expression_fault *fault);

/* Appends the program of a condition without names and values. */
void expression_fixture_program(struct buffer *out, const char *condition);
