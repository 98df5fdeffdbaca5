/* program.c - turns a condition's tree into bytes, and checks bytes from outside. */
#include "engine/expression/program.h"

#include "engine/expression/program_part.h"

/* ---- encoding ---- */

static void encode_operand(struct buffer *out, const struct condition *c)
{
    switch (c->kind) {
    case CONDITION_PATH:
        buffer_append_u8(out, PROGRAM_PATH);
        program_append_path(out, c->path);
        return;
    case CONDITION_VALUE:
        buffer_append_u8(out, PROGRAM_VALUE);
        program_append_value(out, &c->value);
        return;
    default:
        must(c->kind == CONDITION_FUNCTION);
        must(c->function == FUNCTION_SIZE);
        must(c->arg_count == 1);
        buffer_append_u8(out, PROGRAM_SIZE);
        encode_operand(out, c->args);
    }
}

static void encode_operands(struct buffer *out, const struct condition *c)
{
    for (const struct condition *a = c->args; a != NULL; a = a->next)
        encode_operand(out, a);
}

static void encode_condition(struct buffer *out, const struct condition *c);

static void encode_chain(struct buffer *out, const struct condition *c)
{
    must(c->arg_count > 1);
    buffer_append_u8(out, c->kind == CONDITION_OR ? PROGRAM_OR : PROGRAM_AND);
    program_append_u16(out, c->arg_count);
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        size_t at = out->size;
        buffer_append_u32(out, 0);
        encode_condition(out, a);
        must(out->size - at <= UINT32_MAX);
        put_u32(out->data + at, (uint32_t)(out->size - at - sizeof(uint32_t)));
    }
}

static void encode_function(struct buffer *out, const struct condition *c)
{
    static const uint8_t OPS[FUNCTIONS] = {
        [FUNCTION_EXISTS] = PROGRAM_EXISTS,     [FUNCTION_NOT_EXISTS] = PROGRAM_NOT_EXISTS,
        [FUNCTION_TYPE] = PROGRAM_TYPE,         [FUNCTION_BEGINS_WITH] = PROGRAM_BEGINS_WITH,
        [FUNCTION_CONTAINS] = PROGRAM_CONTAINS,
    };
    must(c->function < FUNCTIONS);
    must(OPS[c->function] != 0);
    buffer_append_u8(out, OPS[c->function]);
    if (c->function == FUNCTION_EXISTS || c->function == FUNCTION_NOT_EXISTS) {
        must(c->args->kind == CONDITION_PATH);
        program_append_path(out, c->args->path);
    } else if (c->function == FUNCTION_TYPE) {
        must(attr_type_of(c->args->next->value.body) != 0);
        encode_operand(out, c->args);
        buffer_append_u8(out, (uint8_t)attr_type_of(c->args->next->value.body));
    } else {
        encode_operands(out, c);
    }
}

static void encode_condition(struct buffer *out, const struct condition *c)
{
    static const uint8_t COMPARATORS[] = {
        [TOKEN_EQ] = PROGRAM_EQ, [TOKEN_NE] = PROGRAM_NE, [TOKEN_LT] = PROGRAM_LT,
        [TOKEN_LE] = PROGRAM_LE, [TOKEN_GT] = PROGRAM_GT, [TOKEN_GE] = PROGRAM_GE};
    switch (c->kind) {
    case CONDITION_OR:
    case CONDITION_AND:
        encode_chain(out, c);
        return;
    case CONDITION_NOT:
        must(c->arg_count == 1);
        buffer_append_u8(out, PROGRAM_NOT);
        encode_condition(out, c->args);
        return;
    case CONDITION_FUNCTION:
        encode_function(out, c);
        return;
    case CONDITION_COMPARE:
        must(c->op < COUNT_OF(COMPARATORS));
        must(COMPARATORS[c->op] != 0);
        must(c->arg_count == 2);
        buffer_append_u8(out, COMPARATORS[c->op]);
        break;
    case CONDITION_BETWEEN:
        must(c->arg_count == 3);
        buffer_append_u8(out, PROGRAM_BETWEEN);
        break;
    default:
        must(c->kind == CONDITION_IN);
        must(c->arg_count > 1);
        must(c->arg_count - 1 <= CONDITION_IN_MAX);
        buffer_append_u8(out, PROGRAM_IN);
        buffer_append_u8(out, (uint8_t)(c->arg_count - 1));
    }
    encode_operands(out, c);
}

