/* answer.c - what weir makes of the cases of the Python model (tests/model/check).
 *
 * Reads one case a line from standard input, as JSON. Writes one answer a line: the result, or
 * {"refused":text,"type":..}. All of it comes from the parsers and evaluators of the product. The
 * program decides nothing and compares nothing.
 * Kinds of cases (member "op"): expressions, item, number, sum, order. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/expression/program.h"
#include "engine/expression/update_program.h"
#include "router/core/key.h"
#include "router/core/key_schema.h"
#include "router/expression/expressions.h"
#include "router/json/json_writer.h"
#include "router/operations/write.h"

enum { /* the members of a case, as a shape has members */
    MEMBER_OP,
    MEMBER_NAMES,
    MEMBER_VALUES,
    MEMBER_PROJECTION,
    MEMBER_FILTER,
    MEMBER_UPDATE,
    MEMBER_CONDITION,
    MEMBER_KEY,
    MEMBER_ITEM,
    MEMBER_EXISTS,
    MEMBER_SCHEMA,
    MEMBER_ROWS,
    MEMBER_LIST,
    MEMBER_MINUS,
    MEMBERS
};

static const char *const MEMBER_TEXTS[MEMBERS] = {
    "op",  "names", "values", "projection", "filter", "update", "condition",
    "key", "item",  "exists", "schema",     "rows",   "list",   "minus",
};

static const struct expression_members EXPRESSIONS = {
    .names = MEMBER_NAMES,
    .values = MEMBER_VALUES,
    .expressions = {[PARAMETER_PROJECTION] = MEMBER_PROJECTION,
                    [PARAMETER_FILTER] = MEMBER_FILTER,
                    [PARAMETER_UPDATE] = MEMBER_UPDATE,
                    [PARAMETER_CONDITION] = MEMBER_CONDITION,
                    [PARAMETER_KEY_CONDITION] = MEMBER_KEY},
};

struct answer {
    struct json_parser *json; /* owns */
    struct arena arena;
    struct buffer bytes;   /* items */
    struct buffer program; /* programs */
    struct buffer out;     /* the answer */
    struct fault fault;
    struct json_value m[MEMBERS];
};

/* ---- items ---- */

/* The item of a case, in the arena. False: it is refused. */
static bool answer_read_item(struct answer *a, struct slice *item)
{
    struct span span;
    buffer_clear(&a->bytes);
    if (!value_read_item(&a->bytes, &a->arena, &a->m[MEMBER_ITEM], &span, &a->fault))
        return false;
    *item = arena_copy(&a->arena, span_in(&a->bytes, span));
    must(item_check(*item) == STATUS_OK);
    return true;
}

static void answer_write_item(struct answer *a, const char *name, struct slice item)
{
    json_write_key(&a->out, name);
    value_write_item(&a->out, item);
}

static void answer_write_shown(struct answer *a, const char *name, const struct projection *p,
                               struct slice item)
{
    struct buffer shown = {0};
    projection_append(&shown, p, item);
    must(item_check(buffer_slice(&shown)) == STATUS_OK);
    answer_write_item(a, name, buffer_slice(&shown));
    buffer_deinit(&shown);
}

static bool answer_item(struct answer *a)
{
    struct slice item;
    if (!answer_read_item(a, &item))
        return false;
    if (!write_item_fits(item, &a->fault))
        return false;
    json_member_integer(&a->out, "size", item_size(item));
    answer_write_item(a, "item", item);
    return true;
}

/* ---- expressions ---- */

static struct key_attr answer_key_attr(struct answer *a, const char *name)
{
    const struct json_value type = json_find(&a->m[MEMBER_SCHEMA], name);
    if (type.type != JSON_STRING)
        return (struct key_attr){0};
    return (struct key_attr){slice_of(name), attr_type_of(json_string(&type))};
}

/* For each row of key values: whether its storage key lies in the range, and whether its sort key
 * fulfils the condition. */
static void answer_write_rows(struct answer *a, const struct key_condition *partition,
                              const struct key_condition *sort)
{
    struct buffer lo = {0}, hi = {0}, key = {0};
    struct json_cursor rows = json_elements(&a->m[MEMBER_ROWS]);
    struct json_value row;
    storage_key_append_collection(&lo, 1, &partition->values[0]);
    key_condition_bound_lo(&lo, sort);
    storage_key_append_collection(&hi, 1, &partition->values[0]);
    key_condition_bound_hi(&hi, sort);
    json_member_open(&a->out, "rows", '[');
    while (json_next_element(&rows, &row)) {
        const struct json_value p = json_find(&row, "p"), s = json_find(&row, "s");
        struct attr values[2];
        must(value_read_attr(&a->arena, &p, &values[0], &a->fault));
        const bool sorted = s.type == JSON_OBJECT;
        if (sorted)
            must(value_read_attr(&a->arena, &s, &values[1], &a->fault));
        buffer_clear(&key);
        storage_key_append(&key, 1, &values[0], sorted ? &values[1] : NULL);
        must(storage_key_is_complete(buffer_slice(&key)));
        json_write_open(&a->out, '[');
        json_write_bool(&a->out, slice_compare(buffer_slice(&lo), buffer_slice(&key)) <= 0 &&
                                     (hi.size == 0 ||
                                      slice_compare(buffer_slice(&key), buffer_slice(&hi)) < 0));
        json_write_bool(&a->out,
                        !sorted || sort->op == KEY_ANY || key_condition_holds(sort, &values[1]));
        json_write_close(&a->out, ']');
    }
    json_write_close(&a->out, ']');
    buffer_deinit(&lo);
    buffer_deinit(&hi);
    buffer_deinit(&key);
}

