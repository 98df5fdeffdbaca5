/* server_call.h - a subcommand's request to a server, and what it prints if that fails. */
#pragma once

#include "workload/client_exchange.h"

/* Sends a complete request. `answer` gets the body. False: the fault has been printed on standard
 * error, behind the name of the command: no answer, or an error. */
bool server_call(const char *command, const struct client_url *url, const struct buffer *request,
                 struct buffer *answer);

/* Prints the server's own message, if the answer is an error with a message; otherwise its
 * beginning. */
void server_call_refused(const char *command, int http_status, const struct buffer *answer);

/* Prints the status and the beginning of an answer. */
void server_call_print(const char *command, int http_status, const struct buffer *answer);
