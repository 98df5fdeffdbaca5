/* program_internal.h - the byte values of a program's operations (program.h). */
#pragma once

#include "base/buffer.h"

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

static inline uint32_t program_read_u16(struct reader *r)
{
    uint32_t low = reader_u8(r);
    return low | (uint32_t)reader_u8(r) << 8;
}
