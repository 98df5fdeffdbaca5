/* program_part.h - the parts that programs of conditions and of updates share: paths and
 * values, and the byte values of operations (program.h, update_program.h). */
#pragma once

#include "engine/expression/expression.h"
#include "engine/item/step_budget.h"

enum program_op {
    PROGRAM_OR = 1,
    PROGRAM_AND,
    PROGRAM_NOT,
    PROGRAM_EQ,
    PROGRAM_NE,
    PROGRAM_LT,
    PROGRAM_LE,
    PROGRAM_GT,
    PROGRAM_GE,
    PROGRAM_BETWEEN,
    PROGRAM_IN,
    PROGRAM_EXISTS,
    PROGRAM_NOT_EXISTS,
    PROGRAM_TYPE,
    PROGRAM_BEGINS_WITH,
    PROGRAM_CONTAINS,
};

enum program_operand {
    PROGRAM_PATH = 1,
    PROGRAM_VALUE,
    PROGRAM_SIZE,
};

enum program_part {
    PROGRAM_NAME = 1,
    PROGRAM_INDEX,
};

void program_append_u16(struct buffer *out, uint32_t value);
void program_append_path(struct buffer *out, const struct path_part *path);
/* Type, size, body. */
void program_append_value(struct buffer *out, const struct attr *value);

/* Read what was appended, from outside. False: it is malformed. */
bool program_check_path(struct reader *r);
bool program_check_value(struct reader *r);

/* Reads a whole path, even if it leads to nothing in the item. */
bool program_find_path(struct reader *r, struct slice item, struct attr *out, struct steps *steps);
struct attr program_read_value(struct reader *r);
/* Reads one step of a path. False: the bytes are at their end. */
bool program_read_step(struct reader *r, struct path_part *out);

/* The values of an update. PATH and VALUE are as in conditions. */
enum update_op {
    UPDATE_OP_PATH = PROGRAM_PATH,
    UPDATE_OP_VALUE = PROGRAM_VALUE,
    UPDATE_OP_IF_NOT_EXISTS = 16,
    UPDATE_OP_PLUS,
    UPDATE_OP_MINUS,
    UPDATE_OP_APPEND,
};

static inline uint32_t program_read_u16(struct reader *r)
{
    uint32_t low = reader_u8(r);
    return low | (uint32_t)reader_u8(r) << 8;
}
