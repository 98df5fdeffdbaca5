/* scenario_fault.h - reads faults: which process or table, what becomes of it, and when.
 *
 * Not here: what a fault does (lab/fidelity/admission/faults.c, lab/fidelity/full/faults.c,
 * lab/fidelity/real/real.c). */
#pragma once

#include "lab/scenario/reading.h"
#include "lab/scenario/scenario.h"

/* For the fields of scenario files. */
extern const struct field scenario_fault_fields[];
/* Reads a struct scenario_fault. As `read` of struct field. */
bool scenario_fault_read(struct reading *r, const struct document_node *n, void *target);

/* The process or the table is there: otherwise the fault would do nothing, and nobody would notice.
 * Call it once the whole scenario is read. False: reading_fail was called. */
bool scenario_fault_check(struct reading *r, const struct scenario *s,
                          const struct scenario_fault *f);
