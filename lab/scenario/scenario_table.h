/* scenario_table.h - reads a table of a scenario. */
#pragma once

#include "lab/scenario/scenario.h"

/* For the fields of scenario files. */
extern const struct field scenario_table_fields[];
/* Reads a struct scenario_table. As `read` of struct field. */
bool scenario_table_read(struct reading *r, const struct document_node *n, void *target);
