/* request_log.h - `--log requests`: a line on standard error for each answered request.
 *
 * A line: time (UTC), client connection, request id, operation, table/partition or -, HTTP status,
 * milliseconds, and for an error its type, its text and its reasons. Keys and items are not logged.
 * A request that is refused before its operation is known has no line. */
#ifndef WEIR_CMD_REQUEST_LOG_H
#define WEIR_CMD_REQUEST_LOG_H

#include "router/router.h"

#define REQUEST_LOG_HELP                                                                          \
    "  --log requests     a line on standard error for each request: time, client, request id,\n" \
    "                     operation, table/partition, status, milliseconds, error and reasons\n"

/* router_options.answered; the context is not used. */
void request_log(void *context, const struct router_answer *a);

#endif
