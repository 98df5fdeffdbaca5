/* request_rows.h - a row for each request of a run: `weir lab run --requests`.
 *
 *   # weir-requests-1 {"scenario":"spikes","policy":"burst","point":"","seed":1,..}
 *   event,at_ns,tenant,table,kind,outcome,index,mcu,latency_ns,awaited,hedge
 *   request,1203441,"spike","orders",write,admitted,,1000,412000,1,0
 *   request,1204002,"spike","orders",write,table,,1000,,1,0
 *
 * The text is CSV, and packed by gzip in several members. docs/requests.md has the columns; their
 * version is in the first line.
 * Not here: the file (cmd/lab_rows.h). */
#pragma once

#include "lab/measure/measure.h"
#include "lab/run/row_text.h"

struct request_rows {
    const struct scenario *scenario; /* borrows */
    struct row_text rows;
};

/* Writes the head. request_rows_end writes what is left, and frees. */
void request_rows_begin(struct request_rows *r, const struct lab_job *job,
                        const struct scenario *s);
/* As `row` of struct measure_options; the context is a struct request_rows. */
void request_rows_add(void *context, const struct measure_event *row);
void request_rows_end(struct request_rows *r);
