/* window_rows.h - the problems of the optimum, window by window: `weir lab run --requests`.
 *
 *   # weir-windows-1 {"scenario":"overload","policy":"credits","point":"","seed":1,..}
 *   row,at_ns,problem,flow,resource,..
 *   resource,5000000000,max-min,,14,processors,..,110000000000,..
 *   flow,5000000000,max-min,3,,..
 *   debit,5000000000,max-min,3,14,..
 *
 * A `resource` has its capacity, a `flow` its demand, a `debit` what an mcu of a flow takes of a
 * resource. The totals have only the rows that `max-min` does not have. docs/requests.md has the
 * columns. */
#pragma once

#include "lab/measure/measure.h"
#include "lab/run/row_text.h"

struct window_rows {
    struct row_text rows;
};

/* Writes the head. window_rows_end writes what is left, and frees. */
void window_rows_begin(struct window_rows *w, const struct lab_job *job, const struct scenario *s);
/* As `solved` of struct measure_options; the context is a struct window_rows. */
void window_rows_add(void *context, const struct measure *m, const struct measure_problem *p);
void window_rows_end(struct window_rows *w);
