/* optimum_total.c - the greatest total, with a proof.
 *
 * The problem is a linear program: maximize the sum of x, 0 <= x_f <= demand_f, the sum of
 * a_fr x_f over each resource r at most its capacity. The coefficients a_fr are whole numbers from
 * 1 on.
 *   1. Reduce. A resource that cannot overflow is dropped. A resource of one flow becomes the
 *      flow's bound. Flows that debit the same of all remaining resources become one flow. This
 *      repeats until it changes nothing, or four times. What is left is small: tables and nodes
 *      that are really overloaded.
 *   2. Solve in doubles: cheaply, row by row; if step 3 finds that this is not the optimum, by the
 *      simplex method (optimum_simplex.c).
 *   3. Prove in integers. For any prices y >= 0 of resources,
 *          sum x <= sum_r capacity_r y_r + sum_f demand_f max(0, 1 - sum_r a_fr y_r)
 *      holds for every allowed x (weak duality: add capacity_r - load_r >= 0, times y_r, to
 *      sum x). So the prices of the simplex method, rounded to multiples of 2^-PRICE_BITS, give a
 *      bound that is true even if the method went wrong.
 *   4. Round x down, repair what overflows, hand out what is left: an allocation of whole mcu.
 * OPTIMUM-1 follows from 3 and 4, and must() checks total <= bound. The two meet (but for rounding)
 * if the prices and x are optimal: that is how a wrong result would show. */
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "lab/optimum/optimum_internal.h"

enum {
    LEVELS = 4,
    PRICE_BITS = 50, /* prices are at most 1, and less than 2^17 of them fit into the sums */
    /* The inverse of the basis has ROWS_MAX^2 doubles. Prices of further resources, those with the
     * fewest flows, are found one by one: the bound stays true and may be too high. */
    ROWS_MAX = 512,
    PRICE_PASSES = 4,
};

struct level {
    struct optimum_column *items;
    uint32_t *groups; /* of each item, on the next level */
    uint32_t count;
};

struct reduction {
    struct optimum *o;
    const struct optimum_problem *p;
    struct level levels[LEVELS];
    int last; /* the level that is solved */
};

struct row_state {
    __int128 sum; /* what the bounds of its items debit */
    uint32_t users;
    bool dropped;
    uint32_t index; /* in the linear program */
};

static void insert_sorted(struct optimum_column *item, uint32_t row, uint32_t coefficient)
{
    uint32_t i = item->count++;
    for (; i > 0 && item->rows[i - 1] > row; i--) {
        item->rows[i] = item->rows[i - 1];
        item->coefficients[i] = item->coefficients[i - 1];
    }
    item->rows[i] = row;
    item->coefficients[i] = coefficient;
}

static void read_flows(struct reduction *d)
{
    struct level *level = &d->levels[0];
    level->count = d->p->flow_count;
    level->items = optimum_room(d->o, BLOCK_LEVELS, level->count, sizeof *level->items);
    int64_t sum = 0;
    for (uint32_t i = 0; i < level->count; i++) {
        const struct optimum_flow *f = &d->p->flows[i];
        struct optimum_column *item = &level->items[i];
        must(f->demand_mcu >= 0 && f->demand_mcu <= OPTIMUM_MAX - sum);
        sum += f->demand_mcu;
        must(f->count <= OPTIMUM_PATH_MAX);
        item->bound = f->demand_mcu;
        for (uint32_t k = 0; k < f->count; k++) {
            must(f->resources[k] < d->p->resource_count);
            int64_t coefficient = optimum_coefficient(f, k);
            int64_t fits = optimum_capacity(d->p, f->resources[k]) / coefficient;
            item->bound = item->bound < fits ? item->bound : fits;
            insert_sorted(item, f->resources[k], (uint32_t)coefficient);
        }
    }
}

static void sum_rows(const struct reduction *d, const struct level *level, struct row_state *rows)
{
    for (uint32_t r = 0; r < d->p->resource_count; r++)
        rows[r] = (struct row_state){0};
    for (uint32_t i = 0; i < level->count; i++) {
        const struct optimum_column *item = &level->items[i];
        for (uint32_t k = 0; k < item->count; k++) {
            rows[item->rows[k]].sum += (__int128)item->bound * item->coefficients[k];
            rows[item->rows[k]].users += item->bound > 0;
        }
    }
}

