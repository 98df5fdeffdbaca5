/* counter_check.c - the values of increments and reads give their order: only time can contradict.
 *
 *   COUNTER-1  Of two operations, the one that returned before the other was invoked has the
 *              smaller value, or the same if the later one is a read.
 *   COUNTER-2  A value that no increment was told is that of an increment with an unknown outcome.
 *              Such an increment can have every value above the values returned before its
 *              invocation, as long as no operation with at least that value returned before it. So
 *              it can have every value from some least value on, and an increment that was invoked
 *              later has no smaller least value. */
#include "workload/counter_check.h"

#include <stdlib.h>

#include "base/must.h"

struct counter {
    const struct history_op **ops; /* owns; those that count, by invocation */
    size_t count;
    uint64_t max;       /* the largest value */
    uint64_t *reported; /* owns; by value: 1 + the operation that was told it, or 0 */
    int64_t
        *deadline; /* owns; by value: the first return of an operation with at least the value */
    uint64_t *culprit; /* owns; by value: that operation's id */
};

static int counter_by_invocation(const void *a, const void *b)
{
    const struct history_op *x = *(const struct history_op *const *)a;
    const struct history_op *y = *(const struct history_op *const *)b;
    if (x->invoked_ns != y->invoked_ns)
        return x->invoked_ns < y->invoked_ns ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int counter_by_return(const void *a, const void *b)
{
    const struct history_op *x = *(const struct history_op *const *)a;
    const struct history_op *y = *(const struct history_op *const *)b;
    if (x->returned_ns != y->returned_ns)
        return x->returned_ns < y->returned_ns ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static bool is_reported(const struct history_op *op)
{
    return op->outcome == HISTORY_OK && op->kind == HISTORY_WRITE;
}

/* False: an operation has a value that no order of the increments gives. */
static bool counter_collect(struct counter *c, const struct history_op *ops, size_t count,
                            uint64_t *culprit)
{
    uint64_t increments = 0;
    for (size_t i = 0; i < count; i++) {
        const bool increment = ops[i].kind == HISTORY_WRITE;
        if (ops[i].outcome != HISTORY_OK && (ops[i].outcome != HISTORY_INFO || !increment))
            continue;
        c->ops[c->count++] = &ops[i];
        increments += increment;
    }
    qsort(c->ops, c->count, sizeof c->ops[0], counter_by_invocation);
    c->reported = must_calloc(increments + 2, sizeof c->reported[0]);
    for (size_t i = 0; i < c->count; i++) {
        const struct history_op *op = c->ops[i];
        if (op->outcome != HISTORY_OK)
            continue;
        *culprit = op->id;
        if (op->value > increments ||
            (is_reported(op) && (op->value == 0 || c->reported[op->value] != 0)))
            return false;
        if (is_reported(op))
            c->reported[op->value] = i + 1;
        c->max = op->value > c->max ? op->value : c->max;
    }
    return true;
}

/* COUNTER-1: goes over the operations by invocation, with what had returned by then. `min` gets,
 * for each, the largest value returned before. */
static bool counter_keeps_time(const struct counter *c, uint64_t *min, uint64_t *culprit)
{
    const struct history_op **returns = must_have(malloc((c->count + 1) * sizeof *returns));
    uint64_t floor = 0;
    size_t at = 0;
    bool keeps = true;
    for (size_t i = 0; i < c->count; i++)
        returns[i] = c->ops[i];
    qsort(returns, c->count, sizeof returns[0], counter_by_return);
    for (size_t i = 0; i < c->count && keeps; i++) {
        const struct history_op *op = c->ops[i];
        for (; at < c->count && returns[at]->outcome == HISTORY_OK &&
               returns[at]->returned_ns < op->invoked_ns;
             at++)
            floor = returns[at]->value > floor ? returns[at]->value : floor;
        min[i] = floor;
        *culprit = op->id;
        keeps = op->outcome != HISTORY_OK || op->value >= floor + is_reported(op);
    }
    free(returns);
    return keeps;
}

static void counter_set_deadlines(struct counter *c)
{
    c->deadline = must_calloc(c->max + 2, sizeof c->deadline[0]);
    c->culprit = must_calloc(c->max + 2, sizeof c->culprit[0]);
    for (uint64_t v = 0; v <= c->max + 1; v++)
        c->deadline[v] = INT64_MAX;
    for (size_t i = 0; i < c->count; i++) {
        const struct history_op *op = c->ops[i];
        if (op->outcome == HISTORY_OK && op->returned_ns < c->deadline[op->value]) {
            c->deadline[op->value] = op->returned_ns;
            c->culprit[op->value] = op->id;
        }
    }
    for (uint64_t v = c->max; v-- > 0;) {
        if (c->deadline[v + 1] < c->deadline[v]) {
            c->deadline[v] = c->deadline[v + 1];
            c->culprit[v] = c->culprit[v + 1];
        }
    }
}

/* COUNTER-2: gives each value that nobody was told the unknown increment with the least value. */
static bool counter_fills(const struct counter *c, const uint64_t *min, uint64_t *culprit)
{
    uint64_t usable = 0, used = 0, from = 1; /* `from`: the least value by time */
    size_t at = 0;
    for (uint64_t v = 1; v <= c->max; v++) {
        for (; at < c->count; at++) {
            const struct history_op *op = c->ops[at];
            if (op->outcome == HISTORY_OK)
                continue;
            while (from <= c->max && c->deadline[from] < op->invoked_ns)
                from++;
            if (from > v || min[at] + 1 > v)
                break;
            usable++;
        }
        if (c->reported[v] != 0)
            continue;
        *culprit = c->culprit[v];
        if (++used > usable)
            return false;
    }
    return true;
}

void history_check_counter(const struct history_op *ops, size_t count, struct history_verdict *out)
{
    struct counter c = {.ops = must_have(malloc((count + 1) * sizeof *c.ops))};
    uint64_t *min = must_calloc(count + 1, sizeof *min), culprit = 0;
    bool good = counter_collect(&c, ops, count, &culprit) && counter_keeps_time(&c, min, &culprit);
    if (good) {
        counter_set_deadlines(&c);
        good = counter_fills(&c, min, &culprit);
    }
    *out = (struct history_verdict){.linearizable = good, .culprit = good ? 0 : culprit};
    free(min);
    free(c.ops);
    free(c.reported);
    free(c.deadline);
    free(c.culprit);
}