/* The bytes of the values in a tree. */
static size_t condition_values_size(const struct condition *c)
{
    size_t size = c->kind == CONDITION_VALUE ? c->value.body.size : 0;
    for (const struct condition *a = c->args; a != NULL; a = a->next)
        size += condition_values_size(a);
    return size;
}

bool program_encode(struct buffer *out, const struct condition *c)
{
    if (condition_values_size(c) > EXPRESSION_VALUES_SIZE_MAX)
        return false;
    const size_t start = out->size;
    encode_condition(out, c);
    must_in_tests(program_check(slice_make(out->data + start, out->size - start)) == STATUS_OK);
    return true;
}

/* ---- checking ---- */

struct program_checker {
    struct reader r;
    uint32_t operators; /* counted as in the parser */
};

static bool check_condition(struct program_checker *c);

static bool check_operand(struct program_checker *c)
{
    uint8_t kind = reader_u8(&c->r);
    if (kind == PROGRAM_SIZE) { /* the operand of SIZE is a path or a value */
        c->operators++;
        kind = reader_u8(&c->r);
    }
    if (kind == PROGRAM_PATH)
        return program_check_path(&c->r);
    return kind == PROGRAM_VALUE && program_check_value(&c->r);
}

static bool check_operands(struct program_checker *c, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!check_operand(c))
            return false;
    }
    return true;
}

/* Each operand must have exactly the size that is written before it. */
static bool check_chain(struct program_checker *c)
{
    const uint32_t count = program_read_u16(&c->r);
    if (count < 2)
        return false;
    c->operators += count - 2; /* of count - 1 operators, the caller has counted one */
    for (uint32_t i = 0; i < count; i++) {
        struct slice operand = reader_sized(&c->r);
        struct reader rest = c->r;
        c->r = (struct reader){operand, rest.failed};
        if (!check_condition(c) || c->r.left.size > 0)
            return false;
        c->r = rest;
    }
    return true;
}

static bool check_type(struct program_checker *c)
{
    if (!check_operand(c))
        return false;
    const uint8_t type = reader_u8(&c->r);
    return type >= ATTR_STRING && type <= ATTR_MAP;
}

/* The recursion is bounded, because every level counts an operator. */
static bool check_condition(struct program_checker *c)
{
    const uint8_t op = reader_u8(&c->r);
    uint32_t count;
    if (c->r.failed || c->operators++ >= EXPRESSION_OPERATORS_MAX)
        return false;
    switch (op) {
    case PROGRAM_OR:
    case PROGRAM_AND:
        return check_chain(c);
    case PROGRAM_NOT:
        return check_condition(c);
    case PROGRAM_BETWEEN:
        return check_operands(c, 3);
    case PROGRAM_IN:
        count = reader_u8(&c->r);
        return count > 0 && count <= CONDITION_IN_MAX && check_operands(c, 1 + count);
    case PROGRAM_EXISTS:
    case PROGRAM_NOT_EXISTS:
        return program_check_path(&c->r);
    case PROGRAM_TYPE:
        return check_type(c);
    default:
        return op >= PROGRAM_EQ && op <= PROGRAM_CONTAINS && check_operands(c, 2);
    }
}

enum status program_check(struct slice program)
{
    struct program_checker c = {.r = {program, false}};
    bool whole = check_condition(&c) && !c.r.failed && c.r.left.size == 0 &&
                 c.operators <= EXPRESSION_OPERATORS_MAX;
    return whole ? STATUS_OK : STATUS_MALFORMED;
}
