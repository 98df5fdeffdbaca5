/* statement.c - texts of PartiQL statements: what parses has trees whose programs pass their
 * checks, keys that are an item, ranges of keys that are in order, and rows that are JSON. The
 * question marks of a text stand for values of every type. Words: statement.dict. */
#include "base/must.h"
#include "engine/expression/program.h"
#include "engine/expression/update_program.h"
#include "router/json/json.h"
#include "router/partiql/lexer.h"
#include "router/partiql/where.h"
#include "tests/support/rich_item.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct table TABLE = {
    .partition_key = {.name = {(const uint8_t *)"s", 1}, .type = ATTR_STRING},
    .sort_key = {.name = {(const uint8_t *)"n", 1}, .type = ATTR_NUMBER}};

/* Tokens lie in the text, one after the other. */
static uint32_t check_tokens(struct slice text)
{
    uint32_t parameters = 0;
    for (size_t at = 0;;) {
        const struct lexer_token t = lexer_token_at(text, at);
        const size_t begin = (size_t)(t.text.data - text.data);
        must(begin >= at && begin + t.text.size <= text.size);
        if (t.kind == LEXER_END || t.kind == LEXER_BAD)
            return parameters;
        must(t.text.size > 0);
        parameters += t.text.data[0] == '?';
        at = begin + t.text.size;
    }
}

static void check_program(const struct condition *c)
{
    struct buffer program = {0};
    if (c != NULL && program_encode(&program, c))
        must(program_check(buffer_slice(&program)) == STATUS_OK);
    buffer_deinit(&program);
}

static void check_keys(const struct statement *s, struct arena *arena)
{
    struct where_key key;
    struct buffer item = {0};
    for (int in = 0; in < 2; in++) {
        where_find_key(s->where, &TABLE, in == 1, arena, &key);
        if (!key.whole)
            continue;
        buffer_clear(&item);
        where_append_key(&item, &TABLE, &key);
        must(item_check(buffer_slice(&item)) == STATUS_OK);
        check_program(
            where_join(arena, CONDITION_AND, where_item_exists(arena, &TABLE, true), key.rest));
        check_program(
            where_join(arena, CONDITION_OR, where_item_exists(arena, &TABLE, false), key.rest));
    }
    buffer_deinit(&item);
}

static void check_ranges(const struct statement *s, struct arena *arena)
{
    const struct key_schema schema = key_schema_of(&TABLE, NULL);
    struct where_ranges found;
    struct fault fault = {0};
    if (where_find_ranges(s->where, &schema, arena, &found, &fault)) {
        must(found.count <= WHERE_RANGES_MAX);
        for (uint32_t i = 0; i < found.count; i++)
            must(found.list[i].found.count >= 1 && found.list[i].found.count <= 2);
        check_program(found.filter);
    } else {
        must(fault.kind == FAULT_VALIDATION && fault.text.size > 0);
    }
    fault_deinit(&fault);
}

static void check_row(const struct statement *s, struct slice item, struct json_parser *json)
{
    struct buffer row = {0};
    struct json_value root;
    statement_write_row(&row, s->columns, item);
    const size_t size = row.size;
    memset(buffer_reserve(&row, JSON_PADDING), 0, JSON_PADDING);
    must(!slice_is_utf8(buffer_slice(&row)) ||
         json_parse(json, slice_make(row.data, size), &root) == STATUS_OK);
    buffer_deinit(&row);
}

static void check_statement(const struct statement *s, struct slice item, struct arena *arena,
                            struct json_parser *json)
{
    struct buffer program = {0};
    check_program(s->where);
    check_keys(s, arena);
    check_ranges(s, arena);
    if (s->verb == STATEMENT_SELECT)
        check_row(s, item, json);
    if (s->verb == STATEMENT_INSERT)
        must(item_check(s->item) == STATUS_OK);
    if (s->verb == STATEMENT_UPDATE && update_program_encode(&program, &s->update)) {
        must(update_program_check(buffer_slice(&program)) == STATUS_OK);
        must(update_paths(&s->update, arena)->count == s->update.count);
    }
    buffer_deinit(&program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct json_parser *json;
    struct arena arena = {0};
    struct buffer bytes = {0};
    struct fault fault = {0};
    struct statement s;
    struct expression_name values[RICH_VALUES];
    const struct slice text = {data, size}, item = rich_item(&bytes, NULL);
    if (json == NULL)
        json = json_parser_create();
    rich_item_values(item, values);
    const uint32_t count = check_tokens(text);
    struct attr *parameters = arena_alloc(&arena, (count + 1) * sizeof *parameters);
    for (uint32_t i = 0; i < count; i++)
        parameters[i] = values[i % RICH_VALUES].value;
    if (size > 0 && statement_parse(text, parameters, count, &arena, &s, &fault))
        check_statement(&s, item, &arena, json);
    else
        must(size == 0 || (fault.kind == FAULT_VALIDATION && fault.text.size > 0));
    fault_deinit(&fault);
    buffer_deinit(&bytes);
    arena_deinit(&arena);
    return 0;
}
