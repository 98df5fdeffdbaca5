/* evaluate.c - evaluates whether an item fulfils a program.
 *
 * The program has passed program_check. A path that leads to nothing has no value. Without a value,
 * <> is true and other comparisons are false. Values of different types are not equal and have no
 * order. */
#include <stdio.h>

#include "engine/expression/compare.h"
#include "engine/expression/program.h"
#include "engine/expression/program_part.h"

struct evaluated {
    bool there;
    struct attr value;
    uint8_t number[NUMBER_ENCODED_MAX]; /* the result of size(); `value` points to it */
};

/* ---- operands ---- */

static void evaluate_size(struct evaluated *v)
{
    struct number n;
    char text[16];
    uint32_t length = 0;
    if (!v->there || !attr_length(&v->value, &length)) {
        v->there = false;
        return;
    }
    int size = snprintf(text, sizeof text, "%u", length);
    must(number_parse(slice_make(text, (size_t)size), &n) == NUMBER_OK);
    v->value = (struct attr){ATTR_NUMBER, slice_make(v->number, number_encode(&n, v->number))};
}

static void evaluate_operand(struct reader *r, struct slice item, struct evaluated *out)
{
    const uint8_t kind = reader_u8(r);
    if (kind == PROGRAM_SIZE) {
        evaluate_operand(r, item, out);
        evaluate_size(out);
        return;
    }
    out->value = (struct attr){0};
    if (kind == PROGRAM_PATH) {
        out->there = program_find_path(r, item, &out->value);
        return;
    }
    must(kind == PROGRAM_VALUE);
    out->there = true;
    out->value = program_read_value(r);
}

/* ---- conditions ---- */

static bool evaluate_equal(const struct evaluated *a, const struct evaluated *b)
{
    return a->there && b->there && attr_equal(&a->value, &b->value);
}

/* Whether the two values have an order; `order` gets it. */
static bool evaluate_order(const struct evaluated *a, const struct evaluated *b, int *order)
{
    if (!a->there || !b->there || a->value.type != b->value.type || !attr_is_ordered(a->value.type))
        return false;
    *order = attr_compare(&a->value, &b->value);
    return true;
}

static bool evaluate_two(struct reader *r, struct slice item, uint8_t op)
{
    struct evaluated a, b;
    int order = 0;
    evaluate_operand(r, item, &a);
    evaluate_operand(r, item, &b);
    switch (op) {
    case PROGRAM_EQ:
        return evaluate_equal(&a, &b);
    case PROGRAM_NE:
        return !evaluate_equal(&a, &b);
    case PROGRAM_BEGINS_WITH:
        return a.there && b.there && attr_begins_with(&a.value, &b.value);
    case PROGRAM_CONTAINS:
        return a.there && b.there && attr_contains(&a.value, &b.value);
    default:
        break;
    }
    if (!evaluate_order(&a, &b, &order))
        return false;
    return op == PROGRAM_LT   ? order < 0
           : op == PROGRAM_LE ? order <= 0
           : op == PROGRAM_GT ? order > 0
                              : order >= 0;
}

static bool evaluate_between(struct reader *r, struct slice item)
{
    struct evaluated value, low, high;
    int above = 0, below = 0;
    evaluate_operand(r, item, &value);
    evaluate_operand(r, item, &low);
    evaluate_operand(r, item, &high);
    return evaluate_order(&value, &low, &above) && above >= 0 &&
           evaluate_order(&value, &high, &below) && below <= 0;
}

static bool evaluate_in(struct reader *r, struct slice item)
{
    struct evaluated value, other;
    const uint8_t count = reader_u8(r);
    evaluate_operand(r, item, &value);
    for (uint8_t i = 0; i < count; i++) {
        evaluate_operand(r, item, &other);
        if (evaluate_equal(&value, &other))
            return true;
    }
    return false;
}

static bool evaluate_type(struct reader *r, struct slice item)
{
    struct evaluated value;
    evaluate_operand(r, item, &value);
    return value.there && value.value.type == reader_u8(r);
}

/* Evaluates AND or OR: the first operand whose result is `decides` decides. */
static bool evaluate_chain(struct reader *r, struct slice item, bool decides)
{
    const uint32_t count = program_read_u16(r);
    for (uint32_t i = 0; i < count; i++) {
        if (program_holds(reader_sized(r), item) == decides)
            return decides;
    }
    return !decides;
}

bool program_holds(struct slice program, struct slice item)
{
    struct reader r = {program, false};
    struct attr found = {0};
    const uint8_t op = reader_u8(&r);
    bool holds;
    switch (op) {
    case PROGRAM_OR:
    case PROGRAM_AND:
        holds = evaluate_chain(&r, item, op == PROGRAM_OR);
        break;
    case PROGRAM_NOT:
        holds = !program_holds(r.left, item);
        break;
    case PROGRAM_BETWEEN:
        holds = evaluate_between(&r, item);
        break;
    case PROGRAM_IN:
        holds = evaluate_in(&r, item);
        break;
    case PROGRAM_EXISTS:
        holds = program_find_path(&r, item, &found);
        break;
    case PROGRAM_NOT_EXISTS:
        holds = !program_find_path(&r, item, &found);
        break;
    case PROGRAM_TYPE:
        holds = evaluate_type(&r, item);
        break;
    default:
        holds = evaluate_two(&r, item, op);
    }
    must(!r.failed);
    return holds;
}
