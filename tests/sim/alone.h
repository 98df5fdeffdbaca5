/* alone.h - runs of the simulator that are about one thing. */
#pragma once

#include "sim/sim.h"

/* Whatever the options do not name is left out. */
static inline struct sim_options alone(struct sim_options o)
{
    o.merges = o.merges > 0 ? o.merges : SIM_MERGES_NONE;
    o.work_transactions =
        o.work_transactions > 0 ? o.work_transactions : SIM_WORK_TRANSACTIONS_NONE;
    o.work_ttl = o.work_ttl > 0 ? o.work_ttl : SIM_WORK_TTL_NONE;
    o.work_streams = o.work_streams > 0 ? o.work_streams : SIM_WORK_STREAMS_NONE;
    o.key_sharding_ms = o.key_sharding_ms > 0 ? o.key_sharding_ms : SIM_WORK_KEY_SHARDING_NONE;
    o.work_counters = o.work_counters > 0 ? o.work_counters : SIM_WORK_COUNTERS_NONE;
    o.work_limiter = o.work_limiter > 0 ? o.work_limiter : SIM_WORK_RATE_LIMITER_NONE;
    o.work_fill = o.work_fill > 0 ? o.work_fill : SIM_WORK_FILL_NONE;
    return o;
}
