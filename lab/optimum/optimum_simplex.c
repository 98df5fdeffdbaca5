/* optimum_simplex.c - the linear program of the greatest total, by the dual simplex method for
 * bounded variables.
 *
 * Why dual: with all prices y zero and every flow at its demand, each reduced cost is 1, so this
 * start is dual feasible. Only overloaded rows are left to repair, and few are. One iteration
 * repairs one row: it moves flows from one bound to the other, cheapest first, until the row fits
 * (the long-step rule), and the last flow enters the basis.
 * Costs are 1 plus a small number of the column: without it all ratios tie and the method may
 * cycle. Prices of the final basis are returned for costs of exactly 1 and for these costs: where
 * coefficients differ much, the basis may be optimal for these alone.
 * Source: Koberstein, The Dual Simplex Method, 2005, chapters 3 and 6. Simplified: a dense inverse
 * of the basis, the most violated row leaves, no presolve (optimum_total.c does that). */
#include <math.h>
#include <string.h>

#include "lab/optimum/optimum_internal.h"

enum place {
    AT_LOWER,
    AT_UPPER,
    BASIC
};

struct candidate {
    double ratio;
    double size; /* abs(alpha) */
    uint32_t variable;
};

/* Variables: the columns, then a slack for each row. */
struct simplex {
    const struct optimum_program *p;
    uint32_t rows, columns;
    double *inverse; /* of the basis; rows x rows */
    uint32_t *basis; /* the variable of each basis row */
    double *norms;   /* of the rows of the inverse: squares of their lengths */
    double *values;  /* of the basic variables */
    double *y;       /* prices */
    double *reduced; /* costs, of all variables; 0 for basic ones */
    uint8_t *places; /* enum place */
    double *alphas;  /* the leaving row, for all variables */
    struct candidate *heap;
    double *change;   /* of row sums by flips */
    double *entering; /* the entering variable's column, through the inverse */
    double tolerance;
};

static double upper_of(const struct simplex *s, uint32_t variable)
{
    return variable < s->columns ? (double)s->p->columns[variable].bound : INFINITY;
}

/* What the column counts in its row number k. */
static double coefficient_of(const struct simplex *s, const struct optimum_column *c, uint32_t k)
{
    return (double)c->coefficients[k] * s->p->scales[c->rows[k]];
}

/* In [1, 1 + 2^-30), different for most variables. */
static double cost_of(uint32_t variable)
{
    uint64_t z = (variable + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 31)) * UINT64_C(0xBF58476D1CE4E5B9);
    return 1 + (double)(z >> 40) * 0x1p-54;
}

static void simplex_start(struct simplex *s, struct optimum *o, const struct optimum_program *p,
                          double *y)
{
    uint32_t m = p->row_count, n = p->column_count;
    *s = (struct simplex){.p = p, .rows = m, .columns = n, .y = y};
    s->inverse = optimum_room(o, BLOCK_INVERSE, (size_t)m * m, sizeof(double));
    s->basis = optimum_room(o, BLOCK_BASIS, m, sizeof(uint32_t));
    s->values = optimum_room(o, BLOCK_VALUES, m, sizeof(double));
    s->reduced = optimum_room(o, BLOCK_REDUCED, m + n, sizeof(double));
    s->places = optimum_room(o, BLOCK_PLACES, m + n, 1);
    s->alphas = optimum_room(o, BLOCK_ALPHAS, m + n, sizeof(double));
    s->heap = optimum_room(o, BLOCK_HEAP, m + n, sizeof(struct candidate));
    s->change = optimum_room(o, BLOCK_WORK, 3 * (size_t)m, sizeof(double));
    s->entering = s->change + m;
    s->norms = s->entering + m;
    double greatest = 0;
    for (uint32_t r = 0; r < m; r++) {
        s->inverse[(size_t)r * m + r] = s->norms[r] = 1;
        s->basis[r] = n + r;
        s->places[n + r] = BASIC;
        s->values[r] = p->capacities[r] * p->scales[r];
        s->y[r] = 0;
    }
    for (uint32_t j = 0; j < n; j++) {
        const struct optimum_column *c = &p->columns[j];
        s->places[j] = AT_UPPER;
        s->reduced[j] = cost_of(j);
        for (uint32_t k = 0; k < c->count; k++)
            if (c->rows[k] < m)
                s->values[c->rows[k]] -= (double)c->bound * coefficient_of(s, c, k);
    }
    for (uint32_t r = 0; r < m; r++)
        greatest = fmax(greatest, fmax(p->capacities[r] * p->scales[r], fabs(s->values[r])));
    s->tolerance = fmax(1e-6, greatest * 1e-13);
}

