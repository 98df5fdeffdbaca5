/* request_log.h - `--log requests`: a line on standard error for each answered request.
 *
 * A line: time (UTC), the client's address, request id, operation, table/partition or -, the first
 * key in parentheses, HTTP status, units consumed, milliseconds, and for an error its type, its
 * text and its reasons. Items are not logged. A request refused before its operation is known has
 * no line. */
#pragma once

#include "router/core/router.h"

/* router_options.answered; the context is the struct loop whose connections the clients are. */
void request_log(void *context, const struct router_answer *a);
