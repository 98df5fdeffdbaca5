#include "tests/support/expression_fixture.h"

#include "engine/expression/condition.h"
#include "engine/expression/program.h"
#include "router/expression/names.h"
#include "tests/check.h"

static struct json_value fixture_parse(struct expression_fixture *s, const char *text)
{
    struct json_value root;
    const size_t size = strlen(text);
    char *padded = arena_zalloc(&s->arena, size + JSON_PADDING);
    memcpy(padded, text, size);
    assert_int_equal(json_parse(s->json, slice_make(padded, size), &root), STATUS_OK);
    return root;
}

void expression_fixture_init(struct expression_fixture *s, const char *names, const char *values)
{
    struct expression_names read;
    struct json_value root;
    const struct json_value absent = {0};
    *s = (struct expression_fixture){.json = json_parser_create()};
    if (names != NULL) {
        root = fixture_parse(s, names);
        assert_true(expression_names_read(&s->names, &s->arena, &root, &absent, &s->fault));
    }
    if (values != NULL) {
        root = fixture_parse(s, values);
        assert_true(expression_names_read(&read, &s->arena, &absent, &root, &s->fault));
        s->names.values = read.values;
        s->names.value_count = read.value_count;
    }
}

void expression_fixture_deinit(struct expression_fixture *s)
{
    json_parser_destroy(s->json);
    arena_deinit(&s->arena);
    fault_deinit(&s->fault);
}

struct slice expression_fixture_item(struct expression_fixture *s, const char *json)
{
    struct buffer bytes = {0};
    struct span span;
    struct json_value root = fixture_parse(s, json);
    if (!value_read_item(&bytes, &s->arena, &root, &span, &s->fault))
        fail_msg("no item: %s", json);
    struct slice item = arena_copy(&s->arena, span_in(&bytes, span));
    buffer_deinit(&bytes);
    return item;
}

const char *expression_fixture_json(struct expression_fixture *s, struct slice item)
{
    struct buffer text = {0};
    value_write_item(&text, item);
    buffer_append_u8(&text, 0);
    struct slice kept = arena_copy(&s->arena, buffer_slice(&text));
    buffer_deinit(&text);
    return (const char *)kept.data;
}

const char *expression_fixture_text(struct expression_fixture *s, const char *parameter,
                                    const struct expression_fault *fault)
{
    struct fault message = {0};
    assert_false(expression_refuse(&message, parameter, fault));
    buffer_append_u8(&message.text, 0);
    struct slice kept = arena_copy(&s->arena, buffer_slice(&message.text));
    fault_deinit(&message);
    return (const char *)kept.data;
}

void expression_fixture_program(struct buffer *out, const char *condition)
{
    struct expression_names names = {0};
    struct expression_fault fault;
    struct arena arena = {0};
    const struct condition *tree = condition_parse(slice_of(condition), &names, &arena, &fault);
    assert_non_null(tree);
    program_encode(out, tree);
    arena_deinit(&arena);
}
