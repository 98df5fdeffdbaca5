/* sim.h - a whole cluster in virtual time, from one number: run it, break it, judge it.
 *
 * A run: nodes and routers start, a client makes the table, clients work while faults strike. Then
 * calm: the faults end, and every key must be written and read within a bound of virtual time.
 * Then the judgement: histories possible, every node's data whole, nothing acknowledged lost.
 * The same options give the same run, event for event; `hash` tells. */
#ifndef WEIR_SIM_SIM_H
#define WEIR_SIM_SIM_H

#include "sim/plan.h"

struct sim;

struct sim_result {
    bool violated;
    bool undecided; /* a history was too tangled to judge */
    uint64_t hash;
    enum split_stage leader_killed_at; /* SPLIT_STAGE_NONE: not as asked for */
    struct client_counters clients;
    uint64_t strikes;
    uint64_t events;
    int64_t virtual_ns;
    int64_t calm_ns;       /* from the end of the faults until every key had answered */
    int64_t gac_taken_mcu; /* of what the table may use */
};

struct sim *sim_create(const struct sim_options *options);
void sim_destroy(struct sim *s);

void sim_run(struct sim *s, struct sim_result *out);
/* What was wrong; empty if nothing was. Lends until sim_destroy. */
struct slice sim_violation(const struct sim *s);
/* The plan, the last events of the world and of the nodes: also while it runs. */
void sim_describe(struct sim *s, struct buffer *out);

#endif
