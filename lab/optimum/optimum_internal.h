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
    BLOCK_SCALES,
    BLOCK_INVERSE,
    BLOCK_BASIS,
    BLOCK_VALUES,
    BLOCK_DUALS,
    BLOCK_DUALS_NEAR,
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

/* What an mcu of the flow debits of its resource number k. */
static inline int64_t optimum_coefficient(const struct optimum_flow *f, uint32_t k)
{
    return f->coefficients[k] > 0 ? f->coefficients[k] : 1;
}

/* 0 or more, or OPTIMUM_UNLIMITED. */
static inline int64_t optimum_capacity(const struct optimum_problem *p, uint32_t resource)
{
    const int64_t capacity = p->capacities[resource];
    return capacity > 0 ? capacity : 0;
}

/* A variable of the linear program: 0 <= x <= bound, and x counts in each of its rows as often as
 * its coefficient there says. */
struct optimum_column {
    int64_t bound;
    uint32_t count;
    uint32_t rows[OPTIMUM_PATH_MAX];         /* ascending */
    uint32_t coefficients[OPTIMUM_PATH_MAX]; /* >= 1 */
};

/* Maximize the sum of x so that each row's sum is at most its capacity. Rows of a column that are
 * not below row_count are ignored. A row's scale, by which the method multiplies it, makes its
 * greatest coefficient 1: so one tolerance serves all rows. */
struct optimum_program {
    const struct optimum_column *columns;
    uint32_t column_count;
    const double *capacities; /* not scaled */
    const double *scales;
    uint32_t row_count;
};

/* Fills x[column] and the dual prices y[row] to the precision of doubles, and the prices of nearly
 * the same program, near[row]. All may not be optimal: the caller proves what they are worth. */
void optimum_simplex(struct optimum *o, const struct optimum_program *p, double *x, double *y,
                     double *near);