static bool answer_keys(struct answer *a, const struct expressions *e, const struct table *t)
{
    const struct key_schema schema = key_schema_of(t, NULL);
    struct key_matches found;
    if (!key_conditions_match(&e->keys, &schema, &found, &a->fault))
        return false;
    answer_write_rows(a, &found.of[0], &found.of[1]);
    return true;
}

static bool answer_condition(struct answer *a, const struct expressions *e, struct slice item)
{
    struct span program;
    buffer_clear(&a->program);
    if (!expressions_encode(&a->program, e->condition, &program, &a->fault))
        return false;
    const struct slice bytes = span_in(&a->program, program);
    must(program_check(bytes) == STATUS_OK);
    json_member_bool(&a->out, "holds", program_holds(bytes, item, &(struct steps){0}));
    return true;
}

/* The new item, and what UPDATED_NEW and UPDATED_OLD show. */
static void answer_made(struct answer *a, const struct expressions *e, struct slice item,
                        struct slice made)
{
    const struct projection *paths = update_paths(e->update, &a->arena);
    must(item_check(made) == STATUS_OK);
    json_member_integer(&a->out, "size", item_size(made));
    answer_write_item(a, "made", made);
    answer_write_shown(a, "new", paths, made);
    answer_write_shown(a, "old", paths, item);
}

static bool answer_update(struct answer *a, const struct expressions *e, struct slice item)
{
    struct buffer result = {0};
    struct span program;
    buffer_clear(&a->program);
    if (!expressions_encode_update(&a->program, e->update, &program, &a->fault))
        return false;
    const struct slice bytes = span_in(&a->program, program);
    must(update_program_check(bytes) == STATUS_OK);
    const bool exists = json_bool(&a->m[MEMBER_EXISTS]);
    const enum update_fault fault = update_apply(bytes, item, exists, &(struct steps){0}, &result);
    if (fault == UPDATE_OK)
        answer_made(a, e, item, buffer_slice(&result));
    else
        json_member_integer(&a->out, "fault", fault);
    buffer_deinit(&result);
    return true;
}

static bool answer_paths_fit(struct answer *a, const struct expressions *e, const struct table *t)
{
    const char *no_keys = a->m[MEMBER_KEY].type == JSON_STRING ? "Filter Expression" : NULL;
    const struct key_schema schema = key_schema_of(t, NULL);
    return key_paths_of_projection(e->projection, t, &a->fault) &&
           key_paths_of_update(e->update, t, &a->fault) &&
           key_paths_of_filter(e->condition, t, &schema, no_keys, &a->fault);
}

static bool answer_expressions(struct answer *a)
{
    struct expressions e = {0};
    struct table t = {.partition_key = answer_key_attr(a, "p"),
                      .sort_key = answer_key_attr(a, "s")};
    struct slice item = {NULL, 0};
    if (!expressions_check(&EXPRESSIONS, a->m, &e, &a->fault) ||
        (a->m[MEMBER_ITEM].type == JSON_OBJECT && !answer_read_item(a, &item)) ||
        !expressions_read(&EXPRESSIONS, a->m, &a->arena, &e, &a->fault) ||
        !key_conditions_are_few(&e.keys, &a->fault))
        return false;
    if (t.partition_key.name.size > 0 && !answer_paths_fit(a, &e, &t))
        return false;
    if (e.keys.count > 0 && !answer_keys(a, &e, &t))
        return false;
    const struct json_value *exists = &a->m[MEMBER_EXISTS];
    const bool present = exists->type != JSON_BOOL || json_bool(exists);
    if (e.condition != NULL && !answer_condition(a, &e, present ? item : (struct slice){NULL, 0}))
        return false;
    if (e.projection != NULL)
        answer_write_shown(a, "shown", e.projection, item);
    return e.update == NULL || answer_update(a, &e, item);
}

/* ---- numbers and keys ---- */

/* The elements of the member "list", as attribute values in the arena. */
static bool answer_read_list(struct answer *a, struct attr **values, size_t *count)
{
    struct json_cursor list = json_elements(&a->m[MEMBER_LIST]);
    struct json_value value;
    *count = 0;
    *values = arena_zalloc(&a->arena, json_count(&a->m[MEMBER_LIST]) * sizeof **values);
    while (json_next_element(&list, &value))
        if (!value_read_attr(&a->arena, &value, &(*values)[(*count)++], &a->fault))
            return false;
    return true;
}

