/* program.c - turns a condition's tree into bytes, and checks bytes from outside. */
#include "engine/expression/program.h"

#include "engine/expression/program_internal.h"

/* ---- encoding ---- */

static void encode_u16(struct buffer *out, uint32_t value)
{
    must(value <= UINT16_MAX);
    buffer_append_u8(out, (uint8_t)value);
    buffer_append_u8(out, (uint8_t)(value >> 8));
}

static void encode_path(struct buffer *out, const struct path_part *path)
{
    uint32_t count = 0;
    for (const struct path_part *p = path; p != NULL; p = p->next)
        count++;
    encode_u16(out, count);
    for (const struct path_part *p = path; p != NULL; p = p->next) {
        buffer_append_u8(out, p->indexed ? PROGRAM_INDEX : PROGRAM_NAME);
        if (p->indexed)
            buffer_append_u32(out, p->index);
        else
            buffer_append_sized(out, p->name);
    }
}

static void encode_operand(struct buffer *out, const struct condition *c)
{
    switch (c->kind) {
    case CONDITION_PATH:
        buffer_append_u8(out, PROGRAM_PATH);
        encode_path(out, c->path);
        return;
    case CONDITION_VALUE:
        must(c->value.type != 0);
        buffer_append_u8(out, PROGRAM_VALUE);
        buffer_append_u8(out, (uint8_t)c->value.type);
        buffer_append_sized(out, c->value.body);
        return;
    default:
        must(c->function == FUNCTION_SIZE);
        buffer_append_u8(out, PROGRAM_SIZE);
        encode_operand(out, c->args);
    }
}

static void encode_operands(struct buffer *out, const struct condition *c)
{
    for (const struct condition *a = c->args; a != NULL; a = a->next)
        encode_operand(out, a);
}

static void encode_chain(struct buffer *out, const struct condition *c)
{
    buffer_append_u8(out, c->kind == CONDITION_OR ? PROGRAM_OR : PROGRAM_AND);
    encode_u16(out, c->arg_count);
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        size_t at = out->size;
        buffer_append_u32(out, 0);
        program_encode(out, a);
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
    must(OPS[c->function] != 0);
    buffer_append_u8(out, OPS[c->function]);
    if (c->function == FUNCTION_EXISTS || c->function == FUNCTION_NOT_EXISTS) {
        encode_path(out, c->args->path);
    } else if (c->function == FUNCTION_TYPE) {
        encode_operand(out, c->args);
        buffer_append_u8(out, (uint8_t)attr_type_of(c->args->next->value.body));
    } else {
        encode_operands(out, c);
    }
}

void program_encode(struct buffer *out, const struct condition *c)
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
        buffer_append_u8(out, PROGRAM_NOT);
        program_encode(out, c->args);
        return;
    case CONDITION_FUNCTION:
        encode_function(out, c);
        return;
    case CONDITION_COMPARE:
        buffer_append_u8(out, COMPARATORS[c->op]);
        break;
    case CONDITION_BETWEEN:
        buffer_append_u8(out, PROGRAM_BETWEEN);
        break;
    default:
        must(c->kind == CONDITION_IN);
        buffer_append_u8(out, PROGRAM_IN);
        buffer_append_u8(out, (uint8_t)(c->arg_count - 1));
    }
    encode_operands(out, c);
}

/* ---- checking ---- */

struct program_checker {
    struct reader r;
    uint32_t operators; /* counted as in the parser */
};

static bool check_condition(struct program_checker *c);

static bool check_path(struct program_checker *c)
{
    uint32_t count = program_read_u16(&c->r);
    for (uint32_t i = 0; i < count && !c->r.failed; i++) {
        const uint8_t part = reader_u8(&c->r);
        if (part == PROGRAM_NAME)
            reader_sized(&c->r);
        else if (part == PROGRAM_INDEX && i > 0)
            reader_u32(&c->r);
        else
            return false;
    }
    return count > 0 && !c->r.failed;
}

static bool check_operand(struct program_checker *c)
{
    uint8_t kind = reader_u8(&c->r);
    if (kind == PROGRAM_SIZE) { /* the operand of SIZE is a path or a value */
        c->operators++;
        kind = reader_u8(&c->r);
    }
    if (kind == PROGRAM_PATH)
        return check_path(c);
    if (kind != PROGRAM_VALUE)
        return false;
    struct attr value = {.type = reader_u8(&c->r)};
    value.body = reader_sized(&c->r);
    return !c->r.failed && attr_is_sound(&value);
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
        return check_path(c);
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
