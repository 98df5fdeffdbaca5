/* parse_thread.h - the work port of a router on a loop: a thread of its own. */
#pragma once

#include "host/loop.h"
#include "server/ports.h"

/* The thread ends with the loop. STATUS_IO: it cannot be started; `error` gets the fault. */
enum status parse_thread_open(struct loop *l, struct work_port *out, struct buffer *error);
