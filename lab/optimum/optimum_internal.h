/* optimum_internal.h - what the files of the optimum share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lab/optimum/optimum.h"

/* One block of scratch memory each. */
enum optimum_block {
    BLOCK_LEVELS, /* the items of four levels, and their groups */
    BLOCK_LEVELS_LAST = BLOCK_LEVELS + 7,
    BLOCK_HASH,
    BLOCK_ROWS,
    BLOCK_ROW_ORDER,
    BLOCK_USED,
    BLOCK_AMOUNTS,
    BLOCK_AMOUNTS_BELOW,
    BLOCK_COLUMNS,
    BLOCK_CAPACITIES,
    BLOCK_INVERSE,
    BLOCK_BASIS,
    BLOCK_VALUES,
    BLOCK_DUALS,
    BLOCK_REDUCED,
    BLOCK_PLACES,
    BLOCK_ALPHAS,
    BLOCK_HEAP,
    BLOCK_WORK,
    BLOCK_FLOWS,
    BLOCK_MEMBERS,
    OPTIMUM_BLOCKS
};

struct optimum {
    void *blocks[OPTIMUM_BLOCKS]; /* owns */
    size_t sizes[OPTIMUM_BLOCKS];
};

/* Room for `count` elements, zeroed, until the next call with the same block. */
void *optimum_room(struct optimum *o, enum optimum_block block, size_t count, size_t size);

/* A variable of the linear program: 0 <= x <= bound, and x counts once in each of its rows. */
struct optimum_column {
    int64_t bound;
    uint32_t count;
    uint32_t rows[OPTIMUM_PATH_MAX]; /* ascending */
};

/* Maximize the sum of x so that each row's sum is at most its capacity. Rows of a column that are
 * not below row_count are ignored. */
struct optimum_program {
    const struct optimum_column *columns;
    uint32_t column_count;
    const double *capacities;
    uint32_t row_count;
};

/* Fills x[column] and the dual prices y[row], both to the precision of doubles, and both perhaps
 * not optimal: the caller proves what they are worth. */
void optimum_simplex(struct optimum *o, const struct optimum_program *p, double *x, double *y);
