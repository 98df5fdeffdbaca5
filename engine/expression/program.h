/* program.h - a condition as bytes: made in the router, sent in a request, evaluated at the leader.
 *
 *   condition := AND u16 count (u32 size, condition)*      also OR
 *              | NOT condition
 *              | EQ operand operand                         also NE, LT, LE, GT, GE
 *              | BETWEEN operand operand operand
 *              | IN u8 count operand operand*               the first is looked for in the others
 *              | EXISTS path                                also NOT_EXISTS
 *              | TYPE operand u8 type
 *              | BEGINS_WITH operand operand                also CONTAINS
 *   operand   := PATH path | VALUE u8 type, u32 size, body | SIZE operand
 *   path      := u16 count (NAME u32 size, name | INDEX u32)*
 *
 * Capitals are one byte each; numbers are little-endian.
 *
 * Promises: program_check accepts exactly what can be evaluated, whatever the bytes are, and the
 * depth and the work of an evaluation are bounded by it. Evaluation allocates nothing but what
 * compare.h says. */
#ifndef WEIR_ENGINE_EXPRESSION_PROGRAM_H
#define WEIR_ENGINE_EXPRESSION_PROGRAM_H

#include "engine/expression/condition.h"

/* Appends the program of a tree that condition_parse returned. */
void program_encode(struct buffer *out, const struct condition *c);

/* Bytes from outside: STATUS_OK, or STATUS_MALFORMED. */
enum status program_check(struct slice program);

/* Whether the item fulfils the condition. The program passed program_check; an empty `item` stands
 * for none: every path leads to nothing. */
bool program_holds(struct slice program, struct slice item);

#endif
