/* loop_clock.c - the time at the start of a loop's turn. */
#include "server/host/loop_clock.h"

static struct instant clock_now(void *context)
{
    return loop_now(context);
}

static int64_t clock_wall_ms(void *context)
{
    return loop_wall_ms(context);
}

static struct waiting clock_waited(void *context)
{
    return (struct waiting){.all = loop_waited(context)};
}

struct clock_port loop_clock(struct loop *l)
{
    return (struct clock_port){
        .context = l, .now = clock_now, .wall_ms = clock_wall_ms, .waited = clock_waited};
}
