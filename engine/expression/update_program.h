/* update_program.h - an update as bytes: made by a router, sent in a request, applied by a leader.
 *
 *   update  := u16 count action*
 *   action  := SET path value
 *            | REMOVE path
 *            | ADD path u8 type, u32 size, body           a number, a set or a list
 *            | DELETE path u8 type, u32 size, body        a set
 *   value   := operand | PLUS operand operand             also MINUS, APPEND
 *   operand := PATH path | VALUE u8 type, u32 size, body | IF_NOT_EXISTS path operand
 *   path    := as in program.h
 *
 * A word in capitals is one byte; numbers are little-endian. No bytes at all are an update without
 * actions.
 *
 * Promises: update_program_check accepts a program exactly if it can be applied. It bounds the
 * depth of update_apply; step_budget.h bounds the work. update_program_check does not refuse paths
 * that overlap, as update_parse does: such an update makes some item. */
#pragma once

#include "engine/expression/update.h"
#include "engine/item/step_budget.h"

/* Why an update does not fit an item. Numbers are never reused: replies carry them. */
enum update_fault {
    UPDATE_OK = 0,
    UPDATE_NO_ATTRIBUTE = 1, /* an operand's path leads to nothing */
    UPDATE_OPERAND_TYPE = 2, /* + and - of no number, list_append of no list, ADD or DELETE of
                                another type */
    UPDATE_PATH_INVALID = 3, /* a path goes through something that is no map or list, or nothing */
    UPDATE_TOO_LARGE = 4,    /* the new item has more than ITEM_SIZE_MAX bytes */
    UPDATE_TOO_DEEP = 5,     /* the new item has more than NESTING_MAX levels */
    UPDATE_NUMBER_RANGE = 6, /* a sum is too large, or has too many digits */
    UPDATE_NUMBER_SMALL = 7, /* a sum is too close to 0 */
    /* the new item has a value that cannot be the key of an index: */
    UPDATE_INDEX_KEY_TYPE = 8,
    UPDATE_INDEX_KEY_EMPTY = 9,
    UPDATE_INDEX_KEY_SIZE = 10,
    UPDATE_TOO_COSTLY = 11, /* it, or a condition, needs more steps (step_budget.h) than
                               STEPS_ITEM_MAX */
    UPDATE_FAULTS,
};

/* The service's text; a static text. */
const char *update_fault_text(enum update_fault fault);

/* Appends the program of an update. False: its values have more than EXPRESSION_VALUES_SIZE_MAX
 * bytes, and nothing was appended. */
bool update_program_encode(struct buffer *out, const struct update *update);

/* Checks bytes from outside: STATUS_OK, or STATUS_MALFORMED. */
enum status update_program_check(struct slice program);

/* Appends the item that the update makes of `item`, with header and checksum. Every operand is read
 * from `item`, none from the new item. The program must have passed update_program_check, and
 * `item` must be sound. `exists` false: there is no item yet, and `item` has only the key. If the
 * result is not UPDATE_OK, `out` is as before.
 * Of several faults, the first of the values of SET is told, otherwise the first of the actions'
 * paths, otherwise the size. */
enum update_fault update_apply(struct slice program, struct slice item, bool exists,
                               struct steps *steps, struct buffer *out);