/* Drops what no longer binds. Returns whether anything was. */
static bool drop_rows(const struct reduction *d, const struct level *level, struct row_state *rows)
{
    bool any = false;
    sum_rows(d, level, rows);
    for (uint32_t i = 0; i < level->count; i++) {
        struct optimum_column *item = &level->items[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < item->count; k++) {
            struct row_state *row = &rows[item->rows[k]];
            int64_t capacity = optimum_capacity(d->p, item->rows[k]);
            int64_t fits = capacity / item->coefficients[k];
            if (row->users <= 1 && item->bound > fits)
                item->bound = fits;
            if (item->bound > 0 && row->users > 1 && capacity != OPTIMUM_UNLIMITED &&
                row->sum > capacity) {
                item->coefficients[kept] = item->coefficients[k];
                item->rows[kept++] = item->rows[k];
            }
        }
        any |= kept < item->count;
        item->count = kept;
    }
    return any;
}

static uint64_t hash_rows(const struct optimum_column *item)
{
    uint64_t h = item->count;
    for (uint32_t k = 0; k < item->count; k++) {
        h ^= item->rows[k] | (uint64_t)item->coefficients[k] << 32;
        h *= UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 29;
    }
    return h;
}

static bool debits_the_same(const struct optimum_column *a, const struct optimum_column *b)
{
    return a->count == b->count && memcmp(a->rows, b->rows, a->count * sizeof *a->rows) == 0 &&
           memcmp(a->coefficients, b->coefficients, a->count * sizeof *a->coefficients) == 0;
}

/* Makes the next level: one item for all items that debit the same. */
static void group_items(struct reduction *d, int at)
{
    struct level *level = &d->levels[at], *next = &d->levels[at + 1];
    level->groups = optimum_room(d->o, (enum optimum_block)(BLOCK_LEVELS + LEVELS + at),
                                 level->count, sizeof *level->groups);
    next->items = optimum_room(d->o, (enum optimum_block)(BLOCK_LEVELS + at + 1), level->count,
                               sizeof *next->items);
    next->count = 0;
    size_t places = 16;
    while (places < 2 * (size_t)level->count)
        places *= 2;
    uint32_t *table = optimum_room(d->o, BLOCK_HASH, places, sizeof *table); /* group + 1 */
    for (uint32_t i = 0; i < level->count; i++) {
        const struct optimum_column *item = &level->items[i];
        size_t place = hash_rows(item) & (places - 1);
        for (; table[place] != 0; place = (place + 1) & (places - 1)) {
            if (debits_the_same(&next->items[table[place] - 1], item))
                break;
        }
        if (table[place] == 0) {
            next->items[next->count] = *item;
            next->items[next->count].bound = 0;
            table[place] = ++next->count;
        }
        level->groups[i] = table[place] - 1;
        next->items[level->groups[i]].bound += item->bound;
    }
}

static void reduction_run(struct reduction *d, struct row_state *rows)
{
    read_flows(d);
    d->last = 0;
    while (d->last + 1 < LEVELS) {
        if (!drop_rows(d, &d->levels[d->last], rows) && d->last > 0)
            break;
        group_items(d, d->last);
        d->last++;
    }
}

struct ordered_row {
    uint32_t users;
    uint32_t resource;
};

static int compare_rows(const void *a, const void *b)
{
    const struct ordered_row *x = a, *y = b;
    if (x->users != y->users)
        return x->users > y->users ? -1 : 1;
    return x->resource < y->resource ? -1 : x->resource > y->resource;
}

/* Numbers the rows that are left, those with most items first. Fills the capacities by number. */
static uint32_t number_rows(struct reduction *d, struct row_state *rows, int64_t *capacities)
{
    const struct level *level = &d->levels[d->last];
    uint32_t count = 0;
    sum_rows(d, level, rows);
    struct ordered_row *order =
        optimum_room(d->o, BLOCK_ROW_ORDER, d->p->resource_count, sizeof *order);
    for (uint32_t r = 0; r < d->p->resource_count; r++)
        if (rows[r].users > 0)
            order[count++] = (struct ordered_row){rows[r].users, r};
    qsort(order, count, sizeof *order, compare_rows);
    for (uint32_t i = 0; i < count; i++) {
        rows[order[i].resource].index = i;
        capacities[i] = optimum_capacity(d->p, order[i].resource);
    }
    return count;
}

