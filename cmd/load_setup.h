/* load_setup.h - what has to be there before a run: the tables. One blocking connection. */
#ifndef WEIR_CMD_LOAD_SETUP_H
#define WEIR_CMD_LOAD_SETUP_H

#include "cmd/load_options.h"

/* With --create-table: creates the workloads' tables that are missing and waits until they are
 * active; an existing table is used as it is. Without it a missing table is an error; so is, with
 * --history and without --preload, a table to be read that has items. STATUS_IO or
 * STATUS_MALFORMED: `error` gets one line. */
enum status load_setup_tables(const struct load_options *o, struct buffer *error);

/* One operation; `answer` gets the body, whatever the HTTP status. STATUS_IO: no answer came. */
enum status load_setup_call(const struct load_url *url, const char *operation, struct slice body,
                            int *http_status, struct buffer *answer, struct buffer *error);

/* The same for a request that is whole, with its head. */
enum status load_setup_exchange(const struct load_url *url, struct slice request, int *http_status,
                                struct buffer *answer, struct buffer *error);

#endif
