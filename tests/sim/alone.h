/* alone.h - runs of the simulator that are about one thing. */
#pragma once

#include "sim/sim.h"

/* Whatever the options do not name is left out. */
static inline struct sim_options alone(struct sim_options o)
{
    o.merges = o.merges > 0 ? o.merges : SIM_MERGES_NONE;
    o.transacts = o.transacts > 0 ? o.transacts : SIM_TRANSACTS_NONE;
    o.expiries = o.expiries > 0 ? o.expiries : SIM_EXPIRIES_NONE;
    o.follows = o.follows > 0 ? o.follows : SIM_FOLLOWS_NONE;
    o.saltings_ms = o.saltings_ms > 0 ? o.saltings_ms : SIM_SALTINGS_NONE;
    o.tallies = o.tallies > 0 ? o.tallies : SIM_TALLIES_NONE;
    o.limits = o.limits > 0 ? o.limits : SIM_LIMITS_NONE;
    o.fills = o.fills > 0 ? o.fills : SIM_FILLS_NONE;
    return o;
}