/* The items of the last level that rows bound, with the numbers of their rows. */
static uint32_t make_columns(struct reduction *d, const struct row_state *rows,
                             struct optimum_column *columns, uint32_t *items)
{
    const struct level *level = &d->levels[d->last];
    uint32_t count = 0;
    for (uint32_t i = 0; i < level->count; i++) {
        const struct optimum_column *item = &level->items[i];
        if (item->count == 0 || item->bound == 0)
            continue;
        struct optimum_column *c = &columns[count];
        c->bound = item->bound;
        for (uint32_t k = 0; k < item->count; k++)
            insert_sorted(c, rows[item->rows[k]].index, item->coefficients[k]);
        items[count++] = i;
    }
    return count;
}

struct solution {
    struct optimum_program program;
    const int64_t *capacities;
    uint32_t row_count; /* program.row_count of them are in the simplex method's program */
    double *x, *y;
    double *near; /* other prices, which may prove more */
    int64_t *whole;
    __int128 *used;
};

struct priced_column {
    double price; /* of the row: what the other rows leave of its value, 1, for each debited unit */
    double load;  /* what its bound debits of the row */
};

static int compare_prices(const void *a, const void *b)
{
    double x = ((const struct priced_column *)a)->price;
    double y = ((const struct priced_column *)b)->price;
    return x > y ? -1 : x < y;
}

/* The price of a row that makes the bound of step 3 least while all other prices stay: that of the
 * first column that does not fit, if those with greater prices come first. */
static double best_price(struct priced_column *columns, uint32_t count, double capacity)
{
    qsort(columns, count, sizeof *columns, compare_prices);
    for (uint32_t i = 0; i < count; i++) {
        capacity -= columns[i].load;
        if (capacity < 0)
            return columns[i].price > 0 ? columns[i].price : 0;
    }
    return 0;
}

static struct priced_column price_column(const struct optimum_column *c, uint32_t row,
                                         const double *y)
{
    double rest = 1, coefficient = 1;
    for (uint32_t k = 0; k < c->count; k++) {
        if (c->rows[k] == row)
            coefficient = (double)c->coefficients[k];
        else
            rest -= (double)c->coefficients[k] * y[c->rows[k]];
    }
    return (struct priced_column){rest / coefficient, (double)c->bound * coefficient};
}

/* Improves the prices of the rows from `first` on, one by one, those with the fewest flows
 * first. */
static void price_further_rows(struct optimum *o, const struct solution *s, uint32_t first)
{
    const struct optimum_program *p = &s->program;
    uint32_t row_count = s->row_count;
    double *y = s->y;
    uint32_t *firsts = optimum_room(o, BLOCK_HASH, row_count + 1, sizeof *firsts), uses = 0;
    for (uint32_t j = 0; j < p->column_count; j++)
        for (uint32_t k = 0; k < p->columns[j].count; k++)
            firsts[p->columns[j].rows[k] + 1]++;
    for (uint32_t r = 0; r < row_count; r++)
        firsts[r + 1] += firsts[r];
    uses = firsts[row_count];
    uint32_t *users = optimum_room(o, BLOCK_HEAP, uses, sizeof *users);
    struct priced_column *priced = optimum_room(o, BLOCK_WORK, uses, sizeof *priced);
    uint32_t *filled = optimum_room(o, BLOCK_BASIS, row_count, sizeof *filled);
    for (uint32_t j = 0; j < p->column_count; j++) {
        for (uint32_t k = 0; k < p->columns[j].count; k++) {
            uint32_t r = p->columns[j].rows[k];
            users[firsts[r] + filled[r]++] = j;
        }
    }
    for (int pass = 0; pass < PRICE_PASSES; pass++) {
        for (uint32_t r = row_count; r-- > first;) {
            uint32_t count = firsts[r + 1] - firsts[r];
            for (uint32_t i = 0; i < count; i++)
                priced[i] = price_column(&p->columns[users[firsts[r] + i]], r, y);
            y[r] = best_price(priced, count, (double)s->capacities[r]);
        }
    }
}

