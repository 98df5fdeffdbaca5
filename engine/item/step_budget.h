/* step_budget.h - the work of reading values and of expressions on items, counted in steps: no
 * request holds a loop for long.
 *
 * Why steps, not time: the same request costs the same in each run and on each machine.
 * A step takes some 4 ns: an element that is passed by, or 64 bytes that are compared. A single
 * comparison or search is linear in its operands: STEPS_ONE_MAX bounds it. An expression has many
 * of them. So whoever evaluates counts, and stops before the next one once STEPS_ITEM_MAX are
 * taken.
 *
 * Invariants (property.steps_property and property.input_parse_property search for the costliest):
 *   STEPS-1  an item costs less than STEPS_ITEM_MAX + STEPS_ONE_MAX steps, whatever the request.
 *   STEPS-2  a router reads values for less than STEPS_READ_MAX + STEPS_ONE_MAX steps in a turn. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STEPS_ITEM_MAX = 2000000, /* an item that costs more is refused */
    STEPS_TURN_MAX = 1000000, /* the items of a page that are filtered in one turn; the last item
                                  may exceed it */
    STEPS_READ_MAX = 500000,  /* values that a router reads in a turn; the last one may exceed it */
    STEPS_ONE_MAX = 4000000,  /* two sets with as many elements as fit, or a value that is read */
    STEPS_VALUE = 4,          /* to read a value, */
    STEPS_NUMBER = 12,        /* more for a number, */
    STEPS_DIGITS = 4,         /* of which a step takes so many digits */
    STEPS_HASHED = 8,         /* an element that a hash table takes or finds */
    STEPS_COMPARED_BYTES = 64, /* bytes that one step compares, */
    STEPS_SEARCHED_BYTES = 4,  /* searches for a part, */
    STEPS_COUNTED_BYTES = 16,  /* counts as characters, */
    STEPS_MEASURED_BYTES = 2,  /* or measures as elements of lists and maps */
};

struct steps {
    uint64_t seed; /* of hashes: who sends an item must not know which elements collide */
    uint64_t taken;
};

static inline struct steps steps_begin(uint64_t seed)
{
    return (struct steps){seed, 0};
}

static inline void steps_take(struct steps *s, size_t count)
{
    s->taken += count;
}

static inline void steps_take_bytes(struct steps *s, size_t bytes, size_t bytes_a_step)
{
    s->taken += bytes / bytes_a_step + 1;
}

/* What was evaluated with them means nothing. */
static inline bool steps_are_spent(const struct steps *s)
{
    return s->taken >= STEPS_ITEM_MAX;
}
