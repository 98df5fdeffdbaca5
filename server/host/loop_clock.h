/* loop_clock.h - the clock port of a loop. */
#pragma once

#include "host/loop.h"
#include "server/ports.h"

/* Borrows the loop. */
struct clock_port loop_clock(struct loop *l);
