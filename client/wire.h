/* wire.h - one connection to a server: a request and its answer, within a deadline.
 *
 * The only file here with sockets and a clock. Calls block. Times are those of wire_now_ms. */
#pragma once

#include "client/http_reply.h"

enum wire_result {
    WIRE_DONE,
    WIRE_STALE, /* a connection that was kept had been closed by the server: try again at once */
    WIRE_FAILED /* no answer; `error` has the reason */
};

struct wire {
    const char *host, *port; /* borrows; a name or a numeric address, a number */
    int fd;                  /* -1: not connected */
    bool used;               /* an answer came over this connection */
};

/* Milliseconds since some moment. */
int64_t wire_now_ms(void);
void wire_pause(int64_t ms);

/* Connects if need be. The name of a host is looked up without a deadline. `localhost` is not
 * looked up: it is 127.0.0.1, or else ::1. */
enum wire_result wire_exchange(struct wire *w, struct slice request, int64_t deadline_ms,
                               struct http_reply *reply, struct buffer *error);
void wire_close(struct wire *w);
