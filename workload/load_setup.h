/* load_setup.h - creates or finds the tables before a run, over blocking connections. */
#pragma once

#include "workload/load_options.h"

/* With --create-table: creates the missing tables and waits until they are active; an existing
 * table is used unchanged. Without it, a missing table is an error. With --history and without
 * --preload, a table to be read must be empty. STATUS_IO or STATUS_MALFORMED: `error` gets one
 * line. */
enum status load_setup_tables(const struct load_options *o, struct buffer *error);
