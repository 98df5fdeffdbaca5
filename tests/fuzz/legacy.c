/* legacy.c - the parameters from before expressions, as the JSON members of a request: what is
 * taken encodes to programs that pass their checks and can be run over an item of all types. Words:
 * legacy.dict. */
#include "base/must.h"
#include "engine/expression/program.h"
#include "engine/expression/update_program.h"
#include "router/expression/expressions.h"
#include "router/json/shape.h"
#include "router/json/shapes.h"
#include "tests/support/rich_item.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const struct shape *shape;
    const char *head; /* what the operation requires besides */
    struct expression_members of;
} OPERATIONS[] = {
    {&shape_update_item,
     "{\"TableName\":\"users\",\"Key\":{}",
     {.legacy = {[LEGACY_ATTRIBUTE_UPDATES] = UPDATE_ITEM_ATTRIBUTE_UPDATES,
                 [LEGACY_EXPECTED] = UPDATE_ITEM_EXPECTED,
                 [LEGACY_CONDITIONAL_OPERATOR] = UPDATE_ITEM_CONDITIONAL_OPERATOR}}},
    {&shape_query,
     "{\"TableName\":\"users\"",
     {.legacy = {[LEGACY_ATTRIBUTES_TO_GET] = QUERY_ATTRIBUTES_TO_GET,
                 [LEGACY_QUERY_FILTER] = QUERY_QUERY_FILTER,
                 [LEGACY_CONDITIONAL_OPERATOR] = QUERY_CONDITIONAL_OPERATOR,
                 [LEGACY_KEY_CONDITIONS] = QUERY_KEY_CONDITIONS}}},
    {&shape_scan,
     "{\"TableName\":\"users\"",
     {.legacy = {[LEGACY_ATTRIBUTES_TO_GET] = SCAN_ATTRIBUTES_TO_GET,
                 [LEGACY_SCAN_FILTER] = SCAN_SCAN_FILTER,
                 [LEGACY_CONDITIONAL_OPERATOR] = SCAN_CONDITIONAL_OPERATOR}}},
};

static void legacy_run(const struct expressions *e, struct fault *fault)
{
    struct buffer programs = {0}, bytes = {0}, out = {0};
    struct span condition, update;
    const struct slice item = rich_item(&bytes, NULL);
    if (expressions_encode(&programs, e->condition, &condition, fault) && condition.size > 0) {
        must(program_check(span_in(&programs, condition)) == STATUS_OK);
        program_holds(span_in(&programs, condition), item, &(struct steps){0});
    }
    if (expressions_encode_update(&programs, e->update, &update, fault) && update.size > 0) {
        const struct slice program = span_in(&programs, update);
        must(update_program_check(program) == STATUS_OK);
        if (update_apply(program, item, true, &(struct steps){0}, &out) == UPDATE_OK)
            must(item_check(buffer_slice(&out)) == STATUS_OK);
    }
    buffer_clear(&out);
    if (e->projection != NULL) {
        projection_append(&out, e->projection, item);
        must(item_check(buffer_slice(&out)) == STATUS_OK);
    }
    buffer_deinit(&out);
    buffer_deinit(&bytes);
    buffer_deinit(&programs);
}

/* u8 operation, then the members: "Expected":{..},"AttributeUpdates":{..} */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const size_t op = data[0] % COUNT_OF(OPERATIONS);
    struct json_parser *parser = json_parser_create();
    struct json_value root, m[SHAPE_MEMBERS_MAX];
    struct arena arena = {0};
    struct buffer text = {0};
    struct expressions e = {0};
    struct fault fault = {0};
    buffer_append_text(&text, OPERATIONS[op].head);
    buffer_append_u8(&text, ',');
    buffer_append(&text, data + 1, size - 1);
    buffer_append_u8(&text, '}');
    memset(buffer_reserve(&text, JSON_PADDING), 0, JSON_PADDING);
    const bool taken = json_parse(parser, buffer_slice(&text), &root) == STATUS_OK &&
                       root.type == JSON_OBJECT &&
                       shape_check(OPERATIONS[op].shape, &root, false, m, &fault) &&
                       expressions_check(&OPERATIONS[op].of, m, &e, &fault) &&
                       expressions_read_legacy(&OPERATIONS[op].of, m, &arena, &e, &fault) &&
                       expressions_read(&OPERATIONS[op].of, m, &arena, &e, &fault);
    if (taken) {
        must(e.keys.count <= 2);
        legacy_run(&e, &fault);
    }
    fault_deinit(&fault);
    buffer_deinit(&text);
    arena_deinit(&arena);
    json_parser_destroy(parser);
    return 0;
}
