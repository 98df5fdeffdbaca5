/* program.h - a condition as bytes: made by a router, sent in a request, evaluated by a leader.
 *
 *   condition := AND u16 count (u32 size, condition)*      also OR
 *              | NOT condition
 *              | EQ operand operand                         also NE, LT, LE, GT, GE
 *              | BETWEEN operand operand operand
 *              | IN u8 count operand operand*               count: the operands after the first
 *              | EXISTS path                                also NOT_EXISTS
 *              | TYPE operand u8 type
 *              | BEGINS_WITH operand operand                also CONTAINS
 *   operand   := PATH path | VALUE u8 type, u32 size, body | SIZE operand
 *   path      := u16 count (NAME u32 size, name | INDEX u32)*
 *
 * A word in capitals is one byte; numbers are little-endian.
 *
 * Promises: program_check accepts a program exactly if it can be evaluated. program_check bounds
 * the depth of an evaluation; step_budget.h bounds the work. Evaluation allocates nothing except
 * as compare.h says. */
#pragma once

#include "engine/expression/condition.h"
#include "engine/item/step_budget.h"

/* Appends the program of a tree that condition_parse returned. False: its values have more than
 * EXPRESSION_VALUES_SIZE_MAX bytes, and nothing was appended. */
bool program_encode(struct buffer *out, const struct condition *c);

/* Checks bytes from outside: STATUS_OK, or STATUS_MALFORMED. */
enum status program_check(struct slice program);

/* Whether the item fulfils the condition. The program must have passed program_check. An empty
 * `item` means that there is no item: no path has a value. If the steps are spent afterwards
 * (steps_are_spent), the result means nothing. */
bool program_holds(struct slice program, struct slice item, struct steps *steps);
