/* client_connection.h - a connection to one of several routers, driven by a loop.
 *
 * A lost connection is opened again, to the next URL: a dead router is not waited for. The pause
 * doubles from 10 to 500 ms while no router answers.
 * Not here: the requests in flight. A loss ends all of them. */
#pragma once

#include "host/loop.h"
#include "workload/client_request.h"
#include "workload/client_response.h"

struct client_events {
    void (*opened)(void *context);
    client_answer *answer;
    /* Unanswered requests will get no answer. `why` is a label: malformed-answer,
     * connection-closed, connection-lost, or the caller's own. `error`: an errno, or 0. */
    void (*lost)(void *context, const char *why, int error);
};

struct client_connection {
    struct loop *loop;             /* borrows */
    const struct client_url *urls; /* borrows */
    int url_count;
    int url;                            /* the URL in use, or the next to try */
    const struct client_events *events; /* borrows */
    void *context;                      /* borrows */
    struct connection *connection;      /* NULL while down */
    bool up;                            /* requests may be sent */
    bool closing;                       /* lost, but the loop has not reported it yet */
    bool keep_body;
    int64_t retry_ns; /* while down */
    int64_t pause_ns;
    struct client_response response;
};

/* `c` holds loop, urls, url_count, url, events, context and keep_body; the rest is zeroed. */
void client_connection_open(struct client_connection *c);
void client_connection_deinit(struct client_connection *c);

void client_connection_send(struct client_connection *c, struct slice request);
/* Closes the connection: an unrequested answer came, or an answer was overdue. */
void client_connection_give_up(struct client_connection *c, const char *why);
/* Call every few milliseconds: opens a connection again after its pause. */
void client_connection_check(struct client_connection *c, int64_t now_ns);
