/* optimum_fair.c - the weighted lexicographic max-min allocation, by water-filling.
 *
 * All flows rise together, each by its weight, and debit their resources by their coefficients.
 * A flow stops when it has its demand, and all flows of a resource stop when the resource is full.
 * So a flow below its demand met a full resource, and no other flow of that resource rose further:
 * this property defines the max-min allocation.
 * Source: Bertsekas and Gallager, Data Networks, section 6.5.2.
 *
 * Integers: levels (mcu per weight) are compared as fractions; a flow that stops gets the whole mcu
 * of its level. What rounding leaves, less than 1 mcu of each flow of a full resource, is handed
 * out mcu by mcu in the order of the flows, at most 2 each.
 *
 * Why a heap with stale keys works: the level at which a resource fills only grows when flows stop
 * below it. So a key that is too old is too small, and is corrected when it comes to the top. */
#include <stdlib.h>

#include "base/must.h"
#include "lab/optimum/optimum_internal.h"

#define UNLIMITED ((__int128)1 << 120) /* more than any demands debit */

struct fraction {
    __int128 over;  /* >= 0 */
    __int128 under; /* > 0 */
};

struct fair_row {
    __int128 demand;       /* what the demands of all its flows debit */
    __int128 weight;       /* what flows that still rise debit at level 1 */
    __int128 rest;         /* capacity that no stopped flow has */
    uint32_t first, count; /* its flows, in `members` */
};

struct heap_entry {
    struct fraction level;
    uint32_t row;
};

struct filling {
    const struct optimum_problem *p;
    struct fair_row *rows;
    uint32_t *members;
    uint32_t *order; /* the flows by the level at which they have their demand */
    bool *stopped;
    int64_t *amounts;
    struct heap_entry *heap;
    size_t heap_count;
};

/* Demands and the capacities of rows that can fill are <= 2^60. So the products of small fractions
 * fit; large ones are compared by their continued fractions. */
static bool is_less(struct fraction a, struct fraction b)
{
    const __int128 small = (__int128)1 << 66;
    if (a.under < small && b.under < small)
        return a.over * b.under < b.over * a.under;
    for (;;) {
        const __int128 x = a.over / a.under, y = b.over / b.under;
        const __int128 left = a.over - x * a.under, right = b.over - y * b.under;
        if (x != y || left == 0 || right == 0)
            return x != y ? x < y : left < right;
        const struct fraction turned = {b.under, right};
        b = (struct fraction){a.under, left};
        a = turned;
    }
}

static struct fraction level_of(const struct fair_row *row)
{
    return (struct fraction){row->rest, row->weight};
}

static int compare_flows(const void *a, const void *b, void *problem)
{
    const struct optimum_problem *p = problem;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    struct fraction x = {p->flows[i].demand_mcu, p->flows[i].weight};
    struct fraction y = {p->flows[k].demand_mcu, p->flows[k].weight};
    if (is_less(x, y) || is_less(y, x))
        return is_less(x, y) ? -1 : 1;
    return i < k ? -1 : i > k;
}

static void heap_sink(struct filling *f, size_t i)
{
    struct heap_entry moved = f->heap[i];
    for (size_t child; (child = 2 * i + 1) < f->heap_count; i = child) {
        if (child + 1 < f->heap_count && is_less(f->heap[child + 1].level, f->heap[child].level))
            child++;
        if (!is_less(f->heap[child].level, moved.level))
            break;
        f->heap[i] = f->heap[child];
    }
    f->heap[i] = moved;
}

/* The row that fills next; NULL: none fills any more. */
static struct fair_row *next_row(struct filling *f)
{
    while (f->heap_count > 0) {
        struct heap_entry *top = &f->heap[0];
        struct fair_row *row = &f->rows[top->row];
        if (row->weight > 0 && !is_less(top->level, level_of(row)))
            return row;
        if (row->weight > 0)
            top->level = level_of(row);
        else
            *top = f->heap[--f->heap_count];
        if (f->heap_count > 0)
            heap_sink(f, 0);
    }
    return NULL;
}

static void stop_flow(struct filling *f, uint32_t i, int64_t amount)
{
    const struct optimum_flow *flow = &f->p->flows[i];
    f->stopped[i] = true;
    f->amounts[i] = amount;
    for (uint32_t k = 0; k < flow->count; k++) {
        struct fair_row *row = &f->rows[flow->resources[k]];
        row->rest -= (__int128)amount * optimum_coefficient(flow, k);
        row->weight -= (__int128)flow->weight * optimum_coefficient(flow, k);
    }
}

static void fill_row(struct filling *f, const struct fair_row *row)
{
    struct fraction level = level_of(row);
    for (uint32_t k = 0; k < row->count; k++) {
        uint32_t i = f->members[row->first + k];
        if (f->stopped[i])
            continue;
        __int128 share = (__int128)f->p->flows[i].weight * level.over / level.under;
        int64_t demand = f->p->flows[i].demand_mcu;
        stop_flow(f, i, share < demand ? (int64_t)share : demand);
    }
}

