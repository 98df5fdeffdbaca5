/* loop_clock.h - the clock port of a loop. */
#ifndef WEIR_SERVER_HOST_LOOP_CLOCK_H
#define WEIR_SERVER_HOST_LOOP_CLOCK_H

#include "host/loop.h"
#include "server/ports.h"

/* Borrows the loop. */
struct clock_port loop_clock(struct loop *l);

#endif
