/* scenario_table.h - reads a table of a scenario. */
#pragma once

#include "lab/scenario/scenario.h"

/* For the fields of scenario files. */
extern const struct field scenario_table_fields[];
/* Reads a struct scenario_table. As `read` of struct field. */
bool scenario_table_read(struct reading *r, const struct document_node *n, void *target);
/* Whether the cluster would make the table at this place: its partitions, with the settings. */
bool scenario_table_check(struct reading *r, const struct scenario *s, uint32_t place);
