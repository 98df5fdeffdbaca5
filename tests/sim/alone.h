/* alone.h - runs of the simulator that are about one thing. */
#pragma once

#include "sim/sim.h"

/* Whatever the options do not name is left out. */
static inline struct sim_options alone(struct sim_options o)
{
    o.merges = o.merges > 0 ? o.merges : SIM_NONE;
    o.work_transactions = o.work_transactions > 0 ? o.work_transactions : SIM_NONE;
    o.work_ttl = o.work_ttl > 0 ? o.work_ttl : SIM_NONE;
    o.work_streams = o.work_streams > 0 ? o.work_streams : SIM_NONE;
    o.key_sharding_ms = o.key_sharding_ms > 0 ? o.key_sharding_ms : SIM_NONE;
    o.work_counters = o.work_counters > 0 ? o.work_counters : SIM_NONE;
    o.work_limiter = o.work_limiter > 0 ? o.work_limiter : SIM_NONE;
    o.work_fill = o.work_fill > 0 ? o.work_fill : SIM_NONE;
    return o;
}
