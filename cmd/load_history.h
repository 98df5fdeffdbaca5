/* load_history.h - every request and its outcome, for a checker of consistency.
 *
 * JSON lines, in the order of events as this process saw them:
 *   {"op":7,"type":"invoke","t":12345,"f":"write","table":"load","key":"key-0000000001",
 *    "value":"0000000000000007"}             a delete's value is null
 *   {"op":8,"type":"invoke","t":12345,"f":"read",..,"consistent":false}   if it may be stale
 *   {"op":7,"type":"ok","t":23456}             a read's has "value": text, or null if absent
 *   {"op":7,"type":"fail","t":23456,"error":"ValidationException"}   certainly not applied
 *   {"op":7,"type":"info","t":23456,"error":"timeout"}               may have been, or will be
 * A refusal or an error of the request itself (HTTP 4xx) did nothing; an answer of 500 or above,
 * none in time and a lost connection leave a write's outcome unknown, and fail a read. t:
 * nanoseconds of one monotonic clock; an operation took place between its two lines. `op` is never
 * used twice; a write's value is its op in 16 hexadecimal digits, so every write of a run writes
 * another value. A preload is part of it. Read by cmd/history.h. */
#ifndef WEIR_CMD_LOAD_HISTORY_H
#define WEIR_CMD_LOAD_HISTORY_H

#include <stdio.h>

#include "cmd/load_request.h"
#include "cmd/load_response.h"

/* All do nothing if `f` is NULL. */
void load_history_invoke(FILE *f, const struct load_keys *keys, const struct load_request *r,
                         const char *table, bool consistent);
void load_history_return(FILE *f, const struct load_request *r, int64_t now_ns,
                         const struct load_verdict *v, struct slice body);

#endif