/* The row of the basis that breaks a bound most, measured along its edge (steepest-edge pricing);
 * `rows` if none does. */
static uint32_t most_violated(const struct simplex *s)
{
    uint32_t found = s->rows;
    double max = 0;
    for (uint32_t i = 0; i < s->rows; i++) {
        double excess = fmax(-s->values[i], s->values[i] - upper_of(s, s->basis[i]));
        if (excess > s->tolerance && excess * excess > max * s->norms[i]) {
            max = excess * excess / s->norms[i];
            found = i;
        }
    }
    return found;
}

static bool comes_before(const struct candidate *a, const struct candidate *b)
{
    if (a->ratio != b->ratio)
        return a->ratio < b->ratio;
    return a->size != b->size ? a->size > b->size : a->variable < b->variable;
}

static void heap_sink(struct candidate *heap, size_t count, size_t i)
{
    struct candidate moved = heap[i];
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && comes_before(&heap[child + 1], &heap[child]))
            child++;
        if (!comes_before(&heap[child], &moved))
            break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

static struct candidate heap_pop(struct candidate *heap, size_t *count)
{
    struct candidate first = heap[0];
    heap[0] = heap[--*count];
    if (*count > 0)
        heap_sink(heap, *count, 0);
    return first;
}

static double greatest_entry(const double *row, uint32_t count)
{
    double greatest = 0;
    for (uint32_t r = 0; r < count; r++)
        greatest = fmax(greatest, fabs(row[r]));
    return greatest;
}

/* Fills alphas, and the heap with the variables whose move repairs the leaving row. */
static size_t find_candidates(struct simplex *s, uint32_t leaving, double sign)
{
    const double *row = s->inverse + (size_t)leaving * s->rows;
    const double least = greatest_entry(row, s->rows) * 1e-13;
    size_t count = 0;
    for (uint32_t v = 0; v < s->columns + s->rows; v++) {
        s->alphas[v] = 0;
        if (s->places[v] == BASIC)
            continue;
        double alpha = 0;
        if (v >= s->columns) {
            alpha = row[v - s->columns];
        } else {
            const struct optimum_column *c = &s->p->columns[v];
            for (uint32_t k = 0; k < c->count; k++)
                if (c->rows[k] < s->rows)
                    alpha += row[c->rows[k]] * coefficient_of(s, c, k);
        }
        alpha *= sign;
        s->alphas[v] = alpha;
        if (s->places[v] == AT_UPPER ? alpha > least : alpha < -least)
            s->heap[count++] = (struct candidate){fmax(0, s->reduced[v] / alpha), fabs(alpha), v};
    }
    for (size_t i = count / 2; i-- > 0;)
        heap_sink(s->heap, count, i);
    return count;
}

static void add_to_rows(const struct simplex *s, uint32_t v, double amount, double *rows)
{
    if (v >= s->columns) {
        rows[v - s->columns] += amount;
        return;
    }
    const struct optimum_column *c = &s->p->columns[v];
    for (uint32_t k = 0; k < c->count; k++)
        if (c->rows[k] < s->rows)
            rows[c->rows[k]] += amount * coefficient_of(s, c, k);
}

/* The rows, through the inverse, into `entering`. Few of the rows are not zero. */
static void through_inverse(struct simplex *s, const double *rows)
{
    memset(s->entering, 0, s->rows * sizeof(double));
    for (uint32_t r = 0; r < s->rows; r++) {
        if (rows[r] == 0)
            continue;
        for (uint32_t i = 0; i < s->rows; i++)
            s->entering[i] += s->inverse[(size_t)i * s->rows + r] * rows[r];
    }
}

/* to -= times * from. Returns the square of its length. Four sums, so that additions overlap. */
static double subtract_row(double *to, const double *from, double times, uint32_t count)
{
    double sums[4] = {0};
    for (uint32_t r = 0; r < count; r++) {
        to[r] -= times * from[r];
        sums[r % 4] += to[r] * to[r];
    }
    return sums[0] + sums[1] + sums[2] + sums[3];
}