static void answer_decode(const struct attr *value, struct number *out)
{
    size_t used;
    must(number_decode(value->body, out, &used) == STATUS_OK);
    must(used == value->body.size);
}

static bool answer_number(struct answer *a)
{
    struct attr *list;
    size_t count;
    struct number n;
    char text[NUMBER_TEXT_MAX];
    if (!answer_read_list(a, &list, &count))
        return false;
    answer_decode(&list[0], &n);
    json_write_key(&a->out, "text");
    json_write_string(&a->out, slice_make(text, number_format(&n, text)));
    json_member_integer(&a->out, "size", number_size(&n));
    return true;
}

static bool answer_sum(struct answer *a)
{
    struct attr *list;
    size_t count;
    struct number x, y, sum;
    char text[NUMBER_TEXT_MAX];
    if (!answer_read_list(a, &list, &count))
        return false;
    answer_decode(&list[0], &x);
    answer_decode(&list[1], &y);
    const enum number_error error =
        json_bool(&a->m[MEMBER_MINUS]) ? number_subtract(&x, &y, &sum) : number_add(&x, &y, &sum);
    if (error != NUMBER_OK) {
        json_member_integer(&a->out, "fault", error);
        return true;
    }
    json_write_key(&a->out, "text");
    json_write_string(&a->out, slice_make(text, number_format(&sum, text)));
    return true;
}

static void answer_write_hex(struct buffer *out, struct slice bytes)
{
    struct buffer hex = {0};
    for (size_t i = 0; i < bytes.size; i++)
        buffer_append_format(&hex, "%02x", bytes.data[i]);
    json_write_string(out, buffer_slice(&hex));
    buffer_deinit(&hex);
}

/* The storage keys of the values as sort keys, and as partition keys. */
static bool answer_order(struct answer *a)
{
    static const struct attr PARTITION = {ATTR_STRING, {(const uint8_t *)"p", 1}};
    struct attr *list;
    size_t count;
    struct buffer key = {0};
    if (!answer_read_list(a, &list, &count))
        return false;
    json_member_open(&a->out, "keys", '[');
    for (size_t i = 0; i < 2 * count; i++) {
        buffer_clear(&key);
        if (i < count)
            storage_key_append(&key, 1, &PARTITION, &list[i]);
        else
            storage_key_append(&key, 1, &list[i - count], NULL);
        answer_write_hex(&a->out, buffer_slice(&key));
    }
    json_write_close(&a->out, ']');
    buffer_deinit(&key);
    return true;
}

/* ---- cases ---- */

static const struct {
    const char *op;
    bool (*answer)(struct answer *a);
} OPS[] = {
    {"expressions", answer_expressions},
    {"item", answer_item},
    {"number", answer_number},
    {"sum", answer_sum},
    {"order", answer_order},
};

static bool answer_case(struct answer *a)
{
    for (size_t i = 0; i < COUNT_OF(OPS); i++)
        if (json_is_text(&a->m[MEMBER_OP], OPS[i].op))
            return OPS[i].answer(a);
    return fault_invalid(&a->fault, "no such op");
}

static void answer_line(struct answer *a, struct slice line)
{
    struct json_value root;
    arena_reset(&a->arena);
    buffer_clear(&a->out);
    json_write_open(&a->out, '{');
    if (json_parse(a->json, line, &root) != STATUS_OK) {
        fault_invalid(&a->fault, "no JSON");
    } else {
        for (int i = 0; i < MEMBERS; i++)
            a->m[i] = json_find(&root, MEMBER_TEXTS[i]);
        a->fault.kind = FAULT_NONE;
        must(answer_case(a) == (a->fault.kind == FAULT_NONE));
    }
    if (a->fault.kind != FAULT_NONE) {
        buffer_clear(&a->out);
        json_write_open(&a->out, '{');
        json_member_text(&a->out, "type", fault_type(a->fault.kind));
        json_member_string(&a->out, "refused", buffer_slice(&a->fault.text));
    }
    json_write_close(&a->out, '}');
    buffer_append_u8(&a->out, '\n');
    must(fwrite(a->out.data, 1, a->out.size, stdout) == a->out.size);
    must(fflush(stdout) == 0);
}

int main(void)
{
    struct answer a = {.json = json_parser_create()};
    struct buffer padded = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    while ((size = getline(&line, &room, stdin)) > 0) {
        buffer_clear(&padded);
        buffer_append(&padded, line, (size_t)size);
        memset(buffer_reserve(&padded, JSON_PADDING), 0, JSON_PADDING);
        answer_line(&a, buffer_slice(&padded));
    }
    free(line);
    buffer_deinit(&padded);
    buffer_deinit(&a.bytes);
    buffer_deinit(&a.program);
    buffer_deinit(&a.out);
    arena_deinit(&a.arena);
    fault_deinit(&a.fault);
    json_parser_destroy(a.json);
    return 0;
}
