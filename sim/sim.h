/* sim.h - runs a whole cluster in virtual time from one seed, with faults, and judges the run.
 *
 * Nodes and routers start, and a client makes the table. Clients work while faults are injected.
 * Then the faults end, and every key must be written and read within a bound of virtual time. Then
 * the judgement: histories are possible, every node's data is whole, nothing acknowledged is lost.
 * The same options give the same run, event for event; `hash` shows whether they do. */
#pragma once

#include "sim/plan/plan.h"

struct sim;

struct sim_result {
    bool violated;
    bool undecided; /* a history was too complex to judge */
    uint64_t hash;
    enum split_stage leader_killed_at; /* SPLIT_STAGE_NONE: no leader was killed */
    struct client_counters clients;
    uint64_t injected;
    uint64_t events;
    int64_t virtual_ns;
    int64_t calm_ns; /* from the end of faults and table changes until every key had answered */
    int64_t gac_taken_mcu;       /* what routers took of the table's limits */
    int64_t gac_index_taken_mcu; /* and of the limits of its global indexes' reads */
};

struct sim *sim_create(const struct sim_options *options);
void sim_destroy(struct sim *s);

void sim_run(struct sim *s, struct sim_result *out);
/* The first violation; empty: there was none. Lends until sim_destroy. */
struct slice sim_violation(const struct sim *s);
/* The plan, and the last events of the world and of the nodes. May be called during a run. */
void sim_describe(struct sim *s, struct buffer *out);