static void read_problem(struct filling *f, struct optimum *o, const struct optimum_problem *p)
{
    size_t members = 0;
    int64_t sum = 0;
    f->rows = optimum_room(o, BLOCK_ROWS, p->resource_count, sizeof *f->rows);
    f->order = optimum_room(o, BLOCK_ROW_ORDER, p->flow_count, sizeof *f->order);
    f->stopped = optimum_room(o, BLOCK_PLACES, p->flow_count, sizeof *f->stopped);
    f->amounts = optimum_room(o, BLOCK_AMOUNTS, p->flow_count, sizeof *f->amounts);
    f->heap = optimum_room(o, BLOCK_HEAP, p->resource_count, sizeof *f->heap);
    for (uint32_t i = 0; i < p->flow_count; i++) {
        const struct optimum_flow *flow = &p->flows[i];
        must(flow->demand_mcu >= 0 && flow->demand_mcu <= OPTIMUM_MAX - sum);
        sum += flow->demand_mcu;
        must(flow->weight > 0 && flow->weight <= OPTIMUM_WEIGHT_MAX);
        must(flow->count <= OPTIMUM_PATH_MAX);
        members += flow->count;
        for (uint32_t k = 0; k < flow->count; k++) {
            must(flow->resources[k] < p->resource_count);
            struct fair_row *row = &f->rows[flow->resources[k]];
            row->demand += (__int128)flow->demand_mcu * optimum_coefficient(flow, k);
            row->weight += (__int128)flow->weight * optimum_coefficient(flow, k);
            row->count++;
        }
    }
    f->members = optimum_room(o, BLOCK_MEMBERS, members, sizeof *f->members);
    uint32_t first = 0;
    for (uint32_t r = 0; r < p->resource_count; r++) {
        struct fair_row *row = &f->rows[r];
        row->first = first;
        first += row->count;
        row->count = 0;
        row->rest = optimum_capacity(p, r);
        if (row->rest == OPTIMUM_UNLIMITED)
            row->rest = UNLIMITED;
        if (row->demand > row->rest) /* others cannot fill */
            f->heap[f->heap_count++] = (struct heap_entry){level_of(row), r};
    }
    for (uint32_t i = 0; i < p->flow_count; i++) {
        for (uint32_t k = 0; k < p->flows[i].count; k++) {
            struct fair_row *row = &f->rows[p->flows[i].resources[k]];
            f->members[row->first + row->count++] = i;
        }
    }
    for (size_t i = f->heap_count / 2; i-- > 0;)
        heap_sink(f, i);
}

/* Rounding leaves each full row less than 1 mcu of each flow. */
static void hand_out_rest(struct filling *f)
{
    bool any = true;
    for (int pass = 0; any && pass < 2; pass++) {
        any = false;
        for (uint32_t i = 0; i < f->p->flow_count; i++) {
            const struct optimum_flow *flow = &f->p->flows[i];
            bool fits = f->amounts[i] < flow->demand_mcu;
            for (uint32_t k = 0; fits && k < flow->count; k++)
                fits = f->rows[flow->resources[k]].rest >= optimum_coefficient(flow, k);
            if (!fits)
                continue;
            any = true;
            f->amounts[i]++;
            for (uint32_t k = 0; k < flow->count; k++)
                f->rows[flow->resources[k]].rest -= optimum_coefficient(flow, k);
        }
    }
}

struct optimum_result optimum_fair(struct optimum *o, const struct optimum_problem *p,
                                   int64_t *admitted_mcu)
{
    struct filling f = {.p = p};
    read_problem(&f, o, p);
    bool overloaded = f.heap_count > 0;
    for (uint32_t i = 0; i < p->flow_count; i++) {
        f.order[i] = i;
        f.amounts[i] = p->flows[i].demand_mcu;
    }
    if (overloaded)
        qsort_r(f.order, p->flow_count, sizeof *f.order, compare_flows, (void *)p);
    for (uint32_t next = 0; overloaded && next < p->flow_count;) {
        uint32_t i = f.order[next];
        const struct optimum_flow *flow = &p->flows[i];
        if (f.stopped[i]) {
            next++;
            continue;
        }
        const struct fair_row *row = next_row(&f);
        if (row != NULL &&
            is_less(level_of(row), (struct fraction){flow->demand_mcu, flow->weight}))
            fill_row(&f, row);
        else
            stop_flow(&f, i, flow->demand_mcu);
    }
    if (overloaded)
        hand_out_rest(&f);
    int64_t total = 0;
    for (uint32_t i = 0; i < p->flow_count; i++) {
        total += f.amounts[i];
        if (admitted_mcu != NULL)
            admitted_mcu[i] = f.amounts[i];
    }
    return (struct optimum_result){total, total};
}