/* In 2^-PRICE_BITS. */
static int64_t whole_price(double y)
{
    const double price = y > 0 ? (y < 1 ? y : 1) : 0; /* also for NAN */
    return (int64_t)(price * (double)(INT64_C(1) << PRICE_BITS) + 0.5);
}

/* Step 3, for the columns. */
static __int128 prove_bound(const struct optimum_column *columns, uint32_t count,
                            const int64_t *capacities, uint32_t row_count, const double *y)
{
    const int64_t one = INT64_C(1) << PRICE_BITS;
    __int128 bound = 0;
    for (uint32_t r = 0; r < row_count; r++)
        bound += (__int128)capacities[r] * whole_price(y[r]);
    for (uint32_t j = 0; j < count; j++) {
        __int128 rest = one;
        for (uint32_t k = 0; k < columns[j].count; k++)
            rest -= (__int128)columns[j].coefficients[k] * whole_price(y[columns[j].rows[k]]);
        if (rest > 0)
            bound += columns[j].bound * rest;
    }
    return bound >> PRICE_BITS;
}

static __int128 divide_down(__int128 over, __int128 under)
{
    return over / under - (over % under < 0);
}

/* Step 4. */
static void make_integral(const struct optimum_column *columns, uint32_t count,
                          const int64_t *capacities, const double *x, int64_t *amounts,
                          __int128 *used)
{
    for (uint32_t j = 0; j < count; j++) {
        double whole = x[j] + 1e-6;
        amounts[j] = !(whole > 0)                        ? 0
                     : whole >= (double)columns[j].bound ? columns[j].bound
                                                         : (int64_t)whole;
        for (uint32_t k = 0; k < columns[j].count; k++)
            used[columns[j].rows[k]] += (__int128)amounts[j] * columns[j].coefficients[k];
    }
    for (int pass = 0; pass < 2; pass++) { /* take back, then hand out */
        for (uint32_t j = 0; j < count; j++) {
            int64_t change = pass == 0 ? 0 : columns[j].bound - amounts[j];
            for (uint32_t k = 0; k < columns[j].count; k++) {
                uint32_t r = columns[j].rows[k];
                __int128 fits = divide_down(capacities[r] - used[r], columns[j].coefficients[k]);
                fits = fits < -amounts[j] ? -amounts[j] : fits;
                change = fits < change ? (int64_t)fits : change;
            }
            amounts[j] += change;
            for (uint32_t k = 0; k < columns[j].count; k++)
                used[columns[j].rows[k]] += (__int128)change * columns[j].coefficients[k];
        }
    }
}

/* What the groups of a level have, given to their items in order. */
static void level_expand(const struct level *level, int64_t *groups, int64_t *amounts)
{
    for (uint32_t i = 0; i < level->count; i++) {
        int64_t *rest = &groups[level->groups[i]];
        amounts[i] = level->items[i].bound < *rest ? level->items[i].bound : *rest;
        *rest -= amounts[i];
    }
}

/* Steps 3 and 4. Returns the bound. */
static __int128 solution_conclude(struct solution *s, __int128 *total)
{
    const struct optimum_column *columns = s->program.columns;
    uint32_t count = s->program.column_count;
    memset(s->used, 0, s->row_count * sizeof *s->used);
    make_integral(columns, count, s->capacities, s->x, s->whole, s->used);
    *total = 0;
    for (uint32_t j = 0; j < count; j++)
        *total += s->whole[j];
    return prove_bound(columns, count, s->capacities, s->row_count, s->y);
}

/* First by the cheap prices: if their bound is met, nothing is left to solve. */
static __int128 solve_columns(struct optimum *o, struct solution *s)
{
    __int128 total, cheap, bound;
    for (uint32_t j = 0; j < s->program.column_count; j++)
        s->x[j] = (double)s->program.columns[j].bound;
    price_further_rows(o, s, 0);
    cheap = solution_conclude(s, &total);
    if (total == cheap)
        return cheap;
    optimum_simplex(o, &s->program, s->x, s->y, s->near);
    if (s->program.row_count < s->row_count)
        price_further_rows(o, s, s->program.row_count);
    bound = solution_conclude(s, &total);
    cheap = bound < cheap ? bound : cheap;
    bound = prove_bound(s->program.columns, s->program.column_count, s->capacities, s->row_count,
                        s->near);
    return bound < cheap ? bound : cheap;
}