/* Moves cheap candidates to their other bound. Returns the one that enters; UINT32_MAX: none. */
static uint32_t flip_until_it_fits(struct simplex *s, size_t count, double excess, double *step)
{
    bool flipped = false;
    uint32_t enters = UINT32_MAX;
    memset(s->change, 0, s->rows * sizeof(double));
    while (count > 0) {
        struct candidate c = heap_pop(s->heap, &count);
        double width = upper_of(s, c.variable);
        if (excess - c.size * width <= 0) {
            *step = c.ratio;
            enters = c.variable;
            break;
        }
        excess -= c.size * width;
        bool down = s->places[c.variable] == AT_UPPER;
        s->places[c.variable] = down ? AT_LOWER : AT_UPPER;
        add_to_rows(s, c.variable, down ? -width : width, s->change);
        flipped = true;
    }
    if (flipped) {
        through_inverse(s, s->change);
        for (uint32_t i = 0; i < s->rows; i++)
            s->values[i] -= s->entering[i];
    }
    return enters;
}

/* `below`: the leaving variable goes to its lower bound. Its value after flips may be rounding. */
static void simplex_pivot(struct simplex *s, uint32_t leaving, uint32_t enters, bool below)
{
    uint32_t m = s->rows, leaves = s->basis[leaving];
    double *row = s->inverse + (size_t)leaving * m;
    memset(s->change, 0, m * sizeof(double));
    add_to_rows(s, enters, 1, s->change);
    through_inverse(s, s->change);
    double target = below ? 0 : upper_of(s, leaves);
    double move = (s->values[leaving] - target) / s->entering[leaving];
    double from = s->places[enters] == AT_UPPER ? upper_of(s, enters) : 0;
    for (uint32_t i = 0; i < m; i++)
        s->values[i] -= s->entering[i] * move;
    s->values[leaving] = from + move;
    s->basis[leaving] = enters;
    s->places[enters] = BASIC;
    s->places[leaves] = below ? AT_LOWER : AT_UPPER;
    double scale = 1 / s->entering[leaving];
    for (uint32_t r = 0; r < m; r++)
        row[r] *= scale;
    s->norms[leaving] *= scale * scale;
    for (uint32_t i = 0; i < m; i++) {
        double times = s->entering[i];
        double *other = s->inverse + (size_t)i * m;
        if (i == leaving || times == 0)
            continue;
        s->norms[i] = subtract_row(other, row, times, m);
    }
}

static bool simplex_iterate(struct simplex *s)
{
    uint32_t leaving = most_violated(s), leaves;
    if (leaving == s->rows)
        return false;
    leaves = s->basis[leaving];
    bool below = s->values[leaving] < 0;
    double sign = below ? 1 : -1, step = 0;
    double excess = below ? -s->values[leaving] : s->values[leaving] - upper_of(s, leaves);
    size_t count = find_candidates(s, leaving, sign);
    uint32_t enters = flip_until_it_fits(s, count, excess, &step);
    if (enters == UINT32_MAX)
        return false; /* the rest is rounding: zero flows always fit */
    for (uint32_t v = 0; v < s->columns + s->rows; v++)
        s->reduced[v] -= step * s->alphas[v];
    s->reduced[enters] = 0;
    s->reduced[leaves] = -sign * step;
    simplex_pivot(s, leaving, enters, below);
    return true;
}

void optimum_simplex(struct optimum *o, const struct optimum_program *p, double *x, double *y,
                     double *near)
{
    struct simplex s;
    simplex_start(&s, o, p, y);
    uint64_t limit = 50 * (uint64_t)s.rows + 1000;
    while (limit-- > 0 && simplex_iterate(&s)) {
    }
    for (uint32_t r = 0; r < s.rows; r++)
        near[r] = 0;
    for (uint32_t j = 0; j < s.columns; j++)
        x[j] = s.places[j] == AT_UPPER ? (double)p->columns[j].bound : 0;
    for (uint32_t i = 0; i < s.rows; i++) {
        if (s.basis[i] >= s.columns)
            continue;
        x[s.basis[i]] = s.values[i];
        for (uint32_t r = 0; r < s.rows; r++) {
            const double price = s.inverse[(size_t)i * s.rows + r] * p->scales[r];
            y[r] += price;
            near[r] += price * cost_of(s.basis[i]);
        }
    }
}
