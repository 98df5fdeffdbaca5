/* client_exchange.h - one request and its answer over a blocking socket.
 *
 * For rare requests: subcommands, and the tables before a load. At most 30 s a step. */
#pragma once

#include "router/json/json.h"
#include "workload/client_request.h"

/* `request` is a complete request with its head. `answer` gets the body, whatever the HTTP status,
 * followed by JSON_PADDING readable bytes. STATUS_IO: no answer came; `error` gets one line. */
enum status client_exchange(const struct client_url *url, struct slice request, int *http_status,
                            struct buffer *answer, struct buffer *error);

/* client_exchange for a DynamoDB operation. */
enum status client_call(const struct client_url *url, const char *operation, struct slice body,
                        int *http_status, struct buffer *answer, struct buffer *error);
