/* sim_jobs.h - many seeds over several processes.
 *
 * Each seed runs twice, and the traces must agree. A run that aborts or does not end also ends its
 * process. Such a run counts as a violation, and another process continues with the next seed. */
#pragma once

#include "sim/sim.h"

enum {
    SIM_JOBS_MAX = 64,
    SIM_PROBES_MAX = 512,
    SIM_SEEDS_NAMED = 16
};

struct sim_jobs_options {
    struct sim_options sim; /* the seed here is the first */
    uint64_t seeds;
    uint32_t jobs;      /* 0: in this process; one seed at a time */
    int64_t begun_ns;   /* set by sim_jobs_run */
    int64_t wall_s_max; /* no seed is begun after this time; 0: no limit */
    bool once;          /* do not run each seed twice */
    bool progress;      /* on standard error */
    bool quiet;         /* no report of violations */
};

struct sim_summary {
    uint64_t seeds;
    uint64_t violations;
    uint64_t undecided;
    uint64_t first_violations[SIM_SEEDS_NAMED]; /* seeds */
    uint64_t first_undecided[SIM_SEEDS_NAMED];
    uint64_t injected;
    uint64_t events;
    struct client_counters clients;
    int64_t virtual_ns;
    int64_t wall_ns;
    int64_t calm_ns_max;
    uint64_t probes[SIM_PROBES_MAX]; /* hits, in the order of sim_probe_name */
};

/* Reports violations on standard output as they are found. */
void sim_jobs_run(const struct sim_jobs_options *options, struct sim_summary *out);

/* The name of a mark in this build. */
const char *sim_probe_name(size_t i);
size_t sim_probe_count(void);