static void scale_rows(const struct optimum_column *columns, uint32_t count, uint32_t row_count,
                       double *scales)
{
    for (uint32_t r = 0; r < row_count; r++)
        scales[r] = 1;
    for (uint32_t j = 0; j < count; j++) {
        for (uint32_t k = 0; k < columns[j].count; k++) {
            double *scale = &scales[columns[j].rows[k]];
            const double inverse = 1 / (double)columns[j].coefficients[k];
            *scale = inverse < *scale ? inverse : *scale;
        }
    }
}

static void reduction_solve(struct reduction *d, struct row_state *rows, int64_t *amounts,
                            __int128 *bound)
{
    const struct level *level = &d->levels[d->last];
    struct optimum *o = d->o;
    size_t resources = d->p->resource_count;
    int64_t *capacities = optimum_room(o, BLOCK_CAPACITIES, 2 * resources, sizeof *capacities);
    struct optimum_column *columns = optimum_room(o, BLOCK_COLUMNS, level->count, sizeof *columns);
    uint32_t *items = optimum_room(o, BLOCK_MEMBERS, level->count, sizeof *items);
    double *real = (double *)(capacities + resources);
    double *scales = optimum_room(o, BLOCK_SCALES, resources, sizeof *scales);
    struct solution s = {.capacities = capacities, .row_count = number_rows(d, rows, capacities)};
    for (uint32_t r = 0; r < s.row_count; r++)
        real[r] = (double)capacities[r];
    uint32_t count = make_columns(d, rows, columns, items);
    scale_rows(columns, count, s.row_count, scales);
    s.program = (struct optimum_program){columns, count, real, scales,
                                         s.row_count < ROWS_MAX ? s.row_count : ROWS_MAX};
    s.x = optimum_room(o, BLOCK_FLOWS, count, sizeof *s.x);
    s.y = optimum_room(o, BLOCK_DUALS, s.row_count, sizeof *s.y);
    s.near = optimum_room(o, BLOCK_DUALS_NEAR, s.row_count, sizeof *s.near);
    s.whole = optimum_room(o, BLOCK_AMOUNTS_BELOW, level->count, sizeof *s.whole);
    s.used = optimum_room(o, BLOCK_USED, s.row_count, sizeof *s.used);
    *bound = solve_columns(o, &s);
    for (uint32_t i = 0, j = 0; i < level->count; i++) {
        bool is_column = j < count && items[j] == i;
        amounts[i] = is_column                    ? s.whole[j++]
                     : level->items[i].count == 0 ? level->items[i].bound
                                                  : 0;
        if (!is_column)
            *bound += amounts[i];
    }
}

struct optimum_result optimum_total(struct optimum *o, const struct optimum_problem *p,
                                    int64_t *admitted_mcu)
{
    struct reduction d = {.o = o, .p = p};
    struct row_state *rows = optimum_room(o, BLOCK_ROWS, p->resource_count, sizeof *rows);
    __int128 bound = 0;
    int64_t total = 0, demand = 0;
    reduction_run(&d, rows);
    int64_t *amounts = optimum_room(o, BLOCK_AMOUNTS, p->flow_count, sizeof *amounts);
    reduction_solve(&d, rows, amounts, &bound);
    for (int at = d.last - 1; at >= 0; at--) {
        int64_t *groups =
            optimum_room(o, BLOCK_AMOUNTS_BELOW, d.levels[at + 1].count, sizeof *groups);
        memcpy(groups, amounts, d.levels[at + 1].count * sizeof *groups);
        level_expand(&d.levels[at], groups, amounts);
    }
    for (uint32_t i = 0; i < p->flow_count; i++) {
        total += amounts[i];
        demand += p->flows[i].demand_mcu;
        if (admitted_mcu != NULL)
            admitted_mcu[i] = amounts[i];
    }
    must(total <= bound);
    return (struct optimum_result){total, bound < demand ? (int64_t)bound : demand};
}
