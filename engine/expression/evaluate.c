/* evaluate.c - evaluates whether an item fulfils a program.
 *
 * The program has passed program_check. A path that leads to nothing has no value. Without a value,
 * <> is true and other comparisons are false. Values of different types are not equal and have no
 * order. */
#include <stdio.h>

#include "engine/expression/compare.h"
#include "engine/expression/program.h"
#include "engine/expression/program_part.h"

struct evaluation {
    struct slice item;
    struct steps *steps;
};

struct evaluated {
    bool there;
    struct attr value;
    uint8_t number[NUMBER_ENCODED_MAX]; /* the result of size(); `value` points to it */
};

/* ---- operands ---- */

static void evaluate_size(struct evaluated *v, struct steps *steps)
{
    struct number n;
    char text[16];
    uint32_t length = 0;
    if (!v->there || !attr_length(&v->value, &length, steps)) {
        v->there = false;
        return;
    }
    int size = snprintf(text, sizeof text, "%u", length);
    must((size_t)size < sizeof text);
    must(number_parse(slice_make(text, (size_t)size), &n) == NUMBER_OK);
    v->value = (struct attr){ATTR_NUMBER, slice_make(v->number, number_encode(&n, v->number))};
}

static void evaluate_operand(struct reader *r, const struct evaluation *on, struct evaluated *out)
{
    const uint8_t kind = reader_u8(r);
    if (kind == PROGRAM_SIZE) {
        evaluate_operand(r, on, out);
        evaluate_size(out, on->steps);
        return;
    }
    out->value = (struct attr){0};
    if (kind == PROGRAM_PATH) {
        out->there = program_find_path(r, on->item, &out->value, on->steps);
        return;
    }
    must(kind == PROGRAM_VALUE);
    out->there = true;
    out->value = program_read_value(r);
}

/* ---- conditions ---- */

static bool evaluate_equal(const struct evaluation *on, const struct evaluated *a,
                           const struct evaluated *b)
{
    return a->there && b->there && attr_equal(&a->value, &b->value, on->steps);
}

/* Whether the two values have an order; `order` gets it. */
static bool evaluate_order(const struct evaluation *on, const struct evaluated *a,
                           const struct evaluated *b, int *order)
{
    if (!a->there || !b->there || a->value.type != b->value.type || !attr_is_ordered(a->value.type))
        return false;
    steps_take_bytes(on->steps, a->value.body.size, STEPS_COMPARED_BYTES);
    *order = attr_compare(&a->value, &b->value);
    return true;
}

static bool evaluate_two(struct reader *r, const struct evaluation *on, uint8_t op)
{
    struct evaluated a, b;
    int order = 0;
    must(op >= PROGRAM_EQ);
    must(op <= PROGRAM_CONTAINS);
    evaluate_operand(r, on, &a);
    evaluate_operand(r, on, &b);
    switch (op) {
    case PROGRAM_EQ:
        return evaluate_equal(on, &a, &b);
    case PROGRAM_NE:
        return !evaluate_equal(on, &a, &b);
    case PROGRAM_BEGINS_WITH:
        return a.there && b.there && attr_begins_with(&a.value, &b.value, on->steps);
    case PROGRAM_CONTAINS:
        return a.there && b.there && attr_contains(&a.value, &b.value, on->steps);
    default:
        break;
    }
    if (!evaluate_order(on, &a, &b, &order))
        return false;
    return op == PROGRAM_LT   ? order < 0
           : op == PROGRAM_LE ? order <= 0
           : op == PROGRAM_GT ? order > 0
                              : order >= 0;
}

static bool evaluate_between(struct reader *r, const struct evaluation *on)
{
    struct evaluated value, low, high;
    int above = 0, below = 0;
    evaluate_operand(r, on, &value);
    evaluate_operand(r, on, &low);
    evaluate_operand(r, on, &high);
    return evaluate_order(on, &value, &low, &above) && above >= 0 &&
           evaluate_order(on, &value, &high, &below) && below <= 0;
}

static bool evaluate_in(struct reader *r, const struct evaluation *on)
{
    struct evaluated value, other;
    const uint8_t count = reader_u8(r);
    must(count > 0);
    must(count <= CONDITION_IN_MAX);
    evaluate_operand(r, on, &value);
    for (uint8_t i = 0; i < count && !steps_are_spent(on->steps); i++) {
        evaluate_operand(r, on, &other);
        if (evaluate_equal(on, &value, &other))
            return true;
    }
    return false;
}

static bool evaluate_type(struct reader *r, const struct evaluation *on)
{
    struct evaluated value;
    evaluate_operand(r, on, &value);
    return value.there && value.value.type == reader_u8(r);
}

/* Evaluates AND or OR: the first operand whose result is `decides` decides. */
static bool evaluate_chain(struct reader *r, const struct evaluation *on, bool decides)
{
    const uint32_t count = program_read_u16(r);
    must(count > 1);
    for (uint32_t i = 0; i < count; i++) {
        if (program_holds(reader_sized(r), on->item, on->steps) == decides)
            return decides;
    }
    return !decides;
}

bool program_holds(struct slice program, struct slice item, struct steps *steps)
{
    const struct evaluation on = {item, steps};
    struct reader r = {program, false};
    struct attr found = {0};
    const uint8_t op = reader_u8(&r);
    bool holds;
    steps_take(steps, 1);
    if (steps_are_spent(steps))
        return false;
    switch (op) {
    case PROGRAM_OR:
    case PROGRAM_AND:
        holds = evaluate_chain(&r, &on, op == PROGRAM_OR);
        break;
    case PROGRAM_NOT:
        holds = !program_holds(r.left, item, steps);
        break;
    case PROGRAM_BETWEEN:
        holds = evaluate_between(&r, &on);
        break;
    case PROGRAM_IN:
        holds = evaluate_in(&r, &on);
        break;
    case PROGRAM_EXISTS:
        holds = program_find_path(&r, item, &found, steps);
        break;
    case PROGRAM_NOT_EXISTS:
        holds = !program_find_path(&r, item, &found, steps);
        break;
    case PROGRAM_TYPE:
        holds = evaluate_type(&r, &on);
        break;
    default:
        holds = evaluate_two(&r, &on, op);
    }
    must(!r.failed);
    return holds;
}
